"""What of a picture was in view before a camera moved, for who searches what was not."""

from __future__ import annotations

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion


class InView:
    """Watches what comes into view at the picture's sides."""

    def __init__(self, size: tuple[int, int], share: float) -> None:
        """size: width and height, pixels. share: of the longer one that has to be new at a side before it counts."""
        self._whole: Box = 0.0, 0.0, float(size[0]), float(size[1])
        self._enough = share * max(size)
        self._old = self._whole

    def moved(self, motion: CameraMotion) -> Box | None:
        """What was in view before, pixels, where enough is new at a side: all counts as seen from then on. None where
        there is not."""
        old, (_, _, width, height) = motion.box(self._old), self._whole
        # What left the picture and comes back is new: others may be there meanwhile.
        self._old = max(old[0], 0.0), max(old[1], 0.0), min(old[2], width), min(old[3], height)
        x0, y0, x1, y1 = self._old
        if max(x0, y0, width - x1, height - y1) < self._enough:
            return None
        self._old = self._whole
        return x0, y0, x1, y1
