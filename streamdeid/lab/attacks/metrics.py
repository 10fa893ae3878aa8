"""Metrics an attacker compares identity vectors with: probes (p, d) and gallery (g, d) → distances (p, g).

A row of nan (nobody was published) has distances of nan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.k_same.clusters import pairwise
from streamdeid.lab.attacks.people import Population

Metric = Callable[[Vectors, Vectors], Vectors]
_SHRINKAGE = 0.05


@dataclass(frozen=True)
class Pairs:
    """What an attacker saw of people who are not under attack; row i of each array is the same person."""

    seen: Vectors
    """Identities as the session saw them, float64 (m, d)."""
    published: Vectors
    """What it published, float64 (m, d), finite."""
    photographs: Vectors
    """Another capture of each, as in the attacker's gallery, float64 (m, d)."""


def euclid(probes: Vectors, gallery: Vectors) -> Vectors:
    """The metric of the papers and of the theorem."""
    return pairwise(probes, gallery)


def furthest(probes: Vectors, gallery: Vectors) -> Vectors:
    """The other way round: against methods that keep away from the person."""
    return -pairwise(probes, gallery)


def whitened(population: Population) -> Metric:
    """Every principal axis of the donors counts the same."""
    return lambda probes, gallery: pairwise(population.whitened(probes), population.whitened(gallery))


def cosine(population: Population) -> Metric:
    """One minus the cosine of the angle at the mean face."""

    def metric(probes: Vectors, gallery: Vectors) -> Vectors:
        p, g = probes - population.mean, gallery - population.mean
        lengths = np.linalg.norm(p, axis=1)[:, None] * np.linalg.norm(g, axis=1)
        return np.asarray(1.0 - (p @ g.T) / np.maximum(lengths, 1e-300), dtype=np.float64)

    return metric


def lda(population: Population, first: Vectors, second: Vectors) -> Metric:
    """Mahalanobis distance under the scatter within a person, from two captures (m, d) of each of other people.

    Axes on which one person's captures agree count most, as in linear discriminant analysis.
    """
    difference = population.places(first) - population.places(second)
    within = difference.T @ difference / (2.0 * len(difference))
    within += _SHRINKAGE * np.trace(within) / len(within) * np.eye(len(within))
    values, vectors = np.linalg.eigh(within)
    root = vectors / np.sqrt(values)
    return lambda probes, gallery: pairwise(population.places(probes) @ root, population.places(gallery) @ root)


def learnt_weights(population: Population, pairs: Pairs, rng: np.random.Generator) -> Metric:
    """A weight for the squared difference on each axis, learnt from published vectors of other people.

    Fisher's discriminant of pairs that belong together against pairs that do not. Weights may be negative: then being
    far on that axis speaks for a person. Distances may be negative too.
    """
    published, photographs = population.places(pairs.published), population.places(pairs.photographs)
    genuine = np.square(published - photographs)
    # A shift of all rows by the same number of places gives everybody a stranger.
    impostor = np.square(published - np.roll(photographs, int(rng.integers(1, len(photographs))), axis=0))
    scatter = np.cov(genuine.T) + np.cov(impostor.T)
    # Each axis is shrunk by its own scatter: a method may be loud on some axes and silent on others.
    scatter = scatter + _SHRINKAGE * np.diag(np.diagonal(scatter))
    weights: Vector = np.linalg.solve(scatter, impostor.mean(axis=0) - genuine.mean(axis=0))

    def metric(probes: Vectors, gallery: Vectors) -> Vectors:
        p, g = population.places(probes), population.places(gallery)
        return np.asarray(
            (np.square(p) @ weights)[:, None] + np.square(g) @ weights - 2.0 * (p * weights) @ g.T, dtype=np.float64
        )

    return metric
