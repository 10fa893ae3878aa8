"""What the frames of a segment tell of who its tracklets show; nobody is recognised yet.

In place of a register (`identity.reentry`): every tracklet is a person of its own, and who is who is decided when all
of the recording has been gathered (`identity.whole_recording`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame


@dataclass(frozen=True)
class Gathered:
    """What is known of one tracklet. Biometric: it stays in memory, and out of every repr."""

    y: Points = field(repr=False)
    """Identity vector in the model's space, float64 (d,): a surrogate is chosen for it."""
    template: Points | None = field(repr=False)
    """What is compared with others', float64 (e,); None where there is nothing to recognise anybody by."""
    frames: int
    """Good frames, 0 for a tracklet that has none."""


class GatheredTracklets:
    """The tracklets of one segment; an `identity_check.ManyPersons`."""

    def __init__(self) -> None:
        self.follows: dict[int, int] = {}
        """By tracklet: the one before it, whose person most likely goes on."""
        self._told: dict[int, tuple[Points | None, int]] = {}
        self._vectors: dict[int, Points] = {}

    @property
    def tracklets(self) -> dict[int, Gathered]:
        """All of which anything is known, by number."""
        return {number: Gathered(y, *self._told.get(number, (None, 0))) for number, y in sorted(self._vectors.items())}

    def named(self, tracklet: int, y: Points) -> None:
        """Take in who a tracklet shows, in the model's space."""
        self._vectors[tracklet] = y

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Who is seen together is told by the records of the segment."""

    def person_of(self, track: int) -> int | None:
        """The tracklet itself, once something is known of it."""
        return track if track in self._vectors else None

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        """`commit_together` of one alone."""
        return self.commit_together({track: (identity, frames)})[track]

    def commit_together(self, known: Mapping[int, tuple[Points | None, int]]) -> dict[int, int | None]:
        """Take in what tracklets are recognised by, and over how many good frames; later words are better ones."""
        for tracklet, told in known.items():
            if told[0] is not None or tracklet not in self._told:
                self._told[tracklet] = told
        return {tracklet: tracklet for tracklet in known}

    def commit_unseen(self, track: int) -> int:
        """A tracklet that shows nothing to recognise anybody by."""
        return track

    def expect(self, track: int, earlier: int) -> None:
        """A tracklet most likely shows whom an earlier one showed."""
        self.follows[track] = earlier

    def forgotten(self) -> Set[int]:
        """Nobody."""
        return frozenset()
