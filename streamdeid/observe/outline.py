"""Grows the outline of a new face until it contains all places where the original face may be.

Landmarks are smoothed, so the new face lags behind a quick head; and the rim of a head that moves while the shutter is
open is smeared beyond its landmarks. The new face then has to contain the outline that the landmarker gave for this
very frame, and this outline moved by half the motion in either direction. For a slow head nothing is changed.

The outline of the mesh is not yet that of the head: `bulge` extends it to the silhouette.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import OUTLINE
from streamdeid.core.kernel_cache import kernel

_LEAST = 0.03
"""Overhang, share of the face's width, from which the outline is grown: less than half of a large face's feather
(`render.blend`), in which the original shows at the rim anyway. `benchmarks/leaks/edges.py --clips` tells on which
frames that is."""
_MARGIN = 0.035
"""How much farther the outline then reaches, share of the face's width: half of a large face's feather, so that what is
contained is covered more than it shows; what a small face's feather has more, `widened` adds."""
_BEYOND = 0.02
"""How much farther than the silhouette the new face reaches, share of the face's width: a large face's feather there is
half as wide again; what others have more, `widened` adds."""
_MOST_BULGE = 0.26
"""Farthest that the silhouette pushes the outline, share of the face's width. Rendered heads need 0.24 up to 38 degrees
of turn with a nod of 17, and this adds the margin. Meshes of the clips reach 0.11 up to 30 degrees."""
_PARTS = 4
"""Number of places looked at on each edge of an outline."""


def reaching(
    points: Points, seen: Sequence[Points], possible: Sequence[Points], width: float, least: float = _LEAST
) -> Points:
    """The mesh points (81, 2) with their outline grown to contain the outlines of the `possible` other meshes (81, 2).
    width: the face's, pixels.

    Returns the same array when no outline of the `seen` ones lies outside by more than `least` of the width.
    """
    outline = points[OUTLINE]
    centre = outline.mean(axis=0)
    start = outline - centre
    if not max(_overhang(start, other[OUTLINE] - centre) for other in seen) > least * width:
        return points
    growth = np.ones(len(outline))
    for other in possible:
        _grow(start, other[OUTLINE] - centre, _MARGIN * width, growth)
    grown = points.copy()
    grown[OUTLINE] = centre + start * growth[:, None]
    return grown


@kernel
def _overhang(outline, other):  # type: ignore[no-untyped-def]
    """The farthest that another outline (m, 2) lies outside of one (n, 2), both about the middle of the first; 0 at
    least.

    An outline is nearly star-shaped about its middle: where a ray from there crosses it several times, the farthest
    crossing counts. A place whose ray crosses nothing is left out.
    """
    most = 0.0
    for k in range(len(other) * _PARTS):
        x, y, distance = _place(other, k)
        _, farthest = _left_at(outline, x, y)
        if farthest > 0:
            most = max(most, distance - farthest)
    return most


@kernel
def _grow(outline, other, margin, growth):  # type: ignore[no-untyped-def]
    """Raise the factors (n,) by which the points of an outline (n, 2) move away from its middle, so that the outline
    contains another one (m, 2), with a margin."""
    for k in range(len(other) * _PARTS):
        x, y, distance = _place(other, k)
        edge, farthest = _left_at(outline, x, y)
        if farthest > 0:
            for end in (edge, (edge + 1) % len(outline)):
                growth[end] = max(growth[end], (distance + margin) / farthest)


@kernel
def _place(outline, number):  # type: ignore[no-untyped-def]
    """One of the places along an outline (n, 2): direction from the middle, of unit length, and distance."""
    first, part = number // _PARTS, number % _PARTS
    share = part / _PARTS
    after = (first + 1) % len(outline)
    x = outline[first, 0] * (1 - share) + outline[after, 0] * share
    y = outline[first, 1] * (1 - share) + outline[after, 1] * share
    distance = max(np.sqrt(x * x + y * y), 1e-9)
    return x / distance, y / distance, distance


def _crossings(outline: Points, centre: Points, directions: Points) -> tuple[NDArray[np.intp], Points]:
    """Where rays from a centre (2,) in unit directions (m, 2) leave an outline (n, 2): number of the first point of the
    edge, and distance from the centre; 0 where a ray meets no edge."""
    edges, reaches = np.zeros(len(directions), np.intp), np.zeros(len(directions))
    _leave(outline - centre, directions, edges, reaches)
    return edges, reaches


@kernel
def _leave(start, directions, edges, reaches):  # type: ignore[no-untyped-def]
    """The loop of `_crossings`, for an outline (n, 2) about the centre."""
    for i in range(len(directions)):
        edges[i], reaches[i] = _left_at(start, directions[i, 0], directions[i, 1])


@kernel
def _left_at(outline, x, y):  # type: ignore[no-untyped-def]
    """The edge at which a ray from the middle in a unit direction leaves an outline (n, 2), and how far away; 0 where
    the ray meets none."""
    count, edge, farthest = len(outline), 0, 0.0
    bx, by = outline[0]
    after = bx * y - by * x
    for k in range(count):
        ax, ay, before = bx, by, after
        bx, by = outline[k + 1 if k + 1 < count else 0]
        after = bx * y - by * x
        if before * after > 1e-8 * (before - after) ** 2:
            continue  # both ends lie well on one side of the ray, as those of most edges do
        ex, ey = bx - ax, by - ay
        across = x * ey - y * ex
        if abs(across) < 1e-12:
            across = 1e-12
        reach = (ax * ey - ay * ex) / across
        along = (ax * y - ay * x) / across
        if -1e-9 <= along <= 1 + 1e-9 and reach > farthest:
            edge, farthest = k, reach
    return edge, farthest


def bulge(points: Points, silhouette: Points | None) -> Points:
    """Factors float64 (30,) by which the outline of a mesh (81, 2) grows, seen from its middle, to reach a silhouette
    (n, 2) and a little beyond: 1 where it already reaches it, or where there is no silhouette.

    The outline is a fixed ring of points. On the far side of a turned head the face ends beyond that ring: at 18 to 27
    degrees by 6.5 to 11 % of the face's width (docs/methods.md 6.3), which are cheek and lashes of the person.
    """
    if silhouette is None:
        return np.ones(len(OUTLINE))
    outline = points[OUTLINE]
    centre, width = outline.mean(axis=0), float(np.ptp(points[:, 0]))
    radius = np.maximum(np.linalg.norm(outline - centre, axis=1), 1e-9)
    _, farthest = _crossings(silhouette, centre, (outline - centre) / radius[:, None])
    beyond = np.clip(farthest - radius, 0, None)
    margin = _BEYOND * width * np.minimum(beyond / (_BEYOND * width), 1)
    factors: Points = 1 + np.minimum(beyond + margin, _MOST_BULGE * width) / radius
    return factors


def bulged(points: Points, factors: Points) -> Points:
    """The mesh points (81, 2) with their outline moved away from its middle by factors (30,)."""
    outline = points[OUTLINE]
    centre = outline.mean(axis=0)
    grown = points.copy()
    grown[OUTLINE] = centre + (outline - centre) * factors[:, None]
    return grown


def widened(points: Points, reach: float) -> Points:
    """The mesh points (81, 2) with their outline moved away from its middle by so many pixels."""
    if reach == 0:
        return points
    outline = points[OUTLINE]
    start = outline - outline.mean(axis=0)
    out = points.copy()
    out[OUTLINE] = outline + reach * start / np.maximum(np.linalg.norm(start, axis=1, keepdims=True), 1e-6)
    return out
