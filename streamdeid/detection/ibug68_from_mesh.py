"""The 68 iBUG points, forehead and iris points out of mediapipe's mesh of 478 vertices (RUNTIME section 4)."""

from __future__ import annotations

import numpy as np

from streamdeid.faces import Points

# Jaw points are resampled by arc length: picking vertices lets them slide along the contour (RUNTIME section 4).
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
    left = _along(mesh[_LEFT_OVAL], _ARC)
    right = _along(mesh[_RIGHT_OVAL], _ARC)
    return np.concatenate([left, right[-2::-1], mesh[_INNER]])


def forehead_from_mesh(mesh: Points) -> Points:
    """The 13 forehead points, float64 (13, d), of a mesh, float64 (478, d)."""
    points: Points = mesh[_FOREHEAD]
    return points


def iris_from_mesh(mesh: Points) -> Points:
    """Iris centre and rim points of both eyes, float64 (2, 5, d), of a mesh, float64 (478, d)."""
    points: Points = mesh[_IRIS]
    return points


def _along(line: Points, t: Points) -> Points:
    """Points at the shares t (k,) of the length, in the picture, of an open polyline (n, d)."""
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line[:, :2], axis=0).T))])
    at = t * length[-1]
    return np.stack([np.interp(at, length, axis) for axis in line.T], axis=1)
