"""Soft redactions shrink in steps, cover all that they have to, and one inside another is not seen."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Track
from streamdeid.core.frames import Planes
from streamdeid.errors import FailedClosed
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
    steady = shrinking(before, now, left)
    x, y = now.places(np.ones(1), AROUND)[0].T
    assert steady.radii(x, y).max() <= 1 + 1e-9
    assert steady.across <= 1.4 * now.across + 1e-9 and steady.down <= 1.4 * now.down + 1e-9
    assert (steady.x, steady.y, steady.angle) == (now.x, now.y, now.angle)


@given(heads, st.floats(0.1, 3), st.floats(0.1, 3))
def test_it_ends_at_the_ellipse_that_has_to_be_covered(now: Head, across: float, down: float) -> None:
    last = replace(now, across=now.across * across, down=now.down * down, x=now.x + 0.3 * now.across)
    sizes = []
    for _ in range(60):
        last = shrinking(last, now, 0.7)
        sizes.append(last.area)
    assert sizes == sorted(sizes, reverse=True)
    assert (last.across, last.down) == pytest.approx((now.across, now.down), rel=1e-6)


def test_a_head_elsewhere_is_as_large_as_it_has_to_be() -> None:
    now = Head(50.0, 50.0, 20.0, 30.0, 0.4)
    large = replace(now, across=30.0, down=40.0)
    assert shrinking(replace(large, x=70.0), now, 0.7) == now
    assert shrinking(replace(large, x=58.0), now, 0.7) == replace(now, across=27.0, down=37.0)
    with pytest.raises(FailedClosed):
        shrinking(replace(now, x=np.nan), now, 0.7)


def test_an_ellipse_shrinks_over_some_frames_and_grows_at_once() -> None:
    steady = SteadyHeads()
    sides = [20.0, 40.0, 20.0, 20.0, 20.0]
    shown = [steady([plan(100, side)], n * STEP)[0].head.across for n, side in enumerate(sides)]
    needed = [plan(100, side).head.across for side in sides]
    assert shown[:2] == needed[:2]
    assert needed[2] < shown[4] < shown[3] < shown[2] < shown[1]


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


def _redacted(*plans: Plan) -> tuple[Planes, Planes]:
    """The picture before, and after the plans' heads were redacted one after another."""
    planes = planes_from_rgb(room(SIZE).astype(np.uint8))
    out, soft = planes.copy(), SoftRedactions(strict=False)
    for one in soft.begin(plans, STEP):
        soft.redact(out, planes, one, plans)
    return planes, out


def test_a_head_inside_a_larger_redaction_makes_no_ring_in_it() -> None:
    large, small = plan(100, 60), plan(105, 15, 2)
    before, alone = _redacted(large)
    assert np.array_equal(_redacted(large, small)[1].y, alone.y)
    assert not np.array_equal(_redacted(small)[1].y, before.y), "the test notices a redaction"
    beside = plan(100 + 0.62 * 60, 15, 2)
    assert not np.array_equal(_redacted(large, beside)[1].y, alone.y), "part of it lies outside"
