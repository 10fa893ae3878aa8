"""A register in streams: one face over runs, runs beside each other, forgetting, and a file that fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.faces import Face, Track
from streamdeid.core.file_lock import locked
from streamdeid.errors import FailedClosed, InputError, OutputError
from streamdeid.identity.identity import Identity
from streamdeid.identity.reentry import Outcome, Persons
from streamdeid.identity.registered import PeopleRegister, without
from streamdeid.runs import shared_people
from streamdeid.runs.register_file import RegisterFile
from streamdeid.runs.shared_people import ADDED, FROM_REGISTER, OTHERWISE, SharedPeople
from streamdeid.surrogates.choice import Surrogate, Surrogates, SurrogateSettings
from tests import simulated_faces
from tests.registers import DAY, KEY, NEAR, empty, place

pytest.importorskip("cryptography", reason="the extra `register` is not installed")

GALLERY = simulated_faces.gallery()
PEOPLE = simulated_faces.faces(40, seed=5)
NOW = 1_000_000
FACE = Face((0, 0, 50, 50), 0.9)
FRAMES = 10


@dataclass
class Run:
    """One stream with a register: people by the numbers of `tests.registers.place`, tracks by the same."""

    persons: Persons
    surrogates: Surrogates
    shared: SharedPeople
    time: int = 0

    def shows(self, *people: int, off: float = 0.0, frames: int = FRAMES) -> dict[int, Surrogate]:
        """All of these in one picture for long enough to be known, and then nobody; the face of each."""
        self.time += 10
        tracks = {1000 * self.time + number: number for number in people}
        shown = [Track(track, FACE.box, FACE, 0, False) for track in tracks]
        self.persons.update(shown, Fraction(self.time))
        self.shared.refresh()
        known = {track: Identity(place(number, off), 0.0, frames) for track, number in tracks.items()}
        faces = {}
        for track, decision in self.persons.commit(known).items():
            assert decision.person is not None
            faces[tracks[track]] = self.shared.surrogate(decision.person, PEOPLE[tracks[track]])
        self.persons.update([], Fraction(self.time + 1))
        return faces


Start = Callable[..., Run]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Begins a run with the test's register."""

    def begin(*, now: int = NOW, days: float = 30.0, live: bool = False, key: bytes = KEY) -> Run:
        persons = Persons(accept=1.0, reject=2.0, margin=0.5, enough=3, patience=6, shared=True, ttl=600.0)
        surrogates = Surrogates(GALLERY, simulated_faces.VARIANCES, SurrogateSettings(bank_size=512), key)
        file = RegisterFile(tmp_path / "people", KEY)
        file.made(empty(days))
        return Run(
            persons, surrogates, SharedPeople(file, persons, surrogates, NEAR, days, live=live, clock=lambda: now)
        )

    return begin


def inside(folder: Path) -> PeopleRegister:
    return RegisterFile(folder / "people", KEY).read()


def vector(one: Surrogate) -> NDArray[np.float64]:
    return one.vector


def test_people_keep_their_faces_over_runs_to_the_bit(start: Start, tmp_path: Path) -> None:
    first = start()
    faces = first.shows(1, 2) | first.shows(3)
    first.shared.tell()
    assert first.surrogates.counts[ADDED] == 3 and len(inside(tmp_path).people) == 3
    second = start()
    again = second.shows(3, 4) | second.shows(2, off=0.5) | second.shows(1)
    for number in (1, 2, 3):
        assert vector(again[number]).tobytes() == vector(faces[number]).tobytes()
        assert again[number].beard == faces[number].beard
    assert second.surrogates.counts[FROM_REGISTER] == 3 and second.surrogates.counts[ADDED] == 1
    assert second.persons.counts[Outcome.RETURNED] == 3
    assert len({vector(one).tobytes() for one in again.values()}) == 4


def test_who_is_not_certain_is_not_added(start: Start, tmp_path: Path) -> None:
    run = start()
    run.shows(1)
    run.shows(1, off=1.5)  # in the reject zone: somebody new, or the same
    run.persons.update([Track(9, FACE.box, FACE, 0, False)], Fraction(100))
    unseen = run.persons.commit_unseen(9)
    run.shared.surrogate(unseen, PEOPLE[9])
    run.shared.tell()
    assert len(inside(tmp_path).people) == 1 and len(run.surrogates) == 3


