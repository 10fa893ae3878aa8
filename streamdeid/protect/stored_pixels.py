"""Turns the filtered picture with square pixels back into the picture as it is stored (`core.square_pixels`).

What the filter left alone keeps its stored pixels bit for bit. A stored pixel is replaced by the filter's as soon as
any pixel changed that was made from it. So no pixel survives of what was redacted.
"""

from __future__ import annotations

import math
from dataclasses import replace

import cv2
import numpy as np

from streamdeid.core.arrays import Flags, Plane
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.core.square_pixels import resized
from streamdeid.errors import FailedClosed
from streamdeid.protect.fixed_regions import REGION


def as_stored(frame: Frame, done: DeidentifiedFrame) -> DeidentifiedFrame:
    """The filtered frame with its picture as large as it is stored. frame: the frame that was given to the filter.

    Raises FailedClosed when the filtered picture has another size than the one that was given to the filter.
    """
    if done.planes.size != frame.planes.size:
        raise FailedClosed(f"the filter made a picture of {done.planes.size} of one of {frame.planes.size}")
    if frame.stored is None:
        return done if frame.aspect is None else replace(done, aspect=frame.aspect)
    changed = _changed(frame.planes, done.planes)
    for redaction in done.redactions:
        if redaction.level == REGION:  # all of it, also where the fill happens to equal the original
            x0, y0, x1, y1 = redaction.box
            rows, columns = (
                slice(max(math.floor(a / 2), 0), max(math.ceil(b / 2), 0)) for a, b in ((y0, y1), (x0, x1))
            )
            changed[rows, columns] = True
    return replace(done, planes=_taken(frame.stored, done.planes, changed), aspect=frame.aspect)


def _taken(stored: Planes, filtered: Planes, changed: Flags) -> Planes:
    """The stored picture, with the pixels that changed taken from the filtered one."""
    if not changed.any():
        return stored
    colour = _reached(changed, (stored.u.shape[0], stored.u.shape[1]))
    luma = np.repeat(np.repeat(colour, 2, axis=0), 2, axis=1)[: stored.y.shape[0], : stored.y.shape[1]]
    new = resized(filtered, stored.size)

    def plane(taken: Flags, fresh: Plane, old: Plane) -> Plane:
        return np.where(taken, fresh, old)

    return Planes(
        plane(luma, new.y, stored.y), plane(colour, new.u, stored.u), plane(colour, new.v, stored.v), stored.colour
    )


def _changed(before: Planes, after: Planes) -> Flags:
    """Blocks of 2 x 2 pixels, as large as a chroma sample, in which anything differs: bool, the shape of u."""
    changed: Flags = (before.u != after.u) | (before.v != after.v)
    luma = before.y != after.y
    for row in (0, 1):
        for column in (0, 1):  # at odd sides the last block has one row or column only
            part = luma[row::2, column::2]
            changed[: part.shape[0], : part.shape[1]] |= part
    return changed


def _reached(changed: Flags, shape: tuple[int, int]) -> Flags:
    """The stored blocks (bool, `shape`) from which the changed blocks were made.

    A pixel of `resized` is made from stored pixels that lie within one stored pixel of it, in luma and chroma alike;
    odd sizes shift luma against chroma by up to half a pixel more.
    """
    grown = [int(new) / int(old) for new, old in zip(changed.shape, shape, strict=True)]
    reach = [0 if by == 1 else math.ceil(1.5 * by) + 1 for by in grown]
    kernel = np.ones((2 * reach[0] + 1, 2 * reach[1] + 1), np.uint8)
    near = cv2.dilate(changed.astype(np.uint8), kernel)
    rows, columns = ((np.arange(count) + 0.5) * by for count, by in zip(shape, grown, strict=True))
    found: Flags = near[np.ix_(rows.astype(np.intp), columns.astype(np.intp))] > 0
    return found
