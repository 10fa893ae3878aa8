"""Persons as the de-identifier asks for them, and how alike two identities must be to be one person."""

from __future__ import annotations

from collections.abc import Sequence

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

    def __init__(self, persons: Persons) -> None:
        self._persons = persons

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Note who is in the picture, once per frame."""
        self._persons.update(tracks, frame.time)

    def person_of(self, track: int) -> int | None:
        """The person of a stretch; None while undecided."""
        return self._persons.person_of(track)

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        """Tell the identity of a present stretch, averaged over its good frames; its person, None while undecided.

        Told again of a decided one, it is remembered better.
        """
        known = Identity(identity, frames=frames)
        person = self._persons.person_of(track)
        if person is None:
            return self._persons.commit({track: known})[track].person
        self._persons.refresh(track, known)
        return person
