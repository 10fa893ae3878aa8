"""Copying of the original's pixels into the surrogate: the inside of an open mouth and, if asked for, the eyes."""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels, Plane, Points
from streamdeid.core.frames import Planes


def copy_polygon(patch: Patch, planes: Planes, polygon: Points, laid: Points, strength: float) -> None:
    """Copy what the picture shows inside a polygon (n, 2) into the polygon (n, 2) `laid`, in pixels of the picture.

    The least-squares affine map between the polygons is used. strength: opacity, 0 to 1. docs/methods.md 4.0 steps 5
    and 6.
    """
    matrix, *_ = np.linalg.lstsq(np.column_stack([laid, np.ones(len(laid))]), polygon, rcond=None)
    low = np.floor(laid.min(axis=0)).astype(int) - 2
    high = np.ceil(laid.max(axis=0)).astype(int) + 3
    w, h = patch.size
    x0, y0 = (max(0, int(v) - o) & ~1 for v, o in zip(low, (patch.x0, patch.y0), strict=True))
    x1, y1 = (min(limit, int(v) - o) for v, o, limit in zip(high, (patch.x0, patch.y0), (w, h), strict=True))
    if x1 - x0 < 2 or y1 - y0 < 2:
        return
    origin = np.array([x0 + patch.x0, y0 + patch.y0], np.float64)
    mask = _mask(laid - origin, (y1 - y0, x1 - x0)) * np.float32(strength)
    rows, columns = np.mgrid[0 : y1 - y0, 0 : x1 - x0]
    places = np.stack([columns + origin[0], rows + origin[1], np.ones_like(rows)], axis=2) @ matrix
    where = places.astype(np.float32)
    _mix(patch.y[y0:y1, x0:x1], planes.y, where, mask)
    half = np.ascontiguousarray(where[::2, ::2] / 2)
    soft = np.asarray(cv2.resize(mask, (half.shape[1], half.shape[0]), interpolation=cv2.INTER_AREA), np.float32)
    region = patch.uv[y0 // 2 : y0 // 2 + half.shape[0], x0 // 2 : x0 // 2 + half.shape[1]]
    _mix(region[:, :, 0], planes.u, half, soft)
    _mix(region[:, :, 1], planes.v, half, soft)


def _mask(polygon: Points, shape: tuple[int, int]) -> Pixels:
    """The soft mask of a polygon; the feather about its rim is an eighteenth of the square root of its area."""
    hard = np.zeros(shape, np.uint8)
    cv2.fillPoly(hard, [np.round(polygon * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    feather = max(0.6, float(np.sqrt(cv2.contourArea(polygon.astype(np.float32)))) / 18)
    return np.asarray(cv2.GaussianBlur(hard, (0, 0), feather).astype(np.float32) / 255, np.float32)


def _mix(region: Pixels, plane: Plane, where: Pixels, mask: Pixels) -> None:
    x, y = np.ascontiguousarray(where[:, :, 0]), np.ascontiguousarray(where[:, :, 1])
    moved = cv2.remap(plane, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    region += mask * (moved.astype(np.float32) - region)
