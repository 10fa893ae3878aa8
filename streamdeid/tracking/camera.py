"""The motion of a camera from one picture to the next, told by what stands still around people.

Corners are followed by optical flow in a small copy of the picture (Lucas and Kanade 1981, in the pyramids of Bouguet
2000), and a similarity is fitted to what most of them do (RANSAC: Fischler and Bolles 1981). Trackers of people
compensate the camera's motion so since BoT-SORT (Aharon, Orfaig, Bobrovsky 2022).

Who walks by close to the camera moves most corners, too. So a motion is believed only where most corners agree, in
most parts of the picture that have any, and where it takes away a quarter of the difference of the two pictures and
adds to it in no part: beside a train that passes, all that stands would be moved along. A small motion is none: what
follows faces goes along with that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from streamdeid.core.arrays import Floats, Plane
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.luma_pyramid import smallest

_SIZE = 160, 90
"""Width and height that the copy has at least, and not twice."""
_CORNERS, _QUALITY, _APART, _BLOCK = 60, 0.02, 6, 5
"""Corners at most, how clear they are beside the clearest, pixels between them, and side of what is looked at."""
_FEWEST = 12
"""Corners with fewer of which nothing is told."""
_WINDOW, _LEVELS = (13, 13), 3
"""Sides of the patches that are followed, pixels, and halvings of the copy: up to a tenth of the picture is found."""
_WITHIN = 0.7
"""Pixels of the copy from the motion up to which a corner agrees with it."""
_AGREE, _PARTS = 0.6, 0.6
"""Share of the corners that agree at least, and of the parts of the picture that have corners."""
_COLUMNS, _ROWS = 4, 3
"""Of the parts."""
_LEFT = 0.75
"""Share of the difference of both pictures that is left at most when the first is moved along. Where seven clips are
shown through a window that moves it is 0.02 to 0.7 in nine of ten frames; where two large heads cross before a camera
that stands, 0.8 and more in nine of ten."""
_MOST_ZOOM, _MOST_ROLL = 1.25, 0.3
"""How much larger or smaller a picture may become from one frame to the next, and how far it may turn, radians."""
_WORSE, _NOISE = 1.5, 2.0
"""How many times as large as before the mean difference in a part may be then, and grey levels beside that. Trains that
fill half of street_next and more are refused in all frames but a few, and of 584 frames through a window that moves
one is."""
_LEAST = 1 / 320
"""Share of the picture's longer side that its middle or a corner has to move: a quarter of the smallest face."""


def small(levels: Sequence[Plane]) -> Plane:
    """The copy of a luma plane, by its levels (`luma_pyramid`), in which corners are followed."""
    return smallest(levels, *_SIZE)


def camera_motion(before: Plane, after: Plane, size: tuple[int, int]) -> tuple[CameraMotion | None, float]:
    """How the camera moved between two small copies, uint8 (h, w), of pictures of a size (width, height), in their
    pixels; None where it stood, or nobody can tell. And the share of their difference that this leaves, 0 to 1."""
    still = None, 1.0
    if before.shape != after.shape:
        return still
    here = cv2.goodFeaturesToTrack(before, _CORNERS, _QUALITY, _APART, blockSize=_BLOCK)
    if here is None or len(here) < _FEWEST:
        return still
    there, found, _ = cv2.calcOpticalFlowPyrLK(
        before, after, here, np.empty_like(here), winSize=_WINDOW, maxLevel=_LEVELS
    )
    kept = found[:, 0] > 0
    here, there = here[kept, 0], there[kept, 0]
    if len(here) < _FEWEST:
        return still
    matrix, agree = cv2.estimateAffinePartial2D(here, there, ransacReprojThreshold=_WITHIN)
    if matrix is None:
        return still
    inside = agree[:, 0] > 0
    if inside.mean() < _AGREE or _parts(here[inside], before.shape) < _PARTS * _parts(here, before.shape):
        return still
    motion = _in_picture(np.asarray(matrix, dtype=np.float64), max(size) / max(before.shape))
    if not 1 / _MOST_ZOOM <= motion.scale <= _MOST_ZOOM or abs(motion.angle) > _MOST_ROLL:
        return still
    places = np.array([[0.5, 0.5], [0.0, 0.0], [1.0, 1.0]]) * np.array(size)
    farthest = np.linalg.norm(motion(places) - places, axis=1).max()
    left = _left(before, after, np.asarray(matrix, dtype=np.float64))
    return (motion, left) if farthest >= _LEAST * max(size) and left <= _LEFT else still


def _in_picture(matrix: Floats, unit: float) -> CameraMotion:
    """A motion (2, 3) of the copy in the picture, which has so many pixels for each of its own."""
    half = (unit - 1) / 2  # of its first pixel's middle, in the picture
    turn = matrix[:, :2]
    return CameraMotion(turn, np.asarray(unit * matrix[:, 2] + half - turn @ np.full(2, half), dtype=np.float64))


def _left(before: Plane, after: Plane, matrix: Floats) -> float:
    """Share of the difference of two copies that is left when the first is moved by (2, 3), where both show it;
    infinite where a part of the picture is clearly worse for it."""
    size = before.shape[1], before.shape[0]
    inside = cv2.warpAffine(np.full_like(before, 255), matrix, size, flags=cv2.INTER_NEAREST) > 0
    moved = cv2.warpAffine(before, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    now, last = (np.where(inside, cv2.absdiff(after, one), 0) for one in (moved, before))
    parts = _COLUMNS, _ROWS
    counts, there, before_it = (
        cv2.resize(one.astype(np.float32), parts, interpolation=cv2.INTER_AREA) for one in (inside, now, last)
    )
    if (there > _WORSE * before_it + _NOISE * counts).any():
        return math.inf
    return float(now.sum()) / max(float(last.sum()), 1.0)


def _parts(points: Floats, shape: tuple[int, ...]) -> int:
    """In how many parts of a picture (h, w) points (n, 2) lie."""
    cells = (points / np.array([shape[1] / _COLUMNS, shape[0] / _ROWS])).astype(int)
    return len(np.unique(cells, axis=0))
