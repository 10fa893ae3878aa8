"""Frames that are far apart in time."""

from __future__ import annotations

from fractions import Fraction

import pytest

from streamdeid.detection.far_steps import FarSteps


@pytest.mark.parametrize(("rate", "far"), [(60, False), (25, False), (12, False), (10, True), (8, True), (1, True)])
def test_a_step_is_far_below_twelve_frames_a_second(rate: int, far: bool) -> None:
    steps = FarSteps()
    assert [steps(Fraction(7) + Fraction(index, rate)) for index in range(4)] == [False, far, far, far]


def test_a_frame_that_is_missing_and_a_clock_that_is_set_back_make_a_far_step() -> None:
    steps = FarSteps()
    assert [steps(Fraction(time, 25)) for time in (0, 1, 4, 5, 5, 2, 3)] == [0, 0, 1, 0, 0, 1, 0]
