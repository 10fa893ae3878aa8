"""Colour of shade on skin: it is more saturated than the skin in the light, and a surrogate's has to be as much so.

Light that falls from skin on skin is red, and cameras add to that: over a face red falls .8 times as quickly as
brightness, and blue 1.3 times (natural logs; medians of 48 faces in 16 clips, with the same signs in all but one). The
light's colour of `light` is told by what is lit, and shading of any face has no colour, so a surrogate had half of it:
grey brows, lips and eyes in the picture of a camera that shows people in strong colours. Two numbers of the person
pass, and they are more the camera's than the person's.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA
from streamdeid.render.feature_tones import FLOOR
from streamdeid.render.robust_fit import middle_of

USUAL, _COLOURED = np.array([0.81, 1.09, 1.27]), 0.5
"""How quickly red, green and blue fall with brightness where next to nothing tells: the medians; and the saturation of
skin (largest less least channel, over their mean) from which they do. Skin without colour has shade without."""
_SURE = 0.06
"""Deviation of a face's brightness, natural log, at which it tells half: faces of the clips have .08 to .26."""
_OUTSIDE = 0.5
"""Distance from the middle brightness, natural log, from which a place is no skin: hair, or a highlight."""
_DARKEST, _BRIGHTEST = -0.8, 0.4
"""Bounds of the brightness over the skin's to which colour is given, natural log."""
_LEAST, _MOST = np.array([-0.5, -0.2, 0.0]), np.array([0.0, 0.3, 0.5])
"""Bounds of the change of the slopes: shade gets more saturated, and never less. In the light of two lamps shade has
the colour of one of them, which is none of brows and lips."""
LIT = 0.75
"""Quantile of the brightness from which a place tells the light's colour in full: in a shadow the camera's black tells
little. A face half in the dark was grey beside its lit half's orange (`light`)."""
_SOFT = 0.8
"""Blur of that brightness, pixels of the small frame: colours are no finer."""


def slopes_of(skin: Pixels, weights: Points, usual: Points = USUAL) -> Points:
    """How quickly red, green and blue fall with the brightness of skin, float64 (3,): 1 for each where shade has the
    skin's own colour.

    skin (p, 3): RGB. weights (p,): how much each place counts; nothing where none does. usual (3,): what they are taken
    for where the skin is all alike.
    """
    level, colours = np.log(skin @ LUMA + FLOOR).astype(np.float64), np.log(skin + FLOOR).astype(np.float64)
    away = level - middle_of(level, weights)
    seen = weights * (np.abs(away) < _OUTSIDE)
    total = float(seen.sum())
    if not total > 0:
        return usual
    away = away - seen @ away / total
    variance = float(seen @ away**2) / total
    falls = (seen * away) @ (colours - seen @ colours / total) / total
    slopes: Points = (falls + _SURE**2 * usual) / (variance + _SURE**2)
    return slopes


def shade_colour(
    lit: Pixels, ours: Pixels, person: Pixels, fitted: NDArray[np.intp], weights: Points, table: WarpTable
) -> Pixels:
    """The log gain float32 (h, w, 3) that gives a surrogate's shade the colour that the person's has.

    lit (f, 3): the surrogate's small texture in the person's light. ours, person (f, 3): its soft skin (`soft_skin`)
    and the person's. fitted (p,): numbers of the pixels that are plain skin; weights (p,): how much each counts.
    """
    if not weights.sum() > 0:
        return np.zeros((*table.size[::-1], 3), np.float32)
    skin = np.median(person[fitted[weights > 0]], axis=0)
    coloured = min(1.0, float(np.ptp(skin)) / (_COLOURED * max(float(skin.mean()), 1.0)))
    usual = 1 + coloured * (USUAL - 1)
    more = slopes_of(person[fitted], weights, usual) - slopes_of(ours[fitted], weights, np.ones(3))
    level = np.log(lit @ LUMA + FLOOR)
    # The light's colour was told by what is lit, and stays as it is there.
    of_lit = weights * np.minimum(np.exp(level[fitted] - np.quantile(level[fitted], LIT)), 1)
    away = np.clip(level - of_lit @ level[fitted] / of_lit.sum(), _DARKEST, _BRIGHTEST)
    inside = np.column_stack([away, np.ones_like(away)]).astype(np.float32)
    blurred = cv2.GaussianBlur(spread(inside, table), (0, 0), _SOFT, borderType=cv2.BORDER_CONSTANT)
    soft = blurred[:, :, :1] / (blurred[:, :, 1:] + np.float32(1e-3))
    return np.asarray(soft * np.clip(more, _LEAST, _MOST).astype(np.float32), np.float32)
