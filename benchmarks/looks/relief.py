"""Is the new skin as uneven as the person's? Relief: what lies between grain and light, wings of the nose, folds, dirt.

The band between blurs of 1.2 and 5 % of the face's width in the log of luma, on the original's plain skin
(`skin_looks.plain_skin`), which is blurred within that mask only, so no feature beside it counts.
"""

from __future__ import annotations

import cv2
import numpy as np

from benchmarks.looks.face_pairs import LUMA, Pair
from streamdeid.core.arrays import Flags, Pixels

_BAND = 0.012, 0.05
"""Blurs between which relief lies, shares of the face's width."""
_BLACK = 4.0
"""Grey levels added before logarithms."""
_LEAST = 0.003
"""Relief below which nobody sees any, natural log: both sides count as this at least."""


def relief(pair: Pair, skin: Flags) -> tuple[float, float]:
    """Root mean square of the relief of original and output, natural log, on a mask of skin (h, w)."""
    before, after = (_relief(picture @ LUMA, skin, pair.width) for picture in (pair.before, pair.after))
    return before, after


def relief_ratio(before: float, after: float) -> float:
    """Relief of the output over the original's: below 1 smoother, above 1 dirtier."""
    return max(after, _LEAST) / max(before, _LEAST)


def _relief(luma: Pixels, skin: Flags, width: float) -> float:
    level, weight = np.log(luma + _BLACK), skin.astype(np.float32)
    fine, wide = (_within(level, weight, share * width) for share in _BAND)
    return float(np.sqrt(np.mean((fine - wide)[skin] ** 2)))


def _within(level: Pixels, weight: Pixels, sigma: float) -> Pixels:
    """A level (h, w) blurred within a mask of weights (h, w)."""
    total = cv2.GaussianBlur(np.asarray(level * weight, np.float32), (0, 0), sigma)
    return np.asarray(total / np.maximum(cv2.GaussianBlur(weight, (0, 0), sigma), 1e-4), np.float32)
