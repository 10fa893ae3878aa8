"""Colour on planes: a rectangle of a 4:2:0 picture to RGB and back, without touching the rest of the frame."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.frames import Colour, Planes

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""Brightness of a texture's RGB, whatever the picture's own matrix is."""
_LUMA = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}


@cache
def rgb_from_yuv(colour: Colour) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Matrix float32 (3, 3) and offset float32 (3,): `rgb = matrix @ yuv + offset`, all in 0-255. Both are cached and
    must not be changed."""
    kr, kb = _LUMA[colour.matrix]
    kg = 1 - kr - kb
    to_rgb = np.array(
        [[1, 0, 2 * (1 - kr)], [1, -2 * kb * (1 - kb) / kg, -2 * kr * (1 - kr) / kg], [1, 2 * (1 - kb), 0]]
    )
    luma, chroma, black = (1.0, 1.0, 0.0) if colour.full_range else (255 / 219, 255 / 224, 16.0)
    matrix = to_rgb * [luma, chroma, chroma]
    return matrix.astype(np.float32), (-matrix @ [black, 128, 128]).astype(np.float32)


@cache
def yuv_from_rgb(colour: Colour) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Matrix float32 (3, 3) and offset float32 (3,): `yuv = matrix @ rgb + offset`, all in 0-255. Both are cached and
    must not be changed."""
    matrix, offset = rgb_from_yuv(colour)
    inverse = np.linalg.inv(matrix.astype(np.float64))
    return inverse.astype(np.float32), (-inverse @ offset).astype(np.float32)


def rectangle_to_rgb(
    planes: Planes, x0: int, y0: int, x1: int, y1: int, scale: float = 1.0, *, quick: bool = False
) -> NDArray[np.uint8]:
    """RGB pixels of a rectangle, optionally area-downscaled before the conversion (cheaper than after).

    x0 and y0 are even and the rectangle lies inside the frame; 0 < scale <= 1. quick: halve first, as often as
    possible, which is several times faster and differs by rounding.
    Returns uint8 (round(scale (y1 - y0)), round(scale (x1 - x0)), 3).
    """
    y = planes.y[y0:y1, x0:x1]
    u, v = (p[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2] for p in (planes.u, planes.v))
    size = max(1, round((x1 - x0) * scale)), max(1, round((y1 - y0) * scale))
    if quick:
        y, u, v = (_halved(plane, size) for plane in (y, u, v))
    if scale < 1:
        y = np.asarray(cv2.resize(y, size, interpolation=cv2.INTER_AREA), np.uint8)
    how = cv2.INTER_LINEAR if scale > 0.5 or quick else cv2.INTER_AREA
    u, v = (np.asarray(cv2.resize(p, size, interpolation=how), np.uint8) for p in (u, v))
    matrix, offset = rgb_from_yuv(planes.colour)
    yuv = cv2.merge([np.ascontiguousarray(y), u, v])
    return np.asarray(cv2.transform(yuv, np.concatenate([matrix, offset[:, None]], axis=1)), np.uint8)


def _halved(plane: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """A plane halved while it stays at least as large as `size` (width, height); OpenCV has a fast path for that."""
    while plane.shape[1] >= 2 * size[0] and plane.shape[0] >= 2 * size[1]:
        height, width = plane.shape[0] // 2, plane.shape[1] // 2
        if plane.shape != (2 * height, 2 * width):
            break  # an odd row would shift the picture
        plane = np.asarray(cv2.resize(plane, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    return plane


def planes_from_rgb(rgb: NDArray[np.uint8], colour: Colour = Colour()) -> Planes:
    """A whole RGB picture, uint8 (h, w, 3), as 4:2:0 planes (chroma by area average)."""
    matrix, offset = yuv_from_rgb(colour)
    yuv = cv2.transform(rgb, np.concatenate([matrix, offset[:, None]], axis=1))
    height, width = rgb.shape[:2]
    half = ((width + 1) // 2, (height + 1) // 2)
    y, u, v = (np.ascontiguousarray(yuv[:, :, c], np.uint8) for c in range(3))
    u, v = (np.asarray(cv2.resize(p, half, interpolation=cv2.INTER_AREA), np.uint8) for p in (u, v))
    return Planes(y, u, v, colour)
