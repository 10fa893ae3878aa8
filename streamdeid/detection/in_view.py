"""Keeps which part of a picture was in view before the camera moved, so that the new part can be searched."""

from __future__ import annotations

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion


class InView:
    """Watches what comes into view at the picture's sides."""

    def __init__(self, size: tuple[int, int], share: float) -> None:
        """size: width and height, pixels. share: part of the longer of them that must be new at a side to count."""
        self._whole: Box = 0.0, 0.0, float(size[0]), float(size[1])
        self._enough = share * max(size)
        self._old = self._whole

    def moved(self, motion: CameraMotion) -> Box | None:
        """The part that was in view before, pixels, if enough is new at one side; otherwise None. After a part was
        returned, the whole picture counts as seen."""
        old, (_, _, width, height) = motion.box(self._old), self._whole
        # A part that left the picture and comes back is new: other people may be there by then.
        self._old = max(old[0], 0.0), max(old[1], 0.0), min(old[2], width), min(old[3], height)
        x0, y0, x1, y1 = self._old
        if max(x0, y0, width - x1, height - y1) < self._enough:
            return None
        self._old = self._whole
        return x0, y0, x1, y1
