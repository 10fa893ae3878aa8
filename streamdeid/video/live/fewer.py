"""Less of a camera's stream before the filter, for small machines: pictures left out evenly, and made smaller."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np

from streamdeid.core.arrays import Plane
from streamdeid.core.frames import Planes
from streamdeid.core.square_pixels import square_size


class Fewer:
    """Says which pictures of a stream are taken so that at most `rate` come in a second, evenly. None: all.

    Times are on a grid of 1/rate: of the pictures about each of its places the first is taken that is nearer than
    half a step of the camera, so a camera of that very rate loses none, however its times tremble.
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
    """The picture with a shorter side of at most `lines` pixels, sides even and in proportion; None: as it is.

    The side is of the picture that is filtered: squared: the pixel aspect by which it is made square.

    Each pixel is the mean of what it stands for. What is published is as small, so that no face is in it that the
    filter could not see as well.
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
