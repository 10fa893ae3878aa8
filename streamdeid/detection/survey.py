"""The survey: now and then a third network looks at the whole picture.

It finds faces that the tiles do not see (profiles, heads seen from above, small ones), and it tells a face from a
sleeve or a head of hair better than the other two together. The bars were chosen on 190 true heads in 43 frames of ten
clips, judged by eye; docs/methods.md 8.3 says what they did on others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.centerface import CenterFace, Seen

Box = tuple[float, float, float, float]

FOUND = 0.3
"""Score from which something may be a face that was not known: of 219 heads in 49 frames 200 have it, and 0.35 other
places a frame."""
_CLOSE = 120.0
"""Width from which it does not deny a face: so close to the camera one is larger than those that the network knows. It
sees nothing in a frontal face of 400 pixels (lp_d14). What it does see there, and in the dark, counts: in 106
frames of all clips, eight variants each, it found 499 faces and one place without one there above the bar."""
DARK = 24.0
"""Grey levels of a place's contrast below which it does not deny a face: of 107 heads in 24 frames that were darkened
to 40, 25, 15 and 8 % it did not see 7 % of those with 16 to 24, 13 with 8 to 16 and 76 with less, and 2.5 % of all
others."""
_BARS = ((8.0, 0.09), (12.0, 0.15), (16.0, 0.27), (40.0, 0.375))
"""Width of a face in the network's picture, pixels, and score below which nothing so large is a face. Of 190 heads
judged by eye one in twenty has 0.15, 0.20, 0.42 and 0.57 at most. Of the tracks of 8 clips that are a face by eye and
were surveyed all 63 are above the bar by a third once at least, of 80 that are none 5."""
_INNER = 1 / 3
"""Half side of the middle of a box, share of its own, in which a face would have its middle."""
_CALM = 10
"""Times as long between two looks while nothing is in doubt: it is for who comes in unseen by the tiles."""
_LARGER, _WIDE, _LONGEST = 1.5, 1920, 2.0
"""The picture is enlarged so many times at most; for one with a longer side than this the network's is larger, too, so
many times at most."""
_SHAPE = 9 / 16
"""Shorter side over the longer one of the pictures that the side is given for."""


@dataclass(frozen=True)
class Surveyed:
    """What a survey found in a frame."""

    faces: tuple[Keypoints, ...]
    """Those of a score of `FOUND` and up, in pixels of the frame."""
    _seen: Seen
    _scale: float
    """Pixels of the network's picture for one of the frame."""
    _green: NDArray[np.uint8]
    """(h, w): of the picture that was given to the network, before that was enlarged."""
    _unit: float
    """Pixels of that for one of the frame."""

    def opinion(self, box: Box) -> float | None:
        """How much a face is in a box, pixels of the frame, over the bar for its size: below 1 for none. None for one
        that is too small for the network to say, or too large or too dark to say that there is none."""
        x0, y0, x1, y1 = box
        width = max(x1 - x0, y1 - y0) * self._scale
        if width < _BARS[0][0]:
            return None
        scores, (wide, high) = self._seen.scores, self._seen.cell
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        dx, dy = max(_INNER * (x1 - x0), wide), max(_INNER * (y1 - y0), high)
        left, right = (int(np.clip(v / wide, 0, scores.shape[1])) for v in (x - dx, x + dx + wide))
        top, bottom = (int(np.clip(v / high, 0, scores.shape[0])) for v in (y - dy, y + dy + high))
        best = self._seen.best(slice(top, bottom), slice(left, right), max(x1 - x0, y1 - y0))
        bar = np.interp(width, [at for at, _ in _BARS], [bar for _, bar in _BARS])
        said = best / float(bar)
        return None if said < 1 and (width >= _CLOSE or self._contrast(box) < DARK) else said

    def _contrast(self, box: Box) -> float:
        """`contrast` of what is in a box; 0 outside the picture."""
        x0, y0, x1, y1 = (max(0, round(v * self._unit)) for v in box)
        return contrast(self._green[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])


class Survey:
    """Looks at a whole picture every so many seconds."""

    def __init__(self, weights: bytes, seconds: float, side: int) -> None:
        """seconds: between two looks; the first is due at once. side: longer side of the network's picture, pixels, if
        the picture is as wide as 16:9; one that is higher is reduced to as many pixels."""
        self._weights, self._seconds, self._side = weights, Fraction(seconds), side
        self._network: CenterFace | None = None
        self._shape: tuple[int, int] | None = None
        self._last: Fraction | None = None

    def lay_out(self, size: tuple[int, int]) -> None:
        """The next pictures have this size, width and height."""
        longest = max(size)
        most = self._side * min(1.0, math.sqrt(_SHAPE * longest / min(size)))
        side = min(most, _LARGER * longest) if longest <= _WIDE else most * min(longest / _WIDE, _LONGEST)
        self._shape, self._network = (round(size[0] * side / longest), round(size[1] * side / longest)), None
        self.restart()

    def restart(self) -> None:
        """Look at the next picture: it has nothing to do with the last."""
        self._last = None

    def __call__(self, planes: Planes, time: Fraction, calm: bool = False) -> Surveyed | None:
        """What there is in a frame of this time, seconds; None when it is not due. calm: all that is known is sure, so
        that it is due later. A clock that goes back starts anew."""
        pause = _CALM * self._seconds if calm else self._seconds
        if self._shape is None or (self._last is not None and 0 <= time - self._last < pause):
            return None
        self._last = time
        if self._network is None:
            self._network = CenterFace(self._weights, self._shape)
        width, height = planes.size
        scale = min(1.0, self._network.size[0] / width)
        rgb = rectangle_to_rgb(planes, 0, 0, width, height, scale, quick=True)
        seen = self._network(rgb, FOUND)
        units = width / rgb.shape[1], height / rgb.shape[0]
        unit = (units[0] + units[1]) / 2
        faces = tuple(seen.faces.keypoints(row, unit=unit) for row in range(len(seen.faces.scores)))
        cell = seen.cell[0] * units[0], seen.cell[1] * units[1]
        enlarged = self._network.size[0] / width
        seen = Seen(seen.faces, seen.scores, np.float32(unit) * seen.sides, cell)
        return Surveyed(faces, seen, enlarged, rgb[:, :, 1], 1 / unit)


def contrast(grey: NDArray[np.uint8]) -> float:
    """Grey levels between the darkest and the brightest fiftieth of a picture; 0 of an empty one."""
    if not grey.size:
        return 0.0
    low, high = np.percentile(grey, (2, 98))
    return float(high - low)
