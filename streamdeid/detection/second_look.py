"""A second look at what may be a face: is it still one at other sizes, and in a mirror?

The detector's single score does not tell a small or turned face from a rabbit, a fist or the back of a head. Shown the
same place again at several sizes, plain and mirrored, it keeps seeing true faces and loses the others: on five clips
the mean of such looks was under 0.43 for 99 % of the sightings in an animated film and 0.45 and more for 99 % of the
faces in a crowd, where single scores overlap from 0.37 to 0.68.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.colour import rectangle_to_rgb
from streamdeid.detection.mediapipe_graphs import DetectionGraph
from streamdeid.detection.tiles import INPUT
from streamdeid.frames import Planes

Box = tuple[float, float, float, float]

_FAINTEST = 0.05
"""Scores below this count as nothing seen."""
_GLANCE = ((32, 0, 0, False), (32, 96, 0, True), (48, 0, 96, True), (48, 96, 96, False))
"""Views of a glance, all in one picture: width of the face, place of the view, mirrored. One run of the network."""
_GLANCE_SIDE = INPUT // 2
_LOOK = ((24, False), (40, True), (64, False))
"""Views of a full look, one run of the network each: width of the face, mirrored."""
_UNDECIDED = (0.18, 0.5)
"""A glance between these is followed by a full look."""


class SecondLook:
    """Looks again at places of a picture. Holds a running mediapipe graph."""

    def __init__(self) -> None:
        self._detect = DetectionGraph(_FAINTEST)

    def __call__(self, planes: Planes, box: Box) -> float:
        """How much the place looks like a face, 0 to 1: the mean score over the views. box in pixels, with an area."""
        picture = np.empty((INPUT, INPUT, 3), np.uint8)
        for width, x, y, mirrored in _GLANCE:
            seen = view(planes, box, width, _GLANCE_SIDE)
            picture[y : y + _GLANCE_SIDE, x : x + _GLANCE_SIDE] = seen[:, ::-1] if mirrored else seen
        found = self._scores(picture, _GLANCE, _GLANCE_SIDE)
        if not _UNDECIDED[0] <= found < _UNDECIDED[1]:
            return found
        total = 0.0
        for width, mirrored in _LOOK:
            seen = view(planes, box, width, INPUT)
            seen = np.ascontiguousarray(seen[:, ::-1]) if mirrored else seen
            total += self._scores(seen, ((width, 0, 0, mirrored),), INPUT)
        return total / len(_LOOK)

    def close(self) -> None:
        """Stop the graph."""
        self._detect.close()

    def _scores(self, picture: NDArray[np.uint8], views: tuple[tuple[int, int, int, bool], ...], side: int) -> float:
        """Mean over the views of the best score of what is found in the middle of each."""
        boxes, _, scores = self._detect(picture)
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        best = []
        for width, x, y, _ in views:
            near = np.abs(centres - (x + side / 2, y + side / 2)).max(axis=1) < width / 2
            best.append(float(scores[near].max()) if near.any() else 0.0)
        return float(np.mean(best))


def view(planes: Planes, box: Box, width: int, side: int) -> NDArray[np.uint8]:
    """A square RGB picture, uint8 (side, side, 3), in whose middle the box is `width` pixels wide (its longer side).

    What lies outside the picture repeats its border.
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
    framed = cv2.copyMakeBorder(rgb, above, below, before, behind, cv2.BORDER_REPLICATE)
    how = cv2.INTER_AREA if framed.shape[0] > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(framed, (side, side), interpolation=how), np.uint8)
