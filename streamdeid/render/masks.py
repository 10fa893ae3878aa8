"""Masks: the ad hoc redactions of Newton, Sweeney, Malin 2005, section 5.3 (docs/methods.md 1.3), and the solid one.

Most of them are weak, and their names say so. An attacker who masks his own photographs in the same way (parrot attack)
recognised every bar mask and T mask, more than 99.8 % of pixelated faces and up to 100 % of thresholded ones; blur,
which that paper does not try, is of the same kind. Only blackout and the solid fill remove the whole face.

Every function but `fill` and `fill_ellipse` is pure. It takes a picture and a box (x0, y0, x1, y1) in luma pixels,
which may be fractional or reach beyond the frame, and returns a new picture. A chroma sample covers 2 x 2 luma pixels
and is changed when any of them is, so no colour of the face is left at odd edges. A box outside the frame changes
nothing; one that is not finite raises FailedClosed.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Flags, Plane, Points
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LEFT_EYE_CORNERS, NOSTRILS, RIGHT_EYE_CORNERS
from streamdeid.errors import FailedClosed
from streamdeid.k_same.image_masks import block_means

Colour = tuple[int, int, int]
Window = tuple[slice, slice]
"""Rows and columns of a plane."""

NEUTRAL = 128
GREY: Colour = (128, NEUTRAL, NEUTRAL)
"""Mid grey as (y, u, v)."""

_GRID = (134, 99)  # rows and columns of P5's face images, which fix the noise's positions
_NOISE_SEED = 2005  # "the same set of positions for all images"


def solid_fill(planes: Planes, box: Box, colour: Colour = GREY, roundness: float = 0.25) -> Planes:
    """Fill the box with one colour (y, u, v); corners are rounded by `roundness` (0 to 0.5) of the shorter side."""
    result = planes.copy()
    fill(result, box, colour, roundness)
    return result


def fill(planes: Planes, box: Box, colour: Colour = GREY, roundness: float = 0.25) -> None:
    """Fill the box like `solid_fill`, but in place: no copy of the whole picture for each of many faces."""
    x0, y0, x1, y1 = _finite(box)
    window = _window(planes.y, box)
    across, down = _pixel_centres(window)
    radius = roundness * max(min(x1 - x0, y1 - y0), 0.0)
    # Distance of each column and row into the zone of the corners, 0 between them. The nearest side of a pixel counts,
    # so that whatever the box touches is covered.
    dx = np.maximum(np.abs(across - 0.5 * (x0 + x1)) - (0.5 * (x1 - x0) - radius) - 0.5, 0.0)
    dy = np.maximum(np.abs(down - 0.5 * (y0 + y1)) - (0.5 * (y1 - y0) - radius) - 0.5, 0.0)
    _paint_onto(planes, window, np.hypot(dx[None, :], dy[:, None]) <= radius, colour)


def fill_ellipse(planes: Planes, box: Box, colour: Colour) -> None:
    """Fill the ellipse inside a box with one colour (y, u, v), in place."""
    x0, y0, x1, y1 = _finite(box)
    window = _window(planes.y, box)
    across, down = _pixel_centres(window)
    dx = (across - 0.5 * (x0 + x1)) / max(0.5 * (x1 - x0), 1e-9)
    dy = (down - 0.5 * (y0 + y1)) / max(0.5 * (y1 - y0), 1e-9)
    _paint_onto(planes, window, np.hypot(dx[None, :], dy[:, None]) <= 1.0, colour)


def blackout(planes: Planes, box: Box) -> Planes:
    """Fill the box with black."""
    return solid_fill(planes, box, (black_and_white(planes)[0], NEUTRAL, NEUTRAL), roundness=0.0)


def blur(planes: Planes, box: Box, strength: float = 0.1) -> Planes:
    """Blur inside the box with a Gaussian; sigma = `strength` times the box's width. Pixels outside do not mix in.

    Three box filters approximate the Gaussian: its own kernel would be six sigma wide, and twenty times slower.
    """
    sigma = max(strength * (_finite(box)[2] - box[0]), 0.5)
    result = planes.copy()
    for plane, window, scale in _windows(result, box):
        inside = np.ascontiguousarray(plane[window])
        if inside.size:
            # Three boxes of width w have the variance 3 (w² − 1) / 12.
            width = 2 * round(0.5 * (np.sqrt(4.0 * (sigma / scale) ** 2 + 1.0) - 1.0)) + 1
            soft = inside.astype(np.float32)
            for _ in range(3):
                soft = cv2.blur(soft, (width, width), borderType=cv2.BORDER_REPLICATE).astype(np.float32)
            plane[window] = np.rint(soft).clip(0, 255).astype(np.uint8)
    return result


def pixelate(planes: Planes, box: Box, block: int = 20) -> Planes:
    """Replace blocks of `block` x `block` luma pixels by their means (P5 uses 15, 20 and 30 on faces 99 wide)."""
    _finite(box)
    block += block % 2  # so that chroma has whole blocks too
    result = planes.copy()
    for plane, window, scale in _windows(result, box):
        inside = plane[window].astype(np.float64)
        if inside.size:
            plane[window] = np.rint(block_means(inside, max(block // scale, 1))).astype(np.uint8)
    return result


def bar(planes: Planes, box: Box, landmarks: Points | None = None) -> Planes:
    """Lay a black bar over the eyes, along their line; without landmarks over the part of the box where eyes are."""
    return _paint_oblong(planes, *_bar(_finite(box), landmarks))


def t_mask(planes: Planes, box: Box, landmarks: Points | None = None) -> Planes:
    """Lay the bar over the eyes, and a second one down over the nose."""
    result = bar(planes, box, landmarks)
    if landmarks is None:
        x0, y0, x1, y1 = box
        centre, half = np.array([0.5 * (x0 + x1), y0 + 0.5 * (y1 - y0)]), (0.25 * (y1 - y0), 0.2 * (x1 - x0))
        axis = np.array([0.0, 1.0])
    else:
        eyes, base = _eye_line(landmarks)[0], landmarks[NOSTRILS].mean(axis=0)
        down = base - eyes
        length = max(float(np.hypot(*down)), 1.0)
        axis = down / length
        width = float(np.hypot(*(landmarks[NOSTRILS][-1] - landmarks[NOSTRILS][0])))
        centre, half = eyes + 0.6 * down, (0.6 * length, 0.9 * width)
    return _paint_oblong(result, centre, axis, half)


def noise(planes: Planes, box: Box, rng: np.random.Generator, share: float = 0.68) -> Planes:
    """Put grey random values at a fixed random set of positions, `share` of a 134 x 99 grid laid over the box.

    0.68 is P5's 9,000 of 13,266 pixels. The positions never change; the values come from `rng`.
    """
    x0, y0, x1, y1 = _finite(box)
    chosen = np.random.default_rng(_NOISE_SEED).random(_GRID) < share
    values = rng.integers(0, 256, _GRID, dtype=np.uint8)
    window = _window(planes.y, box)
    across, down = _pixel_centres(window)
    row_cells = ((down - y0) * _GRID[0] / max(y1 - y0, 1e-9)).astype(np.int64).clip(0, _GRID[0] - 1)
    column_cells = ((across - x0) * _GRID[1] / max(x1 - x0, 1e-9)).astype(np.int64).clip(0, _GRID[1] - 1)
    covered = chosen[np.ix_(row_cells, column_cells)]
    result = _paint(planes, window, covered, GREY)
    result.y[window] = np.where(covered, values[np.ix_(row_cells, column_cells)], planes.y[window])
    return result


def threshold(planes: Planes, box: Box, level: int = 118) -> Planes:
    """Set pixels below a grey level (0 to 255) to black and others to white; 118 is P5's most recognisable level."""
    _finite(box)
    black, white = black_and_white(planes)
    window = _window(planes.y, box)
    inside = planes.y[window]
    result = _paint(planes, window, np.ones(inside.shape, dtype=np.bool_), GREY)
    bright = inside >= black + level * (white - black) / 255.0
    result.y[window] = np.where(bright, np.uint8(white), np.uint8(black))
    return result


