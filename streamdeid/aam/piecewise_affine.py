"""Piecewise-affine warp over a triangle mesh (Matthews & Baker 2004), in numba kernels.

Two directions: `sample` takes an image into the model's frame, pixel by pixel of the frame, with barycentric
coordinates computed once; `render` renders a texture of the model's frame onto any mesh in an image.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.kernel_cache import kernel


@dataclass(frozen=True)
class WarpTable:
    """For each pixel of the model's frame inside the mesh: its place, triangle and barycentric coordinates."""

    size: tuple[int, int]
    """(width, height) of the frame in pixels."""
    triangles: NDArray[np.int32]
    """int32 (t, 3), vertex numbers."""
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    triangle: NDArray[np.int32]
    """int32 (n,): the triangle of each pixel."""
    weights: Pixels
    """float32 (n, 3): barycentric coordinates of each pixel."""

    @cached_property
    def nearest(self) -> NDArray[np.int32]:
        """int32 (h, w): for each pixel of the frame the number of the nearest one inside the mesh; inside, its own."""
        outside = np.ones(self.size[::-1], np.uint8)
        outside[self.rows, self.columns] = 0
        _, labels = cv2.distanceTransformWithLabels(outside, cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL)
        numbers = np.zeros(int(labels.max()) + 1, np.int32)
        numbers[labels[self.rows, self.columns]] = np.arange(len(self.rows), dtype=np.int32)
        return np.asarray(numbers[labels], np.int32)


def triangulate(points: Points, outline: NDArray[np.int64]) -> NDArray[np.int32]:
    """Delaunay triangles int32 (t, 3), wound like the screen's axes, of points (n, 2) inside the outline polygon."""
    low, high = points.min(axis=0) - 10, points.max(axis=0) + 10
    scale = 1000.0 / float((high - low).max())  # Subdiv2D works in float32
    scaled = ((points - low) * scale).astype(np.float32)
    subdivision = cv2.Subdiv2D((0, 0, 1001, 1001))
    for x, y in scaled:
        subdivision.insert((float(x), float(y)))
    border = scaled[outline].reshape(-1, 1, 2)
    found = []
    corners = np.asarray(subdivision.getTriangleList()).reshape(-1, 3, 2)
    nearest = ((scaled - corners[:, :, None]) ** 2).sum(axis=3).argmin(axis=2)
    own = np.abs(scaled[nearest] - corners).max(axis=(1, 2)) <= 0.5  # the others have one of Subdiv2D's outer vertices
    for near in nearest[own].tolist():
        centre = scaled[near].mean(axis=0)
        if len(set(near)) == 3 and cv2.pointPolygonTest(border, (float(centre[0]), float(centre[1])), False) > 0:
            (ax, ay), (bx, by), (cx, cy) = scaled[near]
            turned = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) < 0
            found.append((near[0], near[2], near[1]) if turned else tuple(near))
    rolled = [t[t.index(min(t)) :] + t[: t.index(min(t))] for t in found]
    return np.array(sorted(set(rolled)), np.int32)


def warp_table(points: Points, triangles: NDArray[np.int32], size: tuple[int, int]) -> WarpTable:
    """Table for a frame of size (width, height) whose mesh has vertices at points (n, 2)."""
    width, height = size
    triangle = np.full((height, width), -1, np.int32)
    weights = np.zeros((height, width, 3), np.float32)
    _rasterise(np.ascontiguousarray(points, np.float64), triangles, triangle, weights)
    rows, columns = np.nonzero(triangle >= 0)
    inside = triangle[rows, columns]
    return WarpTable(size, triangles, rows.astype(np.int32), columns.astype(np.int32), inside, weights[rows, columns])


def scaled_table(points: Points, triangles: NDArray[np.int32], size: tuple[int, int], width: int) -> WarpTable:
    """Table for a frame of size (width, height), whose mesh has vertices at points (n, 2), scaled to another width."""
    scale = width / size[0]
    return warp_table(points * scale, triangles, (width, int(np.ceil(size[1] * scale))))


def sample(image: NDArray[Any], points: Points, table: WarpTable) -> Pixels:
    """Pixels of the model's frame, float32 (n, channels), taken bilinearly from an image (h, w, channels) at the mesh
    points (v, 2); the border is repeated outside the image."""
    out = np.empty((len(table.rows), image.shape[2]), np.float32)
    _sample(
        np.ascontiguousarray(image),
        np.ascontiguousarray(points, np.float64),
        table.triangles,
        table.triangle,
        table.weights,
        out,
    )
    return out


def spread(pixels: Pixels, table: WarpTable, fill: float = 0.0) -> Pixels:
    """Pixels (n, channels) put back into the model's frame, float32 (height, width, channels)."""
    width, height = table.size
    picture = np.full((height, width, pixels.shape[1]), fill, np.float32)
    _spread(np.asarray(pixels), table.rows, table.columns, picture)
    return picture


