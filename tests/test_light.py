"""The light field: soft, free of the person's albedo, and small in what it can carry."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import spread
from streamdeid.deidentify.light import LightFrame, contrast, light_ratio, outside_skin, static_light
from streamdeid.deidentify.new_face import NewFace
from tests.drawn_faces import some_identity

Pixels = NDArray[np.float32]


def _face(fitting: FitModel, seed: int) -> Pixels:
    return NewFace.of(some_identity(fitting.model, seed), fitting).small_texture


def _lamp(light: LightFrame, left: float, right: float) -> Pixels:
    """A gain (f, 1) that runs from left to right over the face."""
    width = light.table.size[0]
    return (left + (right - left) * light.table.columns / width).astype(np.float32)[:, None]


def test_soft_of_an_even_face_is_even(light: LightFrame) -> None:
    even = np.full((len(light.table.rows), 3), 120, np.float32)
    np.testing.assert_allclose(light.soft(even)[light.table.rows, light.table.columns], 120, atol=0.7)


def test_no_change_of_light_is_a_ratio_of_one(light: LightFrame, fitting: FitModel) -> None:
    texture = _face(fitting, 1)
    np.testing.assert_allclose(light_ratio(light, texture, texture), 1, atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**5), st.floats(0.7, 1.4))
def test_a_lamp_that_dims_shows_in_the_ratio_whoever_it_lights(
    light: LightFrame, fitting: FitModel, seed: int, gain: float
) -> None:
    texture = _face(fitting, seed)
    inside = light_ratio(light, np.float32(gain) * texture, texture)[light.table.rows, light.table.columns]
    assert np.median(inside) == pytest.approx(gain, abs=0.06)


def test_a_lamp_from_the_left_brightens_the_left(light: LightFrame, fitting: FitModel) -> None:
    texture = _face(fitting, 2)
    ratio = light_ratio(light, texture * _lamp(light, 1.3, 0.7), texture)[light.table.rows, light.table.columns]
    left = light.table.columns < light.table.size[0] / 2
    assert ratio[left].mean() > 1.1 and ratio[~left].mean() < 0.92  # the printed formula of P4 has the sign turned


def test_ratio_is_soft_and_bounded(light: LightFrame, fitting: FitModel) -> None:
    rng = np.random.default_rng(3)
    texture = _face(fitting, 3)
    speckled = texture + rng.normal(0, 40, texture.shape).astype(np.float32)
    ratio = light_ratio(light, speckled, texture)
    fine = ratio - cv2.GaussianBlur(ratio, (0, 0), 2.0)
    assert np.abs(fine[light.table.rows, light.table.columns]).mean() < 0.01
    extreme = light_ratio(light, np.full_like(texture, 255), np.zeros_like(texture))
    assert extreme.max() <= 2.3 and light_ratio(light, np.zeros_like(texture), np.full_like(texture, 255)).min() >= 0.39


def test_static_light_gives_the_surrogate_the_scenes_tone(light: LightFrame, fitting: FitModel) -> None:
    own, other = _face(fitting, 4), _face(fitting, 5)
    warm = own * np.float32([1.1, 0.9, 0.6])
    gain = static_light(light, warm, other, None)[light.table.rows, light.table.columns]
    lit = np.median(other * gain, axis=0)
    np.testing.assert_allclose(lit / lit.sum(), np.median(warm, axis=0) / np.median(warm, axis=0).sum(), atol=0.03)


def test_static_light_is_a_surface_that_cannot_carry_a_likeness(light: LightFrame, fitting: FitModel) -> None:
    own, other = _face(fitting, 6), _face(fitting, 7)
    gain = np.log(static_light(light, own, other, None)).astype(np.float64)
    width, height = light.table.size
    y, x = np.mgrid[0:height, 0:width]
    quadratic = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=2) / [1, 60, 60, 3600, 3600, 3600]
    # The studio's own shading is the mean face's: how much of it there is says nothing of the person's features.
    terms = np.concatenate([quadratic, light.studio[:, :, None]], axis=2).reshape(-1, 7)
    for channel in range(3):
        level = gain[:, :, channel].ravel()
        free = np.abs(level - level.mean()) < 0.5  # where nothing was clipped
        fit, *_ = np.linalg.lstsq(terms[free], level[free], rcond=None)
        assert np.abs(terms[free] @ fit - level[free]).max() < 0.05


def test_static_light_follows_a_lamp_from_one_side(light: LightFrame, fitting: FitModel) -> None:
    own, other = _face(fitting, 8), _face(fitting, 9)
    even = static_light(light, own, other, None)
    lit = static_light(light, own * _lamp(light, 1.3, 0.7), other, None)
    change = (lit / even)[light.table.rows, light.table.columns].mean(axis=1)
    left = light.table.columns < light.table.size[0] / 2
    assert change[left].mean() / change[~left].mean() == pytest.approx(1.15 / 0.85, rel=0.15)


def test_skin_outside_moves_the_tone_towards_itself(light: LightFrame, fitting: FitModel) -> None:
    own, other = _face(fitting, 10), _face(fitting, 11)
    without = np.median(other * static_light(light, own, other, None)[light.table.rows, light.table.columns], axis=0)
    red = np.array([200.0, 110.0, 90.0])
    lit = np.median(other * static_light(light, own, other, red)[light.table.rows, light.table.columns], axis=0)
    share, before, wanted = (colour[0] / colour.sum() for colour in (lit, without, red))
    assert before + 0.1 * (wanted - before) < share < wanted


def test_contrast_of_a_hazy_picture_is_lower_and_bounded(light: LightFrame, fitting: FitModel) -> None:
    texture = _face(fitting, 12)
    mean = texture.mean(axis=0)
    same = contrast(light, texture, texture)
    assert same == pytest.approx(1.0)
    hazy = contrast(light, mean + np.float32(0.85) * (texture - mean), texture)
    assert 0.7 <= hazy < 0.97
    assert contrast(light, np.broadcast_to(mean, texture.shape).copy(), texture) >= 0.7
    harsh = np.clip(mean + 3 * (texture - mean), 0, 255).astype(np.float32)
    assert contrast(light, harsh, texture) <= 1.2


def test_surroundings_of_another_colour_are_no_skin() -> None:
    rng = np.random.default_rng(1)
    inside = np.array([180.0, 130.0, 110.0])
    skin = (inside * rng.uniform(0.8, 1.1, (40, 1))).astype(np.float32)
    wall = rng.normal((60, 90, 160), 5, (60, 3)).astype(np.float32)
    found = outside_skin(np.vstack([skin, wall]), inside)
    assert found is not None
    np.testing.assert_allclose(found / found.sum(), inside / inside.sum(), atol=0.01)
    assert outside_skin(wall, inside) is None
    assert outside_skin(np.vstack([skin[:3], wall]), inside) is None, "too little of it"
    assert outside_skin(np.empty((0, 3), np.float32), inside) is None


def test_the_field_is_that_of_the_small_frame(light: LightFrame) -> None:
    assert light.mask.shape == light.table.size[::-1]
    outside = spread(np.ones((len(light.table.rows), 1), np.float32), light.table)[:, :, 0] == 0
    assert light.mask[~outside].min() > 0.2 and light.mask[outside].min() < 0.1
