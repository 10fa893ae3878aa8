"""Faces that an analysis keeps, of pictures that tell once more how the camera moved."""

from __future__ import annotations

from collections.abc import Sequence

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.core.protocols import Detector
from streamdeid.tracking.cuts import Cuts


class FilmedAgain:
    """A `protocols.Detector` and `SeesCamera`: recorded faces, and the motion as the pass told it that recorded them,
    since smoothing and held views are made anew."""

    def __init__(self, faces: Detector) -> None:
        """faces: who says what was recorded of a frame; frames are asked for in order."""
        self._faces, self._cuts = faces, Cuts()

    @property
    def camera(self) -> CameraMotion | None:
        """How the camera moved before the frame that was asked for last; None before the first ones, too."""
        return self._cuts.camera

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """The faces of a frame, as they were recorded."""
        self._cuts(frame.luma_levels)
        return self._faces(frame)
