"""Clusters of faces: a close and a far one, which grow until they would overlap (docs/methods.md 1.7 and 1.8).

The papers never define the radius. Their proofs need the largest distance from a member to the centroid, so the radius
is this distance here. It is computed again from all members whenever the cluster changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.errors import SettingsError

_TOUCHING = 1.0 + 1e-12


@dataclass(frozen=True)
class Cluster:
    """Some rows of an array of faces."""

    members: tuple[int, ...]
    """Row numbers, in the order in which they joined."""
    centroid: Vector
    """Mean of the members, float64 (d,)."""
    radius: float
    """Largest distance from a member to the centroid."""


@dataclass(frozen=True)
class Pair:
    """One iteration of k-Same-furthest or k-Diff-furthest: two clusters that do not overlap."""

    close: Cluster
    """The core around the trigger; only core members decide centroid and radius."""
    far: Cluster
    attached_close: tuple[int, ...] = ()
    """Faces that joined after the growing had stopped; the centroid ignores them."""
    attached_far: tuple[int, ...] = ()


def cluster_of(faces: Vectors, members: Sequence[int]) -> Cluster:
    """The cluster of these rows of `faces`, float64 (n, d)."""
    rows = faces[list(members)]
    centroid = rows.mean(axis=0)
    return Cluster(tuple(members), centroid, float(distances(rows, centroid).max()))


def distances(faces: Vectors, point: Vector) -> Vector:
    """Euclidean distances from each row of `faces` (n, d) to `point` (d,): float64 (n,)."""
    return np.asarray(np.sqrt(np.square(faces - point).sum(axis=1)), dtype=np.float64)


def pairwise(a: Vectors, b: Vectors) -> Vectors:
    """Euclidean distances between the rows of `a` (n, d) and of `b` (m, d): float64 (n, m)."""
    squares = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)[None, :] - 2.0 * (a @ b.T)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)


def nearest(faces: Vectors, among: Sequence[int], point: Vector) -> int:
    """The row of `among` nearest to `point`; among equal distances, the first in `among`."""
    return among[int(np.argmin(distances(faces[list(among)], point)))]


def furthest(faces: Vectors, among: Sequence[int], point: Vector) -> int:
    """The row of `among` furthest from `point`; among equal distances, the first in `among`."""
    return among[int(np.argmax(distances(faces[list(among)], point)))]


def overlap(close: Cluster, far: Cluster, *, relaxed: bool = False) -> bool:
    """Whether two clusters are too near to each other for the theorem.

    The papers stop when D < r_c + r_f (P3 line 15) or D ≤ r_c + r_f (P1); this function uses ≤. The relaxed test stops
    when D² ≤ r_c² + r_f², which is all that the proof needs (docs/methods.md 1.8, proof review). Balls that are apart
    by no more than a rounding error count as touching: otherwise a member would be as near to its own output as another
    face is.
    """
    between = float(np.sqrt(np.square(close.centroid - far.centroid).sum()))
    if relaxed:
        return between**2 <= (close.radius**2 + far.radius**2) * _TOUCHING
    return between <= (close.radius + far.radius) * _TOUCHING


def grow_in_step(
    faces: Vectors, free: Sequence[int], close: Cluster, far: Cluster, k: int, *, relaxed: bool
) -> tuple[Cluster, Cluster]:
    """Grow both clusters together, one member each at a time (k-Diff-furthest, lines 9 to 22).

    The growing ends at k members, at an overlap, or when too few faces are free. `free` are the rows in neither
    cluster. A step that makes the clusters overlap is undone for both. The two new members are different faces: the far
    one is picked first, then the close one among the rest.
    """
    rest = list(free)
    while len(close.members) < k and len(far.members) < k and len(rest) >= 2:
        to_far = nearest(faces, rest, far.centroid)
        to_close = nearest(faces, [row for row in rest if row != to_far], close.centroid)
        larger_far = cluster_of(faces, (*far.members, to_far))
        larger_close = cluster_of(faces, (*close.members, to_close))
        if overlap(larger_close, larger_far, relaxed=relaxed):
            break
        close, far = larger_close, larger_far
        rest.remove(to_far)
        rest.remove(to_close)
    return close, far


def grow_in_turn(faces: Vectors, free: Sequence[int], close: Cluster, far: Cluster, k: int) -> tuple[Cluster, Cluster]:
    """Grow the clusters in turn: first the far cluster gains a member, then the close one (P1 fig. 2).

    A member that makes the clusters overlap is taken out again, and the growing ends. The far cluster may then have one
    member more than the close one.
    """
    rest = list(free)
    while len(close.members) < k and len(far.members) < k and len(rest) >= 2:
        to_far = nearest(faces, rest, far.centroid)
        larger_far = cluster_of(faces, (*far.members, to_far))
        if overlap(close, larger_far):
            break
        far = larger_far
        rest.remove(to_far)
        to_close = nearest(faces, rest, close.centroid)
        larger_close = cluster_of(faces, (*close.members, to_close))
        if overlap(larger_close, far):
            break
        close = larger_close
        rest.remove(to_close)
    return close, far


def grow_alone(faces: Vectors, seed: int, k: int) -> Cluster:
    """A cluster of k faces, grown from row `seed`, each time by the face nearest to its centroid (methods.md 1.7)."""
    cluster = cluster_of(faces, (seed,))
    rest = [row for row in range(len(faces)) if row != seed]
    while len(cluster.members) < k:
        chosen = nearest(faces, rest, cluster.centroid)
        cluster = cluster_of(faces, (*cluster.members, chosen))
        rest.remove(chosen)
    return cluster


def check_faces(faces: Vectors, k: int, least: int) -> None:
    """Raise SettingsError for faces or a k on which no closed-set algorithm can work."""
    if faces.ndim != 2 or faces.shape[1] == 0 or not np.isfinite(faces).all():
        raise SettingsError("faces must be finite vectors, one per row")
    if k < 2:
        raise SettingsError(f"k must be at least 2, not {k}")
    if len(faces) < least:
        raise SettingsError(f"{len(faces)} faces are too few for k = {k}: at least {least} are needed")
