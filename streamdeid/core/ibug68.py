"""The iBUG 68-point scheme and the appearance mesh built on it, as data.

Indices are 0-based; "left" and "right" mean the sides of the picture. Points 68 to 80 are the forehead points, from
the left temple over the hairline to the right one.
"""

from __future__ import annotations

import numpy as np

JAW = slice(0, 17)
LEFT_BROW = slice(17, 22)
RIGHT_BROW = slice(22, 27)
NOSE_BRIDGE = slice(27, 31)
NOSTRILS = slice(31, 36)
LEFT_EYE = slice(36, 42)
RIGHT_EYE = slice(42, 48)
OUTER_LIP = slice(48, 60)
INNER_LIP = slice(60, 68)
MOUTH = slice(48, 68)
FOREHEAD = slice(68, 81)

LANDMARKS = 68
POINTS = 81
"""Landmarks and forehead points together: the vertices of the appearance mesh."""

LEFT_EYE_CORNERS = (36, 39)
RIGHT_EYE_CORNERS = (42, 45)
MOUTH_CORNERS = (48, 54)
UPPER_LIDS, LOWER_LIDS = [37, 38, 43, 44], [41, 40, 47, 46]
"""Points of both upper lids, image-left eye first, and those of the lower lids below them."""
NOSE_TIP = 30
CHIN = 8

OUTLINE = np.concatenate([np.arange(0, 17), np.arange(80, 67, -1)])
"""The closed outline of the appearance mesh: the jaw from left to right, then the forehead from right to left."""

MOUTH_TRIANGLES = np.array(
    [[60, 61, 67], [61, 62, 66], [61, 66, 67], [62, 63, 65], [62, 65, 66], [63, 64, 65]], np.int32
)
"""Triangles of the opening of the mouth, wound like the appearance mesh, which does not contain them."""

UPPER_LIP_PAIRS = (1, 13), (2, 13), (3, 14), (4, 15), (5, 15)
LOWER_LIP_PAIRS = (7, 17), (8, 17), (9, 18), (10, 19), (11, 19)
"""Points of the outer lips between the corners, each with the point of the inner lips beside it; numbers within the
mouth."""

LIP_TRIANGLES = np.array(
    [
        *([48, 49, 60], [49, 61, 60], [49, 50, 61], [50, 51, 61], [51, 62, 61]),
        *([51, 63, 62], [51, 52, 63], [52, 53, 63], [53, 64, 63], [53, 54, 64]),
        *([54, 55, 64], [55, 65, 64], [55, 56, 65], [56, 57, 65], [57, 66, 65]),
        *([57, 67, 66], [57, 58, 67], [58, 59, 67], [59, 60, 67], [48, 60, 59]),
    ],
    np.int32,
)
"""Triangles of both lips, between the outer and the inner points, wound likewise. A Delaunay mesh puts some triangles
across the opening beside the corners, from the upper to the lower lip; shut lips would be rendered on one another
there."""

_NEXT = np.roll(np.arange(len(OUTLINE)), -1)
RING = np.concatenate(
    [
        np.column_stack([OUTLINE, OUTLINE[_NEXT], POINTS + _NEXT]),
        np.column_stack([OUTLINE, POINTS + _NEXT, POINTS + np.arange(len(OUTLINE))]),
    ]
).astype(np.int32)
"""Triangles between the outline and 30 more vertices (81 to 110) around it, wound like the appearance mesh."""

RIGID = np.array([0, 1, 15, 16, 27, 28, 29, 30, 31, 33, 35, 36, 39, 42, 45, 68, 71, 74, 77, 80])
"""Points that expressions move least; head pose is estimated from them."""

MIRROR = np.concatenate(
    [
        np.arange(16, -1, -1),
        np.arange(26, 16, -1),
        np.arange(27, 31),
        np.arange(35, 30, -1),
        [45, 44, 43, 42, 47, 46],
        [39, 38, 37, 36, 41, 40],
        [54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55],
        [64, 63, 62, 61, 60, 67, 66, 65],
        np.arange(80, 67, -1),
    ]
)
"""`points[MIRROR]` renumbers the points of a mirrored picture."""
