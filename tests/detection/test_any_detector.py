"""What every detector must keep to: add a new one to `DETECTORS`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Box
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Frame
from streamdeid.core.protocols import RemembersPictures
from streamdeid.detection.guard import checked
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.plugged_in import PluggedIn
from streamdeid.protect.self_test import known_face

DETECTORS: dict[str, Callable[[Box], Any]] = {
    "mediapipe": lambda box: MediapipeFaces(),
    "plugged in": lambda box: PluggedIn(lambda image: [box]),
    "plugged in, no landmarks": lambda box: PluggedIn(lambda image: [(*box, 0.7)], landmarks=False),
}
"""A new one of each, for a picture whose only face is in a box: x0, y0, x1, y1 in pixels."""


@pytest.mark.parametrize("name", DETECTORS)
def test_the_face_of_the_self_test_is_found(name: str, fitting: FitModel) -> None:
    """Without that no run begins; and the guard finds nothing wrong with it."""
    picture, box = known_face(fitting)
    with contextlib.closing(DETECTORS[name](box)) as detect:
        (face,) = checked(detect(picture), picture)
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    assert face.box[0] < x < face.box[2] and face.box[1] < y < face.box[3]
    assert 0 < face.score <= 1 and face.confirmed
    if face.landmarks is not None:
        assert face.forehead is not None and np.ptp(face.landmarks[:, 0]) > 0.4 * (box[2] - box[0])


@pytest.mark.parametrize("size", [(64, 48), (97, 55), (2, 2), (300, 20)])
@pytest.mark.parametrize("name", DETECTORS)
def test_any_picture_is_answered_and_left_as_it_is(name: str, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    with contextlib.closing(DETECTORS[name]((10.0, 5.0, 40.0, 45.0))) as detect:
        for level in (0, 255, None):
            flat = np.zeros((size[1], size[0], 3), np.uint8)
            rgb = rng.integers(0, 256, flat.shape).astype(np.uint8) if level is None else flat + np.uint8(level)
            frame = Frame(planes_from_rgb(rgb), Fraction(0), 0)
            before = frame.planes.copy()
            if isinstance(detect, RemembersPictures):
                detect.forget()  # as the guard does at a cut
            checked(detect(frame), frame)
            assert all(np.array_equal(getattr(before, plane), getattr(frame.planes, plane)) for plane in "yuv")


@pytest.mark.parametrize("name", DETECTORS)
def test_the_same_picture_gets_the_same_answer_in_a_new_scene(name: str, fitting: FitModel) -> None:
    picture, box = known_face(fitting)
    with contextlib.closing(DETECTORS[name](box)) as detect:
        answers = []
        for _ in range(2):
            if isinstance(detect, RemembersPictures):
                detect.forget()
            answers.append([face.box for face in detect(picture)])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", DETECTORS)
def test_closing_twice_is_harmless(name: str) -> None:
    detect = DETECTORS[name]((0.0, 0.0, 1.0, 1.0))
    detect.close()
    detect.close()
