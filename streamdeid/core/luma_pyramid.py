"""One pyramid of a frame's luma for cuts, patches and looks, which is made once and kept as long as the frame."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from streamdeid.core.arrays import Plane

_LEAST = 64
"""Pixels of the longer side at which the pyramid ends: no level is smaller."""


def luma_pyramid(luma: Plane) -> tuple[Plane, ...]:
    """The levels of a luma plane, uint8 (h, w): the plane itself, and then each level half of the one before it.

    Halving takes means of 2 x 2 pixels, rounded; an odd last row or column is left out. All levels together cost a
    twentieth of one reduction by an odd factor.
    """
    levels = [luma]
    while max(luma.shape) >= 2 * _LEAST and min(luma.shape) >= 2:
        height, width = luma.shape[0] // 2, luma.shape[1] // 2
        inside = luma[: 2 * height, : 2 * width]
        luma = np.asarray(cv2.resize(inside, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
        levels.append(luma)
    return tuple(levels)


def smallest(levels: Sequence[Plane], width: int, height: int) -> Plane:
    """The smallest level that is at least `width` wide and `height` high, or the first where none is."""
    return next((one for one in reversed(levels) if one.shape[1] >= width and one.shape[0] >= height), levels[0])
