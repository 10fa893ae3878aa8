"""Which pictures of a person are good to know them by: each reason against one, and none against a good one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.faces import Face
from streamdeid.identity.picture_recognisers import ARCFACE
from streamdeid.identity.recognised_faces import unfit
from tests.drawn_faces import pose_at


def seen(model: AppearanceModel, width: float = 120.0, **angles: float) -> Face:
    """The mean face at a pose, as the landmarker would see it."""
    points = pose_at(model, width, **angles).to_image(model.mean_shape, model.depth)
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    return Face((x0, y0, x1, y1), 0.9, points[:68], points[68:], presence=0.99)


@pytest.mark.parametrize("angles", [{}, {"yaw": 0.3}, {"yaw": -0.3}, {"pitch": 0.3}, {"pitch": -0.3}, {"roll": 0.8}])
def test_a_face_that_looks_about_here_is_known_by_its_picture(model: AppearanceModel, angles: dict[str, float]) -> None:
    assert unfit(seen(model, **angles), model) is None


@pytest.mark.parametrize("angles", [{"yaw": 0.4}, {"yaw": -0.4}, {"pitch": 0.4}, {"pitch": -0.4}])
def test_one_that_is_turned_away_is_not(model: AppearanceModel, angles: dict[str, float]) -> None:
    assert unfit(seen(model, **angles), model) == "is turned away"


def test_nor_is_one_that_is_small_or_hardly_seen(model: AppearanceModel) -> None:
    good = seen(model)
    assert good.landmarks is not None and good.forehead is not None
    assert unfit(seen(model, 60.0), model) == "is less than 64 pixels wide"
    assert unfit(seen(model, 60.0), model, 50.0) is None
    for poor in (replace(good, presence=0.7), replace(good, landmarks=np.full((68, 2), np.nan))):
        assert unfit(poor, model) == "is not clearly seen"
    for poor in (replace(good, landmarks=None), replace(good, forehead=None)):
        assert unfit(poor, model) == "has no landmarks"


def test_pictures_for_recognisers_are_those_that_they_were_trained_on() -> None:
    """The five places of ArcFace's own pictures, as published: with others a model of a user's own knows nobody."""
    eyes, nose = [(38.2946, 51.6963), (73.5318, 51.5014)], [(56.0252, 71.7366)]
    mouth = [(41.5493, 92.3655), (70.7299, 92.2041)]
    np.testing.assert_allclose(ARCFACE, eyes + nose + mouth)
