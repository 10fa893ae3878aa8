"""Finds whether a person wears glasses, and what is visible of them beside the new face.

`render.glasses` then renders a plain frame. That is one bit of a person that is kept, and this is said to users
(docs/privacy.md). The signs are lines that run outwards from the eyes' corners, level over plain skin, and lines along
an arc below each eye. They are measured as the paths of strongest contrast to both of their sides, by the weakest of
their parts: a line that ends is a fold.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.core.kernel_cache import kernel

_SPAN = 40.0
"""Pixels between the eyes in the strip of the picture that is measured."""
STRIP = (128, 64)
"""Width and height of the strip in pixels; the eyes are level, about its middle."""
_BLACK = 12.0
"""Grey levels added before logarithms."""
_ASIDE = 3, 2
"""Distance to either side at which a temple and a rim of the glasses are compared to their surroundings, pixels of the
strip."""
_CONTRASTS = (-0.02, 0.25)
"""Least and most that one place of a line counts: hair before a wall must not count as a better line than a thin
wire."""
_ROWS = slice(8, 42)
_WITHIN = (slice(20, 34), slice(94, 108))
"""Columns of the strip from the eyes' corners to the rim of the face."""
_BESIDE = (slice(8, 22), slice(106, 120))
"""Columns of the strip outside the face."""
_PARTS = 2, 4
"""Numbers of parts into which a temple and a rim are divided."""
_ARC = np.deg2rad(np.arange(20.0, 161.0, 4.0)), np.arange(8.0, 26.0), 1.15
"""Directions and radii below an eye, pixels of the strip, and how much wider than high a rim is."""
_RIM_SHARE = 2.0
"""Weight of the rims relative to that of the temples: wires before cheeks have half the contrast."""
_ON, _OFF = 0.14, 0.09
"""Strength of the lines, natural log, from which a frame of glasses is rendered, and below which it no longer is:
glasses that come and go would be worse than none. Chosen on 224 photographs of LFPW's test set and London's 102;
`benchmarks/looks/glasses.py` says what these and others give. The clips with glasses have .156, no other clip has more
than .094."""
LEAST_WIDTH = 64.0
"""Width in pixels that a face must have for its glasses to be seen, and not only guessed."""
FRONTAL = np.deg2rad(10.0)
"""Turn in radians up to which both temples are well visible."""
_SETTLED = 3
"""Number of faces that must be seen before any glasses are rendered."""
_EVERY = 5
"""Once it is settled whether glasses are worn, one face of so many is looked at."""
_FOLLOW = 0.18
"""Share of the newest face that was looked at in the running means: about a second."""


@dataclass(frozen=True)
class Glasses:
    """What is visible of a person's glasses beside the new face."""

    colour: Pixels
    """float32 (3,): RGB of the temples."""
    height: float
    """How far below the eyes the temples leave the face, in distances between the eyes."""


class GlassesReader:
    """Finds whether the face of one track wears glasses, over its frames."""

    def __init__(self) -> None:
        self._means: NDArray[np.float64] | None = None
        self._count, self._age = 0, 0
        self._worn = False

    def __call__(self, image: NDArray[np.uint8], points: Points, yaw: float, width: float) -> Glasses | None:
        """Look at a face; return its glasses, None where none are worn, or not known yet to be.

        image: RGB uint8 (h, w, 3) of its surroundings. points: its landmarks (81, 2) there. yaw: its turn in radians.
        width: in pixels of the frame. A turned or small face changes nothing.
        """
        self._age += 1
        due = self._count < _SETTLED or self._age >= _EVERY
        if due and abs(yaw) <= FRONTAL and width >= LEAST_WIDTH:
            measured = _measured(eyes_strip(image, points))
            share = max(_FOLLOW, 1 / (self._count + 1))
            self._means = measured if self._means is None else self._means + share * (measured - self._means)
            self._count, self._age = self._count + 1, 0
            self._worn = self._count >= _SETTLED and bool(self._means[0] > (_OFF if self._worn else _ON))
        if not self._worn or self._means is None:
            return None
        return Glasses(self._means[2:].astype(np.float32), float(self._means[1]))


