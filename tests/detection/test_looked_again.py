"""What two networks say of a place makes a face, a doubt or nothing."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Frame
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.looked_again import look_again, looked_again
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.second_look import SecondLook
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people

BOX = (10.0, 10.0, 50.0, 50.0)


def points(score: float) -> Keypoints:
    return Keypoints((15.0, 12.0, 45.0, 52.0), np.full((5, 2), 30.0), score)


@pytest.mark.parametrize(
    ("score", "opinion", "what"),
    [
        (0.5, 0.5, "face"),
        (0.9, None, "face"),
        (0.9, 0.4, "perhaps"),
        (0.49, 2.0, "perhaps"),
        (0.3, 0.0, "perhaps"),
        (0.0, 0.6, "perhaps"),
        (0.0, None, "perhaps"),
        (0.29, 0.59, "nothing"),
        (0.0, 0.0, "nothing"),
    ],
)
def test_two_networks_make_a_face_a_doubt_or_nothing(score: float, opinion: float | None, what: str) -> None:
    found = looked_again(BOX, points(score) if score else None, opinion)
    if what == "nothing":
        assert found is None
        return
    assert found is not None and found.again and found.surveyed == opinion
    assert (found.keypoints is not None) == (what == "face")
    assert what == "face" or found.box == BOX


class _Third:
    """A third network that is so sure of a face, and whose points have the highest score."""

    def __init__(self, opinion: float) -> None:
        self.opinion = opinion

    def __call__(self, *given: object, **named: object) -> float:
        return self.opinion

    def keypoints(self, *given: object) -> Keypoints:
        return points(1.0)


@pytest.mark.parametrize(("opinion", "score"), [(2.0, 1.0), (1.1, 0.7)])
def test_the_points_are_the_third_networks_where_it_is_sure(opinion: float, score: float) -> None:
    second, third = (
        cast(SecondLook, SimpleNamespace(keypoints=lambda *_: points(0.7))),
        cast(CloseLook, _Third(opinion)),
    )
    found = look_again(second, third, planes_from_rgb(np.zeros((48, 64, 3), np.uint8)), BOX, [], [0.0])
    assert found is not None and found.keypoints is not None and found.keypoints.score == score


def test_a_drawn_face_is_seen_where_it_is_expected_and_nobody_beside_it() -> None:
    models = load_models(None)
    drawn = next(iter(synthetic_people(models.fitting, models.gallery, people=1, size=(1280, 720))))
    x0, y0, x1, y1 = drawn.truths[0].box
    frame = Frame(drawn.frame.planes, Fraction(0), 0)
    detect = MediapipeFaces(survey=0.5)
    there = detect.look_again(frame, 1, (x0, y0, x1, y1), [])
    beside = detect.look_again(frame, 1, (x0 + 3 * (x1 - x0), y0, x1 + 3 * (x1 - x0), y1), [])
    known = detect.look_again(frame, 1, (x0 + 0.6 * (x1 - x0), y0, x1 + 0.6 * (x1 - x0), y1), [(x0, y0, x1, y1)])
    detect.close()
    assert there is not None and there.keypoints is not None and there.confirmed
    assert beside is None
    assert known is None or known.keypoints is None, "the face of somebody who is known says nothing of another place"
