"""A second look at what may be a face: does another network see one there, too?

The detector's score does not tell a small or turned face from a rabbit, a fist or the back of a head. Two networks of
different making err on different things: mediapipe's takes ears, fingers and lamps for faces, YuNet drawn animals and
hands. So the evidence of a sighting is the mean of both scores. Where that decides nothing, mediapipe's network is
shown the place at two sizes, plain and mirrored, and the mean with those replaces its own score: it keeps seeing true
faces and loses others.

Measured on 2,664 sightings in 18 clips (at most 36 frames each): at the evidence that keeps 97 % of the sightings of
14 pixels and up on faces, 60 of 1,115 that touch no box of an independent detector are kept by the mean of two, 40
with the views, and 974 by mediapipe's score and views alone, which was the rule before. Where YuNet is missing that
old rule holds: a mean over two sizes and mirrors, over three more where that decides nothing.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.detection.networks import Networks
from streamdeid.detection.tiles import INPUT
from streamdeid.detection.yunet import YuNet

Box = tuple[float, float, float, float]

_FAINTEST = 0.05
"""Scores below this count as nothing seen."""
_GLANCE = ((32, 0, 0, False), (32, 96, 0, True), (48, 0, 96, True), (48, 96, 96, False))
"""Views of a glance, all in one picture: width of the face, place of the view, mirrored. One run of the network."""
_GLANCE_SIDE = INPUT // 2
_LOOK = ((24, False), (40, True), (64, False))
"""Views of a full look, one run of the network each: width of the face, mirrored."""
_UNDECIDED = (0.18, 0.5)
"""A glance between these is followed by a full look, where there is no YuNet."""
_OPEN = (0.4, 0.65)
"""A mean of two networks between these is followed by a glance, which can bring it to the other side of the default
threshold of 0.5; others it hardly could."""
_WIDTH, _SIDE = 64, 128
"""Width of the face, and side of the picture, that YuNet sees: with more around the face it sees fewer of them (92, 85,
82 % of the true sightings at 20 false ones with the face 1/2, 0.3 and 1/4 of the side). 1.3 ms."""
_LIKE = (0.4, 2.2)
"""Longer side of what YuNet finds over that of the box asked about: brows to chin, or the head."""
_FOLLOWED = 0.5
"""Score from which YuNet alone finds again what the detector had found and lost: the library's own bar."""
_NOSE = 0.53
"""Height of the middle of the detector's box in YuNet's, from its top."""
_CONTRAST = (64.0, 4.0)
"""Grey levels that are stretched to the whole range at most, and the largest gain: faces in the dark are seen, noise
on a wall is not made one."""


