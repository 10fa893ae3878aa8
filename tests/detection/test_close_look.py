"""A close look at a place: one size, any light."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.arrays import Box
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.shipped_models import CENTERFACE, network
from streamdeid.detection import close_look
from streamdeid.detection.centerface import Seen
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.five_points import FiveFaces
from streamdeid.detection.quarter_turns import boxes_turned_back, turned, turned_back
from streamdeid.detection.upright_view import shown, view
from streamdeid.observe.keypoint_pose import points_of_landmarks
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people


@pytest.fixture(scope="module")
def look() -> CloseLook:
    return CloseLook(network(CENTERFACE))


@pytest.fixture(scope="module")
def drawn() -> SyntheticFrame:
    models = load_models(None)
    return next(iter(synthetic_people(models.fitting, models.gallery, people=1, size=(1280, 720))))


@pytest.fixture(scope="module")
def picture(drawn: SyntheticFrame) -> tuple[NDArray[np.uint8], Box]:
    """A drawn person, RGB uint8 (720, 1280, 3), and the box of the face."""
    planes = drawn.frame.planes
    return rectangle_to_rgb(planes, 0, 0, *planes.size, 1.0), drawn.truths[0].box


def reduced(rgb: NDArray[np.uint8], box: Box, scale: float) -> tuple[Planes, Box]:
    size = [round(side * scale) // 2 * 2 for side in rgb.shape[1::-1]]
    x0, y0, x1, y1 = (scale * side for side in box)
    return planes_from_rgb(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)), (x0, y0, x1, y1)


def upper_half_hidden(picture: tuple[NDArray[np.uint8], Box]) -> tuple[NDArray[np.uint8], Box]:
    """The person with eyes and forehead hidden, as by a beam or a screen."""
    rgb, box = picture
    hidden = rgb.copy()
    hidden[: int(box[1] + 0.45 * (box[3] - box[1]))] = 110
    return hidden, box


def as_a_turned_camera_sees(planes: Planes, box: Box, turn: int) -> tuple[Planes, Box]:
    """A picture and a box in it, as a camera sees both that hangs turned; `turn` quarter turns put it upright."""
    there = planes_from_rgb(turned(rectangle_to_rgb(planes, 0, 0, *planes.size), (4 - turn) % 4))
    return there, boxes_turned_back(np.array([box]), turn, there.size)[0]


@pytest.mark.parametrize("width", [16, 40, 120, 200])
@pytest.mark.parametrize("light", [1.0, 0.2])
def test_a_face_is_one_whatever_its_size_and_light(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box], width: float, light: float
) -> None:
    rgb, box = picture
    planes, place = reduced((rgb * light).astype(np.uint8), box, width / (box[2] - box[0]))
    said = look(planes, place)
    assert said is not None and said > 1.1


def test_half_a_face_behind_something_is_told_by_a_finer_view(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box]
) -> None:
    """The first view alone says less."""
    hidden, box = upper_half_hidden(picture)
    planes, place = reduced(hidden, box, 24 / (box[2] - box[0]))
    first, _ = close_look._best(look._network, close_look._WIDTH, planes, place, 0, ())
    said = look(planes, place)
    assert said is not None and said > max(1.45, first)


@pytest.mark.parametrize("turn", [0, 1, 3])
def test_the_finer_view_stands_upright_too(look: CloseLook, picture: tuple[NDArray[np.uint8], Box], turn: int) -> None:
    hidden, box = upper_half_hidden(picture)
    upright, place = reduced(hidden, box, 48 / (box[2] - box[0]))
    planes, there = as_a_turned_camera_sees(upright, place, turn)
    first, fine = (
        close_look._best(network, width, planes, there, turn, ())[0]
        for network, width in ((look._network, close_look._WIDTH), (look._fine, close_look._FINE_WIDTH))
    )
    other, _ = close_look._best(look._fine, close_look._FINE_WIDTH, planes, there, (turn + 2) % 4, ())
    assert fine > 1.4 > 0.9 > other
    assert look(planes, there, turn) == max(first, fine - close_look._LESS)


def test_a_second_view_is_taken_only_in_doubt(look: CloseLook, monkeypatch: pytest.MonkeyPatch) -> None:
    planes, striped = planes_from_rgb(np.full((120, 160, 3), 128, np.uint8)), np.zeros((96, 96, 3), np.uint8)
    striped[::2] = 255  # bright enough to say that there is no face
    views: list[int] = []

    def said(first: float) -> float | None:
        def best(network: object, width: int, planes: Planes, *given: object) -> tuple[float, NDArray[np.uint8]]:
            views.append(width)
            return (first if len(views) == 1 else 1.6), striped

        views.clear()
        monkeypatch.setattr(close_look, "_best", best)
        return look(planes, (60.0, 40.0, 100.0, 80.0))

    assert said(0.05) == 0.05 and len(views) == 1
    assert said(0.12) == pytest.approx(1.1) and len(views) == 2
    assert said(0.3) == pytest.approx(1.1) and len(views) == 2
    assert said(1.9) == 1.9 and len(views) == 1


def test_what_lies_beside_a_face_is_none(look: CloseLook, picture: tuple[NDArray[np.uint8], Box]) -> None:
    rgb, box = picture
    planes, (x0, y0, x1, y1) = reduced(rgb, box, 80 / (box[2] - box[0]))
    below = 1.2 * (y1 - y0)
    for dx, dy in ((0, below), (160, 0), (-160, 0)):
        said = look(planes, (x0 + dx, y0 + dy, x1 + dx, y1 + dy))
        assert said is not None and said < 0.9


def test_in_the_dark_it_does_not_say_that_there_is_none(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box]
) -> None:
    rgb, box = picture
    planes, (x0, y0, x1, y1) = reduced((rgb * 0.05).astype(np.uint8), box, 80 / (box[2] - box[0]))
    assert look(planes, (x0, y1, x1, 2 * y1 - y0)) is None


def test_it_does_not_say_that_there_is_none_where_it_sees_little_of_the_picture(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box]
) -> None:
    rgb, box = picture
    planes, _ = reduced(np.full_like(rgb, 90), box, 80 / (box[2] - box[0]))
    planes.y[:, np.arange(planes.y.shape[1]) // 30 % 2 == 0] = 200  # stripes are no face, and bright enough to say so
    width, height = planes.size
    inside = (width / 2 - 40, height / 2 - 40, width / 2 + 40, height / 2 + 40)
    said = look(planes, inside)
    assert said is not None and said < 0.9
    large = (width / 2 - height / 2, 0.0, width / 2 + height / 2, float(height))
    assert shown(planes.size, large, 4) < 0.38 < shown(planes.size, inside, 4)
    assert look(planes, large) is None
    again = look(planes, large, anyway=True)
    assert again is not None and again < 0.9
    corner = look(planes, (0.0, 0.0, 60.0, 60.0))
    assert corner is not None and corner < 0.9, "a clock in a corner of the picture is denied as before"


def test_a_face_that_fills_the_picture_is_told(look: CloseLook, picture: tuple[NDArray[np.uint8], Box]) -> None:
    rgb, box = picture
    x0, y0, x1, y1 = (round(v / 2) * 2 for v in box)
    side = (x1 - x0 + y1 - y0) // 2
    cut = np.ascontiguousarray(rgb[y0 - side // 4 : y1 + side // 4, x0 - side // 4 : x1 + side // 4])
    near = cv2.resize(cut, (cut.shape[1] // 2 * 4, cut.shape[0] // 2 * 4))
    scale = near.shape[1] / cut.shape[1]
    place = tuple(scale * v for v in (side // 4, side // 4, side // 4 + x1 - x0, side // 4 + y1 - y0))
    planes = planes_from_rgb(near)
    assert shown(planes.size, place, 4) < 0.38
    said = look(planes, place)
    assert said is not None and said > 1.2


def test_outside_the_picture_its_border_goes_on(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mirrored, a head at the border has a twin."""
    rgb, box = picture
    planes, place = reduced(rgb, box, 80 / (box[2] - box[0]))
    borders: list[int] = []

    def noted(*given: object) -> NDArray[np.uint8]:
        borders.append(int(str(given[4])))
        return view(planes, place, 24, 96)

    monkeypatch.setattr(close_look, "view", noted)
    look(planes, place)
    assert borders and set(borders) == {cv2.BORDER_REPLICATE}


