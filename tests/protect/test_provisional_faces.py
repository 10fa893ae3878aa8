"""Everybody who surely has a face shows one from the first frame, and nobody another's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.errors import FailedClosed
from streamdeid.identity.looks import Break, BreakCause
from streamdeid.protect.plan import settled
from streamdeid.protect.provisional_faces import ProvisionalFaces
from streamdeid.render.new_face import NewFace
from tests import drawn_faces
from tests.filmed import OWN, POSED, SOFT, Choice, Drawn, Filmed, Judged, Vector, bared, drawer, levels, track, two


class Blind(Choice):
    """Gives tracklets of nobody known a face of their own, and notes what it was asked."""

    def __init__(self, model: AppearanceModel, refused: bool = False) -> None:
        super().__init__(model)
        self._none = refused
        self.shown: dict[int, Vector] = {}
        self.told: list[tuple[str, int, int]] = []

    def provisional(self, number: int) -> Vector:
        self.told.append(("provisional", number, 0))
        if self._none:
            raise FailedClosed("none is free")
        self.shown[number] = Vector(drawn_faces.some_identity(self._model, 700 + number, 0.8))
        return self.shown[number]

    def adopt(self, number: int, person: int, y: Points) -> Vector:
        self.told.append(("adopt", number, person))
        return self.shown[number]

    def release(self, number: int) -> None:
        self.told.append(("release", number, 0))


class Provisional(Filmed):
    """The same filter with such a choice."""

    def __init__(self, fitting: FitModel, *, refused: bool = False, **options: Any) -> None:
        super().__init__(fitting, **options)
        self.choice = Blind(fitting.model, refused)
        replaced = type(self.filter)(fitting, self.choice, self.filter._faces.check._register, **options)  # type: ignore[union-attr]
        self.filter = replaced

    def vectors(self, planes: Any, *tracks: Any) -> dict[int, Points | None]:
        """What the next frame shows of each track."""
        pending = self.observe(planes, *tracks)
        plans = self.plans(pending, tracks)
        self.filter.render(pending, plans)
        return {plan.track.number: None if plan.face is None else plan.face.vector for plan in plans}


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def test_among_others_a_face_is_shown_from_the_first_frame_and_kept(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    tracks = track(left.face), track(both.face, 2)
    first = filmed.show(both.planes, *tracks)
    assert [(one.level, one.person) for one in first.redactions] == [(OWN, 0), (OWN, 0)]
    shown = [filmed.vectors(both.planes, *tracks) for _ in range(12)]
    for number in (1, 2):
        assert all(np.array_equal(one[number], filmed.choice.shown[number].vector) for one in shown), (
            "no change is seen"
        )
    last = filmed.show(both.planes, *tracks)
    assert {one.track: (one.level, one.person) for one in last.redactions} == {1: (OWN, 1), 2: (OWN, 2)}
    assert not filmed.causes and len(filmed.filter.vectors()) == 2
    assert [one for one in filmed.choice.told if one[0] != "release"] == [
        ("provisional", 1, 0), ("provisional", 2, 0), ("adopt", 1, 1), ("adopt", 2, 2),
    ]  # fmt: skip


def test_with_a_look_ahead_nobody_is_shown_before_he_is_known(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    tracks = track(left.face), track(both.face, 2)
    frames = [filmed.observe(both.planes, *tracks) for _ in range(13)]
    done = filmed.publish(frames[0], tracks)
    assert {one.track: (one.level, one.person) for one in done.redactions} == {1: (OWN, 1), 2: (OWN, 2)}
    assert not filmed.choice.told


def test_what_is_no_face_shows_none(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    hand = replace(both.face, evidence=0.2)
    done = filmed.show(both.planes, track(left.face), track(hand, 2), times=3)
    assert levels(done)[2] == SOFT and ("provisional", 2, 0) not in filmed.choice.told
    assert levels(filmed.show(both.planes, track(left.face, 3), track(both.face, 2)))[2] == OWN
    done = filmed.show(both.planes, track(left.face, 3), track(hand, 2))
    assert levels(done)[2] == OWN, "one that was surely a face goes on with it"


def test_who_was_never_seen_without_doubt_shows_a_face_that_nobody_keeps(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    in_doubt = track(left.face, ambiguous=True), track(both.face, 2)
    assert filmed.vectors(both.planes, *in_doubt)[1] is not None
    shown = filmed.choice.shown[1].vector
    filmed.show(both.planes, track(left.face), track(both.face, 2), times=30)
    assert ("release", 1, 0) in filmed.choice.told and ("adopt", 1, 1) not in filmed.choice.told
    after = filmed.vectors(both.planes, track(left.face), track(both.face, 2))[1]
    assert after is not None and not np.array_equal(after, shown)


def test_who_is_known_shows_none_in_a_doubt(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    assert levels(filmed.show(both.planes, track(left.face), track(both.face, 2), times=30))[1] == OWN
    done = filmed.show(both.planes, track(left.face, ambiguous=True), track(both.face, 2))
    assert levels(done) == {1: SOFT, 2: OWN}


def test_a_doubt_of_half_a_second_shows_a_strange_face_on_the_way_back_to_the_own_one(
    fitting: FitModel, drawn: Drawn
) -> None:
    """Live: as long as nobody knows how long it lasts, nothing is shown."""
    left, _ = two(drawn)
    filmed = Provisional(fitting, judge=Judged())
    clear, unclear = (track(left.face, ambiguous=doubt) for doubt in (False, True))
    filmed.show(left.planes, clear, times=30)
    own = filmed.vectors(left.planes, clear)[1]
    assert own is not None
    for _ in range(2):
        doubts = [filmed.vectors(left.planes, unclear)[1] for _ in range(20)]
        assert [one is None for one in doubts] == [True] * 13 + [False] * 7, "25 frames a second"
        strange = filmed.choice.shown[1].vector
        assert all(np.array_equal(one, strange) for one in doubts[13:]) and not np.array_equal(strange, own)
        after = [filmed.vectors(left.planes, clear)[1] for _ in range(12)]
        away = [float("nan") if one is None else np.linalg.norm(one - own) for one in after]
        assert away[1] > away[5] > away[9] > 0 and away[11] == 0, "over four tenths of a second"
    assert [what for what, *_ in filmed.choice.told if what != "release"] == ["provisional"], "the same twice"
    assert filmed.filter.replaced == 0, "nobody was tested"
    filmed.show(left.planes)
    state = filmed.filter._provisional
    assert not (state._shown or state._doubts or state._lent or state._over or state._unclear)
    assert filmed.choice.told[-1] == ("release", 1, 0)


def test_who_kept_the_face_that_he_began_with_has_none_for_a_doubt(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting, judge=Judged())
    filmed.show(both.planes, track(left.face), track(both.face, 2), times=30)
    assert ("adopt", 1, 1) in filmed.choice.told
    doubts = [filmed.vectors(both.planes, track(left.face, ambiguous=True), track(both.face, 2)) for _ in range(20)]
    assert all(one[1] is None and one[2] is not None for one in doubts)


def test_who_was_lost_in_a_long_doubt_is_forgotten_too() -> None:
    """Nothing was shown of him, and the doubt is over: only that he may be shown one is known."""
    faces = ProvisionalFaces(None)
    assert faces.lasting(1, Fraction(0), Fraction(1)) and not faces.lasting(1, Fraction(2), None)
    faces.forget(frozenset({1}))
    assert faces._lent == {1}
    faces.forget(frozenset())
    assert not faces._lent


@pytest.mark.parametrize(("doubtful", "shown"), [(12, False), (15, True)])
def test_with_a_look_ahead_a_long_doubt_shows_it_from_its_first_frame(
    doubtful: int, shown: bool, fitting: FitModel, drawn: Drawn
) -> None:
    left, _ = two(drawn)
    filmed = Provisional(fitting, judge=Judged())
    clear, unclear = ([track(left.face, ambiguous=doubt)] for doubt in (False, True))
    filmed.show(left.planes, *clear, times=30)
    frames = [filmed.observe(left.planes, *(unclear if n < doubtful else clear)) for n in range(25)]
    plans = settled(filmed.filter, frames, unclear)
    again = settled(filmed.filter, frames, unclear)
    assert (plans[0].face is not None) == (again[0].face is not None) == shown
    assert plans[0].person == 0, "it is nobody's"


@pytest.mark.parametrize("before", [False, True])
def test_a_long_doubt_poses_only_who_was_posed_before(fitting: FitModel, drawn: Drawn, before: bool) -> None:
    """The light on others is not known, and half a head behind another one tells none."""
    left, _ = two(drawn)
    filmed = Provisional(fitting, judge=Judged())
    assert levels(filmed.show(left.planes, track(left.face), times=30)) == {1: OWN}
    if before:
        assert levels(filmed.show(left.planes, track(bared(left)), times=3)) == {1: POSED}
    done = filmed.show(left.planes, track(bared(left), ambiguous=True), times=20)
    assert levels(done) == {1: POSED if before else SOFT}


def test_after_a_break_there_is_half_a_second_to_know_who_it_is(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    judged = Judged()
    filmed = Provisional(fitting, judge=judged)
    tracks = track(left.face), track(both.face, 2)
    filmed.show(both.planes, *tracks, times=2)
    kept = filmed.choice.shown[1].vector
    judged.broken = {1: Break(BreakCause.LOST, False)}
    after = [filmed.vectors(both.planes, *tracks)[1] for _ in range(3)]
    assert after[0] is None and not any(one is not None and np.array_equal(one, kept) for one in after)
    assert ("provisional", 3, 0) not in filmed.choice.told


@pytest.mark.parametrize(("ahead", "shown"), [(12, False), (15, True)])
def test_what_was_observed_after_a_break_counts_and_not_what_was_shown(
    ahead: int, shown: bool, fitting: FitModel, drawn: Drawn
) -> None:
    """With half a second of look-ahead it is known at once that nobody is recognised."""
    left, both = two(drawn)
    judged = Judged()
    filmed = Provisional(fitting, judge=judged)
    tracks = track(bared(left)), track(both.face, 2)  # nobody is known by five points
    filmed.show(both.planes, *tracks, times=2)
    judged.broken = {1: Break(BreakCause.LOST, False)}
    frames = [filmed.observe(both.planes, *tracks) for _ in range(ahead)]
    plans = settled(filmed.filter, frames, tracks)
    assert (plans[0].face is not None) == shown


def test_who_is_recognised_goes_over_to_the_old_face_in_four_tenths_of_a_second(
    fitting: FitModel, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    alone = track(left.face)
    filmed.show(left.planes, alone, times=30)
    (old,) = filmed.filter.vectors().values()
    filmed.show(both.planes, track(both.face, 2), times=40)  # somebody else stays, the first one is away
    decoded: list[Points] = []
    of = NewFace.of
    monkeypatch.setattr(NewFace, "of", lambda vector, *given: (decoded.append(vector), of(vector, *given))[1])
    shown = [filmed.vectors(both.planes, track(left.face, 3), track(both.face, 2))[3] for _ in range(30)]
    assert len(decoded) == 1, "the strange face; what lies between it and the old one is mixed"
    assert len(filmed.filter.decoded) == 2, "and it is let go of"
    strange = filmed.choice.shown[3].vector
    whole = np.linalg.norm(old - strange)
    assert all(one is not None for one in shown) and np.array_equal(shown[0], strange)
    away = np.array([np.linalg.norm(one - old) / whole for one in shown if one is not None])
    steps = np.flatnonzero((away > 0) & (away < 1))
    assert len(steps) == 9 and np.all(np.diff(away) <= 1e-9) and away[-1] == 0
    assert np.abs(np.diff(away)).max() <= 0.11, "no jump is seen"
    assert ("release", 3, 0) in filmed.choice.told
    assert filmed.filter.replaced == 1, "the one beside him keeps his"


def test_where_none_is_to_be_had_it_is_asked_once(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting, refused=True)
    done = filmed.show(both.planes, track(left.face), track(both.face, 2), times=3)
    assert [one.level for one in done.redactions] == [SOFT, SOFT]
    assert filmed.choice.told == [("provisional", 1, 0), ("provisional", 2, 0)]


def test_nothing_is_kept_of_tracklets_that_are_over(fitting: FitModel, drawn: Drawn) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    for number in range(1, 21, 2):
        filmed.show(both.planes, track(left.face, number), track(both.face, number + 1))
    filmed.show(both.planes)
    state = filmed.filter._provisional
    assert not (state._shown or state._broken or state._refused or state._over or state._tracks)
    assert not (state._unclear or state._doubts or state._lent)
    assert {number for what, number, _ in filmed.choice.told if what == "release"} == set(range(1, 21))


@pytest.mark.parametrize("room", [0, 1, 2])
def test_where_time_is_short_a_frame_begins_no_more_faces_than_it_has_room_for(
    fitting: FitModel, drawn: Drawn, room: int
) -> None:
    left, both = two(drawn)
    filmed = Provisional(fitting)
    tracks = track(left.face), track(both.face, 2)
    pending = filmed.observe(both.planes, *tracks)
    pending.room = room
    first = filmed.publish(pending, tracks)
    assert sorted(one.level for one in first.redactions) == sorted([OWN] * room + [SOFT] * (2 - room))
    assert len(filmed.choice.told) == room and pending.room == 0
    pending = filmed.observe(both.planes, *tracks)
    pending.room = 1
    second = filmed.publish(pending, tracks)
    begun = min(room + 1, 2)
    assert sorted(one.level for one in second.redactions) == sorted([OWN] * begun + [SOFT] * (2 - begun))
    assert {number for _, number, _ in filmed.choice.told} <= {1, 2} and len(filmed.choice.told) == begun
