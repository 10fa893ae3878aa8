"""YuNet, a second face detector, independent of mediapipe's: where both see a face, there is one far more often.

Wu, Peng, Yu 2023, "YuNet: a tiny millisecond-level face detector". Its weights come with streamdeid
(models/NETWORKS.md). The steps before and after the network are those of its authors' own library, libfacedetection
(BSD-3). That library truncates scores to hundredths, and places and sides to whole pixels, and so does this file: the
bars were chosen on such numbers. With finer ones two more of 73 faces were open (subway_cctv_three and
stage_and_audience, `recall`). This is the only file that uses YuNet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.five_points import FiveFaces, one_to_a_face
from streamdeid.detection.onnx_network import OnnxNetwork, onnx_network

_SIDE = 32
"""Sides of a picture are multiples of this, pixels."""
_CELLS = (8, 16, 32)
"""Pixels of the picture to a cell, either way, at each of three scales."""
_OUTPUTS = tuple(f"{what}{scale}" for scale in range(len(_CELLS)) for what in ("class", "object", "box", "points"))
_FAINTEST = 0.2
"""Score below which no face is returned, and ..."""
_SAME = 0.45
"""... IoU above which two boxes are one face: both are the library's."""
_LARGEST = 20.0
"""Upper limit of the logarithm of the sides in cells, so that the sides stay finite: far beyond any picture."""


class YuNet:
    """Finds faces in RGB pictures. Holds one network for each size of picture it was given; one call at a time."""

    def __init__(self, weights: bytes) -> None:
        self._weights = weights
        self._networks: dict[tuple[int, ...], OnnxNetwork] = {}

    def __call__(self, rgb: NDArray[np.uint8]) -> FiveFaces:
        """The faces in an RGB picture, uint8 (h, w, 3), whose sides are multiples of 32: the face with the highest
        score first, boxes and points in whole pixels of the picture.

        Raises ValueError for a picture of another kind or size.
        """
        if (
            rgb.dtype != np.uint8
            or rgb.ndim != 3
            or rgb.shape[2] != 3
            or not rgb.size
            or np.any(np.mod(rgb.shape[:2], _SIDE))
        ):
            raise ValueError(
                f"YuNet needs an RGB picture whose sides are multiples of {_SIDE}, not {rgb.dtype} {rgb.shape}"
            )
        height, width = rgb.shape[:2]
        network = self._networks.get((width, height))
        if network is None:
            network = self._networks[width, height] = onnx_network(self._weights, (width, height), _OUTPUTS)
        told = network(rgb[:, :, ::-1])  # it was trained on blue before red
        scales = [_decoded(told[4 * row : 4 * row + 4], cell) for row, cell in enumerate(_CELLS)]
        scores, corners, sides, points = (np.concatenate(parts) for parts in zip(*scales, strict=True))
        kept = one_to_a_face(corners, sides, scores, _FAINTEST, _SAME)
        start = np.trunc(corners[kept])
        boxes = np.concatenate([start, start + np.trunc(sides[kept])], axis=1)
        return FiveFaces(boxes, np.trunc(points[kept]), np.floor(np.float32(100) * scores[kept]) / 100.0)


def _decoded(
    told: Sequence[NDArray[np.float32]], cell: int
) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Scores float32 (n,), upper left corners and sides (n, 2), and points (n, 5, 2), in pixels, of the faces seen at
    one scale; cell: pixels to a cell.

    told: the network's output at that scale. Score of its being a face and score of an object being there, (1, r, c)
    each; middle and logarithm of the sides, (4, r, c); points, (10, r, c), x before y. In cells, from the corner of
    each cell.
    """
    kind, there, box, points = told
    scores = np.sqrt(kind[0] * there[0])
    usable = np.isfinite(box).all(axis=0) & np.isfinite(points).all(axis=0)
    rows, columns = np.nonzero((scores >= _FAINTEST) & usable)
    corner = np.stack([columns, rows], axis=1).astype(np.float64)
    found = box[:, rows, columns].T.astype(np.float64)
    middle, sides = corner + found[:, :2], np.exp(np.minimum(found[:, 2:], _LARGEST))
    five = corner[:, None] + points[:, rows, columns].T.reshape(-1, 5, 2)
    return scores[rows, columns], cell * (middle - sides / 2), cell * sides, cell * five