class SecondLook:
    """Looks again at places of a picture. Holds a running network."""

    def __init__(self, networks: Networks, yunet: YuNet | None) -> None:
        """yunet: the second network; None: mediapipe's looks a second time."""
        self._detect = networks.detector(_FAINTEST)
        self._yunet = yunet

    def evidence(self, planes: Planes, box: Box, score: float) -> float:
        """How sure it is, 0 to 1, that what the detector saw with this score is a face. box in pixels, with an area."""
        seen = self.likeness(planes, box)
        sure = (score + seen) / 2
        if self._yunet is not None and _OPEN[0] <= sure < _OPEN[1]:
            return ((score + self._glance(planes, box)) / 2 + seen) / 2
        return sure

    def likeness(self, planes: Planes, box: Box) -> float:
        """How much a place looks like a face, 0 to 1, whatever the detector said. box in pixels, with an area."""
        if self._yunet is not None:
            return float(self._alike(self._yunet, planes, box)[1].max(initial=0.0))
        found = self._glance(planes, box)
        if not _UNDECIDED[0] <= found < _UNDECIDED[1]:
            return found
        total = 0.0
        for width, mirrored in _LOOK:
            seen = view(planes, box, width, INPUT)
            seen = np.ascontiguousarray(seen[:, ::-1]) if mirrored else seen
            total += self._scores(seen, ((width, 0, 0, mirrored),), INPUT)
        return total / len(_LOOK)

    def close(self) -> None:
        """Stop the network."""
        self._detect.close()

    def near(self, planes: Planes, box: Box) -> Box | None:
        """Where YuNet is sure of a face of about the size of the box, near it, as the detector would box it; or None.

        box in pixels, with an area. None where there is no YuNet.
        """
        if self._yunet is None:
            return None
        boxes, scores = self._alike(self._yunet, planes, box)
        if scores.max(initial=0.0) < _FOLLOWED:
            return None
        x0, y0, x1, y1 = boxes[int(scores.argmax())]
        side = (x1 - x0 + y1 - y0) / 2 / _WIDTH * max(box[2] - box[0], box[3] - box[1])
        pixels = max(box[2] - box[0], box[3] - box[1]) / _WIDTH
        # YuNet's boxes reach from the hairline to the chin, the detector's are squares about the nose.
        x = (box[0] + box[2]) / 2 + ((x0 + x1) - _SIDE) / 2 * pixels
        y = (box[1] + box[3]) / 2 + (y0 + _NOSE * (y1 - y0) - _SIDE / 2) * pixels
        return x - side / 2, y - side / 2, x + side / 2, y + side / 2

    def _alike(self, yunet: YuNet, planes: Planes, box: Box) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """YuNet's boxes (n, 4), in its view, and scores (n,), of what is about as large as the box and near it."""
        boxes, scores = yunet(stretched(view(planes, box, _WIDTH, _SIDE)))
        away = np.abs((boxes[:, :2] + boxes[:, 2:] - _SIDE) / 2).max(axis=1)
        sides = (boxes[:, 2:] - boxes[:, :2]).max(axis=1)
        same = (away < 0.6 * _WIDTH) & (sides > _LIKE[0] * _WIDTH) & (sides < _LIKE[1] * _WIDTH)
        return boxes[same], scores[same]

    def _glance(self, planes: Planes, box: Box) -> float:
        picture = np.empty((INPUT, INPUT, 3), np.uint8)
        for width, x, y, mirrored in _GLANCE:
            seen = view(planes, box, width, _GLANCE_SIDE)
            picture[y : y + _GLANCE_SIDE, x : x + _GLANCE_SIDE] = seen[:, ::-1] if mirrored else seen
        return self._scores(picture, _GLANCE, _GLANCE_SIDE)

    def _scores(self, picture: NDArray[np.uint8], views: tuple[tuple[int, int, int, bool], ...], side: int) -> float:
        """Mean over the views of the best score of what is found in the middle of each."""
        boxes, _, scores = self._detect(picture)
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        best = []
        for width, x, y, _ in views:
            near = np.abs(centres - (x + side / 2, y + side / 2)).max(axis=1) < width / 2
            best.append(float(scores[near].max()) if near.any() else 0.0)
        return float(np.mean(best))


def stretched(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture, uint8 (h, w, 3), whose 2nd to 98th percentile of luma fill the range, as far as `_CONTRAST` allows."""
    counts = np.bincount(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).ravel(), minlength=256).cumsum()
    low, high = (float(np.searchsorted(counts, share * counts[-1])) for share in (0.02, 0.98))
    gain = min(max(255.0 / max(high - low, _CONTRAST[0]), 1.0), _CONTRAST[1])
    table = np.clip((np.arange(256.0) - low) * gain, 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(rgb, table), np.uint8)


def view(planes: Planes, box: Box, width: int, side: int) -> NDArray[np.uint8]:
    """A square RGB picture, uint8 (side, side, 3), in whose middle the box is `width` pixels wide (its longer side).

    What lies outside the picture mirrors what lies inside its border.
    """
    x0, y0, x1, y1 = box
    scale = width / max(x1 - x0, y1 - y0)
    half = side / scale / 2
    left, top = (math.floor(c - half) & ~1 for c in ((x0 + x1) / 2, (y0 + y1) / 2))
    reach = max(2, math.ceil(2 * half))
    full = planes.size
    xs, ys = (
        (min(max(start, 0), limit - 1) & ~1, min(max(start + reach, 2), limit))
        for start, limit in ((left, full[0]), (top, full[1]))
    )
    rgb = rectangle_to_rgb(planes, xs[0], ys[0], xs[1], ys[1], min(1.0, scale))
    fx, fy = rgb.shape[1] / (xs[1] - xs[0]), rgb.shape[0] / (ys[1] - ys[0])
    above, below = (max(0, round(b * fy)) for b in (ys[0] - top, top + reach - ys[1]))
    before, behind = (max(0, round(b * fx)) for b in (xs[0] - left, left + reach - xs[1]))
    framed = cv2.copyMakeBorder(rgb, above, below, before, behind, cv2.BORDER_REFLECT)
    how = cv2.INTER_AREA if framed.shape[0] > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(framed, (side, side), interpolation=how), np.uint8)
