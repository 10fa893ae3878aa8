"""Paints the field of a soft redaction: harmonic inside its rim, lifted in the middle, grainy, feathered outside.

A wave of angular frequency k on the rim continues inwards as the k-th power of the radius (Laplace's equation on a
disc). So the whole field is a polynomial of third order in the place, which is cheap to compute.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel
from streamdeid.protect.soft_head import Head

WAVES = 3
"""Number of angular frequencies of the rim that are kept, beside the constant."""
_TONE_END = 1.25
"""Square of the radius beyond which the tone is not visible: it fades away within the rim."""
_GRAIN = 1.2
"""Standard deviation of the grain, grey levels."""


def paint_field(
    out: Planes,
    head: Head,
    box: tuple[int, int, int, int],
    field: tuple[Floats, Floats],
    frame: int,
) -> None:
    """Blend a field into the head, in place, within a box of luma pixels that begins at even ones (`Head.window`).

    field: waves (7, 3) of the rim (constant, then cosine and sine of each frequency; Y, U, V), and the lift (3,) of the
    middle. frame: a number; each number gives another grain.
    """
    waves, lift = field
    x0, y0, x1, y1 = box
    half = x0 // 2, y0 // 2, (x1 + 1) // 2, (y1 + 1) // 2
    # A chroma sample is half a pixel from the middles of its four luma pixels: replaced wholly where any of them is.
    whole = 1 + 0.75 / min(head.across, head.down)
    for plane, window, c in ((out.y, box, 0), (out.u, half, 1), (out.v, half, 2)):
        step, shift, full = (1.0, 0.0, 1.0) if c == 0 else (2.0, 0.5, whole)
        shape = np.array(
            [step, shift, head.x, head.y, np.cos(head.angle) / head.across, np.sin(head.angle) / head.across,
             np.cos(head.angle) / head.down, np.sin(head.angle) / head.down, full, head.reach], np.float32
        )  # fmt: skip
        numbers = np.concatenate([waves[:, c], lift[c : c + 1]]).astype(np.float32)
        _paint(plane, np.array(window), shape, numbers, np.uint32(frame), np.float32(_GRAIN if c == 0 else 0.0))


_ONE, _TWO, _THREE, _HALF = np.float32(1), np.float32(2), np.float32(3), np.float32(0.5)
_NONE, _MOST = np.float32(0), np.float32(255)
_END = np.float32(_TONE_END)
_UNIT = np.float32(np.sqrt(6) / 65536)
"""Scales the difference of two whole numbers below 65,536, evenly spread, to a standard deviation of 1."""


@kernel
def _mixed(state):  # type: ignore[no-untyped-def]
    """A number of 32 bits whose bits depend on all bits of another (Wang's and Ettinger's `lowbias32`)."""
    state = np.uint32(state ^ (state >> np.uint32(16)))
    state = np.uint32(state * np.uint32(0x7FEB352D))
    state = np.uint32(state ^ (state >> np.uint32(15)))
    state = np.uint32(state * np.uint32(0x846CA68B))
    return np.uint32(state ^ (state >> np.uint32(16)))


@kernel
def _paint(plane, window, shape, numbers, frame, grain):  # type: ignore[no-untyped-def]
    """Blend the field into a window (x0, y0, x1, y1) of a plane. It has no branches, so that it is vectorised."""
    step, shift, cx, cy, ca, sa, cb, sb, full, reach = shape
    a0, a1, b1, a2, b2, a3, b3, lift = numbers
    one = _ONE / reach
    two, three = one * one, one * one * one
    a1, b1, a2, b2, a3, b3 = a1 * one, b1 * one, a2 * two, _TWO * b2 * two, a3 * three, b3 * three
    outer = reach * reach
    steep = _ONE / (outer - full * full)
    scale = grain * _UNIT
    x0, y0, x1, y1 = window
    for row in range(y0, y1):
        py = np.float32(row) * step + shift - cy
        seed = _mixed(np.uint32(np.uint32(row) ^ _mixed(frame)))
        line = plane[row, x0:x1]
        for column in range(x1 - x0):
            px = np.float32(np.int32(column + x0)) * step + shift - cx
            u = ca * px + sa * py
            v = cb * py - sb * px
            uu, vv = u * u, v * v
            rr = uu + vv
            value = a0 + a1 * u + b1 * v + a2 * (uu - vv) + b2 * u * v
            value += a3 * u * (uu - _THREE * vv) + b3 * v * (_THREE * uu - vv)
            t = min(max((_END - rr) / _END, _NONE), _ONE)
            value += lift * (t * t * (_THREE - _TWO * t))
            dice = _mixed(np.uint32(seed + np.uint32(column + x0)))
            value += scale * (
                np.float32(np.int32(dice & np.uint32(0xFFFF))) - np.float32(np.int32(dice >> np.uint32(16)))
            )
            value = min(max(value, _NONE), _MOST)
            t = min(max((outer - rr) * steep, _NONE), _ONE)
            weight = t * t * (_THREE - _TWO * t)
            # Where the weight is 1 nothing of the old value is left, not even in rounding.
            line[column] = np.uint8(value * weight + np.float32(line[column]) * (_ONE - weight) + _HALF)
