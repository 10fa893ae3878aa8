"""Growing the outline of a cover until it reaches around all places where the face may be.

Landmarks are smoothed, so the cover of a quick head lags behind it; and the rim of a head that moves while the shutter
is open is smeared beyond its landmarks. The cover then has to contain the outline that the landmarker gave for this
very frame, and this outline moved by half the motion either way. For a slow head nothing is changed.

The outline of the mesh is not yet the head's: `bulge` takes it to the silhouette.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import Points
from streamdeid.ibug68 import OUTLINE
from streamdeid.kernel_cache import kernel

_LEAST = 0.03
"""Overhang, share of the face's width, from which the cover is grown: less than half of the feather, in which the
original shows at the rim anyway. `benchmarks/edges.py --clips` tells on which frames that is."""
_MARGIN = 0.035
"""How much farther it then reaches, share of the face's width: half of the feather, so that what is contained is
covered more than it shows."""
_BEYOND = 0.02
"""How much farther than the silhouette the cover reaches, share of the face's width: its feather there (`blend`) is
half as wide again."""
_MOST_BULGE = 0.26
"""Farthest that the silhouette pushes the outline, share of the face's width: what drawn heads take up to 38 degrees of
turn with a nod of 17, 0.24, and the margin beyond it. Meshes of the clips reach 0.11 up to 30 degrees."""
_PARTS = 4
"""Places looked at on each edge of an outline."""


def reaching(
    points: Points, seen: Sequence[Points], possible: Sequence[Points], width: float, least: float = _LEAST
) -> Points:
    """The mesh points (81, 2) with their outline grown to contain the outlines of other meshes (81, 2), the possible
    ones. width: the face's, pixels.

    The very same array when no outline of the seen ones lies outside by more than `least` of the width.
    """
    outline = points[OUTLINE]
    overhang = [float(np.max(d - f, initial=0.0)) for _, f, d in (_rays(outline, other[OUTLINE]) for other in seen)]
    if not max(overhang) > least * width:
        return points
    growth = np.ones(len(outline))
    for other in possible:
        edge, farthest, distance = _rays(outline, other[OUTLINE])
        for end in (edge, (edge + 1) % len(outline)):
            np.maximum.at(growth, end, (distance + _MARGIN * width) / farthest)
    centre = outline.mean(axis=0)
    grown = points.copy()
    grown[OUTLINE] = centre + (outline - centre) * growth[:, None]
    return grown


def _rays(outline: Points, other: Points) -> tuple[NDArray[np.intp], Points, Points]:
    """For places all along another outline (m, 2): the edge of the first one (n, 2) that the ray from its centre
    crosses (number of the edge's first point), and the distances of the crossing and of the place from the centre.

    An outline is star-shaped about its centre, near enough: of several crossings the farthest counts, and a place whose
    ray crosses none is left out.
    """
    centre = outline.mean(axis=0)
    share = (np.arange(_PARTS) / _PARTS)[None, :, None]
    places = (other[:, None] * (1 - share) + np.roll(other, -1, axis=0)[:, None] * share).reshape(-1, 2) - centre
    distance = np.maximum(np.linalg.norm(places, axis=1), 1e-9)
    edge, farthest = _crossings(outline, centre, places / distance[:, None])
    met = farthest > 0
    return edge[met], farthest[met], distance[met]


def _crossings(outline: Points, centre: Points, directions: Points) -> tuple[NDArray[np.intp], Points]:
    """Where rays from a centre (2,) in unit directions (m, 2) leave an outline (n, 2): number of the first point of the
    edge, and distance from the centre, 0 where no edge is met."""
    edges, reaches = np.zeros(len(directions), np.intp), np.zeros(len(directions))
    _leave(outline - centre, directions, edges, reaches)
    return edges, reaches


@kernel
def _leave(start, directions, edges, reaches):  # type: ignore[no-untyped-def]
    """`_crossings`, of an outline (n, 2) about the centre."""
    count = len(start)
    for i in range(len(directions)):
        x, y = directions[i]
        for k in range(count):
            ax, ay = start[k]
            bx, by = start[k + 1 if k + 1 < count else 0]
            ex, ey = bx - ax, by - ay
            across = x * ey - y * ex
            if abs(across) < 1e-12:
                across = 1e-12
            reach = (ax * ey - ay * ex) / across
            along = (ax * y - ay * x) / across
            if -1e-9 <= along <= 1 + 1e-9 and reach > reaches[i]:
                reaches[i], edges[i] = reach, k


def bulge(points: Points, silhouette: Points | None) -> Points:
    """Factors float64 (30,) by which the outline of a mesh (81, 2) grows, seen from its middle, to reach a silhouette
    (n, 2) and a little beyond: 1 where it does, or where there is none.

    The outline is a fixed ring of points. On the far side of a turned head the face ends beyond it: at 18 to 27 degrees
    by 6.5 to 11 % of the face's width (METHODS 6.3), cheek and lashes of the person.
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
