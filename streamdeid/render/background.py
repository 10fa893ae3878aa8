"""The background behind heads: what was published lately where no head was, for what lies beside a posed face.

A posed face's region reaches beyond the head that is shown in it: before a profile, above the hair. What is published
just outside says little of what is behind, and a blur of it is seen. But a person who walks hides what was seen a
moment ago. So every so often what is published is compared with what was published the last time; where both agree,
and neither was covered, it is background, for two seconds. It is used only where it still agrees with the picture just
outside the region, in the same direction. Nothing is taken but what was published already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.synthesise import Mask, Patch
from streamdeid.core.arrays import Box, Pixels
from streamdeid.core.frames import Planes

_STEP = Fraction(2, 5)
"""Seconds between two pictures that are compared. They begin at multiples of it, so that a recording that is rendered
again from elsewhere has the same background after the warm-up (`runs.again`)."""
_KEPT = 5
"""Number of steps for which a place is known: together with the pair of pictures less than the warm-up."""
_SAME = 6.0
"""Largest difference of two pictures, grey levels in each plane, where nothing moves: the noise of most cameras. Who
stands in the background moves by more, or is part of it."""
_MARGIN = 4
"""Pixels by which what is covered is grown: its blur reaches there."""
_ISLAND = 9
"""Least breadth of a known place in cells of chroma: single cells that agreed by chance were specks."""
_NEVER = -1000


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
        self._last: tuple[Planes, Mask] | None = None
        self._known: NDArray[np.int32] = np.zeros((0, 0), np.int32)
        """(ceil(h / 2), ceil(w / 2)): the step in which each cell was last known."""
        self._step = self._noted = _NEVER
        self._scene = 0

    def begin(self, time: Fraction, *, scene: int = 0, moved: bool = False) -> None:
        """Begin a frame at a time in seconds. scene: number of its scene: after a cut all is forgotten. moved: whether
        the camera moved: then too."""
        step = int(time // _STEP)
        if moved or scene != self._scene or not 0 <= step - self._step <= 1:
            self._plate = self._last = None
            self._noted = step
        self._step, self._scene = step, scene

    def note(self, out: Planes, boxes: Iterable[Box]) -> None:
        """Note what is published in this frame. boxes: in pixels, all that was changed in it."""
        if self._step == self._noted:
            return
        self._noted = self._step
        free = _free(out, boxes)
        last, self._last = self._last, (out.copy(), free)
        if last is None or last[0].size != out.size:
            self._plate = None
            return
        if self._plate is None:
            self._plate, self._known = out.copy(), np.full(free.shape, _NEVER, np.int32)
        same = free & last[1]
        for new, old in ((out.u, last[0].u), (out.v, last[0].v)):
            same &= cv2.absdiff(new, old) <= _SAME
        change = np.zeros((2 * free.shape[0], 2 * free.shape[1]), np.uint8)
        change[: out.y.shape[0], : out.y.shape[1]] = cv2.absdiff(out.y, last[0].y)
        same &= cv2.resize(change, free.shape[::-1], interpolation=cv2.INTER_AREA) <= _SAME
        whole = cv2.resize(same, None, fx=2, fy=2, interpolation=cv2.INTER_NEAREST)
        cv2.copyTo(out.y, np.ascontiguousarray(whole[: out.y.shape[0], : out.y.shape[1]]), self._plate.y)
        cv2.copyTo(out.u, same, self._plate.u)
        cv2.copyTo(out.v, same, self._plate.v)
        self._known[same > 0] = self._step

    def behind(self, patch: Patch) -> Behind | None:
        """The background in a patch's rectangle; None where nothing of it is known."""
        if self._plate is None:
            return None
        (width, height), x, y = patch.size, patch.x0 // 2, patch.y0 // 2
        rows, columns = slice(y, y + (height + 1) // 2), slice(x, x + (width + 1) // 2)
        known = (self._step - self._known[rows, columns] <= _KEPT).astype(np.uint8)
        known = np.asarray(cv2.morphologyEx(known, cv2.MORPH_OPEN, np.ones((_ISLAND, _ISLAND), np.uint8)), np.uint8)
        if known.shape != patch.covered.shape or not known.any():
            return None
        inner = cv2.erode(known, np.ones((3, 3), np.uint8), borderValue=1).astype(np.float32)
        uv = np.dstack([self._plate.u[rows, columns], self._plate.v[rows, columns]]).astype(np.float32)
        luma = self._plate.y[patch.y0 : patch.y0 + height, patch.x0 : patch.x0 + width, None]
        soft = cv2.blur(inner, (3, 3), borderType=cv2.BORDER_REPLICATE)
        return Behind(luma.astype(np.float32), uv, np.asarray(soft, np.float32))


def _free(out: Planes, boxes: Iterable[Box]) -> Mask:
    """uint8 (ceil(h / 2), ceil(w / 2)): 1 where no box reaches, of a picture (h, w)."""
    free = np.ones(out.u.shape, np.uint8)
    for x0, y0, x1, y1 in boxes:
        left, top = (max(0, int((low - _MARGIN) // 2)) for low in (x0, y0))
        free[top : max(0, int((y1 + _MARGIN) // 2) + 1), left : max(0, int((x1 + _MARGIN) // 2) + 1)] = 0
    return free