def test_who_is_not_in_it_shares_no_face_with_others(start: Start, tmp_path: Path) -> None:
    """Persons are numbered alike in all runs, and one key draws the same face for the same number."""
    start().shows(1)
    faces = [vector(start().shows(1, off=off)[1]).tobytes() for off in (1.5, -1.5, 1.4)]
    assert len({*faces, inside(tmp_path).people[1].surrogate.tobytes()}) == 4
    assert inside(tmp_path).people.keys() == {1}


def test_runs_beside_each_other_make_one_of_one_and_two_of_two(start: Start, tmp_path: Path) -> None:
    """Both begin with nobody; the same key would give the first person of each the same face."""
    one, other = start(), start()
    first = one.shows(1)
    other.shared.refresh = lambda: None  # type: ignore[method-assign]  # the moment before it would have noticed
    second = other.shows(2, 1)
    assert vector(second[1]).tobytes() == vector(first[1]).tobytes()
    assert vector(second[2]).tobytes() != vector(first[1]).tobytes()
    assert len(inside(tmp_path).people) == 2
    one.shows(2)
    assert one.persons.counts[Outcome.RETURNED] == 1
    for run in (one, other):
        run.shared.tell()
    assert inside(tmp_path).people[1].frames == 2 * FRAMES  # of both
    np.testing.assert_allclose(inside(tmp_path).people[1].template, place(1))


def test_what_is_learned_is_told_once_and_by_all(start: Start, tmp_path: Path) -> None:
    one, other = start(), start(now=NOW + 50)
    one.shows(1)
    other.shows(1, off=0.4, frames=30)
    for _ in range(2):
        other.shared.tell()
        one.shared.tell()
    person = inside(tmp_path).people[1]
    assert person.frames == FRAMES + 30 and (person.first, person.last) == (NOW, NOW + 50)
    np.testing.assert_allclose(person.template, place(1, 0.4 * 30 / (FRAMES + 30)), atol=1e-6)


def test_who_was_only_known_is_not_touched(start: Start, tmp_path: Path) -> None:
    start().shows(1)
    later = start(now=NOW + DAY)
    before = (tmp_path / "people").read_bytes()
    later.shared.tell()
    assert (tmp_path / "people").read_bytes() == before
    later.shows(2)
    later.shared.tell()
    assert inside(tmp_path).people[1].last == NOW and inside(tmp_path).people[2].last == NOW + DAY


def test_a_face_that_is_in_use_goes_to_nobody_else(start: Start, tmp_path: Path) -> None:
    run = start()
    face = run.shows(1)[1]
    with RegisterFile(tmp_path / "people", KEY).opened() as (register, write):
        (person,) = register.people.values()
        twin = replace(person, number=2, template=place(2))  # as two crowded runs may leave it
        write(replace(register, following=3, people={1: person, 2: twin}))
    later = start()
    both = later.shows(1, 2)
    assert vector(both[1]).tobytes() == vector(face).tobytes()
    assert vector(both[2]).tobytes() != vector(face).tobytes()
    assert later.surrogates.counts[OTHERWISE] == 1
    assert later.shows(2)[2] is both[2]
    later.shared.tell()
    np.testing.assert_array_equal(inside(tmp_path).people[2].surrogate, face.vector)  # for runs that 1 is not in


def test_new_faces_keep_apart_from_those_of_people_who_are_not_here(start: Start) -> None:
    first = start()
    faces = [vector(one) for number in range(1, 7) for one in first.shows(number).values()]
    second = start()
    new = [vector(one) for number in range(7, 13) for one in second.shows(number).values()]
    apart = min(float(np.linalg.norm(a - b)) for a in faces for b in new)
    assert apart >= second.surrogates.limits.separation


def test_who_is_taken_out_is_not_put_in_again(start: Start, tmp_path: Path) -> None:
    run = start()
    face = run.shows(1)[1]
    with RegisterFile(tmp_path / "people", KEY).opened() as (register, write):
        write(without(register, {1}))
    assert run.shows(1)[1] is face  # until this run has forgotten him as anybody else
    run.shared.tell()
    assert inside(tmp_path).people == {}
    again = start().shows(1)[1]
    assert len(inside(tmp_path).people) == 1 and inside(tmp_path).following == 3
    assert again.vector.shape == face.vector.shape


def test_who_was_not_seen_for_days_is_forgotten(start: Start, tmp_path: Path) -> None:
    start(days=2.0).shows(1)
    later = start(now=NOW + 2 * DAY + 1, days=2.0)
    later.shows(2)
    assert later.persons.counts[Outcome.RETURNED] == 0
    assert inside(tmp_path).people.keys() == {2}
    assert start(now=NOW + DAY, days=2.0).shows(1) and inside(tmp_path).days == 2.0


