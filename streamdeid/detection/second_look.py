"""A second look at what may be a face: does another network see one there, too?

The detector's score does not tell a small or turned face from a rabbit, a fist or the back of a head. Two networks of
different making err on different things: mediapipe's takes ears, fingers and lamps for faces, YuNet drawn animals and
hands. So the evidence of a sighting is the mean of both scores. Where that decides nothing, mediapipe's network is
shown the place at two sizes, plain and mirrored, and the mean with those replaces its own score: it keeps seeing true
faces and loses others.

Measured on 2,664 sightings in 18 clips (at most 36 frames each): at the evidence that keeps 97 % of the sightings of
14 pixels and up on faces, 60 of 1,115 that touch no box of an independent detector are kept by the mean of two, 40
with the views, and 974 by mediapipe's score and views alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.candidates import overlap
from streamdeid.detection.five_points import FiveFaces, as_detected, five_turned_back
from streamdeid.detection.networks import Detects, Networks
from streamdeid.detection.quarter_turns import turned
from streamdeid.detection.tiles import INPUT
from streamdeid.detection.yunet import YuNet

_FAINTEST = 0.05
"""Scores below this count as nothing seen."""
_GLANCE = ((32, 0, 0, False), (32, 96, 0, True), (48, 0, 96, True), (48, 96, 96, False))
"""Views of a glance, all in one picture: width of the face, place of the view, mirrored. One run of the network."""
_GLANCE_SIDE = INPUT // 2
_OPEN = (0.4, 0.65)
"""A mean of two networks between these is followed by a glance, which can bring it to the other side of the default
threshold of 0.5; others it hardly could."""
_WIDTH, _SIDE = 64, 128
"""Width of the face, and side of the picture, that YuNet sees: with more around the face it sees fewer of them (92, 85,
82 % of the true sightings at 20 false ones with the face 1/2, 0.3 and 1/4 of the side)."""
_LIKE = (0.4, 2.2)
"""Longer side of what YuNet finds over that of the box asked about: brows to chin, or the head."""
FOLLOWED = 0.5
"""Score from which YuNet alone finds again what the detector had found and lost: the library's own bar."""
_CONTRAST = (64.0, 4.0)
"""Grey levels that are stretched to the whole range at most, and the largest gain: faces in the dark are seen, noise
on a wall is not made one."""


@dataclass(frozen=True)
class Look:
    """What a second look says of a sighting."""

    evidence: float
    """How sure it is, 0 to 1, that it is a face."""
    keypoints: Keypoints | None
    """What YuNet saw there, in pixels of the frame; None where it saw nothing."""


