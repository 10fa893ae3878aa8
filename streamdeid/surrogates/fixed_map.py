"""The papers' methods, fixed for a stream: each algorithm runs once on the closed set of the gallery, then serves
anybody.

A person belongs to the nearest gallery cluster a (distance to its centroid) and always gets (docs/methods.md 2.2, D1):

* k-diff-furthest-paper: P = y − (c_a − c_b), b the cluster that a was paired with. This is the printed map, residual
  included. Whitening, its inverse or one insider undo it, so it is the baseline that attacks must beat, not a
  protection.
* k-same-furthest: P = c_b, shared by everybody of the cell.
* k-same-m: P = the centroid of the nearest group of at least k donors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.k_same.clusters import Pair, cluster_of, distances
from streamdeid.k_same.diff_furthest import k_diff_furthest_pairs
from streamdeid.k_same.furthest import k_same_furthest_pairs
from streamdeid.k_same.m import k_same_m_groups


@dataclass(frozen=True)
class FixedMap:
    """Cells of the identity space, and the target of each one."""

    sources: Vectors
    """Centroids that decide the cell, float64 (cells, d)."""
    targets: Vectors
    """The target of each source, float64 (cells, d)."""
    sizes: tuple[int, ...]
    """Number of donors behind each target."""
    keeps_residual: bool
    """Whether the person's own residual y − source is added to the target."""

    def cells(self, y: Vector) -> list[int]:
        """All cells, the nearest to y (d,) first."""
        return [int(cell) for cell in np.argsort(distances(self.sources, y), kind="stable")]

    def output(self, y: Vector, cell: int) -> Vector:
        """The surrogate of a person at y (d,) who is taken to belong to `cell`: float64 (d,)."""
        target: Vector = self.targets[cell]
        return target + (y - self.sources[cell]) if self.keeps_residual else target.copy()


def k_diff_map(donors: Vectors, k: int, rng: np.random.Generator) -> FixedMap:
    """The map of k-diff-furthest-paper, from donors (n, d)."""
    return _across(k_diff_furthest_pairs(donors, k, rng), keeps_residual=True)


def k_same_furthest_map(donors: Vectors, k: int, rng: np.random.Generator) -> FixedMap:
    """The map of k-same-furthest, from donors (n, d)."""
    return _across(k_same_furthest_pairs(donors, k, rng), keeps_residual=False)


def k_same_m_map(donors: Vectors, k: int, rng: np.random.Generator) -> FixedMap:
    """The map of k-same-m, from donors (n, d)."""
    groups = k_same_m_groups(donors, k, rng)
    centroids = np.stack([cluster_of(donors, group).centroid for group in groups])
    return FixedMap(centroids, centroids, tuple(len(group) for group in groups), keeps_residual=False)


def _across(pairs: Sequence[Pair], *, keeps_residual: bool) -> FixedMap:
    """The map that takes each cluster of a pair to the other."""
    sides = [(pair.close, pair.far) for pair in pairs] + [(pair.far, pair.close) for pair in pairs]
    return FixedMap(
        sources=np.stack([source.centroid for source, _ in sides]),
        targets=np.stack([target.centroid for _, target in sides]),
        sizes=tuple(len(target.members) for _, target in sides),
        keeps_residual=keeps_residual,
    )
