"""A change of a head's protection level fades: what replaced the face before goes on for a few frames.

A face that is a redaction for one frame catches the eye more than a face or a redaction does, and most redactions of
people who pass each other last for one to four frames. So the face, or the redaction, that replaced a head in the frame
before is mixed over what replaces it now, moved along with the head and ever weaker. That is done inside the outline of
what replaces it now, and taken from where nothing of an original was left (`Replaced`: not from the feather of an own
face, nor from the mouth that it shows): so nothing of one comes through, whoever passed by and whether that frame was
published or not, and nothing changes that is not redacted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import cv2
import numpy as np

from streamdeid.core.arrays import Box, Pixels, Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Planes
from streamdeid.protect.levels import Level

KEPT, _EACH = 0.6, 1 / 25
"""Share of what replaced a head before that is left after so many seconds. Of a redaction of one frame at 25 frames a
second .4 is seen, and .24 and .14 in the two frames after it. By eye on subway_cctv_three and street_next."""
_LEAST = 0.06
"""Least share of what was there when the level changed that is worth mixing in."""
LONGEST, _SLOWEST = 8, 0.7
"""Number of frames for which anything may fade without a break, so that no frame tells anything of one that lies
farther back; and the largest share that is left after one, which ends it by then where frames are quicker than 35 a
second."""
_JUMP = 0.35
"""Motion of a head from frame to frame, share of the longer side of its box, from which nothing fades: it would be seen
twice."""
_FAR = 1e6
"""Coordinates, pixels, that no picture has."""
_RIM, _LEAST_RIM = 0.1, 2.0
"""Breadth of the rim inside the region over which the mixing begins, share of the region's shorter side, and pixels at
least: colours are half as fine as brightness."""


@dataclass(frozen=True)
class Replaced:
    """Where nothing of the original is left of a head, pixels."""

    region: Points
    """float64 (n, 2): the corners of a polygon that holds the place."""
    inset: float = 0.0
    """How far inside the polygon the place begins."""
    holes: tuple[Points, ...] = ()
    """Polygons (k, 2) that are none of the place, nor is what lies as near to them as to the border of the region."""

    @property
    def usable(self) -> bool:
        """Whether all corners are places in a picture that can be."""
        return all(bool((np.abs(one) < _FAR).all()) for one in (self.region, *self.holes))


@dataclass(frozen=True)
class _Shown:
    """How a head was rendered last."""

    level: Level
    place: Box
    """Where the tracker had it, pixels."""
    replaced: Replaced | None
    left: float
    """Share of what was there when the level changed last that is still seen."""
    frames: int
    """Frames for which it has faded without a break."""


class Fading:
    """Remembers the last rendered picture of a stream, and how each track was shown in it."""

    def __init__(self, kept: float = KEPT) -> None:
        """kept: share of what was there before that is left after a 25th of a second; 0: nothing fades."""
        self._rate = kept
        self._rendered: tuple[Planes, Fraction] | None = None
        self._last: dict[int, _Shown] = {}
        self._now: dict[int, _Shown] = {}
        self._kept = 0.0

    def begin(self, time: Fraction) -> None:
        """Begin a frame. time: seconds. What was noted of a frame that did not end is dropped."""
        step = 0.0 if self._rendered is None else float(time - self._rendered[1])
        self._kept = min(float(self._rate ** (step / _EACH)), _SLOWEST) if step > 0 else 0.0
        self._now = {}

    def fade(self, out: Planes, track: Track, level: Level, replaced: Replaced | None) -> None:
        """Mix what replaced a track's head in the frame before over what was just rendered there, in place, where its
        level changed lately.

        replaced: where nothing of the original is left now; None where that is not known: nothing fades then, now or
        from this frame on.
        """
        before, left, frames = self._last.get(track.number), 0.0, 0
        usable = replaced if replaced is not None and replaced.usable else None
        if before is not None:
            left, frames = self._kept * (1.0 if before.level is not level else before.left), before.frames + 1
            if left < _LEAST or frames > LONGEST or not self._mixed(out, before, track.box, usable):
                left, frames = 0.0, 0
        self._now[track.number] = _Shown(level, track.box, usable, left, frames)

    def end(self, out: Planes, time: Fraction) -> None:
        """End a frame: note the picture that was rendered, and its time in seconds."""
        self._rendered, self._last = (out, time), self._now

    def _mixed(self, out: Planes, before: _Shown, place: Box, now: Replaced | None) -> bool:
        """Mix in what replaced a head before that is at another place now. Returns whether that can be done."""
        if before.replaced is None or now is None or self._rendered is None or self._rendered[0].size != out.size:
            return False
        shift = _middle(place) - _middle(before.place)
        if not np.abs(shift).max() <= _JUMP * max(place[2] - place[0], place[3] - place[1]):
            return False
        across, down = (2 * round(float(v) / 2) for v in shift)
        _mix(out, self._rendered[0], now, _moved(before.replaced, across, down), (across, down), self._kept)
        return True


def _mix(out: Planes, before: Planes, now: Replaced, then: Replaced, shift: tuple[int, int], share: float) -> None:
    """Mix a share of the picture before, moved by a shift of even numbers of pixels, into a picture of its size, in
    place: inside the outline of what is rendered now, from where nothing of the original was left then."""
    size, move, regions = np.array(out.size), np.array(shift), (now.region, then.region)
    low = np.max([one.min(axis=0) for one in regions], axis=0).clip(np.maximum(move, 0), size)
    high = np.min([one.max(axis=0) for one in regions], axis=0).clip(0, size + np.minimum(move, 0))
    # Whole cells of chroma, in the picture before the shift, too.
    (x0, y0), (x1, y1) = (low // 2 * 2).astype(int), ((high + 1) // 2 * 2).astype(int)
    x1, y1 = np.minimum((x1, y1), (size + np.minimum(move, 0)) // 2 * 2)
    if x1 - x0 < 2 or y1 - y0 < 2:
        return
    # What is mixed in is of no original, so it may lie in the feather and in the mouth of what is rendered now.
    places = _moved(Replaced(now.region), -x0, -y0), _moved(then, -x0, -y0)
    inside = [_inside(one, (x1 - x0, y1 - y0)) for one in places]
    weights = np.float32(share) * np.minimum(*inside)
    coarse = cv2.erode(weights, np.ones((2, 2), np.uint8), anchor=(0, 0))[::2, ::2]
    for plane, earlier, step in ((out.y, before.y, 1), (out.u, before.u, 2), (out.v, before.v, 2)):
        rows, columns = slice(y0 // step, y1 // step), slice(x0 // step, x1 // step)
        across, down = shift[0] // step, shift[1] // step
        was = earlier[rows.start - down : rows.stop - down, columns.start - across : columns.stop - across]
        here = plane[rows, columns]
        here[:] = np.rint(here + (weights if step == 1 else coarse) * (was.astype(np.float32) - here))


def _inside(place: Replaced, size: tuple[int, int]) -> Pixels:
    """How far inside a place each pixel of a picture (width, height) lies, float32 (h, w): 0 at its border and outside,
    1 from the rim's breadth on."""
    # The picture cuts regions: what lies beyond it is as far inside.
    rim = max(_LEAST_RIM, _RIM * float(np.ptp(place.region, axis=0).min()))
    reach = min(rim + place.inset, float(max(size)))
    room = int(reach) + 2
    mask = np.zeros((size[1] + 2 * room, size[0] + 2 * room), np.uint8)
    for polygon, value in ((place.region, 1), *((hole, 0) for hole in place.holes)):
        cv2.fillPoly(mask, [np.round((polygon + room) * 16).astype(np.int32)], (value,), cv2.LINE_8, 4)
    away = cv2.distanceTransform(mask, cv2.DIST_L2, 3)[room:-room, room:-room]
    return np.asarray(np.clip((away - 1 - place.inset) / rim, 0, 1), np.float32)


def _moved(place: Replaced, across: float, down: float) -> Replaced:
    """The place elsewhere."""
    by = np.array([across, down])
    return replace(place, region=place.region + by, holes=tuple(hole + by for hole in place.holes))


def _middle(box: Box) -> Points:
    return np.array([box[0] + box[2], box[1] + box[3]]) / 2
