"""What a face looks like, as a unit vector: its aligned texture, high-passed, so that lamps and skin tone cancel.

The vector tells whether a track still shows the same face as a moment ago (`identity.looks`), not whose face it is:
another expression or light an hour later changes the vector as much as another person does.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA

Look = NDArray[np.float32]
"""Unit vector, float32 (n,): the product of two is their correlation."""
LEAST_WIDTH = 24.0
"""Least width of a face, pixels: the pixels of smaller faces are noise."""
_FLOOR = 8.0
"""Grey levels added before the logarithm: dark pixels are mostly noise."""
_COARSE = 8.0
"""Width of the blur that is subtracted, pixels of the frame (an eighth of the face): effects of light are softer."""


class FaceLook:
    """Turns textures of faces into looks; pure, but it keeps the constants of the frame."""

    def __init__(self, table: WarpTable) -> None:
        """table: the warp table of the fit's frame."""
        self._table = table
        mask = spread(np.ones((len(table.rows), 1), np.float32), table)[:, :, 0]
        self._mask, self._weight = mask, self._soft(mask) + np.float32(1e-3)
        self._inner = cv2.erode(mask, np.ones((3, 3), np.uint8)) > 0

    def __call__(self, texture: Pixels) -> Look | None:
        """Unit vector (n,) of a small texture, RGB float32 (f, 3); None for a texture that shows nothing."""
        grey = np.log(np.maximum(texture, 0) @ LUMA + np.float32(_FLOOR)).astype(np.float32)
        picture = spread(grey[:, None], self._table)[:, :, 0]
        values = (picture - self._soft(picture * self._mask) / self._weight)[self._inner]
        values = values - values.mean()
        size = float(np.linalg.norm(values))
        return (values / np.float32(size)).astype(np.float32) if np.isfinite(size) and size > 1e-6 else None

    def _soft(self, picture: Pixels) -> Pixels:
        blurred = cv2.GaussianBlur(picture, (0, 0), _COARSE, borderType=cv2.BORDER_CONSTANT)
        return np.asarray(blurred, np.float32)
