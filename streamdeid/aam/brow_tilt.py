"""How much the brows of a shape fall towards the nose: a face that frowns at rest looks angry, though nobody is."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS

_BROWS = np.array([[18, 19, 20, 21], [25, 24, 23, 22]])
"""Points of each brow from the outer third to the inner end. Outside it brows fall, too, but to the temples."""


def tilt(shape: Points) -> float:
    """By how much the brows of a shape (81, 2) fall from their outer third to their inner ends, over the distance
    between both, mean of both brows; measured along the line of the outer corners of the eyes. Below 0 they rise."""
    along, down = _level(shape)
    falls = [(shape[b[-1]] - shape[b[0]]) for b in _BROWS]
    return float(np.mean([fall @ down / max(abs(fall @ along), 1e-6) for fall in falls]))


def with_tilt_at_most(shape: Points, most: float, share: float) -> Points:
    """A shape (81, 2) with only a share of its `tilt` beyond a bound; the same array where it is within the bound.

    The inner ends rise, and what lies between them and the outer third in proportion; a difference between both brows
    stays.
    """
    now = tilt(shape)
    if now <= most:
        return shape
    along, down = _level(shape)
    less = (1 - share) * (now - most)
    raised = shape.copy()
    for brow in _BROWS:
        raised[brow] -= np.outer(less * np.abs((shape[brow] - shape[brow[0]]) @ along), down)
    return raised


def _level(shape: Points) -> tuple[Points, Points]:
    """Directions (2,) along the line of the outer corners of the eyes, and down from it."""
    across = shape[RIGHT_EYE_CORNERS[1]] - shape[LEFT_EYE_CORNERS[0]]
    along = across / (float(np.hypot(*across)) or 1.0)
    return along, np.array([-along[1], along[0]])
