"""Brows without the haze about them: what is darkest in a surrogate's is its brow, the rest fades.

Averages of donors, and donors brought to one shape, have soft broad brows: as broad as London's are, but without
single hairs they look smeared on. Each place is made lighter the less dark it is beside the brow's own darkest hairs. A
function of the surrogate alone.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.masked_blur import FLOOR, under_gain
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA

_POWER = 0.6
"""Power of the darkness over that of the darkest hairs. By eye, on eight faces of clips, original beside it: without it
they are smears, at 1.2 those of men are plucked."""
_DARKEST = 0.1
"""Quantile of `darkness` that the darkest hairs of a brow have."""
_CORE = 0.5
"""Where a brow is, of `Zones.brows`."""
SKIN = (0.06,)
"""Blur in which skin about a brow is taken for that under it, share of the frame's width."""


def darkness(picture: Pixels, zones: Zones) -> Pixels:
    """How much darker than the skin about it a picture (h, w, 3) is, by the mean of its channels' natural logs as luma
    weighs them, float32 (h, w); 0 where it is not."""
    log = np.log(picture + FLOOR) @ LUMA
    skin = zones.blurred(log[:, :, None], "skin", SKIN)[:, :, 0]
    return np.asarray(np.minimum(log - skin, 0), np.float32)


def with_thin_brows(picture: Pixels, zones: Zones) -> Pixels:
    """A surrogate's picture float32 (h, w, 3), RGB in the model's frame, with lighter margins of its brows."""
    hair = darkness(picture, zones)
    darkest = min(float(np.quantile(hair[zones.brows > _CORE], _DARKEST)), -1e-3)
    lighter = zones.brows * hair * (np.minimum(hair / darkest, 1) ** _POWER - 1)
    return under_gain(picture, np.asarray(lighter, np.float32)[:, :, None])
