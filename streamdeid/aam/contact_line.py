"""The line along which the lips of a surrogate meet.

Photographs are taken into the model's frame on inner lips that lie a little apart, and what is between them is no part
of the mesh. Repeated from its rim it is a row of blocks, and lips that are drawn shut had a line like teeth. So what is
between the lips, and their rims, are taken from the lips about them, and the line is drawn. A function of the surrogate
alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.masked_blur import FLOOR, MaskedBlur, under_gain
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import INNER_LIP, MOUTH_CORNERS

_DEPTH, _WIDTH = -0.55, 0.004
"""How much darker than the lips about it the line is where it is darkest, natural log of luma, and the standard
deviation of its profile, share of the face's width. Of 147 of London's photographs with shut mouths the depth is -.53
and -.55 beside the middle and -.63 in it (medians; four of five lie within -.88 and -.36), and the width at half of it
.017 to .0185, which would be a deviation of .0075: shadow of the whole lip and the line. As wide as that the line looks
painted on, by eye on four people."""
_RIM = 0.008
"""How far beyond the inner lips the rim reaches that is taken from the lips about it, share of the face's width: there
the line that a surrogate's own donors had has ended."""
_SOFT = 0.005
"""Distance over which it goes over to them."""
_TAPER = 0.5
"""Share of its width that the line loses towards the corners, where lips are thin."""
_OUTERMOST = 0.05
"""Of `Zones.lips`, below which nothing is changed."""
_FINE = 4
"""Places by pixel, along each side, at which distances are measured: whole pixels would draw steps."""
_ABOUT = (0.02, 0.05)
"""Blurs in which the colour of the lips about it is found, shares of the frame's width."""


@dataclass(frozen=True)
class ContactLine:
    """What is constant for a model."""

    box: tuple[slice, slice]
    """Rows and columns of the frame in which lips are."""
    rim: Pixels
    """float32 (h, w, 1) of that box: 1 where the lips about it are taken, falling to 0 beyond."""
    line: Pixels
    """float32 (h, w, 1): natural log of what the line leaves."""
    lips: MaskedBlur
    """Of the lips without the rim."""

    @classmethod
    def of(cls, zones: Zones, mean_shape: Points) -> ContactLine:
        """That of a model with these zones and mean shape (81, 2)."""
        wide = float(np.linalg.norm(mean_shape[16] - mean_shape[0]))
        away = _distance(mean_shape[INNER_LIP], zones.lips.shape) / np.float32(wide)
        box = zones.box_of_lips(_OUTERMOST)
        rim = np.clip((_RIM + _SOFT - away[box]) / _SOFT, 0, 1).astype(np.float32)
        line = np.float32(_DEPTH) * np.exp(-np.square(away[box] / (_WIDTH * _tapered(mean_shape, box[1]))) / 2)
        wider = zones.lips.shape[1] / rim.shape[1]
        lips = MaskedBlur(zones.lips[box] * (1 - rim), tuple(share * wider for share in _ABOUT))
        return cls(box, rim[:, :, None], line[:, :, None], lips)

    def drawn(self, picture: Pixels) -> Pixels:
        """A surrogate's picture float32 (h, w, 3), RGB in the model's frame, whose lips meet in one line."""
        mouth = np.log(np.maximum(picture[self.box], 0) + FLOOR)
        taken = mouth + self.rim * (self.lips(mouth) - mouth)
        out = picture.copy()
        out[self.box] = under_gain(np.exp(taken) - FLOOR, self.line)
        return out


def _distance(polygon: Points, size: tuple[int, ...]) -> Pixels:
    """Distance, pixels, of each pixel of a picture of a size (h, w) to a polygon (n, 2), 0 inside: float32 (h, w)."""
    height, width = size
    fine = np.ones((_FINE * height, _FINE * width), np.uint8)
    cv2.fillPoly(fine, [np.round((polygon + 0.5) * _FINE * 16 - 8).astype(np.int32)], (0,), cv2.LINE_8, 4)
    away = cv2.distanceTransform(fine, cv2.DIST_L2, 5) / _FINE
    return np.asarray(cv2.resize(away, (width, height), interpolation=cv2.INTER_AREA), np.float32)


def _tapered(mean_shape: Points, columns: slice) -> Pixels:
    """Width of the line in some columns of the frame over that in its middle, (n,)."""
    left, right = (float(mean_shape[corner, 0]) for corner in MOUTH_CORNERS)
    place = (np.arange(columns.start, columns.stop) - (left + right) / 2) / ((right - left) / 2)
    return np.asarray(1 - _TAPER * np.clip(np.abs(place), 0, 1), np.float32)
