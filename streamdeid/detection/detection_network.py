"""Runs the full-range face detector (sparse BlazeFace) in LiteRT, with what mediapipe's graph does around the network.

For each of 48 x 48 places of its input, the network gives the score of a face whose middle is there, and where its box
and points lie. Boxes with a high enough score are joined: boxes that overlap the surest one are averaged with it,
weighted by their scores
(Bazarevsky et al. 2019, "BlazeFace", section "Post-processing"; mediapipe's NonMaxSuppressionCalculator).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.kernel_cache import kernel
from streamdeid.core.shipped_models import DETECTION, network
from streamdeid.detection.litert import Network
from streamdeid.detection.sampling import letterboxed

INPUT = 192
"""Side of the network's input, pixels."""
_GRID = 48
"""Places along a side, evenly spread, the first in the middle of its cell."""
_SURE = 100.0
"""Logits are clipped to this magnitude, as in the graph."""
_SAME = 0.3
"""IoU above which two boxes are one face: the graph's value."""
_COLUMNS = 17
"""x0, y0, x1, y1, x and y of six points, score."""


class DetectionNetwork:
    """Finds the faces in a picture. Has no memory of pictures; not for several threads at once."""

    def __init__(self) -> None:
        """Raises Unusable where LiteRT is missing, and ModelError where the model is missing or has been changed."""
        self._net = Network(network(DETECTION))
        self._input = np.zeros((INPUT, INPUT, 3), np.float32)
        self(np.zeros((48, 64, 3), np.uint8), 0.0)  # compiles or loads the kernels now: a first frame has a deadline

    def __call__(
        self, rgb: NDArray[np.uint8], threshold: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Faces with a score of `threshold`, 0 to 1, or more in an RGB picture, uint8 (h, w, 3).

        Returns boxes (n, 4) as x0, y0, x1, y1, keypoints (n, 6, 2) (eyes, nose, mouth, ears) and scores (n,), all
        coordinates in pixels of the given picture.
        """
        step, x0, y0 = letterboxed(rgb, self._input)
        boxes, logits = self._net(self._input)
        found = together(decoded(boxes, logits[:, 0], threshold))
        places = found[:, : _COLUMNS - 1].reshape(-1, 8, 2) * step + (x0, y0)
        return places[:, :2].reshape(-1, 4), places[:, 2:], found[:, _COLUMNS - 1]


@kernel
def decoded(boxes: NDArray[np.float32], logits: NDArray[np.float32], threshold: float) -> NDArray[np.float64]:
    """Rows (n, 17) in pixels of the input for the network's boxes (2304, 16) and logits (2304,), above a threshold.

    Twin: tests/network_twins.py.
    """
    scores = 1 / (1 + np.exp(-np.minimum(np.maximum(logits, np.float32(-_SURE)), np.float32(_SURE))))
    count = 0
    for row in range(scores.shape[0]):
        if scores[row] >= threshold and boxes[row, 2] >= 0 and boxes[row, 3] >= 0:
            count += 1
    found = np.empty((count, _COLUMNS))
    cell = INPUT / _GRID
    count = 0
    for row in range(scores.shape[0]):
        if scores[row] >= threshold and boxes[row, 2] >= 0 and boxes[row, 3] >= 0:
            x, y = (row % _GRID + 0.5) * cell, (row // _GRID + 0.5) * cell
            wide, high = boxes[row, 2] / 2, boxes[row, 3] / 2
            found[count, 0], found[count, 1] = x + boxes[row, 0] - wide, y + boxes[row, 1] - high
            found[count, 2], found[count, 3] = x + boxes[row, 0] + wide, y + boxes[row, 1] + high
            for k in range(6):
                found[count, 4 + 2 * k], found[count, 5 + 2 * k] = x + boxes[row, 4 + 2 * k], y + boxes[row, 5 + 2 * k]
            found[count, _COLUMNS - 1] = scores[row]
            count += 1
    return found


@kernel
def together(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Join the rows of `decoded` into one row for each face, the surest first: weighted means, with the best score.

    Twin: tests/network_twins.py.
    """
    score = found.shape[1] - 1
    left = np.empty(len(found), np.int64)
    for each in range(len(found)):  # NumPy's sort would take a second to compile, a twentieth of all kernels
        place = each
        while place and found[left[place - 1], score] < found[each, score]:
            left[place] = left[place - 1]
            place -= 1
        left[place] = each
    faces = np.zeros_like(found)
    count = 0
    while left.shape[0]:
        best = found[left[0]]
        area = (best[2] - best[0]) * (best[3] - best[1])
        rest = np.empty_like(left)
        others, weight = 0, 0.0
        for row in left:
            one = found[row]
            wide = max(0.0, min(one[2], best[2]) - max(one[0], best[0]))
            high = max(0.0, min(one[3], best[3]) - max(one[1], best[1]))
            union = area + (one[2] - one[0]) * (one[3] - one[1]) - wide * high
            if union > 0 and wide * high > _SAME * union:
                weight += one[score]
                faces[count, :score] += one[score] * one[:score]
            elif row != left[0]:
                rest[others] = row
                others += 1
        if weight > 0:
            faces[count, :score] /= weight
        else:  # a box without an area does not even overlap itself
            faces[count] = best
        faces[count, score] = best[score]
        count += 1
        left = rest[:others]
    return faces[:count]
