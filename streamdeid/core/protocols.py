"""The seams between rooms: protocols of one or two methods."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame


class Detector(Protocol):
    """Finds faces in a frame. Any function of this shape plugs in."""

    def __call__(self, frame: Frame, /) -> Sequence[Face]: ...


@runtime_checkable
class RemembersPictures(Protocol):
    """A detector that goes by what it saw in the pictures before, until it is told of another scene."""

    def forget(self) -> None: ...


class Tracker(Protocol):
    """Follows people over frames."""

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]: ...
