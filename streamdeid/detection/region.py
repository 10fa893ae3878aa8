"""Where the landmark model looks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LandmarkRegion:
    """A rotated square in pixels, the landmark model's field of view."""

    centre: tuple[float, float]
    side: float
    angle: float
    """Clockwise on the screen, radians: the roll of the face in it."""
