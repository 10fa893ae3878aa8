"""Quarter turns: the detector looks for heads that lie in pictures that are turned until such heads stand upright.

The networks hardly ever see a face that lies on its side or is upside down: of 65 labelled faces turned by 90 degrees
they missed 59, and of 66 turned by 180 degrees 60. A person who lies in a bed or bends down to the side is found in a
turned picture. So is a person filmed by a camera that was mounted turned or hangs upside down.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Points

UPSIDE_DOWN = 2
TURNS = (1, 3, UPSIDE_DOWN)
"""Quarter turns anticlockwise after which a picture shows heads upright that lie on their side or are upside down; 1 is
for heads that were turned clockwise."""


def turned(rgb: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    """A picture, uint8 (h, w, 3), after `turn` quarter turns anticlockwise."""
    return np.ascontiguousarray(np.rot90(rgb, turn)) if turn else rgb


def turned_back(points: Points, turn: int, size: tuple[float, float]) -> Points:
    """Points (..., 2) of a turned picture, in the picture before the turn; size: width and height of that, pixels."""
    if not turn:
        return points
    x, y = points[..., 0], points[..., 1]
    width, height = size
    x, y = ((width - y, x), (width - x, height - y), (y, height - x))[turn - 1]
    return np.stack([x, y], axis=-1)


def boxes_turned_back(boxes: Points, turn: int, size: tuple[float, float]) -> Points:
    """Boxes (n, 4) of a turned picture, in the picture before the turn; arguments as for `turned_back`."""
    if not turn:
        return boxes
    corners = turned_back(boxes.reshape(-1, 2, 2), turn, size)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def turn_of(angle: float) -> int:
    """The quarter turns anticlockwise, 0 to 3, after which a head stands most upright; angle: the roll of the head,
    clockwise on the screen, radians."""
    return round(angle / (math.pi / 2)) % 4


def aside(angle: float, turn: int) -> float:
    """How far from upright a head still is after `turn` quarter turns anticlockwise, radians, 0 or more; angle as in
    `turn_of`."""
    return abs(math.remainder(angle - turn * math.pi / 2, 2 * math.pi))