def render(
    texture: Pixels,
    frame_points: Points,
    points: Points,
    triangles: NDArray[np.int32],
    out: Pixels,
    covered: NDArray[np.uint8],
    first: int = 0,
) -> None:
    """Render a texture, float32 (th, tw, n), onto the mesh at points (v, 2) of `out`, float32 (h, w, channels).

    It renders as many channels as `out` has, from number `first` of the texture on. frame_points (v, 2): the mesh in
    the texture. covered, uint8 (h, w), is set to 1 where something was rendered. Triangles turned away from the camera
    (wound the other way) are left out, so a turned head hides its far side.
    """
    if first + out.shape[2] > texture.shape[2]:
        raise ValueError("the texture has fewer channels than are drawn")
    _render(
        np.ascontiguousarray(texture),
        np.int32(first),
        np.ascontiguousarray(frame_points, np.float64),
        np.ascontiguousarray(points, np.float64),
        triangles,
        out,
        covered,
    )


@kernel
def _rasterise(points, triangles, triangle, weights):  # type: ignore[no-untyped-def]
    height, width = triangle.shape
    for t in range(triangles.shape[0]):
        ax, ay = points[triangles[t, 0]]
        bx, by = points[triangles[t, 1]]
        cx, cy = points[triangles[t, 2]]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area <= 1e-9:
            continue
        for y in range(max(0, int(np.ceil(min(ay, by, cy)))), min(height - 1, int(np.floor(max(ay, by, cy)))) + 1):
            for x in range(max(0, int(np.ceil(min(ax, bx, cx)))), min(width - 1, int(np.floor(max(ax, bx, cx)))) + 1):
                wb = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area
                wc = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
                wa = 1 - wb - wc
                if wa >= -1e-9 and wb >= -1e-9 and wc >= -1e-9 and triangle[y, x] < 0:
                    triangle[y, x] = t
                    weights[y, x, 0] = wa
                    weights[y, x, 1] = wb
                    weights[y, x, 2] = wc


@kernel
def _bilinear(image, x, y, out):  # type: ignore[no-untyped-def]
    height, width, channels = image.shape
    # Written so that nan becomes 0: clamped by min and max it would index memory far outside the image.
    x = min(x, width - 1.0) if x > 0 else 0.0
    y = min(y, height - 1.0) if y > 0 else 0.0
    x0, y0 = int(x), int(y)
    x1, y1 = min(x0 + 1, width - 1), min(y0 + 1, height - 1)
    fx, fy = np.float32(x - x0), np.float32(y - y0)
    one = np.float32(1)
    for c in range(channels):
        top = image[y0, x0, c] * (one - fx) + image[y0, x1, c] * fx
        bottom = image[y1, x0, c] * (one - fx) + image[y1, x1, c] * fx
        out[c] = top * (one - fy) + bottom * fy


@kernel
def _spread(pixels, rows, columns, picture):  # type: ignore[no-untyped-def]
    for i in range(pixels.shape[0]):
        for c in range(pixels.shape[1]):
            picture[np.uint32(rows[i]), np.uint32(columns[i]), c] = pixels[i, c]


@kernel
def _sample(image, points, triangles, triangle, weights, out):  # type: ignore[no-untyped-def]
    last_x, last_y = image.shape[1] - 1.0, image.shape[0] - 1.0
    columns, rows = np.uint32(image.shape[1]), np.uint32(image.shape[0])
    unit = np.uint32(1)
    one = np.float32(1)
    for i in range(triangle.shape[0]):
        a, b, c = triangles[triangle[i]]
        wa, wb, wc = weights[i]
        x = wa * points[a, 0] + wb * points[b, 0] + wc * points[c, 0]
        y = wa * points[a, 1] + wb * points[b, 1] + wc * points[c, 1]
        # `_bilinear`, written out: a call with a view of the row costs as much as the rest.
        x = min(x, last_x) if x > 0 else 0.0
        y = min(y, last_y) if y > 0 else 0.0
        x0, y0 = np.uint32(x), np.uint32(y)
        x1, y1 = min(np.uint32(x0 + unit), np.uint32(columns - unit)), min(np.uint32(y0 + unit), np.uint32(rows - unit))
        fx, fy = np.float32(x - x0), np.float32(y - y0)
        for channel in range(image.shape[2]):
            top = image[y0, x0, channel] * (one - fx) + image[y0, x1, channel] * fx
            bottom = image[y1, x0, channel] * (one - fx) + image[y1, x1, channel] * fx
            out[i, channel] = top * (one - fy) + bottom * fy


@kernel
def pixels_per_unit(growth):  # type: ignore[no-untyped-def]
    """In how many pixels along a row a weight grows by 1, from its growth per pixel; 0 for one that does not grow."""
    return 1 / growth if growth != 0 else 0.0


