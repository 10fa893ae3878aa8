"""Views of tilted heads: straightened, what is seen in them lies where it was, and a head is told however it tilts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Box, Pixels, Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.core.shipped_models import CENTERFACE, YUNET, network
from streamdeid.detection.candidates import Candidate
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.five_points import FiveFaces
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.networks import Networks
from streamdeid.detection.places import Place
from streamdeid.detection.second_look import SecondLook
from streamdeid.detection.tiles import tiles_of
from streamdeid.detection.upright_view import (
    roll_of,
    seen_in_view,
    tilted_back,
    upright_turn,
    view,
)
from streamdeid.detection.yunet import YuNet
from tests import drawn_faces
from tests.detection.test_mediapipe_faces import found, frame, put


@pytest.fixture(scope="module")
def detector() -> Iterator[MediapipeFaces]:
    """With the third network."""
    faces = MediapipeFaces(survey=0.5)
    yield faces
    faces.close()


FIVE: Points = np.array([[-0.5, -0.4], [0.5, -0.4], [0.0, 0.1], [-0.35, 0.6], [0.35, 0.6]])
"""Points of a face that looks into the camera; x and y."""


def roll_of_five(points: Points) -> float:
    """The roll of a head by five points, radians."""
    return roll_of(points[:2], points[3:].mean(axis=0))


def rolled(points: Points, angle: float) -> Points:
    """Points turned clockwise on the screen by an angle, radians."""
    cos, sin = math.cos(angle), math.sin(angle)
    turned: Points = points @ np.array([[cos, sin], [-sin, cos]])
    return turned


@pytest.mark.parametrize("degrees", [0, 5, -30, 45, 90, -135, 179])
@pytest.mark.parametrize("narrow", [(1.0, 1.0), (0.05, 1.0), (1.0, 0.05)])
def test_the_roll_of_a_head_that_faces_the_camera_looks_aside_or_is_bowed(
    degrees: float, narrow: tuple[float, float]
) -> None:
    points = 30 * rolled(FIVE * narrow, math.radians(degrees)) + (200, 90)
    assert math.degrees(roll_of_five(points)) == pytest.approx(degrees, abs=1e-6)
    six = np.vstack([points[:3], points[3:].mean(axis=0), np.zeros((2, 2))])  # the detector's: the ears tell nothing
    assert roll_of(six[:2], six[3]) == pytest.approx(math.radians(degrees))
    assert Candidate((0.0, 0.0, 1.0, 1.0), six, 0.5, 0, False).roll == pytest.approx(math.radians(degrees))


@pytest.mark.parametrize(
    ("degrees", "turn", "shown"),
    [
        *(
            (0, 0, 0),
            (15, 0, 0),
            (-15, 0, 0),
            (18, 0, 18),
            (-30, 0, -30),
            (44, 0, 44),
            (45, 0, 0),
            (45, 1, 90),
            (80, 0, 0),
            (-50, 0, 0),
        ),
        *((95, 1, 90), (60, 1, 60), (-60, 3, 300), (-170, 2, 180), (170, 2, 180), (150, 2, 150), (-150, 2, 210)),
    ],
)
def test_a_head_is_straightened_from_16_degrees_to_45(degrees: float, turn: int, shown: float) -> None:
    assert 90 * upright_turn(math.radians(degrees), turn) == pytest.approx(shown)


BOXES: list[Box] = [(130.0, 90.0, 190.0, 150.0), (161.3, 97.9, 175.3, 111.9), (150.6, 101.1, 170.6, 121.1)]
"""Places of 60, 14 and 20 pixels."""


def dotted(box: Box) -> tuple[Planes, Points, float]:
    """A dark picture with a bright disc in a box, above its middle on the right; the disc's middle and radius."""
    side = box[2] - box[0]
    x, y, radius = round(box[0] + 0.65 * side), round(box[1] + 0.35 * side), max(2, round(side / 12))
    picture = np.full((240, 320, 3), 40, np.uint8)
    cv2.circle(picture, (x, y), radius, (250, 250, 250), cv2.FILLED, cv2.LINE_AA)
    return planes_from_rgb(picture), np.array([x + 0.5, y + 0.5]), radius


