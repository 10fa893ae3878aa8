"""Persons as the de-identifier asks for them, and how alike two identities must be to be one person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from streamdeid.aam.piecewise_affine import Points
from streamdeid.faces import Track
from streamdeid.frames import Frame
from streamdeid.tracking.identity import Identity
from streamdeid.tracking.reentry import Persons

SAME_PERSON, OTHER_PERSON = 3200.0, 5000.0
"""Distances of identities up to which a returning face is taken for the same person, and from which for another
(`tracking.reentry`), in the units of the identity space; between them it counts as a new person in the end."""
_MARGIN = 600.0
"""By how much nearer a person must be than all who were seen beside him, in the same units."""
_ENOUGH, _PATIENCE = 5, 50
"""Good frames below which nobody is recognised, and until which an unclear case waits behind the mean face."""
_PART = 1 << 40
"""More stretches than any part of a stream has."""


def new_persons(*, reentry: bool) -> Persons:
    """Nobody yet. reentry: whether people who left are recognised when they come back."""
    return Persons(
        accept=SAME_PERSON,
        reject=OTHER_PERSON,
        margin=_MARGIN,
        enough=_ENOUGH,
        patience=_PATIENCE,
        reentry=reentry,
    )


class PersonRegister:
    """`tracking.reentry` as the register that `deidentify.identity_check` asks."""

    def __init__(self, persons: Persons, part: int = 0) -> None:
        """part: number of the part of a stream, from 0. Each part counts its stretches anew, the persons remain."""
        self._persons = persons
        self._first = part * _PART

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Note who is in the picture, once per frame."""
        self._persons.update([replace(track, number=self._first + track.number) for track in tracks], frame.time)

    def person_of(self, track: int) -> int | None:
        """The person of a stretch; None while undecided."""
        return self._persons.person_of(self._first + track)

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        """`commit_together` of one alone."""
        return self.commit_together({track: (identity, frames)})[track]

    def commit_together(self, known: Mapping[int, tuple[Points, int]]) -> dict[int, int | None]:
        """Tell the identities of present stretches and over how many good frames each is averaged, all of a frame at
        once: of several who claim one person the nearest gets it. The person of each, None while undecided.

        Told again of a decided one, it is remembered better.
        """
        identities = {self._first + track: Identity(vector, frames=frames) for track, (vector, frames) in known.items()}
        new = {track: one for track, one in identities.items() if self._persons.person_of(track) is None}
        for track in identities.keys() - new.keys():
            self._persons.refresh(track, identities[track])
        self._persons.commit(new)
        return {track - self._first: self._persons.person_of(track) for track in identities}

    def forgotten(self) -> Set[int]:
        """Persons forgotten since this was asked last: none of them will ever come back."""
        return self._persons.forgotten()
