"""The region of a posed face, and the cover rule."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.render.posed_region import HeadOutline, face_ellipse, holding, holds, posed_region, region_bounds


@pytest.fixture(scope="module")
def outline(fitting: FitModel) -> HeadOutline:
    return HeadOutline.of(fitting)


def _pose(size: float, yaw: float, nod: float = 0.0, roll: float = 0.0) -> KeypointPose:
    return KeypointPose(200.0, 150.0, size, *np.radians([yaw, nod, roll]))


@pytest.mark.parametrize("size", [14.0, 22.0, 40.0, 120.0])
@pytest.mark.parametrize("yaw", [0.0, 40.0, -90.0])
@pytest.mark.parametrize("roll", [0.0, 90.0, 180.0])
def test_the_region_holds_the_mean_head_with_a_margin_and_the_forehead(
    outline: HeadOutline, fitting: FitModel, size: float, yaw: float, roll: float
) -> None:
    pose = _pose(size, yaw, 10.0, roll)
    region = posed_region(pose, outline)
    mesh = seen_by(fitting.solid.mesh, pose.head_pose(outline.head))[:, :2]
    share = 0.2 if size < 24 else 0.05
    around = np.linspace(0, 2 * np.pi, 16)
    for angle in around:
        assert holding(region, mesh + share * size * np.array([np.cos(angle), np.sin(angle)])).all()
    brow, nose = (fitting.solid.mesh[v] for v in (9, 2))
    hair = brow + 0.95 * (brow - nose) * (1, 1, 0) + (0, 0, 30)  # as high above the brows as the nose is long
    assert holds(region, seen_by(hair[None], pose.head_pose(outline.head))[:, :2])
    area = 0.5 * abs(np.sum(region[:, 0] * np.roll(region[:, 1], -1) - np.roll(region[:, 0], -1) * region[:, 1]))
    assert area < (2.9 if size < 24 else 1.9) * size**2, "no larger than it has to be"


def test_the_cover_rule_sees_a_face_that_sticks_out(outline: HeadOutline) -> None:
    pose = _pose(50.0, 30.0)
    own = face_ellipse((176.0, 120.0, 224.0, 180.0))
    assert holds(posed_region(pose, outline, [own]), own)
    assert not holds(posed_region(pose, outline), own + np.array([12.0, 0.0]))
    assert not holds(posed_region(pose, outline), np.full((3, 2), np.nan))
    far = face_ellipse((300.0, 120.0, 348.0, 180.0))
    assert holds(posed_region(pose, outline, [own, far]), far) and not holds(posed_region(pose, outline, [own]), far)


def test_a_convex_region_contains_what_lies_inside_whichever_way_it_turns() -> None:
    square = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])
    points = np.array([[2.0, 2.0], [4.0, 2.0], [4.1, 2.0], [-0.1, 0.0], [3.9, 3.9]])
    for region in (square, square[::-1]):
        assert holding(region, points).tolist() == [True, True, False, False, True]


def test_the_ellipse_of_a_box_fills_it() -> None:
    rim = face_ellipse((10.0, 20.0, 50.0, 80.0))
    assert np.allclose(rim.min(axis=0), (10, 20)) and np.allclose(rim.max(axis=0), (50, 80))
    assert np.allclose(np.square((rim - (30, 50)) / (20, 30)).sum(axis=1), 1)


def test_its_bounds_hold_it_however_the_head_is_turned_and_are_not_much_larger(outline: HeadOutline) -> None:
    random = np.random.default_rng(3)
    sides = []
    for size in (8.0, 14.0, 25.0, 60.0, 300.0):
        for yaw, nod, roll in random.uniform((-100, -60, -180), (100, 60, 180), (60, 3)):
            pose, far = _pose(size, yaw, nod, roll), face_ellipse((300.0, 120.0, 348.0, 180.0))
            for others in ([], [far]):
                region, box = posed_region(pose, outline, others), region_bounds(pose, outline, others)
                assert (region >= box[:2]).all() and (region <= box[2:]).all()
            sides.append(np.ptp(posed_region(pose, outline), axis=0).max() / np.ptp(region_bounds(pose, outline)[::2]))
    assert min(sides) > 0.45
