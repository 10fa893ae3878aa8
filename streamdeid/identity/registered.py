"""The people of a register (`--register`): values that runs, cameras and files share, and what is done with them.

A register holds for each person what he is recognised by, the surrogate that he got, when he was first and last seen,
and which registered people who look much like him were seen beside him, for these are surely others. It is biometric
data (GDPR, article 9): it is written encrypted only (`runs.register_file`), and never logged.

Times are whole seconds since 1970, UTC, by the clock of the machine that saw the person.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.core.arrays import Vector
from streamdeid.identity.claims import Claim, accepted, settled
from streamdeid.identity.register import Distances

MOST_PEOPLE = 2000
"""People in a register; who was not seen for longest makes room. Every further one is somebody else that a stranger
may be taken for."""
_DAY = 86400
_HEAVIEST = 1000
"""Good frames that a template counts for at most, so that it follows a face through the years."""


@dataclass(frozen=True)
class RegisteredPerson:
    """Somebody in a register."""

    number: int
    """From 1; nobody else ever gets it."""
    template: Vector = field(repr=False)
    """Float64 (e,), a mean over good frames. Biometric: kept out of every repr."""
    frames: int
    """Good frames that it is the mean of."""
    surrogate: Vector = field(repr=False)
    """P, float64 (d,): what is published."""
    label: str
    """Class of the preserved attributes that P is of."""
    first: int
    last: int
    """When he was first and last seen."""
    beside: frozenset[int] = frozenset()
    """Numbers of people much like him who were seen beside him."""


@dataclass(frozen=True)
class PeopleRegister:
    """All that is in a register."""

    made_by: Mapping[str, str]
    """What templates and surrogates depend on, by name: settings, and hashes of the models."""
    days: float
    """Days after which who was not seen again is forgotten, by the run that wrote it last."""
    following: int = 1
    """Number that the next person gets."""
    people: Mapping[int, RegisteredPerson] = field(default_factory=dict)
    """By number."""


def registered(register: PeopleRegister, person: RegisteredPerson) -> PeopleRegister:
    """The register with somebody new, whose number is `following`; where it is full the longest unseen goes."""
    kept = dict(register.people)
    while len(kept) >= MOST_PEOPLE:
        kept = _without(kept, {min(kept.values(), key=lambda one: (one.last, one.number)).number})
    person = replace(person, number=register.following, beside=person.beside & kept.keys())
    return replace(register, following=register.following + 1, people={**kept, person.number: person})


def seen_again(person: RegisteredPerson, now: int, total: Vector, frames: int) -> RegisteredPerson:
    """Somebody after he was seen again. total: sum of templates (e,) over so many more good frames, 0 or more."""
    last = max(person.last, now)
    if frames <= 0:
        return replace(person, last=last)
    mean = (person.frames * person.template + total) / (person.frames + frames)
    return replace(person, template=mean, frames=min(person.frames + frames, _HEAVIEST), last=last)


def unexpired(register: PeopleRegister, now: int, days: float) -> PeopleRegister:
    """Those who were seen in the last days. A clock that was a day ahead, or more, keeps nobody for longer than that
    from now on."""
    oldest = now - days * _DAY
    people = {
        number: one if one.last <= now + _DAY else replace(one, first=min(one.first, now), last=now)
        for number, one in register.people.items()
    }
    old = {number for number, one in people.items() if one.last < oldest}
    return replace(register, people=_without(people, old))


def without(register: PeopleRegister, numbers: Collection[int]) -> PeopleRegister:
    """The register without some people."""
    return replace(register, people=_without(register.people, numbers))


def _without(people: Mapping[int, RegisteredPerson], numbers: Collection[int]) -> dict[int, RegisteredPerson]:
    gone = frozenset(numbers)
    return {
        number: replace(one, beside=one.beside - gone) if one.beside & gone else one
        for number, one in people.items()
        if number not in gone
    }


def apart(
    people: Mapping[int, RegisteredPerson], one: int, beside: Collection[int], distances: Distances
) -> frozenset[int]:
    """Of those seen beside a registered person, the ones whom it helps to know so: no others can be in his way.

    Whoever is taken for him is at most `accept` away from him, and an alike within `margin` of that from whoever it is.
    """
    own, reach = people[one].template, 2 * distances.accept * distances.likelier + distances.margin
    others = [number for number in beside if number in people and number != one]
    return frozenset(n for n in others if float(np.linalg.norm(people[n].template - own)) <= reach)


def with_neighbours(
    register: PeopleRegister, number: int, beside: Collection[int], distances: Distances
) -> PeopleRegister:
    """The register with those noted who were seen beside somebody, where that helps to tell them apart."""
    people = dict(register.people)
    for other in apart(people, number, beside, distances):
        people[number] = replace(people[number], beside=people[number].beside | {other})
        people[other] = replace(people[other], beside=people[other].beside | {number})
    return replace(register, people=people)


def meant(people: Mapping[int, RegisteredPerson], template: Vector, distances: Distances) -> int | None:
    """Who of some people a template (e,) of somebody who is nobody else shows; None where that is not certain."""
    apart = {number: float(np.linalg.norm(one.template - template)) for number, one in people.items()}
    claims = [Claim(apart[number], 0, number) for number in apart if accepted(apart[number], 0.0, distances.accept)]

    def rivals(claim: Claim, taken: Set[int]) -> Iterable[float]:
        return (apart[other] for other in people[claim.person].beside - taken if other in apart)

    return settled(claims, rivals, distances.margin).persons.get(0)
