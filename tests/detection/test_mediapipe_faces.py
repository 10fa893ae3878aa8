"""The default detector on drawn people: small, many, lost, gone; and other detectors in its place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Box, Pixels, Points
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face, Keypoints
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.shipped_models import YUNET, network
from streamdeid.detection import second_look
from streamdeid.detection.candidates import Candidate
from streamdeid.detection.five_points import FiveFaces
from streamdeid.detection.landmarks import region_of_box
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.networks import Networks
from streamdeid.detection.places import Place
from streamdeid.detection.plugged_in import PluggedIn
from streamdeid.detection.region import LandmarkRegion
from streamdeid.detection.second_look import SecondLook, likeness
from streamdeid.detection.survey import Surveyed
from streamdeid.detection.tiles import tile_for
from streamdeid.detection.upright_view import stretched, view
from streamdeid.detection.yunet import YuNet
from streamdeid.errors import FailedClosed
from tests import drawn_faces
from tests.detection.meshes import mesh_in


@pytest.fixture(scope="module")
def detector() -> Iterator[MediapipeFaces]:
    """One for all tests: each starts with `forget`."""
    faces = MediapipeFaces()
    yield faces
    faces.close()


def put(picture: Pixels, model: AppearanceModel, seed: int, width: float, x: float, y: float) -> Box:
    """Draw a person's face, `width` pixels wide, into a picture (h, w, 3) around a place; its box."""
    shape, texture = model.decode(drawn_faces.some_identity(model, seed, 0.5))
    large = drawn_faces.scene(model, shape, texture, drawn_faces.pose_at(model, 160.0), behind=None)
    mask = drawn_faces.inside_hull(large.points).astype(np.float32)
    scale = width / 160.0
    into = np.array([[scale, 0, x - 160 * scale], [0, scale, y - 165 * scale]])
    size = picture.shape[1], picture.shape[0]
    sigma = 0.4 / scale  # what the smaller pixels cannot hold
    soft = cv2.GaussianBlur(large.rgb.astype(np.float32), (0, 0), sigma)
    face = cv2.warpAffine(soft, into, size)
    alpha = cv2.warpAffine(cv2.GaussianBlur(mask, (0, 0), sigma), into, size)[:, :, None]
    picture[:] = alpha * face + (1 - alpha) * picture
    points = large.points * scale + into[:, 2]
    return (*points.min(axis=0).tolist(), *points.max(axis=0).tolist())


def frame(picture: Pixels, index: int = 0) -> Frame:
    """A frame of a picture (h, w, 3)."""
    return Frame(planes_from_rgb(np.clip(picture, 0, 255).astype(np.uint8)), Fraction(index, 25), index)