def disc(rgb: Pixels) -> Points:
    """The middle of the bright disc in a picture, pixels."""
    weights = np.clip(rgb[:, :, 1].astype(np.float64) - 60, 0, None)
    y, x = (np.arange(side) + 0.5 for side in weights.shape)
    return np.array([(weights * x).sum(), (weights * y[:, None]).sum()]) / weights.sum()


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("turn", [0, 1, 2, 3, 0.3, -0.45, 0.7, 1.4, 2.2, 3.45])
def test_what_is_seen_in_a_view_lies_in_the_frame_where_it_was(turn: float, box: Box) -> None:
    planes, there, radius = dotted(box)
    side = box[2] - box[0]
    seen = view(planes, box, 64, 128, turn=turn)
    assert seen.shape == (128, 128, 3)
    (x, y), size = disc(seen), radius * 64 / side
    face = FiveFaces(np.array([[x - size, y - size, x + size, y + size]]), np.array([[[x, y]] * 5]), np.ones(1))
    back = seen_in_view(face, box, 64, 128, turn)
    assert np.abs(back.points - there).max() < 0.15
    assert np.abs(back.boxes - [*(there - radius), *(there + radius)]).max() < 0.15 + 0.06 * side
    # Anticlockwise: what lay right of and above the middle comes to the left of it.
    middle = (there - np.reshape(box, (2, 2)).mean(axis=0)) * 64 / side
    expected = rolled(middle, -turn * math.pi / 2) + 64
    assert np.abs(expected - (x, y)).max() < 2.5 * 64 / side  # the edges of the square are even


def test_whole_turns_change_no_pixel() -> None:
    box = BOXES[0]
    planes, _, _ = dotted(box)
    for turn in range(4):
        upright = view(planes, box, 64, 128, cv2.BORDER_REPLICATE)
        assert (view(planes, box, 64, 128, cv2.BORDER_REPLICATE, turn) == np.rot90(upright, turn)).all()


@pytest.mark.parametrize("turn", [0.2, -0.4])
def test_a_box_that_is_turned_back_is_that_of_the_ellipse_in_it(turn: float) -> None:
    box = np.array([[30.0, 20.0, 70.0, 90.0]])
    around = np.linspace(0, 2 * np.pi, 3600)
    rim = np.stack([50 + 20 * np.cos(around), 55 + 35 * np.sin(around)], axis=-1)
    back = rolled(rim - 64, turn * math.pi / 2) + 64
    boxes, points = tilted_back(box, rim[None], turn, 64.0)
    assert np.abs(points[0] - back).max() < 1e-9
    assert np.abs(boxes[0] - [*back.min(axis=0), *back.max(axis=0)]).max() < 1e-3


def tilted(model: AppearanceModel, degrees: float, width: float = 30.0) -> tuple[Pixels, Box]:
    """Somebody drawn in a room, the picture turned clockwise about the face by so many degrees; and the face's box."""
    picture = drawn_faces.room((640, 400))
    box = put(picture, model, 3, width, 300, 190)
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    turn = cv2.getRotationMatrix2D((x, y), -degrees, 1.0)
    return np.asarray(cv2.warpAffine(picture, turn, (640, 400), borderMode=cv2.BORDER_REFLECT), np.float32), box


