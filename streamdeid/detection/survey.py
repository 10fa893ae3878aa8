"""The survey: now and then a third network looks at the whole picture.

It finds faces that the tiles do not see (profiles, heads seen from above, small ones), and it tells a face from a
sleeve or a head of hair better than the other two together. The bars were chosen on 190 true heads in 43 frames of ten
clips, judged by eye; docs/methods.md 8.3 gives the results on other clips.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.centerface import CenterFace, Seen, rounded
from streamdeid.detection.five_points import as_detected
from streamdeid.detection.in_view import InView
from streamdeid.detection.quarter_turns import TURNS
from streamdeid.detection.tiles import least_face, within
from streamdeid.detection.turned_survey import SeenAside, seen_turned

FOUND = 0.3
"""Score from which something may be a new face: of 219 heads in 49 frames 200 reach it, and 0.35 other places per
frame."""
_CLOSE = 120.0
"""Width of a face from which the network does not deny it: a face so close to the camera is larger than those that the
network knows. It sees nothing in a frontal face of 400 pixels (lp_d14). A face that it does see close by or in the dark
counts: in 106 frames of all clips, eight variants each, it saw 499 faces and one false one there above the bar."""
DARK = 24.0
"""Contrast of a place, grey levels, below which the network does not deny a face: of 107 heads in 24 frames that were
darkened to 40, 25, 15 and 8 % it missed 7 % of those with a contrast of 16 to 24, 13 % with 8 to 16, 76 % with less,
and 2.5 % of all others."""
_BARS = ((8.0, 0.09), (12.0, 0.15), (16.0, 0.27), (40.0, 0.375))
"""Width of a face in the network's picture, pixels, and score below which nothing of that size is a face. Of 190 heads
judged by eye one in twenty has at most 0.15, 0.20, 0.42 and 0.57. The surveyed tracks of 8 clips, judged by eye: all 63
that are faces exceed the bar by a third at least once, and so do 5 of 80 that are not."""
_LIKELY, _SURE, _RISE = 1.33, 0.5, 0.6
"""An opinion, the evidence that is equivalent to it, and by how much evidence rises per unit of opinion. Of true heads
one in twenty has at most 1.4 to 2.1, by size; an animated rabbit has 1.25 and a jacket's print 1.2."""
_INNER = 1 / 3
"""Half the side of the middle part of a box, in which a face has its middle, as a share of the box's side."""
_CALM = 10
"""Factor of the time between two looks while nothing is in doubt: they find people who come in unseen by the tiles."""
_NEW = 1 / 5
"""When the camera moves, the share of the picture's longer side that has to be new before the whole is looked at."""
_LARGER, _WIDE, _LONGEST = 1.5, 1920, 2.0
"""The largest enlargement of a picture; the longer side, pixels, from which the network's picture is larger, too; and
how many times larger it is at most."""
_SHAPE = 9 / 16
"""Shorter side over longer side of the pictures for which the network's `side` is given."""
_REDUCED, _REDUCED_LIVE = 0.76, 0.7
"""If the network's scale is below this, the picture is looked at in windows, too: four of the size of the network's
picture and up to twice as fine. In 720p the scale is .75: of 330 photographed people of 16 and 20 pixels there 30 were
open without windows, and 9 with them. One look at all of it in its own size found as many and cost as much, but soft
faces then looked less like faces: 5 more of 711 labelled ones were open. The second share holds for pictures that do
not wait, or for a network's picture below 960: there windows of 720p delay the look at the whole picture, and 13 of 181
labelled faces were open live instead of 8. Of 237 faces of 12 to 24 pixels in clips repeated until they are 1,920
pixels wide 154 were open without windows and close tiles, and 36 with them. Windows of another size, with a network of
their own, held 137 MiB more in 1080p (when OpenCV ran them)."""
_FEW_BELOW = 960
"""Longer side of the network's picture, pixels, below which the second share holds, so that there are fewer windows."""
_SEAM = 48
"""Pixels of the network's picture that neighbouring windows share: faces up to this size are whole in one of them. A
window reports only small faces, since it serves to find those. Among larger things the network took a coat of arms for
a face again and again."""
_SMALL = 24.0
"""Longer side, pixels of the frame, up to which windows report faces in any picture: a face of 16 pixels from ear to
ear is 20 high, which is 15 of the network's pixels in a picture of 1,280."""
_BESIDE_SEAM = 0.5
"""Margin around a box, share of its longer side, that a window has to show before it denies a face there."""
_OWED, _WINDOWS, _CALM_WINDOWS = Fraction(1, 10), 2, 4
"""Pause before a window, over the time between two looks at the whole picture: in the first round after a start or a
cut; after that round; and while nothing is in doubt. A person who is far away stays for long, and those who are there
at the start are found within a second. A window of 1080p costs as much as the whole picture, so windows add half of the
survey's cost, and while all is calm more than twice its cost."""
_ASIDE = 4
"""Pause between two looks at the turned picture, one turn after another, over that between two looks at the upright
one, while no head is known to lie; twice as long where the upright one is always due. These looks are for heads that
are too small for the turned tiles, above all before a camera that hangs upside down."""
_SELDOM_LYING = 2
"""Looks at the upright picture between two at the turned one, where heads lie and both are always due."""


