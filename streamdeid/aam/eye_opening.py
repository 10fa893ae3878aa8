"""How far the eyes of a shape are open at rest, and shapes whose eyes are not narrower than most people's."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.level_line import level_line
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import LEFT_EYE, LEFT_EYE_CORNERS, RIGHT_EYE, RIGHT_EYE_CORNERS

_EYES = ((LEFT_EYE, LEFT_EYE_CORNERS), (RIGHT_EYE, RIGHT_EYE_CORNERS))
_UPPER, _LOWER = [1, 2], [5, 4]
"""Points of the upper and of the lower lid that lie over one another, as numbers within an eye."""
_MOST = 1.5
"""Largest factor by which eyes are opened: no donor's need more than 1.25, and a shut one is not pulled open."""


def openness(shape: Points) -> float:
    """How far the eyes of a shape (81, 2) are open: mean distance of the lids over the width of the eye, mean of both
    eyes, measured at right angles to the line of the corners."""
    return float(np.mean([_gaps(shape, eye, corners)[0].mean() for eye, corners in _EYES]))


def with_eyes_at_least(shape: Points, least: float, share: float) -> Points:
    """A shape (81, 2) with only a share of what its `openness` lacks of a bound; the same array where it lacks nothing.

    The upper lids rise, as lids do that open; both eyes by the same factor, so that a difference between them stays.
    The factor is bounded (`_MOST`), and more may be lacking then.
    """
    now = openness(shape)
    if now >= least:
        return shape
    factor = min((least - share * (least - now)) / max(now, 1e-3), _MOST)
    wider = shape.copy()
    for eye, corners in _EYES:
        gaps, down, width = _gaps(shape, eye, corners)
        wider[np.arange(eye.start, eye.stop)[_UPPER]] -= np.outer((factor - 1) * width * gaps, down)
    return wider


def _gaps(shape: Points, eye: slice, corners: tuple[int, int]) -> tuple[Points, Points, float]:
    """Distances (2,) of an eye's lids over its width, 0 or more, the direction (2,) down from its corners, and the
    width."""
    _, down, width = level_line(*shape[list(corners)])
    lids = shape[eye]
    return np.maximum((lids[_LOWER] - lids[_UPPER]) @ down, 0.0) / width, down, width
