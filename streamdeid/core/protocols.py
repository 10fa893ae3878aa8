"""The interfaces between rooms: protocols of one or two methods."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame


class Detector(Protocol):
    """Finds faces in a frame. Any function of this shape plugs in."""

    def __call__(self, frame: Frame, /) -> Sequence[Face]: ...


@runtime_checkable
class RemembersPictures(Protocol):
    """A detector that uses what it saw in earlier pictures, until it is told that another scene begins."""

    def forget(self) -> None: ...


@runtime_checkable
class FollowsCamera(Protocol):
    """A detector that remembers places of a picture, and is told how the camera moved before the next one."""

    def moved(self, motion: CameraMotion) -> None: ...


@runtime_checkable
class SeesCamera(Protocol):
    """A detector that tells how the camera moved before the frame that it searched last, and the scene cuts so far."""

    @property
    def camera(self) -> CameraMotion | None: ...

    @property
    def cuts(self) -> int: ...


@runtime_checkable
class SearchesInTurn(Protocol):
    """A detector that searches parts of a picture in turn, until it is told that the next one is unlike the last."""

    def search_all(self) -> None: ...


@runtime_checkable
class SearchesLast(Protocol):
    """A detector that searches less than the whole picture when it is told that no similar picture follows."""

    def search_last(self) -> None: ...


@runtime_checkable
class Foresees(Protocol):
    """A detector that is told, before it searches a frame, which frame follows; None where none follows."""

    def foresee(self, frame: Frame, following: Frame | None) -> None: ...


@runtime_checkable
class Begins(Protocol):
    """A detector that can begin to search the next frame, for which it will be asked then, while other work is done."""

    def begin(self, frame: Frame) -> None: ...


@runtime_checkable
class LooksAgain(Protocol):
    """A detector that can search one place of an earlier frame again."""

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        """The face in a box, pixels, where the face of a track is expected; None where there is none. A face without
        keypoints means that there may be one. others: the detector's boxes of faces that are seen beside it."""
        ...


class Tracker(Protocol):
    """Follows people over frames."""

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]: ...
