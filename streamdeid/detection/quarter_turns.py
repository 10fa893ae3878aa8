"""Quarter turns: heads that lie are looked for in pictures that are turned until they stand upright.

None of the networks sees a face that lies on its side or is upside down: of 65 labelled ones, turned by 90 degrees,
they missed 59, and of 66, by 180 degrees, 60. Who lies in a bed, bends down to the side, or is filmed by a camera that
was mounted turned or hangs upside down is found in a turned picture.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Points

UPSIDE_DOWN = 2
TURNS = (1, 3, UPSIDE_DOWN)
"""Quarter turns against the clock after which a picture shows heads upright that lie on their side, 1 for those that
were turned with the clock, or that are upside down."""


def turned(rgb: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """A picture, uint8 (h, w, 3), after so many quarter turns against the clock."""
    return np.ascontiguousarray(np.rot90(rgb, turn)) if turn else rgb


def turned_back(points: Points, turn: int, size: tuple[float, float]) -> Points:
    """Points (..., 2) of such a picture in the one before; size: width and height of that one, pixels."""
    if not turn:
        return points
    x, y = points[..., 0], points[..., 1]
    width, height = size
    x, y = ((width - y, x), (width - x, height - y), (y, height - x))[turn - 1]
    return np.stack([x, y], axis=-1)


def boxes_turned_back(boxes: Points, turn: int, size: tuple[float, float]) -> Points:
    """Boxes (n, 4) of such a picture in the one before, as `turned_back`."""
    if not turn:
        return boxes
    corners = turned_back(boxes.reshape(-1, 2, 2), turn, size)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def turn_of(angle: float) -> int:
    """The quarter turns against the clock, 0 to 3, after which a head of a roll stands most upright; angle: that roll,
    clockwise on the screen, radians."""
    return round(angle / (math.pi / 2)) % 4


def aside(angle: float, turn: int) -> float:
    """How far from upright a head of a roll still is after so many quarter turns, radians from 0; angle as in
    `turn_of`."""
    return abs(math.remainder(angle - turn * math.pi / 2, 2 * math.pi))
