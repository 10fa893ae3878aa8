"""How a camera that is turned, carried or zoomed moves the whole picture from one frame to the next."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Box, Floats
from streamdeid.core.similarity import Similarity


class CameraMotion(Similarity):
    """Maps a place in the frame before, pixels, to its place in this frame, if only the camera moved."""

    def boxes(self, boxes: Floats) -> Floats:
        """Where boxes, float64 (n, 4), are now: upright about their mapped middles, enlarged by the scale."""
        middles = self((boxes[:, :2] + boxes[:, 2:]) / 2)
        halves = self.scale * (boxes[:, 2:] - boxes[:, :2]) / 2
        return np.concatenate([middles - halves, middles + halves], axis=1)

    def box(self, box: Box) -> Box:
        """Where a box is now."""
        x0, y0, x1, y1 = self.boxes(np.array([box], dtype=np.float64))[0].tolist()
        return x0, y0, x1, y1

    def after(self, before: CameraMotion | None) -> CameraMotion:
        """This motion and another one before it, as one motion. before: None where the camera stood still."""
        if before is None:
            return self
        return CameraMotion(self.linear @ before.linear, self(before.shift))
