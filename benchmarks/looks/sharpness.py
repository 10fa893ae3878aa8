"""Is the new face as sharp and as grainy as the scene? The original's own face at the same place is the measure.

"Face to neck" relative to the same ratio in the original is what is measured: the neck is the same pixels in both, so
it falls out, and what is left is the new face over the original's. Both at the picture's own size, on luma.
"""

from __future__ import annotations

import cv2
import numpy as np

from benchmarks.looks.face_pairs import LUMA, Pair, features, grown
from streamdeid.core.arrays import Flags, Pixels

_FINE_SHARE = 0.006
"""Blur that parts fine from the rest, share of the face's width; a pixel at least."""
_MIDDLE = 2.0, 6.0
"""Blurs between which lies what fine detail is compared with, in fine blurs."""
_GRAIN = 0.3
"""Grey levels added to both sides' grain (as variances): rounding alone makes so much, and less is not to be seen."""
_FEWEST = 100


def sharpness(pair: Pair, skin: Flags) -> float:
    """How sharp the features (eyes, brows, nostrils, mouth) are over those of the original; 1 is as sharp, below 1
    softer. NaN where there is nothing to tell.

    Sharp is: energy of the fine band over energy of the middle band, so that pale brows are not soft ones; the grain's
    part of the fine energy, as measured on plain skin, is taken off. pair, skin: at the picture's own size.
    """
    place = features(pair)
    scale = max(1.0, _FINE_SHARE * pair.width)
    values = []
    for picture in (pair.before, pair.after):
        luma = picture @ LUMA
        fine = luma - cv2.GaussianBlur(luma, (0, 0), scale)
        middle = cv2.GaussianBlur(luma, (0, 0), _MIDDLE[0] * scale) - cv2.GaussianBlur(luma, (0, 0), _MIDDLE[1] * scale)
        grainless = float(np.mean(fine[place] ** 2)) - _spread(fine, skin) ** 2
        values.append(np.sqrt(max(grainless, 0.0) / max(float(np.mean(middle[place] ** 2)), 1e-6)))
    return float(values[1] / values[0]) if values[0] > 0 else float("nan")


def grain(pair: Pair, skin: Flags) -> tuple[float, float]:
    """Noise on plain skin in grey levels, of original and output: robust deviation of luma less its blur by a pixel."""
    lumas = (picture @ LUMA for picture in (pair.before, pair.after))
    first, second = (_spread(luma - cv2.GaussianBlur(luma, (0, 0), 1.0), skin) for luma in lumas)
    return first, second


def grain_ratio(before: float, after: float) -> float:
    """Noise of the output over that of the original; both have what nobody sees added."""
    return float(np.hypot(after, _GRAIN) / np.hypot(before, _GRAIN))


def at_own_size(skin: Flags, pair: Pair) -> Flags:
    """A mask of plain skin found on the shrunk cut, in the one at the picture's own size; a little smaller."""
    size = pair.changed.shape[1], pair.changed.shape[0]
    wide = cv2.resize(skin.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
    return grown(wide, -0.02 * pair.width)


def _spread(values: Pixels, where: Flags) -> float:
    chosen = values[where]
    if len(chosen) < _FEWEST:
        return 0.0
    return float(1.4826 * np.median(np.abs(chosen - np.median(chosen))))
