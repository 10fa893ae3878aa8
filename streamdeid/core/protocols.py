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


@runtime_checkable
class SearchesInTurn(Protocol):
    """A detector that looks at parts of a picture in turn, until it is told that a picture is the last of its kind."""

    def search_all(self) -> None: ...


@runtime_checkable
class Foresees(Protocol):
    """A detector that wants to know, before it is asked for a frame, which one follows; None: nothing does."""

    def foresee(self, frame: Frame, following: Frame | None) -> None: ...


class Tracker(Protocol):
    """Follows people over frames."""

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]: ...
