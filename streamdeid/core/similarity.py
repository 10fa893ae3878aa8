"""Maps that turn, enlarge and shift: between shapes, and between the pictures of a camera that moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from streamdeid.core.arrays import Points

_Map = TypeVar("_Map", bound="Similarity")


@dataclass(frozen=True)
class Similarity:
    """A map `points -> points @ linear.T + shift` with linear = scale times rotation."""

    linear: Points
    """float64 (2, 2)."""
    shift: Points
    """float64 (2,)."""

    def __call__(self, points: Points) -> Points:
        """Image of points (..., 2)."""
        mapped: Points = points @ self.linear.T + self.shift
        return mapped

    @property
    def scale(self) -> float:
        """Factor by which lengths grow."""
        return float(np.sqrt(abs(np.linalg.det(self.linear))))

    @property
    def angle(self) -> float:
        """Rotation in radians, clockwise on the screen."""
        return float(np.arctan2(self.linear[1, 0], self.linear[0, 0]))

    def inverse(self: _Map) -> _Map:
        """The inverse map."""
        back = np.asarray(np.linalg.inv(self.linear), np.float64)
        return type(self)(back, -back @ self.shift)
