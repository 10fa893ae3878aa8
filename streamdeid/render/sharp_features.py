"""Sharpening of a surrogate's brows, eyes, nose and mouth to the sharpness of a single person's.

A surrogate is made of several donors, and where their features do not lie on one another they blur: one in ten
surrogates has a fifth less detail than donors have. In each band of detail, what is missing is raised to the median of
donors. This is done once, to the surrogate's picture. It is a function of P alone, so it tells nothing of the person,
and the space of identities is untouched.
"""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.masked_blur import FLOOR, under_gain
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA
from streamdeid.core.convex import convex
from streamdeid.core.ibug68 import NOSE_BRIDGE, NOSTRILS

_BANDS = 0.005, 0.01, 0.02
"""Blurs that separate the bands, as shares of the frame's width."""
_DONORS = np.array([[0.018, 0.031, 0.066], [0.047, 0.045, 0.065], [0.016, 0.026, 0.042], [0.031, 0.034, 0.051]])
"""Detail of brows, eyes, nose and lips (rows) in each band: root mean square of the log of luma, median over the 102
donors of the gallery as `Albedo.even` shows them (`detail`). Halves of the donors differ by a twentieth."""
_MOST = 1.35
"""Largest gain: with more, rings begin to appear about lids and nostrils."""


def sharpened(picture: Pixels, model: AppearanceModel) -> Pixels:
    """A surrogate's picture float32 (h, w, 3), RGB in the model's frame, with its features as detailed as donors'.

    Features that have as much detail, and skin, stay as they are.
    """
    bands, zones = _bands(picture), _zones(model)
    gain = np.zeros(picture.shape[:2], np.float32)
    for zone, wanted in zip(zones, _DONORS, strict=True):
        more = np.clip(wanted / np.maximum(_detail(bands, zone), 1e-6), 1, _MOST) - 1
        gain += zone * np.tensordot(more.astype(np.float32), bands, axes=1)
    return np.asarray(np.clip(under_gain(picture, gain[:, :, None]), 0, 255), np.float32)


def detail(picture: Pixels, model: AppearanceModel) -> Pixels:
    """The detail that a picture (h, w, 3) has in brows, eyes, nose and lips, by band: float32 (4, 3)."""
    bands = _bands(picture)
    return np.array([_detail(bands, zone) for zone in _zones(model)], np.float32)


def _bands(picture: Pixels) -> Pixels:
    """The log luma of a picture (h, w, 3) between two blurs: (3, h, w), the finest band first."""
    last = np.asarray(np.log(np.maximum(picture @ LUMA, 0) + FLOOR), np.float32)
    level, bands = last, []
    for share in _BANDS:
        soft = np.asarray(cv2.GaussianBlur(level, (0, 0), share * picture.shape[1]), np.float32)
        bands.append(last - soft)
        last = soft
    return np.stack(bands)


def _zones(model: AppearanceModel) -> tuple[Pixels, ...]:
    """Weights (h, w) of brows, eyes with their lids, nose and lips, whose sum is at most 1."""
    zones = model.albedo.zones
    nose = np.zeros_like(zones.brows)
    hull = convex(model.mean_shape[NOSE_BRIDGE.start : NOSTRILS.stop])
    cv2.fillConvexPoly(nose, np.round(hull).astype(np.int32), (1.0,))
    reach = 0.02 * nose.shape[1]
    nose = np.asarray(cv2.GaussianBlur(cv2.dilate(nose, np.ones((9, 9), np.uint8)), (0, 0), reach), np.float32)
    chosen = [zones.brows, np.maximum(zones.eyes, zones.lids), nose, zones.lips]
    total = np.maximum(sum(chosen), 1)
    return tuple(np.asarray(zone / total, np.float32) for zone in chosen)


def _detail(bands: Pixels, zone: Pixels) -> Pixels:
    """The root mean square (3,) of bands (3, h, w) in a zone (h, w)."""
    power: Pixels = np.sqrt((bands * bands * zone).sum(axis=(1, 2)) / max(float(zone.sum()), 1e-6))
    return power
