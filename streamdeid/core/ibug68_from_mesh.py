"""The 68 iBUG points, forehead and iris points out of mediapipe's mesh of 478 vertices (docs/architecture.md 8.4)."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.kernel_cache import kernel

# Jaw points are resampled by arc length: picking vertices lets them slide along the contour (docs/architecture.md 8.4).
_LEFT_OVAL = np.array([127, 234, 93, 132, 58, 172, 136, 150, 149, 176, 148, 152])
_RIGHT_OVAL = np.array([356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152])
_ARC = np.array([0.01, 0.14, 0.265, 0.39, 0.51, 0.64, 0.765, 0.885, 1.0])

# fmt: off
_INNER = np.array([
    70, 63, 105, 66, 107, 336, 296, 334, 293, 300,                    # brows 17-26
    168, 197, 5, 4, 75, 97, 2, 326, 305,                              # nose 27-35
    33, 160, 158, 133, 153, 144, 362, 385, 387, 263, 373, 380,        # eyes 36-47
    61, 39, 37, 0, 267, 269, 291, 405, 314, 17, 84, 181,              # outer lip 48-59
    78, 82, 13, 312, 308, 317, 14, 87,                                # inner lip 60-67
])
_FOREHEAD = np.array([162, 21, 54, 103, 67, 109, 10, 338, 297, 332, 284, 251, 389])
# fmt: on
_IRIS = np.array([[468, 469, 470, 471, 472], [473, 474, 475, 476, 477]])


def ibug68_from_mesh(mesh: Points) -> Points:
    """The 68 landmarks, float64 (68, d), of a mesh, float64 (478, d) with d = 2 or 3 coordinates."""
    left = along(mesh[_LEFT_OVAL], _ARC)
    right = along(mesh[_RIGHT_OVAL], _ARC)
    return np.concatenate([left, right[-2::-1], mesh[_INNER]])


def forehead_from_mesh(mesh: Points) -> Points:
    """The 13 forehead points, float64 (13, d), of a mesh, float64 (478, d)."""
    points: Points = mesh[_FOREHEAD]
    return points


def iris_from_mesh(mesh: Points) -> Points:
    """Iris centre and rim points of both eyes, float64 (2, 5, d), of a mesh, float64 (478, d)."""
    points: Points = mesh[_IRIS]
    return points


@kernel
def along(line: Points, t: Points) -> Points:
    """Points (k, d) of an open polyline (n, d) at the ascending shares t (k,) of its length in the picture.

    Twin: tests/network_twins.py.
    """
    count = line.shape[0]
    length = np.zeros(count)
    for i in range(1, count):
        length[i] = length[i - 1] + np.hypot(line[i, 0] - line[i - 1, 0], line[i, 1] - line[i - 1, 1])
    found = np.empty((t.shape[0], line.shape[1]))
    before = 0
    for k in range(t.shape[0]):
        at = t[k] * length[count - 1]
        while before < count - 2 and length[before + 1] <= at:
            before += 1
        step = length[before + 1] - length[before]
        share = (at - length[before]) / step if step > 0 else 0.0
        for d in range(line.shape[1]):
            found[k, d] = line[before, d] + share * (line[before + 1, d] - line[before, d])
    return found
