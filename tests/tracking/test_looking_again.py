"""The look-ahead asks again where a face is expected: what is seen is a sighting, what is not is hardly covered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Keypoints, Track
from streamdeid.core.luma_pyramid import luma_pyramid
from streamdeid.tracking.lookahead import LookAhead
from streamdeid.tracking.noted import Noted
from streamdeid.tracking.tracker import FaceTracker
from tests.tracking.test_lookahead import BLANK, RATE, SIZE, face, picture

PLAIN = BLANK
HEAD = picture((300.0, 200.0, 360.0, 260.0))
Seen = Callable[[int, Box], Face | None]


def nothing(index: int, box: Box) -> None:
    """Nobody is seen anywhere."""


def perhaps(index: int, box: Box) -> Face:
    """There may be a face everywhere."""
    return Face(box, 0.3, evidence=0.3, again=True)


def somebody(index: int, box: Box) -> Face:
    """A face is seen three pixels to the right of where it is expected."""
    x0, y0, x1, y1 = box
    moved = x0 + 3, y0, x1 + 3, y1
    return Face(moved, 0.8, evidence=0.8, keypoints=Keypoints(moved, np.full((5, 2), 1.0), 0.8), again=True)


def run(
    frames: Sequence[Sequence[Face]], seen: Seen, pictures: Sequence[np.ndarray] | None = None
) -> tuple[list[list[Track]], list[tuple[int, Box]]]:
    """What is covered in each frame, and where was looked: number of the frame and box."""
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(0.5, SIZE)
    waiting: deque[tuple[int, list[Track], Noted]] = deque()
    shown: list[list[Track]] = []
    asked: list[tuple[int, Box]] = []

    def oldest() -> None:
        index, tracks, noted = waiting.popleft()

        def look(track: int, box: Box, others: Sequence[Box]) -> Face | None:
            asked.append((index, box))
            return seen(index, box)

        shown.append(lookahead.shown(tracks, noted, [one for _, _, one in waiting], look))

    for index, faces in enumerate(frames):
        tracks = tracker.update(faces, Fraction(index, RATE))
        luma = PLAIN if pictures is None else pictures[index]
        waiting.append((index, tracks, lookahead.note(tracks, Fraction(index, RATE), luma_pyramid(luma), scene=0)))
        if len(waiting) > RATE:
            oldest()
    while waiting:
        oldest()
    return shown, asked


LATE: list[list[Face]] = [[]] * 30 + [[face(300)]] * 30
"""Somebody who is first found in frame 30, where the head was all the time."""
GAP: list[list[Face]] = [[face(300)]] * 20 + [[]] * 12 + [[face(300)]] * 28
LEFT: list[list[Face]] = [[face(300)]] * 20 + [[]] * 30


def test_before_the_first_sighting_only_a_moment_is_covered_where_nobody_is_seen() -> None:
    shown, asked = run(LATE, nothing, [HEAD] * 60)
    covered = [index for index, tracks in enumerate(shown) if tracks]
    assert covered == list(range(28, 60))  # 0.1 s at 25 frames a second are two frames
    assert asked and max(index for index, _ in asked) < 30


def test_where_the_place_reaches_the_border_a_look_that_saw_nobody_says_little() -> None:
    """Somebody comes in: of the face only a strip may be in the picture, beside where it is expected."""
    pictures = [picture((577.0, 200.0, 637.0, 260.0))] * 60
    shown, asked = run([[]] * 30 + [[face(577)]] * 30, nothing, pictures)
    inside, _ = run(LATE, nothing, [HEAD] * 60)
    assert asked and all(box[2] < SIZE[0] for _, box in asked), "in its own size it is inside"
    assert sum(map(bool, inside[:30])) < 5 < sum(map(bool, shown[:30]))


@pytest.mark.parametrize(
    ("x", "seen_in", "open_frames"),
    [
        (565.0, [21, 22], []),  # open for no frame between two looks
        (300.0, [21, 22], [25, 26, 27]),  # not beside the border: somebody may have turned away
        (565.0, [15, 16], list(range(21, 28))),  # the face is seen too late after that
        (565.0, [], list(range(21, 28))),  # nothing was seen there
    ],
)
def test_who_comes_in_beside_the_border(x: float, seen_in: list[int], open_frames: list[int]) -> None:
    """It stays covered from a look that saw something to a sighting in a quarter of a second."""
    late: list[list[Face]] = [[]] * 30 + [[face(x)]] * 30
    shown, _ = run(
        late, lambda n, box: perhaps(n, box) if n in seen_in else None, [picture((x, 200.0, x + 60, 260.0))] * 60
    )
    assert [index for index in range(21, 30) if not shown[index]] == open_frames


def test_before_the_first_sighting_a_face_that_is_seen_is_one() -> None:
    shown, _ = run(LATE, somebody, [HEAD] * 60)
    early = [tracks[0] for tracks in shown[5:30]]
    assert all(one.face is not None and one.face.again and one.missed == 0 for one in early)
    assert {one.number for one in early} == {1}
    assert all(one.box == one.face.box for one in early if one.face is not None)


def test_where_there_may_be_a_face_the_place_is_covered_as_without_a_look() -> None:
    shown, _ = run(LATE, perhaps, [HEAD] * 60)
    assert all(tracks and tracks[0].sighted is None for tracks in shown[5:30])
    plain, _ = run(LATE, lambda index, box: None, [HEAD] * 60)
    assert shown[30:] == plain[30:]


def test_where_nothing_was_seen_only_every_second_frame_is_looked_at() -> None:
    asked = [index for index, _ in run(LATE, nothing, [HEAD] * 60)[1]]
    assert len(asked) == len(set(asked)) and set(np.diff(asked).tolist()) == {2}


def test_where_something_is_seen_now_and_then_the_place_stays_covered() -> None:
    looks: list[int] = []

    def every_other_time(index: int, box: Box) -> Face | None:
        looks.append(index)
        return perhaps(index, box) if len(looks) % 2 else None

    shown, _ = run(LATE, every_other_time, [HEAD] * 60)
    assert all(shown[looks[0] : 30])
    looks.clear()

    def once(index: int, box: Box) -> Face | None:
        looks.append(index)
        return perhaps(index, box) if len(looks) == 1 else None

    covered = [index for index, tracks in enumerate(run(LATE, once, [HEAD] * 60)[0]) if tracks and index < 28]
    assert covered == list(range(looks[0], looks[0] + 3))


def test_a_face_is_looked_for_in_its_own_size() -> None:
    _, asked = run(LEFT, nothing)
    assert asked
    for _, (x0, y0, x1, y1) in asked:
        assert x1 - x0 == pytest.approx(60, abs=1) and y1 - y0 == pytest.approx(60, abs=1)


def test_a_gap_is_covered_where_the_patch_leads_through_it_whatever_a_look_says() -> None:
    assert all(run(GAP, nothing, [HEAD] * 60)[0])


def test_a_gap_without_the_patch_is_open_where_nobody_is_seen() -> None:
    pictures = [HEAD] * 20 + [PLAIN] * 12 + [HEAD] * 28
    shown, _ = run(GAP, nothing, pictures)
    assert [index for index, tracks in enumerate(shown) if not tracks] == list(range(22, 30))
    assert all(run(GAP, perhaps, pictures)[0])


def test_who_is_not_seen_again_is_let_go_after_a_moment_and_followed_where_looks_go_on_to_see_a_face() -> None:
    shown, _ = run(LEFT, nothing)
    assert [index for index, tracks in enumerate(shown) if tracks] == list(range(22))
    assert all(run(LEFT, somebody)[0][:45])


@pytest.mark.parametrize(("x", "covered"), [(300.0, 5), (-25.0, 10), (SIZE[0] - 35.0, 10)])
def test_who_is_half_outside_the_picture_is_let_go_later(x: float, covered: int) -> None:
    """Nobody sees much of half a face: that nobody sees it again does not mean that it turned away."""
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(0.5, SIZE)
    frames: list[list[Face]] = [*[[face(x)]] * 20, *[[]] * 50]
    noted = []
    for index, faces in enumerate(frames):
        tracks = tracker.update(faces, Fraction(index, RATE))
        noted.append((tracks, lookahead.note(tracks, Fraction(index, RATE), luma_pyramid(PLAIN), scene=0)))
    later = [one for _, one in noted]
    shown = [lookahead.shown(tracks, one, later[index + 1 :]) for index, (tracks, one) in enumerate(noted)]
    assert sum(map(bool, shown[20:])) == covered


def test_a_face_that_is_seen_on_the_head_of_another_one_is_that_one() -> None:
    both = [[face(300), face(420)]] * 20 + [[face(300)]] * 20
    one = face(300, side=60)
    known = [[replace_points(faces[0]), *faces[1:]] for faces in both]

    def on_it(index: int, box: Box) -> Face:
        return Face(one.box, 0.8, evidence=0.8, keypoints=Keypoints(one.box, np.full((5, 2), 1.0), 0.8), again=True)

    shown, asked = run(known, on_it)
    assert asked
    assert all(len(tracks) == 1 for tracks in shown[20:])


def replace_points(found: Face) -> Face:
    """The face with keypoints, so that it has a head."""
    return Face(found.box, found.score, evidence=1.0, keypoints=Keypoints(found.box, np.full((5, 2), 1.0), 0.9))


FAINT: list[list[Face]] = [[face(300, evidence=0.0)]] * 20 + [[]] * 22 + [[face(300)]] * 30
"""A track that was too faint to be shown, then lost, and a face later on."""


def test_places_after_a_face_that_only_a_look_has_seen_have_its_size() -> None:
    def at_times(index: int, box: Box) -> Face | None:
        return somebody(index, box) if index % 3 == 0 else None

    shown, asked = run(FAINT, at_times, [HEAD] * len(FAINT))
    boxes = [track.box for tracks in shown for track in tracks] + [box for _, box in asked]
    assert not any(shown[:20])
    assert any(track.face is not None and track.face.again for tracks in shown[20:42] for track in tracks)
    assert min(min(x1 - x0, y1 - y0) for x0, y0, x1, y1 in boxes) >= 59.9


def test_a_look_that_saw_somebody_larger_does_not_enlarge_the_places_that_follow() -> None:
    def larger(index: int, box: Box) -> Face | None:
        x0, y0, x1, y1 = box
        wide = x0 - 30, y0 - 30, x1 + 30, y1 + 30
        keypoints = Keypoints(wide, np.full((5, 2), 1.0), 0.8)
        return Face(wide, 0.8, evidence=0.8, keypoints=keypoints, again=True) if index == 22 else None

    _, asked = run(GAP, larger, [HEAD] * len(GAP))
    assert max(x1 - x0 for index, (x0, _, x1, _) in asked if index > 22) < 1.3 * 60


@pytest.mark.parametrize("before", [False, True])
def test_a_box_that_is_twice_the_face_for_a_frame_or_two_does_not_enlarge_a_lost_one(before: bool) -> None:
    """Before its first sighting a face has the size of those to come, after its last one that of those before."""
    twice = [replace(face(300), box=(270.0, 170.0, 390.0, 290.0))] * 2
    last: list[list[Face]] = [*[[face(300)]] * 8, *[[one] for one in twice]]
    frames: list[list[Face]] = [*[[]] * 10, *last[::-1], *[[face(300)]] * 20] if before else [*last, *[[]] * 10]
    _, asked = run(frames, somebody, [HEAD] * len(frames))
    gap = [box for index, box in asked if (index < 10 if before else index >= 10)]
    assert len(gap) > 4 and max(x1 - x0 for x0, _, x1, _ in gap) < 61


def test_a_face_that_is_hidden_in_part_before_it_is_lost_keeps_its_size() -> None:
    part = replace(face(300), box=(315.0, 215.0, 345.0, 245.0))
    last: list[list[Face]] = [*[[face(300)]] * 8, *[[part]] * 3]
    _, asked = run([*last, *[[]] * 10], somebody, [HEAD] * 21)
    assert min(x1 - x0 for index, (x0, _, x1, _) in asked if index >= 11) > 59


def test_what_is_no_face_is_nobody_elses() -> None:
    """Only faces that are covered are told a look as others."""
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(0.5, SIZE)
    told: list[Sequence[Box]] = []

    def look(track: int, box: Box, others: Sequence[Box]) -> Face | None:
        told.append(others)
        return None

    noted = []
    for index in range(40):
        faces = [face(100), *([face(300)] if index < 20 else []), face(420, evidence=0.1)]
        tracks = tracker.update(faces, Fraction(index, RATE))
        noted.append((tracks, lookahead.note(tracks, Fraction(index, RATE), luma_pyramid(PLAIN), scene=0)))
    later = [one for _, one in noted]
    for index, (tracks, one) in enumerate(noted):
        lookahead.shown(tracks, one, later[index + 1 :], look)
    assert told and all([box[0] for box in others] == [100.0] for others in told)


def test_who_was_too_faint_before_is_followed_back_from_where_they_are_seen_next() -> None:
    """Somebody who walks: what was seen before is no place to go back from."""
    frames: list[list[Face]] = [[face(100 + 4 * i, evidence=0.0)] for i in range(20)]
    frames += [[]] * 22 + [[face(100 + 4 * i)] for i in range(42, 72)]
    shown, asked = run(frames, perhaps)
    looked = {index: box for index, box in asked if 20 <= index < 42}
    assert looked
    for index, (x0, _, x1, _) in looked.items():
        assert x1 - x0 >= 59.9
        if index >= 37:  # further back nobody knows; motion says about where
            assert abs((x0 + x1) / 2 - (130 + 4 * index)) < 30, index
    assert all(box[2] - box[0] >= 59.9 for tracks in shown[20:42] for box in (track.box for track in tracks))


def test_whom_a_look_found_is_somebody_else_for_the_next_one() -> None:
    """Both are lost in one frame, side by side: what is seen of one is not taken for the other, too."""
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(0.5, SIZE)
    told: dict[int, list[Sequence[Box]]] = {}

    def look(track: int, box: Box, others: Sequence[Box]) -> Face | None:
        told.setdefault(track, []).append(others)
        return somebody(0, box)

    noted = []
    for index in range(40):
        tracks = tracker.update([face(100), face(190)] if index != 20 else [], Fraction(index, RATE))
        noted.append((tracks, lookahead.note(tracks, Fraction(index, RATE), luma_pyramid(PLAIN), scene=0)))
    later = [one for _, one in noted]
    for index, (tracks, one) in enumerate(noted):
        lookahead.shown(tracks, one, later[index + 1 :], look)
    (first, (others,)), (second, (known,)) = told.items()
    assert first != second and not others and len(known) == 1


@pytest.mark.parametrize("shake", [0.0, 60.0])
def test_who_is_seen_after_a_frame_that_was_not_looked_at_was_there(shake: float) -> None:
    """Somebody comes out behind a pillar: a look sees nobody, the next frame has none, in the one after it a face
    is seen. The camera may shake meanwhile by the face's width."""
    offsets = shake * (np.arange(50) % 2)
    tracker, lookahead = FaceTracker(size=SIZE), LookAhead(0.5, SIZE)
    looked: list[int] = []
    noted = []

    def look(track: int, box: Box, others: Sequence[Box]) -> Face | None:
        looked.append(now)
        return somebody(0, box) if now >= 20 else None

    for index in range(50):
        step = offsets[index] - offsets[index - 1] if index else 0.0
        camera = CameraMotion(np.eye(2), np.array([step, 0.0])) if step else None
        if camera is not None:
            tracker.moved(camera)
        tracks = tracker.update([face(300 + offsets[index])] if index >= 30 else [], Fraction(index, RATE))
        seen = luma_pyramid(np.roll(HEAD, int(offsets[index]), axis=1))
        noted.append((tracks, lookahead.note(tracks, Fraction(index, RATE), seen, scene=0, camera=camera)))
    later, unlooked = [one for _, one in noted], {}
    for now, (tracks, one) in enumerate(noted):
        lookahead.shown(tracks, one, later[now + 1 :], look)
        unlooked |= {now: list(lookahead.unlooked)} if lookahead.unlooked else {}
    first = min(index for index in looked if index >= 20)
    assert first - 1 not in looked and first - 2 in looked
    assert list(unlooked) == [first], "once, right after the frame that was not looked at"
    ((track,),) = unlooked.values()
    assert track.face is None and track.box[0] <= 300 and track.box[2] >= 360
