"""A7, learnt inversion: estimate the person from the surrogate, by what other people's pairs have taught.

Three learners from published P to what the session saw, on the donors' principal axes: ridge regression, ridge
regression in each cluster of P, and kernel ridge regression with a Gaussian kernel. Each picks its penalty on a fifth
of the pairs that is kept aside. There it also learns how far it is from the photographs it will have to match: so a
learner that has found nothing says nothing, instead of naming whoever is nearest to the mean face.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.clusters import pairwise
from streamdeid.lab.attacks.metrics import Metric, Pairs
from streamdeid.lab.attacks.people import Population

Learner = Callable[[Vectors, Vectors, float], Callable[[Vectors], Vectors]]
"""Inputs (m, r), wanted outputs (m, r), penalty → the function learnt, (n, r) → (n, r)."""

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
_CELLS, _ROUNDS = 8, 20
_LEAST = 1e-3


def ridge(inputs: Vectors, wanted: Vectors, penalty: float) -> Callable[[Vectors], Vectors]:
    """Linear least squares with an intercept; `penalty` counts as so many rows of unit variance."""
    centre, image = inputs.mean(axis=0), wanted.mean(axis=0)
    x = inputs - centre
    weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (wanted - image))
    return lambda rows: np.asarray(image + (rows - centre) @ weights, dtype=np.float64)


def ridge_by_cluster(inputs: Vectors, wanted: Vectors, penalty: float) -> Callable[[Vectors], Vectors]:
    """A ridge regression of what `ridge` leaves over, in each of eight clusters of the inputs (k-means)."""
    whole = ridge(inputs, wanted, penalty)
    left = wanted - whole(inputs)
    centres = inputs[np.linspace(0, len(inputs) - 1, _CELLS).astype(int)]
    for _ in range(_ROUNDS):
        cell = pairwise(inputs, centres).argmin(axis=1)
        centres = np.stack(
            [inputs[cell == c].mean(axis=0) if (cell == c).any() else centres[c] for c in range(len(centres))]
        )
    cell = pairwise(inputs, centres).argmin(axis=1)
    parts = {c: ridge(inputs[cell == c], left[cell == c], penalty) for c in np.unique(cell)}

    def predict(rows: Vectors) -> Vectors:
        result = whole(rows)
        where = pairwise(rows, centres).argmin(axis=1)
        for c, part in parts.items():
            result[where == c] += part(rows[where == c])
        return result

    return predict


def kernel_ridge(inputs: Vectors, wanted: Vectors, penalty: float) -> Callable[[Vectors], Vectors]:
    """Gaussian kernel, as wide as the median distance of two inputs."""
    between = pairwise(inputs, inputs)
    width = float(np.median(between))
    image = wanted.mean(axis=0)
    kernel = np.exp(-0.5 * np.square(between / width))
    weights = np.linalg.solve(kernel + 0.01 * penalty * np.eye(len(kernel)), wanted - image)
    return lambda rows: np.asarray(
        image + np.exp(-0.5 * np.square(pairwise(rows, inputs) / width)) @ weights, dtype=np.float64
    )


def learnt(learner: Learner, pairs: Pairs, population: Population) -> Metric:
    """Train on pairs (m, d), m ≥ 50: the metric compares surrogates with photographs, by how much likelier a photograph
    is given the surrogate than it is anyway (minus the log of the ratio, times two; it may be negative)."""
    inputs, wanted, matched = (population.places(rows) for rows in (pairs.published, pairs.seen, pairs.photographs))
    kept = len(inputs) // 5
    functions = {p: learner(inputs[kept:], wanted[kept:], p) for p in PENALTIES}
    errors = {p: np.square(matched[:kept] - f(inputs[:kept])).mean(axis=0) for p, f in functions.items()}
    best = min(errors, key=lambda p: float(errors[p].mean()))
    predict, error = functions[best], np.maximum(errors[best], _LEAST)
    spread = np.maximum(np.var(matched, axis=0), error)

    def metric(probes: Vectors, gallery: Vectors) -> Vectors:
        made = np.isfinite(probes).all(axis=1)
        result = np.full((len(probes), len(gallery)), np.nan)
        places = population.places(gallery)
        there = pairwise(predict(population.places(probes[made])) / np.sqrt(error), places / np.sqrt(error))
        result[made] = np.square(there) - np.square((places - matched.mean(axis=0)) / np.sqrt(spread)).sum(axis=1)
        return result

    return metric