def test_neighbours_who_are_alike_are_noted(start: Start, tmp_path: Path) -> None:
    run = start()
    run.shows(1)
    run.shows(3)
    run.time += 10
    shown = [Track(number, FACE.box, FACE, 0, False) for number in (71, 72, 73)]
    run.persons.update(shown, Fraction(run.time))
    alike = {71: place(1), 72: place(1, 2.3), 73: place(3)}
    for track, decision in run.persons.commit({t: Identity(v, 0.0, FRAMES) for t, v in alike.items()}).items():
        assert decision.person is not None
        run.shared.surrogate(decision.person, PEOPLE[track - 60])
    run.shared.tell()
    people = inside(tmp_path).people
    assert {number: set(one.beside) for number, one in people.items()} == {1: {3}, 2: set(), 3: {1}}
    later = start()
    later.time = 500
    later.persons.update([Track(1, FACE.box, FACE, 0, False)], Fraction(0))
    torn = later.persons.commit({1: Identity(place(1, 1.0), 0.0, FRAMES)})[1]
    assert torn.outcome is Outcome.UNCERTAIN  # 1.0 from one, 1.3 from the other, who was seen beside him


def test_a_register_that_fails_ends_a_run_on_a_file(start: Start, tmp_path: Path) -> None:
    run = start()
    run.shows(1)
    (tmp_path / "people").write_bytes(b"no register")
    with pytest.raises(InputError, match="not a register"):
        run.shows(2)
    with pytest.raises(InputError, match="not a register"):
        run.shared.tell()


def test_a_camera_goes_on_without_it(start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = start(live=True)
    face = run.shows(1)[1]
    whole = (tmp_path / "people").read_bytes()
    (tmp_path / "people").write_bytes(b"no register")
    with caplog.at_level(logging.WARNING):
        assert run.shows(2, 1)[1] is face
        run.shared.tell()
    assert "left alone for now" in caplog.text
    assert (tmp_path / "people").read_bytes() == b"no register"
    (tmp_path / "people").write_bytes(whole)
    run.shows(2)
    assert len(inside(tmp_path).people) == 2  # as soon as it can be had


def test_what_could_not_be_told_is_told_later(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(live=True)
    run.shows(1)
    run.shows(1, off=0.4, frames=30)
    with monkeypatch.context() as full:
        full.setattr(RegisterFile, "_write", _no_space)
        run.shared.tell()
    assert inside(tmp_path).people[1].frames == FRAMES
    run.shared.tell()
    assert inside(tmp_path).people[1].frames == FRAMES + 30


def _no_space(*_: object) -> None:
    raise OutputError("people cannot be written: no space left on device")


def test_a_camera_does_not_stand_still_for_a_register(start: Start, tmp_path: Path) -> None:
    run = start(live=True)
    with locked(tmp_path / "people", "taken"):
        begun = time.monotonic()
        assert run.shows(1)[1].vector.shape == PEOPLE[0].shape
        assert time.monotonic() - begun < 3
    assert inside(tmp_path).people == {}
    run.shows(1)
    assert len(inside(tmp_path).people) == 1


def test_a_camera_tells_every_half_minute(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(shared_people.time, "monotonic", lambda: clock[0])
    runs = {live: start(live=live) for live in (True, False)}
    told: list[bool] = []
    for live, run in runs.items():
        run.shared.tell = lambda live=live: told.append(live)  # type: ignore[misc]
    for seconds in (0.0, 29.0, 30.0, 31.0, 59.0, 60.0):
        clock[0] = seconds
        for run in runs.values():
            run.shared.tell_in_time()
    assert told == [True, True]


def test_who_gets_no_face_is_not_added(start: Start, tmp_path: Path) -> None:
    run = start()
    run.persons.update([Track(1, FACE.box, FACE, 0, False)], Fraction(0))
    person = run.persons.commit({1: Identity(place(1), 0.0, FRAMES)})[1].person
    assert person is not None
    with pytest.raises(FailedClosed):
        run.shared.surrogate(person, np.full_like(PEOPLE[0], np.nan))
    assert inside(tmp_path).people == {}


def test_a_face_of_other_models_is_refused(start: Start) -> None:
    run = start()
    with pytest.raises(FailedClosed, match="none of these models"):
        run.surrogates.given(1, PEOPLE[0], np.zeros(3), "")
    with pytest.raises(FailedClosed, match="none of these models"):
        run.surrogates.given(1, PEOPLE[0], np.zeros_like(PEOPLE[0]), "nobody's class")
