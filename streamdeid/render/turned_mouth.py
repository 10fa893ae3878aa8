"""The inside of the mouth of a turned head: it is rendered, not copied.

As often as not a hand or a microphone hides the mouth of a person who turns away, and the far half of the lips that are
seen does not have the outline of the new face's.
"""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels, Points

_SHUT, _TOOTHED = 0.04, 0.12
"""Opening over width of the lips from which the inside is rendered, and from which teeth are seen."""
_DARK, _TEETH, _WHITEST = 0.28, 1.25, 215.0
"""Luma of the inside and of teeth over that of the skin about the mouth, and the largest luma of teeth."""
_TEETH_REACH = 0.4, 0.95
"""How far down the opening the upper teeth reach in speech and in a smile, as shares of the opening."""
_MOST_TEETH = 0.075, 0.16
"""The largest reach of the teeth in speech and in a smile, as a share of the width of the lips seen from the front."""


def render_inside(patch: Patch, lips: Points, skin: Pixels, width: float, smile: float, strength: float) -> None:
    """Render a dark mouth with a hint of upper teeth between inner lips (8, 2), in pixels of the picture, in place.

    skin (3,): YUV of the skin about the mouth. width: of the mouth seen from the front, pixels. smile, strength: 0 to
    1.
    """
    opening = float(np.linalg.norm(lips[1:4] - lips[:4:-1], axis=1).max())
    strength *= min(1.0, max(0.0, opening / max(width, 1e-6) - _SHUT) / _SHUT)
    if strength <= 0:
        return
    low, high = lips[[0, 1, 2, 3, 4]], lips[[0, 7, 6, 5, 4]]
    share, most = (a + smile * (b - a) for a, b in (_TEETH_REACH, _MOST_TEETH))
    reach = min(share, most * width / max(opening, 1e-6))
    teeth = np.concatenate([low, (low + reach * (high - low))[::-1]])
    toothed = strength * min(1.0, max(0.0, opening / max(width, 1e-6) - _SHUT) / (_TOOTHED - _SHUT))
    y, u, v = (float(value) for value in skin)
    dark = np.array([16 + _DARK * (y - 16), 128 + 0.7 * (u - 128), 128 + 1.1 * (v - 128)])
    white = np.array([min(16 + _TEETH * (y - 16), max(_WHITEST, y)), 128 + 0.4 * (u - 128), 128 + 0.3 * (v - 128)])
    _fill(patch, lips, dark, strength, max(0.7, 0.06 * opening))
    _fill(patch, teeth, white, 0.8 * toothed, max(0.7, 0.05 * opening))


def _fill(patch: Patch, polygon: Points, colour: Points, strength: float, blur: float) -> None:
    for plane, own, scale, offset in ((patch.y[:, :, None], colour[:1], 1.0, 0.0), (patch.uv, colour[1:], 0.5, 0.5)):
        corners = (polygon - (patch.x0, patch.y0) - offset) * scale
        reach = int(3 * blur) + 2
        low = np.maximum(np.floor(corners.min(axis=0)).astype(int) - reach, 0)
        high = np.minimum(np.ceil(corners.max(axis=0)).astype(int) + reach, plane.shape[1::-1])
        if (high - low < 1).any():
            continue
        hard = np.zeros((high[1] - low[1], high[0] - low[0]), np.uint8)
        cv2.fillPoly(hard, [np.round((corners - low) * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
        soft = cv2.GaussianBlur(hard, (0, 0), blur * scale).astype(np.float32) * np.float32(strength / 255)
        region = plane[low[1] : high[1], low[0] : high[0]]
        region += soft[:, :, None] * (own.astype(np.float32) - region)
