"""A register where all of a recording is known before anybody gets a face."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from streamdeid.identity.gathered import Gathered
from streamdeid.identity.registered import registered
from streamdeid.runs.register_file import RegisterFile
from streamdeid.runs.segments.cutting import cut_up
from streamdeid.runs.segments.deciding import Whole, decide
from streamdeid.runs.segments.registered_faces import SharedRegister, WholePerson, recognised_at_once
from streamdeid.runs.segments.study import Studied
from streamdeid.surrogates.choice import Surrogates, SurrogateSettings
from tests import simulated_faces
from tests.registers import KEY, NEAR, empty, of, place, somebody

pytest.importorskip("cryptography", reason="the extra `register` is not installed")

GALLERY = simulated_faces.gallery()
PEOPLE = simulated_faces.faces(40, seed=5)
SPANS = cut_up([Fraction(n) for n in range(10)], [0], 1, 10)


def person(number: int, off: float = 0.0, *beside: int, sure: bool = True) -> WholePerson:
    return WholePerson(place(number, off), 10, frozenset(beside), sure)


def test_each_record_is_for_the_nearest_and_each_person_for_one() -> None:
    people = {
        1: person(1, 0.6),
        2: person(1, 0.9),
        3: person(2),
        4: person(9),
        5: WholePerson(None, 0, frozenset(), False),
    }
    known, near = recognised_at_once(of(1, 1).people, people, NEAR)
    assert known == {1: 1, 3: 2} and near == {1, 2, 3}
    assert recognised_at_once({}, people, NEAR) == ({}, set())
    assert recognised_at_once(of(1).people, {5: people[5]}, NEAR) == ({}, set())


def test_who_could_as_well_be_a_neighbour_is_nobody_known() -> None:
    records = of(1)
    alike = replace(somebody(2), template=place(1, 1.3), beside=frozenset({1}))
    records = registered(records, alike)
    records = replace(records, people={**records.people, 1: replace(records.people[1], beside=frozenset({2}))})
    assert recognised_at_once(records.people, {1: person(1, 0.6)}, NEAR)[0] == {}
    assert recognised_at_once(records.people, {1: person(1, 0.3)}, NEAR)[0] == {1: 1}
    both = {1: person(1, 0.3, 2), 2: person(1, 1.3, 1)}  # each has the own
    assert recognised_at_once(records.people, both, NEAR)[0] == {1: 1, 2: 2}
    torn = {1: person(1, 0.3, 2), 2: person(1, -0.6, 1)}  # two at once, and one record for both
    assert recognised_at_once(of(1).people, torn, NEAR)[0] == {}


def recording(folder: Path, *people: int, off: float = 0.0, now: float = 1000) -> Whole:
    """What is decided of a recording in which these are in one picture."""
    studied = Studied(
        tracklets={n: Gathered(PEOPLE[number], place(number, off), 10) for n, number in enumerate(people, 1)},
        follows={},
        spans=dict.fromkeys(range(1, len(people) + 1), (0, 9)),
        together=frozenset((one, other) for other in range(1, len(people) + 1) for one in range(1, other)),
        at_start=[],
        after=[],
        most=(len(people), len(people)),
        cuts=0,
    )
    surrogates = Surrogates(GALLERY, simulated_faces.VARIANCES, SurrogateSettings(bank_size=512), KEY)
    file = RegisterFile(folder / "people", KEY)
    file.made(empty())
    shared = SharedRegister(file, 30.0, lambda: now)
    return decide(SPANS, [studied], NEAR, surrogates, reentry=True, rate=Fraction(1), register=shared)


def test_people_keep_their_faces_over_recordings(tmp_path: Path) -> None:
    first = recording(tmp_path, 1, 2)
    second = recording(tmp_path, 3, 2, 1, off=0.5, now=2000)
    faces = [
        {whose.number: one.vector.tobytes() for whose, one in whole.surrogates.items()} for whole in (first, second)
    ]
    assert faces[1][3] == faces[0][1] and faces[1][2] == faces[0][2]
    assert len(set(faces[1].values())) == 3
    register = RegisterFile(tmp_path / "people", KEY).read()
    assert register.people.keys() == {1, 2, 3}
    assert (register.people[1].first, register.people[1].last, register.people[1].frames) == (1000, 2000, 20)
    np.testing.assert_allclose(register.people[1].template, place(1, 0.25))


def test_who_is_near_to_somebody_or_not_sure_is_not_added(tmp_path: Path) -> None:
    recording(tmp_path, 1)
    faces = []
    for off in (1.5, -1.5):
        whole = recording(tmp_path, 1, off=off)
        faces += [one.vector.tobytes() for one in whole.surrogates.values()]
        assert RegisterFile(tmp_path / "people", KEY).read().people.keys() == {1}
    assert len(set(faces)) == 2  # each is the first person of a recording, and yet they do not share a face


def test_neighbours_who_are_alike_are_noted(tmp_path: Path) -> None:
    recording(tmp_path, 1, 2)
    file = RegisterFile(tmp_path / "people", KEY)
    assert not file.read().people[1].beside
    with file.opened() as (register, write):
        write(replace(register, people={**register.people, 2: replace(register.people[2], template=place(1, 2.4))}))
    shared = SharedRegister(file, 30.0, lambda: 3000)
    surrogates = Surrogates(GALLERY, simulated_faces.VARIANCES, SurrogateSettings(bank_size=512), KEY)
    with shared.faces({7: person(1, 0.0, 8), 8: person(1, 2.4, 7)}, surrogates, NEAR) as faces:
        for number in (7, 8):
            faces.surrogate(number, PEOPLE[number])
    people = file.read().people
    assert people[1].beside == {2} and people[2].beside == {1}
