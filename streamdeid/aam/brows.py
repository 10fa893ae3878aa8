"""How high the brows of a shape lie and how much they fall towards the nose: low and frowning ones make a face look
angry at rest, though nobody is."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.level_line import level_line
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import LEFT_BROW, LEFT_EYE_CORNERS, RIGHT_BROW, RIGHT_EYE_CORNERS

_INNER = np.array([[18, 19, 20, 21], [25, 24, 23, 22]])
"""Points of each brow from the outer third to the inner end. Outside it brows fall, too, but to the temples."""
_SHORTEST = 0.02
"""Least length of a brow, a share of the distance of the eyes' outer corners: where it has none, nor has it a tilt."""
_BOTH = np.r_[LEFT_BROW, RIGHT_BROW]
_CORNERS = [*LEFT_EYE_CORNERS, *RIGHT_EYE_CORNERS]


def brow_height(shape: Points) -> float:
    """Mean height of the brows of a shape (81, 2) over the corners of the eyes, at right angles to the line of the
    outer corners: a share of the distance between these."""
    _, down, width = _level(shape)
    return float((shape[_CORNERS].mean(axis=0) - shape[_BOTH].mean(axis=0)) @ down) / width


def brow_tilt(shape: Points) -> float:
    """By how much the brows of a shape (81, 2) fall from their outer third to their inner ends, over the distance
    between both, mean of both brows; measured along the line of the outer corners of the eyes. Below 0 they rise."""
    along, down, width = _level(shape)
    falls = [(shape[b[-1]] - shape[b[0]]) for b in _INNER]
    return float(np.mean([fall @ down / max(abs(fall @ along), _SHORTEST * width) for fall in falls]))


def with_brows_at_least(shape: Points, least: float, share: float) -> Points:
    """A shape (81, 2) with only a share of what its `brow_height` lacks of a bound; the same array where it lacks
    nothing. Both brows rise as they are."""
    lacks = least - brow_height(shape)
    if lacks <= 0:
        return shape
    _, down, width = _level(shape)
    raised = shape.copy()
    raised[_BOTH] -= (1 - share) * lacks * width * down
    return raised


def with_tilt_at_most(shape: Points, most: float, share: float) -> Points:
    """A shape (81, 2) with only a share of its `brow_tilt` beyond a bound; the same array where it is within the bound.

    The inner ends rise, and what lies between them and the outer third in proportion; a difference between both brows
    stays.
    """
    now = brow_tilt(shape)
    if now <= most:
        return shape
    along, down, _ = _level(shape)
    less = (1 - share) * (now - most)
    raised = shape.copy()
    for brow in _INNER:
        raised[brow] -= np.outer(less * np.abs((shape[brow] - shape[brow[0]]) @ along), down)
    return raised


def _level(shape: Points) -> tuple[Points, Points, float]:
    """Directions (2,) along the line of the outer corners of the eyes and down from it, and their distance."""
    return level_line(shape[LEFT_EYE_CORNERS[0]], shape[RIGHT_EYE_CORNERS[1]])
