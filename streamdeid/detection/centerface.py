"""CenterFace, the third face detector: it looks at a whole picture, is slow, and is hardly ever wrong.

Xu et al. 2020, "CenterFace: Joint Face Detection and Alignment Using Face as Point". Its weights come
with streamdeid (models/NETWORKS.md). Authors on their licence: "Code and models are all MIT"
(CenterFace's repository, issue 39); they were trained on WIDER FACE's training set alone (issue 8), as YuNet was
(docs/architecture.md 8.6). This is the only file that uses it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.asked_about import LIKE
from streamdeid.detection.five_points import FiveFaces, one_to_a_face
from streamdeid.detection.onnx_network import onnx_network

_OUTPUTS = ("537", "538", "539", "540")
"""For each cell: score, logarithms of the sides, offset from the cell, and points."""
_CELL = 4
"""Width and height of a cell, pixels of the network's picture."""
_SIDE = 32
"""Sides of the network's picture are multiples of this, pixels."""
_SAME = 0.3
"""IoU above which two boxes are one face: the figure of the network's authors."""


@dataclass(frozen=True)
class Seen:
    """What the network says about a picture."""

    faces: FiveFaces
    """In pixels of the picture that was given."""
    scores: NDArray[np.float32]
    """(rows, columns), 0 to 1: how likely it is that a face has its middle in each cell."""
    sides: NDArray[np.float32]
    """(rows, columns), pixels of that picture: the longer side that such a face has."""
    cell: tuple[float, float]
    """Width and height of a cell in pixels of that picture."""

    def best(self, rows: slice, columns: slice, side: float) -> float:
        """The highest score in some cells of a face about as large as a box. side: longer side of that box, pixels of
        the picture. 0 where no such face is."""
        # Two faces side by side in a box that holds both are not of its size: subway_cctv_three had a redaction over a
        # door without these limits.
        sides = self.sides[rows, columns]
        alike = (sides > LIKE[0] * side) & (sides < LIKE[1] * side)
        return float(self.scores[rows, columns][alike].max(initial=0.0))


class CenterFace:
    """The network for pictures of one size. Holds its memory; one call at a time."""

    def __init__(self, weights: bytes, size: tuple[int, int]) -> None:
        """size: width and height that pictures are enlarged or reduced to, pixels; rounded up to multiples of 32."""
        self._size = rounded(size)
        self._network = onnx_network(weights, self._size, _OUTPUTS)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the network's picture, pixels."""
        return self._size

    def __call__(self, rgb: NDArray[np.uint8], least: float) -> Seen:
        """The faces of a score of `least` and up in an RGB picture, uint8 (h, w, 3)."""
        height, width = rgb.shape[:2]
        how = cv2.INTER_AREA if width > self._size[0] else cv2.INTER_LINEAR
        picture = rgb if (width, height) == self._size else cv2.resize(rgb, self._size, interpolation=how)
        scores, sides, places, points = self._network(np.asarray(picture, np.uint8))
        unit = width / self._size[0], height / self._size[1]
        with np.errstate(over="ignore", invalid="ignore"):
            longer = np.exp(np.max(sides, axis=0)) * (_CELL * max(unit))
        faces = _decoded(np.asarray(scores[0], np.float64), sides, places, points, least, np.array(unit))
        return Seen(faces, np.asarray(scores[0], np.float32), longer, (_CELL * unit[0], _CELL * unit[1]))


def rounded(size: tuple[int, int]) -> tuple[int, int]:
    """Width and height of the network's picture for a picture of a size (width, height), pixels."""
    width, height = (max(1, math.ceil(side / _SIDE)) * _SIDE for side in size)
    return width, height


def _decoded(
    scores: NDArray[np.float64],
    sides: NDArray[np.float32],
    places: NDArray[np.float32],
    points: NDArray[np.float32],
    least: float,
    unit: NDArray[np.float64],
) -> FiveFaces:
    """The faces that the network's four outputs tell: (r, c), (2, r, c) twice, (10, r, c), with y before x in all.
    unit (2,): pixels of the picture that was given for one pixel of the network's picture, across and down."""
    rows, columns = np.nonzero(scores >= least)
    with np.errstate(over="ignore", invalid="ignore"):
        extent = np.exp(sides[:, rows, columns].astype(np.float64))[::-1].T * _CELL
    middle = (np.stack([columns, rows], axis=1) + places[::-1, rows, columns].T + 0.5) * _CELL
    # In some cells the sides are not finite numbers, or far larger than the picture.
    usable = (
        np.isfinite(extent).all(axis=1)
        & np.isfinite(middle).all(axis=1)
        & (extent < 4 * max(scores.shape) * _CELL).all(axis=1)
    )
    rows, columns, extent, middle = rows[usable], columns[usable], extent[usable], middle[usable]
    corners = middle - extent / 2
    five = points[:, rows, columns].T.reshape(-1, 5, 2)[:, :, ::-1] * extent[:, None] + corners[:, None]
    boxes = np.concatenate([corners, corners + extent], axis=1)
    found = FiveFaces(boxes * np.tile(unit, 2), five * unit, scores[rows, columns])
    kept = one_to_a_face(corners, extent, found.scores, least, _SAME)
    return FiveFaces(found.boxes[kept], found.points[kept], found.scores[kept])
