"""Which pose a face is shown at in frames that tell none: on the way between two, before the first, after the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Keypoints, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect.held_poses import Going, HeldPoses
from streamdeid.protect.levels import Level
from streamdeid.protect.pending import PendingFrame, SeenTrack
from streamdeid.protect.plan import Plan
from streamdeid.protect.posed_faces import few
from streamdeid.render.posed_region import HeadOutline, face_ellipse, holds, posed_region

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


def planned(one: Track, found: PosedView | None, tracklet: int = 1) -> Plan:
    level = Level.SOFT if found is None else Level.POSED
    return Plan(one, (one.box, None, (60, 40)), level, posed=found, tracklet=tracklet)


def shown(
    made: Sequence[PendingFrame[None]],
    lost: Sequence[int] = (),
    away: Sequence[int] = (),
    tracklet: int = 1,
    again: bool = False,
) -> list[int | None]:
    """Frame by frame, with 20 frames of look-ahead: the place at which the face is shown; None where it is not."""
    poses, places = HeldPoses(), []
    for index, pending in enumerate(made):
        one = track(index, seen=index not in lost)
        pending.tracks = [one if one.face is None else replace(one, face=replace(one.face, again=again))]
    for index, pending in enumerate(made):
        later = made[index + 1 : index + 21]
        (one,) = pending.tracks
        seen = pending.seen.get(NUMBER)
        own = None if seen is None else seen.posed
        going = Going(pending.frame, tracklet if seen is None else seen.tracklet, later, pending.tracks, known=True)
        found = poses.of_lost(one, going) if one.face is None else poses.of_seen(one, own, going, away=index in away)
        poses.decided([planned(one, found, going.tracklet)], pending)
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
        poses.decided([planned(track(index), views[index])], made[index])
    middle = poses.of_seen(track(11), None, Going(made[11].frame, 1, made[12:], [], known=True), away=False)
    assert middle is not None and middle.pose.yaw == pytest.approx(0.3) and middle.sighted == box_at(11)


JUMPED = object()


def elsewhere(index: int, away: float = 45.0, chain: object | None = JUMPED) -> PosedView:
    """What the same track's points tell after they jumped aside, by so many pixels."""
    there = view(index)
    x0, y0, x1, y1 = there.box
    return replace(there, pose=replace(there.pose, x=index + away), box=(x0 + away, y0, x1 + away, y1), chain=chain)


@pytest.mark.parametrize("told", [0, 1])
def test_points_that_jump_and_are_back_in_half_a_second_are_passed_over(told: int) -> None:
    """told: how many of the frames elsewhere show no pose, as the first one after each jump."""
    views: list[PosedView | None] = [view(n) for n in range(6)]
    views += [None] * told + [elsewhere(n) for n in range(6 + told, 10)] + [None] * told
    views += [view(n) for n in range(10 + told, 30)]
    assert shown(frames(views)) == everywhere(30)


def test_points_that_are_back_but_not_agreed_on_are_not_believed() -> None:
    views = [*(view(n) for n in range(6)), *(elsewhere(n) for n in range(6, 10))]
    assert shown(frames([*views, *(view(n, agreed=False) for n in range(10, 30))]))[6:10] == [51, 52, 53, 54]


def held_in(found: PosedView | None, boxes: Sequence[Box], fitting: FitModel) -> list[bool]:
    """Whether the region that is rendered holds the ellipses in some boxes."""
    assert found is not None
    ellipses = [face_ellipse(box) for box in found.places]
    region = posed_region(found.pose, HeadOutline.of(fitting), ellipses)
    return [holds(region, face_ellipse(box)) for box in boxes]


def test_of_points_that_are_passed_over_the_place_and_the_detectors_box_are_covered_too(fitting: FitModel) -> None:
    made = frames([*(view(n) for n in range(6)), elsewhere(6), *(view(n) for n in range(7, 30))])
    poses = HeldPoses()
    for index in range(6):
        poses.decided([planned(track(index), made[index].seen[NUMBER].posed)], made[index])
    sighted = (40.0, -20.0, 70.0, 30.0)
    there = replace(track(6), face=Face(sighted, 0.9, evidence=0.9))
    found = poses.of_seen(
        there, made[6].seen[NUMBER].posed, Going(made[6].frame, 1, made[7:], [there], known=True), away=False
    )
    assert found is not None and found.box == box_at(6) and found.sighted == sighted
    assert held_in(found, [box_at(6), box_at(51), sighted], fitting) == [True] * 3


