"""Lips of one tone, in the range of the lips of fair donors.

The lips of dark donors are dark above and pale below. Brought to a fair skin's tone they are violet and two-coloured,
and lipstick stays as red as it was. So the tone of lips is evened out, and how much darker, redder and bluer than skin
they are as a whole is limited to the range in the gallery. It is a function of the surrogate alone.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.masked_blur import FLOOR, masked_blur, under_gain
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA

_SCALES = (0.025, 0.06, 0.15)
"""Blurs over which lips are evened out, shares of the frame's width."""
_KEPT, _KEPT_TINT = 0.3, 0.3
"""Shares that stay of soft differences of brightness and of colour within lips: they are a little darker above."""
_DARK, _RED, _BLUE = (-0.34, -0.17), (0.13, 0.25), (0.07, 0.14)
"""Ranges of how much darker (natural log of luma), redder (log R - log G) and bluer (log B - log G) than skin lips are
as a whole. The means of London's 69 fair donors are -.28, .20 and .13, their standard deviations .065, .046 and .031.
The means of black donors are -.08, .05 and .11."""


def with_plain_lips(picture: Pixels, zones: Zones, skin: Pixels) -> Pixels:
    """A picture (h, w, 3), RGB, with even lips. skin: log RGB (3,) of its skin, `FLOOR` added."""
    box = zones.box_of_lips(0)
    lips, mouth = zones.lips[box], picture[box]
    core = np.where(lips > 0.6, lips, 0).astype(np.float32)
    log = np.log(np.maximum(mouth, 0) + FLOOR)
    wider = picture.shape[1] / mouth.shape[1]
    whole = (log * core[:, :, None]).sum(axis=(0, 1)) / core.sum()
    away = masked_blur(log, core, tuple(share * wider for share in _SCALES)) - whole
    level = (away @ LUMA)[:, :, None]
    kept = _KEPT * level + _KEPT_TINT * (away - level)
    over = whole - skin
    tone = np.array([np.clip(over[0] - over[1], *_RED), 0.0, np.clip(over[2] - over[1], *_BLUE)])
    wanted = tone - tone @ LUMA + np.clip(over @ LUMA, *_DARK)
    gain = (kept - away + (wanted - over)) * lips[:, :, None]
    even = picture.copy()
    even[box] = under_gain(mouth, np.asarray(gain, np.float32))
    return even