class SecondLook:
    """Looks again at places of a picture. Holds running networks."""

    def __init__(self, networks: Networks, yunet: YuNet, glances: bool = True) -> None:
        """glances: whether mediapipe's network is asked again where both decide nothing; a third network makes that
        needless (`close_look`)."""
        self._yunet = yunet
        self._detect = networks.detector(_FAINTEST) if glances else None

    def look(self, planes: Planes, box: Box, score: float, others: Sequence[Box] = (), turn: int = 0) -> Look:
        """How sure it is that what the detector saw with this score is a face. box in pixels, with an area; turn: the
        quarter turns against the clock after which the head in it stands upright.

        others: boxes of faces that are known. What YuNet sees of them says nothing about this one: without that a
        candidate on somebody's hair was believed by the face below it.
        """
        keypoints = self.keypoints(planes, box, others, turn)
        seen = likeness(keypoints)
        sure = (score + seen) / 2
        if self._detect is not None and _OPEN[0] <= sure < _OPEN[1]:
            glanced = _glance(self._detect, planes, box, turn)
            return Look(((score + glanced) / 2 + seen) / 2, keypoints)
        return Look(sure, keypoints)

    def close(self) -> None:
        """Stop the networks."""
        if self._detect is not None:
            self._detect.close()

    def near(self, planes: Planes, box: Box, others: Sequence[Box] = (), turn: int = 0) -> Keypoints | None:
        """A face of about the size of the box, near it, that YuNet is sure of; or None. As `keypoints` otherwise."""
        found = self.keypoints(planes, box, others, turn)
        return found if found is not None and found.score >= FOLLOWED else None

    def keypoints(self, planes: Planes, box: Box, others: Sequence[Box] = (), turn: int = 0) -> Keypoints | None:
        """The face of about the size of the box, near it, that YuNet is surest of, in pixels of the frame; or None.

        box in pixels, with an area; others and turn: as in `look`.

        At the picture's border it is asked twice. With what is inside mirrored outside it is surest that there is a
        face, but half a face and its mirror image are one to it, whose middle is the border: of 334 faces of all clips,
        cut by 15 or 30 % at the left or right, its points were wrong at 44 to 64 %. With repeated pixels they are wrong
        at 1 to 7 %, but from 45 % on it sees fewer of them.
        """
        mirrored = self._surest(planes, box, others, turn, cv2.BORDER_REFLECT)
        if shown(planes.size, box, _SIDE / _WIDTH) == 1:
            return mirrored
        plain = self._surest(planes, box, others, turn, cv2.BORDER_REPLICATE)
        if mirrored is None or plain is None:
            return mirrored or plain
        return replace(plain if plain.score >= FOLLOWED else mirrored, score=max(plain.score, mirrored.score))

    def _surest(self, planes: Planes, box: Box, others: Sequence[Box], turn: int, outside: int) -> Keypoints | None:
        """As `keypoints`, with something outside the picture (`view`)."""
        found = self._yunet(stretched(turned(view(planes, box, _WIDTH, _SIDE, outside), turn)))
        found = five_turned_back(found, turn, (_SIDE, _SIDE))
        same = _in_view(found, np.full(2, _SIDE / 2), _WIDTH)
        left, top, reach = _seen(box, _WIDTH, _SIDE)
        best: Keypoints | None = None
        for row in np.flatnonzero(same).tolist():
            one = found.keypoints(row, (left, top), reach / _SIDE)
            if (best is None or one.score > best.score) and not _of_others(one, box, others):
                best = one
        return best

    def turns(self, planes: Planes, box: Box, turns: Sequence[int]) -> list[int]:
        """Those of some quarter turns against the clock after which YuNet sees a face in a box, the surest first. All
        of them in one small picture: three turns cost about one and a half times one of `keypoints`."""
        if not turns:
            return []
        width, side = 3 * _WIDTH // 4, 3 * _SIDE // 4
        seen = stretched(view(planes, box, width, side))
        found = self._yunet(np.ascontiguousarray(np.hstack([turned(seen, turn) for turn in turns])))
        sure, surest = found.scores >= FOLLOWED, {}
        for number, turn in enumerate(turns):
            seen_so = sure & _in_view(found, np.array([number + 0.5, 0.5]) * side, width)
            surest[turn] = float(found.scores[seen_so].max(initial=0.0))
        return sorted((turn for turn in turns if surest[turn] > 0), key=lambda turn: -surest[turn])


def likeness(keypoints: Keypoints | None) -> float:
    """How much a place looks like a face, 0 to 1, whatever the detector said. keypoints: what YuNet saw there."""
    return 0.0 if keypoints is None else keypoints.score


def _glance(detect: Detects, planes: Planes, box: Box, turn: int) -> float:
    """Mean over the views of the best score of what is found in the middle of each."""
    picture = np.empty((INPUT, INPUT, 3), np.uint8)
    for width, x, y, mirrored in _GLANCE:
        seen = turned(view(planes, box, width, _GLANCE_SIDE), turn)
        picture[y : y + _GLANCE_SIDE, x : x + _GLANCE_SIDE] = seen[:, ::-1] if mirrored else seen
    boxes, _, scores = detect(picture)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    best = []
    for width, x, y, _ in _GLANCE:
        near = np.abs(centres - (x + _GLANCE_SIDE / 2, y + _GLANCE_SIDE / 2)).max(axis=1) < width / 2
        best.append(float(scores[near].max()) if near.any() else 0.0)
    return float(np.mean(best))


