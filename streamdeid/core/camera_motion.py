"""How a camera that is turned, carried or zoomed moves the whole picture from one frame to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Box, Floats


@dataclass(frozen=True)
class CameraMotion:
    """What was at p in the frame before is at `matrix` · p + `shift` in this one, if only the camera moved."""

    matrix: Floats
    """float64 (2, 2): a rotation, enlarged."""
    shift: Floats
    """float64 (2,), pixels."""

    @property
    def scale(self) -> float:
        """How much larger everything became."""
        return float(np.hypot(self.matrix[0, 0], self.matrix[1, 0]))

    @property
    def angle(self) -> float:
        """By how much everything turned, radians clockwise on the screen."""
        return float(np.arctan2(self.matrix[1, 0], self.matrix[0, 0]))

    def points(self, points: Floats) -> Floats:
        """Where points, float64 (..., 2), are now."""
        return np.asarray(points @ self.matrix.T + self.shift, dtype=np.float64)

    def boxes(self, boxes: Floats) -> Floats:
        """Where boxes, float64 (n, 4), are now: upright about their middles, enlarged."""
        middles = self.points((boxes[:, :2] + boxes[:, 2:]) / 2)
        halves = self.scale * (boxes[:, 2:] - boxes[:, :2]) / 2
        return np.concatenate([middles - halves, middles + halves], axis=1)

    def box(self, box: Box) -> Box:
        """Where a box is now."""
        x0, y0, x1, y1 = self.boxes(np.array([box], dtype=np.float64))[0].tolist()
        return x0, y0, x1, y1

    def inverse(self) -> CameraMotion:
        """The way back."""
        back = np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)
        return CameraMotion(back, -back @ self.shift)

    def after(self, before: CameraMotion) -> CameraMotion:
        """This motion, after another one that came before it, as one."""
        return CameraMotion(self.matrix @ before.matrix, self.matrix @ before.shift + self.shift)
