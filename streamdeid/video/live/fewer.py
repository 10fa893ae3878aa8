"""Reduces a camera's stream before the filter, for small machines: leaves out pictures evenly, makes them smaller."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np

from streamdeid.core.arrays import Plane
from streamdeid.core.frames import Planes
from streamdeid.core.square_pixels import square_size


class Fewer:
    """Chooses evenly the pictures of a stream that are taken, at most `rate` in a second. None: all pictures.

    Pictures are taken on a time grid of 1/rate: at each place of the grid the first picture that is at most half a step
    of the camera early. So a camera with exactly this rate loses no picture, even if its times jitter.
    """

    def __init__(self, rate: float | None) -> None:
        self._step = None if rate is None else Fraction(1) / Fraction(rate)
        self._due: Fraction | None = None

    def take(self, time: Fraction, rate: float) -> bool:
        """Whether the picture at a time (seconds, rising) of a stream of `rate` frames per second is taken."""
        if self._step is None:
            return True
        early = Fraction(1, 2) / Fraction(rate)
        if self._due is not None and time < self._due - min(early, self._step / 2):
            return False
        behind = self._due is None or time > self._due + self._step
        self._due = (time if behind or self._due is None else self._due) + self._step
        return True


def smaller(planes: Planes, lines: int | None, squared: Fraction = Fraction(1)) -> Planes:
    """The picture, made smaller in proportion so that its shorter side has at most `lines` pixels; None: unchanged.

    The limit is for the picture that is filtered. squared: the pixel aspect by which its pixels are made square. The
    sides of a smaller picture are even.

    Each pixel is the mean of the pixels it replaces. The published picture is just as small, so it shows no face that
    the filter could not see as well.
    """
    width, height = planes.size
    shorter = min(square_size((width, height), squared))
    if lines is None or shorter <= lines:
        return planes
    scale = lines / shorter
    across, down = (max(2, 2 * round(side * scale / 2)) for side in (width, height))

    def scaled(plane: Plane, part: int) -> Plane:
        return np.asarray(cv2.resize(plane, (across // part, down // part), interpolation=cv2.INTER_AREA), np.uint8)

    return Planes(scaled(planes.y, 1), scaled(planes.u, 2), scaled(planes.v, 2), planes.colour)
