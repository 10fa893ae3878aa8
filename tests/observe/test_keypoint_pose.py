"""The pose by five keypoints: against a slow search, with noise, and over time."""

from __future__ import annotations

import math
from dataclasses import astuple, replace

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Box, Floats
from streamdeid.observe.keypoint_pose import FITS, KeypointPose, MeanHead, PoseFilter, pose_of_keypoints
from tests.drawn_faces import rotation


@pytest.fixture(scope="module")
def head(fitting: FitModel) -> MeanHead:
    return MeanHead.of(fitting)


def _posed(yaw: float, nod: float, roll: float, size: float = 50.0) -> KeypointPose:
    return KeypointPose(211.0, 143.0, size, *np.radians([yaw, nod, roll]))


def _seen(pose: KeypointPose, head: MeanHead, noise: float = 0.0, seed: int = 0) -> tuple[Floats, Box]:
    """What a detector says of a head: keypoints that are off by a share of its width, and a box."""
    solid = head.keypoints * head.width + head.middle
    points = pose.head_pose(head).to_image(solid[:, :2], solid[:, 2])
    points = points + np.random.default_rng(seed).normal(0, noise * pose.size, points.shape)
    half = 1.16 * pose.size / 2
    return points, (pose.x - half, pose.y - half, pose.x + half, pose.y + half)


def _cost(p: Floats, seen: Floats, model: Floats) -> float:
    """What the module says that a pose costs, said again: p is log size, yaw, nod, roll and place, in widths. The roll
    is usual that is one of four and has the mouth farthest below the eyes."""
    down = seen[3:].mean(axis=0) - seen[:2].mean(axis=0)
    usually = max((0.0, 0.5 * math.pi, math.pi, 1.5 * math.pi), key=lambda a: down @ (-math.sin(a), math.cos(a)))
    at = math.exp(p[0]) * (model @ rotation(p[1], p[2], p[3])[:2].T) + p[4:]
    away = np.linalg.norm(at - seen, axis=1) / (0.035, 0.035, 0.045, 0.045, 0.045)
    from_usual = np.array([p[0], p[1], p[2] - 0.05, math.remainder(p[3] - usually, 2 * math.pi)])
    return float((4 * np.log(1 + (away / 2) ** 2)).sum() + np.square(from_usual / (0.14, 1.0, 0.4, 0.9)).sum())


def _searched(start: Floats, seen: Floats, model: Floats) -> tuple[float, Floats]:
    """The least cost about a start by compass search: steps along the axes as long as they help, then shorter ones."""
    p, best, step = start.copy(), _cost(start, seen, model), 0.2
    while step > 1e-6:
        tries = [p + sign * step * axis for axis in np.eye(6) for sign in (1, -1)]
        costs = [_cost(each, seen, model) for each in tries]
        if min(costs) < best:
            best, p = min(costs), tries[int(np.argmin(costs))]
        else:
            step /= 2
    return best, p


