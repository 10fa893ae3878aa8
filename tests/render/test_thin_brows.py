"""Brows of a surrogate lose their haze; nothing else of it changes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels
from streamdeid.render.thin_brows import darkness, with_thin_brows
from tests.drawn_faces import some_identity


@pytest.fixture(scope="module")
def picture(model: AppearanceModel) -> Pixels:
    return model.albedo.even(extended(model.decode(some_identity(model, 1))[1], model.table), True)


def test_nothing_but_brows_changes_and_they_become_no_darker(model: AppearanceModel, picture: Pixels) -> None:
    zones, copy = model.albedo.zones, picture.copy()
    change = with_thin_brows(picture, zones) - picture
    np.testing.assert_array_equal(picture, copy)
    assert change.min() > -0.01
    assert np.abs(change[zones.brows < 1e-3]).max() < 0.2
    assert change[zones.brows > 0.9].max() > 5


def test_margins_fade_and_the_darkest_hairs_stay(model: AppearanceModel, picture: Pixels) -> None:
    zones = model.albedo.zones
    before, after = darkness(picture, zones), darkness(with_thin_brows(picture, zones), zones)
    brow = zones.brows > 0.95
    darkest = np.quantile(before[brow], 0.1)
    core, margin = brow & (before <= darkest), brow & (before > 0.5 * darkest) & (before < 0.2 * darkest)
    assert core.sum() > 20 and margin.sum() > 20
    np.testing.assert_allclose(after[core], before[core], atol=0.02)
    assert after[margin].mean() == pytest.approx((before * (before / darkest) ** 0.6)[margin].mean(), abs=0.02)
    assert after[margin].mean() > 0.8 * before[margin].mean()


def test_a_stroke_becomes_thinner_and_a_face_without_brows_stays(model: AppearanceModel) -> None:
    zones = model.albedo.zones
    bare = np.full((*model.frame_size[::-1], 3), 150, np.float32)
    np.testing.assert_allclose(with_thin_brows(bare, zones), bare, atol=0.01)
    stroke = bare.copy()
    for line in (model.mean_shape[17:22], model.mean_shape[22:27]):
        cv2.polylines(stroke, [line.round().astype(np.int32)], False, (70, 60, 50), 6)
    stroke = np.asarray(cv2.GaussianBlur(stroke, (0, 0), 2.5), np.float32)
    before, after = darkness(stroke, zones), darkness(with_thin_brows(stroke, zones), zones)
    assert after.min() == pytest.approx(before.min(), abs=0.02)
    wide, thin = (int((one < 0.5 * one.min()).sum()) for one in (before, after))
    assert 0.5 * wide < thin < 0.9 * wide
