"""The tone of a head in two coarse steps: all that a soft redaction tells of it, and a bound on posed faces' light."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Floats

SKIN = np.array([[-0.53, 0.848], [0.848, 0.53]])
"""Axes of chroma: the one along which skin of all kinds lies, starting from grey, and the one across it."""
LUMA_STEP, SKIN_STEP = 1.5, 14.0
"""Steps of the tone: a ratio of luma, and grey levels of chroma along the axis of skin. The middles of the latter are
7, 21, 35: no head is ashen. Among people under one lamp the tone tells about one bit, and more of a person whose skin
is rare among them. At steps of 12, 3 and 3 levels of Y, U and V a learnt inversion named 10 to 14 points more of 102
people than from the surroundings alone, at 24 and 6 still 9, at the present steps 0 and -1 (on the same photograph, on
another one). Chosen on London; on 40 Canadian and 37 Danish faces they cost 1.5 and 0.5."""
CAST = 4.0
"""How far the tone may lie from the axis of skin, grey levels: as far as the rim lies, which tells the colour of the
light. This distance is not taken from the head."""
_MIDDLE, DARK = 136.0, 16.0
"""Luma in the middle of a step, and a number added to luma before the logarithm: dark pixels are mostly noise."""
GREY = 128.0
_STAY = 0.8
"""Distance from the middle of a step, in steps, from which another step is taken: so the tone does not flicker."""


def tone_step(colour: Floats, last: Floats | None) -> Floats:
    """The step (2,) of luma, and of chroma along the axis of skin, that a colour YUV (3,) lies in.

    last: the step before, which is kept if the colour is not far from it.
    """
    luma, skin = colour[0], SKIN[0] @ (colour[1:] - GREY)
    places = np.array([np.log((luma + DARK) / (_MIDDLE + DARK)) / np.log(LUMA_STEP), skin / SKIN_STEP - 0.5])
    newest = np.maximum(np.rint(places), (-np.inf, 0.0))  # no head is blue
    return newest if last is None else np.where(np.abs(places - last) > _STAY, newest, last)


def tone_of(step: Floats) -> Floats:
    """Luma, and chroma along the axis of skin, in the middle of a step: (2,)."""
    return np.array([(_MIDDLE + DARK) * LUMA_STEP ** step[0] - DARK, SKIN_STEP * (step[1] + 0.5)])


def in_light(tone: Floats, rim: Floats) -> Floats:
    """The colour (3,) of a tone (2,) in the light of a rim's mean colour (3,).

    The chroma of a dark tone goes towards the rim's: the middle of its step is too much for it, so that heads in shadow
    were maroon balls. It follows from the two steps and the rim alone."""
    across = np.clip(SKIN[1] @ (rim[1:] - GREY), -CAST, CAST)
    around = np.clip(SKIN[0] @ (rim[1:] - GREY), 0.0, tone[1])
    along = around + np.clip(tone[0] / _MIDDLE, 0.0, 1.0) * (tone[1] - around)
    return np.array([tone[0], *(GREY + along * SKIN[0] + across * SKIN[1])])
