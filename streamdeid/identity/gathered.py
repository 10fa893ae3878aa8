"""Identities and templates of the tracklets of one segment; nobody is recognised yet.

This stands in place of a register (`identity.reentry`). Every tracklet is a person of its own. Which tracklets show the
same person is decided when the whole recording has been gathered (`identity.whole_recording`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame


@dataclass(frozen=True)
class Gathered:
    """What is known of one tracklet. It is biometric: it stays in memory, and out of every repr."""

    y: Points = field(repr=False)
    """Identity vector in the model's space, float64 (d,): a surrogate is chosen for it."""
    template: Points | None = field(repr=False)
    """Vector that is compared with those of other tracklets, float64 (e,); None where the face cannot be recognised."""
    frames: int
    """Good frames, 0 for a tracklet that has none."""


class GatheredTracklets:
    """The tracklets of one segment; an `identity_check.ManyPersons`."""

    def __init__(self) -> None:
        self.follows: dict[int, int] = {}
        """By tracklet: the earlier tracklet that most likely shows the same person."""
        self._told: dict[int, tuple[Points | None, int]] = {}
        self._vectors: dict[int, Points] = {}

    @property
    def tracklets(self) -> dict[int, Gathered]:
        """All tracklets of which anything is known, by number."""
        return {number: Gathered(y, *self._told.get(number, (None, 0))) for number, y in sorted(self._vectors.items())}

    def named(self, tracklet: int, y: Points) -> None:
        """Store the identity vector (d,) of a tracklet, in the model's space."""
        self._vectors[tracklet] = y

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Do nothing: the records of the segment tell which tracklets are seen together."""

    def person_of(self, track: int) -> int | None:
        """The tracklet itself, once something is known of it."""
        return track if track in self._vectors else None

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        """Call `commit_together` for one tracklet."""
        return self.commit_together({track: (identity, frames)})[track]

    def commit_together(self, known: Mapping[int, tuple[Points | None, int]]) -> dict[int, int | None]:
        """Store the templates of tracklets, and over how many good frames; a later template replaces an earlier one."""
        for tracklet, told in known.items():
            if told[0] is not None or tracklet not in self._told:
                self._told[tracklet] = told
        return {tracklet: tracklet for tracklet in known}

    def commit_unseen(self, track: int) -> int:
        """The person of a tracklet whose face cannot be recognised: the tracklet itself."""
        return track

    def expect(self, track: int, earlier: int) -> None:
        """Note that a tracklet most likely shows the same person as an earlier one."""
        self.follows[track] = earlier

    def forgotten(self) -> Set[int]:
        """No person: none is forgotten here."""
        return frozenset()
