"""Are the new face's eyes, brows and lips as dark and as saturated, beside its skin, as the person's are?

Means inside the landmarks of the original, over the mean of its plain skin (`skin_looks.plain_skin`). Hue is not looked
at: a blue eye in place of a brown one may be as saturated. In pictures with next to no colours saturations mean little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.looks.face_pairs import LUMA, Pair, filled
from streamdeid.core.arrays import Flags, Pixels, Points
from streamdeid.core.ibug68 import LEFT_BROW, LEFT_EYE, OUTER_LIP, RIGHT_BROW, RIGHT_EYE

FEATURES: Mapping[str, tuple[slice, ...]] = {
    "eyes": (LEFT_EYE, RIGHT_EYE),
    "brows": (LEFT_BROW, RIGHT_BROW),
    "lips": (OUTER_LIP,),
}
_BROW = 0.03
"""Height of a brow, share of the face's width: its landmarks are a line."""


@dataclass(frozen=True)
class Tone:
    """A feature of the new face over the original's, each beside the skin of its own face."""

    brightness: float
    """1: as bright."""
    saturation: float
    """1: as saturated (largest less least channel, over their mean)."""


def feature_tones(pair: Pair, skin: Flags) -> dict[str, Tone]:
    """The tones of a pair's features by name; one that covers no pixel is left out. skin (h, w): plain skin."""
    found = {}
    for name, parts in FEATURES.items():
        shapes = [pair.points[part] for part in parts]
        where = filled(skin.shape, *([_thick(one, pair.width) for one in shapes] if name == "brows" else shapes))
        if where.any():
            (dark, grey), (new_dark, new_grey) = (_beside(p, where, skin) for p in (pair.before, pair.after))
            found[name] = Tone(new_dark / dark, new_grey / grey)
    return found


def _thick(line: Points, width: float) -> Points:
    """The polygon about a line of landmarks."""
    up = np.array([0.0, _BROW * width / 2])
    return np.concatenate([line - up, (line + up)[::-1]])


def _beside(picture: Pixels, where: Flags, skin: Flags) -> tuple[float, float]:
    """Brightness and saturation of a part of a picture (h, w, 3) over those of the skin."""
    (bright, vivid), (skin_bright, skin_vivid) = (_tone(picture[mask].mean(axis=0)) for mask in (where, skin))
    return bright / skin_bright, vivid / skin_vivid


def _tone(colour: Pixels) -> tuple[float, float]:
    mean = max(float(colour.mean()), 1.0)
    return max(float(colour @ LUMA), 1.0), max(float(np.ptp(colour)) / mean, 0.02)
