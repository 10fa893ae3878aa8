"""Surrogates at rest that neither frown nor smirk nor squint, however they are turned to face as the person does."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.brows import brow_height, brow_tilt, with_brows_at_least, with_tilt_at_most
from streamdeid.aam.eye_opening import openness, with_eyes_at_least
from streamdeid.aam.mouth_corners import corner_height, with_corners_between
from streamdeid.observe.neutral import Neutral
from streamdeid.render.at_ease import at_ease, faced
from streamdeid.render.expression import facing
from streamdeid.render.face import Blending
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.turned_shape import RestingSolid
from streamdeid.surrogates.models import Models

_Shape = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_EYES = np.array([[37, 38, 43, 44], [41, 40, 47, 46]])


def _turned(model: AppearanceModel, seed: int, nod: float) -> _Shape:
    """A far surrogate, which faces as somebody does who nods."""
    rng = np.random.default_rng(seed)
    vectors = 1.5 * rng.normal(size=(2, len(model.variances))) * np.sqrt(model.variances)
    surrogate, person = (model.decode(vector)[0] for vector in vectors)
    return facing(surrogate, person - np.outer(model.depth - model.depth.mean(), (0.0, nod)), model.depth)


def _areas(shape: _Shape, model: AppearanceModel) -> _Shape:
    """Twice the area of each triangle, below 0 where it is turned over."""
    a, b, c = (shape[model.triangles[:, i]] for i in range(3))
    return (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]


@pytest.mark.parametrize("nod", [-0.3, 0.0, 0.3])
def test_what_looks_like_a_mood_is_gone(shipped_models: Models, nod: float) -> None:
    model = shipped_models.fitting.model
    shapes = [_turned(model, seed, nod) for seed in range(40)]
    eased = [at_ease(shape) for shape in shapes]
    corners = np.array([corner_height(one) for one in eased])
    assert corners.min() > -0.042 and corners.max() < 0.012, "turned a little by their own rise"
    for measured, sign, bound in ((openness, -1, 0.31), (brow_tilt, 1, -0.03), (brow_height, -1, 0.25)):
        before = np.array([sign * (measured(one) - bound) for one in shapes])
        after = np.array([sign * (measured(one) - bound) for one in eased])
        assert (before > 0).any(), "there was something to do"
        enough = np.array([1.5 * openness(one) for one in shapes]) > 0.31  # no eye is opened farther than that
        assert (after[(before > 0) & enough] <= before[(before > 0) & enough] / 4 + 1e-6).all()
        assert (after[before <= 0] <= 1e-6).all() and enough.mean() > 0.5


def test_lids_stay_below_the_brows_and_no_triangle_turns_over(shipped_models: Models) -> None:
    model = shipped_models.fitting.model
    for identity in shipped_models.gallery.identities:
        shape, _ = model.decode(identity)
        eased = at_ease(shape)
        assert (eased[_EYES[0], 1] < eased[_EYES[1], 1]).all()
        assert (_areas(eased, model)[_areas(shape, model) > 0] > 0).all()


def test_a_face_at_ease_is_left_as_it_is(shipped_models: Models) -> None:
    shape = shipped_models.fitting.model.mean_shape
    eased = shape
    for _ in range(30):
        eased = at_ease(eased)
    np.testing.assert_allclose(at_ease(eased), eased, atol=1e-6)
    assert np.abs(eased - shape).max() < 6.0, "pixels of 200: a small thing"
    within = with_eyes_at_least(with_corners_between(shape, -0.03, 0.0), 0.32, 0.0)
    within = with_brows_at_least(with_tilt_at_most(within, -0.04, 0.0), 0.26, 0.0)
    assert at_ease(within) is within


def test_own_and_posed_faces_are_at_ease_and_who_is_filmed_is_not(shipped_models: Models) -> None:
    fitting = shipped_models.fitting
    light = LightFrame.of(fitting)
    model = fitting.model
    vectors = [v for v in shipped_models.gallery.identities if corner_height(model.decode(v)[0]) < -0.07][:3]
    assert len(vectors) == 3
    for vector in vectors:
        face = NewFace.of(vector, fitting)
        posed = RestingSolid.of(face.shape, model).shape
        np.testing.assert_array_equal(posed, faced(face.shape, model.mean_shape, model.depth))
        own = Blending().static(fitting, light, Neutral(model.mean_shape, face.small_texture), face).shape
        for shape in posed, own:
            assert corner_height(shape) > -0.042 and brow_height(shape) > 0.2
        assert corner_height(NewFace.photographed(vector, fitting).shape) < -0.07
