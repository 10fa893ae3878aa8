"""The sides of the nose: the far one is smoothed where a turned head shows it edge on.

There thirty pixels of the texture become three, which would alias into a ragged line.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Pixels
from streamdeid.core.convex import convex
from streamdeid.core.ibug68 import NOSE_BRIDGE

Rectangle = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom are exclusive."""
_FROM, _OVER = 0.2, 0.2
"""Yaw in radians from which the far side is smoothed, and the range over which that becomes full."""


@dataclass(frozen=True)
class NoseFlanks:
    """Both sides of the nose in the model's frame."""

    sides: tuple[tuple[Pixels, Rectangle], tuple[Pixels, Rectangle]]
    """Soft masks (h, w, 1), image-left first, with their rectangles."""

    @classmethod
    def of(cls, model: AppearanceModel) -> NoseFlanks:
        """The sides of the nose of a model."""
        return cls((_flank(model, 39, 31, 41), _flank(model, 42, 35, 46)))

    def smoothed(self, texture: Pixels, yaw: float) -> Pixels:
        """Smooth the far side of a texture (h, w, 3), in place, as far as a yaw, radians, shows it edge on."""
        strength = float(np.clip((abs(yaw) - _FROM) / _OVER, 0, 1))
        if strength > 0:
            mask, (x0, y0, x1, y1) = self.sides[0 if yaw > 0 else 1]
            region = texture[y0:y1, x0:x1]
            region += strength * mask * (cv2.GaussianBlur(region, (0, 0), sigmaX=6.0, sigmaY=3.0) - region)
        return texture


def _flank(model: AppearanceModel, corner: int, wing: int, lid: int) -> tuple[Pixels, Rectangle]:
    """One side of the nose, between an eye's inner corner, a wing of the nose and the cheek under a lid."""
    width, height = model.frame_size
    p = model.mean_shape
    middle = 0.85 * p[NOSE_BRIDGE] + 0.15 * p[wing]
    cheek, beside = 0.55 * p[wing] + 0.45 * p[lid], p[wing] + 0.25 * (p[wing] - p[33])
    polygon = np.concatenate([middle, [p[wing] + (0, 4), beside, cheek, p[corner] + (0, 5)]])
    hard = np.zeros((height, width), np.uint8)
    cv2.fillPoly(hard, [np.round(convex(polygon) * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    soft = np.asarray(cv2.GaussianBlur(hard.astype(np.float32) / 255, (0, 0), 2.5), np.float32)
    rows, columns = np.nonzero(soft > 0.01)
    x0, y0, x1, y1 = int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
    return soft[y0:y1, x0:x1, None], (x0, y0, x1, y1)
