"""Heads on their side: pictures are turned, what is seen in them is turned back, and drawn people who lie are found."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Box, Pixels
from streamdeid.core.faces import Face
from streamdeid.core.shipped_models import YUNET, network
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.networks import Networks
from streamdeid.detection.quarter_turns import TURNS, aside, boxes_turned_back, turn_of, turned, turned_back
from streamdeid.detection.second_look import SecondLook
from streamdeid.detection.tiles import Rounds, tiles_of, with_turned
from streamdeid.detection.yunet import YuNet
from tests import drawn_faces
from tests.detection.test_mediapipe_faces import found, frame, put

SIZE = 640, 400
"""Width and height of the pictures."""


@pytest.mark.parametrize("turn", range(4))
def test_what_is_seen_in_a_turned_picture_lies_where_it_was(turn: int) -> None:
    picture = np.zeros((30, 50, 3), np.uint8)
    picture[4:9, 7:19] = 255
    seen = turned(picture, turn)
    assert seen.shape[:2] == ((30, 50) if turn % 2 == 0 else (50, 30))
    rows, columns = np.nonzero(seen[:, :, 0])
    box = np.array([[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]], np.float64)
    assert boxes_turned_back(box, turn, (50, 30)).tolist() == [[7.0, 4.0, 19.0, 9.0]]
    corners = turned_back(box.reshape(-1, 2, 2), turn, (50, 30))
    assert sorted(corners[0, :, 0].tolist()) == [7.0, 19.0]


@pytest.mark.parametrize(
    ("angle", "turn"), [(0.0, 0), (0.7, 0), (-0.7, 0), (0.9, 1), (1.6, 1), (-1.6, 3), (3.1, 2), (-3.1, 2)]
)
def test_the_turn_that_shows_a_roll_upright(angle: float, turn: int) -> None:
    assert turn_of(angle) == turn
    # Clockwise by the angle, then so many quarters against the clock: at most an eighth of a turn is left.
    assert aside(angle, turn) <= math.pi / 4
    assert aside(angle, (turn + 2) % 4) >= 3 * math.pi / 4 - 1e-9


def test_turned_tiles_have_their_turn_and_the_upright_ones_theirs_as_before() -> None:
    upright = tiles_of((1280, 720), 16.0)
    tiles = with_turned(upright)
    assert tiles[: len(upright)] == upright and {tile.turn for tile in tiles[len(upright) :]} == set(TURNS)
    alone, rounds = Rounds(upright, 32), Rounds(tiles, 32)
    seen: set[int] = set()
    assert rounds.due(()) == list(range(len(tiles))) and alone.due(()) == list(range(len(upright)))
    for _ in range(16 * 32 + 1):
        due = rounds.due(())
        assert [number for number in due if number < len(upright)] == alone.due(())
        seen.update(due)
    assert seen == set(range(len(tiles)))


@pytest.fixture(scope="module")
def detector() -> Iterator[MediapipeFaces]:
    """With the third network, without which nobody is looked for on the side."""
    faces = MediapipeFaces(survey=0.5)
    yield faces
    faces.close()


def test_a_last_picture_is_searched_upright_and_one_after_a_jump_in_all_turns(
    detector: MediapipeFaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers: list[int] = []
    monkeypatch.setattr(detector, "_search", lambda planes, number: numbers.append(number) or [])
    wall = np.full((480, 640, 3), 90.0)
    every = with_turned(tiles_of((640, 480), 16.0))
    upright = {number for number, tile in enumerate(every) if not tile.turn}

    def searched(index: int) -> set[int]:
        numbers.clear()
        assert detector(frame(wall, index)) == []
        return set(numbers)

    detector.forget()
    assert searched(0) == set(range(len(every)))
    assert len(searched(1)) < len(upright) / 2
    detector.search_last()
    assert upright <= searched(2) < set(range(len(every)))
    detector.search_all()
    assert searched(3) == set(range(len(every)))
    detector.forget()


def lying(model: AppearanceModel, turn: int, width: float = 40.0) -> tuple[Pixels, Box]:
    """A room and somebody drawn in it, after so many quarter turns with the clock; and the box."""
    size = SIZE if turn % 2 == 0 else SIZE[::-1]
    picture = drawn_faces.room(size)
    box = np.array([put(picture, model, 3, width, size[0] * 0.4, size[1] * 0.45)])
    ((x0, y0, x1, y1),) = boxes_turned_back(box, turn, SIZE).tolist() if turn else box.tolist()
    return np.ascontiguousarray(np.rot90(picture, -turn)), (x0, y0, x1, y1)


@pytest.mark.parametrize("turn", TURNS)
def test_somebody_on_the_side_is_found_at_once_with_landmarks_that_lie_as_the_head_does(
    detector: MediapipeFaces, model: AppearanceModel, turn: int
) -> None:
    detector.forget()
    picture, box = lying(model, turn)
    for index in range(6):
        face = found(list(detector(frame(picture, index))), box)
        assert face is not None and face.evidence > 0.5 and face.landmarks is not None and face.presence > 0.5
        eyes = face.landmarks[45] - face.landmarks[36]
        assert turn_of(math.atan2(float(eyes[1]), float(eyes[0]))) == turn
    again = detector.look_again(frame(picture), 1, face.box, ())
    assert again is not None and again.keypoints is not None
    eyes = again.keypoints.points[1] - again.keypoints.points[0]
    assert turn_of(math.atan2(float(eyes[1]), float(eyes[0]))) == turn


def test_nobody_is_looked_for_on_the_side_without_the_third_network(model: AppearanceModel) -> None:
    plain = MediapipeFaces()
    picture, _ = lying(model, 1)
    try:
        plain(frame(picture))
        assert plain._tiles and not any(tile.turn for tile in plain._tiles)
    finally:
        plain.close()


def test_somebody_upright_is_one_face_in_whatever_turn_is_searched(
    detector: MediapipeFaces, model: AppearanceModel
) -> None:
    detector.forget()
    picture, box = lying(model, 0)
    for index in range(40):
        faces: list[Face] = list(detector(frame(picture, index)))
        assert len(faces) == 1 and found(faces, box) is not None


def test_a_head_that_tilts_to_the_side_is_followed(detector: MediapipeFaces, model: AppearanceModel) -> None:
    detector.forget()
    picture, box = lying(model, 0)
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    for index in range(31):
        tilt = cv2.getRotationMatrix2D((x, y), -3.0 * index, 1.0)
        seen = cv2.warpAffine(picture, tilt, SIZE, borderMode=cv2.BORDER_REFLECT)
        face = found(list(detector(frame(seen, index))), box)
        assert face is not None and face.landmarks is not None, index


def test_the_second_network_tells_in_which_turn_somebody_lies(model: AppearanceModel) -> None:
    look = SecondLook(Networks(), YuNet(network(YUNET)))
    for turn in TURNS:
        picture, box = lying(model, turn)
        assert look.turns(frame(picture).planes, box, [0, *TURNS])[0] == turn
        assert look.turns(frame(picture).planes, box, []) == []
    empty = np.full((200, 200, 3), 90.0, np.float32)
    assert look.turns(frame(empty).planes, (60.0, 60.0, 120.0, 120.0), [0, *TURNS]) == []
    look.close()


def test_a_head_that_was_taken_to_lie_stands_again_when_it_is_seen_upright(
    detector: MediapipeFaces, model: AppearanceModel
) -> None:
    """As in interview_cap: the mesh of a profile leant until it was lost, and then a ball stood there for 7 seconds."""
    detector.forget()
    picture, box = lying(model, 0)
    for index in range(4):
        assert found(list(detector(frame(picture, index))), box) is not None
    (place,) = (one for one in detector._places if one.region is not None)
    place.turn, place.region, place.mesh, place.outline = 3, None, None, None
    faces: list[Face] = []
    for index in range(4, 10):
        faces = list(detector(frame(picture, index)))
    face = found(faces, box)
    assert place.turn == 0 and face is not None and face.landmarks is not None
