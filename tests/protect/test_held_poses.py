"""Which pose a face is shown at in frames that tell none: on the way between two, before the first, after the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect.held_poses import HeldPoses
from streamdeid.protect.levels import Level
from streamdeid.protect.pending import PendingFrame, SeenTrack
from streamdeid.protect.plan import Plan

NUMBER = 7
SIZE = 30.0
PLANES = Planes(np.zeros((40, 60), np.uint8), np.zeros((20, 30), np.uint8), np.zeros((20, 30), np.uint8))


def box_at(x: float) -> tuple[float, float, float, float]:
    return x - 15.0, 5.0, x + 15.0, 35.0


def view(index: int, yaw: float = 0.0, *, agreed: bool = True, held: bool = False) -> PosedView:
    """Of a head that goes a pixel to the right in each frame."""
    pose = KeypointPose(float(index), 20.0, SIZE, yaw, 0.0, 0.0)
    return PosedView(pose, box_at(index), box_at(index), agreed, held=held)


def frames(views: Sequence[PosedView | None], rate: int = 25, doubts: Sequence[int] = ()) -> list[PendingFrame[None]]:
    """Frames in which the track shows these views; None where it shows none."""
    made: list[PendingFrame[None]] = []
    for index, one in enumerate(views):
        pending: PendingFrame[None] = PendingFrame(Frame(PLANES, Fraction(index, rate), index), [], None)
        pending.seen[NUMBER] = SeenTrack(1, index in doubts, posed=one)
        made.append(pending)
    return made


def track(index: int, *, seen: bool = True) -> Track:
    face = Face(box_at(index), 0.9, evidence=0.9) if seen else None
    return Track(NUMBER, box_at(index), face, missed=0 if seen else 1, ambiguous=False)


def shown(made: Sequence[PendingFrame[None]], lost: Sequence[int] = (), away: Sequence[int] = ()) -> list[int | None]:
    """Frame by frame, with 20 frames of look-ahead: the place at which the face is shown; None where it is not."""
    poses, places = HeldPoses(), []
    for index, pending in enumerate(made):
        pending.tracks = [track(index, seen=index not in lost)]
    for index, pending in enumerate(made):
        later = made[index + 1 : index + 21]
        (one,) = pending.tracks
        seen = pending.seen.get(NUMBER)
        own = None if seen is None else seen.posed
        if one.face is None:
            found = poses.of_lost(one, pending, later)
        else:
            found = poses.of_seen(one, own, pending, later, away=index in away)
        level = Level.SOFT if found is None else Level.POSED
        poses.decided([Plan(one, (one.box, None, (60, 40)), level, posed=found)], pending)
        places.append(None if found is None else round(found.pose.x))
    return places


def everywhere(count: int) -> list[int | None]:
    return list(range(count))


def test_a_gap_of_half_a_second_is_bridged_on_the_way_from_one_pose_to_the_other() -> None:
    views = [view(n) for n in range(6)] + [None] * 11 + [view(n, yaw=0.6) for n in range(17, 30)]
    made = frames(views)
    assert shown(made) == everywhere(30)
    poses = HeldPoses()
    for index in range(6):
        poses.decided([Plan(track(index), (box_at(0), None, (60, 40)), Level.POSED, posed=views[index])], made[index])
    middle = poses.of_seen(track(11), None, made[11], made[12:], away=False)
    assert middle is not None and middle.pose.yaw == pytest.approx(0.3) and middle.sighted == box_at(11)


def test_a_longer_gap_is_a_redaction_of_some_length() -> None:
    made = frames([view(n) for n in range(6)] + [None] * 20 + [view(n) for n in range(26, 40)])
    places = shown(made)
    hidden = [n for n, place in enumerate(places) if place is None]
    assert hidden == list(range(9, 19)), "three frames after the last view, and 0.3 s before the next one"


def test_slow_footage_is_not_bridged_for_seconds() -> None:
    made = frames([view(n) for n in range(6)] + [None] * 6 + [view(n) for n in range(12, 30)], rate=6)
    assert [n for n, place in enumerate(shown(made)) if place is None] == [9, 10]


def test_a_face_that_the_next_frames_tell_is_shown_before_its_first_pose() -> None:
    views = [None] * 10 + [view(n) for n in range(10, 30)]
    places = shown(frames(views))
    assert [n for n, place in enumerate(places) if place is None] == [0, 1, 2]
    assert places[3:] == list(range(3, 30)), "where the detector sees it"


def test_a_face_for_a_moment_between_two_redactions_is_none() -> None:
    assert shown(frames([None] * 10 + [view(10), view(11)] + [None] * 18)) == [None] * 30


def test_a_pose_that_is_agreed_on_a_little_later_is_one() -> None:
    views = [None] * 3 + [view(n, agreed=n >= 6) for n in range(3, 30)]
    assert shown(frames(views)) == everywhere(30)


def test_a_frame_in_doubt_tells_no_pose_to_come() -> None:
    """It may be somebody else's."""
    views = [None] * 8 + [view(n) for n in range(8, 30)]
    places = shown(frames(views, doubts=range(8, 12)))
    assert places[:5] == [None] * 5 and places[5:8] == [5, 6, 7]


