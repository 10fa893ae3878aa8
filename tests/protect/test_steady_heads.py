"""Soft redactions shrink in steps, cover all that they have to, and one inside another is not seen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Planes
from streamdeid.errors import FailedClosed
from streamdeid.protect import soft_redactions
from streamdeid.protect.levels import Level
from streamdeid.protect.plan import Plan
from streamdeid.protect.soft_head import Head
from streamdeid.protect.soft_redactions import SoftRedactions
from streamdeid.protect.steady_heads import SteadyHeads, shrinking
from tests.drawn_faces import room

SIZE = (320, 240)
STEP = Fraction(1, 25)
AROUND = np.linspace(0, 2 * np.pi, 90, endpoint=False)

numbers = st.floats(-60, 60)
heads = st.builds(Head, numbers, numbers, st.floats(4, 60), st.floats(4, 60), st.floats(-3, 3))


def plan(x: float, side: float, number: int = 1, level: Level = Level.SOFT) -> Plan:
    box = x - side / 2, 120 - side / 2, x + side / 2, 120 + side / 2
    track = Track(number, box, None, missed=1, ambiguous=False)
    return Plan(track, (box, None, SIZE), level)


@given(heads, heads, st.floats(0, 1))
def test_all_that_has_to_be_covered_is(before: Head, now: Head, left: float) -> None:
    steady = shrinking(now, [(before, left)])
    x, y = now.places(np.ones(1), AROUND)[0].T
    assert steady.radii(x, y).max() <= 1 + 1e-9
    assert steady.across <= 1.4 * now.across + 1e-9 and steady.down <= 1.4 * now.down + 1e-9
    assert (steady.x, steady.y, steady.angle) == (now.x, now.y, now.angle)


@pytest.mark.parametrize("shrinks", [1.0, 0.97])
def test_after_eight_frames_nothing_tells_what_was_before(shrinks: float) -> None:
    """An edit of a recording changes no more frames than fade, also where the head goes away from the camera."""
    shown = []
    for first in (40.0, 60.0):
        steady = SteadyHeads()
        sides = [first, *(40 * shrinks**n for n in range(1, 12))]
        shown.append([steady([plan(100, side)], n * STEP)[0].head for n, side in enumerate(sides)])
    same = [one == other for one, other in zip(*shown, strict=True)]
    assert not any(same[: 9 if shrinks == 1 else 4]) and all(same[9:])
    sizes = [head.area for head in shown[1]]
    assert sizes == sorted(sizes, reverse=True)


def test_a_head_elsewhere_is_as_large_as_it_has_to_be() -> None:
    now = Head(50.0, 50.0, 20.0, 30.0, 0.4)
    large = replace(now, across=30.0, down=40.0)
    assert shrinking(now, [(replace(large, x=70.0), 0.7)]) == now
    found = shrinking(now, [(replace(large, x=70.0), 0.7), (replace(large, x=58.0), 0.5), (now, 0.9)])
    assert (found.across, found.down) == pytest.approx((24.0, 35.0)), "1.4 times as large at the most"
    assert replace(found, across=20.0, down=30.0) == now
    with pytest.raises(FailedClosed):
        shrinking(now, [(replace(now, x=np.nan), 0.7)])


def test_an_ellipse_shrinks_over_some_frames_and_grows_at_once() -> None:
    steady = SteadyHeads()
    sides = [20.0, 40.0, 20.0, 20.0, 20.0]
    shown = [steady([plan(100, side)], n * STEP)[0].head.across for n, side in enumerate(sides)]
    needed = [plan(100, side).head.across for side in sides]
    assert shown[:2] == needed[:2]
    assert needed[2] < shown[4] < shown[3] < shown[2] < shown[1]


def test_it_shrinks_by_time_and_in_quick_streams_by_frames() -> None:
    for step, left in ((Fraction(2, 25), 0.65**2), (STEP, 0.65), (Fraction(1, 100), 0.65)):
        steady, needed = SteadyHeads(), plan(100, 20).head.across
        first = steady([plan(100, 26)], STEP)[0].head.across
        second = steady([plan(100, 20)], STEP + step)[0].head.across
        assert second - needed == pytest.approx(left * (first - needed)), step


def test_nothing_goes_on_over_a_gap_from_a_face_or_for_another_track() -> None:
    small = plan(100, 20)
    for middle, number, step in (
        ([plan(100, 40)], 1, Fraction(1, 4)),
        ([plan(100, 40, level=Level.POSED)], 1, STEP),
        ([plan(100, 40)], 2, STEP),
        ([], 1, STEP),
        ([plan(100, 40)], 1, Fraction(0)),
    ):
        steady = SteadyHeads()
        steady(middle, STEP)
        (found,) = steady([plan(100, 20, number)], STEP + step)
        assert found.head == small.head, (middle, number, step)


def test_a_place_that_was_drawn_and_a_face_stay_as_they_are() -> None:
    steady = SteadyHeads()
    assert plan(100, 40, -1).track.by_hand
    plans = [plan(100, 40, -1), plan(200, 40, 2, Level.POSED)]
    steady(plans, STEP)
    smaller = [plan(100, 20, -1), plan(200, 20, 2, Level.POSED)]
    found = steady(smaller, 2 * STEP)
    assert found[0] is smaller[0] and found[1] is smaller[1]


def _redacted(*plans: Plan, strict: bool = False) -> tuple[Planes, Planes]:
    """The picture before, and after the plans' heads were redacted one after another."""
    planes = planes_from_rgb(room(SIZE).astype(np.uint8))
    out, soft = planes.copy(), SoftRedactions(strict=strict)
    for one in soft.begin(plans, STEP):
        soft.redact(out, planes, one, plans)
    return planes, out


