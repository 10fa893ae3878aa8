"""The pose of a track's head from sighting to sighting: whose points are believed, and for how long."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Keypoints
from streamdeid.observe.keypoint_pose import KeypointPose, MeanHead
from streamdeid.observe.posed_view import PosedReader, PosedView


@pytest.fixture(scope="module")
def head(fitting: FitModel) -> MeanHead:
    return MeanHead.of(fitting)


def face(
    head: MeanHead,
    x: float = 100.0,
    size: float = 40.0,
    yaw: float = 0.0,
    nod: float = 0.05,
    roll: float = 0.0,
    evidence: float = 0.9,
) -> Face:
    """A face whose points are those of the mean head in a pose."""
    pose = KeypointPose(x, 80.0, size, yaw, nod, roll)
    points = pose.size * (head.keypoints @ pose.rotation.T)[:, :2] + (pose.x, pose.y)
    box = (x - size / 2, 80 - 0.7 * size, x + size / 2, 80 + 0.7 * size)
    return Face(box, 0.9, evidence=evidence, keypoints=Keypoints(box, points, 0.9))


def read(reader: PosedReader, *faces: Face, rate: float = 25) -> list[PosedView | None]:
    return [reader(one, index / rate) for index, one in enumerate(faces)]


def test_a_head_is_agreed_on_when_it_was_seen_three_times(head: MeanHead) -> None:
    views = read(PosedReader(head), *[face(head)] * 4)
    assert [view is not None and view.agreed for view in views] == [False, False, True, True]
    assert views[-1] is not None
    assert math.degrees(views[-1].pose.yaw) == pytest.approx(0, abs=3)
    assert views[-1].pose.size == pytest.approx(40, rel=0.06)


def test_what_the_detector_is_not_sure_of_is_not_agreed_on(head: MeanHead) -> None:
    views = read(PosedReader(head), *[face(head, evidence=0.4)] * 6)
    assert all(view is not None and not view.agreed for view in views)


@pytest.mark.parametrize(("rate", "from_then"), [(25, 2), (12, 2), (10, 1), (5, 1)])
def test_of_a_slow_camera_two_sightings_of_three_are_enough(head: MeanHead, rate: int, from_then: int) -> None:
    views = read(PosedReader(head), *[face(head)] * 4, rate=rate)
    assert [view is not None and view.agreed for view in views] == [n >= from_then for n in range(4)]


def test_one_sighting_of_three_is_not_enough_of_a_slow_camera_and_a_gap_makes_no_slow_one(head: MeanHead) -> None:
    sure, unsure = face(head), face(head, evidence=0.4)
    views = read(PosedReader(head), unsure, sure, unsure, unsure, sure, unsure, sure, rate=5)
    assert [view is not None and view.agreed for view in views] == [False] * 6 + [True]
    reader = PosedReader(head)
    read(reader, unsure, unsure)
    views = [reader(one, time) for one, time in ((sure, 0.3), (sure, 0.5))]
    assert [view is not None and view.agreed for view in views] == [False, False]


def test_a_head_that_goes_far_from_one_frame_to_the_next_is_the_same_where_the_detector_sees_it_go(
    head: MeanHead,
) -> None:
    walking = [face(head, x=100.0 + 50 * n) for n in range(4)]
    views = read(PosedReader(head), *walking, rate=5)
    assert [view is not None for view in views] == [True] * 4
    assert views[3] is not None and views[3].agreed and views[3].pose.x == pytest.approx(250, abs=4)


@pytest.mark.parametrize(("rate", "same"), [(25, False), (5, True)])
def test_no_head_goes_farther_with_the_detectors_box_than_a_head_can(head: MeanHead, rate: int, same: bool) -> None:
    """Its box jumped with its points, into the hair above a face: 80 pixels, by a head of 40, in a frame."""
    far = face(head, x=180.0)
    views = read(PosedReader(head), *[face(head)] * 4, far, far, rate=rate)
    assert [view is not None for view in views] == [True] * 4 + [same, True]


@pytest.mark.parametrize("step", [0.0, -0.02])
def test_times_that_repeat_or_step_back_are_a_frame_apart_to_a_head_that_goes(head: MeanHead, step: float) -> None:
    reader = PosedReader(head)
    read(reader, *[face(head)] * 4)
    assert reader(face(head, x=135.0), 3 / 25 + step) is not None


def beside(head: MeanHead, x: float) -> Face:
    """Points of a head somewhere else, in the same box."""
    return replace(face(head), keypoints=face(head, x=x).keypoints)


def test_points_elsewhere_in_the_same_box_are_not_this_heads(head: MeanHead) -> None:
    wide = [replace(one, box=(60.0, 40.0, 130.0, 120.0)) for one in (*[face(head)] * 4, *[beside(head, 75.0)] * 2)]
    views = read(PosedReader(head), *wide)
    assert [view is not None for view in views] == [True] * 4 + [False, True]


@pytest.mark.parametrize("roll", [0.0, 90.0, 180.0, -90.0, 30.0])
@pytest.mark.parametrize(
    ("above", "yaw", "believed"),
    [(0.15, 0.0, True), (0.17, 0.0, False), (-0.17, 0.0, True), (0.17, -45.0, False), (0.17, 60.0, True)],
)
def test_points_in_the_hair_of_somebody_who_bows_tell_no_pose(
    head: MeanHead, above: float, yaw: float, roll: float, believed: bool
) -> None:
    """The box in which the detector sees the face lies lower than the points, as the head stands."""
    turn, one = math.radians(roll), face(head, yaw=math.radians(yaw), roll=math.radians(roll))
    x0, y0, x1, y1 = one.box
    middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2]) + above * 56 * np.array([-math.sin(turn), math.cos(turn)])
    lower = replace(one, box=(*(middle - 28).tolist(), *(middle + 28).tolist()))
    assert (PosedReader(head)(lower, 0.0) is not None) == believed


@pytest.mark.parametrize("other", [{"size": 60.0}, {"yaw": 1.2}])
def test_points_of_another_head_are_not_this_ones(head: MeanHead, other: dict[str, float]) -> None:
    views = read(PosedReader(head), *[face(head)] * 4, face(head, **other), face(head, **other))
    assert views[3] is not None
    assert views[4] is None  # it may be a neighbour's
    assert views[5] is not None  # or this one, after a jump: it begins anew from there


def test_a_pose_is_held_where_the_face_goes_for_three_sightings(head: MeanHead) -> None:
    reader = PosedReader(head)
    read(reader, *[face(head)] * 4)
    views = [reader(replace(face(head, x=100.0 + 4 * n), keypoints=None), (4 + n) / 25) for n in range(1, 5)]
    assert [view is not None for view in views] == [True, True, True, False]
    assert views[2] is not None
    assert views[2].pose.x == pytest.approx(112, abs=1.5)
    assert (views[2].box[0] + views[2].box[2]) / 2 == pytest.approx(112, abs=1e-6)
    assert not views[2].agreed  # two of the last five sightings


@pytest.mark.parametrize(("turn", "shown"), [({"yaw": 1.2}, True), ({"roll": 0.8}, True), ({"nod": 0.8}, False)])
def test_how_far_a_head_may_be_turned(head: MeanHead, turn: dict[str, float], shown: bool) -> None:
    view = read(PosedReader(head), *[face(head, **turn)] * 3)[-1]
    assert view is not None
    assert view.turned_away != shown


def test_where_the_pose_is_less_sure_more_is_covered(head: MeanHead) -> None:
    ahead, aside = (read(PosedReader(head), *[face(head, yaw=yaw)] * 3)[-1] for yaw in (0.0, 1.1))
    assert ahead is not None and aside is not None
    assert ahead.places == (ahead.box, ahead.sighted)
    for grown, plain in zip(aside.places, (aside.box, aside.sighted), strict=True):
        assert np.ptp(np.reshape(grown, (2, 2)), axis=0) == pytest.approx(
            1.15 * np.ptp(np.reshape(plain, (2, 2)), axis=0)
        )


def test_a_mesh_that_the_landmarker_is_sure_of_tells_the_pose_where_no_points_were_asked_for(
    head: MeanHead, fitting: FitModel
) -> None:
    mesh = 0.2 * fitting.solid.mesh + (50.0, 40.0, 0.0)
    width = float(np.ptp(mesh[:, 0]))
    landmarks, forehead = mesh[:68, :2].copy(), mesh[:13, :2].copy()
    whole = (*mesh[:, :2].min(axis=0).tolist(), *mesh[:, :2].max(axis=0).tolist())
    landmarks[0], landmarks[1] = whole[:2], whole[2:]
    sure = Face(whole, 0.9, landmarks, forehead, presence=0.95, mesh=mesh)
    view = PosedReader(head)(sure, 0.0)
    assert view is not None
    assert abs(math.degrees(view.pose.yaw)) < 4
    assert view.pose.size == pytest.approx(width, rel=0.15)
    assert PosedReader(head)(replace(sure, presence=0.6), 0.0) is None


@pytest.mark.parametrize("told", [False, True])
def test_a_head_before_a_camera_that_is_turned_keeps_its_view(head: MeanHead, told: bool) -> None:
    """Sideways by two of its widths in a frame: farther than a head goes. Whoever is told that the camera did it goes
    on, and nothing lags behind."""
    reader, views, last = PosedReader(head), [], 0.0
    for index, x in enumerate([100.0, 180.0, 40.0, 150.0, 250.0, 100.0]):
        if told and index:
            reader.carried(CameraMotion(np.eye(2), np.array([x - last, 0.0])))
        last = x
        views.append(reader(face(head, x=x), index / 25))
    assert [view is not None for view in views] == [True, *[told] * 5]
    beside = [view.pose.x - view.box[0] for view in views if view is not None]
    assert beside == pytest.approx(beside[:1] * len(beside), abs=0.5)
