"""The register that the de-identifier asks for persons, and how alike two identities of one person must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame
from streamdeid.identity.identity import Identity
from streamdeid.identity.person_recogniser import PersonRecogniser
from streamdeid.identity.reentry import Persons


@dataclass(frozen=True)
class Distances:
    """How alike two templates of one person must be."""

    accept: float
    """Largest distance that is taken for the same person."""
    reject: float
    """Smallest distance that is surely another person's; a case between both counts as a new person in the end."""
    margin: float
    """By how much nearer a person must be than all who were seen together with that person."""
    enough: float
    """Seconds of good frames below which nobody is recognised."""
    likelier: float
    """Factor on `accept` for the person whom a track most likely shows."""


FUSED = Distances(3600.0, 7000.0, 600.0, 0.4, 1.25)
"""Distances of the fused vector of model and upper face (`identity.person_templates`), in units of the identity space.
In clips of 19 people they take 39 % of the pairs of one person's tracklets for one person, and none of two people's
(`benchmarks/people/recogniser.py`). Wider distances would take people of one studio for each other."""
_RECOGNISED = 0.23
"""Seconds after which a recogniser has given two vectors (`identity.tracklet_vectors`): enough to recognise a person,
not enough to know that a person is new."""
_LIKELIER = 1.1
"""`likelier` for a recogniser's vectors: strangers begin a tenth above the accepted distance (`person_recogniser`)."""


def recognised(recogniser: PersonRecogniser) -> Distances:
    """The distances for a recogniser's vectors."""
    return Distances(recogniser.accept, recogniser.reject, recogniser.margin, _RECOGNISED, _LIKELIER)


_PATIENCE, _LEAST, _MOST = 0.4, 5, 12
"""Seconds of good frames for which an unclear case waits before it counts as a new person; the least and the most good
frames that stand for any of these seconds."""


def new_persons(*, reentry: bool, rate: float = 30.0, distances: Distances = FUSED, shared: bool = False) -> Persons:
    """The persons of a new stream, none yet. reentry: whether people who left are recognised when they come back. rate:
    frames per second. distances: between the templates to come. shared: whether people may be known from elsewhere."""
    enough, patience = (max(_LEAST, min(_MOST, round(s * rate))) for s in (distances.enough, _PATIENCE))
    return Persons(
        accept=distances.accept,
        reject=distances.reject,
        margin=distances.margin,
        likelier=distances.likelier,
        enough=enough,
        patience=patience,
        reentry=reentry,
        shared=shared,
    )


class Elsewhere(Protocol):
    """A register that other runs share: `runs.shared_people`."""

    def refresh(self) -> None:
        """Learn which people other runs added or removed; called before a person is decided."""

    def tell_in_time(self) -> None:
        """Tell other runs what was learned, if it is time; called once per frame."""


class PersonRegister:
    """`identity.reentry` as the register that `identity.identity_check` asks."""

    def __init__(self, persons: Persons, elsewhere: Elsewhere | None = None) -> None:
        """persons: those of the whole stream; the tracklets of its parts are numbered on (`IdentityCheck.count`).
        elsewhere: the register of other runs, whose people may come into the picture."""
        self._persons, self._elsewhere = persons, elsewhere

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Note who is in the picture, once per frame."""
        self._persons.update(tracks, frame.time)
        if self._elsewhere is not None:
            self._elsewhere.tell_in_time()

    def person_of(self, track: int) -> int | None:
        """The person of a tracklet; None while undecided."""
        return self._persons.person_of(track)

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        """Call `commit_together` for one tracklet."""
        return self.commit_together({track: (identity, frames)})[track]

    def commit_together(self, known: Mapping[int, tuple[Points | None, int]]) -> dict[int, int | None]:
        """Commit the identities of present tracklets and over how many good frames each is averaged, all of a frame at
        once: of several tracklets that claim one person the nearest gets the person. Returns the person of each
        tracklet, None while undecided. A decided tracklet may be given again, which improves its person's template.
        """
        identities = {track: Identity(vector, frames=frames) for track, (vector, frames) in known.items()}
        new = {track: one for track, one in identities.items() if self._persons.person_of(track) is None}
        for track in identities.keys() - new.keys():
            self._persons.refresh(track, identities[track])
        if self._elsewhere is not None and any(one.vector is not None for one in new.values()):
            self._elsewhere.refresh()
        self._persons.commit(new)
        return {track: self._persons.person_of(track) for track in identities}

    def commit_unseen(self, track: int) -> int:
        """A new person for a tracklet whose face cannot be recognised."""
        return self._persons.commit_unseen(track)

    def expect(self, track: int, earlier: int) -> None:
        """Note that a tracklet most likely shows the same person as an earlier one."""
        self._persons.expect(track, earlier)

    def forgotten(self) -> Set[int]:
        """Persons forgotten since the last call: none of them will ever come back."""
        return self._persons.forgotten()
