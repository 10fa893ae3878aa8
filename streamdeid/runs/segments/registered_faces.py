"""The people of a register in a fully studied recording: all are recognised at once, and get the faces they had.

`runs.shared_people` does the same for streams, in which people come one after another. The rule is that of
`identity.claims`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.identity.claims import Claim, accepted, settled
from streamdeid.identity.register import Distances
from streamdeid.identity.registered import (
    PeopleRegister,
    RegisteredPerson,
    registered,
    seen_again,
    unexpired,
    with_neighbours,
)
from streamdeid.runs.register_file import RegisterFile
from streamdeid.runs.shared_people import ADDED, FROM_REGISTER, OTHERWISE
from streamdeid.surrogates.choice import Surrogate, Surrogates
from streamdeid.surrogates.sampling_numbers import of_run


@dataclass(frozen=True)
class WholePerson:
    """A person over a whole recording."""

    template: Points | None = field(repr=False)
    """Mean over all good frames, float64 (e,)."""
    frames: int
    """Number of good frames."""
    beside: frozenset[int]
    """Persons who were seen together with this one."""
    sure: bool
    """Whether it is certain that no other person of the recording is the same person."""


@dataclass(frozen=True)
class SharedRegister:
    """A register that a recording shares with others."""

    file: RegisterFile
    days: float
    """Days after which a person who was not seen again is forgotten."""
    clock: Callable[[], float] = time.time

    @contextlib.contextmanager
    def faces(
        self, people: Mapping[int, WholePerson], surrogates: Surrogates, distances: Distances
    ) -> Iterator[RegisteredFaces]:
        """Yields what gives people (by number) their surrogates. Meanwhile no other run can change the register, which
        is written at the end. Raises what `RegisterFile.opened` does."""
        now = int(self.clock())
        with self.file.opened() as (read, write):
            register = replace(unexpired(read, now, self.days), days=self.days)
            if register.people:
                surrogates.keep_apart_from(np.array([one.surrogate for one in register.people.values()]))
            found = RegisteredFaces(register, people, surrogates, distances, now)
            yield found
            if found.met or found.register.following > register.following:
                write(found.register)


class RegisteredFaces:
    """Gives everybody the registered surrogate, or one chosen now; adds new people to the register."""

    def __init__(
        self,
        register: PeopleRegister,
        people: Mapping[int, WholePerson],
        surrogates: Surrogates,
        distances: Distances,
        now: int,
    ) -> None:
        self.register = register
        self.met: dict[int, int] = {}
        """By person of the recording: the number in the register."""
        self._run: int | None = None
        self._people, self._surrogates, self._distances, self._now = people, surrogates, distances, now
        self._known, self._near = recognised_at_once(register.people, people, distances)

    def surrogate(self, person: int, y: Points) -> Surrogate:
        """The surrogate of a person with identity vector y (d,). Raises FailedClosed where there is none."""
        one = self._people[person]
        before = self.register.people.get(self._known.get(person, 0))  # a new person may have displaced the record
        if before is not None:
            return self._again(person, one, before, y)
        if person in self._surrogates:
            return self._surrogates.surrogate(person, y)
        number = self.register.following  # no other person gets this number: the same number gives the same face
        chosen = self._surrogates.surrogate(person, y, number)
        if one.template is None or not one.sure or person in self._near:
            self.register = replace(self.register, following=number + 1)
        else:
            new = RegisteredPerson(
                number=number,
                template=one.template,
                frames=one.frames,
                surrogate=chosen.vector,
                label=chosen.preserved,
                first=self._now,
                last=self._now,
            )
            self.register = registered(self.register, new)
            self._meet(person, new.number)
            self._surrogates.counts[ADDED] += 1
        return chosen

    def provisional(self, number: int) -> Surrogate:
        """The surrogate of a tracklet whose person is unknown, sampled with a number that no other run has. Raises
        FailedClosed where there is none."""
        if self._run is None:
            self._run = self.register.following
            self.register = replace(self.register, following=self._run + 1)
        return self._surrogates.provisional(of_run(self._run, number))

    def release(self, number: int) -> None:
        """Release the surrogate of a tracklet that is over."""
        if self._run is not None:
            self._surrogates.release(of_run(self._run, number))

    def forget(self, person: int) -> None:
        """Drop a person who will not come back."""
        self._surrogates.forget(person)

    def _again(self, person: int, one: WholePerson, before: RegisteredPerson, y: Points) -> Surrogate:
        assert one.template is not None
        after = seen_again(before, self._now, one.frames * one.template, one.frames)
        self.register = replace(self.register, people={**self.register.people, before.number: after})
        self._meet(person, before.number)
        given = self._surrogates.given(person, y, before.surrogate, before.label)
        self._surrogates.counts[OTHERWISE if given is None else FROM_REGISTER] += 1
        return self._surrogates.surrogate(person, y) if given is None else given

    def _meet(self, person: int, record: int) -> None:
        self.met[person] = record
        beside = [self.met[other] for other in self._people[person].beside if other in self.met]
        self.register = with_neighbours(self.register, record, beside, self._distances)


def recognised_at_once(
    records: Mapping[int, RegisteredPerson], people: Mapping[int, WholePerson], distances: Distances
) -> tuple[dict[int, int], set[int]]:
    """The record of each person who is recognised, a record for at most one person; and the persons with any record
    within `distances.reject`."""
    templates = {number: one.template for number, one in people.items() if one.template is not None}
    if not templates or not records:
        return {}, set()
    order = sorted(records)
    rows = np.array([records[record].template for record in order])
    apart = {number: np.linalg.norm(rows - template, axis=1) for number, template in templates.items()}
    near = {number for number, row in apart.items() if row.min() < distances.reject}
    claims = [
        Claim(distance, number, record)
        for number, row in apart.items()
        for distance, record in zip(row.tolist(), order, strict=True)
        if accepted(distance, 0.0, distances.accept)
    ]
    place_of = {record: place for place, record in enumerate(order)}

    def rivals(claim: Claim, taken: Set[int]) -> Iterable[float]:
        for record in records[claim.person].beside - taken:
            yield float(apart[claim.tracklet][place_of[record]])
        for other in people[claim.tracklet].beside & apart.keys():  # other persons who may be meant
            yield float(apart[other][place_of[claim.person]])

    return settled(claims, rivals, distances.margin), near
