"""The demo's clip: both people are found in every frame, they move as told, and it is always the same clip."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.core.ibug68 import INNER_LIP, LEFT_EYE, RIGHT_EYE
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.runs.parts import still_detector
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.demo_people import SIZE, demo_people, load_astronaut
from streamdeid.synthetic.motion import PersonMotion
from streamdeid.synthetic.moving_portrait import MovingPortrait
from streamdeid.synthetic.people import SyntheticFrame

SECONDS, RATE = 4.0, 5
"""The whole demo, every fifth frame of it."""


@pytest.fixture(scope="module")
def drawn(fitting: FitModel, gallery: Gallery) -> list[SyntheticFrame]:
    """The clip."""
    return list(demo_people(fitting, gallery, seconds=SECONDS, rate=RATE))


@pytest.fixture(scope="module")
def detect() -> Iterator[MediapipeFaces]:
    """A detector for single pictures."""
    with contextlib.closing(still_detector()) as detector:
        yield detector


def found(detect: MediapipeFaces, frame: Frame) -> list[Face]:
    """Faces with landmarks, from left to right."""
    detect.forget()
    faces = [face for face in detect(frame) if face.landmarks is not None]
    return sorted(faces, key=lambda face: face.box[0])


def still(**tracks: float) -> PersonMotion:
    """One frame of a motion in which only the named tracks are not at rest."""
    at_rest = {name: np.zeros(1) for name in ("opening", "smile", "blink", "brows", "yaw", "pitch", "roll")}
    told = {name: np.array([value]) for name, value in tracks.items()}
    return PersonMotion(**{**at_rest, **told}, gaze=np.zeros((1, 2)), shift=np.zeros((1, 2)))


def landmarks(detect: MediapipeFaces, portrait: MovingPortrait, motion: PersonMotion) -> np.ndarray:  # type: ignore[type-arg]
    """What the landmarker sees of the portrait in one frame, (68, 2)."""
    picture = portrait.frame(motion, 0).picture
    planes = planes_from_rgb(np.clip(picture[:, : picture.shape[1] & ~1], 0, 255).astype(np.uint8))
    (face,) = found(detect, Frame(planes, Fraction(0), 0))
    assert face.landmarks is not None
    return face.landmarks


def eye_opening(points: np.ndarray) -> float:  # type: ignore[type-arg]
    """Height over width of the eyes."""
    return float(np.mean([np.ptp(points[e][:, 1]) / np.ptp(points[e][:, 0]) for e in (LEFT_EYE, RIGHT_EYE)]))


def mouth_opening(points: np.ndarray) -> float:  # type: ignore[type-arg]
    """Gap between the lips over the mouth's width."""
    lips = points[INNER_LIP]
    return float(np.linalg.norm(lips[2] - lips[6]) / np.linalg.norm(lips[4] - lips[0]))


def test_the_clip_is_always_the_same(drawn: list[SyntheticFrame], fitting: FitModel, gallery: Gallery) -> None:
    again = next(iter(demo_people(fitting, gallery, seconds=SECONDS, rate=RATE)))
    assert drawn[0].frame.planes.size == SIZE
    for a, b in zip(
        (again.frame.planes.y, again.frame.planes.u, again.frame.planes.v),
        (drawn[0].frame.planes.y, drawn[0].frame.planes.u, drawn[0].frame.planes.v),
        strict=True,
    ):
        assert np.array_equal(a, b)


def test_both_faces_are_found_in_every_frame_where_they_are_said_to_be(
    drawn: list[SyntheticFrame], detect: MediapipeFaces
) -> None:
    for one in drawn:
        faces = found(detect, one.frame)
        assert len(faces) == 2, f"frame {one.frame.index}: {len(faces)} faces"
        for face, truth in zip(faces, one.truths, strict=True):
            assert face.landmarks is not None
            error = np.linalg.norm(face.landmarks - truth.points[: len(face.landmarks)], axis=1)
            assert np.median(error) < 0.06 * np.ptp(truth.points[:, 0])


def test_they_turn_by_up_to_20_degrees_to_both_sides(fitting: FitModel, gallery: Gallery) -> None:
    for yaws in np.degrees([[t.yaw for t in one.truths] for one in demo_people(fitting, gallery, rate=RATE)]).T:
        assert yaws.min() < -10 and yaws.max() > 10
        assert np.abs(yaws).max() <= 20


def test_the_marks_that_ship_are_what_the_landmarker_sees(detect: MediapipeFaces) -> None:
    portrait = load_astronaut()
    (face,) = found(detect, Frame(planes_from_rgb(portrait.picture.astype(np.uint8)), Fraction(0), 0))
    assert face.landmarks is not None
    assert np.abs(face.landmarks - portrait.points[: len(face.landmarks)]).mean() < 1.5


def test_a_photograph_without_motion_is_left_as_it_is(model: AppearanceModel) -> None:
    portrait = load_astronaut()
    moved = MovingPortrait(portrait, model).frame(still(), 0)
    assert np.abs(moved.picture - np.clip(portrait.picture, 0, 255)).mean() < 1.0
    assert np.abs(moved.points - portrait.points).max() < 0.1


def test_her_eyes_close_and_her_lips_part_and_meet(model: AppearanceModel, detect: MediapipeFaces) -> None:
    portrait = MovingPortrait(load_astronaut(), model)
    rest = landmarks(detect, portrait, still())
    assert eye_opening(landmarks(detect, portrait, still(blink=1.0))) < 0.7 * eye_opening(rest)
    talking, closed = (landmarks(detect, portrait, still(opening=opening)) for opening in (0.4, -0.4))
    assert mouth_opening(closed) + 0.08 < mouth_opening(rest) < mouth_opening(talking) - 0.08


def test_what_does_not_belong_to_the_head_stays(drawn: list[SyntheticFrame]) -> None:
    """No torn background: flag, chest and the rim of the clip are the same in all frames."""
    rgb = [rectangle_to_rgb(one.frame.planes, 0, 0, *SIZE).astype(np.float64) for one in drawn]
    spread = np.std(rgb, axis=0).mean(axis=2)
    for part in (spread[:, :50], spread[-50:, :370], spread[:8]):
        assert part.mean() < 1.5
    assert spread[102:204, 204:340].mean() > 8.0  # her face


def test_a_motion_that_is_negative_takes_away_what_the_picture_does(model: AppearanceModel) -> None:
    portrait = MovingPortrait(load_astronaut(), model)
    smiling, earnest = (portrait.frame(replace(still(), smile=np.array([s])), 0).points for s in (0.0, -0.8))
    assert np.ptp(smiling[[48, 54], 0]) > np.ptp(earnest[[48, 54], 0])
