"""Persons as an analysis recorded them, in place of `identity_check`; nobody is recognised again, nothing learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame
from streamdeid.identity.identity_check import Broken


@dataclass(frozen=True)
class RecordedTrack:
    """A track in one frame."""

    tracklet: int
    person: int
    """0 for nobody."""


class RecordedIdentity:
    """Tracklets and persons of a recording that was analysed. Frames may wait only where a tracklet has one person in
    all of its frames.

    known: from the number of a frame to its tracks. named: called with a person, and an empty identity, when the person
    is first shown.
    """

    def __init__(
        self, known: Callable[[int], Mapping[int, RecordedTrack]], named: Callable[[int, Points], None]
    ) -> None:
        self._known, self._named = known, named
        self._persons: dict[int, int] = {}
        """By tracklet: the person, as recorded for its newest frame."""
        self._present: Set[int] = frozenset()
        """Tracklets of the newest frame."""
        self._told: set[int] = set()

    @property
    def count(self) -> int:
        """0: it makes no tracklets of its own."""
        return 0

    def update(self, frame: Frame, tracks: Sequence[Track], broken: Mapping[int, Broken] | None = None) -> list[Track]:
        """The tracks of a new frame under the numbers of their tracklets, in the same order."""
        known = self._known(frame.index)
        here = [known.get(track.number, RecordedTrack(0, 0)) for track in tracks]
        self._present = {one.tracklet for one in here if one.tracklet}
        self._persons.update((one.tracklet, one.person) for one in here if one.tracklet)
        return [replace(track, number=one.tracklet) for track, one in zip(tracks, here, strict=True)]

    def saw(self, tracklet: int, good: bool = True) -> None:
        """Do nothing: nothing is learned."""

    def settle(self) -> None:
        """Do nothing: all was settled before."""

    def learns(self, tracklet: int) -> bool:
        """False: nothing more can be learned."""
        return False

    def person_of(self, tracklet: int) -> int | None:
        """The person of a tracklet; None for nobody."""
        return self._persons.get(tracklet, 0) or None

    def settle_last(self, tracklet: int) -> int | None:
        """The person to show; None for nobody."""
        person = self._persons.get(tracklet, 0)
        if person and person not in self._told:
            self._told.add(person)
            self._named(person, np.empty(0))
        return person or None

    def forgotten(self) -> Set[int]:
        """No person: a segment is short."""
        return frozenset()

    def present(self, tracklet: int) -> bool:
        """Whether the tracklet still goes on."""
        return tracklet in self._present

    def end(self) -> None:
        """Do nothing: nothing was learned."""

    def close(self) -> None:
        """Do nothing: nothing was learned."""
