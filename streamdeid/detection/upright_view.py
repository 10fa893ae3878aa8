"""Square views of places in a picture, turned until the head in them stands upright: what the other networks look at.

The second and third networks know faces that stand about upright. When labelled pictures were turned by 30 degrees, the
third one denied a face at 65 of 166 places that the detector saw in the clips that chose this, instead of 18 of 165.
The second network saw fewer faces, and read the points of many as of upright heads. The detector sees tilted heads
nearly as well as upright ones, and its points tell how far a head is tilted: 29 degrees of 30 and 37 of 45, in the
median. So a place in doubt is shown to them straightened, too, and if both are sure of a face then, from then on for as
long as the tilt stays in these limits and the place is not lost (`lying_heads`). Of a face that is sure upright, too,
only the points are read both ways. Of 780 faces of 12 pixels and up, tilted by up to 45 degrees, the networks believe
652 so, and 601 without; of 891 other things 11, as before. In the clips that did not choose this 456 of 514 instead of
444, and 5 of 490 as before.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Points
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.detection.five_points import FiveFaces, five_turned_back
from streamdeid.detection.quarter_turns import turned

_LEAST, _MOST = math.radians(16), math.radians(45)
"""Tilt from which a head is straightened: smaller ones are within what the networks know, and within the errors of the
points of a head that looks aside (one in ten is 10 to 13 degrees off). And the largest: a head that is tilted further
lies, and is looked for in turned pictures. A jacket's print (friends2) was taken for a head three times, always
beyond."""
_CONTRAST = (64.0, 4.0)
"""The least span of grey levels that is stretched to the whole range, and the largest gain: faces in the dark are seen,
and noise on a wall does not become a face."""


def roll_of(eyes: Points, mouth: Points) -> float:
    """The roll of a head, clockwise on the screen, radians from -pi to pi. eyes: (2, 2), the one further left in an
    upright picture first; mouth: its middle, (2,); pixels. Of a head that looks aside the eyes lie close to each
    other, of one that is bowed the mouth lies close to the eyes: the longer of the two lines counts more."""
    (ex, ey), (mx, my) = (eyes[1] - eyes[0]).tolist(), (mouth - eyes.mean(axis=0)).tolist()
    return math.atan2(ey - mx, ex + my)


def upright_turn(roll: float, turn: int) -> float:
    """The quarter turns anticlockwise, with a fraction, after which a head is shown to the other networks.

    roll: of the head, as of `roll_of`; turn: whole quarter turns after which it stands most upright.
    """
    tilt = math.remainder(roll - turn * math.pi / 2, 2 * math.pi)
    return turn + tilt / (math.pi / 2) if _LEAST <= abs(tilt) < _MOST else turn


def view(
    planes: Planes, box: Box, width: int, side: int, outside: int = cv2.BORDER_REFLECT, turn: float = 0.0
) -> NDArray[np.uint8]:
    """A square RGB picture, uint8 (side, side, 3), with the box in its middle, its longer side `width` pixels long.

    outside: OpenCV's border type for what lies outside the frame; by default the frame is mirrored at its border.
    turn: quarter turns anticlockwise by which the picture is then turned, perhaps with a fraction.
    """
    whole = round(turn)
    if turn == whole:
        return turned(_square(planes, box, width, side, outside), whole % 4)
    around = _around(side)
    seen = _square(planes, box, width, around, outside)
    matrix = cv2.getRotationMatrix2D(((around - 1) / 2, (around - 1) / 2), 90 * (turn - whole), 1.0)
    matrix[:, 2] -= np.full(2, (around - side) / 2)
    return turned(np.asarray(cv2.warpAffine(seen, matrix, (side, side)), np.uint8), whole % 4)


def seen_in_view(found: FiveFaces, box: Box, width: int, side: int, turn: float) -> FiveFaces:
    """Faces that were found in a `view` of these arguments, in pixels of the frame."""
    whole = round(turn)
    back = five_turned_back(found, whole % 4, (side, side))
    boxes, points = tilted_back(back.boxes, back.points, turn - whole, side / 2)
    cut = side if turn == whole else _around(side)
    left, top, reach = _seen(box, width, cut)
    unit = reach / cut
    corner = np.array([left, top]) + (cut - side) / 2 * unit
    return FiveFaces(boxes * unit + np.tile(corner, 2), points * unit + corner, found.scores)


def tilted_back(boxes: Points, points: Points, turn: float, middle: float) -> tuple[Points, Points]:
    """Boxes (n, 4) and points (n, m, 2) of a picture that was turned by a fraction of a quarter turn anticlockwise
    about a middle, (middle, middle) in pixels, in the picture before. A box is that of the ellipse in the box."""
    if not turn:
        return boxes, points
    cos, sin = math.cos(turn * math.pi / 2), math.sin(turn * math.pi / 2)
    back = np.array([[cos, sin], [-sin, cos]])  # for rows of (x, y): clockwise on the screen
    corners = boxes.reshape(-1, 2, 2)
    middles, halves = corners.mean(axis=1), (corners[:, 1] - corners[:, 0]) / 2
    reach = np.sqrt((halves**2) @ np.array([[cos**2, sin**2], [sin**2, cos**2]]))
    middles = (middles - middle) @ back + middle
    return np.concatenate([middles - reach, middles + reach], axis=1), (points - middle) @ back + middle


def shown(size: tuple[int, int], box: Box, times: float) -> float:
    """Share of a view, before it is turned, that lies inside the picture. The view is a square about the box, `times`
    as large as the box's longer side; box in pixels of a picture of `size` (width, height)."""
    half = times * max(box[2] - box[0], box[3] - box[1]) / 2
    inside = 1.0
    for low, high, limit in ((box[0], box[2], size[0]), (box[1], box[3], size[1])):
        middle = (low + high) / 2
        inside *= max(0.0, min(middle + half, limit) - max(middle - half, 0.0)) / (2 * half)
    return inside


def stretched(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture, uint8 (h, w, 3), with its 2nd to 98th percentile of luma stretched to the whole range, within the
    limits of `_CONTRAST`."""
    counts = np.bincount(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).ravel(), minlength=256).cumsum()
    low, high = (float(np.searchsorted(counts, share * counts[-1])) for share in (0.02, 0.98))
    gain = min(max(255.0 / max(high - low, _CONTRAST[0]), 1.0), _CONTRAST[1])
    table = np.clip((np.arange(256.0) - low) * gain, 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(rgb, table), np.uint8)


def _around(side: int) -> int:
    """Side of a square that holds a square of this side about the same middle however that is turned, even."""
    return 2 * math.ceil(side / math.sqrt(2))


def _square(planes: Planes, box: Box, width: int, side: int, outside: int) -> NDArray[np.uint8]:
    """A view before it is turned."""
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


def _seen(box: Box, width: int, side: int) -> tuple[int, int, int]:
    """Left and upper edge, and side, of the square that `_square` cuts out, in pixels of the frame. The edges are even,
    and all are whole, so its middle and its scale differ a little from one side to another."""
    x0, y0, x1, y1 = box
    half = side / width * max(x1 - x0, y1 - y0) / 2
    left, top = (math.floor(c - half) & ~1 for c in ((x0 + x1) / 2, (y0 + y1) / 2))
    return left, top, max(2, math.ceil(2 * half))
