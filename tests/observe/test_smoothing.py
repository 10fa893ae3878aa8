"""The One-Euro filter and the smoothing of pose and points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import HeadPose
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.observe.smoothing import FaceSmoother, OneEuro
from tests.drawn_faces import pose_at, rotation

_RATE = 25.0


def test_first_value_passes_unchanged_and_is_a_copy() -> None:
    smooth = OneEuro(1.0, 0.1)
    value = np.array([3.0, 4.0])
    out = smooth(value, 0.0)
    np.testing.assert_array_equal(out, value)
    out[:] = 0
    np.testing.assert_array_equal(smooth(value, 0.0), value)


def test_beside_the_textbook_for_one_step() -> None:
    cutoff, per_speed, step = 1.5, 0.12, 0.04
    smooth = OneEuro(cutoff, per_speed, speed_cutoff=3.0)
    smooth(np.array([10.0]), 0.0)
    got = smooth(np.array([12.0]), step)

    def share(hertz: float) -> float:
        return 1 / (1 + 1 / (2 * np.pi * hertz * step))

    raw = 2.0 / step
    speed = max(share(3.0) * raw, 0.5 * raw)
    assert got[0] == pytest.approx(10 + share(cutoff + per_speed * speed) * 2)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_output_stays_between_last_output_and_input(seed: int) -> None:
    rng = np.random.default_rng(seed)
    smooth = OneEuro(1.0, 0.2)
    last = smooth(rng.normal(0, 5, 3), 0.0)
    for i in range(1, 20):
        value = rng.normal(0, 5, 3)
        out = smooth(value, i / _RATE)
        assert (np.minimum(last, value) - 1e-12 <= out).all() and (out <= np.maximum(last, value) + 1e-12).all()
        last = out


def test_a_still_noisy_value_gets_steadier() -> None:
    rng = np.random.default_rng(1)
    smooth = OneEuro(1.0, 0.02)
    noise = rng.normal(0, 1, (200, 4))
    out = np.array([smooth(100 + row, i / _RATE) for i, row in enumerate(noise)])[50:]
    assert out.std(axis=0).max() < 0.7
    assert np.abs(out.mean(axis=0) - 100).max() < 0.3


def test_a_jump_is_followed_at_once_when_speed_counts() -> None:
    slow, fast = OneEuro(1.0, 0.0), OneEuro(1.0, 1.0)
    for smooth in (slow, fast):
        smooth(np.zeros(1), 0.0)
    assert fast(np.full(1, 20.0), 0.04)[0] > 19
    assert slow(np.full(1, 20.0), 0.04)[0] < 6


def test_time_that_stands_still_changes_nothing() -> None:
    smooth = OneEuro(1.0, 1.0)
    smooth(np.zeros(1), 1.0)
    before = smooth(np.ones(1), 1.5)
    np.testing.assert_array_equal(smooth(np.full(1, 99.0), 1.5), before)


def test_smoothing_does_not_depend_on_the_frame_rate() -> None:
    outs = []
    for rate in (25, 100):
        smooth = OneEuro(1.0, 0.0)
        smooth(np.zeros(1), 0.0)
        for i in range(1, rate + 1):
            out = smooth(np.ones(1), i / rate)
        outs.append(out[0])
    assert outs[0] == pytest.approx(outs[1], abs=0.01)


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (0.5, -0.3, 0.2), (-0.9, 0.4, -1.0)])
def test_a_still_head_is_left_where_it_is(model: AppearanceModel, angles: tuple[float, float, float]) -> None:
    yaw, pitch, roll = angles
    pose = pose_at(model, 140, yaw=yaw, pitch=pitch, roll=roll)
    smooth = FaceSmoother()
    for i in range(5):
        steady, points = smooth(pose, model.mean_shape, i / _RATE)
    np.testing.assert_allclose(steady.rotation, pose.rotation, atol=1e-9)
    np.testing.assert_allclose(steady.shift, pose.shift, atol=1e-6)
    assert steady.scale == pytest.approx(pose.scale)
    np.testing.assert_allclose(points, model.mean_shape, atol=1e-9)


def test_a_trembling_head_gets_steadier_and_stays_a_rotation(model: AppearanceModel) -> None:
    rng = np.random.default_rng(3)
    smooth, ins, outs = FaceSmoother(), [], []
    for i in range(120):
        yaw, pitch = rng.normal(0, 0.004, 2)
        pose = pose_at(model, 140, yaw=yaw, pitch=pitch)
        steady, _ = smooth(HeadPose(pose.scale, rotation(yaw, pitch), pose.shift), model.mean_shape, i / _RATE)
        ins.append(pose.yaw)
        outs.append(steady.yaw)
        np.testing.assert_allclose(steady.rotation @ steady.rotation.T, np.eye(3), atol=1e-9)
    assert np.std(outs[30:]) < 0.85 * np.std(ins[30:])


def test_nothing_of_a_cameras_own_motion_is_smoothed_away(model: AppearanceModel) -> None:
    """A head that hardly moves, before a camera that stands and one that shakes, rolls and zooms: what is smoothed is
    the same, moved as the camera was."""
    rng = np.random.default_rng(6)
    still, moved = FaceSmoother(), FaceSmoother()
    last = CameraMotion(np.eye(2), np.zeros(2))
    for index in range(20):
        x, y, roll = rng.normal((160, 165, 0.1), (2, 2, 0.02))
        pose = pose_at(model, 150.0, (x, y), roll=roll)
        frontal = model.mean_shape + rng.normal(0, 0.5, model.mean_shape.shape)
        angle, scale = rng.uniform(-0.1, 0.1), rng.uniform(0.9, 1.1)
        turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        camera = CameraMotion(turn, rng.uniform(-60, 60, 2))
        if index:
            moved.carried(camera.after(last.inverse()))
        last = camera
        here, points = still(pose, frontal, index / _RATE)
        there, others = moved(seen_by(camera, pose), frontal, index / _RATE)
        expected = seen_by(camera, here)
        np.testing.assert_allclose(others, points, atol=1e-6)
        assert there.scale == pytest.approx(expected.scale, rel=1e-3)
        assert there.roll == pytest.approx(expected.roll, abs=1e-3)
        # Shifts are smoothed in units of the scale, so a zoom leaves a little.
        assert np.abs(there.to_image(points, model.depth) - expected.to_image(points, model.depth)).max() < 1.5


def seen_by(camera: CameraMotion, pose: HeadPose) -> HeadPose:
    """A pose after the camera moved."""
    turn = np.eye(3)
    turn[:2, :2] = camera.linear / camera.scale
    return HeadPose(pose.scale * camera.scale, turn @ pose.rotation, camera(pose.shift))