def test_points_that_jump_and_stay_are_followed_and_what_they_left_is_covered_for_a_moment(fitting: FitModel) -> None:
    made = frames([view(n) for n in range(6)] + [elsewhere(n) for n in range(6, 30)])
    assert shown(made) == [*range(6), *(n + 45 for n in range(6, 30))]
    poses = HeldPoses()
    for index in range(20):
        own = made[index].seen[NUMBER].posed
        later = made[index + 1 :]
        found = poses.of_seen(track(index), own, Going(made[index].frame, 1, later, [], known=True), away=False)
        poses.decided([planned(track(index), found)], made[index])
        assert held_in(found, [box_at(5)], fitting) == [index < 11] or index < 6, index


def test_who_walks_by_a_slow_camera_leaves_nothing_to_be_covered() -> None:
    made = frames([replace(view(n), pose=replace(view(n).pose, x=20.0 * n), box=box_at(20.0 * n)) for n in range(9)], 8)
    made = [replace_view(one, sighted=box_at(20.0 * n)) for n, one in enumerate(made)]
    poses = HeldPoses()
    for index, one in enumerate(made):
        own = one.seen[NUMBER].posed
        found = poses.of_seen(track(index), own, Going(one.frame, 1, made[index + 1 :], [], known=True), away=False)
        poses.decided([planned(track(index), found)], one)
        assert found is own


def replace_view(pending: PendingFrame[None], **changes: Any) -> PendingFrame[None]:
    found = pending.seen[NUMBER].posed
    assert found is not None
    pending.seen[NUMBER].posed = replace(found, **changes)
    return pending


def test_a_head_that_turns_aside_and_back_at_once_goes_nowhere() -> None:
    """Its points do not go on from each other, since they turn too far, but the head is where it was."""
    views = [
        *(view(n) for n in range(6)),
        *(replace(view(n, 0.8), chain=JUMPED) for n in range(6, 9)),
        *(view(n) for n in range(9, 30)),
    ]
    made, poses = frames(views, 10), HeldPoses()
    for index, one in enumerate(made[:9]):
        own = one.seen[NUMBER].posed
        found = poses.of_seen(track(index), own, Going(one.frame, 1, made[index + 1 :], [], known=True), away=False)
        poses.decided([planned(track(index), found)], one)
        assert found is own, "it is shown as it turns"


def test_points_that_are_back_late_are_followed_meanwhile() -> None:
    views = [*(view(n) for n in range(6)), *(elsewhere(n) for n in range(6, 22))]
    places = shown(frames([*views, *(view(n) for n in range(22, 40))]))
    assert places[6:18] == [n + 45 for n in range(6, 18)]


def test_a_quick_head_whose_points_never_jump_is_followed_there_and_back() -> None:
    swing = [0, 8, 16, 24, 25, 24, 16, 8, 0]
    views = [view(n) for n in range(6)] + [elsewhere(n + 6, away, None) for n, away in enumerate(swing)]
    made = frames(views + [view(n) for n in range(15, 30)])
    assert shown(made)[6:15] == [n + 6 + away for n, away in enumerate(swing)]


def test_a_longer_gap_is_a_redaction_of_some_length() -> None:
    made = frames([view(n) for n in range(6)] + [None] * 20 + [view(n) for n in range(26, 40)])
    places = shown(made)
    hidden = [n for n, place in enumerate(places) if place is None]
    assert hidden == list(range(9, 19)), "three frames after the last view, and 0.3 s before the next one"


def test_slow_footage_is_not_bridged_for_seconds() -> None:
    made = frames([view(n) for n in range(6)] + [None] * 6 + [view(n) for n in range(12, 30)], rate=6)
    assert [n for n, place in enumerate(shown(made)) if place is None] == [9]


