"""A detector of a benchmark around the filter's own, so that the filter works as it does in a run."""

from __future__ import annotations

from collections.abc import Sequence

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.core.protocols import Detector
from streamdeid.detection.guard import Watch


class AroundWatch:
    """Asks `detect` for faces, and leaves all else to the watch: cuts, the camera, the last frames of a scene.

    A plain function in its place knows nothing of these: places of lost faces stayed where they were while the camera
    moved, and the last picture before a cut was not searched whole. It begins with nothing while a frame is rendered,
    so that each part's time can be told.
    """

    def __init__(self, watch: Watch | AroundWatch, detect: Detector | None = None) -> None:
        """watch: the filter's own, or another one around it. detect: called in place of the watch, which it calls
        itself; without it the watch is called."""
        self._watch, self._detect = watch, watch if detect is None else detect

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        return self._detect(frame)

    def foresee(self, frame: Frame, following: Frame | None) -> None:
        """Tell the watch which frame follows."""
        self._watch.foresee(frame, following)

    @property
    def camera(self) -> CameraMotion | None:
        """How the camera moved before the frame that was searched last."""
        return self._watch.camera

    @property
    def cuts(self) -> int:
        """Scene cuts so far."""
        return self._watch.cuts