def test_the_share_of_a_view_that_is_picture() -> None:
    size = (640, 360)
    assert shown(size, (300.0, 160.0, 340.0, 200.0), 4) == 1.0
    assert shown(size, (-20.0, 160.0, 20.0, 200.0), 4) == 0.5
    assert shown(size, (-20.0, -20.0, 20.0, 20.0), 4) == 0.25
    assert shown(size, (140.0, 0.0, 500.0, 360.0), 4) == pytest.approx(640 * 360 / 1440**2)
    assert shown(size, (-300.0, 160.0, -260.0, 200.0), 4) == 0.0


def test_a_place_at_the_border_can_be_looked_at(look: CloseLook, picture: tuple[NDArray[np.uint8], Box]) -> None:
    planes, _ = reduced(*picture, 0.25)
    width, height = planes.size
    for corner in ((-30.0, -30.0, 10.0, 10.0), (width - 5.0, height - 5.0, width + 40.0, height + 40.0)):
        assert (look(planes, corner) or 0.0) < 1.1


@pytest.mark.parametrize("turn", [0, 1, 3])
def test_what_is_seen_in_the_middle_of_another_face_is_not_in_this_box(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box], turn: int
) -> None:
    rgb, box = picture
    planes, place = reduced(rgb, box, 80 / (box[2] - box[0]))
    planes, (x0, y0, x1, y1) = as_a_turned_camera_sees(planes, place, turn)
    side = 80.0
    beside = (x0 + 0.25 * side, y0 - 0.1 * side, x1 + 0.25 * side, y1 - 0.1 * side)
    alone = look(planes, beside, turn, anyway=True)
    known = look(planes, beside, turn, anyway=True, others=[(x0, y0, x1, y1)])
    assert alone is not None and alone > 1.2 and known is not None and known < 0.9
    far = (x0 - 0.8 * side, y0, x1 - 0.8 * side, y1)
    assert look(planes, beside, turn, anyway=True, others=[far]) == alone
    own = look(planes, (x0, y0, x1, y1), turn, anyway=True)
    here = (x0 + 0.1 * side, y0 - 0.05 * side, x1 + 0.1 * side, y1 - 0.05 * side)
    for other in (here, (x0 - side, y0, x1 + 2 * side, y1 + 2 * side)):  # one place, or no face of this size
        said = look(planes, (x0, y0, x1, y1), turn, anyway=True, others=[other])
        assert own is not None and said is not None and said > 1.2


