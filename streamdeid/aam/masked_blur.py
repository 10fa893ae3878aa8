"""Pictures of skin: what lies in a mask blurred, and a gain laid on."""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.piecewise_affine import Pixels

FLOOR = np.float32(8)
"""Grey levels added before a logarithm is taken: dark pixels are mostly noise."""


def under_gain(picture: Pixels, gain: Pixels) -> Pixels:
    """A picture float32 (h, w, 3) with a gain (h, w, 1 or 3), natural log, on what lies above `FLOOR`."""
    return np.asarray((picture + FLOOR) * np.exp(gain) - FLOOR, np.float32)


def masked_blur(picture: Pixels, mask: Pixels, shares: tuple[float, ...]) -> Pixels:
    """Blur (h, w, c) of what of a picture (h, w, c) lies in a mask (h, w): the first of several widths, growing shares
    of the picture's, at which enough of the mask is near."""
    height, width = mask.shape
    mask = mask.astype(np.float32)
    kept = (picture * mask[:, :, None]).astype(np.float32)
    out, near = np.zeros_like(kept), np.zeros_like(mask)
    for share in shares:
        step = 1 if share < 0.06 else 3  # a wide blur at a third of the size is the same to the eye
        size = width // step, height // step
        small, weight = (cv2.resize(p, size, interpolation=cv2.INTER_AREA) if step > 1 else p for p in (kept, mask))
        sigma = share * width / step
        weight = cv2.GaussianBlur(weight, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT)
        total = cv2.GaussianBlur(small, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT).reshape(*weight.shape, -1)
        blurred, weight = (cv2.resize(p, (width, height)) for p in (total / (weight[:, :, None] + 1e-4), weight))
        enough = np.clip(near / 0.3, 0, 1)[:, :, None]
        out = out * enough + blurred.reshape(kept.shape) * (1 - enough)
        near = np.maximum(near, weight)
    return np.asarray(out, np.float32)
