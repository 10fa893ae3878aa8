"""The look-ahead: who is covered, before they were found, between sightings, and not at all."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Keypoints, Track
from streamdeid.core.luma_pyramid import luma_pyramid
from streamdeid.tracking.evident import evident, refuted
from streamdeid.tracking.lookahead import LookAhead
from streamdeid.tracking.noted import Noted
from streamdeid.tracking.tracker import FaceTracker

RATE = 25
SIZE = (640, 480)


def face(x: float, y: float = 200.0, side: float = 60.0, evidence: float = 1.0, score: float = 0.9) -> Face:
    """A square face without landmarks."""
    return Face((x, y, x + side, y + side), score, evidence=evidence)


BLANK = np.full((SIZE[1], SIZE[0]), 100, np.uint8)


def picture(*boxes: Box) -> NDArray[np.uint8]:
    """Luma (480, 640) with a head's worth of pattern around each box, on a plain wall."""
    luma = BLANK.copy()
    for seed, (x0, y0, x1, y1) in enumerate(boxes):
        side = round((x1 - x0) * 1.4)
        rough = np.random.default_rng(seed).integers(40, 220, (7, 7)).astype(np.uint8)
        head = cv2.resize(rough, (side, side), interpolation=cv2.INTER_CUBIC)
        top, left = round((y0 + y1 - side) / 2), round((x0 + x1 - side) / 2)
        a, b, c, d = max(top, 0), max(left, 0), min(top + side, SIZE[1]), min(left + side, SIZE[0])
        if c > a and d > b:
            luma[a:c, b:d] = head[a - top : c - top, b - left : d - left]
    return luma


Waiting = deque[tuple[list[Track], Noted]]


def run(
    frames: Sequence[Sequence[Face]],
    ahead: int = RATE,
    cuts: Sequence[int] = (),
    threshold: float = 0.5,
    pictures: Sequence[NDArray[np.uint8]] | None = None,
) -> list[list[Track]]:
    """What is covered in each frame, tracker and look-ahead together. pictures: luma; without, all is blank."""
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(threshold, SIZE)
    waiting: Waiting = deque()
    shown, scene = [], 0
    for index, faces in enumerate(frames):
        if index in cuts:
            tracker.cut()
            scene += 1
        time = Fraction(index, RATE)
        tracks = tracker.update(faces, time)
        levels = (BLANK,) if pictures is None else luma_pyramid(pictures[index])
        noted = lookahead.note(tracks, time, levels, scene=scene)
        waiting.append((tracks, noted))
        if len(waiting) > ahead:
            shown.append(oldest(lookahead, waiting))
    while waiting:
        shown.append(oldest(lookahead, waiting))
    return shown


def oldest(lookahead: LookAhead, waiting: Waiting) -> list[Track]:
    """What is covered in the oldest frame that waits, which waits no longer."""
    tracks, noted = waiting.popleft()
    return lookahead.shown(tracks, noted, [one for _, one in waiting])


def holds(tracks: Sequence[Track], box: Box) -> bool:
    """Whether one of the boxes holds the whole of another."""
    return any(t.box[0] <= box[0] and t.box[1] <= box[1] and t.box[2] >= box[2] and t.box[3] >= box[3] for t in tracks)


@pytest.mark.parametrize("speed", [0.0, 2.0, -5.0, 9.0])
def test_a_face_is_covered_back_to_where_it_came_from(speed: float) -> None:
    there = [face(280 + speed * (index - 30)) for index in range(60)]
    pictures = [picture(one.box) for one in there]
    shown = run([[] if index < 30 else [there[index]] for index in range(60)], pictures=pictures)
    for index in range(5, 60):
        assert holds(shown[index], there[index].box), index
        assert len(shown[index]) == 1
        assert shown[index][0].box[2] - shown[index][0].box[0] < 2 * 60  # and not half the picture
    assert not shown[4]  # one second before its first sighting, and no more


def test_where_the_patch_is_not_found_motion_tells_for_a_moment_more() -> None:
    shown = run([[] if index < 30 else [face(300 + 2 * index)] for index in range(60)])
    assert [bool(tracks) for tracks in shown[:30]] == [False] * 25 + [True] * 5
    for index in range(25, 30):
        assert holds(shown[index], face(300 + 2 * index).box), index


