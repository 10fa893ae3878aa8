"""The people of a register (`--register`): values that runs, cameras and files share, and the operations on them.

A register holds for each person the template, the surrogate, and the times when the person was first and last seen. It
also holds which similar registered people were seen beside the person, since these are surely others. A register is
biometric data (GDPR, article 9): it is written encrypted only (`runs.register_file`), and never logged.

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
"""Most people in a register; the person not seen for the longest time is removed to make room. Each further person is
one more that a stranger may be taken for."""
_DAY = 86400
_HEAVIEST = 1000
"""Most good frames that a template counts for, so that it follows a face through the years."""


@dataclass(frozen=True)
class RegisteredPerson:
    """Somebody in a register."""

    number: int
    """From 1; nobody else ever gets it."""
    template: Vector = field(repr=False)
    """Float64 (e,), a mean over good frames. Biometric: kept out of every repr."""
    frames: int
    """Good frames that the template is the mean of, at most `_HEAVIEST` once the person was seen again."""
    surrogate: Vector = field(repr=False)
    """P, float64 (d,): the vector that is published."""
    label: str
    """Class of the preserved attributes that P belongs to."""
    first: int
    last: int
    """When the person was first and last seen."""
    beside: frozenset[int] = frozenset()
    """Numbers of similar people who were seen beside this person."""


@dataclass(frozen=True)
class PeopleRegister:
    """All that is in a register."""

    made_by: Mapping[str, str]
    """Settings and hashes of the models on which templates and surrogates depend, by name."""
    days: float
    """Days after which a person who was not seen again is forgotten, as set by the run that wrote it last."""
    following: int = 1
    """Number that the next person gets."""
    people: Mapping[int, RegisteredPerson] = field(default_factory=dict)
    """By number."""


def registered(register: PeopleRegister, person: RegisteredPerson) -> PeopleRegister:
    """The register with a new person, whose number is `following`; a full one loses the person unseen for longest."""
    kept = dict(register.people)
    while len(kept) >= MOST_PEOPLE:
        kept = _without(kept, {min(kept.values(), key=lambda one: (one.last, one.number)).number})
    person = replace(person, number=register.following, beside=person.beside & kept.keys())
    return replace(register, following=register.following + 1, people={**kept, person.number: person})


def seen_again(person: RegisteredPerson, now: int, total: Vector, frames: int) -> RegisteredPerson:
    """A person after being seen again. total: sum of templates (e,) over so many more good frames, 0 or more."""
    last = max(person.last, now)
    if frames <= 0:
        return replace(person, last=last)
    mean = (person.frames * person.template + total) / (person.frames + frames)
    return replace(person, template=mean, frames=min(person.frames + frames, _HEAVIEST), last=last)


def unexpired(register: PeopleRegister, now: int, days: float) -> PeopleRegister:
    """The register of only those who were seen in the last `days`. A person whose last time is more than a day ahead of
    `now`, by a wrong clock, counts as seen now, and so is not kept for longer than the others."""
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
    """Those of the people seen beside a registered person who can be rivals of this person; no others need be noted.

    A template that is taken for the person is at most `accept` (times `likelier`) away from the person's, and a rival
    is at most `margin` farther away from that template.
    """
    own, reach = people[one].template, 2 * distances.accept * distances.likelier + distances.margin
    others = [number for number in beside if number in people and number != one]
    return frozenset(n for n in others if float(np.linalg.norm(people[n].template - own)) <= reach)


def with_neighbours(
    register: PeopleRegister, number: int, beside: Collection[int], distances: Distances
) -> PeopleRegister:
    """The register in which the possible rivals among the people seen beside a person are noted (`apart`)."""
    people = dict(register.people)
    for other in apart(people, number, beside, distances):
        people[number] = replace(people[number], beside=people[number].beside | {other})
        people[other] = replace(people[other], beside=people[other].beside | {number})
    return replace(register, people=people)


def meant(people: Mapping[int, RegisteredPerson], template: Vector, distances: Distances) -> int | None:
    """Number of the person, out of some, whom one template (e,) shows; None where that is not certain."""
    apart = {number: float(np.linalg.norm(one.template - template)) for number, one in people.items()}
    claims = [Claim(apart[number], 0, number) for number in apart if accepted(apart[number], 0.0, distances.accept)]

    def rivals(claim: Claim, taken: Set[int]) -> Iterable[float]:
        return (apart[other] for other in people[claim.person].beside - taken if other in apart)

    return settled(claims, rivals, distances.margin).get(0)