def test_of_slow_footage_two_frames_of_three_make_a_face_begin() -> None:
    views = [None] * 10 + [view(10), None, view(12), view(13)] + [None] * 10
    assert shown(frames(views, rate=25)) == [None] * 24
    assert shown(frames(views, rate=12)) == [None] * 24
    assert shown(frames(views, rate=10))[10:14] == [10, 11, 12, 13]
    assert shown(frames([None] * 10 + [view(10), view(11)] + [None] * 12, rate=5)) == [None] * 24, "one is not enough"


def test_a_face_that_the_next_frames_tell_is_shown_before_its_first_pose() -> None:
    views = [None] * 10 + [view(n) for n in range(10, 30)]
    places = shown(frames(views))
    assert places == everywhere(30), "where the detector sees it"
    places = shown(frames([None] * 15 + [view(n) for n in range(15, 30)]))
    assert [n for n, place in enumerate(places) if place is None] == [0, 1, 2], "half a second before it"


def test_no_face_begins_where_a_second_look_only_says_that_there_may_be_one() -> None:
    views = [None] * 10 + [view(n) for n in range(10, 30)]
    assert shown(frames(views), again=True) == [*[None] * 10, *range(10, 30)]
    made, seen = frames(views), track(9)
    for points in (None, Keypoints(box_at(9), np.ones((5, 2)), 0.8)):
        one = replace(seen, face=replace(seen.face or Face(box_at(9), 0.9), again=True, keypoints=points))
        going = Going(made[9].frame, 1, made[10:], [one], known=True)
        found = HeldPoses().of_seen(one, None, going, away=False)
        assert (found is not None) == (points is not None), "a look that sees a face is a sighting"
    gap = [view(n) for n in range(6)] + [None] * 11 + [view(n) for n in range(17, 30)]
    assert shown(frames(gap), again=True) == everywhere(30), "between two poses it has one there"


def test_a_face_that_was_shown_through_a_loss_does_not_flash_in_frames_of_a_second_look() -> None:
    """Without the loss it would begin with its first pose."""
    views = [None] * 10 + [view(n) for n in range(10, 30)]
    assert shown(frames(views), lost=[4, 5], again=True) == [*[None] * 4, *range(4, 30)]
    poses, made = HeldPoses(), frames(views)
    own = replace(planned(track(2), None), level=Level.OWN_FACE)
    poses.decided([own], made[2])
    one = replace(track(3), face=Face(box_at(3), 0.9, again=True))
    going = Going(made[3].frame, 1, made[4:], [one], known=True)
    assert poses.of_seen(one, None, going, away=False) is None, "an own face in the frame before is no loss"


@pytest.mark.parametrize("again", [False, True])
def test_a_face_for_a_moment_between_two_redactions_is_none(again: bool) -> None:
    assert shown(frames([None] * 10 + [view(10), view(11)] + [None] * 18), again=again) == [None] * 30
    back = [view(n) for n in range(8)] + [None] * 10 + [replace(view(18), held=True)] + [None] * 11
    assert shown(frames(back), again=again) == [*range(11), *[None] * 19], "half a second after it was shown last"


def test_what_was_seen_when_a_frame_was_looked_at_again_is_known_before_that_is_decided() -> None:
    """A face that goes on to be seen there does not end."""
    made = frames([view(n) for n in range(8)] + [None] * 22)
    assert shown(made, lost=range(15, 30))[:15] == everywhere(15), "it ends in 0.3 s"
    poses, places = HeldPoses(), []
    for index, pending in enumerate(made):
        pending.covered = [track(index)]
    for index, pending in enumerate(made[:15]):
        going = Going(pending.frame, 1, made[index + 1 : index + 21], pending.tracks, known=True)
        found = poses.of_seen(track(index), pending.seen[NUMBER].posed, going, away=False)
        poses.decided([planned(track(index), found)], pending)
        places.append(found is not None)
    assert places == [True] * 11 + [False] * 4