def test_a_head_that_turns_away_is_followed_by_its_patch() -> None:
    place = [200 + 6 * index if index < 40 else 440 for index in range(70)]  # walks, is lost, and stops
    pictures = [picture(face(x).box) for x in place]
    frames = [[face(place[index])] if index < 32 else [] for index in range(70)]
    for ahead in (0, RATE):
        shown = run(frames, ahead=ahead, pictures=pictures)
        for index in range(32, 42 if ahead else 57):  # who is not seen again within a second has turned away
            assert holds(shown[index], face(place[index]).box), index
            assert shown[index][0].box[2] - shown[index][0].box[0] < 2 * 60


def test_nobody_is_looked_for_before_a_scene_cut() -> None:
    pictures = [picture(face(300).box)] * 60  # even where it would be found
    shown = run([[] if index < 30 else [face(300)] for index in range(60)], cuts=[25], pictures=pictures)
    assert not any(shown[:25])
    assert all(shown[25:])


def test_somebody_who_walks_in_is_not_covered_outside_the_picture() -> None:
    walk = [face(-60 + 6 * index) for index in range(60)]  # inside by half from frame 5 on
    pictures = [picture(one.box) for one in walk]
    shown = run([[] if index < 14 else [walk[index]] for index in range(60)], pictures=pictures)
    for index in range(9, 60):
        x0, y0, x1, y1 = walk[index].box
        assert holds(shown[index], (max(x0, 0), y0, x1, y1)), index


def test_without_a_look_ahead_nothing_is_known_before() -> None:
    shown = run([[] if index < 30 else [face(300)] for index in range(60)], ahead=0)
    assert [bool(tracks) for tracks in shown] == [False] * 30 + [True] * 30


def test_a_gap_is_bridged_from_both_sides_even_when_the_face_turned_round_in_it() -> None:
    place = [300 + 4 * index if index < 30 else 420 - 4 * (index - 30) for index in range(60)]
    there = [face(x) for x in place]
    shown = run([[] if 20 <= index < 40 else [there[index]] for index in range(60)])
    for index, one in enumerate(there):
        x0, y0, x1, y1 = one.box
        middle = (x0 + 15, y0 + 15, x1 - 15, y1 - 15)
        assert holds(shown[index], middle), index
    assert len({track.number for tracks in shown for track in tracks}) == 1


def test_no_cover_without_a_sighting_is_much_wider_than_the_face() -> None:
    frames = [[] if 20 <= index < 36 or index > 50 else [face(300)] for index in range(75)]
    for ahead in (0, RATE):
        shown = run(frames, ahead=ahead)
        covered = [1] * 56 + [0] * 19 if ahead else [1] * 30 + [0] * 6 + [1] * 25 + [0] * 14
        assert [len(tracks) for tracks in shown] == covered
        for tracks in shown:
            assert all(track.box[2] - track.box[0] <= 1.6 * 60 + 1e-6 for track in tracks)


@pytest.mark.parametrize("speed", [3, 4, 5])
@pytest.mark.parametrize("ahead", [0, RATE])
def test_somebody_hidden_behind_another_stays_covered(speed: int, ahead: int) -> None:
    one = [face(180 + speed * index) for index in range(70)]
    other = [face(180 + 80 * speed - speed * index) for index in range(70)]
    pictures = [picture(a.box, b.box) for a, b in zip(one, other, strict=True)]  # the other one is in front
    frames = [[b] if 32 <= index < 52 else [a, b] for index, (a, b) in enumerate(zip(one, other, strict=True))]
    shown = run(frames, ahead=ahead, pictures=pictures)
    blind = range(0) if ahead else range(43, 52)  # lost for 0.4 s, and nobody knows where it will come out
    for index in (index for index in range(70) if index not in blind):
        x0, y0, x1, y1 = one[index].box
        assert holds(shown[index], (x0 + 15, y0 + 15, x1 - 15, y1 - 15)), index


