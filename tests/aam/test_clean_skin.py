"""Skin with the relief of fair donors and no more; lips of one tone; nothing of it is laid on."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.clean_skin import _parted, relief_of, with_clean_skin
from streamdeid.aam.masked_blur import FLOOR
from streamdeid.aam.plain_lips import _BLUE, _DARK, _RED, with_plain_lips
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA
from tests.drawn_faces import some_identity

_SKIN = np.array([190.0, 145.0, 125.0], np.float32)


def _mean(model: AppearanceModel) -> Pixels:
    return extended(model.mean_texture, model.table) * np.exp(-model.albedo.studio)


def _dirty(model: AppearanceModel, depth: float, share: float, seed: int = 1) -> Pixels:
    """The mean face with blotches of a size, share of the frame's width, and a depth, natural log."""
    mean = _mean(model)
    noise = np.random.default_rng(seed).normal(0, 1, mean.shape[:2]).astype(np.float32)
    blotches = cv2.GaussianBlur(noise, (0, 0), share * mean.shape[1])
    return np.asarray(mean * np.exp(depth * blotches / blotches.std())[:, :, None], np.float32)


def _away(model: AppearanceModel, picture: Pixels) -> float:
    """What the relief of plain skin differs from the mean face's by, root mean square."""
    zones = model.albedo.zones
    one, other = (_parted(np.log(np.maximum(p, 0) + FLOOR), zones)[1] @ LUMA for p in (picture, _mean(model)))
    return float(np.sqrt(np.square(one - other)[zones.bare > 0.9].mean()))


def _cleaned(model: AppearanceModel, picture: Pixels, hairy: Pixels | None = None) -> Pixels:
    zones = model.albedo.zones
    usual = relief_of(_mean(model), zones)
    return with_clean_skin(picture, zones, usual, np.zeros_like(zones.bare) if hairy is None else hairy)


@pytest.mark.parametrize("depth", [0.06, 0.15, 0.3])
def test_dirt_is_held_to_what_fair_skin_has(model: AppearanceModel, depth: float) -> None:
    dirty = _dirty(model, depth, 0.02)
    assert _away(model, dirty) > 0.5 * depth
    assert _away(model, _cleaned(model, dirty)) < 0.03 + 0.1 * depth


def test_skin_within_the_usual_stays(model: AppearanceModel) -> None:
    faint = _dirty(model, 0.005, 0.02)
    bare = model.albedo.zones.bare > 0.9
    assert np.abs(_cleaned(model, faint) - faint)[bare].mean() < 1.5


def test_what_has_no_relief_gets_none(model: AppearanceModel) -> None:
    flat = np.broadcast_to(_SKIN, (*model.albedo.zones.bare.shape, 3)).astype(np.float32)
    np.testing.assert_allclose(_cleaned(model, flat), flat, atol=0.5)


def test_a_beard_that_stays_is_left_as_it_is(model: AppearanceModel) -> None:
    hairy = (model.albedo.zones.lower > 0.99).astype(np.float32)
    dirty = _dirty(model, 0.2, 0.02)
    cleaned = _cleaned(model, dirty, hairy)
    np.testing.assert_allclose(cleaned[hairy > 0], dirty[hairy > 0], atol=0.01)
    assert np.abs(cleaned - dirty)[(hairy == 0) & (model.albedo.zones.bare > 0.9)].mean() > 2


def test_features_are_left_as_they_are(model: AppearanceModel) -> None:
    dirty, zones = _dirty(model, 0.2, 0.02), model.albedo.zones
    features = np.maximum(np.maximum(zones.brows, zones.eyes), zones.lips) > 0.95
    np.testing.assert_allclose(_cleaned(model, dirty)[features], dirty[features], atol=0.01)


def test_shadows_of_fair_skin_are_red(model: AppearanceModel) -> None:
    """What is darkened about the nose is filled with red light by the skin."""
    mean, bare = _mean(model), model.albedo.zones.bare > 0.9
    relief = _parted(np.log(mean + FLOOR), model.albedo.zones)[1] @ LUMA
    shadows = bare & (relief < -0.03)
    assert shadows.sum() > 50
    ratio = (np.log(_cleaned(model, mean) + FLOOR) - np.log(mean + FLOOR))[shadows].mean(axis=0)
    assert ratio[0] > ratio[1] and ratio[0] > ratio[2]


@pytest.mark.parametrize("colour", [(200, 60, 70), (120, 110, 150), (60, 40, 40), (210, 190, 185)])
def test_lips_of_any_colour_come_into_range(model: AppearanceModel, colour: tuple[int, int, int]) -> None:
    zones = model.albedo.zones
    picture = np.full((*zones.lips.shape, 3), _SKIN, np.float32)
    picture += zones.lips[:, :, None] * (np.float32(colour) - picture)
    skin = np.log(_SKIN + FLOOR)
    plain = with_plain_lips(picture, zones, skin)
    over = np.log(plain[zones.lips > 0.95] + FLOOR).mean(axis=0) - skin
    for value, (least, most) in ((over @ LUMA, _DARK), (over[0] - over[1], _RED), (over[2] - over[1], _BLUE)):
        assert least - 0.05 < value < most + 0.05
    away = zones.lips == 0
    np.testing.assert_array_equal(plain[away], picture[away])


def test_two_toned_lips_become_more_of_one(model: AppearanceModel) -> None:
    zones = model.albedo.zones
    core = zones.lips > 0.95
    middle = np.nonzero(core)[0].mean()
    upper = core & (np.arange(len(core))[:, None] < middle)
    picture = np.full((*core.shape, 3), _SKIN, np.float32)
    dark, pale = np.float32((110, 70, 95)), np.float32((205, 140, 140))
    shade = np.where((np.arange(len(core))[:, None, None] < middle), dark, pale)
    picture += zones.lips[:, :, None] * (shade - picture)
    plain = with_plain_lips(picture, zones, np.log(_SKIN + FLOOR))

    def step(p: Pixels) -> float:
        level = np.log(p + FLOOR) @ LUMA
        return float(level[core & ~upper].mean() - level[upper].mean())

    assert 0.1 < step(plain) < 0.7 * step(picture)


def test_it_is_a_function_of_the_surrogate_alone(model: AppearanceModel) -> None:
    picture = extended(model.decode(some_identity(model, 2))[1], model.table)
    copy = picture.copy()
    np.testing.assert_array_equal(_cleaned(model, picture), _cleaned(model, copy))
    np.testing.assert_array_equal(picture, copy)
