"""Head pose: known turns are recovered, and taking it off and putting it back changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import HeadPose, estimate_pose, pose_of
from tests.drawn_faces import pose_at, rotation

_TURNS = st.tuples(st.floats(-1.0, 1.0), st.floats(-0.7, 0.7), st.floats(-1.2, 1.2))


@settings(max_examples=40, deadline=None)
@given(_TURNS, st.floats(20, 600), st.tuples(st.floats(-100, 900), st.floats(-100, 900)))
def test_a_known_pose_is_recovered(
    model: AppearanceModel, turn: tuple[float, float, float], width: float, centre: tuple[float, float]
) -> None:
    yaw, pitch, roll = turn
    made = pose_at(model, width, centre, yaw=yaw, pitch=pitch, roll=roll)
    found = pose_of(made.to_image(model.mean_shape, model.depth), model)
    np.testing.assert_allclose(found.rotation, made.rotation, atol=1e-6)
    assert found.scale == pytest.approx(made.scale, rel=1e-6)
    np.testing.assert_allclose(found.shift, made.shift, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "angle"), [("yaw", 0.6), ("yaw", -0.3), ("pitch", 0.4), ("pitch", -0.5), ("roll", 0.7)]
)
def test_angles_are_named_rightly(model: AppearanceModel, name: str, angle: float) -> None:
    points = pose_at(model, 120, **{name: angle}).to_image(model.mean_shape, model.depth)
    found = pose_of(points, model)
    for other in ("yaw", "pitch", "roll"):
        assert getattr(found, other) == pytest.approx(angle if other == name else 0, abs=1e-6)


def test_a_positive_yaw_looks_to_the_pictures_left(model: AppearanceModel) -> None:
    front = pose_at(model, 120).to_image(model.mean_shape, model.depth)
    for yaw in (-0.4, 0.4):
        points = pose_at(model, 120, yaw=yaw).to_image(model.mean_shape, model.depth)
        nose = points[30] - points[[0, 16]].mean(axis=0) - (front[30] - front[[0, 16]].mean(axis=0))
        # Depth grows away from the camera, so the nose moves against the sign of rotation[0, 2].
        assert nose[0] * yaw < 0


@settings(max_examples=40, deadline=None)
@given(_TURNS, st.integers(0, 10**6))
def test_round_trip(model: AppearanceModel, turn: tuple[float, float, float], seed: int) -> None:
    yaw, pitch, roll = turn
    pose = pose_at(model, 150, yaw=yaw, pitch=pitch, roll=roll)
    shape = model.mean_shape + np.random.default_rng(seed).normal(0, 3, model.mean_shape.shape)
    np.testing.assert_allclose(pose.to_frame(pose.to_image(shape, model.depth), model.depth), shape, atol=1e-6)


def test_a_profile_does_not_blow_up(model: AppearanceModel) -> None:
    pose = pose_at(model, 150, yaw=np.pi / 2)
    points = pose.to_image(model.mean_shape, model.depth) + np.random.default_rng(1).normal(0, 1, (81, 2))
    back = pose.to_frame(points, model.depth)
    assert np.abs(back - model.mean_shape).max() < 20 * model.frame_size[0]
    assert np.isfinite(back).all()


def test_landmark_noise_turns_the_head_little(model: AppearanceModel) -> None:
    rng = np.random.default_rng(5)
    made = pose_at(model, 200, yaw=0.2)
    points = made.to_image(model.mean_shape, model.depth)
    yaws = [pose_of(points + rng.normal(0, 2, points.shape), model).yaw for _ in range(40)]
    assert np.std(yaws) < np.radians(2)
    assert np.mean(yaws) == pytest.approx(0.2, abs=np.radians(1))


def test_rotation_is_a_rotation(model: AppearanceModel) -> None:
    rng = np.random.default_rng(6)
    points = pose_at(model, 90, yaw=0.5, roll=-0.3).to_image(model.mean_shape, model.depth) + rng.normal(0, 6, (81, 2))
    found = estimate_pose(points, model.mean_shape, model.depth)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(3), atol=1e-9)
    assert np.linalg.det(found.rotation) == pytest.approx(1)
    assert isinstance(found, HeadPose)
    np.testing.assert_allclose(rotation(), np.eye(3))