@pytest.mark.parametrize("turn", [0, 1, 3])
@pytest.mark.parametrize("width", [20, 80])
def test_the_points_of_a_face_lie_on_its_features(
    look: CloseLook, drawn: SyntheticFrame, width: float, turn: int
) -> None:
    """Asked about a box that lies a tenth aside, as the detector's do."""
    truth = drawn.truths[0]
    rgb = rectangle_to_rgb(drawn.frame.planes, 0, 0, *drawn.frame.planes.size, 1.0)
    scale = width / (truth.box[2] - truth.box[0])
    upright, (x0, y0, x1, y1) = reduced(rgb, truth.box, scale)
    asked = (x0 + 0.1 * width, y0 - 0.1 * width, x1 + 0.1 * width, y1 - 0.1 * width)
    planes, there = as_a_turned_camera_sees(upright, asked, turn)
    found = look.keypoints(planes, there, turn)
    assert found is not None and found.score > 0.5
    features = turned_back(scale * points_of_landmarks(truth.points[:68]), turn, planes.size)
    away = np.linalg.norm(found.points - features, axis=1)
    assert away.mean() < 0.1 * width


def test_no_points_are_seen_on_a_wall_nor_those_of_another_face(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box]
) -> None:
    rgb, box = picture
    planes, (x0, y0, x1, y1) = reduced(rgb, box, 80 / (box[2] - box[0]))
    assert look.keypoints(planes_from_rgb(np.full((120, 160, 3), 128, np.uint8)), (60.0, 40.0, 100.0, 80.0)) is None
    beside = (x0 + 22.0, y0, x1 + 22.0, y1)
    assert look.keypoints(planes, beside) is not None
    assert look.keypoints(planes, beside, others=[(x0, y0, x1, y1)]) is None


def test_at_the_bar_points_have_half_the_full_score(
    look: CloseLook, picture: tuple[NDArray[np.uint8], Box], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half is what the second network's library asks for, and what places believe points from."""
    planes, place = reduced(*picture, 0.25)

    def told(score: float) -> float | None:
        middle = close_look._FINE_SIDE / 2
        box = np.array([[middle - 20, middle - 20, middle + 20, middle + 20]])
        faces = FiveFaces(box, np.full((1, 5, 2), middle), np.array([score]))
        seen = Seen(faces, np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32), (4.0, 4.0))
        monkeypatch.setattr(look, "_fine", lambda rgb, least: seen)
        found = look.keypoints(planes, place)
        return None if found is None else found.score

    assert told(close_look.BAR) == pytest.approx(0.5)
    assert told(0.5) == pytest.approx(0.25 / close_look.BAR)
    assert told(0.9) == 1.0