def test_after_the_last_pose_it_is_held_for_three_frames_or_to_the_end_of_the_track() -> None:
    views = [view(n) for n in range(8)]
    assert shown(frames(views + [None] * 22)) == [*range(11), *[None] * 19]
    made = frames(views + [None] * 22)
    for one in made[13:]:
        del one.seen[NUMBER]
    assert shown(made)[:13] == everywhere(13)


def test_who_turned_away_shows_no_face_but_where_it_comes_back_in_a_moment() -> None:
    views = [view(n) for n in range(8)] + [None] * 22
    assert shown(frames(views), away=range(8, 30)) == [*range(8), *[None] * 22]
    back = [view(n) for n in range(8)] + [None] * 4 + [view(n) for n in range(12, 30)]
    assert shown(frames(back), away=range(8, 12)) == everywhere(30)


def test_a_lost_face_is_shown_for_three_frames_beside_a_sight() -> None:
    made = frames([view(n) for n in range(8)] + [None] * 22)
    assert shown(made, lost=range(8, 30)) == [*range(11), *[None] * 19]
    made = frames([None] * 10 + [view(n) for n in range(10, 30)])
    assert shown(made, lost=range(10))[:10] == [*[None] * 7, 7, 8, 9]


@pytest.mark.parametrize("lost", [True, False])
def test_a_face_does_not_begin_on_the_one_from_behind_which_it_comes(lost: bool) -> None:
    made = frames([None] * 8 + [view(n) for n in range(8, 30)])
    hidden = range(8) if lost else ()
    for index, pending in enumerate(made):
        pending.tracks = [track(index, seen=index not in hidden)]
        if index < 6:
            pending.tracks.append(replace(track(index + 4), number=9))
    poses = HeldPoses()
    for index, pending in enumerate(made[:8]):
        one, later = pending.tracks[0], made[index + 1 :]
        found = poses.of_lost(one, pending, later) if lost else poses.of_seen(one, None, pending, later, away=False)
        assert (found is not None) == (index >= 6)


def test_nothing_is_held_of_what_is_not_known_yet() -> None:
    """A live stream: no look-ahead."""
    made = frames([view(n) for n in range(8)] + [None] * 10)
    poses, places = HeldPoses(), []
    for index, pending in enumerate(made):
        found = poses.of_seen(track(index), pending.seen[NUMBER].posed, pending, [], away=False)
        level = Level.SOFT if found is None else Level.POSED
        poses.decided([Plan(track(index), (box_at(0), None, (60, 40)), level, posed=found)], pending)
        places.append(found is not None)
    assert places == [True] * 11 + [False] * 7
    assert poses.of_lost(track(18, seen=False), made[-1], []) is None


def test_a_view_that_was_held_by_its_reader_is_no_pose_of_its_own() -> None:
    views = [view(n) for n in range(6)] + [replace(view(n), held=True) for n in range(6, 9)] + [None] * 21
    assert shown(frames(views)) == [*range(9), *[None] * 21]