def found(faces: list[Face], box: Box) -> Face | None:
    """The face over the middle of a box."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    sides = box[2] - box[0]
    near = [f for f in faces if f.box[0] < x < f.box[2] and f.box[1] < y < f.box[3] and f.width < 2.5 * sides]
    return near[0] if near else None


def test_faces_of_20_pixels_at_720p_are_found_in_the_first_frame(
    detector: MediapipeFaces, model: AppearanceModel
) -> None:
    detector.forget()
    picture = drawn_faces.room((1280, 720))
    places = [(200, 150), (640, 360), (1100, 200), (350, 600), (900, 560)]
    boxes = [put(picture, model, seed, 20, *place) for seed, place in enumerate(places)]
    faces = [face for face in detector(frame(picture)) if face.evidence > 0.3]
    assert sum(found(faces, box) is not None for box in boxes) >= 4


def test_every_larger_face_is_found_at_once_and_sure(detector: MediapipeFaces, model: AppearanceModel) -> None:
    detector.forget()
    picture = drawn_faces.room((1280, 720))
    boxes = [
        put(picture, model, seed, width, x, 300)
        for seed, (width, x) in enumerate([(32, 100), (60, 300), (110, 560), (200, 900)])
    ]
    faces = list(detector(frame(picture)))
    for box in boxes:
        face = found(faces, box)
        assert face is not None
        assert face.evidence > 0.5
        assert face.landmarks is not None
    assert len(faces) == len(boxes)  # a large face is one, whatever its parts look like in a tile


def test_an_empty_room_holds_nobody(detector: MediapipeFaces) -> None:
    for seed in range(4):
        detector.forget()
        assert not [f for f in detector(frame(drawn_faces.room((640, 480), seed))) if f.evidence >= 0.5]


def test_a_small_face_is_followed_in_every_frame_while_its_tile_has_its_turn_seldom(
    detector: MediapipeFaces, model: AppearanceModel
) -> None:
    detector.forget()
    missed = 0
    for index in range(40):
        picture = drawn_faces.room((960, 540))
        box = put(picture, model, 3, 40, 200 + 3 * index, 200 + index)
        missed += found(list(detector(frame(picture, index))), box) is None
    assert missed <= 2


def test_somebody_who_comes_in_later_is_found_within_a_round_and_a_large_face_within_three_frames(
    detector: MediapipeFaces, model: AppearanceModel
) -> None:
    for width, within in ((28, 33), (180, 3)):
        detector.forget()
        empty = drawn_faces.room((960, 540))
        for index in range(3):
            detector(frame(empty, index))
        first = None
        for index in range(3, 40):
            picture = empty.copy()
            box = put(picture, model, 5, width, 480, 270)
            if found(list(detector(frame(picture, index))), box) is not None:
                first = index - 3
                break
        assert first is not None
        assert first <= within


def test_nobody_is_seen_where_a_face_was(detector: MediapipeFaces, model: AppearanceModel) -> None:
    detector.forget()
    empty = drawn_faces.room((640, 480))
    with_face = empty.copy()
    put(with_face, model, 2, 120, 320, 240)
    for index in range(5):
        assert detector(frame(with_face, index))
    assert not [f for index in range(5, 10) for f in detector(frame(empty, index)) if f.evidence >= 0.5]


@pytest.mark.parametrize("glances", [True, False])
def test_a_second_look_knows_faces_from_noise(model: AppearanceModel, glances: bool) -> None:
    look = SecondLook(Networks(), YuNet(network(YUNET)), glances)
    picture = drawn_faces.room((640, 480))
    box = put(picture, model, 1, 90, 200, 200)
    planes = frame(picture).planes

    def alike(place: Box) -> float:
        return likeness(look.keypoints(planes, place))

    assert alike(box) > 0.5
    assert look.look(planes, box, 0.9).evidence > 0.6
    assert look.look(planes, box, 0.6).evidence > 0.5
    for x, y in ((400, 300), (100, 20)):
        assert alike((x, y, x + 90, y + 90)) < 0.2
        assert look.look(planes, (x, y, x + 90, y + 90), 0.6).evidence < 0.45
    assert alike((box[0] + 90, box[1], box[2] + 90, box[3])) < 0.5
    look.close()


def test_a_candidate_beside_a_face_is_not_believed_for_that_face(model: AppearanceModel) -> None:
    look = SecondLook(Networks(), YuNet(network(YUNET)))
    picture = drawn_faces.room((640, 480))
    box = put(picture, model, 1, 90, 200, 200)
    planes = frame(picture).planes
    hair = (box[0] + 20, box[1] - 45, box[2] + 10, box[3] - 45)
    assert look.look(planes, hair, 0.6).evidence > 0.5  # as long as nobody says whose face it is
    alone = look.look(planes, hair, 0.6, [box])
    assert alone.evidence < 0.45
    assert alone.keypoints is None
    look.close()


class _Says:
    """A second network that says one score of everything."""

    def __init__(self, score: float) -> None:
        self.score = score

    def __call__(self, rgb: NDArray[np.uint8]) -> FiveFaces:
        assert rgb.shape == (128, 128, 3)
        boxes = np.array([[32.0, 32, 96, 96], [0, 0, 20, 20]])
        return FiveFaces(boxes, np.zeros((2, 5, 2)), np.array([self.score, 1.0]))


@pytest.mark.parametrize(("score", "other", "asked"), [(0.8, 0.9, 0), (0.5, 0.1, 0), (0.6, 0.5, 1), (0.4, 0.6, 1)])
def test_mediapipe_is_asked_again_only_where_that_can_decide(
    monkeypatch: pytest.MonkeyPatch, score: float, other: float, asked: int
) -> None:
    look = SecondLook(Networks(), _Says(other))  # type: ignore[arg-type]
    glances = []
    monkeypatch.setattr(second_look, "_glance", lambda detect, planes, box, turn: glances.append(box) or 0.0)
    planes = frame(drawn_faces.room((640, 480))).planes
    seen = look.look(planes, (100, 100, 160, 160), score)
    assert seen.evidence == pytest.approx((score / (1 + asked) + other) / 2)
    assert seen.keypoints is not None
    assert seen.keypoints.box == pytest.approx((100, 100, 160, 160))
    assert len(glances) == asked
    look.close()


@pytest.mark.parametrize(
    ("opinion", "evidence", "third_sees", "third_is_asked"),
    [(2.0, 0.8, True, True), (2.0, 0.8, False, True), (1.1, 0.8, True, False), (1.3, 0.3, True, False)],
)
@pytest.mark.parametrize("lost", [False, True])
def test_points_are_the_third_networks_where_it_is_sure_of_a_face(
    large: MediapipeFaces,
    monkeypatch: pytest.MonkeyPatch,
    opinion: float,
    evidence: float,
    third_sees: bool,
    third_is_asked: bool,
    lost: bool,
) -> None:
    """Of a boy who bowed, the second network saw a face in his hair in every other frame (crowd_1080p). Where the third
    one is not sure it is not asked: it moved a place onto a lion on a coat of arms, of which it was surer then."""
    hair, face = ((400.0, y, 480.0, y + 100) for y in (300.0, 360.0))
    place = Place((390.0, 350.0, 490.0, 450.0), 0.6, 0, evidence=evidence)
    place.opined(opinion)
    place.opined(opinion)
    large._places, place.missed = [place], int(lost)
    yunet, third = Keypoints(hair, np.full((5, 2), 350.0), 0.8), Keypoints(face, np.full((5, 2), 410.0), 0.9)
    asked: list[float] = []
    monkeypatch.setattr(large._look, "keypoints", lambda *_: yunet)
    assert large._close_look is not None
    monkeypatch.setattr(
        large._close_look,
        "keypoints",
        lambda planes, box, turn, others: asked.append(turn) or (third if third_sees else None),
    )
    if lost:
        large._find_again(wall(1).planes)
    else:
        large._key(wall(1).planes, place)
    assert place.keypoints is not None and not place.missed
    assert place.face == (face if third_sees and third_is_asked else hair)
    assert bool(asked) == third_is_asked


@pytest.mark.parametrize("tilt", [0.0, 30.0])
def test_the_third_network_is_shown_a_tilted_head_straightened(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch, tilt: float
) -> None:
    """As the detector shows it: of heads tilted by 42 degrees it read 6 too little else."""
    place = sure_place(roll=math.radians(tilt))
    turns = turns_asked(large, monkeypatch)
    large._key(wall(1).planes, place)
    assert turns == [pytest.approx(tilt / 90)]


def test_of_a_head_that_lies_the_third_network_is_asked_when_its_turn_is_known(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upright tile sees it now, and the second network an upright head: then that is what the third is shown."""
    place = sure_place(turn=1)
    turns = turns_asked(large, monkeypatch)
    monkeypatch.setattr(
        large._look,
        "keypoints",
        lambda planes, box, others, turn=0: Keypoints(box, np.zeros((5, 2)), 0.5 + 0.4 * (not turn)),
    )
    large._key(wall(1).planes, place)
    assert place.turn == 0 and turns == [0]


