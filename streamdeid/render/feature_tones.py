"""Tones of a surrogate's brows, lips and irises, so that they go with the hair and skin of the person (methods.md 6.3).

A fair face with painted brows, or with blue eyes under black hair, looks put on. A few numbers of the person pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import WarpTable
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA

FLOOR = 2.0
"""Grey levels added to both sides of a ratio: dark pixels are mostly noise. The compared pictures are blurred before,
so few are enough. With more, dark faces come out brighter and greyer than they are (with 8: by 15 % at 38 grey
levels)."""
_HAIR = ([0.3, 0.7, 1.3], [0.105, 0.26, 0.445])
"""How much darker than skin brows are, natural log, by how much darker hair is. The values are those between London's
blond and black donors times .81, the share that is left of them without their haze (`thin_brows`)."""
_DARK_HAIR = 0.4, 0.9
"""How much darker than skin hair is, natural log: from the first value irises turn browner, from the second they are
brown. Of 14 people in clips, fair ones have 0 to .5, those with brown and black hair .5 to 1.4, and one whose hair is
combed back .3."""
_BROWS = (0.6, 1.3)
"""Bounds of the factor on a surrogate's brows. Black hair asks for 1.45 and more, but with that the one child of the
clips (lp_d11) looks painted."""
_LIPS, _LIP_SHIFT = 0.6, (-0.3, 0.25)
"""Share of the way that lips go towards the person's tone, and bounds of the change, log RGB."""
_LIP_DARKER, _LIP_REDDER = 0.1, 0.12
"""How much darker and redder than skin lips are at least, whatever a gloss or a lamp makes of the person's."""
_LIPS_SEEN = 0.1
"""Share of the lips below which less of their tone is taken: behind a mask the lips keep the surrogate's tone."""


@dataclass(frozen=True)
class FeatureTones:
    """The regions of brows and lips in the small frame, of whose pixels f lie inside the mesh."""

    upper: NDArray[np.bool_]
    """bool (f,): plain skin of the upper face."""
    brows: Points
    """float64 (f,): weights of the middle of the brows, together 1."""
    lips: Points
    """float64 (f,): weights of the lips, without what shows between them, together 1."""

    @classmethod
    def of(cls, zones: Zones, shut: NDArray[np.bool_], table: WarpTable) -> FeatureTones:
        """The regions for the zones of a small frame. shut (h, w): where nothing shows between the lips."""
        at = table.rows, table.columns
        upper = (zones.skin[at] > 0.5) & (zones.lower[at] == 0)
        return cls(upper, _core(zones.brows[at], 0.3), _core((zones.lips * shut)[at], 0.5))

    def brow_factor(self, own: Pixels, hair: float | None) -> float:
        """The factor on the darkness of the brows of a surrogate's small texture (f, 3).

        hair: log darkness of the person's hair.
        """
        if hair is None:
            return 1.0
        skin = np.log(own[self.upper] + FLOOR).mean(axis=0)
        darkness = float(((np.log(own + FLOOR) - skin) @ LUMA) @ self.brows)
        wanted = -float(np.interp(-hair, *_HAIR))
        return float(np.clip(0.3 + 0.7 * wanted / min(darkness, -0.1), *_BROWS))

    def lip_shift(self, person: Points, own: Pixels, well: Points) -> Points:
        """The log RGB (3,) by which a surrogate's lips go towards a person's.

        person (f, 3): log colours with the light taken off. own (f, 3): the surrogate's small texture. well (f,): how
        well the person's places were seen.
        """
        skin = np.log(own[self.upper] + FLOOR).mean(axis=0)
        own_lips = self.lips @ (np.log(own + FLOOR) - skin)
        seen = self.lips * np.maximum(well, 1e-6)
        told = min(1.0, float(seen.sum()) / _LIPS_SEEN)
        lips = own_lips + told * np.clip(_LIPS * (seen @ (person - skin) / seen.sum() - own_lips), *_LIP_SHIFT)
        lips += min(0.0, -_LIP_DARKER - float(lips @ LUMA))
        lips += max(0.0, _LIP_REDDER - float(lips[0] - lips[1])) * np.array([0.6, -0.4, -0.2])
        shift: Points = lips - own_lips
        return shift


def brownness(hair: float | None) -> float:
    """How near irises come to brown ones, 0 to 1, under hair of this log darkness."""
    return 0.0 if hair is None else float(np.interp(-hair, _DARK_HAIR, (0, 1)))


def _core(mask: Pixels, least: float) -> Points:
    weights = np.where(mask > least, mask, 0).astype(np.float64)
    return weights / max(float(weights.sum()), 1e-6)
