"""How far a head's yaw goes to and fro."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.observe.pose_swing import PoseSwing


def _swings(yaws: list[float], step: float = 0.04) -> list[float]:
    swing = PoseSwing()
    return [swing(yaw, step * number) for number, yaw in enumerate(yaws)]


def test_a_head_that_turns_to_one_side_does_not_swing_however_quickly() -> None:
    assert max(_swings([0.0, 0.0, 0.5, 0.9, 0.9, 0.9])) == pytest.approx(0)


def test_landmarks_that_jump_swing_and_are_forgotten_after_a_fifth_of_a_second() -> None:
    found = _swings([0.8, 0.3, 0.8, 0.3, *[0.8] * 8])
    assert found[1] == pytest.approx(0) and found[2] == pytest.approx(1.0)
    assert found[4] == pytest.approx(2.0) and found[-1] == pytest.approx(0)


def test_a_slow_camera_tells_nothing() -> None:
    assert max(_swings([0.8, 0.3, 0.8, 0.3, 0.8], step=0.21)) == 0


@pytest.mark.parametrize("step", [1 / 60, 1 / 25, 1 / 12])
def test_a_head_that_is_shaken_swings_less_than_landmarks_that_jump(step: float) -> None:
    """Two and a half shakes a second, 15 degrees to either side, as people say no; at 20 degrees it is 0.7."""
    time = np.arange(0, 2, step)
    assert max(_swings(list(0.26 * np.sin(2 * np.pi * 2.5 * time)), step)) < 0.6


@pytest.mark.parametrize("rate", [25, 30, 48, 50, 59.94, 60, 120])
def test_a_face_that_looks_aside_in_every_other_picture_swings_at_any_rate(rate: float) -> None:
    jitter = np.random.default_rng(2).normal(0, 0.002, 80)
    for times in (np.arange(80) / rate, np.sort(np.arange(80) / rate + jitter)):
        swing = PoseSwing()
        found = [swing(0.3 * (-1) ** n, float(time)) for n, time in enumerate(times)]
        assert min(found[12:]) > 0.6


@pytest.mark.parametrize("rate", [25, 50, 60])
@pytest.mark.parametrize("wrong", [40, 41])
def test_one_wrong_picture_is_seen_whichever_it_is(rate: int, wrong: int) -> None:
    yaws = [0.8 * (n == wrong) for n in range(80)]
    assert max(_swings(yaws, 1 / rate)) > 0.6


def test_noise_of_many_readings_is_no_long_way() -> None:
    noise = np.random.default_rng(4).normal(0, 0.03, 600)
    at_25, at_100 = (max(_swings(list(noise), step)) for step in (1 / 25, 1 / 100))
    assert at_100 < 1.4 * at_25 < 1.4 * 0.6