def test_a_head_inside_a_larger_redaction_makes_no_ring_in_it() -> None:
    """As the one of a face that turned out too small to be rendered."""
    large, small = plan(100, 60), plan(105, 15, 2)
    before, alone = _redacted(large)
    assert np.array_equal(_redacted(large, small)[1].y, alone.y)
    assert not np.array_equal(_redacted(small)[1].y, before.y), "the test notices a redaction"
    beside = plan(100 + 0.62 * 60, 15, 2)
    assert not np.array_equal(_redacted(large, beside)[1].y, alone.y), "part of it lies outside"
    strict = [_redacted(*some, strict=True)[1].y for some in ((large,), (large, small))]
    assert not np.array_equal(*strict), "a face takes its light from its own"


def test_a_place_with_a_head_in_front_that_stays_is_no_whole_redaction(monkeypatch: pytest.MonkeyPatch) -> None:
    corner = np.array([[100.0, 120.0], [160.0, 120.0], [160.0, 180.0], [100.0, 180.0]])
    large, small = plan(100, 60), plan(105, 15, 2)
    monkeypatch.setattr(soft_redactions, "nearer_heads", lambda one, _plans: [corner] if one.track.number == 1 else [])
    open_there = _redacted(large)[1].y
    assert not np.array_equal(_redacted(large, small)[1].y, open_there)


@pytest.mark.parametrize(("pause", "remembered"), [(Fraction(1, 10), True), (Fraction(1, 4), False)])
def test_a_head_that_is_lost_long_after_its_last_redaction_begins_anew(pause: Fraction, remembered: bool) -> None:
    """Whatever it showed in between: its tone and its surroundings may be others."""
    planes = planes_from_rgb(room(SIZE).astype(np.uint8))
    dark = planes.copy()
    dark.y[80:160, 60:140] = 20
    seen = plan(100, 60)
    seen = replace(seen, track=replace(seen.track, face=Face(seen.track.box, 0.9), missed=0))
    told = []
    for before in (dark, planes):
        soft, out = SoftRedactions(strict=False), planes.copy()
        for index in range(5):
            (one,) = soft.begin([seen], index * STEP)
            soft.redact(before.copy(), before, one, [one])
        (one,) = soft.begin([plan(100, 60)], 4 * STEP + pause)
        soft.redact(out, planes, one, [one])
        told.append(out.y)
    assert np.array_equal(*told) != remembered
