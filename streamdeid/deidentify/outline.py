"""Growing the outline of a cover until it reaches around all places where the face may be.

Landmarks are smoothed, so the cover of a quick head lags behind it; and the rim of a head that moves while the shutter
is open is smeared beyond its landmarks. The cover then has to contain the outline that the landmarker gave for this
very frame, and this outline moved by half the motion either way. For a slow head nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import Points
from streamdeid.ibug68 import OUTLINE

_LEAST = 0.03
"""Overhang, share of the face's width, from which the cover is grown: less than half of the feather, in which the
original shows at the rim anyway. `benchmarks/edges.py --clips` tells on which frames that is."""
_MARGIN = 0.035
"""How much farther it then reaches, share of the face's width: half of the feather, so that what is contained is
covered more than it shows."""
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
    x, y = (places / distance[:, None]).T[:, :, None]
    start = outline - centre
    ex, ey = (np.roll(start, -1, axis=0) - start).T
    across = x * ey - y * ex
    across = np.where(np.abs(across) < 1e-12, 1e-12, across)
    reach = (start[:, 0] * ey - start[:, 1] * ex) / across
    along = (start[:, 0] * y - start[:, 1] * x) / across
    reach = np.where((along >= -1e-9) & (along <= 1 + 1e-9) & (reach > 0), reach, 0.0)
    edge = reach.argmax(axis=1)
    farthest = reach.max(axis=1)
    met = farthest > 0
    edge, farthest, distance = edge[met], farthest[met], distance[met]
    return edge, farthest, distance