def sure_place(turn: int = 0, roll: float = 0.0) -> Place:
    """A place of which the third network is sure."""
    place = Place((390.0, 350.0, 490.0, 450.0), 0.6, 0, turn, evidence=0.8, roll=roll)
    place.opined(2.0)
    return place


def turns_asked(detect: MediapipeFaces, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The turns in which the third network is asked for points from now on."""
    turns: list[float] = []
    there = Keypoints((400.0, 360.0, 480.0, 460.0), np.full((5, 2), 410.0), 0.9)
    assert detect._close_look is not None
    monkeypatch.setattr(detect._close_look, "keypoints", lambda planes, box, turn, others: turns.append(turn) or there)
    return turns


def test_a_lost_place_is_followed_by_the_second_network_where_the_third_sees_a_neighbour(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, seen = sure_place(), Place((470.0, 350.0, 570.0, 450.0), 0.6, 0, evidence=0.45)
    lost.missed = 1
    large._places = [lost, seen]
    theirs, own = (Keypoints((x, 350.0, x + 90, 450.0), np.full((5, 2), x + 45), 0.9) for x in (440.0, 385.0))
    assert large._close_look is not None
    monkeypatch.setattr(large._close_look, "keypoints", lambda *_: theirs)
    monkeypatch.setattr(large._look, "keypoints", lambda *_: own)
    large._find_again(wall(1).planes)
    assert lost.missed == 0 and lost.face == own.box


@pytest.mark.parametrize(("apart", "followed"), [(10.0, False), (90.0, True)])
def test_a_lost_face_is_followed_but_not_onto_one_that_is_seen(apart: float, followed: bool) -> None:
    detect = MediapipeFaces()
    planes = frame(drawn_faces.room((640, 480))).planes
    lost, seen = (Place((x, 100.0, x + 60, 160.0), 0.8, 0, evidence=0.8) for x in (100.0, 100.0 + apart))
    lost.missed = 1
    detect._places = [lost, seen]
    there = Keypoints((100.0, 98.0, 160.0, 158.0), np.full((5, 2), 130.0), 0.7)
    detect._look.near = lambda planes, box, others, turn: there  # type: ignore[method-assign]
    detect._find_again(planes)
    assert (lost.missed == 0) == followed
    detect.close()


def test_a_picture_in_the_dark_is_stretched_and_a_plain_wall_is_not_made_a_pattern() -> None:
    dark = np.tile(np.linspace(5, 60, 128).astype(np.uint8)[None, :, None], (128, 1, 3))
    bright = stretched(dark)
    assert bright.max() > 200
    assert (np.diff(bright[0, :, 0].astype(int)) >= 0).all()
    rng = np.random.default_rng(0)
    wall = (100 + rng.normal(0, 1, (128, 128, 3))).astype(np.uint8)
    assert stretched(wall).std() <= 4 * wall.std() + 0.5
    full = np.tile(np.arange(0, 256, 2, dtype=np.uint8)[None, :, None], (128, 1, 3))
    assert np.abs(stretched(full).astype(int) - full).max() <= 8


@pytest.mark.parametrize("box", [(-60.0, -50.0, 40.0, 60.0), (600.0, 440.0, 700.0, 560.0), (5.0, 5.0, 6.5, 6.5)])
def test_a_view_reaches_beyond_the_picture_by_mirroring_it(box: Box) -> None:
    planes = frame(drawn_faces.room((640, 480))).planes
    for width, side in ((32, 96), (64, 192)):
        assert view(planes, box, width, side).shape == (side, side, 3)


def test_a_view_shows_the_box_in_its_middle_at_the_asked_width() -> None:
    picture = np.zeros((480, 640, 3), np.float32)
    picture[200:260, 300:360] = 255
    seen = view(frame(picture).planes, (300, 200, 360, 260), 48, 96)[:, :, 0]
    rows = np.flatnonzero(seen.max(axis=1) > 128)
    assert abs(rows[0] - 24) <= 1
    assert abs(rows[-1] - 71) <= 1


def test_a_function_of_a_picture_is_a_detector(model: AppearanceModel) -> None:
    picture = drawn_faces.room((640, 480))
    x0, y0, x1, y1 = put(picture, model, 1, 120, 300, 240)
    seen = []

    def find(image: NDArray[np.uint8]) -> list[tuple[float, ...]]:
        seen.append((image.shape, image.dtype))
        return [(x0, y0, x1, y1), (500, 20, 560, 80, 0.7), (700, 10, 760, 70)]

    detect = PluggedIn(find)
    faces = detect(frame(picture))
    detect.close()
    assert seen == [((480, 640, 3), np.dtype(np.uint8))]
    assert len(faces) == 2  # the third lies beside the picture
    assert faces[0].landmarks is not None
    assert faces[0].landmarks.shape == (68, 2)
    assert faces[1].landmarks is None
    assert faces[1].score == 0.7
    assert all(face.evidence == 1.0 for face in faces)
    plain = PluggedIn(find, landmarks=False)
    assert all(face.landmarks is None for face in plain(frame(picture)))
    plain.close()


@pytest.mark.parametrize("row", [(1.0, 2.0, 3.0), (1.0, 2.0, float("nan"), 4.0), (1.0, 2.0, 3.0, 4.0, 0.5, 1.0)])
def test_what_is_no_box_fails_closed(row: tuple[float, ...]) -> None:
    with pytest.raises(FailedClosed, match="no box"):
        PluggedIn(lambda image: [row], landmarks=False)(frame(drawn_faces.room((64, 48))))


@pytest.fixture
def large() -> Iterator[MediapipeFaces]:
    """A detector with windows that has seen an empty wall of 1920 x 1080."""
    detector = MediapipeFaces(survey=0.5)
    detector(wall(0))
    yield detector
    detector.close()


def wall(index: int) -> Frame:
    return Frame(planes_from_rgb(np.full((1080, 1920, 3), 110, np.uint8)), Fraction(index, 20), index)


@pytest.mark.parametrize("searched", [False, True])
def test_in_close_tiles_known_places_are_followed_and_nobody_new_is_found(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch, searched: bool
) -> None:
    """searched: an ordinary tile sees the new one, too."""
    box, beside = (400.0, 300.0, 414.0, 314.0), (440.0, 310.0, 454.0, 324.0)
    close = tile_for(large._tiles, box)
    assert close >= large._close and large._tiles[close].scale == 1.0
    place = Place(box, 0.6, close)
    place.evidence = 0.8
    large._places = [place]

    def search(planes: Planes, number: int) -> list[Candidate]:
        boxes = [box, beside] if number == close else [beside] if number == 0 and searched else []
        return [Candidate(one, np.zeros((6, 2)), 0.6, number, False) for one in boxes]

    monkeypatch.setattr(large, "_search", search)
    monkeypatch.setattr(large._rounds, "due", lambda wanted: sorted({0, *wanted}))
    large(wall(1))
    assert place.missed == 0 and place.tile == close
    assert [one.box for one in large._places if one is not place] == ([beside] if searched else [])


def test_a_face_that_is_known_is_not_taken_for_what_is_seen_on_its_hair(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is larger is asked about first, but a face that is known before it: else the network's points of that face
    were given to the hair, and the face was then a second one on its own head (cctv_classroom)."""
    box, hair = (400.0, 300.0, 440.0, 340.0), (395.0, 262.0, 455.0, 322.0)
    place = Place(box, 0.6, tile_for(large._tiles, box), evidence=0.8)
    there = Keypoints(box, np.full((5, 2), 420.0), 0.9)
    place.keyed(there)
    large._places = [place]

    def look(planes: Planes, asked: Box, score: float, others: list[Box], turn: int) -> second_look.Look:
        seen = there if asked == box or not others else None
        return second_look.Look(0.8 if seen is not None else 0.2, seen)

    def search(planes: Planes, number: int) -> list[Candidate]:
        return [Candidate(one, np.zeros((6, 2)), 0.4, number, False) for one in (hair, box)] if number == 0 else []

    monkeypatch.setattr(large._look, "look", look)
    monkeypatch.setattr(large._look, "keypoints", lambda *_: there)
    monkeypatch.setattr(large, "_search", search)
    monkeypatch.setattr(large._rounds, "due", lambda wanted: [0])
    large(wall(1))
    (beside,) = [one for one in large._places if one is not place]
    assert not place.second and place.face == box
    assert beside.keypoints is None and beside.evidence < 0.5


@pytest.mark.parametrize("rate", [25, 8])
def test_landmarks_are_looked_for_anew_where_they_slid_over_a_far_step(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch, rate: int
) -> None:
    """A man nods, and the landmark model, asked where his face was, sees one in his hair."""
    box, hair, hidden = (398.0, 325.0, 462.0, 385.0), (405.0, 305.0, 455.0, 355.0), (0.0, 0.0, 0.0, 0.0)
    place = Place((398.0, 295.0, 462.0, 360.0), 0.6, 0, evidence=0.8)
    place.region = region_of_box(hair)
    place.anchored(np.reshape(hair, (2, 2)))
    large._places = [place]

    def landmarks(planes: Planes, region: LandmarkRegion) -> tuple[Points, float, LandmarkRegion]:
        there = (405.0, 332.0, 455.0, 382.0) if region.centre[1] > 345 else hair
        return mesh_in(there), 0.95, region_of_box(there)

    monkeypatch.setattr(large, "_landmarks", landmarks)
    monkeypatch.setattr(large._look, "keypoints", lambda *_: Keypoints(hidden, np.zeros((5, 2)), 0.1))
    monkeypatch.setattr(
        large, "_search", lambda planes, number: [Candidate(box, np.zeros((6, 2)), 0.6, number, False)] * (number == 0)
    )
    for index in range(2):
        (face,) = large(Frame(wall(0).planes, Fraction(index, rate), index))
    assert face.landmarks is not None
    assert (face.landmarks[:, 1].mean() > 345) == (rate == 8)


def test_close_tiles_are_searched_in_no_round_and_only_where_all_sizes_are_looked_for() -> None:
    for least, there in ((None, True), (24.0, False)):
        detector = MediapipeFaces(survey=0.5, min_face=least)
        try:
            detector(wall(0))
            assert (len(detector._tiles) > detector._close) == there
            assert {n for _ in range(600) for n in detector._rounds.due(set())} == set(range(detector._close))
        finally:
            detector.close()
    small = MediapipeFaces(survey=0.5)
    try:
        small(Frame(planes_from_rgb(np.full((540, 960, 3), 110, np.uint8)), Fraction(0), 0))
        assert len(small._tiles) == small._close, "a survey sees small faces large enough there"
    finally:
        small.close()


def test_a_face_that_the_survey_could_not_have_denied_is_no_less_one_for_being_seen(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dark or close by: a score just above the bar must not count less than none that can be told."""
    box = (400.0, 300.0, 500.0, 400.0)
    face = Keypoints(box, np.full((5, 2), 450.0), 0.4)
    evidence = []
    for opinion, denies in ((None, False), (1.05, False), (1.05, True), (1.6, True)):
        seen = SimpleNamespace(faces=(face,), opinion=lambda _, said=opinion: said, denies=lambda _, sure=denies: sure)
        seen.evidence = partial(Surveyed.evidence, seen)
        monkeypatch.setattr(large, "_survey", lambda *_, seen=seen: seen)
        monkeypatch.setattr(large._look, "keypoints", lambda *_: None)
        large._places = []
        large._look_over(wall(1))
        evidence.append(large._places[0].evidence)
    assert evidence[0] == evidence[1] > evidence[2] and evidence[3] > 0.65


@pytest.mark.parametrize(("lost_for", "believed"), [(12, True), (0, False)])
def test_what_the_detector_thought_little_of_and_lost_is_no_less_a_face_for_the_survey(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch, lost_for: int, believed: bool
) -> None:
    """A faint place of some frames ago kept a face that the survey saw there from being one: it was open."""
    box = (400.0, 300.0, 440.0, 340.0)
    found = Keypoints((402.0, 302.0, 438.0, 338.0), np.full((5, 2), 420.0), 0.8)
    seen = SimpleNamespace(faces=(found,), opinion=lambda _: 2.0, denies=lambda _: True)
    seen.evidence = partial(Surveyed.evidence, seen)
    monkeypatch.setattr(large, "_survey", lambda *_: seen)
    faint = Place(box, 0.3, 0, evidence=0.15, missed=lost_for)
    large._places = [faint]
    large._look_over(wall(1))
    assert large._places == [faint] and faint.missed == 0 and faint.surveyed == 2.0
    assert (faint.evidence > 0.65) == believed, "a place that the detector sees has the evidence of its own looks"


@pytest.mark.parametrize(("seen", "sure", "believed"), [(True, 0.9, False), (True, 0.3, True), (False, 0.9, True)])
def test_a_lost_place_on_a_face_that_is_seen_gets_nothing_from_the_survey_of_that_face(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch, seen: bool, sure: float, believed: bool
) -> None:
    """It became the surer one of both and took the face's points: the person was lost (crowd_1080p)."""
    box, whole = (400.0, 300.0, 440.0, 340.0), (385.0, 280.0, 460.0, 355.0)
    survey = SimpleNamespace(faces=(Keypoints(box, np.full((5, 2), 420.0), 0.8),), opinion=lambda _: 2.0)
    survey.evidence = lambda *_: 0.9
    monkeypatch.setattr(large, "_survey", lambda *_: survey)
    faint = Place(box, 0.3, 0, evidence=0.15, missed=12)
    large._places = [Place(whole, 0.7, 0, evidence=sure, missed=0 if seen else 20), faint]
    large._look_over(wall(1))
    assert (faint.evidence > 0.5) == believed


@pytest.mark.parametrize(("seen_by_yunet", "evidence"), [(0.0, 0.3), (0.9, 0.75)])
def test_of_a_lost_place_that_the_survey_is_not_sure_of_the_second_network_is_asked(
    large: MediapipeFaces, monkeypatch: pytest.MonkeyPatch, seen_by_yunet: float, evidence: float
) -> None:
    box = (400.0, 300.0, 440.0, 340.0)
    found = Keypoints(box, np.full((5, 2), 420.0), 0.4)
    seen = SimpleNamespace(faces=(found,), opinion=lambda _: 1.2, evidence=lambda *_: 0.6)
    monkeypatch.setattr(large, "_survey", lambda *_: seen)
    monkeypatch.setattr(large._look, "keypoints", lambda *_: Keypoints(box, np.full((5, 2), 420.0), seen_by_yunet))
    faint = Place(box, 0.3, 0, evidence=0.15, missed=12)
    large._places = [faint]
    large._look_over(wall(1))
    assert faint.evidence == pytest.approx(evidence)


def test_a_survey_is_one_look_among_those_at_a_place_and_takes_nothing_away() -> None:
    place = Place((400.0, 300.0, 440.0, 340.0), 0.3, 0)
    for _ in range(3):
        place.looked(0.2)
    place.surely(0.1)
    assert place.evidence == pytest.approx(0.2)
    place.surely(0.8)
    assert place.evidence == pytest.approx(0.35)
