"""Follows a face that the detector does not see: finds its patch again in the next picture by correlation.

A head that turns away looks nearly the same from one frame to the next. So its patch is matched frame by frame, each
time from where it was last found (normalised cross-correlation: Lewis 1995, "Fast Normalized Cross-Correlation"), as
long as the match is good. This tells far better where to redact than motion alone. Motion does not tell stops and
turns, and so needs redactions that grow to three times the face's width within a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats, Plane

_LONGEST = 960
"""Longest side in pixels of the pictures used; frames are halved until they fit: 24 pixels at 1080p become 12."""
_PATCH = 24
"""Longer side in pixels that a patch is reduced to."""
_FINER = 2
"""Number of halvings by which the level that a patch is cut from is finer than the coarsest level that has its pixels.
Cut from that coarsest one, nearly pixel by pixel, patches are smoother and all people look alike: of 918 pairs of
different heads in one frame of crossing_heads 63 were taken for one person. With 1 or 2 here, or cut from the whole
picture, none were. With 2 a face of up to 192 pixels is cut from the first level, as it always was, and no verdict on
21 clips differs."""
_MARGIN = 0.15
"""Share of a box's sides by which the patch is larger on each side: hair and ears move along with a face."""
_REACH = 0.6
"""How far a face may lie from its expected place, share of its longer side."""
_ALIKE = 0.75
"""Correlation from which the patch counts as found again."""
_LEAST = 6
"""Least side of a box in pixels of the reduced picture: smaller patches tell nothing."""
_MOST = 2
"""Largest side of a box over the picture's longer side: a patch for a plug-in's larger boxes would fill the memory."""


@dataclass(frozen=True)
class Small:
    """A reduced luma picture."""

    levels: tuple[NDArray[np.uint8], ...]
    """uint8 (h, w), each half as large as the one before: a large face costs no more than a small one."""
    factor: int
    """Pixels of the frame per pixel of the first level."""

    @property
    def luma(self) -> NDArray[np.uint8]:
        """The first level."""
        return self.levels[0]


def small(levels: Sequence[Plane]) -> Small:
    """The reduced picture of a luma plane, given by its levels (`luma_pyramid`)."""
    step = next((i for i, luma in enumerate(levels) if max(luma.shape) <= _LONGEST), len(levels) - 1)
    return Small(tuple(levels[step:]), 1 << step)


def found_again(before: Small, after: Small, box: Floats, shift: Floats) -> Floats | None:
    """Where the patch of a box is in the next picture, float64 (4,), pixels of the frame; None when it is not found.

    box: float64 (4,), pixels of the frame, in the picture before. shift: float64 (2,), the box's expected motion in the
    same pixels. Both pictures have one size.
    """
    found = matched(before, after, box, shift)
    return None if found is None else found[0]


def too_small(picture: Small, box: Floats) -> bool:
    """Whether a box (4,), pixels of the frame, is too small for its patch to tell anything."""
    return float((box[2:] - box[:2]).min()) < _LEAST * picture.factor


def matched(before: Small, after: Small, box: Floats, shift: Floats) -> tuple[Floats, float] | None:
    """As `found_again`, together with the correlation at the place found, `_ALIKE` to 1."""
    here = box / before.factor
    sides = here[2:] - here[:2]
    if too_small(before, box) or sides.max() > _MOST * max(before.luma.shape) or before.luma.shape != after.luma.shape:
        return None
    scale = min(1.0, _PATCH / float(sides.max()))
    half = sides * (0.5 + _MARGIN)
    centre = (here[:2] + here[2:]) / 2
    reach = _REACH * float(sides.max())
    patch = _cut(before.levels, centre, half, scale)
    field = _cut(after.levels, centre + shift / before.factor, half + reach, scale)
    if patch.std() < 2.0 or field.shape[0] < patch.shape[0] or field.shape[1] < patch.shape[1]:
        return None
    likeness = np.asarray(cv2.matchTemplate(field, patch, cv2.TM_CCOEFF_NORMED))
    y, x = divmod(int(likeness.argmax()), likeness.shape[1])
    if likeness[y, x] < _ALIKE:
        return None
    middle = (np.array(likeness.shape[::-1]) - 1) / 2
    moved = (
        shift
        + (np.array([x + _beside(likeness[y], x), y + _beside(likeness[:, x], y)]) - middle) / scale * before.factor
    )
    return np.asarray(box + np.tile(moved, 2), np.float64), float(likeness[y, x])


def _beside(row: NDArray[Any], at: int) -> float:
    """Offset of a row's peak from its highest value, at index `at`, -0.5 to 0.5: the peak of the parabola through three
    values. row: (n,).

    A pixel of the reduced patch is several pixels of the frame, and rounding errors would add up from frame to frame.
    """
    if not 0 < at < len(row) - 1:
        return 0.0
    before, peak, after = (float(value) for value in row[at - 1 : at + 2])
    bend = before - 2 * peak + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0


def _cut(levels: Sequence[NDArray[np.uint8]], centre: Floats, half: Floats, scale: float) -> NDArray[np.uint8]:
    """A reduced window of a picture, given by its levels, around a centre; outside the picture the border repeats."""
    size = np.maximum(np.round(2 * half * scale), 1).astype(int)
    shape = int(size[0]), int(size[1])
    if scale < 0.5:  # plain sampling would use at most every other pixel
        level = min(max(int(np.floor(-np.log2(scale))) - _FINER, 0), len(levels) - 1)
        luma, step = levels[level], 1 << level
        height, width = luma.shape
        x0, y0 = np.floor((centre - half) / step).astype(int)
        x1, y1 = np.ceil((centre + half) / step).astype(int)
        (rows, above, below), (columns, before, after) = _inside(y0, y1, height), _inside(x0, x1, width)
        window = luma[rows, columns]
        if above or below or before or after:
            window = np.asarray(cv2.copyMakeBorder(window, above, below, before, after, cv2.BORDER_REPLICATE), np.uint8)
        return np.asarray(cv2.resize(window, shape, interpolation=cv2.INTER_AREA), np.uint8)
    into = np.array([[1 / scale, 0, centre[0] - half[0]], [0, 1 / scale, centre[1] - half[1]]])
    how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpAffine(levels[0], into, shape, flags=how, borderMode=cv2.BORDER_REPLICATE), np.uint8)


def _inside(begin: int, end: int, length: int) -> tuple[slice, int, int]:
    """The part of a range that lies in a row of a length, at least one place of it, and how often the first and the
    last place of this part are repeated before and after it."""
    first = min(max(begin, 0), length - 1)
    last = max(min(end, length), first + 1)
    short = end - begin - (last - first)
    before = min(max(-begin, 0), short)
    return slice(first, last), before, short - before
