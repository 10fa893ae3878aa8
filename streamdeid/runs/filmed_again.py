"""A detector that returns recorded faces, and measures the motion of the camera again from the pictures."""

from __future__ import annotations

from collections.abc import Sequence

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.core.protocols import Detector
from streamdeid.tracking.cuts import Cuts


class FilmedAgain:
    """A `protocols.Detector` and `SeesCamera` with recorded faces, and the camera's motion as in the pass that recorded
    them. The motion is needed since smoothing and held views are made anew."""

    def __init__(self, faces: Detector) -> None:
        """faces: returns the recorded faces of a frame; frames are asked for in order."""
        self._faces, self._cuts = faces, Cuts()
        self.cuts = 0
        """Scene cuts so far."""

    @property
    def camera(self) -> CameraMotion | None:
        """How the camera moved before the frame that was asked for last; None where it stood or that is unknown."""
        return self._cuts.camera

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """The faces of a frame, as they were recorded."""
        self.cuts += self._cuts(frame.luma_levels)
        return self._faces(frame)