class Part(NamedTuple):
    """The part of a picture that one look covers, and its turn."""

    region: Box
    """Pixels."""
    window: Box | None = None
    """The limits of the region (`limits`), if it is not the whole picture."""
    turn: int = 0
    """Quarter turns anticlockwise after which the network looks at it."""


@dataclass(frozen=True)
class Surveyed:
    """What a survey found in a frame."""

    faces: tuple[Keypoints, ...]
    """The faces with a score of `FOUND` or more, in pixels of the frame."""
    _seen: Seen
    """The network's output; its cells and sides are in pixels of the frame."""
    _scale: float
    """Pixels of the network's picture per pixel of the frame."""
    _green: NDArray[np.uint8]
    """(h, w): green of the picture that was given to the network, before it was enlarged."""
    _unit: float
    """Pixels of `_green` per pixel of the frame."""
    _corner: tuple[int, int] = (0, 0)
    """Where the upper left corner of that picture lies in the frame, pixels."""
    _window: Box | None = None
    """The part of the frame that was looked at, pixels, if not all of it; infinite where it ends with the frame ..."""
    _most: float = math.inf
    """... and the longer side of the largest face that is reported then, pixels of the frame."""

    def opinion(self, box: Box) -> float | None:
        """The network's score for a face in a box, pixels of the frame, over the bar for its size: below 1 for no face.
        None for a box that is too small for the network, not wholly in the window, or too large for the window; and
        where the network sees no face but cannot deny one (`denies`)."""
        x0, y0, x1, y1 = (v - self._corner[axis] for v, axis in zip(box, (0, 1, 0, 1), strict=True))
        side = max(x1 - x0, y1 - y0)
        width = side * self._scale
        if width < _BARS[0][0] or side > self._most or (self._window is not None and not within(box, self._window)):
            return None
        scores, (wide, high) = self._seen.scores, self._seen.cell
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        dx, dy = max(_INNER * (x1 - x0), wide), max(_INNER * (y1 - y0), high)
        left, right = (int(np.clip(v / wide, 0, scores.shape[1])) for v in (x - dx, x + dx + wide))
        top, bottom = (int(np.clip(v / high, 0, scores.shape[0])) for v in (y - dy, y + dy + high))
        best = self._seen.best(slice(top, bottom), slice(left, right), max(x1 - x0, y1 - y0))
        bar = np.interp(width, [at for at, _ in _BARS], [bar for _, bar in _BARS])
        said = best / float(bar)
        return said if said >= 1 or self.denies(box) else None

    def evidence(self, box: Box, opinion: float | None) -> float:
        """How surely there is a face in a box in which a face was found, 0 to 1; opinion: that of the box."""
        told = _LIKELY if opinion is None else opinion if self.denies(box) else max(opinion, _LIKELY)
        return float(np.clip(_SURE + _RISE * (told - _LIKELY), 0.0, 1.0))

    def denies(self, box: Box) -> bool:
        """Whether the network is believed if it sees no face in a box, pixels of the frame: not for a face close to the
        camera, in the dark, or beside a window's seam."""
        side = max(box[2] - box[0], box[3] - box[1])
        if side * self._scale >= _CLOSE or self._contrast(box) < DARK:
            return False
        more = _BESIDE_SEAM * side
        around = box[0] - more, box[1] - more, box[2] + more, box[3] + more
        return self._window is None or within(around, self._window)

    def _contrast(self, box: Box) -> float:
        """`contrast` of the picture in a box, pixels of the frame; 0 outside the picture."""
        x0, y0, x1, y1 = (
            max(0, round((v - self._corner[axis]) * self._unit)) for v, axis in zip(box, (0, 1, 0, 1), strict=True)
        )
        return contrast(self._green[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])


