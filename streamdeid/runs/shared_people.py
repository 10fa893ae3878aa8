"""The people of a register in one stream: they are recognised like people who come back, and get the face they had.

The people in the register count among the people who may come back (`identity.reentry`), by the same rule and
thresholds. A person who is certainly new is added to the register at once. This is done under the file's lock, after a
last check whether another run has just added the same person, so that a person who appears in several recordings at a
time is one person in the register. What a stream learns of people later is written at its end, and in a live run every
half minute.

A person whose registered face is too similar to a face in use in this stream gets another face here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.errors import FailedClosed, StreamdeidError
from streamdeid.identity.identity import Identity
from streamdeid.identity.reentry import Persons
from streamdeid.identity.register import Distances
from streamdeid.identity.registered import (
    PeopleRegister,
    RegisteredPerson,
    meant,
    registered,
    seen_again,
    unexpired,
    with_neighbours,
)
from streamdeid.runs.register_file import LONGEST, RegisterFile
from streamdeid.surrogates.choice import Surrogate, Surrogates
from streamdeid.surrogates.sampling_numbers import of_run

_EVERY = 30.0
"""Seconds between two times at which a live run writes what it learned to the register."""
_SOON = 1.0
"""Seconds for which a live run waits for the file, while its picture stands still."""
FROM_REGISTER, OTHERWISE, ADDED = "from the register", "registered face in use", "added to the register"
_log = logging.getLogger(__name__)


@dataclass
class _Link:
    """The link between a person of this stream and a record of the register."""

    record: int
    face: Points = field(repr=False)
    """The registered surrogate (d,)."""
    label: str
    total: Points = field(repr=False)
    """Sum of templates (e,) over the `frames` good frames that the register knows."""
    frames: int


class SharedPeople:
    """A register in one stream; it gives the stream its surrogates, as a `replace_faces.Choice`."""

    def __init__(
        self,
        file: RegisterFile,
        persons: Persons,
        surrogates: Surrogates,
        distances: Distances,
        days: float,
        *,
        live: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """file: exists and is checked. live: later errors of the file are logged and the stream goes on; else they are
        raised. Raises what `RegisterFile.read` does, live or not."""
        self._file, self._persons, self._surrogates = file, persons, surrogates
        self._distances, self._days, self._live, self._clock = distances, days, live, clock
        self._wait = _SOON if live else LONGEST
        self._links: dict[int, _Link] = {}
        """Links by person of this stream."""
        self._by_record: dict[int, int] = {}
        self._seen: set[int] = set()
        """Persons who were seen since the register was last told."""
        self._came: set[int] = set()
        """Persons who were seen in this stream."""
        self._gone: set[int] = set()
        """Persons whom another run took out of the register: they are not added again."""
        self._run: int | None = None
        """Number from the register that only this run has."""
        self._told = time.monotonic()
        self._take(self._current(file.read()))

    def refresh(self) -> None:
        """Read which people other runs added or took out since the last time."""
        if self._file.changed():
            self._tried(lambda: self._take(self._current(self._file.read())))

    def surrogate(self, person: int, y: Points) -> Surrogate:
        """The surrogate of a person with identity y (d,): the registered one, or one chosen now.

        Raises FailedClosed when there is none, and unless the stream is live what the file raises.
        """
        return self._face(person, y, None)

    def provisional(self, number: int) -> Surrogate:
        """The surrogate of a tracklet whose person is unknown. Raises as `surrogate`.

        It is sampled with a number that no other run has, since all runs number tracklets alike, and the same number
        gives the same face."""
        if self._run is None:
            self._tried(self._begin)
        if self._run is None:
            raise FailedClosed("the register did not say which numbers are free")
        return self._surrogates.provisional(self._of_run(number))

    def adopt(self, number: int, person: int, y: Points) -> Surrogate:
        """The surrogate of a person with identity y (d,) whose tracklet had a provisional one: the registered
        surrogate, or else the provisional one, which is then registered. Raises as `surrogate`."""
        return self._face(person, y, self._of_run(number))

    def release(self, number: int) -> None:
        """Release the surrogate of a tracklet that is over."""
        if self._run is not None:
            self._surrogates.release(self._of_run(number))

    def forget(self, person: int) -> None:
        """Drop a person of this stream who will not come back."""
        self._surrogates.forget(person)
        self._gone.discard(person)
        self._seen.discard(person)
        self._came.discard(person)

    def _face(self, person: int, y: Points, provisional: int | None) -> Surrogate:
        """As `surrogate`, or as `adopt` where `provisional` is the number of a provisional surrogate."""
        self._seen.add(person)
        self._came.add(person)
        if person not in self._links and person not in self._gone:
            self._tried(lambda: self._claim(person, y, provisional))
        if person not in self._links and person not in self._surrogates and provisional is None:
            self._tried(lambda: self._sample(person, y))
        link = self._links.get(person)
        if link is not None and person not in self._surrogates:
            given = self._surrogates.given(person, y, link.face, link.label)
            if given is not None:
                self._surrogates.counts[FROM_REGISTER] += 1
                return given
            self._surrogates.counts[OTHERWISE] += 1
        return self._chosen(person, y, provisional)

    def _chosen(self, person: int, y: Points, provisional: int | None, drawn: int | None = None) -> Surrogate:
        """A surrogate chosen now, or the provisional one. drawn: the number to sample with; None: the person's own."""
        if provisional is not None:
            return self._surrogates.adopt(provisional, person)
        return self._surrogates.surrogate(person, y, drawn)

    def _of_run(self, number: int) -> int:
        assert self._run is not None  # a provisional surrogate was sampled, so `_run` is set
        return of_run(self._run, number)

    def tell_in_time(self) -> None:
        """Call `tell` every half minute of a live run; to be called with each frame."""
        if self._live and time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            self.tell()

    def tell(self) -> None:
        """Write what was learned of the people to the register, and drop people who expired."""
        self._seen |= self._persons.present
        self._tried(self._exchange)

    def _tried(self, attempt: Callable[[], None]) -> None:
        try:
            attempt()
        except FailedClosed:
            raise
        except StreamdeidError as error:
            if not self._live:
                raise
            _log.warning("the register is left alone for now: %s", error)

    def _current(self, register: PeopleRegister) -> PeopleRegister:
        return unexpired(register, self._now, self._days)

    @property
    def _now(self) -> int:
        return int(self._clock())

    def _take(self, register: PeopleRegister) -> None:
        """Let the people of the register be recognised; a person who was taken out of it is not put back."""
        for record, person in list(self._by_record.items()):
            if record not in register.people:
                del self._by_record[record], self._links[person]
                self._gone.add(person)
                self._persons.release(person)
        new = [one for record, one in sorted(register.people.items()) if record not in self._by_record]
        for one in new:
            self._link(one, self._persons.remember(Identity(one.template, frames=one.frames)), one.frames)
        for one in new:
            self._persons.were_beside(self._by_record[one.number], (self._by_record[n] for n in one.beside))
        faces = [one.surrogate for one in register.people.values()]
        if faces:
            self._surrogates.keep_apart_from(np.array(faces))

    def _link(self, one: RegisteredPerson, person: int, told: int) -> None:
        """Link a record of the register to a person of this stream. told: frames that the register knows of."""
        self._links[person] = _Link(one.number, one.surrogate, one.label, told * one.template, told)
        self._by_record[one.number] = person
        self._persons.keep(person)

    def _claim(self, person: int, y: Points, provisional: int | None) -> None:
        """Find or make the record of a new person in the register, if it is certain who the person is."""
        known = self._persons.known(person)
        if known is None or not known[2] or known[0].vector is None:
            return
        template, beside, _ = known
        assert template.vector is not None
        with self._file.opened(self._wait) as (read, write):
            register = self._current(read)
            self._take(register)
            others = {n: one for n, one in register.people.items() if self._by_record[n] not in self._came}
            found = meant(others, template.vector, self._distances)
            if found is not None:  # another run added this person a moment ago
                self._persons.release(self._by_record[found])
                del self._links[self._by_record[found]]
                self._link(others[found], person, told=0)
                return
            chosen = self._chosen(person, y, provisional, register.following)
            one = RegisteredPerson(
                number=register.following,
                template=template.vector,
                frames=template.frames,
                surrogate=chosen.vector,
                label=chosen.preserved,
                first=self._now,
                last=self._now,
            )
            register = registered(replace(register, days=self._days), one)
            write(with_neighbours(register, one.number, self._records(beside), self._distances))
        self._link(one, person, one.frames)
        self._surrogates.counts[ADDED] += 1

    def _sample(self, person: int, y: Points) -> None:
        """Choose the surrogate of a person who is not in the register, with a number that no other person gets.

        All runs number persons alike, and the same number gives the same face."""
        self._surrogates.surrogate(person, y, self._free_number())

    def _begin(self) -> None:
        """Get a number from the register for this run alone."""
        self._run = self._free_number()

    def _free_number(self) -> int:
        """A number from the register that no other person or run gets."""
        with self._file.opened(self._wait) as (read, write):
            register = self._current(read)
            self._take(register)
            write(replace(register, following=register.following + 1))
        return register.following

    def _exchange(self) -> None:
        if not self._seen & self._links.keys():
            return
        told: list[tuple[_Link, Points, int]] = []
        with self._file.opened(self._wait) as (read, write):
            register = self._current(read)
            self._take(register)
            people = dict(register.people)
            for person in sorted(self._seen & self._links.keys()):
                link, known = self._links[person], self._persons.known(person)
                if known is None or known[0].vector is None:
                    continue
                total, frames = known[0].frames * known[0].vector, known[0].frames
                more, before = total - link.total, people[link.record]
                people[link.record] = seen_again(before, self._now, more, frames - link.frames)
                told.append((link, total, frames))
            register = replace(register, people=people, days=self._days)
            for person in sorted(self._seen & self._links.keys()):
                known = self._persons.known(person)
                beside = self._records(frozenset() if known is None else known[1])
                register = with_neighbours(register, self._links[person].record, beside, self._distances)
            write(register)
        for link, total, frames in told:
            if frames > link.frames:
                link.total, link.frames = total, frames
        self._seen.clear()

    def _records(self, persons: frozenset[int]) -> list[int]:
        """The numbers in the register of those of the persons who are in it."""
        return [self._links[person].record for person in persons if person in self._links]
