"""Surrogates of children, for cameras of which an operator says that they see children (`--children`).

No donor is a child. What distinguishes a child's face from the same adult's is growth. Heads grow as if strained by a
cardioid about the middle of the skull, R' = R (1 + k (1 − cos θ)), with θ from straight up (Todd, Mark, Shaw and
Pittenger 1980), so with the years the lower face outgrows the upper one. k < 0 makes a face younger. Eyes, brows and
mouth move with it as wholes. Children's eyes are large and open; their noses, lips and brows are small, their lips pale
and their lids plain, and they have no beard. The result is a function of the surrogate alone: it tells nothing of the
person that the surrogate does not.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.masked_blur import FLOOR
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import (
    FOREHEAD,
    LEFT_BROW,
    LEFT_EYE,
    MOUTH,
    NOSE_BRIDGE,
    NOSTRILS,
    OUTLINE,
    RIGHT_BROW,
    RIGHT_EYE,
)
from streamdeid.render.thin_brows import SKIN, with_thin_brows

_GROWTH = -0.1
"""The k of growth. It was tried with three surrogates on lp_d11's child of about four years. At −.1 the landmarker
reads the child's nods from all three with errors of .9 to 1.6 degrees in the median, at −.13 with 1.1 to 2.3, and at
−.18 from one with 3.6, and the eyes lie below the child's. It is the only child among the clips whose face is large;
the boy at dinner was looked at besides."""
_PARTS = (
    (LEFT_EYE, (1.06, 1.25)),
    (RIGHT_EYE, (1.06, 1.25)),
    (LEFT_BROW, (0.95, 0.9)),
    (RIGHT_BROW, (0.95, 0.9)),
    (MOUTH, (0.86, 0.82)),
)
"""Parts that move as wholes, and the factors by which each is wider and higher than an adult's in a face of the same
size; chosen by eye."""
_NOSE = 0.86
"""Factor on the width of the nostrils."""
_RAISED = 0.03
"""How much higher brows lie over the eyes, as a share of the face's width."""
_FADED = (("brows", 0.2), ("lips", 0.4), ("lids", 0.5))
"""Shares that brows, lips and painted lids lose of their difference from the skin around them."""


def childlike_shape(shape: Points, mean_shape: Points) -> Points:
    """The child's shape (81, 2) of a surrogate's shape (81, 2), which is at rest and in the model's frame.

    The result is as large as the given shape. mean_shape: the model's.
    """
    skull = np.array([mean_shape[:, 0].mean(), (mean_shape[NOSE_BRIDGE.start, 1] + _top(mean_shape)) / 2])
    young = _strained(shape, skull)
    middle, centre = young[OUTLINE].mean(axis=0), shape[OUTLINE].mean(axis=0)
    size = np.linalg.norm(shape[OUTLINE] - centre) / np.linalg.norm(young[OUTLINE] - middle)
    out: Points = centre + (young - middle) * size
    for part, wider in _PARTS:
        own = shape[part].mean(axis=0)
        place = centre + (_strained(own[None], skull)[0] - middle) * size
        out[part] = place + (shape[part] - own) * wider
    nostrils = out[NOSTRILS, 0]
    out[NOSTRILS, 0] = nostrils.mean() + _NOSE * (nostrils - nostrils.mean())
    out[LEFT_BROW.start : RIGHT_BROW.stop, 1] -= _RAISED * np.linalg.norm(shape[16] - shape[0])
    return out


def childlike_skin(picture: Pixels, zones: Zones) -> Pixels:
    """A surrogate's picture float32 (h, w, 3), RGB in the model's frame, as a child's.

    Its brows are thinned once more, its lips are pale and its lids plain.
    """
    picture = with_thin_brows(picture, zones)
    log = np.log(picture + FLOOR)
    about = zones.blurred(log, "skin", SKIN)
    kept = np.ones(picture.shape[:2], np.float32)
    for zone, share in _FADED:
        kept *= 1 - np.float32(share) * getattr(zones, zone)
    return np.asarray(np.exp(about + (log - about) * kept[:, :, None]) - FLOOR, np.float32)


def _top(mean_shape: Points) -> float:
    """The y coordinate of the hairline's middle."""
    return float(mean_shape[(FOREHEAD.start + FOREHEAD.stop - 1) // 2, 1])


def _strained(points: Points, skull: Points) -> Points:
    """The cardioidal strain of points (n, 2) about the middle of the skull (2,)."""
    away = points - skull
    angle = np.arctan2(np.abs(away[:, 0]), -away[:, 1])
    moved: Points = skull + away * (1 + _GROWTH * (1 - np.cos(angle)))[:, None]
    return moved