def _measured(strip: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Strength of the lines, height and RGB of the temples: float64 (5,)."""
    grey = np.log(cv2.cvtColor(strip, cv2.COLOR_RGB2GRAY).astype(np.float32) + np.float32(_BLACK))
    within = [line_in(np.ascontiguousarray(grey[_ROWS, at]), _ASIDE[0], _PARTS[0])[0] for at in _WITHIN]
    rims = [line_in(_below_eye(grey, side), _ASIDE[1], _PARTS[1])[0] for side in (-1, 1)]
    heights, colours = [], []
    for at in _BESIDE:
        _, path = line_in(np.ascontiguousarray(grey[_ROWS, at]), _ASIDE[0], _PARTS[0])
        heights.append((float(path.mean()) + _ROWS.start - STRIP[1] / 2) / _SPAN)
        colours.append(_standing_out(strip[_ROWS, at], path))
    strength = float(np.mean(within)) + _RIM_SHARE * float(np.mean(rims))
    return np.array([strength, float(np.mean(heights)), *np.mean(colours, axis=0)])


def _below_eye(grey: Pixels, side: int) -> Pixels:
    """The area below the left (-1) or right (1) eye of a strip (h, w), float32 (radii, directions)."""
    angle, radius, wider = _ARC
    x = STRIP[0] / 2 + side * _SPAN / 2 + wider * radius[:, None] * np.cos(angle)
    y = STRIP[1] / 2 + radius[:, None] * np.sin(angle)
    return np.asarray(cv2.remap(grey, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR), np.float32)


def _standing_out(block: NDArray[np.uint8], path: NDArray[np.intp]) -> Pixels:
    """Mean colour (3,) of that half of a line's places that stands out most from the block; in the other half the line
    may have ended. The places are rows (w,) of a block (h, w, 3)."""
    line = block[path, np.arange(len(path))].astype(np.float32)
    apart = np.abs(line - block.reshape(-1, 3).mean(axis=0)).sum(axis=1)
    return np.asarray(line[apart >= np.median(apart)].mean(axis=0), np.float32)


def eyes_strip(image: NDArray[np.uint8], points: Points) -> NDArray[np.uint8]:
    """The eyes' surroundings, with the eyes level and _SPAN apart, uint8 (*STRIP reversed, 3)."""
    left, right = points[LEFT_EYE].mean(axis=0), points[RIGHT_EYE].mean(axis=0)
    along = right - left
    span = max(float(np.hypot(*along)), 1e-6)
    c, s = along / span * (_SPAN / span)
    turn = np.array([[c, s], [-s, c]])
    shift = np.array(STRIP) / 2 - turn @ (left + right) / 2
    matrix = np.column_stack([turn, shift])
    return np.asarray(cv2.warpAffine(image, matrix, STRIP, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


@kernel
def line_in(block: Pixels, aside: int, parts: int) -> tuple[float, NDArray[np.intp]]:
    """The strongest line through logs (h, w): mean contrast of the weakest of its parts, 0 where there is no line, and
    its rows (w,). The line goes from left to right, and moves up or down by at most one row from column to column.

    The places `aside` rows above and below are compared. The contrast is that to the one nearer in tone, where both
    differ in the same direction; a line is all darker or all lighter.
    """
    height, width = block.shape
    best, strength, chosen = 0.0, 0.0, np.full(width, height // 2)
    contrast = np.zeros((height, width))
    for y in range(aside, height - aside):
        for x in range(width):
            above, below = block[y, x] - block[y - aside, x], block[y, x] - block[y + aside, x]
            if above * below > 0:
                contrast[y, x] = above if abs(above) < abs(below) else below
    for sign in (1.0, -1.0):
        counted = np.minimum(np.maximum(sign * contrast, _CONTRASTS[0]), _CONTRASTS[1])
        total = np.full((height, width), -1e9)
        before = np.zeros((height, width), np.intp)
        for x in range(width):
            for y in range(aside, height - aside):
                origin = y
                if x > 0:
                    for other in (y - 1, y + 1):
                        if total[other, x - 1] > total[origin, x - 1]:
                            origin = other
                total[y, x] = counted[y, x] + (total[origin, x - 1] if x > 0 else 0.0)
                before[y, x] = origin
        end = int(np.argmax(total[:, width - 1]))
        if total[end, width - 1] <= best:
            continue
        best = total[end, width - 1]
        for x in range(width - 1, -1, -1):
            chosen[x] = end
            end = before[end, x]
        strength = 1e9
        for part in range(parts):
            first, last = part * width // parts, (part + 1) * width // parts
            mean = 0.0
            for x in range(first, last):
                mean += counted[chosen[x], x] / (last - first)
            strength = min(strength, mean)
    return max(strength, 0.0), chosen
