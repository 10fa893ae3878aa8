"""The region of a picture that the landmark model looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.camera_motion import CameraMotion


@dataclass(frozen=True)
class LandmarkRegion:
    """A rotated square in pixels, the landmark model's field of view."""

    centre: tuple[float, float]
    side: float
    angle: float
    """Clockwise on the screen, radians: the roll of the face in it."""

    def moved(self, camera: CameraMotion) -> LandmarkRegion:
        """The same region after the camera moved."""
        x, y = camera(np.array(self.centre)).tolist()
        return LandmarkRegion((x, y), self.side * camera.scale, self.angle + camera.angle)
