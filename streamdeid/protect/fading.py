"""A change of a head's protection level fades: what was published at the head before goes on for a few frames.

A face that becomes a redaction from one frame to the next, or comes back, catches the eye more than either of the two
does, and most redactions of people who pass each other last for one to four frames. So what was published at the head
in the frame before is mixed over what is rendered now, moved along with the head and ever weaker. Only published
pixels are mixed in: nothing of the original comes through that was not published a frame ago.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel
from streamdeid.protect.levels import Level
from streamdeid.render.masks import fill

KEPT, _EACH = 0.6, 1 / 25
"""Share of what was published before that is left after so many seconds. Of a redaction of one frame at 25 frames a
second .4 is seen, and .24 and .14 in the two frames after it. By eye on subway_cctv_three and street_next."""
_LEAST = 0.06
"""Least share of what was published when the level changed that is worth mixing in."""
_JUMP = 0.35
"""Motion of a head from frame to frame, share of its size, from which nothing fades: it would be seen twice."""
_RIM = 0.3
"""Breadth of the rim in which the mixing ends, share of the half axes, inside the ellipse."""


@dataclass(frozen=True)
class _Shown:
    """How a head was published last."""

    level: Level
    place: Box
    """Where the tracker had it, pixels."""
    changed: Box
    """The box, in pixels, in which everything lies that was done to it."""
    left: float
    """Share of what was published when the level changed last that is still seen."""


class Fading:
    """Remembers the last published picture of a stream, and how each track was shown in it."""

    def __init__(self, kept: float = KEPT) -> None:
        """kept: share of what was published before that is left after a 25th of a second; 0: nothing fades."""
        self._rate = kept
        self._published: tuple[Planes, Fraction] | None = None
        self._last: dict[int, _Shown] = {}
        self._now: dict[int, _Shown] = {}
        self._kept = 0.0

    def begin(self, time: Fraction) -> None:
        """Begin a frame. time: seconds."""
        step = 0.0 if self._published is None else float(time - self._published[1])
        self._kept, self._now = float(self._rate ** (step / _EACH)) if step > 0 else 0.0, {}

    def fade(self, out: Planes, track: Track, changed: Box, level: Level) -> None:
        """Mix what was published at a track's head in the frame before over what was just rendered there, in place,
        where its level changed lately.

        changed: the box, in pixels, in which everything lies that was done to the head.
        """
        before, place, left = self._last.get(track.number), track.box, 0.0
        if before is not None and self._published is not None:
            left = self._kept * (1.0 if before.level is not level else before.left)
            shift = _middle(place) - _middle(before.place)
            quick = not np.abs(shift).max() <= _JUMP * max(place[2] - place[0], place[3] - place[1])
            if left < _LEAST or quick or self._published[0].size != out.size:
                left = 0.0
            else:
                dx, dy = float(shift[0]), float(shift[1])
                x0, y0, x1, y1 = before.changed
                box = _about((x0 + dx, y0 + dy, x1 + dx, y1 + dy), changed)
                mix(out, self._published[0], box, (dx, dy), self._kept)
        self._now[track.number] = _Shown(level, place, changed, left)

    def publish(self, out: Planes, time: Fraction, filled: Sequence[Box] = ()) -> None:
        """End a frame: note the picture that is published, and its time in seconds. filled: the regions, pixels, of
        which nothing is published."""
        if filled and self._rate > 0:
            out = out.copy()
            for region in filled:
                fill(out, region, roundness=0.0)
        self._published, self._last = (out, time), self._now


def _middle(box: Box) -> Points:
    return np.array([box[0] + box[2], box[1] + box[3]]) / 2


def _about(one: Box, other: Box) -> Box:
    """The box about two boxes."""
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def mix(out: Planes, published: Planes, box: Box, shift: tuple[float, float], share: float) -> None:
    """Mix a share of another picture, moved by a shift, into the ellipse inside a box, in place. Box and shift in luma
    pixels."""
    (x0, y0, x1, y1), (dx, dy) = box, shift
    numbers = np.array([(x0 + x1) / 2, (y0 + y1) / 2, max(x1 - x0, 1.0) / 2, max(y1 - y0, 1.0) / 2, share, _RIM])
    for plane, before, step in ((out.y, published.y, 1), (out.u, published.u, 2), (out.v, published.v, 2)):
        down, across = plane.shape
        left, top = (int(np.clip(v // step, 0, most)) for v, most in ((x0, across), (y0, down)))
        right, bottom = (int(np.clip(v // step + 1, 0, most)) for v, most in ((x1, across), (y1, down)))
        window = np.array([left, top, right, bottom])
        _mix_plane(plane, before, window, numbers, step, round(dx / step), round(dy / step))


@kernel
def _mix_plane(plane, before, window, numbers, step, dx, dy):  # type: ignore[no-untyped-def]
    """Mix a plane of the picture before into a window (x0, y0, x1, y1) of a plane whose pixels are `step` luma pixels
    wide. numbers: middle, half axes, the share in the middle, and the breadth of the rim. dx, dy: the shift, pixels of
    the plane; beyond the border its last pixels go on."""
    cx, cy, rx, ry, share, rim = numbers
    down, across = before.shape
    for row in range(window[1], window[3]):
        v = ((row + 0.5) * step - cy) / ry
        line = before[min(max(row - dy, 0), down - 1)]
        for column in range(window[0], window[2]):
            u = ((column + 0.5) * step - cx) / rx
            weight = share * min(max((1.0 - np.sqrt(u * u + v * v)) / rim, 0.0), 1.0)
            value = plane[row, column] * (1.0 - weight) + line[min(max(column - dx, 0), across - 1)] * weight
            plane[row, column] = np.uint8(value + 0.5)
