"""Persons as the de-identifier asks for them, and how alike two identities must be to be one person."""

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
    """How alike two templates are that are one person's."""

    accept: float
    """Largest distance that is taken for the same person."""
    reject: float
    """Smallest distance that is surely another one; between them it counts as a new person in the end."""
    margin: float
    """By how much nearer a person must be than all who were seen beside him."""
    enough: float
    """Seconds of good frames below which nobody is recognised."""
    likelier: float
    """How many times as far the person may be whom a track most likely goes on with."""


FUSED = Distances(3600.0, 7000.0, 600.0, 0.4, 1.25)
"""Of the fused vector of model and upper face (`identity.person_templates`), in units of the identity space: it takes
39 % of the pairs of one person's tracklets in clips of 19 people for one person, and none of two people's
(`benchmarks/people/recogniser.py`). Wider it would take people of one studio for each other."""
_RECOGNISED = 0.23
"""Seconds after which a recogniser has told two vectors (`identity.tracklet_vectors`): enough to know somebody by,
not to know that it is nobody known."""
_LIKELIER = 1.1
"""Of a recogniser's vectors: strangers begin a tenth above what is accepted (`person_recogniser`)."""


def recognised(recogniser: PersonRecogniser) -> Distances:
    """Of a recogniser's vectors."""
    return Distances(recogniser.accept, recogniser.reject, recogniser.margin, _RECOGNISED, _LIKELIER)


_PATIENCE, _LEAST, _MOST = 0.4, 5, 12
"""Seconds of good frames until which an unclear case waits before it counts as somebody new; good frames, at least and
at most, that stand for seconds here."""


def new_persons(*, reentry: bool, rate: float = 30.0, distances: Distances = FUSED, shared: bool = False) -> Persons:
    """Nobody yet. reentry: whether people who left are recognised when they come back. rate: frames per second.
    distances: of the templates that will be told. shared: whether people may be known from elsewhere."""
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
        """Learn of those whom others added or took out; called before it is decided who somebody is."""

    def tell_in_time(self) -> None:
        """Tell others what was learned, if it is time; called once per frame."""


class PersonRegister:
    """`identity.reentry` as the register that `identity.identity_check` asks."""

    def __init__(self, persons: Persons, elsewhere: Elsewhere | None = None) -> None:
        """persons: of the whole stream; the tracklets of its parts are counted on (`IdentityCheck.count`). elsewhere:
        where people are known who may come into the picture."""
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
        """`commit_together` of one alone."""
        return self.commit_together({track: (identity, frames)})[track]

    def commit_together(self, known: Mapping[int, tuple[Points | None, int]]) -> dict[int, int | None]:
        """Tell the identities of present tracklets and over how many good frames each is averaged, all of a frame at
        once: of several who claim one person the nearest gets it. The person of each, None while undecided.

        Told again of a decided one, it is remembered better.
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
        """A person of its own for a tracklet that shows nothing to recognise anybody by."""
        return self._persons.commit_unseen(track)

    def expect(self, track: int, earlier: int) -> None:
        """A tracklet most likely shows whom an earlier one showed."""
        self._persons.expect(track, earlier)

    def forgotten(self) -> Set[int]:
        """Persons forgotten since this was asked last: none of them will ever come back."""
        return self._persons.forgotten()