def test_a_gap_longer_than_a_second_is_bridged_when_both_sides_are_known() -> None:
    there = [face(200 + 3 * index) for index in range(110)]
    frames = [[] if 30 <= index < 70 else [there[index]] for index in range(110)]
    tracker, lookahead = FaceTracker(size=SIZE, coast=3), LookAhead(0.5, SIZE)
    waiting: Waiting = deque()
    for index, faces in enumerate([*frames, *[[]] * 75]):
        if index < 110:
            time = Fraction(index, RATE)
            tracks = tracker.update(faces, time)
            waiting.append((tracks, lookahead.note(tracks, time, (BLANK,), scene=0)))
        if index >= 75:
            x0, y0, x1, y1 = there[index - 75].box
            assert holds(oldest(lookahead, waiting), (x0 + 15, y0 + 15, x1 - 15, y1 - 15)), index - 75


@pytest.mark.parametrize("ahead", [0, RATE, 10 * RATE])
def test_a_face_that_turns_away_at_once_is_one_however_far_is_looked_ahead(ahead: int) -> None:
    frames = [[face(300, evidence=0.9 if index < 6 else 0.2, score=0.4)] for index in range(300)]
    assert all(run(frames, ahead=ahead))


@pytest.mark.parametrize("times", [(0, 1, 1, 2), (0, 2, 1, 3), (0, 0, 0, 0)])
def test_times_that_repeat_or_step_back_count_as_none(times: tuple[int, ...]) -> None:
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(0.5, SIZE)
    waiting: Waiting = deque()
    for index, time in enumerate(times):
        tracks = tracker.update([face(300)] if index else [], Fraction(time))
        waiting.append((tracks, lookahead.note(tracks, Fraction(time), (BLANK,), scene=0)))
    for index in range(len(times)):
        assert len(oldest(lookahead, waiting)) >= (index > 0)


def test_what_is_never_evident_is_never_covered_and_a_face_is_from_a_second_before_it_is() -> None:
    faint = [[face(300, evidence=0.2, score=0.4)] for _ in range(60)]
    assert not any(run(faint))
    clear = [[face(300, evidence=0.2 if index < 40 else 0.95, score=0.4)] for index in range(80)]
    shown = [bool(tracks) for tracks in run(clear)]
    first = shown.index(True)
    assert 20 <= first <= 40
    assert all(shown[first:])


def test_a_face_stays_one_while_it_turns_away() -> None:
    turning = [[face(300, evidence=0.9 if index < 20 else 0.1, score=0.3)] for index in range(150)]
    assert all(run(turning, ahead=0))


def test_a_lost_face_is_covered_for_0_4_seconds_and_live_as_long_as_its_patch_is_there() -> None:
    frames = [[face(300)] if index < 30 else [] for index in range(80)]
    for ahead in (0, RATE):
        until = 35 if ahead else 40  # its patch is nowhere
        assert [bool(tracks) for tracks in run(frames, ahead=ahead)] == [True] * until + [False] * (80 - until)
        there = run(frames, ahead=ahead, pictures=[picture((300, 200, 360, 260))] * 80)
        until = 40 if ahead else 55  # live until the track ends: nobody knows whether it is seen again
        assert [bool(tracks) for tracks in there] == [True] * until + [False] * (80 - until)
    left = [picture((300, 200, 360, 260)) if index < 40 else BLANK for index in range(80)]
    assert [bool(tracks) for tracks in run(frames, ahead=0, pictures=left)] == [True] * 50 + [False] * 30


def test_who_has_left_the_picture_is_not_covered() -> None:
    walk = [face(560 + 8 * index) for index in range(10)]  # its left side passes the border in the tenth frame
    shown = run([[one] for one in walk] + [[]] * 20, ahead=0)
    assert all(shown[:10])
    assert not any(shown[12:])


def test_a_face_in_a_gap_is_covered_where_its_patch_leads_backwards() -> None:
    """It stood behind somebody until the 30th frame, and stands there a while before it is seen again."""
    there = [face(200), face(300)]
    frames = [[there[0]] if index < 10 else [] if index < 34 else [there[1]] for index in range(60)]
    pictures = [BLANK if 10 <= index < 18 else picture(there[index >= 18].box) for index in range(60)]
    shown = run(frames, pictures=pictures)
    for index in range(18, 34):
        assert holds(shown[index], there[1].box), index


