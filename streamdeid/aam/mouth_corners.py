"""Height of the corners of a mouth over the line between its lips: it makes a face look stern or friendly at rest."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.level_line import level_line
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import MOUTH, MOUTH_CORNERS

_INNER_UPPER, _INNER_LOWER = 62, 66
"""Middle of the inner lips."""


def corner_height(shape: Points) -> float:
    """Height of the corners of the mouth of a shape (81, 2) over the middle of the inner lips: a share of the mouth's
    width, measured at right angles to the line of the corners."""
    return float(levelled(shape)[1])


def with_corners_between(shape: Points, lowest: float, highest: float) -> Points:
    """A shape (81, 2) whose `corner_height` lies between two bounds; the same array where it does.

    The lips bend with the corners, by the square of the distance from the middle, which stays where it is.
    """
    (along, down, width), height, middle = levelled(shape)
    up = float(np.clip(height, lowest, highest)) - height
    if up == 0:
        return shape
    away = (shape[MOUTH] - middle) @ along
    left, right = ((shape[i] - middle) @ along for i in MOUTH_CORNERS)
    reach = np.maximum(np.where(away < 0, -left, right), 1e-6)  # a mouth pulled aside has a short and a long half
    bent = shape.copy()
    bent[MOUTH] -= (up * width * np.clip(away / reach, -1, 1) ** 2)[:, None] * down
    return bent


def levelled(shape: Points) -> tuple[tuple[Points, Points, float], float, Points]:
    """Directions along the line of the corners and down from it, and its length; the height of the corners; the middle
    of the inner lips."""
    left, right = (shape[i] for i in MOUTH_CORNERS)
    along, down, width = level_line(left, right)
    middle: Points = (shape[_INNER_UPPER] + shape[_INNER_LOWER]) / 2
    return (along, down, width), float((middle - (left + right) / 2) @ down) / width, middle
