"""The landmarker's own mesh of a face, as data: mediapipe's 468 points, without the irises."""

from __future__ import annotations

import numpy as np

MESH = 468
"""Points of the mesh."""

_SIDE = 248
"""First number of the points on the left side of the person's face; each is the counterpart of one before."""


def _mirror() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    # Points of the middle; the other points of the right side are numbered in the same order as those of the left.
    middle = [0, 1, 2, 4, 5, 6, *range(8, 20), 94, 151, 152, 164, 168, 175, 195, 197, 199, 200]
    right = np.setdiff1d(np.arange(_SIDE), middle)
    left = np.arange(_SIDE, MESH)
    mirror = np.arange(MESH)
    mirror[right], mirror[left] = left, right
    return mirror


MESH_MIRROR = _mirror()
"""`mesh[MESH_MIRROR]` renumbers the points of a mirrored picture, int64 (468,)."""