@given(
    evidence=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    more=st.floats(0, 1),
    threshold=st.floats(0.05, 1),
)
def test_surer_sightings_never_make_a_face_less_evident(evidence: list[float], more: float, threshold: float) -> None:
    values = np.array(evidence)
    if evident(values, threshold):
        assert evident(np.maximum(values, more), threshold)
    else:
        assert not evident(np.minimum(values, more), threshold)


def test_few_sightings_have_to_be_surer_than_many() -> None:
    assert not evident(np.zeros(0), 0.5)
    assert [evident(np.full(count, 0.55), 0.5) for count in (1, 2, 3, 4)] == [False, False, True, True]
    assert [evident(np.full(count, 0.6), 0.5) for count in (1, 2, 3, 4)] == [False, True, True, True]
    assert evident(np.array([0.66]), 0.5)


def test_what_few_sightings_made_a_face_others_can_refute_and_a_settled_one_not() -> None:
    for sure, stays in ((3, False), (8, True)):
        frames = [[face(300, evidence=0.8 if index < sure else 0.3)] for index in range(100)]
        for ahead in (0, RATE):
            assert bool(run(frames, ahead=ahead)[60]) is stays
    assert not refuted(np.array([0.2, 0.3]), 0.5)  # too few
    assert not refuted(np.array([0.2, 0.3, 0.45]), 0.5)  # perhaps
    assert refuted(np.array([0.2, 0.3, 0.3]), 0.5)


def test_one_lucky_look_among_many_is_not_enough() -> None:
    values = np.array([0.9] + [0.3] * 9)
    assert not evident(values, 0.5)
    assert evident(values[:1], 0.5)


def seen(
    x: float, side: float = 60.0, evidence: float = 0.9, surveyed: float | None = None, points: bool = False
) -> Face:
    """A face that a survey looked at, or that has points."""
    box = (x, 200.0, x + side, 200.0 + side)
    found = Keypoints(box, np.full((5, 2), x), 0.9) if points else None
    return Face(box, 0.9, evidence=evidence, keypoints=found, surveyed=surveyed)


def opinions(*said: float, evidence: float = 0.6) -> list[list[Face]]:
    """Forty frames of one place, of which the third network says something in every second one from 12 on."""
    told = {12 + 2 * row: one for row, one in enumerate(said)}
    return [[seen(300, evidence=evidence, surveyed=told.get(index))] for index in range(40)]


def test_what_the_third_network_looked_at_and_never_saw_a_face_in_is_covered_in_no_frame() -> None:
    for never in ((0.2,), (0.4, 0.4), (0.9, 0.8, 0.85), (1.2, 1.1, 0.9, 0.7), (1.2, 1.1, 0.9, 0.7, 1.0, 0.3)):
        assert all(not tracks for tracks in run(opinions(*never))), never


def test_who_turned_to_the_camera_once_is_somebody() -> None:
    shown = run(opinions(0.2, 0.3, 0.2, 0.4, 0.3, 1.2, 1.9, 1.4))
    assert all(len(tracks) == 1 for tracks in shown[2:]), "from a second before that on"


def test_few_opinions_that_are_not_sure_are_no_verdict() -> None:
    for unsure in ((0.4,), (0.3, 0.6), (1.0, 0.3, 0.9), (1.0, 1.3, 0.3, 0.2, 1.3, 1.3)):
        assert all(len(tracks) == 1 for tracks in run(opinions(*unsure))), unsure


def test_what_the_others_are_certain_of_takes_three_opinions() -> None:
    for said, covered in (((0.1,), True), ((0.1, 0.1), True), ((0.1, 0.1, 0.1), False)):
        assert all(bool(tracks) == covered for tracks in run(opinions(*said, evidence=0.9))), said


def wall(said: float, evidence: float, back: float | None = None, ahead: int = RATE) -> list[bool]:
    """Whether a place is covered that is a face for 20 frames, then what is said of it for 80, and then, if that is
    given, seen again with an evidence of `back`."""
    then = [seen(300, surveyed=2.0 if index % 4 == 0 else None) for index in range(20)]
    now = [seen(300, evidence=evidence, surveyed=said if index % 4 == 0 else None) for index in range(80)]
    again = [] if back is None else [seen(300, evidence=back) for _ in range(40)]
    return [bool(tracks) for tracks in run([[one] for one in then + now + again], ahead=ahead)]


