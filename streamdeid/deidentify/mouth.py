"""The inside of an open mouth: the original's pixels, moved into the surrogate's lips (METHODS 4.0 step 5).

This is the one declared exception to non-interference: teeth and tongue of the original are shown.
"""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.aam.synthesise import Patch
from streamdeid.frames import Plane, Planes

_CLOSED = 0.03
"""Opening over width below which a mouth is closed; the inside fades in up to twice that."""


def draw_mouth(patch: Patch, planes: Planes, lips: Points, laid: Points) -> None:
    """Draw the inside of the original's inner lips (8, 2) between the new ones (8, 2), in pixels of the picture."""
    width = float(np.linalg.norm(lips[4] - lips[0]))
    opening = float(np.linalg.norm(lips[1:4] - lips[:4:-1], axis=1).max())
    strength = min(1.0, (opening / max(width, 1e-6) - _CLOSED) / _CLOSED)
    if strength <= 0:
        return
    matrix, *_ = np.linalg.lstsq(np.column_stack([laid, np.ones(8)]), lips, rcond=None)
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


def _mask(lips: Points, shape: tuple[int, int]) -> Pixels:
    """Soft mask of the inner lips; the feather is an eighteenth of the square root of their area, all of it inside."""
    hard = np.zeros(shape, np.uint8)
    cv2.fillPoly(hard, [np.round(lips * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    feather = max(0.6, float(np.sqrt(cv2.contourArea(lips.astype(np.float32)))) / 18)
    soft: Pixels = cv2.GaussianBlur(hard, (0, 0), feather).astype(np.float32) / 255
    return soft


def _mix(region: Pixels, plane: Plane, where: Pixels, mask: Pixels) -> None:
    x, y = np.ascontiguousarray(where[:, :, 0]), np.ascontiguousarray(where[:, :, 1])
    moved = cv2.remap(plane, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    region += mask * (moved.astype(np.float32) - region)
