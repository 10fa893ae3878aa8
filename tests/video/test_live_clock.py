"""The mended clock: times rise for ever, at the pace of this machine's clock."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamdeid.video.live.clock import LiveClock

RATE = 25


def _times(stamps: list[Fraction | None], arrivals: list[float]) -> list[float]:
    clock = LiveClock()
    times = [clock.time(stamp, arrived) for stamp, arrived in zip(stamps, arrivals, strict=True)]
    assert all(before < after for before, after in pairwise(times))
    return [float(time) for time in times]


def _even(count: int, begin: Fraction | int = 0) -> list[Fraction | None]:
    return [begin + Fraction(index, RATE) for index in range(count)]


def test_even_stamps_stay_even_though_arrivals_jitter() -> None:
    chance = random.Random(1)
    arrivals = [7000 + index / RATE + chance.uniform(0, 0.1) for index in range(2000)]
    times = _times(_even(2000, 123456), arrivals)
    assert times[0] == 0
    steps = [after - before for before, after in pairwise(times)]
    assert max(abs(step - 0.04) for step in steps) < 0.001


@pytest.mark.parametrize("drift", [-1e-4, 1e-4])
def test_days_of_drift_never_part_it_from_the_clock(drift: float) -> None:
    clock = LiveClock()
    worst = 0.0
    for second in range(3 * 86400):
        time = clock.time(Fraction(round(second * (1 + drift) * 90000), 90000), 50.0 + second)
        worst = max(worst, abs(float(time) - second))
    assert worst < 0.01


@pytest.mark.parametrize("jump", [-100000, -5, -2, 2, 5, 100000])
def test_a_jump_of_the_cameras_clock_does_not_show(jump: int) -> None:
    stamps = _even(100) + _even(100, Fraction(100, RATE) + jump)
    times = _times(stamps, [index / RATE for index in range(200)])
    assert max(abs(time - index / RATE) for index, time in enumerate(times)) < 0.05


def test_a_small_jump_is_made_up_slowly() -> None:
    stamps = _even(100) + _even(4000, Fraction(100, RATE) + Fraction(1, 2))
    times = _times(stamps, [index / RATE for index in range(4100)])
    assert abs(times[-1] - 4099 / RATE) < 0.02


def test_frames_without_stamps_go_by_their_arrival() -> None:
    stamps: list[Fraction | None] = [None, None, *_even(50)]
    times = _times(stamps, [3 + index / RATE for index in range(52)])
    assert max(abs(time - index / RATE) for index, time in enumerate(times)) < 0.001


def test_repeated_stamps_do_not_stop_time() -> None:
    stamps: list[Fraction | None] = [Fraction(index // 2, RATE) for index in range(1000)]
    times = _times(stamps, [index / 50 for index in range(1000)])
    assert abs(times[-1] - 999 / 50) < 2


def test_a_stall_that_is_caught_up_leaves_no_trace() -> None:
    """Frames 100 to 149 come late, all at once."""
    arrivals = [index / RATE if not 100 <= index < 150 else 6.0 + index / 10000 for index in range(400)]
    times = _times(_even(400), arrivals)
    assert max(abs(time - index / RATE) for index, time in enumerate(times)) < 0.2


def test_a_pause_that_the_stamps_know_nothing_of_is_taken_over() -> None:
    """The server was stopped: its stamps go on where they were, the arrivals ten seconds later."""
    arrivals = [index / RATE + (10 if index >= 100 else 0) for index in range(300)]
    times = _times(_even(300), arrivals)
    assert abs(times[-1] - arrivals[-1]) < 0.05


def test_a_first_burst_of_old_frames_is_braked() -> None:
    """The first two seconds of frames come at once, as after the analysis of a stream."""
    arrivals = [max(2.0, index / RATE) for index in range(2000)]
    times = _times(_even(2000), arrivals)
    assert max(time - (arrived - 2.0) for time, arrived in zip(times, arrivals, strict=True)) < 2.1
    assert abs(times[-1] - (arrivals[-1] - 2.0)) < 0.2


def test_a_new_connection_goes_on_after_the_last_one() -> None:
    clock = LiveClock()
    before = [clock.time(Fraction(index, RATE), 9 + index / RATE) for index in range(50)]
    clock.begin_anew()
    after = [clock.time(Fraction(index, RATE), 20 + index / RATE) for index in range(50)]
    assert before[-1] < after[0] and float(after[0]) == pytest.approx(11, abs=0.001)
    assert float(after[-1] - after[0]) == pytest.approx(49 / RATE, abs=0.001)


@pytest.mark.parametrize("factor", [2, 3, 4, 8])
def test_stamps_that_run_too_fast_do_not_run_away(factor: int) -> None:
    clock = LiveClock()
    for index in range(1000):
        time = clock.time(Fraction(factor * index, 15), 100 + index / 15)
        assert abs(float(time) - index / 15) < 2.6


_STAMPS = st.one_of(st.none(), st.fractions(-1000, 1000, max_denominator=90000), st.just(Fraction(1)))


@settings(max_examples=200, deadline=None)
@example(
    [
        (Fraction(0), 0.0, False),
        (Fraction(1), 12.0, False),
        (Fraction(40), 29.0, False),
        *[(Fraction(1), 0.0, False)] * 2,
    ]
)
@given(st.lists(st.tuples(_STAMPS, st.floats(0, 30), st.booleans()), min_size=1, max_size=60))
def test_times_rise_and_come_back_to_the_clock_whatever_comes(
    events: list[tuple[Fraction | None, float, bool]],
) -> None:
    clock = LiveClock()
    now, begun, last = 5.0, 5.0 + events[0][1], Fraction(-1)
    for stamp, pause, anew in events:
        now += pause
        if anew:
            clock.begin_anew()
        time = clock.time(stamp, now)
        assert time > last
        last = time
    assert clock.time(None, now + 1) > last
    for index in range(8 * RATE):
        last = clock.time(Fraction(index, RATE), now + 1 + index / RATE)
    # At worst a second and the steps of this list ahead, never behind by more than a jump.
    assert -1.1 < float(last) - (now + 1 + index / RATE - begun) < 1.1
