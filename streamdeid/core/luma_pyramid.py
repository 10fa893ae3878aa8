"""One pyramid of a frame's luma: what cuts, patches and looks see of it, reduced once and kept as long as the frame."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from streamdeid.core.arrays import Plane

_LEAST = 64
"""Pixels of the longer side at which it ends."""


def luma_pyramid(luma: Plane) -> tuple[Plane, ...]:
    """A luma plane, uint8 (h, w), and each time half of the last: means of 2 x 2 pixels, rounded; an odd last row or
    column is left out. The first is the plane itself. Together they cost a twentieth of one reduction by an odd factor.
    """
    levels = [luma]
    while max(luma.shape) >= 2 * _LEAST and min(luma.shape) >= 2:
        height, width = luma.shape[0] // 2, luma.shape[1] // 2
        inside = luma[: 2 * height, : 2 * width]
        luma = np.asarray(cv2.resize(inside, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
        levels.append(luma)
    return tuple(levels)


def smallest(levels: Sequence[Plane], width: int, height: int) -> Plane:
    """The smallest level that is at least so wide and high, or the first."""
    return next((one for one in reversed(levels) if one.shape[1] >= width and one.shape[0] >= height), levels[0])
