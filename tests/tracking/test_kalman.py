"""The box filter against the textbook's matrices, and what it promises about time and uncertainty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.tracking import kalman
from streamdeid.tracking.kalman import Motion

BOX = np.array([[100.0, 50.0, 180.0, 170.0]])
ALL = np.array([0], dtype=np.intp)
steps = st.floats(0, 1.5)


def seen(boxes: NDArray[np.float64], times: NDArray[np.float64]) -> Motion:
    """Filter one box seen at each time."""
    motion = kalman.begin(boxes[:1])
    for step, box in zip(np.diff(times), boxes[1:], strict=True):
        motion = kalman.correct(kalman.predict(motion, float(step)), ALL, box.reshape(1, 4))
    return motion


def walking(times: NDArray[np.float64], speed: float = 150.0) -> NDArray[np.float64]:
    return np.asarray(BOX + speed * times[:, None] * np.array([1.0, 0, 1, 0]), dtype=np.float64)


def test_predict_and_correct_equal_the_textbook_matrices() -> None:
    motion = kalman.correct(kalman.predict(kalman.begin(BOX), 0.1), ALL, BOX + 5.0)
    before = kalman.predict(motion, 0.07)
    after = kalman.correct(before, ALL, BOX + 9.0)
    # Noise read off the public surface: that of a first box, and the growth of a covariance that was zero.
    still = Motion(motion.mean, np.zeros_like(motion.covariance))
    transition, look = np.array([[1, 0.07], [0, 1]]), np.array([[1.0, 0.0]])
    for signal in range(4):
        state, spread = motion.mean[0, signal], motion.covariance[0, signal]
        process = kalman.predict(still, 0.07).covariance[0, signal]
        state, spread = transition @ state, transition @ spread @ transition.T + process
        np.testing.assert_allclose(before.mean[0, signal], state, rtol=1e-12)
        np.testing.assert_allclose(before.covariance[0, signal], spread, rtol=1e-12)
        # The noise of a detection scales with the face's size as now predicted.
        measured = kalman.begin(kalman.boxes_of(before)).covariance[0, signal, :1, :1]
        gain = spread @ look.T @ np.linalg.inv(look @ spread @ look.T + measured)
        there = kalman.begin(BOX + 9.0).mean[0, signal, :1]
        np.testing.assert_allclose(after.mean[0, signal], state + gain @ (there - look @ state), rtol=1e-9)
        np.testing.assert_allclose(
            after.covariance[0, signal], (np.eye(2) - gain @ look) @ spread, rtol=1e-9, atol=1e-12
        )


def test_a_box_seen_at_several_times_is_carried_step_by_step() -> None:
    times = np.array([0.0, 0.04, 0.08, 0.3, 0.3, 0.34])
    boxes = walking(times) + np.random.default_rng(1).normal(0, 3, (len(times), 4))
    for order in (slice(None), slice(None, None, -1)):
        apart = seen(boxes[order], times if order.step is None else times[-1] - times[order])
        at_once = kalman.seen_at(boxes[order], times[order])
        np.testing.assert_allclose(at_once.mean, apart.mean, rtol=1e-12)
        np.testing.assert_allclose(at_once.covariance, apart.covariance, rtol=1e-12)


def test_states_given_are_not_changed() -> None:
    motion = kalman.begin(BOX)
    before = motion.mean.copy(), motion.covariance.copy()
    kalman.correct(kalman.predict(motion, 0.1), ALL, BOX + 5.0)
    kalman.correct(motion, ALL, BOX + 5.0)
    np.testing.assert_array_equal(motion.mean, before[0])
    np.testing.assert_array_equal(motion.covariance, before[1])


@given(steps, steps)
def test_two_steps_are_one_long_step(first: float, second: float) -> None:
    motion = seen(walking(np.arange(5) / 30), np.arange(5) / 30)
    twice = kalman.predict(kalman.predict(motion, first), second)
    once = kalman.predict(motion, first + second)
    np.testing.assert_allclose(twice.mean, once.mean, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(twice.covariance, once.covariance, rtol=1e-6, atol=1e-9)


@given(st.floats(1e-3, 1.5))
def test_prediction_grows_the_covariance(seconds: float) -> None:
    motion = seen(walking(np.arange(8) / 30), np.arange(8) / 30)
    grown = kalman.predict(motion, seconds).covariance[0] - motion.covariance[0]
    assert (grown[:, 0, 0] > 0).all() and (grown[:, 1, 1] > 0).all()
    assert (np.linalg.eigvalsh(kalman.predict(motion, seconds).covariance) > 0).all()


def test_no_time_changes_nothing() -> None:
    motion = seen(walking(np.arange(8) / 30), np.arange(8) / 30)
    still = kalman.predict(motion, 0.0)
    np.testing.assert_array_equal(still.mean, motion.mean)
    np.testing.assert_array_equal(still.covariance, motion.covariance)


def test_variable_frame_rate_is_predicted_by_real_time() -> None:
    steps_ = np.random.default_rng(1).choice([0.01, 0.03, 0.12], 60)
    times = np.concatenate([[0.0], np.cumsum(steps_)])
    boxes = walking(times)
    nominal = np.arange(len(times)) * steps_.mean()
    truth = walking(times[-1:] + 0.12)[0]
    real = kalman.boxes_of(kalman.predict(seen(boxes, times), 0.12))[0]
    assumed = kalman.boxes_of(kalman.predict(seen(boxes, nominal), float(steps_.mean())))[0]
    assert np.abs(real - truth).max() < 1
    assert np.abs(assumed - truth).max() > 5


@given(st.floats(0, 5), st.floats(0, 5))
def test_growth_is_monotone_and_bounded(first: float, second: float) -> None:
    motion = seen(np.repeat(BOX, 8, axis=0), np.arange(8) / 30)
    short, long = (kalman.predict(motion, seconds) for seconds in sorted((first, second)))
    small, large = kalman.grown(short)[0], kalman.grown(long)[0]
    assert (large[:2] <= small[:2] + 1e-9).all() and (large[2:] >= small[2:] - 1e-9).all()
    inner = kalman.boxes_of(long)[0]
    assert (large[:2] < inner[:2]).all() and (large[2:] > inner[2:]).all()
    assert ((large[2:] - large[:2]) <= (inner[2:] - inner[:2]) * (1 + 2 * kalman.GROWTH_LIMIT) + 1e-6).all()


def test_grown_boxes_hold_people_who_turn() -> None:
    """Somebody who walks in circles of a second and a half stays in the box for a third of a second unseen."""
    held = []
    for phase in np.linspace(0, 6.28, 40):
        times = np.arange(31) / 30
        angle = 2 * np.pi * times / 1.5 + phase
        boxes = BOX + 40 * np.stack([np.cos(angle), np.sin(angle)] * 2, axis=1)
        motion = kalman.predict(seen(boxes[:21], times[:21]), float(times[30] - times[20]))
        box = kalman.grown(motion)[0]
        held.append((box[:2] <= boxes[30, :2]).all() and (box[2:] >= boxes[30, 2:]).all())
    assert np.mean(held) >= 0.95


def test_a_box_that_stays_is_learnt() -> None:
    noise = np.random.default_rng(2).normal(0, 3, (90, 4))
    motion = seen(BOX + noise, np.arange(90) / 30)
    assert np.abs(kalman.boxes_of(motion) - BOX).max() < 4
    assert kalman.spread_of(motion).max() < kalman.spread_of(kalman.begin(BOX)).min()


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4), min_size=2, max_size=6), steps)
def test_any_boxes_leave_finite_state(corners: list[list[float]], step: float) -> None:
    boxes = np.array(corners)
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    motion = kalman.begin(boxes[:1])
    for box in boxes[1:]:
        motion = kalman.correct(kalman.predict(motion, step), ALL, box[None])
    motion = kalman.predict(motion, 1.0)
    for values in (motion.mean, motion.covariance, kalman.boxes_of(motion), kalman.grown(motion)):
        assert np.isfinite(values).all()
    assert (motion.covariance[..., 0, 0] >= 0).all() and (motion.covariance[..., 1, 1] >= 0).all()


def test_rows_are_independent() -> None:
    boxes = np.concatenate([BOX, BOX * 3, BOX + 1000])
    together = kalman.correct(kalman.predict(kalman.begin(boxes), 0.1), np.array([2, 0]), boxes[[2, 0]] + 4)
    for row, moved in ((0, True), (1, False), (2, True)):
        alone = kalman.predict(kalman.begin(boxes[[row]]), 0.1)
        if moved:
            alone = kalman.correct(alone, ALL, boxes[[row]] + 4)
        np.testing.assert_allclose(together.mean[row], alone.mean[0])
        np.testing.assert_allclose(together.covariance[row], alone.covariance[0])
    joined = kalman.join(together.take(np.array([0])), together.take(np.array([1, 2])))
    np.testing.assert_array_equal(joined.mean, together.mean)
    assert len(joined) == 3 and len(kalman.nothing()) == 0


@pytest.mark.parametrize("speed", [0.0, 200.0, -500.0])
def test_velocity_is_learnt_within_five_frames(speed: float) -> None:
    times = np.arange(6) / 30
    errors = []
    for frames in (2, 6):
        seen_at = times[:frames]
        predicted = kalman.boxes_of(kalman.predict(seen(walking(seen_at, speed), seen_at), 1 / 30))
        errors.append(float(np.abs(predicted - walking(seen_at[-1:] + 1 / 30, speed)).max()))
    early, late = errors
    assert late <= early + 1e-9
    assert late < 0.05 * 98  # a twentieth of the face