@pytest.mark.parametrize("ahead", [0, RATE, 5 * RATE])
def test_what_was_a_face_and_went_over_to_a_wall_is_covered_no_more(ahead: int) -> None:
    shown = wall(0.05, 0.26, ahead=ahead)
    assert all(shown[:30]) and not any(shown[60:80])
    # The third network at half weight leaves what the two others are sure of .475: that is no wall.
    assert all(wall(0.05, 0.475, ahead=ahead)) and all(wall(0.5, 0.26, ahead=ahead))


@pytest.mark.parametrize("back", [0.45, 0.9])
@pytest.mark.parametrize("ahead", [0, RATE])
def test_who_turns_back_is_covered_in_the_first_frame(back: float, ahead: int) -> None:
    shown = wall(0.05, 0.26, back, ahead)
    assert not any(shown[60:75]) and all(shown[100:])


def test_live_it_is_covered_until_then() -> None:
    shown = run([[seen(300, evidence=0.6, surveyed=0.2 if index == 12 else None)] for index in range(30)], ahead=0)
    assert [len(tracks) for tracks in shown] == [1] * 12 + [0] * 18


def test_what_was_hardly_ever_a_face_is_not_covered_on_and_a_face_is() -> None:
    for sightings, goes_on in ((2, False), (6, True)):
        frames: list[list[Face]] = [[seen(300)] for _ in range(sightings)] + [[] for _ in range(20)]
        shown = run(frames, ahead=0)
        assert bool(shown[sightings]) == goes_on


def test_a_lost_face_on_the_head_of_one_that_is_seen_is_that_one() -> None:
    """The detector saw the hair as a face for some frames."""
    hair = replace(seen(310, side=50.0), box=(310.0, 150.0, 360.0, 200.0))
    frames = [[seen(300, points=True), hair] if 5 <= index < 12 else [seen(300, points=True)] for index in range(30)]
    for ahead in (0, RATE):
        shown = run(frames, ahead=ahead)
        assert [len(tracks) for tracks in shown[12:]] == [1] * 18
        assert all(tracks[0].face is not None for tracks in shown[12:])


def test_who_stood_beside_a_face_keeps_the_redaction_when_lost_behind_it() -> None:
    beside = [[seen(300, points=True), seen(345, points=True)] for _ in range(10)]
    shown = run([*beside, *[[seen(300, points=True)] for _ in range(5)]], ahead=0)
    assert [len(tracks) for tracks in shown[10:13]] == [2, 2, 2]


@pytest.mark.parametrize("ahead", [0, RATE])
def test_a_face_above_a_larger_one_is_not_its_hair(ahead: int) -> None:
    """Somebody stands behind; or a dissolve shows two scenes at once (subway_cctv_three)."""
    large, behind = seen(240, side=130.0, points=True), replace(seen(290, side=37.0), box=(290.0, 130.0, 327.0, 167.0))
    small = replace(behind, keypoints=Keypoints(behind.box, np.full((5, 2), 300.0), 0.9))
    frames = [[large, small]] * 10 + [[large]] * 2 + [[large, small]] * 10
    assert [len(tracks) for tracks in run(frames, ahead=ahead)[3:]] == [2] * 19


def test_what_was_hardly_a_face_is_covered_for_a_moment_after_its_last_sighting() -> None:
    """A man whom the networks hardly saw was let go in the last frame before a cut (stage_and_audience)."""
    for sightings, covered in ((2, 2), (6, 8)):  # 0.1 s at 25 frames a second are two frames
        frames: list[list[Face]] = [[seen(300, evidence=0.6)] for _ in range(sightings)] + [[] for _ in range(20)]
        assert sum(map(bool, run(frames))) == covered


@pytest.mark.parametrize("side", [40.0, 150.0, 300.0])
def test_a_lost_face_is_never_larger_than_a_head_nor_than_a_quarter_of_the_picture(side: float) -> None:
    walk: list[list[Face]] = [[seen(20 + 9.0 * index, side)] for index in range(25)]
    for ahead in (0, RATE):
        for tracks in run([*walk, *[[] for _ in range(25)], *walk[:5]], ahead=ahead)[25:50]:
            for track in tracks:
                wide, high = track.box[2] - track.box[0], track.box[3] - track.box[1]
                assert max(wide, high) <= 1.6 * side + 1e-6
                assert wide * high <= max(side * side, SIZE[0] * SIZE[1] / 4) * (1 + 1e-9)
                assert track.sides == (side, side)