def black_and_white(planes: Planes) -> tuple[int, int]:
    """Luma of black and of white in this picture's range."""
    return (0, 255) if planes.colour.full_range else (16, 235)


def _finite(box: Box) -> Box:
    if not np.isfinite(box).all():
        raise FailedClosed("a face's place is not finite")
    return box


def _window(plane: Plane, box: Box) -> Window:
    """The rows and columns of a luma plane that a box touches; there may be none."""
    sides = []
    for low, high, length in ((box[1], box[3], plane.shape[0]), (box[0], box[2], plane.shape[1])):
        start = int(np.clip(np.floor(low), 0, length))
        stop = int(np.clip(np.ceil(high), start, length))
        sides.append(slice(start, stop if high > low else start))
    return sides[0], sides[1]


def _windows(planes: Planes, box: Box) -> tuple[tuple[Plane, Window, int], ...]:
    """Each plane, the rows and columns of it that a box touches, and its scale (2 for chroma).

    Chroma is touched where it covers a touched luma pixel, and nowhere if there is none: a box beside the picture
    touches nothing.
    """
    window = _window(planes.y, box)
    if any(side.start == side.stop for side in window):
        nothing = slice(0, 0), slice(0, 0)
        return (planes.y, nothing, 1), (planes.u, nothing, 2), (planes.v, nothing, 2)
    rows, columns = (slice(side.start // 2, -(-side.stop // 2)) for side in window)
    return (planes.y, window, 1), (planes.u, (rows, columns), 2), (planes.v, (rows, columns), 2)


def _pixel_centres(window: Window) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x of the window's columns and y of its rows, in luma pixels."""
    rows, columns = window
    x, y = np.arange(columns.start, columns.stop, dtype=np.float64), np.arange(rows.start, rows.stop, dtype=np.float64)
    return x + 0.5, y + 0.5


def _eye_line(landmarks: Points) -> tuple[Points, Points, float]:
    """The middle between the eyes, the unit vector along their line, and the distance of the outer corners."""
    left, right = landmarks[LEFT_EYE_CORNERS[0]], landmarks[RIGHT_EYE_CORNERS[1]]
    length = max(float(np.hypot(*(right - left))), 1.0)
    return 0.5 * (left + right), (right - left) / length, length


def _bar(box: Box, landmarks: Points | None) -> tuple[Points, Points, tuple[float, float]]:
    """The eye bar as an oblong: centre, unit vector along it, half its length and half its width."""
    if landmarks is None:
        x0, y0, x1, y1 = box
        centre = np.array([0.5 * (x0 + x1), y0 + 0.32 * (y1 - y0)])
        return centre, np.array([1.0, 0.0]), (0.5 * (x1 - x0), 0.16 * (y1 - y0))
    centre, axis, length = _eye_line(landmarks)
    return centre, axis, (0.75 * length, 0.25 * length)


def _paint_oblong(planes: Planes, centre: Points, axis: Points, half: tuple[float, float]) -> Planes:
    """Blacken a rectangle that is turned to the unit vector `axis`, given half its length and half its width."""
    reach = np.abs(axis) * half[0] + np.abs(axis[::-1]) * half[1] + 1.0
    (x0, y0), (x1, y1) = centre - reach, centre + reach
    window = _window(planes.y, _finite((float(x0), float(y0), float(x1), float(y1))))
    across, down = _pixel_centres(window)
    dx, dy = across[None, :] - centre[0], down[:, None] - centre[1]
    along, beside = dx * axis[0] + dy * axis[1], dy * axis[0] - dx * axis[1]
    covered = (np.abs(along) <= half[0] + 0.5) & (np.abs(beside) <= half[1] + 0.5)
    return _paint(planes, window, covered, (black_and_white(planes)[0], NEUTRAL, NEUTRAL))


def _paint(planes: Planes, window: Window, covered: Flags, colour: Colour) -> Planes:
    """A copy with the covered luma pixels of a window, and every chroma sample that touches one, set to a colour."""
    result = planes.copy()
    _paint_onto(result, window, covered, colour)
    return result


def _paint_onto(planes: Planes, window: Window, covered: Flags, colour: Colour) -> None:
    """Set the same samples as `_paint`, in place."""
    planes.y[window][covered] = colour[0]
    rows, columns = (slice(side.start // 2, -(-side.stop // 2)) for side in window)
    # The covered pixels on whole chroma samples: padded to even starts and ends.
    blocks = np.zeros(((rows.stop - rows.start) * 2, (columns.stop - columns.start) * 2), dtype=np.bool_)
    top, left = window[0].start % 2, window[1].start % 2
    blocks[top : top + covered.shape[0], left : left + covered.shape[1]] = covered
    touched = blocks.reshape(blocks.shape[0] // 2, 2, blocks.shape[1] // 2, 2).any(axis=(1, 3))
    planes.u[rows, columns][touched] = colour[1]
    planes.v[rows, columns][touched] = colour[2]
