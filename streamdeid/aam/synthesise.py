"""Rendering the model: a texture onto a mesh in a rectangle of a 4:2:0 picture, luma and chroma at their own sizes."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import WarpTable, render
from streamdeid.core.arrays import Pixels, Points

Mask = NDArray[np.uint8]


@dataclass(frozen=True)
class Patch:
    """A rendered face in a rectangle of a picture. The rectangle starts at even pixels."""

    x0: int
    y0: int
    y: Pixels
    """float32 (h, w): luma."""
    uv: Pixels
    """float32 (ceil(h / 2), ceil(w / 2), 2): chroma."""
    covered: Mask
    """uint8 (ceil(h / 2), ceil(w / 2)): 1 where the mesh was rendered in chroma."""
    covered_luma: Mask
    """uint8 (h, w): the same in luma."""

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in luma pixels."""
        return int(self.y.shape[1]), int(self.y.shape[0])


def extended(pixels: Pixels, table: WarpTable) -> Pixels:
    """A texture as a picture (height, width, channels), its border colours repeated outside the mesh and in the mouth,
    so that bilinear sampling at the rim never meets an empty pixel."""
    return np.asarray(pixels[table.nearest], np.float32)


def to_yuv(picture: Pixels, matrix: Pixels, offset: Pixels) -> Pixels:
    """Linear map of colours of a picture (h, w, 3)."""
    return np.asarray(cv2.transform(picture, np.concatenate([matrix, offset[:, None]], axis=1)), np.float32)


def render_patch(
    texture_yuv: Pixels,
    frame_points: Points,
    points: Points,
    triangles: NDArray[np.int32],
    frame_size: tuple[int, int],
    margin: float,
) -> Patch | None:
    """Render a YUV texture (th, tw, 3) onto the mesh at image points (v, 2), in the mesh's rectangle grown by `margin`
    pixels and cut to a picture of frame_size (width, height). None when nothing of the rectangle lies inside."""
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    x0, y0 = (max(0, int(v)) & ~1 for v in low)
    x1, y1 = (min(limit, int(v) + 2) for v, limit in zip(high, frame_size, strict=True))
    if x1 - x0 < 4 or y1 - y0 < 4:
        return None
    luma = np.zeros((y1 - y0, x1 - x0, 1), np.float32)
    full = np.zeros(luma.shape[:2], np.uint8)
    render(texture_yuv, frame_points, points - (x0, y0), triangles, luma, full)
    half = (y1 - y0 + 1) // 2, (x1 - x0 + 1) // 2
    chroma = np.full((*half, 2), 128, np.float32)
    covered = np.zeros(half, np.uint8)
    halved = (points - (x0, y0) - 0.5) / 2
    render(texture_yuv, frame_points, halved, triangles, chroma, covered, first=1)
    return Patch(x0, y0, luma[:, :, 0], chroma, covered, full)