@pytest.mark.parametrize("ahead", [0, RATE])
def test_it_is_known_which_places_were_cut(ahead: int) -> None:
    walk = [[face(20 + 9.0 * index)] for index in range(25)]
    gone = run([*walk, *[[] for _ in range(25)]], ahead=ahead)
    assert not any(track.cut for tracks in gone[:25] for track in tracks), "none that is seen"
    lost = [track for tracks in gone[25:] for track in tracks]
    assert lost and all(np.ptp(np.reshape(one.box, (2, 2)), axis=0).max() > 95.9 for one in lost if one.cut)
    assert any(one.cut for one in lost), "where somebody went who walked is less and less known"
    still = run([*[[face(300)] for _ in range(25)], [], [], *[[face(300)] for _ in range(25)]], ahead=ahead)
    assert len(still[25]) == 1 and not any(track.cut for tracks in still for track in tracks)
    large = run([*[[face(50, 50, 370)] for _ in range(25)], [], [], []], ahead=ahead)
    assert [track.cut for track in large[26]] == [True], "a quarter of the picture"


def test_live_what_may_be_a_face_is_covered_for_two_frames_and_let_go() -> None:
    doubtful = [[face(300, evidence=0.55 if index < 1 else 0.4)] for index in range(8)]
    assert [len(tracks) for tracks in run(doubtful, ahead=0)][:4] == [1, 0, 0, 0]
    once = [[face(300, evidence=0.55)], [face(300, evidence=0.55)], *[[] for _ in range(6)]]
    assert [len(tracks) for tracks in run(once, ahead=0)][:4] == [1, 1, 0, 0]
    assert not any(run(once))  # a recording knows that no more came


@pytest.mark.parametrize("ahead", [0, RATE])
def test_a_lost_face_stays_where_it_is_before_a_camera_that_moves(ahead: int) -> None:
    """The camera shakes by more than a face, and for a while nobody sees one: it is covered where it is, and not much
    beside it; in recordings before it was first seen, too."""
    offsets = np.random.default_rng(2).uniform(-45, 45, (60, 2))
    place = [face(300 + float(x), 200 + float(y), side=36.0) for x, y in offsets]
    missing = {*range(4), *range(24, 33)}
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(0.5, SIZE)
    waiting: Waiting = deque()
    shown = []
    for index, one in enumerate(place):
        motion = CameraMotion(np.eye(2), offsets[index] - offsets[index - 1]) if index else None
        if motion is not None:
            tracker.moved(motion)
        tracks = tracker.update([] if index in missing else [one], Fraction(index, RATE))
        waiting.append((tracks, lookahead.note(tracks, Fraction(index, RATE), (BLANK,), scene=0, camera=motion)))
        if len(waiting) > ahead:
            shown.append(oldest(lookahead, waiting))
    while waiting:
        shown.append(oldest(lookahead, waiting))
    for index in range(0 if ahead else 4, 60):
        x0, y0, x1, y1 = place[index].box
        assert holds(shown[index], (x0 + 4, y0 + 4, x1 - 4, y1 - 4)), index
        assert all(track.box[2] - track.box[0] <= 1.6 * 36 + 1e-6 for track in shown[index])


def test_places_of_a_scene_lie_where_its_first_picture_has_them() -> None:
    lookahead = LookAhead(0.5, SIZE)
    zoom, box = CameraMotion(1.5 * np.eye(2), np.array([0.0, 0.0])), np.array([10.0, 20.0, 30.0, 50.0])
    assert lookahead.note([], Fraction(0), (BLANK,), scene=0).steady(box) is box
    noted = lookahead.note([], Fraction(1), (BLANK,), scene=0, camera=zoom)
    np.testing.assert_allclose(noted.here(box) - box, [160, 120, 160, 120])  # as the middle of the picture went
    np.testing.assert_allclose(noted.steady(noted.here(box)), box)
    assert lookahead.note([], Fraction(2), (BLANK,), scene=1).here(box) is box
