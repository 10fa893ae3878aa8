"""Operations on pictures of skin: blur the part inside a mask, and apply a gain."""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.core.arrays import Pixels

FLOOR = np.float32(8)
"""Grey levels added before a logarithm is taken: dark pixels are mostly noise."""

_HALVED, _THIRD = 6.0, 12.0
"""Blurs, pixels, from which a picture of half and of a third of the size is used: the results differ by .02 grey levels
in a decoded face, .2 at most."""


def under_gain(picture: Pixels, gain: Pixels) -> Pixels:
    """A picture float32 (h, w, 3) with a gain (h, w, 1 or 3), natural log, applied after `FLOOR` was added."""
    return np.asarray((picture + FLOOR) * np.exp(gain) - FLOOR, np.float32)


class MaskedBlur:
    """Blur of the part of a picture that lies in a mask.

    Its width is the first of several, growing shares of the picture's width, at which enough of the mask is near. What
    depends on the mask alone is computed once."""

    def __init__(self, mask: Pixels, shares: tuple[float, ...]) -> None:
        """mask: float32 (h, w), 0 to 1."""
        height, width = mask.shape
        self._mask = np.asarray(mask, np.float32)[:, :, None]
        self._widths: list[tuple[int, float, Pixels, Pixels]] = []
        near, before = np.zeros((height, width), np.float32), np.ones((height, width), np.float32)
        found = []
        for share in shares:
            step = 1 if share * width < _HALVED else 2 if share * width < _THIRD else 3
            sigma = share * width / step
            weight = _blurred(_reduced(self._mask[:, :, 0], step), sigma)
            found.append((step, sigma, 1 / (weight + np.float32(1e-4)), np.clip(near / 0.3, 0, 1)))
            near = np.maximum(near, cv2.resize(weight, (width, height)))
        for step, sigma, by, enough in reversed(found):  # each width counts where the narrower ones are not enough
            self._widths.insert(0, (step, sigma, by[:, :, None], ((1 - enough) * before)[:, :, None]))
            before = before * enough

    def __call__(self, picture: Pixels) -> Pixels:
        """The blur float32 (h, w, c) of a picture (h, w, c)."""
        height, width = picture.shape[:2]
        kept = np.asarray(picture * self._mask, np.float32)
        out = np.zeros_like(kept)
        reduced = {step: _reduced(kept, step) for step in {width[0] for width in self._widths}}
        for step, sigma, by, share in self._widths:
            small = _blurred(reduced[step], sigma).reshape(*by.shape[:2], -1) * by
            out += share * (small if step == 1 else cv2.resize(small, (width, height)).reshape(kept.shape))
        return out


def masked_blur(picture: Pixels, mask: Pixels, shares: tuple[float, ...]) -> Pixels:
    """The blur of a picture (h, w, c) by a mask (h, w) that is used only once (`MaskedBlur`)."""
    return MaskedBlur(mask, shares)(picture)


def _reduced(picture: Pixels, step: int) -> Pixels:
    if step == 1:
        return picture
    size = picture.shape[1] // step, picture.shape[0] // step
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.float32)


def _blurred(picture: Pixels, sigma: float) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), np.float32)