@kernel
def first_and_last(wb, wc, steps, count):  # type: ignore[no-untyped-def]
    """First and last pixel of a triangle along a row of `count` pixels, with up to one pixel more on either side.

    wb, wc: weights of b and c at the row's start. steps: in how many pixels the weights of a, b and c grow by 1; 0 for
    a weight that does not grow. The last is before the first where the triangle meets no pixel."""
    low, high = 0.0, count - 1.0
    for weight, step in ((1 - wb - wc, steps[0]), (wb, steps[1]), (wc, steps[2])):
        if step > 0:
            low = max(low, -weight * step - 1)
        elif step < 0:
            high = min(high, -weight * step + 1)
        elif weight < -1e-6:
            return 1, 0
    if not (low < count and high >= 0):
        return 1, 0
    return int(low), int(high)


@kernel
def _render(texture, first, frame, points, triangles, out, covered):  # type: ignore[no-untyped-def]
    height, width = covered.shape
    rows, columns = texture.shape[0], texture.shape[1]
    channels, depth = out.shape[2], np.int32(texture.shape[2])
    flat, stride = texture.ravel(), np.int32(columns * depth)
    right_of, below, below_right = np.uint32(depth), np.uint32(stride), np.uint32(stride + depth)
    for t in range(triangles.shape[0]):
        ia, ib, ic = triangles[t]
        ax, ay = points[ia]
        bx, by = points[ib]
        cx, cy = points[ic]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not area > 1e-6:
            continue
        u_a, v_a = frame[ia]
        u_b, v_b = frame[ib, 0] - u_a, frame[ib, 1] - v_a
        u_c, v_c = frame[ic, 0] - u_a, frame[ic, 1] - v_a
        # Divisions are the slowest operations, so each is done once for a triangle.
        share = 1 / area
        wb_x, wc_x = (cy - ay) * share, -(by - ay) * share
        wa_x = -wb_x - wc_x
        steps = pixels_per_unit(wa_x), pixels_per_unit(wb_x), pixels_per_unit(wc_x)
        u_x, v_x = wb_x * u_b + wc_x * u_c, wb_x * v_b + wc_x * v_c
        left, right = max(0, int(np.ceil(min(ax, bx, cx)))), min(width - 1, int(np.floor(max(ax, bx, cx))))
        for y in range(max(0, int(np.ceil(min(ay, by, cy)))), min(height - 1, int(np.floor(max(ay, by, cy)))) + 1):
            wb = ((left - ax) * (cy - ay) - (y - ay) * (cx - ax)) * share
            wc = ((bx - ax) * (y - ay) - (by - ay) * (left - ax)) * share
            low, high = first_and_last(wb, wc, steps, right - left + 1)
            low, high = left + low, left + high
            # Always the same sum decides which pixels at the ends count, since neighbouring triangles share an edge.
            while low <= high and not _inside(low, y, ax, ay, bx, by, cx, cy, share):
                low += 1
            while low <= high and not _inside(high, y, ax, ay, bx, by, cx, cy, share):
                high -= 1
            u, v = u_a + wb * u_b + wc * u_c - left * u_x, v_a + wb * v_b + wc * v_c - left * v_x
            first_u, first_v, last_u, last_v = u + low * u_x, v + low * v_x, u + high * u_x, v + high * v_x
            if (
                min(first_u, last_u) >= 0
                and min(first_v, last_v) >= 0
                and max(first_u, last_u) < columns - 1
                and max(first_v, last_v) < rows - 1
            ):
                for x in range(low, high + 1):
                    at_u, at_v = u + x * u_x, v + x * v_x
                    x0, y0 = np.int32(at_u), np.int32(at_v)
                    fx, fy = np.float32(at_u - x0), np.float32(at_v - y0)
                    at = y0 * stride + x0 * depth + first
                    for c in range(channels):
                        k = np.uint32(at + c)
                        a, b = flat[k], flat[k + right_of]
                        c0, d0 = flat[k + below], flat[k + below_right]
                        top = a + fx * (b - a)
                        out[y, x, c] = top + fy * (c0 + fx * (d0 - c0) - top)
                    covered[y, x] = 1
                continue
            for x in range(low, high + 1):
                _bilinear(texture[:, :, first : first + channels], u + x * u_x, v + x * v_x, out[y, x])
                covered[y, x] = 1


@kernel
def _inside(x, y, ax, ay, bx, by, cx, cy, share):  # type: ignore[no-untyped-def]
    """Whether a pixel lies in a triangle, a rounding error beyond its edges included. share: 1 over twice its area."""
    wb = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) * share
    wc = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) * share
    return 1 - wb - wc >= -1e-9 and wb >= -1e-9 and wc >= -1e-9
