"""A head is not posed far larger than it is in the second before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect.held_poses import Going, HeldPoses
from streamdeid.protect.pending import PendingFrame
from tests.protect.test_held_poses import NUMBER, SIZE, box_at, frames, planned, track, view


def larger(index: int, times: float) -> PosedView:
    """What points in hair and hand tell about the head."""
    one = view(index)
    half = times * 15.0
    box = index - half, 20 - half, index + half, 20 + half
    return replace(one, pose=replace(one.pose, size=times * SIZE), box=box, sighted=box)


def sizes(made: Sequence[PendingFrame[None]], ahead: int = 20) -> list[float | None]:
    """Frame by frame, with so many frames of look-ahead: the size at which the face is shown; None where it is not."""
    poses, told = HeldPoses(), []
    for index, pending in enumerate(made):
        own = pending.seen[NUMBER].posed
        one = track(index)
        pending.tracks = [one]
        going = Going(pending.frame, 1, made[index + 1 : index + 1 + ahead], [one], known=True)
        found = poses.of_seen(one, own, going, away=False)
        poses.decided([planned(one, found)], pending)
        told.append(None if found is None else found.pose.size)
    return told


@pytest.mark.parametrize("ahead", [0, 20])
def test_a_head_is_not_shown_half_as_large_again_for_a_moment(ahead: int) -> None:
    wrong = range(12, 18)
    views = [larger(n, 1.9) if n in wrong else view(n) for n in range(40)]
    told = sizes(frames(views), ahead)
    assert all(one is None or one <= 1.4 * SIZE for one in told)
    if ahead:
        assert told == pytest.approx([SIZE] * 40), "it has the pose on the way from before to after"


def test_the_place_of_points_that_are_too_large_for_the_head_is_covered() -> None:
    """Also where the detector's box is as usual."""
    made = frames([larger(n, 1.9) if n == 12 else view(n) for n in range(40)])
    poses = HeldPoses()
    for index in range(12):
        poses.decided([planned(track(index), view(index))], made[index])
    now = track(12)
    found = poses.of_seen(now, larger(12, 1.9), Going(made[12].frame, 1, made[13:33], [now], known=True), away=False)
    assert found is not None and found.pose.size == SIZE
    assert larger(12, 1.9).box in found.places and box_at(12) in found.places
    poses._left = {1: (made[11].frame.time, (0.0, 0.0, 9.0, 9.0))}  # it jumped from there a moment ago
    again = poses.of_seen(now, larger(12, 1.9), Going(made[12].frame, 1, made[13:33], [now], known=True), away=False)
    assert again is not None and {larger(12, 1.9).box, (0.0, 0.0, 9.0, 9.0)} <= set(again.places)


@pytest.mark.parametrize(("before", "doubted"), [(3, False), (4, True)])
def test_of_fewer_than_five_sizes_none_is_doubted(before: int, doubted: bool) -> None:
    poses = HeldPoses()
    made = frames([*(view(n) for n in range(before)), larger(before, 1.9)])
    for index in range(before):
        poses.decided([planned(track(index), view(index))], made[index])
    now = track(before)
    found = poses.of_seen(now, larger(before, 1.9), Going(made[before].frame, 1, [], [now], known=True), away=False)
    assert found is None or found.pose.size == (SIZE if doubted else 1.9 * SIZE)
    assert doubted or found is not None


def test_a_lost_head_waits_for_the_first_pose_of_its_size() -> None:
    views = [*(view(n) for n in range(10)), *[None] * 6, *(larger(n, 1.9) for n in range(16, 20))]
    made = frames([*views, *(view(n) for n in range(20, 40))])
    for index, pending in enumerate(made):
        pending.tracks = [track(index)]
    poses = HeldPoses()
    for index in range(10):
        poses.decided([planned(track(index), view(index))], made[index])
    for index in range(10, 15):  # seen without points, and not shown
        poses.decided([planned(track(index), None)], made[index])
    gone = track(15, seen=False)
    found = poses.of_lost(gone, Going(made[15].frame, 1, made[16:36], [gone], known=True))
    assert found is not None and found.pose.size == SIZE


def test_a_head_that_comes_nearer_is_shown_as_large_as_it_is() -> None:
    views = [larger(n, 1.018**n) for n in range(50)]  # twice as large in 40 frames, 1.6 seconds
    assert sizes(frames(views)) == [one.pose.size for one in views]
    stays = [view(n) for n in range(10)] + [larger(n, 1.9) for n in range(10, 50)]
    assert sizes(frames(stays))[20:] == [1.9 * SIZE] * 30


def test_sizes_go_along_with_a_camera_that_zooms() -> None:
    made = frames([view(n) for n in range(10)] + [larger(n, 1.9) for n in range(10, 30)])
    poses = HeldPoses()
    for index in range(10):
        poses.decided([planned(track(index), view(index))], made[index])
    going = Going(made[10].frame, 1, [], [track(10)], known=True)
    zoomed = CameraMotion(1.9 * np.eye(2), np.zeros(2))
    assert poses.of_seen(track(10), larger(10, 1.9), going, away=False) is None
    poses.carried(zoomed)
    assert poses.of_seen(track(10), larger(10, 1.9), going, away=False) is not None