class Survey:
    """Looks at the whole picture every so many seconds, and in between at windows of it if it is large."""

    def __init__(self, weights: bytes, seconds: float, side: int, beside: bool = False) -> None:
        """seconds: between two looks; the first is due at once. side: longer side of the network's picture, pixels, for
        pictures of 16:9; a picture that is less wide is reduced to as many pixels. beside: pictures do not wait
        for the survey, so that there are fewer windows."""
        few = beside or side < _FEW_BELOW
        self._reduced, self._small = (_REDUCED_LIVE, 0.0) if few else (_REDUCED, _SMALL)
        self._weights, self._seconds, self._side = weights, Fraction(seconds), side
        self._network: CenterFace | None = None
        self._size: tuple[int, int] | None = None
        self._shape = 0, 0
        self._scale = 1.0
        self._windows: list[Box] = []
        self._last: Fraction | None = None
        self._last_window: Fraction | None = None
        self._last_aside: Fraction | None = None
        self._lately: dict[int, Fraction] = {}
        """Time of the last look at the picture in each of the turns in which heads lie."""
        self._turns: tuple[int, ...] = (0,)
        self._last_turned_window: Fraction | None = None
        self._next_turned = self._next_aside = 0
        self._upright = 0
        """Looks at the upright picture since the last look at the turned one."""
        self._owed = self._next = 0
        self._turn_of_window = False
        self._view: InView | None = None

    def lay_out(self, size: tuple[int, int]) -> None:
        """The next pictures have this size, width and height."""
        longest = max(size)
        most = self._side * min(1.0, math.sqrt(_SHAPE * longest / min(size)))
        side = min(most, _LARGER * longest) if longest <= _WIDE else most * min(longest / _WIDE, _LONGEST)
        self._size, self._scale, self._network = size, side / longest, None
        self._shape = rounded((round(size[0] * self._scale), round(size[1] * self._scale)))
        self._windows = windows(size, self._shape)[1] if self._scale < self._reduced else []
        self._next = 0
        self._view = InView(size, _NEW)
        self.restart()

    def moved(self, motion: CameraMotion) -> None:
        """The camera moved before the next picture: that is looked at if much of it is new, even while all is calm."""
        if self._view is not None and self._view.moved(motion) is not None:
            self._last = None
            self._lately = {}

    def look_for(self, turns: Collection[int]) -> None:
        """From now on look at the picture in these quarter turns (0 is one of them) as often as at the upright one."""
        self._turns = tuple(turns)
        self._lately = {turn: last for turn, last in self._lately.items() if turn in turns}

    @property
    def finer(self) -> bool:
        """Whether the survey looks at windows of the pictures, too."""
        return bool(self._windows)

    @property
    def owing(self) -> bool:
        """Whether the first round through the windows still lasts."""
        return self._owed > 0

    def restart(self) -> None:
        """Look at the next picture, and soon at all windows: it has nothing in common with the last one."""
        self._last = self._last_window = self._last_aside = self._last_turned_window = None
        self._lately = {}
        self._owed, self._turn_of_window = len(self._windows), False

    def soon(self) -> None:
        """Look at the next picture: it may show more faces than the last one."""
        self.restart()

    def __call__(self, planes: Planes, time: Fraction, calm: bool = False) -> Surveyed | SeenAside | None:
        """What the network sees in a frame of this time, seconds, or in a window of it; None when no look is due. calm:
        no known place is in doubt, so that looks are due later. If the time goes back, the survey restarts."""
        part = self.due(time, calm)
        return None if part is None else self.look(planes, part)

    def due(self, time: Fraction, calm: bool = False) -> Part | None:
        """The part to look at in a frame of this time, which then counts as looked at; None when no look is due."""
        if self._size is None:
            return None
        known = self._last, self._last_window, self._last_aside, self._last_turned_window, *self._lately.values()
        if any(last is not None and time < last for last in known):
            self.restart()
        often = _CALM * self._seconds if calm else self._seconds
        if self._last_aside is None:
            self._last_aside = time
        whole = _passed(self._last, time, often)
        pause = _OWED if self._owed else Fraction(_CALM_WINDOWS if calm else _WINDOWS)
        window = bool(self._windows) and _passed(self._last_window, time, pause * self._seconds)
        aside = self._aside(time, often, pause * self._seconds)
        lying, long = len(self._turns) > 1, _passed(self._last_aside, time, 2 * _ASIDE * often)
        waited = self._upright >= _SELDOM_LYING if lying else long
        if aside is not None and (waited or not (whole or window)):
            self._upright = 0
            self._looked_aside(aside, time)
            return aside
        if whole and not (window and self._turn_of_window):  # where both are always due, they take turns
            self._last, self._turn_of_window = time, True
            self._upright += 1
            return Part(self._whole)
        if not window:
            return None
        self._last_window, self._turn_of_window = time, False
        self._upright += 1
        number, self._next = self._next, (self._next + 1) % len(self._windows)
        self._owed = max(0, self._owed - 1)
        return Part(self._windows[number], limits(self._windows[number], self._size))

    def _aside(self, time: Fraction, often: Fraction, pause: Fraction) -> Part | None:
        """The part of the turned picture that is due, if any. Turns in which heads lie are due as often as the upright
        picture, with windows; other turns seldom, without windows. often, pause: seconds between two looks at the
        upright picture, and at windows of it."""
        assert self._size is not None
        lying = [turn for turn in self._turns if turn]
        due = [turn for turn in lying if _passed(self._lately.get(turn), time, often)]
        if due:
            return Part(self._whole, None, min(due, key=lambda turn: self._lately.get(turn, Fraction(-1))))
        if lying and self._windows and _passed(self._last_turned_window, time, pause):
            rounds, number = divmod(self._next_turned, len(self._windows))
            return Part(self._windows[number], limits(self._windows[number], self._size), lying[rounds % len(lying)])
        others = [turn for turn in TURNS if turn not in self._turns]
        if others and _passed(self._last_aside, time, _ASIDE * often):
            return Part(self._whole, None, others[self._next_aside % len(others)])
        return None

    @property
    def _whole(self) -> Box:
        """All of the picture, pixels."""
        assert self._size is not None
        return 0.0, 0.0, float(self._size[0]), float(self._size[1])

    def _looked_aside(self, part: Part, time: Fraction) -> None:
        """Note that a part of the turned picture is looked at."""
        if part.window is not None:
            self._last_turned_window, self._next_turned = time, self._next_turned + 1
        elif part.turn in self._turns:
            self._lately[part.turn] = time
        else:
            self._last_aside, self._next_aside = time, self._next_aside + 1

    def look(self, planes: Planes, part: Part) -> Surveyed | SeenAside:
        """What the network sees in a part of a picture. Not for two threads at once, nor during `lay_out`."""
        region, window, turn = part
        x0, y0, x1, y1 = (round(v) for v in region)
        network = self._network = self._network or CenterFace(self._weights, self._shape)
        rgb = rectangle_to_rgb(planes, x0, y0, x1, y1, min(1.0, network.size[0] / (x1 - x0)), quick=True)
        units = (x1 - x0) / rgb.shape[1], (y1 - y0) / rgb.shape[0]
        unit = (units[0] + units[1]) / 2
        enlarged = network.size[0] / (x1 - x0)
        most = math.inf if window is None else min(_SEAM / enlarged, max(self._small, least_face(planes.size)))
        if turn:
            return SeenAside(turn, _told(seen_turned(network, rgb, turn, FOUND, (x0, y0), unit), window, most))
        seen = network(rgb, FOUND)
        faces = _told(
            (seen.faces.keypoints(row, (x0, y0), unit) for row in range(len(seen.faces.scores))), window, most
        )
        cell = seen.cell[0] * units[0], seen.cell[1] * units[1]
        seen = Seen(seen.faces, seen.scores, np.float32(unit) * seen.sides, cell)
        return Surveyed(faces, seen, enlarged, rgb[:, :, 1], 1 / unit, (x0, y0), window, most)


