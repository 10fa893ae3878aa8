"""Five measures of an expression on the landmarks of a picture, free of place, size and roll (methods.md 5.2, item 1).

The origin is the middle between the eyes, x runs along the line of the eyes, and the unit is the distance of the eyes'
middles. Only eye corners define them: they hardly move with an expression.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import (
    LEFT_BROW,
    LEFT_EYE_CORNERS,
    LOWER_LIDS,
    MOUTH_CORNERS,
    RIGHT_BROW,
    RIGHT_EYE_CORNERS,
    UPPER_LIDS,
)

MEASURES = ("mouth opening", "mouth width", "lip-corner height", "eye opening", "brow height")

_INNER_LIPS = (62, 66)
_LIP_MIDDLES = (51, 57)


def normalised(landmarks: Points) -> Points:
    """Landmarks (..., 68, 2) about the middle between the eyes, turned level, in eye distances; nan stays nan."""
    left = landmarks[..., LEFT_EYE_CORNERS, :].mean(axis=-2)
    right = landmarks[..., RIGHT_EYE_CORNERS, :].mean(axis=-2)
    along = right - left
    squared = np.square(along).sum(axis=-1)[..., None]
    moved = landmarks - ((left + right) / 2)[..., None, :]
    x = (moved * along[..., None, :]).sum(axis=-1) / squared
    y = (moved[..., 1] * along[..., None, 0] - moved[..., 0] * along[..., None, 1]) / squared
    return np.stack([x, y], axis=-1)


def geometry(landmarks: Points) -> Points:
    """`MEASURES` of landmarks (..., 68, 2), x right and y down, float64 (..., 5), in eye distances.

    Lip-corner height is that of the corners above the middle of the lips; brow height that of the brows above the eyes.
    """
    level = normalised(landmarks)
    mouth = np.linalg.norm(level[..., _INNER_LIPS[0], :] - level[..., _INNER_LIPS[1], :], axis=-1)
    width = np.linalg.norm(level[..., MOUTH_CORNERS[0], :] - level[..., MOUTH_CORNERS[1], :], axis=-1)
    corners = level[..., _LIP_MIDDLES, 1].mean(axis=-1) - level[..., MOUTH_CORNERS, 1].mean(axis=-1)
    eyes = np.linalg.norm(level[..., UPPER_LIDS, :] - level[..., LOWER_LIDS, :], axis=-1).mean(axis=-1)
    brows = -(level[..., LEFT_BROW, 1].mean(axis=-1) + level[..., RIGHT_BROW, 1].mean(axis=-1)) / 2
    return np.stack([mouth, width, corners, eyes, brows], axis=-1)