def test_a_pose_that_is_agreed_on_a_little_later_is_one() -> None:
    views = [None] * 3 + [view(n, agreed=n >= 6) for n in range(3, 30)]
    assert shown(frames(views)) == everywhere(30)


def test_a_frame_in_doubt_tells_no_pose_to_come() -> None:
    """It may be somebody else's."""
    views = [None] * 8 + [view(n) for n in range(8, 30)]
    places = shown(frames(views, doubts=range(8, 12)))
    assert places == everywhere(30), "12 frames before the first one without a doubt"
    places = shown(frames(views, doubts=range(8, 16)))
    assert places[:4] == [None] * 4 and places[4:8] == [4, 5, 6, 7]


def test_after_the_last_pose_it_is_held_for_three_frames_or_to_the_end_of_the_track() -> None:
    views = [view(n) for n in range(8)]
    assert shown(frames(views + [None] * 22)) == [*range(11), *[None] * 19]
    assert shown(frames(views + [None] * 22), lost=range(13, 30)) == [*range(16), *[None] * 14]


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


def test_a_lost_face_does_not_come_back_after_a_redaction_that_nothing_ends() -> None:
    views = [view(n) for n in range(8)] + [None] * 22
    assert shown(frames(views), lost=range(16, 30)) == [*range(15), *[None] * 15]


@pytest.mark.parametrize("lost", [True, False])
def test_a_face_does_not_begin_on_the_one_from_behind_which_it_comes(lost: bool) -> None:
    made = frames([None] * 8 + [view(n) for n in range(8, 30)])
    hidden = range(8) if lost else ()
    for index, pending in enumerate(made):
        pending.tracks = [track(index, seen=index not in hidden)]
        if index < 6:
            pending.tracks.append(replace(track(index + 20), number=9))
    poses = HeldPoses()
    for index, pending in enumerate(made[:8]):
        one, going = pending.tracks[0], Going(pending.frame, 1, made[index + 1 :], pending.tracks, known=True)
        found = poses.of_lost(one, going) if lost else poses.of_seen(one, None, going, away=False)
        assert (found is not None) == (index >= 6)


def test_nothing_is_held_of_what_is_not_known_yet() -> None:
    """A live stream: no look-ahead."""
    made = frames([view(n) for n in range(8)] + [None] * 10)
    poses, places = HeldPoses(), []
    for index, pending in enumerate(made):
        going = Going(pending.frame, 1, [], [track(index)], known=True)
        found = poses.of_seen(track(index), pending.seen[NUMBER].posed, going, away=False)
        poses.decided([planned(track(index), found)], pending)
        places.append(found is not None)
    assert places == [True] * 11 + [False] * 7
    assert poses.of_lost(track(18, seen=False), Going(made[-1].frame, 1, [], [], known=True)) is None


def test_a_view_that_was_held_by_its_reader_is_no_pose_of_its_own() -> None:
    views = [view(n) for n in range(6)] + [replace(view(n), held=True) for n in range(6, 9)] + [None] * 21
    assert shown(frames(views)) == [*range(9), *[None] * 21]


def test_who_was_ever_shown_posed_is_known_as_long_as_he_is_there() -> None:
    made, poses = frames([view(index) for index in range(4)]), HeldPoses()
    for index, tracklets in enumerate(((), (1, 2), (2,), (1, 2))):
        levels = {1: Level.POSED, 2: Level.OWN_FACE}
        plans = [replace(planned(track(index), view(index), n), level=levels[n]) for n in tracklets]
        poses.decided(plans, made[index])
        assert poses.was_posed(1) == (1 in tracklets) and not poses.was_posed(2)


def test_what_somebody_else_shows_later_on_the_track_is_no_pose_of_this_one() -> None:
    """Somebody goes behind a pillar, and another one comes out."""
    made = frames([view(n) for n in range(8)] + [None] * 8 + [view(n) for n in range(16, 30)])
    for pending in made[16:]:
        pending.seen[NUMBER].tracklet = 2
    assert shown(made, lost=range(8, 16)) == [*range(11), *[None] * 5, *range(16, 30)]
    assert shown(made) == [*range(11), *[None] * 5, *range(16, 30)], "seen all the while, without points"


