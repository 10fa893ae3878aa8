"""The people of one stream: what outlives its parts.

A camera is lost and comes back, its picture changes its size, the filter fails and is built anew: each time the stream
gets new parts (`runs.parts.assemble`), and the people in it keep their numbers and their faces.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streamdeid.identity.reentry import Persons
from streamdeid.identity.register import new_persons
from streamdeid.protect.choices import Choice
from streamdeid.render.decoded_faces import DecodedFaces
from streamdeid.runs.session import Session
from streamdeid.runs.shared_people import SharedPeople
from streamdeid.surrogates.choice import Surrogates


@dataclass(frozen=True)
class People:
    """Who is in a stream, and what they look like when it is published."""

    persons: Persons
    surrogates: Surrogates | None
    """None for a mask."""
    shared: SharedPeople | None
    """The register that others share; None without."""
    decoded: DecodedFaces = field(repr=False)
    """New faces in use."""
    tracklets: int = 0
    """Tracklets of the parts that are over: their numbers are not used again."""

    @property
    def choice(self) -> Choice | None:
        """What tells everybody's surrogate; None for a mask."""
        return self.surrogates if self.shared is None else self.shared


def new_people(session: Session, rate: float, *, live: bool) -> People:
    """Nobody yet. rate: frames a second. live: whether the stream goes on when its register fails.

    Raises SettingsError, and what reading the register does.
    """
    distances, surrogates, shared = session.distances, session.surrogates(), None
    settings, register = session.settings, session.register
    persons = new_persons(reentry=settings.reentry, rate=rate, distances=distances, shared=register is not None)
    if register is not None and surrogates is not None:
        shared = SharedPeople(register, persons, surrogates, distances, settings.days_registered, live=live)
    return People(persons, surrogates, shared, DecodedFaces(session.models.fitting, settings.children))
