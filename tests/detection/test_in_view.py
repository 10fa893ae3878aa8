"""What comes into view before a camera that moves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.shipped_models import CENTERFACE, network
from streamdeid.detection.in_view import InView
from streamdeid.detection.survey import Survey


def by(x: float, y: float = 0.0, zoom: float = 1.0) -> CameraMotion:
    return CameraMotion(zoom * np.eye(2), np.array([x, y]))


def test_enough_is_new_after_some_steps_and_then_nothing_is() -> None:
    view = InView((400, 200), 0.1)
    assert [view.moved(by(15.0)) for _ in range(3)] == [None, None, (45.0, 0.0, 400.0, 200.0)]
    assert view.moved(by(15.0)) is None


def test_what_left_and_comes_back_is_new_and_a_shake_that_brings_little_is_not() -> None:
    view = InView((400, 200), 0.1)
    assert view.moved(by(-30.0)) is None
    assert view.moved(by(30.0)) is None
    assert view.moved(by(-30.0)) is None
    assert view.moved(by(41.0)) == (41.0, 0.0, 400.0, 200.0)


def test_who_zooms_out_brings_all_sides_into_view() -> None:
    view = InView((400, 200), 0.1)
    assert view.moved(by(50.0, 25.0, 0.75)) == (50.0, 25.0, 350.0, 175.0)
    assert view.moved(by(-50.0, -25.0, 1.25)) is None, "who zooms in, nothing"


def test_a_survey_of_a_calm_picture_is_due_once_a_fifth_of_it_is_new() -> None:
    survey = Survey(network(CENTERFACE), 0.5, 960)
    survey.moved(by(300.0))  # before there is any picture
    survey.lay_out((640, 360))
    due = [survey.due(Fraction(0), True) is not None]
    for step in range(1, 6):
        survey.moved(by(50.0))
        due.append(survey.due(Fraction(step, 25), True) is not None)
    assert due == [True, False, False, True, False, False]
