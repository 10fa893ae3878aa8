"""Features of a surrogate get the detail of a donor's, and nothing else of it changes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels, Points
from streamdeid.render.sharp_features import detail, sharpened
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from tests.drawn_faces import some_identity


def _even(model: AppearanceModel, vector: Points | None = None, seed: int = 1) -> Pixels:
    identity = some_identity(model, seed) if vector is None else vector
    return model.albedo.even(extended(model.decode(identity)[1], model.table), True)


def _soft(picture: Pixels, sigma: float = 1.0) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma), np.float32)


def test_targets_are_the_shipped_donors() -> None:
    models = load_models(Settings().models)
    model = models.fitting.model
    found = np.array([detail(_even(model, v), model) for v in models.gallery.identities])
    middle = np.argsort(np.abs(found / np.median(found, axis=0) - 1).max(axis=(1, 2)))[0]
    donor = _even(model, models.gallery.identities[middle])
    assert np.abs(sharpened(donor, model) - donor).mean() < 0.5, "a donor like the others is sharp enough"
    # A soft one is brought back to what it was, as far as gains go.
    before, after = detail(_soft(donor, 0.7), model), detail(sharpened(_soft(donor, 0.7), model), model)
    assert (after >= before - 1e-4).all() and (after <= np.median(found, axis=0) * 1.1 + 1e-3)[
        before < after - 1e-3
    ].all()
    assert (after / before).max() > 1.15


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_only_features_change_and_by_no_more_than_the_bound(model: AppearanceModel, seed: int) -> None:
    picture = _soft(_even(model, seed=seed))
    sharp = sharpened(picture, model)
    zones = model.albedo.zones
    away = (zones.skin > 0.99) & (zones.lower < 0.01) & (np.maximum(zones.brows, zones.lids) < 0.001)
    away[:, int(0.35 * away.shape[1]) : int(0.65 * away.shape[1])] = False  # the nose
    assert away.sum() > 500
    assert np.abs(sharp - picture)[away].max() < 0.5
    assert np.abs(sharp - picture).max() > 2
    assert (detail(sharp, model) <= 1.36 * detail(picture, model) + 1e-3).all()


def test_nothing_rings(model: AppearanceModel) -> None:
    """Of a dark stroke no bright halo stays that could be seen."""
    picture = np.full((*model.frame_size[::-1], 3), 150, np.float32)
    brow = model.mean_shape[17:22].mean(axis=0)
    cv2.ellipse(picture, (int(brow[0]), int(brow[1])), (22, 5), 0, 0, 360, (70, 60, 50), -1)
    picture = _soft(picture, 1.5)
    assert sharpened(picture, model).max() < 150 * 1.12


def test_it_is_a_function_of_the_picture(model: AppearanceModel) -> None:
    picture = _even(model)
    copy = picture.copy()
    assert np.array_equal(sharpened(picture, model), sharpened(copy, model))
    assert np.array_equal(picture, copy), "the picture given is left alone"
