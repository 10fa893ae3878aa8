"""Clean skin: the relief and grain of a decoded face are limited to those of the gallery's own fair faces.

A texture is scaled to one mean colour, so the face of a dark donor comes out at a fair tone with the contrast of dark
skin: shadows about nose and mouth are twice as deep as fair skin's, and grey instead of red. It looks like dirt. No
scaling of the whole texture undoes it, so skin is split by size: a *soft field* (light and blotches), *relief* (wings
of the nose, folds, rims of lids: 1 to 5 % of the frame's width) and *grain* (pores, hairs). The difference of the
relief from the mean face's is limited to that of London's 69 fair-skinned donors; smaller differences stay.

All this is a function of the surrogate alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.aam.masked_blur import FLOOR, under_gain
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA

_SOFT = (0.05, 0.1, 0.2, 0.4)
"""Blurs that separate the soft field of skin from its relief, shares of the frame's width: the narrow one where there
is skin, wider ones to continue it under features."""
_RELIEF = (0.012, 0.03)
"""Blurs that separate relief from grain."""
_LOCAL = (0.06, 0.12)
"""Blurs over which the strength of relief is measured."""
_USUAL, _OF_RELIEF = 0.008, 0.45
"""By how much the relief of a fair donor differs from the mean face's, root mean square of the log of luma: the first
where the mean face has none, plus the second times the relief of the mean face. Medians of London's fair donors:
forehead .012, cheeks .019, about the mouth .026, nose .033, eyes .035; the mean face's own relief there is .007, .008,
.019, .044 and .046. Black donors have 1.4 to 1.8 times as much."""
_MOST = 1.6
"""Largest deviation of relief, in those units."""
_GRAIN = 0.011
"""Root mean square of the grain of fair donors, median: forehead .010, nose .018, mouth .014, cheeks .011."""
_UNEVEN = 0.7
"""Share of the difference between both halves of a face that is removed: blotches differ, and hardly ever features."""
_TINT = 0.4
"""Share that stays of the difference between the hue of relief and its usual hue."""
_SHADOW = np.array([0.72, 1.08, 1.2], np.float32)
"""How much of a shadow's depth each of the three channels has: light that has gone through skin fills a shadow with
red, so a shadow that darkens all three alike looks grey."""


@dataclass(frozen=True)
class Relief:
    """The usual relief of the skin of a model's faces, float32 (h, w) both."""

    usual: Pixels
    """Relief of the mean face, natural log of luma, the same on both sides."""
    spread: Pixels
    """By how much a face's relief may differ from the usual one, root mean square."""


def relief_of(mean: Pixels, zones: Zones) -> Relief:
    """The usual relief, from the picture of a mean face (h, w, 3) without its studio's light."""
    _, relief, _ = _parted(np.log(np.maximum(mean, 0) + FLOOR), zones)
    level = np.asarray(relief @ LUMA, np.float32)
    level = np.asarray((level + level[:, ::-1]) / 2, np.float32)
    return Relief(level, _USUAL + _OF_RELIEF * _strength(level, zones))


def with_clean_skin(picture: Pixels, zones: Zones, usual: Relief, hairy: Pixels) -> Pixels:
    """A picture (h, w, 3), RGB, with no more relief and grain than fair skin has. hairy: float32 (h, w), 1 where a
    beard stays, which is left as it is."""
    _, relief, grain = _parted(np.log(np.maximum(picture, 0) + FLOOR), zones)
    level = relief @ LUMA
    away = level - usual.usual
    away = np.asarray(away - _UNEVEN * (away - away[:, ::-1]) / 2, np.float32)
    held = away * np.minimum(1, usual.spread / np.maximum(_strength(away, zones), 1e-6))
    most = _MOST * usual.spread
    held = most * np.tanh(held / most)
    # Relief is only removed, never added: skin without relief stays as it is.
    kept = np.clip(usual.usual + held, np.minimum(level, 0), np.maximum(level, 0))[:, :, None]
    tint = relief - level[:, :, None]
    shade = np.minimum(kept, 0) * (_SHADOW - 1)
    fine = grain @ LUMA
    finer = np.minimum(1, _GRAIN / np.maximum(_strength(fine, zones), 1e-6))[:, :, None] - 1
    gain = kept - level[:, :, None] + shade + (_TINT - 1) * tint + finer * grain
    return under_gain(picture, np.asarray(gain * (zones.bare * (1 - hairy))[:, :, None], np.float32))


def _parted(log: Pixels, zones: Zones) -> tuple[Pixels, Pixels, Pixels]:
    """Soft field, relief and grain of the skin of a picture of logs (h, w, 3)."""
    soft = zones.blurred(log, "bare", _SOFT)
    away = log - soft
    relief = zones.blurred(away, "bare", _RELIEF)
    return soft, relief, away - relief


def _strength(level: Pixels, zones: Zones) -> Pixels:
    """Root mean square (h, w) of a level (h, w) of skin about each place."""
    return np.asarray(
        np.sqrt(np.maximum(zones.blurred((level * level)[:, :, None], "bare", _LOCAL)[:, :, 0], 0)), np.float32
    )