def stretched(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture, uint8 (h, w, 3), whose 2nd to 98th percentile of luma fill the range, as far as `_CONTRAST` allows."""
    counts = np.bincount(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).ravel(), minlength=256).cumsum()
    low, high = (float(np.searchsorted(counts, share * counts[-1])) for share in (0.02, 0.98))
    gain = min(max(255.0 / max(high - low, _CONTRAST[0]), 1.0), _CONTRAST[1])
    table = np.clip((np.arange(256.0) - low) * gain, 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(rgb, table), np.uint8)


def view(planes: Planes, box: Box, width: int, side: int, outside: int = cv2.BORDER_REFLECT) -> NDArray[np.uint8]:
    """A square RGB picture, uint8 (side, side, 3), in whose middle the box is `width` pixels wide (its longer side).

    outside: what is seen outside the picture, OpenCV's word for it; by default what lies inside its border, mirrored.
    """
    scale = width / max(box[2] - box[0], box[3] - box[1])
    left, top, reach = _seen(box, width, side)
    full = planes.size
    xs, ys = (
        (min(max(start, 0), limit - 1) & ~1, min(max(start + reach, 2), limit))
        for start, limit in ((left, full[0]), (top, full[1]))
    )
    rgb = rectangle_to_rgb(planes, xs[0], ys[0], xs[1], ys[1], min(1.0, scale))
    fx, fy = rgb.shape[1] / (xs[1] - xs[0]), rgb.shape[0] / (ys[1] - ys[0])
    above, below = (max(0, round(b * fy)) for b in (ys[0] - top, top + reach - ys[1]))
    before, behind = (max(0, round(b * fx)) for b in (xs[0] - left, left + reach - xs[1]))
    framed = cv2.copyMakeBorder(rgb, above, below, before, behind, outside)
    how = cv2.INTER_AREA if framed.shape[0] > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(framed, (side, side), interpolation=how), np.uint8)


def shown(size: tuple[int, int], box: Box, times: float) -> float:
    """Share of a view that is picture: of a square about a box, `times` as large as its longer side, all in pixels of a
    picture of a size (width, height)."""
    half = times * max(box[2] - box[0], box[3] - box[1]) / 2
    inside = 1.0
    for low, high, limit in ((box[0], box[2], size[0]), (box[1], box[3], size[1])):
        middle = (low + high) / 2
        inside *= max(0.0, min(middle + half, limit) - max(middle - half, 0.0)) / (2 * half)
    return inside


def _seen(box: Box, width: int, side: int) -> tuple[int, int, int]:
    """Left and upper edge, and side, in pixels of the frame, of what `view` shows."""
    x0, y0, x1, y1 = box
    half = side / width * max(x1 - x0, y1 - y0) / 2
    left, top = (math.floor(c - half) & ~1 for c in ((x0 + x1) / 2, (y0 + y1) / 2))
    return left, top, max(2, math.ceil(2 * half))


def _in_view(found: FiveFaces, middle: NDArray[np.float64], width: int) -> NDArray[np.bool_]:
    """Which of the faces found, (n,), are about the one of a view that is `width` pixels wide in its middle, (2,)."""
    away = np.abs((found.boxes[:, :2] + found.boxes[:, 2:]) / 2 - middle).max(axis=1)
    sides = (found.boxes[:, 2:] - found.boxes[:, :2]).max(axis=1)
    return np.asarray((away < 0.6 * width) & (sides > _LIKE[0] * width) & (sides < _LIKE[1] * width), np.bool_)


def _of_others(found: Keypoints, box: Box, others: Sequence[Box]) -> bool:
    """Whether what was found is rather the face in another box than in this one, all in pixels."""
    if not len(others):
        return False
    shared = overlap(np.array([as_detected(found.box)]), np.array([box, *others]))[0]
    return bool(shared[1:].max() > shared[0])
