"""A pattern in the pixels of a face that can be found again wherever a piece of the face survives.

The pattern is pseudo-random, ±1 in blocks of two by two pixels, added to the luma inside a face's hull. It is looked
for in a whole picture by normalised cross-correlation (zero mean, after a high-pass) with nine overlapping windows of
it, each a quarter of the part of the face that is rectangular; so a quarter of a face that survives gives itself away,
wherever it lies. Places to whole pixels: a face that carries a pattern has to move by whole pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from streamdeid.core.arrays import Plane, Singles

_BLOCK = 2
"""Side of a block in pixels: smaller ones do not survive an encoder."""
STRENGTH = 20.0
"""Grey levels that are added or taken away."""
_SOFT = 2.0
"""Sigma of the high-pass, pixels."""
_INNER = 0.7
"""Width and height of the rectangle that is searched for, shares of the face's box."""
_LEAST_SPREAD = 3.0
"""Standard deviation, grey levels after the high-pass, that a place must have to be compared."""


@dataclass(frozen=True)
class Watermark:
    """The pattern of one face: float32 (h, w), 1 or -1."""

    pattern: Singles

    @classmethod
    def of(cls, seed: tuple[int, ...], width: int, height: int) -> Watermark:
        """A pattern of a size in pixels; the same seed gives the same one."""
        rng = np.random.default_rng(seed)
        blocks = rng.integers(0, 2, (-(-height // _BLOCK), -(-width // _BLOCK))) * 2 - 1
        return cls(np.kron(blocks, np.ones((_BLOCK, _BLOCK)))[:height, :width].astype(np.float32))

    def stamp(self, luma: Plane, x: int, y: int, hull: Singles) -> None:
        """Add the pattern to a luma plane, uint8 (h, w), in place, its corner at (x, y). hull (h, w): weights."""
        height, width = self.pattern.shape
        left, top = max(0, -x), max(0, -y)
        right, bottom = min(width, luma.shape[1] - x), min(height, luma.shape[0] - y)
        if right <= left or bottom <= top:
            return
        part = luma[y + top : y + bottom, x + left : x + right]
        added = STRENGTH * self.pattern[top:bottom, left:right] * hull[top:bottom, left:right]
        part[:] = np.clip(part + added + 0.5, 0, 255).astype(np.uint8)

    @cached_property
    def windows(self) -> list[Singles]:
        """Nine overlapping quarters of the inner rectangle, high-passed."""
        sharp = _high_passed(self.pattern)
        height, width = self.pattern.shape
        h, w = int(_INNER * height / 2), int(_INNER * width / 2)
        y0, x0 = (height - 2 * h) // 2, (width - 2 * w) // 2
        steps = (0, 1, 2)
        return [np.ascontiguousarray(sharp[y0 + i * h // 2 :, x0 + j * w // 2 :][:h, :w]) for i in steps for j in steps]

    def strongest(self, luma: Plane) -> float:
        """Highest correlation of any window with any place of a luma plane, uint8 (h, w); -1 to 1."""
        sharp = _high_passed(luma.astype(np.float32))
        height, width = self.windows[0].shape
        if sharp.shape[0] < height or sharp.shape[1] < width:
            return 0.0
        spread = np.sqrt(np.maximum(_mean(sharp * sharp, height, width) - _mean(sharp, height, width) ** 2, 0))
        worth = spread > _LEAST_SPREAD
        if not worth.any():
            return 0.0
        found = 0.0
        for window in self.windows:
            score = cv2.matchTemplate(sharp, window, cv2.TM_CCOEFF_NORMED)
            found = max(found, float(score[worth].max()))
        return found


def _high_passed(values: Singles) -> Singles:
    return np.asarray(values - cv2.GaussianBlur(values, (0, 0), _SOFT), np.float32)


def _mean(values: Singles, height: int, width: int) -> Singles:
    """Means over every window of a size that lies inside, (h - height + 1, w - width + 1)."""
    means = cv2.boxFilter(values, cv2.CV_32F, (width, height), anchor=(0, 0), borderType=cv2.BORDER_CONSTANT)
    return np.asarray(means[: values.shape[0] - height + 1, : values.shape[1] - width + 1], np.float32)
