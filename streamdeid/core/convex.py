"""Convex hulls of points in a picture, and hulls that reach farther than those."""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.core.arrays import Points

_CIRCLE = np.linspace(0, 2 * np.pi, 12, endpoint=False)
ROUND = np.column_stack([np.cos(_CIRCLE), np.sin(_CIRCLE)])
"""Points (12, 2) on a circle."""
ABOUT = 1 / float(np.cos(np.pi / len(ROUND)))
"""Distance of the corners of a polygon that holds a circle, over the circle's radius."""


def convex(points: Points) -> Points:
    """The convex hull float64 (m, 2) of points (n, 2): its corners in turn."""
    return cv2.convexHull(points.astype(np.float32)).reshape(-1, 2).astype(np.float64)


def grown(corners: Points, reach: float) -> Points:
    """Points (m, 2) whose hull holds all within a reach of the points (n, 2), and nothing beyond 1.04 of it."""
    # No point of the circle's polygon is nearer than the reach.
    around: Points = (corners[:, None] + reach * ABOUT * ROUND).reshape(-1, 2)
    return around