@pytest.mark.parametrize("degrees", [-44, -30, 30, 44])
def test_the_other_networks_see_a_tilted_head_that_is_straightened(model: AppearanceModel, degrees: float) -> None:
    close, look = CloseLook(network(CENTERFACE)), SecondLook(Networks(), YuNet(network(YUNET)), glances=False)
    picture, box = tilted(model, degrees)
    planes, turn = frame(picture).planes, upright_turn(math.radians(degrees), 0)
    plain, straight = close(planes, box), close(planes, box, turn)
    assert plain is not None and straight is not None and straight > 1.1 and straight > plain - 0.1
    seen = look.keypoints(planes, box, turn=turn)
    assert seen is not None and seen.score > 0.7
    assert math.degrees(roll_of_five(seen.points)) == pytest.approx(degrees, abs=8)
    x, y = (seen.box[0] + seen.box[2]) / 2, (seen.box[1] + seen.box[3]) / 2
    assert box[0] < x < box[2] and box[1] < y < box[3]


@pytest.mark.parametrize("degrees", [-40, 40])
def test_a_small_tilted_head_is_believed_at_once(
    detector: MediapipeFaces, model: AppearanceModel, degrees: float
) -> None:
    detector.forget()
    picture, box = tilted(model, degrees, 20.0)
    for index in range(4):
        face = found(list(detector(frame(picture, index))), box)
        assert face is not None and face.evidence > 0.65
    place = max(detector._places, key=lambda one: one.evidence)
    assert math.degrees(place.roll) == pytest.approx(degrees, abs=12)


@pytest.mark.parametrize("degrees", [-30, 40])
def test_the_points_of_a_sure_face_that_is_tilted_are_those_of_a_tilted_head(
    detector: MediapipeFaces, model: AppearanceModel, degrees: float
) -> None:
    """As in mall_walk_five turned by 43 degrees: with points as of an upright head a man had a new face beside his."""
    detector.forget()
    picture, box = tilted(model, degrees, 30.0)
    planes = frame(picture).planes
    assert found(list(detector(frame(picture))), box) is not None
    place = max(detector._places, key=lambda one: one.evidence)
    upright = detector._look.keypoints(planes, place.raw)
    place.tilted, place.evidence, place._opinion, place._opinions = False, 0.6, 0.4, 4
    assert upright is not None
    assert detector._lying.likelier(planes, place, upright, (), True) is upright  # perhaps it is no face
    place._opinion = 2.0
    points = detector._lying.likelier(planes, place, upright, (), True)
    assert points is not None and points.score > upright.score and not place.tilted
    assert abs(math.degrees(roll_of_five(upright.points)) - degrees) > 12
    assert math.degrees(roll_of_five(points.points)) == pytest.approx(degrees, abs=8)


def test_a_head_tilts_with_the_camera() -> None:
    cos, sin = math.cos(0.4), math.sin(0.4)
    place = Place((0.0, 0.0, 40.0, 40.0), 0.9, 0, roll=0.1)
    place.carried(CameraMotion(np.array([[cos, -sin], [sin, cos]]), np.zeros(2)), tiles_of((640, 400), 16.0))
    assert place.roll == pytest.approx(0.5)


def test_a_place_is_looked_at_as_the_last_sighting_shows_its_head() -> None:
    place = Place((0.0, 0.0, 40.0, 40.0), 0.9, 0)
    assert place.upright == 0
    points = np.vstack([rolled(FIVE, math.radians(30)), np.zeros((1, 2))])
    points[3] = points[3:5].mean(axis=0)
    seen = Keypoints(place.box, 10 * rolled(FIVE, 0.5), 0.9)
    place.sighted(Candidate(place.box, 10 * points, 0.8, 0, False))
    assert place.upright == 0  # no other network has seen it so
    place.turned(seen, 0.3, 0)
    assert place.upright == pytest.approx(0.3) and (place.turn, place.lies) == (0, 0)
    place.sighted(Candidate(place.box, 10 * points, 0.8, 0, False))
    assert place.upright == pytest.approx(1 / 3)
    place.turned(seen, 1, 0)
    assert place.upright == 1 and place.lies == 1
    place.turned(seen, 3.7, 0)
    assert place.upright == pytest.approx(-0.3) and place.lies == 0
