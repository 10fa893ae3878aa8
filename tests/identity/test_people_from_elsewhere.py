"""People whom a register knows: recognised in a stream by the rule of those who left it and came back."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame
from streamdeid.identity.identity import Identity
from streamdeid.identity.reentry import Decision, Outcome, Persons
from streamdeid.identity.register import FUSED, PersonRegister, new_persons

FACE = Face((0, 0, 50, 50), 0.9)
ENOUGH, PATIENCE = 3, 6


def persons(**changes: float | bool) -> Persons:
    chosen = {"accept": 1.0, "reject": 2.0, "margin": 0.5, "enough": ENOUGH, "patience": PATIENCE, "shared": True}
    return Persons(**{**chosen, **changes})  # type: ignore[arg-type]


def showing(*numbers: int) -> list[Track]:
    return [Track(number, FACE.box, FACE, 0, False) for number in numbers]


def who(*values: float, frames: int = 10) -> Identity:
    return Identity(np.array(values), 0.0, frames)


def test_somebody_remembered_is_recognised_and_counts_as_back() -> None:
    known = persons()
    assert known.remember(who(0, 0)) == 1
    assert known.remember(who(10, 0)) == 2
    known.update(showing(7), Fraction(0))
    assert known.commit({7: who(10, 0.9, frames=ENOUGH - 1)}) == {7: Decision(None, Outcome.WAITING)}
    assert known.commit({7: who(10, 0.9, frames=ENOUGH)}) == {7: Decision(2, Outcome.RETURNED)}
    template, beside, sure = known.known(2) or (None, None, None)
    assert template is not None and template.vector is not None and template.frames == 10 + ENOUGH
    np.testing.assert_allclose(template.vector, (10, 0.9 * ENOUGH / (10 + ENOUGH)))
    assert beside == frozenset() and sure
    assert known.present == {2} and known.remembered == {2}


def test_nobody_is_new_before_enough_is_known() -> None:
    """Without a register the first who is alone is somebody new at once."""
    known = persons()
    known.update(showing(1), Fraction(0))
    assert known.commit({1: Identity(None, frames=99)}) == {1: Decision(None, Outcome.WAITING)}
    assert known.commit({1: who(0, 0, frames=PATIENCE - 1)})[1].outcome is Outcome.WAITING
    assert known.commit({1: who(0, 0, frames=PATIENCE)}) == {1: Decision(1, Outcome.NEW)}
    alone = persons(shared=False)
    alone.update(showing(1), Fraction(0))
    assert alone.commit({1: Identity(None, frames=1)})[1].outcome is Outcome.NEW


def test_who_is_in_the_picture_is_no_second_one_there() -> None:
    known = persons()
    known.remember(who(0, 0))
    known.update(showing(1), Fraction(0))
    assert known.commit({1: who(0, 0.1)})[1].person == 1
    known.update(showing(1, 2), Fraction(1))
    assert known.commit({2: who(0, 0.2)})[2] == Decision(2, Outcome.NEW)
    assert known.known(2) is not None and known.known(2)[1] == {1}  # type: ignore[index]


def test_one_in_the_reject_zone_of_somebody_remembered_is_not_sure() -> None:
    known = persons()
    known.remember(who(0, 0))
    known.update(showing(1), Fraction(0))
    assert known.commit({1: who(0, 1.5)})[1].outcome is Outcome.UNCERTAIN
    assert known.known(2) is not None and not known.known(2)[2]  # type: ignore[index]


def test_two_who_were_seen_together_elsewhere_need_the_margin() -> None:
    for beside in (False, True):
        known = persons()
        one, other = known.remember(who(0, 0)), known.remember(who(0, 1.2))
        if beside:
            known.were_beside(one, [other])
        known.update(showing(1), Fraction(0))
        decision = known.commit({1: who(0, 0.5)})[1]
        assert decision == (Decision(3, Outcome.UNCERTAIN) if beside else Decision(1, Outcome.RETURNED))


def test_who_is_registered_is_not_forgotten_until_released() -> None:
    known = persons(ttl=10.0)
    kept = known.remember(who(0, 0))
    known.update(showing(1, 2), Fraction(0))
    assert known.commit({1: who(0, 0), 2: who(10, 0)})[1].person == kept
    known.keep(2)
    known.update([], Fraction(1))
    known.update([], Fraction(5000))
    assert known.forgotten() == frozenset() and known.remembered == frozenset()
    assert known.known(2) is not None and known.known(2)[2]  # type: ignore[index]
    known.update(showing(3), Fraction(5001))
    assert known.commit({3: who(10, 0.1)})[3] == Decision(2, Outcome.RETURNED)
    known.release(2)
    assert known.person_of(3) == 2  # as long as he is there
    known.release(1)
    assert known.forgotten() == {1}
    assert known.known(2)[1] == frozenset()  # type: ignore[index]
    known.update([], Fraction(5002))
    known.update([], Fraction(9999))
    assert known.forgotten() == {2}
    known.update(showing(4), Fraction(10000))
    assert known.commit({4: who(0, 0)})[4] == Decision(3, Outcome.NEW)


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=5),
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=4),
)
@settings(max_examples=200, deadline=None)
def test_the_rule_is_that_of_those_who_left(
    before: list[tuple[float, float]], after: list[tuple[float, float]]
) -> None:
    """Somebody remembered from elsewhere and somebody who was here and left, one after another, are treated alike."""
    left, told = persons(), persons()
    for number, place in enumerate(before, start=1):
        left.update(showing(100 + number), Fraction(number))
        decision = left.commit({100 + number: who(*place)})[100 + number]
        if decision.person != len(told._elsewhere._people) + 1:
            return  # two of them are alike: they are one already
        told.remember(who(*place))
        left.update([], Fraction(number) + Fraction(1, 2))
    tracks = {number: who(*place) for number, place in enumerate(after, start=1)}
    for known in (left, told):
        known.update(showing(*tracks), Fraction(90))
    assert left.commit(tracks) == told.commit(tracks)


def test_a_template_of_another_recogniser_is_refused() -> None:
    known = persons()
    known.remember(who(0, 0))
    with pytest.raises(ValueError, match="fits no other"):
        known.remember(who(0, 0, 0))
    with pytest.raises(ValueError, match="fits no other"):
        known.remember(Identity(None))


class _Elsewhere:
    def __init__(self, persons: Persons) -> None:
        self.persons, self.told, self.asked = persons, 0, 0

    def refresh(self) -> None:
        self.asked += 1
        if self.asked == 1:
            self.persons.remember(Identity(np.array([0.0, 0.0]), frames=9))

    def tell_in_time(self) -> None:
        self.told += 1


def test_a_register_is_asked_before_anybody_is_named(model: object) -> None:
    known = new_persons(reentry=True, shared=True)
    elsewhere = _Elsewhere(known)
    register = PersonRegister(known, elsewhere)
    frame: Frame = None  # type: ignore[assignment]
    register.update(type("Empty", (), {"time": Fraction(0)})(), showing(1))  # type: ignore[arg-type]
    assert register.commit_together({1: (None, 30)}) == {1: None}
    assert elsewhere.asked == 0 and elsewhere.told == 1 and frame is None
    assert register.commit_together({1: (np.array([0.0, FUSED.accept / 2]), 30)}) == {1: 1}
    assert elsewhere.asked == 1
    assert register.commit_together({1: (np.array([0.0, 0.0]), 30)}) == {1: 1}
    assert elsewhere.asked == 1  # only where somebody is not known yet
