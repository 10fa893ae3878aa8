"""The seams between rooms: protocols of one or two methods."""

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
    """A detector that goes by what it saw in the pictures before, until it is told of another scene."""

    def forget(self) -> None: ...


@runtime_checkable
class FollowsCamera(Protocol):
    """A detector that remembers places of a picture, and is told how the camera moved before the next one."""

    def moved(self, motion: CameraMotion) -> None: ...


@runtime_checkable
class SeesCamera(Protocol):
    """A detector that tells how the camera moved before the frame that it was asked for last."""

    @property
    def camera(self) -> CameraMotion | None: ...


@runtime_checkable
class SearchesInTurn(Protocol):
    """A detector that looks at parts of a picture in turn, until it is told that the next one is unlike the last."""

    def search_all(self) -> None: ...


@runtime_checkable
class SearchesLast(Protocol):
    """One that looks at less of a picture than all when it is told that nothing like it follows."""

    def search_last(self) -> None: ...


@runtime_checkable
class Foresees(Protocol):
    """A detector that wants to know, before it is asked for a frame, which one follows; None: nothing does."""

    def foresee(self, frame: Frame, following: Frame | None) -> None: ...


@runtime_checkable
class Begins(Protocol):
    """A detector that can look at the next frame, about which it will be asked then, while something else is done."""

    def begin(self, frame: Frame) -> None: ...


@runtime_checkable
class LooksAgain(Protocol):
    """A detector that can be asked again about one place of a frame that it has seen before."""

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        """What is in a box, pixels, where the face of a track is expected; None where there is none. A face without
        keypoints: there may be one. others: boxes of faces that are seen beside it, as the detector has them."""
        ...


class Tracker(Protocol):
    """Follows people over frames."""

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]: ...
