"""Pictures whose pixels are not square: the filter uses one with square pixels, since squeezed faces are not found.

Recorders store 704 x 288 or 352 x 576 pixels of a picture that is shown 4:3. The pixel aspect is the width of a pixel
by its height. The short direction is enlarged and the other stays as it is, so that no detail of a face is lost.
"""

from __future__ import annotations

import math
from fractions import Fraction

import cv2
import numpy as np

from streamdeid.core.arrays import Plane
from streamdeid.core.frames import Frame, Planes

LEAST, MOST = Fraction(1, 4), Fraction(4)
"""Range of a pixel aspect."""
_NEAR = Fraction(23, 20)
"""Pictures squeezed by less are searched as they are. Of 58 small faces of a classroom all were redacted at 16:15,
12:11 and 13:11, squared or not, and 79 % at 4:3 where it was not (`python -m benchmarks squeezed --aspects`); squaring
costs up to a third of the detection."""
_MOST_PIXELS = 3840 * 2160
"""Most pixels to which a picture is enlarged; where more were needed, it grows less and its other direction shrinks."""


def read_aspect(text: str) -> Fraction:
    """The pixel aspect that `W:H` stands for. Raises ValueError, a few words, for anything else."""
    width, colon, height = text.partition(":")
    if not (colon and width.isascii() and width.isdigit() and height.isascii() and height.isdigit()):
        raise ValueError("is two whole numbers, as in 16:11")
    if not int(height) or not possible(Fraction(int(width), int(height))):
        raise ValueError("is from 1:4 to 4:1")
    return Fraction(int(width), int(height))


def possible(aspect: Fraction) -> bool:
    """Whether pixels can have this aspect."""
    return LEAST <= aspect <= MOST


def in_words(aspect: Fraction) -> str:
    """An aspect as users write it: `W:H`."""
    return f"{aspect.numerator}:{aspect.denominator}"


def near(aspect: Fraction, other: Fraction = Fraction(1)) -> bool:
    """Whether two aspects are so similar that faces are found equally well in pictures of either."""
    return 1 / _NEAR < aspect / other < _NEAR


def square_size(stored: tuple[int, int], aspect: Fraction) -> tuple[int, int]:
    """(width, height) of the picture with square pixels that is made of a stored one; the same where it is square
    enough. aspect: from `LEAST` to `MOST`."""
    width, height = stored
    if near(aspect):
        return stored
    broad, high = width * max(aspect, Fraction(1)), height * max(1 / aspect, Fraction(1))
    most = max(_MOST_PIXELS, width * height)
    less = min(1.0, math.sqrt(most / (broad * high)))
    sizes = (float(broad) * less, float(high) * less)
    # A side that changes becomes even, so that both colour planes grow by the same factor as the luma plane.
    made = tuple(
        old if round(new) == old else max(2, 2 * round(new / 2)) for old, new in zip(stored, sizes, strict=True)
    )
    return made[0], made[1]


def resized(planes: Planes, size: tuple[int, int]) -> Planes:
    """The picture in another size (width, height): linear where it grows, the mean where it shrinks. Its memory is new,
    unless it has that size already."""
    if planes.size == size:
        return planes
    width, height = size
    half = (width + 1) // 2, (height + 1) // 2
    return Planes(_plane(planes.y, size), _plane(planes.u, half), _plane(planes.v, half), planes.colour)


def frame_of(planes: Planes, time: Fraction, index: int, aspect: Fraction | None, squared: Fraction) -> Frame:
    """A frame of an upright picture as it is stored. aspect: the pixel aspect that the stream gives, None for none;
    squared: the aspect by which its pixels are made square."""
    size = square_size(planes.size, squared)
    if size == planes.size:
        return Frame(planes, time, index, None, aspect)
    return Frame(resized(planes, size), time, index, planes, aspect)


def _plane(plane: Plane, size: tuple[int, int]) -> Plane:
    """A plane resized in one direction after the other: OpenCV takes the mean only where both shrink."""
    for across, down in ((size[0], plane.shape[0]), size):
        if (across, down) == (plane.shape[1], plane.shape[0]):
            continue
        shrinks = across * down < plane.shape[0] * plane.shape[1]
        plane = np.asarray(
            cv2.resize(plane, (across, down), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR), np.uint8
        )
    return plane
