"""How the corners of a mouth lie to the line between its lips: what makes a face look stern or friendly at rest."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.piecewise_affine import Points
from streamdeid.core.ibug68 import MOUTH, MOUTH_CORNERS

_INNER_UPPER, _INNER_LOWER = 62, 66
"""Middle of the inner lips."""


def with_corners_between(shape: Points, lowest: float, highest: float) -> Points:
    """A shape (81, 2) with the corners of its mouth so high over the middle of the inner lips at least and at most,
    shares of the mouth's width along the line of its corners; the same array where they are.

    The lips bend with them: by the square of the distance from the middle, which stays where it is.
    """
    left, right = (shape[i] for i in MOUTH_CORNERS)
    along = right - left
    width = float(np.hypot(*along)) or 1.0
    along = along / width
    down = np.array([-along[1], along[0]])
    middle = (shape[_INNER_UPPER] + shape[_INNER_LOWER]) / 2
    height = float((middle - (left + right) / 2) @ down) / width
    up = float(np.clip(height, lowest, highest)) - height
    if up == 0:
        return shape
    lips = shape[MOUTH]
    share = np.clip(2 * ((lips - middle) @ along) / width, -1, 1) ** 2
    bent = shape.copy()
    bent[MOUTH] = lips - (up * width * share)[:, None] * down
    return bent
