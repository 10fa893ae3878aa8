"""The line along which the lips of a surrogate meet.

Photographs are warped into the model's frame with inner lips that lie a little apart, and the gap between them is no
part of the mesh. Filled by repeating the colours of its rim it is a row of blocks, and lips that were rendered shut had
a line like teeth. So the gap between the lips, and their rims, take the colours of the lips about them, and the line is
rendered over that. It is a function of the surrogate alone.
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
deviation of its profile, share of the face's width. In 147 of London's photographs with shut mouths the depth is -.53
and -.55 beside the middle and -.63 in it (medians; four of five lie within -.88 and -.36). The width at half depth is
.017 to .0185, which would be a deviation of .0075: the shadow of the whole lip, and the line. A line as wide as that
looks painted on, by eye on four people."""
_RIM = 0.008
"""How far the rim that takes the colour of the lips about it reaches beyond the inner lips, share of the face's width:
the line of a surrogate's own donors ends within it."""
_SOFT = 0.005
"""Distance over which the rim fades into the lips, share of the face's width."""
_TAPER = 0.5
"""Share of its width that the line loses towards the corners, where lips are thin."""
_OUTERMOST = 0.05
"""Value of `Zones.lips` below which nothing is changed."""
_FINE = 4
"""Places per pixel, along each side, at which distances are measured: whole pixels would make steps."""
_ABOUT = (0.02, 0.05)
"""Blurs by which the colour of the lips about the rim is found, shares of the frame's width."""


@dataclass(frozen=True)
class ContactLine:
    """The constants of a model that give its lips one contact line."""

    box: tuple[slice, slice]
    """Rows and columns of the frame in which lips are."""
    rim: Pixels
    """float32 (h, w, 1) of that box: 1 where the colour of the lips about it is taken, falling to 0 beyond."""
    line: Pixels
    """float32 (h, w, 1): natural log of the factor by which the line darkens."""
    lips: MaskedBlur
    """Blur of the lips without the rim."""

    @classmethod
    def of(cls, zones: Zones, mean_shape: Points) -> ContactLine:
        """The contact line of a model with these zones and mean shape (81, 2)."""
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
