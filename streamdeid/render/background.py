"""The background behind heads: what was published lately where no head was, for what lies beside a posed face.

A posed face's region reaches beyond the head that is shown in it: before a profile, above the hair. What is published
just outside says little of what is behind, and a blur of it is seen. But a person who walks hides what was seen a
moment ago, and one who stands what was seen before they came. So every so often what is published is compared with what
was published the last time; where both agree, and neither was covered, it is background, until there is another, the
camera moves, the light changes, or the scene ends. Where a head begins to be followed nothing is known: it may have
been there unseen. The background is used only where it still agrees with the picture just outside the region, in the
same direction. Nothing is taken but what was published already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import cv2
import numpy as np

from streamdeid.aam.synthesise import Mask, Patch
from streamdeid.core.arrays import Box, Pixels, Plane
from streamdeid.core.frames import Planes

_STEP = Fraction(2, 5)
"""Seconds between two pictures that are compared. They begin at multiples of it, so that a recording that is rendered
again from elsewhere knows the same, as far as its warm-up shows it (`runs.again`)."""
_SAME = 6
"""Largest difference of two pictures, grey levels in the mean luma and in the chroma of a cell, where nothing moves:
the noise of most cameras."""
_MARGIN = 4
"""Pixels by which what is covered is grown: its blur reaches there."""
_ISLAND = 9
"""Least breadth of a known place in cells of chroma: single cells that agreed by chance were specks."""
_GRID, _OTHER = 16, 16
"""Every so many pixels across and down a frame is compared with the one that was noted last; where half of them differ
by more grey levels than the second number, the light changed, or all that is seen."""


@dataclass(frozen=True)
class Behind:
    """The background in a patch's rectangle."""

    y: Pixels
    """float32 (h, w, 1): luma."""
    uv: Pixels
    """float32 (ceil(h / 2), ceil(w / 2), 2): chroma."""
    known: Pixels
    """float32 (ceil(h / 2), ceil(w / 2)): how surely it is known, 0 to 1, falling softly."""


class Background:
    """What one stream's camera shows where no head is."""

    def __init__(self) -> None:
        self._plate: Planes | None = None
        self._known: Mask = np.zeros((0, 0), np.uint8)
        """uint8 (ceil(h / 2), ceil(w / 2)): 1 where the plate is background."""
        self._last: tuple[Planes, Mask] | None = None
        self._grid: tuple[Plane, Plane] | None = None
        """Luma at some places of this frame, and of the frame that was noted last."""
        self._step: int | None = None
        self._noted: int | None = None
        self._scene = 0

    def begin(self, picture: Planes, time: Fraction, *, scene: int = 0, moved: bool = False) -> None:
        """Begin a frame at a time in seconds. All is forgotten after a cut (scene: number of the frame's scene), a
        motion of the camera (moved), a gap, a change of the light or of the picture's size."""
        step, grid = int(time // _STEP), picture.y[::_GRID, ::_GRID].copy()
        last = grid if self._grid is None or self._grid[1].shape != grid.shape else self._grid[1]
        other = np.abs(grid.astype(np.int16) - last).ravel() > _OTHER
        gone = self._step is None or not 0 <= step - self._step <= 1
        if gone or moved or scene != self._scene or 2 * other.sum() > other.size or not self._fits(picture):
            self._plate = self._last = None
            self._noted, last = step, grid
        self._step, self._scene, self._grid = step, scene, (grid, last)

    def _fits(self, picture: Planes) -> bool:
        return self._last is None or self._last[0].size == picture.size

    def forget(self, box: Box) -> None:
        """Forget what is known of a box, pixels: a head is there that may have been there before."""
        free = _free(self._known, [box])
        self._known *= free
        if self._last is not None:
            self._last = self._last[0], self._last[1] * free

    def note(self, out: Planes, boxes: Iterable[Box]) -> None:
        """Note what is published in this frame. boxes: in pixels, all that was changed in it or is no background."""
        if self._step == self._noted or self._grid is None:
            return
        self._noted, self._grid = self._step, (self._grid[0], self._grid[0])
        free = _free(out.u, boxes)
        last, self._last = self._last, (out.copy(), free)
        if last is None:
            self._plate, self._known = None, np.zeros_like(free)
            return
        if self._plate is None:
            self._plate, self._known = out.copy(), np.zeros_like(free)
        same = free & last[1]
        for new, old in ((out.u, last[0].u), (out.v, last[0].v)):
            same &= cv2.absdiff(new, old) <= _SAME
        height, width = out.y.shape
        change = cv2.absdiff(out.y, last[0].y)
        if height % 2 or width % 2:
            change = cv2.copyMakeBorder(change, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)
        same &= cv2.resize(change, free.shape[::-1], interpolation=cv2.INTER_AREA) <= _SAME
        whole = cv2.resize(same, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)
        cv2.copyTo(out.y, np.ascontiguousarray(whole[:height, :width]), self._plate.y)
        cv2.copyTo(out.u, same, self._plate.u)
        cv2.copyTo(out.v, same, self._plate.v)
        self._known |= same

    def behind(self, patch: Patch) -> Behind | None:
        """The background in a patch's rectangle; None where nothing of it is known."""
        if self._plate is None:
            return None
        (width, height), x, y = patch.size, patch.x0 // 2, patch.y0 // 2
        rows, columns = slice(y, y + (height + 1) // 2), slice(x, x + (width + 1) // 2)
        luma = self._plate.y[patch.y0 : patch.y0 + height, patch.x0 : patch.x0 + width, None]
        known = self._known[rows, columns]
        if luma.shape[:2] != (height, width) or known.shape != patch.covered.shape or not known.any():
            return None
        known = np.asarray(cv2.morphologyEx(known, cv2.MORPH_OPEN, np.ones((_ISLAND, _ISLAND), np.uint8)), np.uint8)
        inner = cv2.erode(known, np.ones((3, 3), np.uint8), borderValue=1).astype(np.float32)
        uv = np.dstack([self._plate.u[rows, columns], self._plate.v[rows, columns]]).astype(np.float32)
        soft = cv2.blur(inner, (3, 3), borderType=cv2.BORDER_REPLICATE)
        return Behind(luma.astype(np.float32), uv, np.asarray(soft, np.float32)) if known.any() else None


def _free(like: Mask, boxes: Iterable[Box]) -> Mask:
    """uint8 (h, w): 1 in the cells of chroma, as many as there are in a mask, that no box reaches. A box that is not
    finite reaches everywhere."""
    free = np.ones(like.shape, np.uint8)
    for box in boxes:
        if not np.isfinite(box).all():
            return np.zeros_like(free)
        x0, y0, x1, y1 = np.clip(box, -1e6, 1e6)
        left, top = (max(0, int((low - _MARGIN) // 2)) for low in (x0, y0))
        free[top : max(0, int((y1 + _MARGIN) // 2) + 1), left : max(0, int((x1 + _MARGIN) // 2) + 1)] = 0
    return free
