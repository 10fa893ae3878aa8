"""Heads that lie or are upside down: who is believed to, where others are looked for then, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Floats, Pixels
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face, Keypoints
from streamdeid.core.shipped_models import CENTERFACE, network
from streamdeid.detection.centerface import CenterFace
from streamdeid.detection.lying_heads import LyingHeads
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.places import Place
from streamdeid.detection.quarter_turns import TURNS, UPSIDE_DOWN, boxes_turned_back
from streamdeid.detection.survey import FOUND, Part, Survey, limits
from streamdeid.detection.tiles import Rounds, tiles_of, with_turned
from streamdeid.detection.turned_survey import SeenAside, pieces_of, seen_turned
from tests import drawn_faces
from tests.detection.test_mediapipe_faces import frame, put

PLANES = planes_from_rgb(np.zeros((48, 64, 3), np.uint8))
BOX = (10.0, 10.0, 30.0, 30.0)
FACE = Keypoints(BOX, np.full((5, 2), 20.0), 0.8)


class Said:
    """A third network that says of a head what it is told to, by turn; and a second one that always sees a face."""

    def __init__(self, face: Keypoints = FACE, **opinions: float) -> None:
        numbers = {turn.removeprefix("turn_").replace("_", "."): said for turn, said in opinions.items()}
        self.face, self._opinions = face, {float(turn): said for turn, said in numbers.items()}

    def near(self, *_: object) -> Keypoints:
        return self.face

    def __call__(self, planes: object, box: object, turn: int = 0) -> float:
        return self._opinions[turn]


def believed(said: Said, turn: float, places: Sequence[Place], own: Place | None = None) -> bool:
    """Whether a head is believed to lie in a turn."""
    heads = LyingHeads(said, said)  # type: ignore[arg-type]
    return heads.found(PLANES, BOX, turn, (), places, own) is said.face


def sure(turn: int) -> Place:
    return Place((100.0, 100.0, 140.0, 140.0), 0.9, 0, turn, turn, evidence=0.9)


def test_the_third_network_has_to_be_sure_and_surer_than_of_one_that_stands() -> None:
    assert believed(Said(turn_1=1.7, turn_0=1.0), 1, [])
    assert not believed(Said(turn_1=1.5, turn_0=0.0), 1, [])
    assert not believed(Said(turn_1=1.7, turn_0=1.5), 1, [])


def test_of_a_head_upside_down_both_have_to_be_surer() -> None:
    faint = replace(FACE, score=0.7)
    assert believed(Said(turn_2=1.8, turn_0=0.7), 2, []) and not believed(Said(turn_2=1.8, turn_0=0.9), 2, [])
    assert not believed(Said(faint, turn_2=1.8, turn_0=0.1), 2, [])
    assert believed(Said(faint, turn_1=1.8, turn_0=0.9), 1, [])
    assert believed(Said(faint, turn_2=1.8, turn_0=0.9), 2, [sure(2)]), "where somebody hangs and nobody stands"


def test_the_same_holds_for_heads_that_tilt() -> None:
    assert believed(Said(turn_0_3=1.7, turn_0=1.0), 0.3, []) and not believed(Said(turn_0_3=1.5, turn_0=0.0), 0.3, [])
    assert not believed(Said(turn_0_3=1.7, turn_0=1.5), 0.3, [])
    assert believed(Said(turn_2_3=1.8, turn_0=0.7), 2.3, []) and not believed(Said(turn_2_3=1.8, turn_0=0.9), 2.3, [])


def test_who_is_upside_down_beside_somebody_who_stands_has_to_be_surer_than_a_print() -> None:
    print_on_a_jacket, head = Said(turn_2=1.9, turn_0=0.2), Said(turn_2=2.1, turn_0=0.2)
    stands, gone, doubtful = sure(0), sure(0), sure(0)
    assert believed(print_on_a_jacket, UPSIDE_DOWN, [sure(2), sure(1)]), "it may be the camera"
    assert not believed(print_on_a_jacket, UPSIDE_DOWN, [sure(2), stands])
    assert believed(print_on_a_jacket, UPSIDE_DOWN, [sure(2), sure(2), stands]), "it is the camera"
    assert not believed(print_on_a_jacket, UPSIDE_DOWN, [stands]) and believed(head, UPSIDE_DOWN, [stands])
    stands.missed, gone.missed, doubtful.evidence = 8, 9, 0.4
    assert not believed(print_on_a_jacket, UPSIDE_DOWN, [stands]), "not seen for a moment"
    assert believed(print_on_a_jacket, UPSIDE_DOWN, [gone, doubtful])
    assert believed(print_on_a_jacket, UPSIDE_DOWN, [stands], own=stands), "the one that is asked about"


def noted(heads: LyingHeads, places: Sequence[Place], *times: float) -> list[int]:
    """What is looked for in the end, after frames at these times, seconds."""
    return [list(heads.noted(places, Fraction(time))) for time in times][-1]


def heads() -> LyingHeads:
    return LyingHeads(None, None)  # type: ignore[arg-type]


def test_others_are_looked_for_from_the_third_frame_in_which_somebody_was_seen_so() -> None:
    some = heads()
    assert noted(some, [sure(0)], 0.0) == [0]
    assert noted(some, [sure(3)], 0.04, 0.08) == [0]
    assert noted(some, [sure(3)], 0.12) == [0, 3]
    some.forget()
    assert noted(some, [], 0.16) == [0]


def test_others_are_looked_for_ten_times_as_long_as_somebody_was_seen_from_10_seconds_to_600() -> None:
    short, longer, long = heads(), heads(), heads()
    assert noted(short, [sure(1)], 0, 0.1, 0.2) == [0, 1]
    assert noted(short, [], 10) == [0, 1] and noted(short, [], 10.5) == [0]
    assert noted(longer, [sure(2)], *range(10)) == [0, 2]
    assert noted(longer, [], 9 + 89) == [0, 2] and noted(longer, [], 9 + 91) == [0]
    assert noted(long, [sure(1)], *range(200)) == [0, 1]
    assert noted(long, [], 199 + 599) == [0, 1] and noted(long, [], 199 + 601) == [0]


def test_a_clock_that_goes_back_forgets_nobody_and_keeps_nobody_longer() -> None:
    some = heads()
    noted(some, [sure(1)], 1000, 1000.04, 1000.08)
    assert noted(some, [], 0) == [0, 1] and noted(some, [], 9) == [0, 1] and noted(some, [], 11) == [0]


def test_doubtful_lost_leaning_and_second_heads_are_no_reason_to_look_for_others() -> None:
    doubtful, lost, leaning, second, turned = (sure(1) for _ in range(5))
    doubtful.evidence, lost.missed, leaning.lies, second.second, turned.turn = 0.3, 1, 0, True, 3
    assert noted(heads(), [doubtful, lost, leaning, second, turned], *range(9)) == [0]


def test_turns_in_which_heads_lie_are_searched_at_once_and_as_often_as_upright() -> None:
    upright = tiles_of((640, 480), 16.0)
    tiles = with_turned(upright)
    rounds = Rounds(tiles, 32)
    of_turn = {turn: {n for n, tile in enumerate(tiles) if tile.turn == turn} for turn in (0, *TURNS)}
    rounds.due(())
    rounds.look_for((0, 2))
    assert of_turn[2] <= set(rounds.due(()))
    counts = dict.fromkeys(of_turn, 0)
    for _ in range(32 * 16):
        for number in rounds.due(()):
            counts[tiles[number].turn] += 1
    assert counts[2] == pytest.approx(counts[0], rel=0.02)
    assert counts[1] == pytest.approx(counts[0] / 16, rel=0.1)
    rounds.last()
    assert of_turn[0] | of_turn[2] <= set(rounds.due(()))
    rounds.look_for((0,))
    again = sum(len(of_turn[2] & set(rounds.due(()))) for _ in range(16 * 32))
    assert again == pytest.approx(counts[0] / 16, rel=0.1)


def test_upright_tiles_have_their_turns_whatever_is_looked_for_beside_them() -> None:
    upright = tiles_of((1280, 720), 16.0)
    alone, rounds = Rounds(upright, 32), Rounds(with_turned(upright), 32)
    for index in range(200):
        if index % 17 == 3:
            rounds.look_for((0, 1 + index % 3) if index % 2 else (0,))
        usual = set(alone.due(()))
        assert usual <= set(rounds.due(())), index


@pytest.fixture(scope="module")
def centerface() -> CenterFace:
    return CenterFace(network(CENTERFACE), (960, 544))


@pytest.mark.parametrize(
    ("size", "seen"),
    [((360, 640), (960, 544)), ((720, 1280), (960, 544)), ((480, 640), (832, 640)), ((1280, 720), (544, 960))],
)
def test_the_pieces_of_a_turned_picture_fit_are_all_of_it_and_share_what_a_small_face_needs(
    size: tuple[int, int], seen: tuple[int, int]
) -> None:
    scale, pieces = pieces_of(size, seen)
    whole = min(seen[0] / size[0], seen[1] / size[1])
    assert scale >= whole
    shown = np.zeros((round(size[1] * scale), round(size[0] * scale)), int)
    used = np.zeros((seen[1], seen[0]), int)
    for piece in pieces:
        (x, y), (left, top), (width, height) = piece.corner, piece.place, piece.size
        assert x + width <= shown.shape[1] and y + height <= shown.shape[0]
        shown[y : y + height, x : x + width] += 1
        used[top : top + height, left : left + width] += 1
    assert used.max() == 1, "in the network's picture no piece lies on another"
    assert (shown >= 1).mean() > 0.995
    if len(pieces) == 2:
        assert min((shown == 2).any(axis=0).sum(), (shown == 2).any(axis=1).sum()) >= 62


def people(model: AppearanceModel, turn: int, size: tuple[int, int] = (640, 360)) -> tuple[Pixels, Floats]:
    """A room with four small people, after so many quarter turns with the clock, and their boxes (4, 4)."""
    own = size if turn % 2 == 0 else size[::-1]
    picture = drawn_faces.room(own)
    places = ((0.2, 0.2), (0.75, 0.25), (0.25, 0.75), (0.7, 0.8))
    boxes = np.array([put(picture, model, 3 + n, 22.0, own[0] * x, own[1] * y) for n, (x, y) in enumerate(places)])
    there = boxes_turned_back(boxes, turn, size) if turn else boxes
    return np.ascontiguousarray(np.rot90(picture, -turn)), there


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_turned_survey_says_where_small_people_lie_in_the_frame(
    centerface: CenterFace, model: AppearanceModel, turn: int
) -> None:
    picture, boxes = people(model, turn)
    rgb = np.clip(picture, 0, 255).astype(np.uint8)
    faces = seen_turned(centerface, rgb, turn, FOUND, (100.0, 50.0), 2.0)
    for box in boxes:
        near = [face for face in faces if np.abs(np.array(face.box) - (box * 2 + (100, 50, 100, 50))).max() < 24]
        assert near, (turn, box)
        (x0, y0), (x1, y1) = near[0].points[0], near[0].points[1]
        eyes = round(float(np.degrees(np.arctan2(y1 - y0, x1 - x0))) / 90) % 4
        assert eyes == turn
    apart = [np.abs(boxes * 2 + (100, 50, 100, 50) - face.box).max(axis=1).min() for face in faces if face.score > 0.5]
    assert max(apart) <= 24, "and nobody elsewhere"


def test_turned_pictures_are_surveyed_seldom_and_as_often_as_upright_where_heads_lie() -> None:
    survey = Survey(network(CENTERFACE), 0.5, 64)
    survey.lay_out((64, 48))

    def turns(start: int, seconds: int) -> list[int]:
        seen = [survey(PLANES, Fraction(start * 20 + frame, 20)) for frame in range(20 * seconds)]
        return [one.turn if isinstance(one, SeenAside) else 0 for one in seen if one is not None]

    told = turns(0, 13)
    assert told.count(0) == 26 and sorted(turn for turn in told if turn) == sorted([*TURNS, *TURNS])
    survey.look_for((0, 2))
    told = turns(13, 10)
    assert told.count(2) == pytest.approx(20, abs=1) and told.count(0) == pytest.approx(20, abs=1)
    assert told.count(1) + told.count(3) <= 5


def kinds(survey: Survey, times: Sequence[Fraction]) -> list[str]:
    """What is looked at in frames of a picture of 320 x 180 at these times, seconds."""
    planes = planes_from_rgb(np.zeros((180, 320, 3), np.uint8))
    seen = [survey(planes, time) for time in times]
    return [
        f"turn {one.turn}" if isinstance(one, SeenAside) else "whole" if one._window is None else "window"
        for one in seen
        if one is not None
    ]


def test_with_few_frames_a_second_nothing_waits_for_ever() -> None:
    plain, lying = (Survey(network(CENTERFACE), 0.5, 96) for _ in range(2))
    plain.lay_out((320, 180))
    lying.lay_out((320, 180))
    lying.look_for((0, 1, 2))
    seconds = [Fraction(second) for second in range(20)]
    told = kinds(plain, seconds)
    assert told.count("whole") >= 8 and told.count("window") >= 8 and told.count("turn 1") + told.count("turn 3") >= 2
    told = kinds(lying, seconds)
    assert told[:6] == ["whole", "window", "turn 1", "whole", "window", "turn 2"]
    assert min(told.count(kind) for kind in ("whole", "window", "turn 1", "turn 2")) >= 3


def test_upright_windows_are_looked_at_as_often_where_heads_lie() -> None:
    """They are who stands far away: after a jump they are owed first, and then come as ever."""
    plain, lying = (Survey(network(CENTERFACE), 0.5, 96) for _ in range(2))
    plain.lay_out((320, 180))
    lying.lay_out((320, 180))
    lying.look_for((0, 2))
    frames = [Fraction(frame, 25) for frame in range(200)]
    usual, told = kinds(plain, frames), kinds(lying, frames)
    assert told.count("window") == usual.count("window") and told.count("whole") == usual.count("whole")
    assert told.count("turn 2") > told.count("window") + told.count("whole") - 5
    lying.soon()
    again = kinds(lying, [Fraction(8) + one for one in frames[:14]])
    assert again.count("window") == 4


def test_of_a_turned_window_nothing_is_told_that_it_cuts_or_that_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey(network(CENTERFACE), 0.5, 96)
    survey.lay_out((320, 180))
    window = survey._windows[0]
    boxes = ((20.0, 20.0, 34.0, 34.0), (20.0, 20.0, 90.0, 90.0), (window[2] - 5, 20.0, window[2] + 9, 34.0))
    faces = tuple(Keypoints(box, np.full((5, 2), 25.0), 0.9) for box in boxes)
    monkeypatch.setattr("streamdeid.detection.survey.seen_turned", lambda *_: faces)
    planes = planes_from_rgb(np.zeros((180, 320, 3), np.uint8))
    part = Part(window, limits(window, (320, 180)), 2)
    assert survey.look(planes, part) == SeenAside(2, faces[:1])
    assert survey.look(planes, Part((0.0, 0.0, 320.0, 180.0), None, 2)) == SeenAside(2, faces)


@pytest.fixture(scope="module")
def detector() -> Iterator[MediapipeFaces]:
    faces = MediapipeFaces(survey=0.5)
    yield faces
    faces.close()


def about(box: tuple[float, float, float, float], other: Floats) -> bool:
    """Whether the middle of a box lies in another one."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return bool(other[0] < x < other[2] and other[1] < y < other[3])


