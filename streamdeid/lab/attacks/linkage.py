"""A9, linkage: do two sessions' surrogates tell that it was the same person?

Rank-1 of finding the person of one session in the other, the area under the ROC curve, and D_sys, the unlinkability of
Gomez-Barrero, Galbally, Rathgeb and Busch 2018 ("General framework to evaluate unlinkability in biometric template
protection systems", equations 3 to 5): 0 = scores of mated and non-mated pairs cannot be told apart, 1 = always.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.k_same.clusters import pairwise
from streamdeid.lab.attacks.people import Population
from streamdeid.lab.attacks.publish import Publish

_BINS = 100


def linked(
    publish: Publish,
    population: Population,
    identities: Vectors,
    key: bytes,
    published: Vectors,
    rng: np.random.Generator,
) -> dict[str, Vectors]:
    """Distances (n, n) from the session with this key that published (n, d) to two later ones of the same people.

    One has a new key. The other has the same key, but people come in another order: where a key and a number decide
    the surrogate, coming in the same order would give everybody the same one again.
    """
    others = rng.permutation(len(identities))
    again = np.empty_like(published)
    again[others] = publish(population.capture(identities, rng)[others], key)
    later = {"new key": publish(population.capture(identities, rng), rng.bytes(32)), "same key, other order": again}
    found = {}
    for name, second in later.items():
        found[f"{name}, Euclid"] = pairwise(published, second)
        found[f"{name}, whitened"] = pairwise(population.whitened(published), population.whitened(second))
    return found


def ahead(distances: Vectors) -> Vector:
    """For each row i of distances (n, n): the share of j ≠ i that are further than i itself, ties half; (n,).

    Its mean is the area under the ROC curve. nan where the row, or its own entry, is missing.
    """
    own = np.diagonal(distances)[:, None]
    others = distances[~np.eye(len(distances), dtype=np.bool_)].reshape(len(distances), -1)
    made = np.isfinite(others)
    count = np.where(np.isfinite(own[:, 0]), made.sum(axis=1), 0)
    won = ((others > own) & made).sum(axis=1) + 0.5 * ((others == own) & made).sum(axis=1)
    return np.asarray(np.where(count > 0, won / np.maximum(count, 1), np.nan), dtype=np.float64)


def scores(distances: Vectors) -> tuple[Vector, Vector]:
    """Mated and non-mated distances out of (n, n), what is missing left out: float64 (≤ n,), (≤ n (n − 1),)."""
    diagonal = np.eye(len(distances), dtype=np.bool_)
    mated, other = distances[diagonal], distances[~diagonal]
    return mated[np.isfinite(mated)], other[np.isfinite(other)]


def unlinkability(mated: Vector, other: Vector) -> float:
    """D_sys of scores (m,) and (o,), with as many pairs of either kind expected (ω = 1); nan without scores.

    Local measure D(s) = 2 LR / (1 + LR) − 1 where LR(s) = p(s | mated) / p(s | other) > 1, else 0; D_sys is its mean
    over mated scores. Densities are histograms of min(m / 10, 100) equal bins, as in the authors' code. With few
    scores chance alone makes it positive: compare it with shuffled labels.
    """
    if not len(mated) or not len(other):
        return float("nan")
    low, high = min(mated.min(), other.min()), max(mated.max(), other.max())
    if low == high:
        return 0.0
    bins = max(2, min(len(mated) // 10, _BINS))
    of_mated = np.histogram(mated, bins, (low, high))[0] / len(mated)
    of_other = np.histogram(other, bins, (low, high))[0] / len(other)
    # 2 LR / (1 + LR) − 1 without dividing by a density of zero.
    both = of_mated + of_other
    local = np.where(of_mated > of_other, (of_mated - of_other) / np.where(both > 0, both, 1.0), 0.0)
    return float((of_mated * local).sum())