def test_a_lost_face_is_not_shown_where_somebody_elses_is_seen() -> None:
    made = frames([view(n) for n in range(8)] + [None] * 22)
    poses, places = HeldPoses(), []
    for index, pending in enumerate(made[:11]):
        one = track(index, seen=index < 8)
        other = replace(track(index + (20 if index == 9 else 40)), number=9)
        going = Going(pending.frame, 1, made[index + 1 :], [one, other], known=True)
        seen = pending.seen[NUMBER].posed
        found = poses.of_seen(one, seen, going, away=False) if one.face else poses.of_lost(one, going)
        poses.decided([planned(one, found)], pending)
        places.append(found is not None)
    assert places == [True] * 9 + [False, False], "nor does it come back"


@pytest.mark.parametrize(
    ("beside", "above", "size", "shown_there"),
    [
        (56.0, 0.0, 2.5, False),
        (-56.0, 0.0, 2.5, False),
        (62.0, 0.0, 2.5, True),
        (-62.0, 0.0, 2.5, True),
        (40.0, 0.0, 1.6, True),
        (56.0, 40.0, 2.5, True),
        (56.0, -40.0, 2.5, True),
    ],
)
def test_a_lost_face_is_not_shown_on_the_ear_of_a_larger_one(
    beside: float, above: float, size: float, shown_there: bool
) -> None:
    """A face of 75 pixels whose middle lies 56 away ends beside one of 30, and its ear and hair do not."""
    made = frames([view(n) for n in range(8)] + [None] * 22)
    poses = HeldPoses()
    for index, pending in enumerate(made[:9]):
        one = track(index, seen=index < 8)
        x, half = index + beside, 15.0 * size
        y = 20 - above
        other = Track(9, box_at(x), Face((x - half, y - half, x + half, y + half), 0.9, evidence=0.9), 0, False)
        # While both are seen nothing hides: a face beside a larger one has its own pose.
        going = Going(pending.frame, 1, made[index + 1 :], [one, other], known=True)
        seen = pending.seen[NUMBER].posed
        found = poses.of_seen(one, seen, going, away=False) if one.face else poses.of_lost(one, going)
        poses.decided([planned(one, found)], pending)
        assert (found is not None) == (index < 8 or shown_there)


@pytest.mark.parametrize(("beside", "shown_there"), [(56.0, False), (62.0, True)])
def test_nor_does_it_come_back_there_where_a_second_look_sees_it(beside: float, shown_there: bool) -> None:
    made = frames([view(n) for n in range(8)] + [None] * 22)
    poses = HeldPoses()
    for index, pending in enumerate(made[:10]):
        one = track(index, seen=index != 8)
        if index == 9:
            one = replace(one, face=replace(one.face, again=True))
        x = index + beside
        other = Track(9, box_at(x), Face((x - 37.5, -17.5, x + 37.5, 57.5), 0.9, evidence=0.9), 0, False)
        going = Going(pending.frame, 1, made[index + 1 :], [one, other], known=True)
        seen = pending.seen[NUMBER].posed
        found = poses.of_seen(one, seen, going, away=False) if one.face else poses.of_lost(one, going)
        poses.decided([planned(one, found)], pending)
        assert (found is not None) == (index < 8 or shown_there)


def test_slow_footage_is_held_by_seconds() -> None:
    made = frames([view(n) for n in range(4)] + [None] * 2 + [view(n) for n in range(6, 20)], rate=2)
    assert shown(made, lost=[4, 5])[3:7] == [3, None, None, 6]


def test_frames_of_one_time_are_no_division_by_nothing() -> None:
    made = frames([view(n) for n in range(4)] + [None] + [view(n) for n in range(5, 20)], rate=25)
    for pending in made:
        pending.frame = replace(pending.frame, time=Fraction(0))
    assert shown(made)[4] == 4


