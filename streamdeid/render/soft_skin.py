"""The soft skin of one small texture, from which the light on a face is measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Pixels
from streamdeid.core.kernel_cache import kernel
from streamdeid.render.feature_tones import FLOOR


@dataclass(frozen=True)
class SoftSkin:
    """The values of one small texture, blurred once, from which the light is measured."""

    level: Pixels
    """float32 (p,): natural log of the luma of soft skin where it is fitted."""
    folds: Pixels
    """float32 (h, w, 3): the texture blurred to the scale of folds, and `FLOOR` added."""


@kernel
def laid(texture, skin, rows, columns, luma, grey, colour):  # type: ignore[no-untyped-def]
    """Lay a small texture (f, 3) into its frame: its luma on plain skin (h, w), and its colours (h, w, 3)."""
    for i in range(len(rows)):
        y, x = rows[i], columns[i]
        level = np.float32(0)
        for c in range(3):
            colour[y, x, c] = texture[i, c]
            level += luma[c] * texture[i, c]
        grey[y, x] = level * skin[i]


@kernel
def soft_level(texture, grey, near, rows, columns, fitted, luma, out):  # type: ignore[no-untyped-def]
    """The log luma (p,) of soft skin, of a blurred luma (h, w), where it is fitted; of the pixel if no skin is near."""
    for k in range(len(fitted)):
        i = fitted[k]
        if near[i] > 0.05:
            level = grey[rows[i], columns[i]] / near[i]
        else:
            level = luma[0] * texture[i, 0] + luma[1] * texture[i, 1] + luma[2] * texture[i, 2]
        out[k] = np.log(level + FLOOR)
