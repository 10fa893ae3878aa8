"""A register's people: who is added, updated, forgotten and meant; its bytes, and bytes that are none."""

from __future__ import annotations

import contextlib
import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.analysis.strict_json import Unfit
from streamdeid.identity import registered as module
from streamdeid.identity.register_coding import decoded, encoded
from streamdeid.identity.registered import (
    PeopleRegister,
    RegisteredPerson,
    apart,
    meant,
    registered,
    seen_again,
    unexpired,
    without,
)
from tests.registers import DAY, NEAR, empty, face, of, place, somebody


def test_a_number_is_never_given_twice() -> None:
    register = without(of(1, 1, 1), {3})
    assert registered(register, somebody(9)).people.keys() == {1, 2, 4}


def test_a_full_register_forgets_who_was_not_seen_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PEOPLE", 3)
    register = of(30, 10, 20)
    register = replace(register, people={**register.people, 1: replace(register.people[1], beside=frozenset({2, 3}))})
    full = registered(register, somebody(4, 40))
    assert full.people.keys() == {1, 3, 4}
    assert full.people[1].beside == {3}


def test_a_template_is_the_mean_over_all_frames() -> None:
    one = seen_again(somebody(1), 2000, 8 * place(1, 4.0), 8)
    assert one.frames == 32 and one.last == 2000 and one.first == 500
    np.testing.assert_allclose(one.template, (24 * place(1) + 8 * place(1, 4.0)) / 32)
    assert seen_again(one, 1500, np.zeros(3), 0) == one  # a clock that is behind takes nothing back
    old = replace(somebody(1), frames=1000)
    assert seen_again(old, 2000, 500 * place(1), 500).frames == 1000  # so that it still follows


def test_who_was_not_seen_for_so_many_days_is_forgotten() -> None:
    now = 100 * DAY
    register = of(now - 30 * DAY, now - 30 * DAY - 1, now + 5 * DAY)
    left = unexpired(register, now, 30.0)
    assert left.people.keys() == {1, 3}
    assert left.people[3].last == now  # a clock that was ahead keeps nobody for longer
    assert unexpired(left, now + 31 * DAY, 30.0).people == {}


def test_who_is_meant_follows_the_rule_of_those_who_come_back() -> None:
    people = dict(of(1, 1).people)
    assert meant(people, place(1, 0.9), NEAR) == 1
    assert meant(people, place(1, 1.1), NEAR) is None
    assert meant({}, place(1), NEAR) is None
    people[3] = replace(somebody(3), template=place(1, 1.3))
    assert meant(people, place(1, 0.6), NEAR) == 1  # the nearest
    people[1] = replace(people[1], beside=frozenset({3}))
    assert meant(people, place(1, 0.6), NEAR) is None  # .6 from one, .7 from somebody who is surely another
    assert meant(people, place(1, 0.2), NEAR) == 1


def test_only_the_alike_are_noted_as_neighbours() -> None:
    people = dict(of(1, 1, 1).people)
    people[3] = replace(people[3], template=place(1, 2.4))
    assert apart(people, 1, {1, 2, 3, 77}, NEAR) == {3}


# Bytes

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=20)


@st.composite
def registers(draw: st.DrawFn) -> PeopleRegister:
    numbers = sorted(draw(st.sets(st.integers(1, 10**6), max_size=5)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    people = {}
    for number in numbers:
        last = draw(st.integers(0, 1 << 40))
        people[number] = RegisteredPerson(
            number,
            rng.normal(size=128).astype(np.float32).astype(np.float64),
            draw(st.integers(1, 1000)),
            rng.normal(size=161),
            draw(_TEXT),
            draw(st.integers(0, last)),
            last,
            frozenset(draw(st.sets(st.sampled_from(numbers)))),
        )
    made_by = draw(st.dictionaries(_TEXT, _TEXT, max_size=3))
    return PeopleRegister(made_by, draw(st.floats(0.01, 3650)), max(numbers, default=0) + 1, people)


def plain(register: PeopleRegister) -> object:
    rows = [
        (n, one.template.tolist(), one.frames, one.surrogate.tolist(), one.label, one.first, one.last, one.beside)
        for n, one in register.people.items()
    ]
    return dict(register.made_by), register.days, register.following, rows


@given(registers())
@settings(max_examples=60, deadline=None)
def test_bytes_tell_the_same_register(register: PeopleRegister) -> None:
    assert plain(decoded(encoded(register))) == plain(register)


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(Unfit) as caught:
        decoded(data)
    assert "\n" not in str(caught.value)


@given(st.integers(0, 10**6), st.integers(0, 255), st.booleans())
@settings(max_examples=400, deadline=None)
def test_changed_bytes_are_refused_or_make_sense(place: int, value: int, cut: bool) -> None:
    data = bytearray(encoded(of(1, 2, 3)))
    place %= len(data)
    if cut:
        with pytest.raises(Unfit):
            decoded(bytes(data[:place]))
        return
    data[place] = value
    with contextlib.suppress(Unfit):
        register = decoded(bytes(data))
        assert plain(decoded(encoded(register))) == plain(register)


def _with(**changes: object) -> bytes:
    data = encoded(of(1, 2))
    (length,) = struct.unpack_from("<I", data)
    head = {**json.loads(data[4 : 4 + length]), **changes}
    text = json.dumps(head).encode()
    return struct.pack("<I", len(text)) + text + data[4 + length :]


@pytest.mark.parametrize(
    "changes",
    [
        {"days": 0},
        {"days": -1},
        {"days": "30"},
        {"following": 2},
        {"template": 4},
        {"template": 10**9},
        {"people": []},
        {"people": [{}] * 10_000},
        {"made_by": {"k": 5}},
        {"made_by": []},
        {"more": 1},
    ],
    ids=str,
)
def test_a_head_that_does_not_fit_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(Unfit):
        decoded(_with(**changes))


@pytest.mark.parametrize(
    "change",
    [
        {"number": 0}, {"number": 2}, {"number": True}, {"frames": 0}, {"last": -1}, {"first": 1001, "last": 1000},
        {"label": 3}, {"beside": [7]}, {"beside": 1}, {"last": 1 << 60},
    ],
    ids=str,
)  # fmt: skip
def test_a_person_who_does_not_fit_is_refused(change: dict[str, object]) -> None:
    first = {"number": 1, "frames": 24, "label": "", "first": 1, "last": 1, "beside": []}
    with pytest.raises(Unfit):
        decoded(_with(people=[{**first, **change}, {**first, "number": 2}]))


def test_vectors_that_are_no_numbers_are_refused() -> None:
    for value in (np.nan, np.inf, 1e30):
        one = replace(somebody(1), surrogate=np.array([0.0, value]))
        with pytest.raises(Unfit, match="no numbers"):
            decoded(encoded(registered(empty(), one)))


def test_nothing_biometric_is_in_a_repr() -> None:
    register = of(1)
    told = repr(register)
    assert "template" not in told and "surrogate" not in told
    assert str(face(1)[0]) not in told