def test_until_when_a_tracklet_is_seen() -> None:
    """What is found by looking again there does not count: it says little of who it is."""
    made = frames([view(n) for n in range(8)] + [None] * 8)
    for index, pending in enumerate(made):
        pending.tracks = [track(index)]
    made[12].seen[NUMBER].posed, made[12].tracks, made[12].covered = view(12), [track(12, seen=False)], [track(12)]
    assert Going(made[0].frame, 1, made[1:], [], known=True).until(NUMBER) == Fraction(7, 25)
    assert Going(made[9].frame, 1, made[10:], [], known=True).until(NUMBER) == Fraction(9, 25)
    made[5].seen[NUMBER].tracklet = 2
    assert Going(made[0].frame, 2, made[1:], [], known=True).until(NUMBER) == Fraction(5, 25)


def test_only_sightings_of_the_detector_decide_who_somebody_is() -> None:
    made = frames([view(n) for n in range(12)])
    for index, pending in enumerate(made):
        pending.tracks, pending.covered = [track(index, seen=index >= 5)], [track(index)]
    assert few(NUMBER, made) and not few(NUMBER, [*made, *made[5:]])


def test_a_face_does_not_come_back_for_a_moment_that_is_known_late() -> None:
    """A look at a later frame shows one, after the face was a redaction for some frames."""
    made = frames([*map(view, range(4)), *[None] * 13])
    poses, places = HeldPoses(), []
    for index, pending in enumerate(made):
        pending.tracks = [track(index)]
    for index, pending in enumerate(made):
        if index == 9:
            made[13].seen[NUMBER].posed = view(13)
        going = Going(pending.frame, 1, made[index + 1 :], pending.tracks, known=True)
        found = poses.of_seen(track(index), pending.seen[NUMBER].posed, going, away=False)
        poses.decided([planned(track(index), found)], pending)
        places.append(found is not None)
    assert places == [True] * 7 + [False] * 10


def test_a_camera_that_shakes_changes_nothing_that_is_held() -> None:
    """Points that jump and are back, a gap, a lost face, and points that jump and stay: every view lies where it would
    have lain, moved as the camera was, and what is covered besides, too."""
    views = [view(n) for n in range(6)] + [elsewhere(n) for n in range(6, 10)] + [view(n) for n in range(10, 14)]
    views += [elsewhere(n) for n in range(14, 30)]
    given: list[PosedView | None] = [*views[:3], None, *views[4:]]
    still = held_before_a_camera(given, np.zeros((30, 2)))
    shakes = np.random.default_rng(4).uniform(-40, 40, (30, 2))
    for before, now, (dx, dy) in zip(still, held_before_a_camera(given, shakes), shakes, strict=True):
        assert (before is None) == (now is None)
        if before is not None and now is not None:
            there = before.carried(CameraMotion(np.eye(2), np.array([dx, dy])))
            assert now.pose.x == pytest.approx(there.pose.x) and now.pose.y == pytest.approx(there.pose.y)
            np.testing.assert_allclose(now.places, there.places)
    assert any(one is not None and one.besides for one in still)


def held_before_a_camera(views: Sequence[PosedView | None], offsets: NDArray[np.float64]) -> list[PosedView | None]:
    """The views that are shown where the camera's picture lies by offsets (n, 2) in each frame."""
    made, places = frames(views), []
    camera = [CameraMotion(np.eye(2), offset) for offset in offsets]
    for index, (pending, there) in enumerate(zip(made, camera, strict=True)):
        pending.camera = there.after(camera[index - 1].inverse()) if index else None
        seen = pending.seen[NUMBER]
        seen.posed = None if seen.posed is None else seen.posed.carried(there)
        one = track(index, seen=index != 8)
        box = there.box(one.box)
        pending.tracks = [replace(one, box=box, face=None if one.face is None else replace(one.face, box=box))]
    poses = HeldPoses()
    for index, pending in enumerate(made):
        if pending.camera is not None:
            poses.carried(pending.camera)
        (one,), later = pending.tracks, made[index + 1 : index + 21]
        going = Going(pending.frame, 1, later, pending.tracks, known=True)
        own = pending.seen[NUMBER].posed
        found = poses.of_lost(one, going) if one.face is None else poses.of_seen(one, own, going, away=False)
        poses.decided([planned(one, found)], pending)
        places.append(found)
    return places
