"""Brows without the haze about them: the darkest part of a surrogate's brow stays, the rest fades.

Averages of donors, and donors brought to one shape, have soft broad brows. They are as broad as London's, but without
single hairs they look smeared on. Each place is made lighter the less dark it is compared with the brow's own darkest
hairs. The result is a function of the surrogate alone.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.masked_blur import FLOOR, under_gain
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA

_POWER = 0.6
"""Power of the darkness over that of the darkest hairs. Chosen by eye, on eight faces of clips, with the original
beside it: without it brows are smears, at 1.2 those of men look plucked."""
_DARKEST = 0.1
"""Quantile of `darkness` that counts as the darkest hairs of a brow."""
_CORE = 0.5
"""Value of `Zones.brows` above which there is a brow."""
SKIN = (0.06,)
"""Blur of the skin about a brow, which is taken for the skin under it, as a share of the frame's width."""


def darkness(picture: Pixels, zones: Zones) -> Pixels:
    """How much darker than the skin about it a picture (h, w, 3) is, natural log, float32 (h, w); 0 where it is not.

    It is the mean of the channels' logs, weighted like luma.
    """
    log = np.log(picture + FLOOR) @ LUMA
    skin = zones.blurred(log[:, :, None], "skin", SKIN)[:, :, 0]
    return np.asarray(np.minimum(log - skin, 0), np.float32)


def with_thin_brows(picture: Pixels, zones: Zones) -> Pixels:
    """A surrogate's picture float32 (h, w, 3), RGB in the model's frame, with the margins of its brows made lighter."""
    hair = darkness(picture, zones)
    darkest = min(float(np.quantile(hair[zones.brows > _CORE], _DARKEST)), -1e-3)
    lighter = zones.brows * hair * (np.minimum(hair / darkest, 1) ** _POWER - 1)
    return under_gain(picture, np.asarray(lighter, np.float32)[:, :, None])
