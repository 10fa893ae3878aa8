"""Rendering a solid mesh with a z-buffer: where triangles lie behind one another only the nearest is seen.

`synthesise.render_patch` renders a flat mesh; here a nose has a profile and hides the far eye. As there, a texture is
rendered into luma and chroma planes at their own sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import first_and_last, pixels_per_unit
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.kernel_cache import kernel

Owners = NDArray[np.int16]

_STEP = 0.03
"""Step of depth between neighbouring pixels, share of the mesh's width, from which one part hides another: such an edge
is softened, since nothing else is anti-aliased."""


@dataclass(frozen=True)
class Solid:
    """A rendered mesh."""

    patch: Patch
    owner: Owners
    """int16 (h, w): which triangle each pixel of luma shows; -1 for none."""
    owner_chroma: Owners
    """The same at the size of chroma."""


def render_turned(
    texture_yuv: Pixels,
    frame_points: Points,
    mesh: Points,
    triangles: NDArray[np.int32],
    frame_size: tuple[int, int],
    corners: Points,
) -> Solid | None:
    """Render a YUV texture (th, tw, 3) onto a mesh (v, 3) of pixels and depth; a smaller depth is nearer.

    frame_points (v, 2): the mesh in the texture. triangles int32 (t, 3), wound like the screen's axes: those seen from
    behind are left out. The patch covers the rectangle of corners (n, 2), cut to a picture of frame_size (width,
    height). None when nothing of the rectangle lies inside.
    """
    x0, y0 = (max(0, int(v)) & ~1 for v in corners.min(axis=0))
    x1, y1 = (min(limit, int(v) + 2) for v, limit in zip(corners.max(axis=0), frame_size, strict=True))
    if x1 - x0 < 4 or y1 - y0 < 4:
        return None
    step = _STEP * float(np.ptp(mesh[:, 0]))
    halved = mesh / (2, 2, 1)
    halved[:, :2] -= np.array([x0 + 0.5, y0 + 0.5]) / 2
    luma = np.zeros((y1 - y0, x1 - x0, 1), np.float32)
    owner = _rendered(texture_yuv, 0, frame_points, mesh - (x0, y0, 0), triangles, luma, step)
    chroma = np.full(((y1 - y0 + 1) // 2, (x1 - x0 + 1) // 2, 2), 128, np.float32)
    owner_chroma = _rendered(texture_yuv, 1, frame_points, halved, triangles, chroma, 2 * step)
    covered, full = ((each >= 0).astype(np.uint8) for each in (owner_chroma, owner))
    return Solid(Patch(x0, y0, luma[:, :, 0], chroma, covered, full), owner, owner_chroma)


def _rendered(
    texture: Pixels,
    first: int,
    frame_points: Points,
    mesh: Points,
    triangles: NDArray[np.int32],
    out: Pixels,
    step: float,
) -> Owners:
    """Render channels of a texture, from number `first` on, into `out` (h, w, channels); returns the triangle that each
    pixel shows (h, w)."""
    near = np.full(out.shape[:2], np.inf, np.float32)
    owner = np.full(out.shape[:2], -1, np.int16)
    texture, points = np.ascontiguousarray(texture), np.ascontiguousarray(mesh, np.float64)
    _z_buffer(texture, first, np.ascontiguousarray(frame_points, np.float64), points, triangles, out, near, owner)
    _soften_edges(out.copy(), near, np.float32(step), out)
    return owner


@kernel
def _z_buffer(texture, first, frame, points, triangles, out, near, owner):  # type: ignore[no-untyped-def]
    height, width = near.shape
    rows, columns = texture.shape[0], texture.shape[1]
    channels = out.shape[2]
    one = np.float32(1)
    last_u, last_v = columns - 1.0, rows - 1.0
    for t in range(triangles.shape[0]):
        ia, ib, ic = triangles[t]
        ax, ay, az = points[ia]
        bx, by, bz = points[ib]
        cx, cy, cz = points[ic]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not area > 1e-6:
            continue
        # Weights are linear in x and y: a row needs their values at its start, and how they grow along it.
        wb_x, wc_x = (cy - ay) / area, -(by - ay) / area
        steps = pixels_per_unit(-wb_x - wc_x), pixels_per_unit(wb_x), pixels_per_unit(wc_x)
        wb_y, wc_y = -(cx - ax) / area, (bx - ax) / area
        left, right = max(0, int(np.ceil(min(ax, bx, cx)))), min(width - 1, int(np.floor(max(ax, bx, cx))))
        for y in range(max(0, int(np.ceil(min(ay, by, cy)))), min(height - 1, int(np.floor(max(ay, by, cy)))) + 1):
            wb_0, wc_0 = (left - ax) * wb_x + (y - ay) * wb_y, (left - ax) * wc_x + (y - ay) * wc_y
            low, high = first_and_last(wb_0, wc_0, steps, right - left + 1)
            for x in range(left + low, left + high + 1):
                wb = (x - ax) * wb_x + (y - ay) * wb_y
                wc = (x - ax) * wc_x + (y - ay) * wc_y
                wa = 1 - wb - wc
                if wa >= -1e-9 and wb >= -1e-9 and wc >= -1e-9:
                    z = wa * az + wb * bz + wc * cz
                    if z < near[y, x]:
                        near[y, x] = z
                        owner[y, x] = t
                        u = wa * frame[ia, 0] + wb * frame[ib, 0] + wc * frame[ic, 0]
                        v = wa * frame[ia, 1] + wb * frame[ib, 1] + wc * frame[ic, 1]
                        # nan becomes 0. This is `piecewise_affine._bilinear` for some of the channels.
                        u = min(u, last_u) if u > 0 else 0.0
                        v = min(v, last_v) if v > 0 else 0.0
                        x0, y0 = np.uint32(u), np.uint32(v)
                        x1, y1 = np.uint32(min(x0 + 1, columns - 1)), np.uint32(min(y0 + 1, rows - 1))
                        fx, fy = np.float32(u - x0), np.float32(v - y0)
                        for c in range(channels):
                            k = np.uint32(first + c)
                            top = texture[y0, x0, k] * (one - fx) + texture[y0, x1, k] * fx
                            bottom = texture[y1, x0, k] * (one - fx) + texture[y1, x1, k] * fx
                            out[y, x, c] = top * (one - fy) + bottom * fy


@kernel
def _soften_edges(sharp, near, step, out):  # type: ignore[no-untyped-def]
    """Soften edges: where the depth jumps to a rendered neighbour, take the mean of a pixel and its neighbours."""
    height, width, channels = sharp.shape
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            here = near[y, x]
            if not here < np.inf:
                continue
            jumps, n = False, 0
            for dy, dx in ((0, -1), (0, 1), (-1, 0), (1, 0)):
                there = near[y + dy, x + dx]
                if there < np.inf:
                    n += 1
                    jumps = jumps or abs(there - here) > step
            if not jumps:
                continue
            for c in range(channels):
                total = 2 * sharp[y, x, c]
                for dy, dx in ((0, -1), (0, 1), (-1, 0), (1, 0)):
                    if near[y + dy, x + dx] < np.inf:
                        total += sharp[y + dy, x + dx, c]
                out[y, x, c] = total / (n + 2)
