"""From where faces are studied before a segment that is rendered again."""

from __future__ import annotations

from fractions import Fraction

from streamdeid.runs.again import studied_from


def test_at_a_steady_rate_it_is_three_seconds_before_and_never_before_the_recording() -> None:
    times = [Fraction(index, 25) for index in range(400)]
    assert studied_from(times, 200, Fraction(25)) == 125
    assert studied_from(times, 60, Fraction(25)) == studied_from(times, 0, Fraction(25)) == 0
    ntsc = [Fraction(index * 1001, 30000) for index in range(400)]
    assert studied_from(ntsc, 200, Fraction(30000, 1001)) == 110


def test_where_frames_come_faster_or_slower_than_the_mean_it_is_three_seconds_at_least() -> None:
    fast = [Fraction(index, 60) for index in range(400)]
    assert studied_from(fast, 300, Fraction(20)) == 120
    slow = [Fraction(index, 5) for index in range(400)]
    assert studied_from(slow, 300, Fraction(20)) == 240
