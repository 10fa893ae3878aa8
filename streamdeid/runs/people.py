"""The people of one stream, who are kept when the parts of the stream are built anew.

A stream gets new parts (`runs.parts.assemble`) when the camera was lost and comes back, when the picture changes its
size, and when the filter failed. Each time the people in the stream keep their numbers and their new faces.
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
    """The persons in a stream, and their surrogates."""

    persons: Persons
    surrogates: Surrogates | None
    """None for a mask."""
    shared: SharedPeople | None
    """The register that this stream shares with others; None without a register."""
    decoded: DecodedFaces = field(repr=False)
    """The decoded surrogates in use."""
    tracklets: int = 0
    """Number of tracklets in the earlier parts of the stream: their numbers are not used again."""

    @property
    def choice(self) -> Choice | None:
        """What gives each person a surrogate; None for a mask."""
        return self.surrogates if self.shared is None else self.shared


def new_people(session: Session, rate: float, *, live: bool) -> People:
    """The state of a stream without people yet. rate: frames per second. live: whether the stream goes on when its
    register fails.

    Raises SettingsError, and what reading the register raises.
    """
    distances, surrogates, shared = session.distances, session.surrogates(), None
    settings, register = session.settings, session.register
    persons = new_persons(reentry=settings.reentry, rate=rate, distances=distances, shared=register is not None)
    if register is not None and surrogates is not None:
        shared = SharedPeople(register, persons, surrogates, distances, settings.days_registered, live=live)
    return People(persons, surrogates, shared, DecodedFaces(session.models.fitting, settings.children))