def windows(size: tuple[int, int], seen: tuple[int, int]) -> tuple[float, list[Box]]:
    """The scale, at most 1, at which a picture of `size` (width, height) fits into two rows of two windows, each as
    large as the network's picture, `seen`, pixels; and these windows, in pixels of the picture, rows from the top.
    Neighbours share `_SEAM` or more of the network's pixels. Left and upper edges are even."""
    scale = min(1.0, *((2 * there - _SEAM) / length for there, length in zip(seen, size, strict=True)))
    columns, rows = (_spans(length, there / scale) for length, there in zip(size, seen, strict=True))
    return scale, [(left, top, right, bottom) for top, bottom in rows for left, right in columns]


def _spans(length: int, piece: float) -> list[tuple[float, float]]:
    """Two pieces, at both ends of one side of the picture, or the whole side where one piece is enough."""
    if piece >= length:
        return [(0.0, float(length))]
    start = 2 * math.floor((length - piece) / 2)
    return [(0.0, float(length - start)), (float(start), float(length))]


def limits(window: Box, size: tuple[int, int]) -> Box:
    """The window, pixels, with infinite limits where it ends with the picture: it cuts no face there."""
    x0, y0, x1, y1 = window
    return (
        x0 if x0 > 0 else -math.inf,
        y0 if y0 > 0 else -math.inf,
        x1 if x1 < size[0] else math.inf,
        y1 if y1 < size[1] else math.inf,
    )


def _passed(last: Fraction | None, time: Fraction, pause: Fraction) -> bool:
    return last is None or not 0 <= time - last < pause


def _told(found: Iterable[Keypoints], window: Box | None, most: float) -> tuple[Keypoints, ...]:
    """The faces that are reported: all faces of the whole picture; of a window those whose longer side is at most
    `most` and that are whole in it, all in pixels."""
    return tuple(one for one in found if window is None or _small(as_detected(one.box), window, most))


def _small(box: Box, window: Box, most: float) -> bool:
    """Whether the longer side of a face's box is at most `most` and the box is whole in a window, all in pixels."""
    return max(box[2] - box[0], box[3] - box[1]) <= most and within(box, window)


def contrast(grey: NDArray[np.uint8]) -> float:
    """Grey levels between the darkest and the brightest fiftieth of a picture; 0 for an empty picture."""
    if not grey.size:
        return 0.0
    low, high = np.percentile(grey, (2, 98))
    return float(high - low)
