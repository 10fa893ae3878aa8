"""Estimates the motion of the camera from one picture to the next, from the background that stands still.

Corners are followed by optical flow in a small copy of the picture (Lucas and Kanade 1981, in the pyramids of Bouguet
2000), and a similarity is fitted to the motion of most corners (RANSAC: Fischler and Bolles 1981). Trackers of people
have compensated the camera's motion in this way since BoT-SORT (Aharon, Orfaig, Bobrovsky 2022).

A person who walks by close to the camera moves most corners, too. So a motion is believed only where most corners
agree, in most parts of the picture that have corners, and where it removes a quarter of the difference of the two
pictures and adds to the difference in no part. Otherwise, while a train passes, all that stands would be moved along. A
small motion counts as none: the tracking of faces copes with it.
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
"""Least width and height of the copy, which is smaller than twice that."""
_CORNERS, _QUALITY, _APART, _BLOCK = 60, 0.02, 6, 5
"""Most corners, their least quality beside the clearest one, pixels between them, and side of the block they are
judged in."""
_FEWEST = 12
"""With fewer corners than this, the motion is unknown."""
_WINDOW, _LEVELS = (13, 13), 3
"""Sides of the patches that are followed, pixels, and halvings of the copy: motions up to a tenth of the picture are
found."""
_WITHIN = 0.7
"""Pixels of the copy from the motion up to which a corner agrees with it."""
_AGREE, _PARTS = 0.6, 0.6
"""Least share of the corners that agree, and of the parts of the picture with corners in which some agree."""
_COLUMNS, _ROWS = 4, 3
"""Number of parts of the picture across and down."""
_LEFT = 0.75
"""Most of the difference of both pictures, as a share, that may be left when the first is moved along. Where seven
clips are shown through a moving window it is 0.02 to 0.7 in nine of ten frames; where two large heads cross before a
camera that stands, it is 0.8 and more in nine of ten."""
_MOST_ZOOM, _MOST_ROLL = 1.25, 0.3
"""How much larger or smaller a picture may become from one frame to the next, and how far it may turn, radians."""
_WORSE, _NOISE = 1.5, 2.0
"""How many times as large as before the mean difference in a part may then be, and grey levels that are added to that.
Trains that fill half of street_next and more are refused in all frames but a few; of 584 frames through a moving window
one is refused."""
_LEAST = 1 / 320
"""Share of the picture's longer side by which its middle or a corner has to move: a quarter of the smallest face."""


def small(levels: Sequence[Plane]) -> Plane:
    """The small copy of a luma plane, given by its levels (`luma_pyramid`), in which corners are followed."""
    return smallest(levels, *_SIZE)


def camera_motion(before: Plane, after: Plane, size: tuple[int, int]) -> tuple[CameraMotion | None, float]:
    """How the camera moved between two pictures, in their pixels, and the share of their difference that is then left.

    before, after: small copies, uint8 (h, w); size: width and height of the pictures. The motion is None, and the
    share 1, where the camera stood or its motion is unknown.
    """
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
    """A motion (2, 3) of the copy, in pixels of the picture. unit: pixels of the picture for one of the copy."""
    half = (unit - 1) / 2  # middle of the copy's first pixel, in the picture
    turn = matrix[:, :2]
    return CameraMotion(turn, np.asarray(unit * matrix[:, 2] + half - turn @ np.full(2, half), dtype=np.float64))


def _left(before: Plane, after: Plane, matrix: Floats) -> float:
    """Share of the difference of two copies that is left when the first is moved by a matrix (2, 3), where both show
    it; infinite where a part of the picture becomes clearly worse."""
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
    """Number of parts of a picture (h, w) in which points (n, 2) lie."""
    cells = (points / np.array([shape[1] / _COLUMNS, shape[0] / _ROWS])).astype(int)
    return len(np.unique(cells, axis=0))