def test_people_before_a_camera_that_hangs_are_found(detector: MediapipeFaces, model: AppearanceModel) -> None:
    """Before: of 66 faces in five clips turned by 180 degrees 60 were open."""
    picture, boxes = people(model, 2)
    detector.forget()
    faces: list[Face] = []
    for index in range(20):
        faces = list(detector(frame(picture, index)))
    assert len(faces) == 4 and all(any(about(face.box, box) for face in faces) for box in boxes)
    assert detector._rounds._turns == {0, 2}, "others are looked for as they are"
    assert detector._survey is not None and set(detector._survey._turns) == {0, 2}
    detector.forget()
    detector(frame(np.full((360, 640, 3), 90.0), 20))
    assert detector._rounds._turns == {0}


def aside(detector: MediapipeFaces, picture: Pixels, box: Floats, camera: CameraMotion | None = None) -> None:
    """A survey saw a face in a box upside down."""
    x0, y0, x1, y1 = box.tolist()
    seen = SeenAside(2, (Keypoints((x0, y0, x1, y1), np.full((5, 2), 25.0), 0.9),))
    detector._look_aside(frame(picture).planes, seen, camera)


def test_who_is_seen_in_a_turned_survey_is_found_where_the_camera_shows_him_now(
    detector: MediapipeFaces, model: AppearanceModel
) -> None:
    picture, boxes = people(model, 2)
    detector.forget()
    detector._lay_out((640, 360))
    aside(detector, picture, boxes[0])
    (place,) = detector._places
    assert about(place.box, boxes[0]) and place.turn == place.lies == 2 and place.missed == 0
    moved = CameraMotion(np.eye(2), np.array([30.0, -12.0]))
    aside(detector, picture, boxes[1] - np.array([30.0, -12.0, 30.0, -12.0]), moved)
    assert len(detector._places) == 2 and about(detector._places[1].box, boxes[1])
    aside(detector, picture, boxes[0])
    assert len(detector._places) == 2, "who is known"
    place.missed, place.turn = 5, 0
    aside(detector, picture, boxes[0])
    assert len(detector._places) == 2 and place.turn == 2 and place.missed == 0, "who was lost is found again"


def test_a_turned_survey_takes_nothing_from_who_surely_stands(detector: MediapipeFaces, model: AppearanceModel) -> None:
    picture, boxes = people(model, 2)
    x0, y0, x1, y1 = boxes[0].tolist()
    large = Place((x0 - 30, y0 - 30, x1 + 30, y1 + 30), 0.9, 0, evidence=0.9)
    same = Place((x0, y0, x1, y1), 0.9, 0, evidence=0.9)
    for known, missed in ((large, 0), (same, 0), (same, 1)):
        detector.forget()
        detector._lay_out((640, 360))
        known.missed = missed
        detector._places = [known]
        aside(detector, picture, boxes[0])
        assert detector._places == [known] and known.turn == 0 and known.missed == missed