@pytest.mark.parametrize("seed", range(12))
def test_the_kernel_finds_what_a_slow_search_finds(head: MeanHead, seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = _posed(rng.uniform(-80, 80), rng.uniform(-35, 35), rng.uniform(-180, 180), rng.uniform(14, 120))
    points, box = _seen(true, head, 0.03, seed)
    found = pose_of_keypoints(points, box, head)
    assert found is not None
    unit, middle = (box[2] - box[0]) / 1.16, points.mean(axis=0)
    seen = (points - middle) / unit
    place = (found.x - middle[0]) / unit, (found.y - middle[1]) / unit
    own = np.array([math.log(found.size / unit), found.yaw, found.nod, found.roll, *place])
    least = min(
        _searched(np.array([0.0, yaw, 0.05, true.roll, 0.0, 0.0]), seen, head.keypoints)[0] for yaw in (-0.9, 0.0, 0.9)
    )
    assert _cost(own, seen, head.keypoints) == pytest.approx(least, abs=0.01)
    at = np.exp(own[0]) * (head.keypoints @ rotation(*own[1:4])[:2].T) + own[4:]
    assert found.residual == pytest.approx(np.sqrt(np.square(at - seen).sum(axis=1).mean()) / np.exp(own[0]))


@pytest.mark.parametrize("roll", [0.0, 60.0, 120.0, 180.0])
@pytest.mark.parametrize("yaw", [-85.0, -40.0, 0.0, 40.0, 85.0])
def test_a_pose_is_read_back(head: MeanHead, yaw: float, roll: float) -> None:
    true = _posed(yaw, 10.0, roll)
    found = pose_of_keypoints(*_seen(true, head), head)
    assert found is not None
    assert np.abs(found.rotation - true.rotation).max() < 0.12
    assert found.size == pytest.approx(true.size, rel=0.05)
    assert math.hypot(found.x - true.x, found.y - true.y) < 0.02 * true.size


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_who_lies_is_read_as_who_stands(head: MeanHead, turn: int) -> None:
    """A head in bed, or before a camera that hangs upside down: the same pose but for the roll, to the last digits."""
    points, box = _seen(_posed(25.0, -12.0, 14.0), head, 0.03, 5)
    upright = pose_of_keypoints(points, box, head)
    middle = np.array([211.0, 143.0])
    quarter = np.linalg.matrix_power(np.array([[0, 1], [-1, 0]]), turn)  # rows are points, clockwise on the screen
    lying = pose_of_keypoints((points - middle) @ quarter + middle, box, head)
    assert upright is not None and lying is not None
    assert math.remainder(lying.roll - upright.roll - turn * math.pi / 2, 2 * math.pi) == pytest.approx(0, abs=1e-9)
    assert (lying.size, lying.yaw, lying.nod) == pytest.approx((upright.size, upright.yaw, upright.nod), abs=1e-9)
    place = (np.array([upright.x, upright.y]) - middle) @ quarter + middle
    assert (lying.x, lying.y) == pytest.approx(tuple(place), abs=1e-9)
    assert lying.tilt == pytest.approx(upright.tilt, abs=1e-9)


def test_with_points_that_are_off_it_is_read_well_enough(head: MeanHead) -> None:
    rng = np.random.default_rng(3)
    errors = []
    for seed in range(300):
        true = _posed(rng.uniform(-70, 70), rng.uniform(-25, 25), rng.uniform(-40, 40), rng.uniform(12, 140))
        found = pose_of_keypoints(*_seen(true, head, 0.03, seed), head)
        if found is not None:
            errors.append(np.degrees([found.yaw - true.yaw, found.nod - true.nod, found.roll - true.roll]))
    assert len(errors) > 285
    yaw, nod, roll = np.median(np.abs(errors), axis=0)
    assert yaw < 6 and nod < 7 and roll < 4


def test_one_point_far_off_does_not_turn_the_head(head: MeanHead) -> None:
    true = _posed(15.0, 0.0, 5.0)
    points, box = _seen(true, head)
    points[3] += (0.1 * true.size, 0.0)
    found = pose_of_keypoints(points, box, head)
    assert found is not None and abs(found.yaw - true.yaw) < np.radians(11)


def test_points_that_are_no_heads_have_no_pose(head: MeanHead) -> None:
    points, box = _seen(_posed(10.0, 0.0, 0.0), head)
    found = pose_of_keypoints(points, box, head)
    assert found is not None and found.residual < FITS
    assert pose_of_keypoints(points[[3, 4, 2, 0, 1]] * (1, 3), box, head) is None
    assert pose_of_keypoints(np.where(np.eye(5, 2) > 0, np.nan, points), box, head) is None
    assert pose_of_keypoints(points[:4], box, head) is None
    assert pose_of_keypoints(points, (5.0, 5.0, 5.0, 5.0), head) is None
    assert pose_of_keypoints(np.full((5, 2), 7.0), box, head) is None


def test_the_view_of_the_models_frame_is_the_pose(fitting: FitModel, head: MeanHead) -> None:
    pose = _posed(30.0, -10.0, 20.0, 80.0)
    view = pose.head_pose(head)
    assert view.scale * fitting.model.frame_size[0] == pytest.approx(80.0)
    assert np.allclose(view.to_image(head.middle[None, :2], head.middle[None, 2])[0], (pose.x, pose.y))
    assert np.allclose(view.rotation, rotation(pose.yaw, pose.nod, pose.roll))
    assert _posed(30.0, 0.0, 0.0).head_pose(head).yaw == pytest.approx(np.radians(30))
    assert _posed(0.0, -10.0, 0.0).head_pose(head).pitch == pytest.approx(np.radians(-10))


def test_the_filter_steadies_a_head_at_rest_and_follows_one_that_moves() -> None:
    rng = np.random.default_rng(0)
    rest, steady = _posed(10.0, 5.0, 178.0, 40.0), PoseFilter()
    raw, calm = [], []
    for frame in range(100):
        shaken = KeypointPose(*(np.array(astuple(rest)[:6]) + rng.normal(0, 1, 6) * (0.6, 0.6, 0.8, 0.05, 0.05, 0.05)))
        wrapped = replace(shaken, roll=math.remainder(shaken.roll, 2 * math.pi))
        calm.append(steady(wrapped, frame / 25))
        raw.append(shaken)
    assert np.std([p.yaw for p in calm[20:]]) < 0.6 * np.std([p.yaw for p in raw[20:]])
    assert np.std([p.x for p in calm[20:]]) < 0.8 * np.std([p.x for p in raw[20:]])
    assert all(abs(math.remainder(p.roll - rest.roll, 2 * math.pi)) < 0.2 for p in calm), "no swing through zero"
    moved = replace(rest, x=rest.x + 3 * rest.size)
    for frame in range(100, 110):
        last = steady(moved, frame / 25)
    assert abs(last.x - moved.x) < 0.1 * rest.size


def test_after_a_pause_the_filter_begins_anew() -> None:
    first, other, steady = _posed(0.0, 0.0, 0.0), _posed(60.0, 0.0, 0.0, 90.0), PoseFilter()
    steady(first, 0.0)
    assert steady(other, 0.4).yaw < 0.95 * other.yaw
    assert steady(other, 1.0).yaw == pytest.approx(other.yaw)
