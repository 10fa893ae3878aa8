"""Registered grey face images: what the papers of still images recognise (P5 definition 2.2, P2 section 4.1).

P5 crops, turns and scales FERET's pictures by the eyes and the tip of the nose; P2 uses 95 x 95 pixels of a data base
that is registered already. Here a similarity takes the middles of the eyes and, with less weight, of the mouth to
fixed places of the frame: by their eyes alone, turned heads would grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.photographs import Photograph
from streamdeid.aam.procrustes import align
from streamdeid.core.arrays import Floats
from streamdeid.core.ibug68 import LEFT_EYE, MOUTH_CORNERS, RIGHT_EYE

_WEIGHTS = np.array([1.0, 1.0, 0.5])
"""Of left eye, right eye, mouth: a smile moves the mouth."""
_MOUTH_BELOW = 1.08
"""From the eyes down to the middle between the mouth's corners, over the distance of the eyes."""


@dataclass(frozen=True)
class RegisteredFrame:
    """A frame and the place of the eyes in it, in pixels."""

    rows: int
    columns: int
    apart: float
    """Distance between the middles of the eyes."""
    down: float
    """Row of the eyes."""

    def places(self) -> NDArray[np.float64]:
        """Where left eye, right eye and mouth go: x and y, float64 (3, 2)."""
        middle, half = (self.columns - 1) / 2, self.apart / 2
        mouth = self.down + _MOUTH_BELOW * self.apart
        return np.array([[middle - half, self.down], [middle + half, self.down], [middle, mouth]])


P5_FRAME = RegisteredFrame(134, 99, 41.6, 49.6)
"""P5's 13,266 pixels: from the hairline to the chin, from ear to ear."""
P2_WHOLE = RegisteredFrame(95, 95, 33.0, 34.0)
"""P2's 9,025 pixels with the whole face in them, and hair and background beside it."""
P2_CHIN = RegisteredFrame(95, 95, 38.0, 33.5)
"""P2's pixels, cropped at the chin and the cheeks."""
P2_INNER = RegisteredFrame(95, 95, 47.5, 31.0)
"""P2's pixels filled by the face: from the brows to the lower lip, little else."""


def registered_faces(photographs: Sequence[Photograph], frame: RegisteredFrame = P5_FRAME) -> Floats:
    """The faces of photographs, row for row, in one frame: float64 (n, rows, columns), 0 to 255.

    Beyond the border of a photograph its last pixels are repeated. Levels are whole numbers, as in P5's definition 2.1.
    """
    rows = [_registered(photograph, frame) for photograph in photographs]
    return np.array(rows, np.float64).reshape(-1, frame.rows, frame.columns)


def _registered(photograph: Photograph, frame: RegisteredFrame) -> NDArray[np.uint8]:
    points = photograph.sample.points
    found = np.stack([points[part].mean(axis=0) for part in (LEFT_EYE, RIGHT_EYE, np.array(MOUTH_CORNERS))])
    image = cv2.cvtColor(photograph.image, cv2.COLOR_RGB2GRAY)
    there = align(found, frame.places(), _WEIGHTS)
    if there.scale < 1.0:  # fine detail must not alias: area-reduced to the frame's scale before it is turned
        size = (max(1, round(image.shape[1] * there.scale)), max(1, round(image.shape[0] * there.scale)))
        ratio = np.array([size[0] / image.shape[1], size[1] / image.shape[0]])
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        there = align((found + 0.5) * ratio - 0.5, frame.places(), _WEIGHTS)
    matrix = np.column_stack([there.linear, there.shift])
    size = (frame.columns, frame.rows)
    warped = cv2.warpAffine(image, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, np.uint8)
