"""Even skin: without the studio's light, blotches and, where it must be, a beard; and nothing of it is the person's."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.albedo import _HUE, Albedo, studio_field
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.masked_blur import masked_blur
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA
from tests.drawn_faces import some_identity

_SKIN = (190.0, 145.0, 125.0)


def _decoded(model: AppearanceModel, seed: int) -> Pixels:
    return extended(model.decode(some_identity(model, seed))[1], model.table)


def _flat(model: AppearanceModel) -> Pixels:
    """One colour of skin, with eyes, brows and lips in it."""
    zones = model.albedo.zones
    picture = np.full((*zones.skin.shape, 3), _SKIN, np.float32)
    for mask, colour in ((zones.brows, (90, 65, 50)), (zones.eyes, (200, 195, 190)), (zones.lips, (165, 95, 90))):
        picture += mask[:, :, None] * (np.float32(colour) - picture)
    return picture


def _studio(model: AppearanceModel) -> Pixels:
    """A made-up lamp (h, w, 3): a bright forehead, dark sides, warm from above."""
    height, width = model.albedo.zones.skin.shape
    rows, columns = np.mgrid[0:height, 0:width]
    u, v = (columns - (width - 1) / 2) / (width / 2), (rows - (height - 1) / 2) / (height / 2)
    level = -0.35 * u**2 - 0.15 * v + 0.1 * np.cos(3 * v)
    return np.asarray(np.exp(np.dstack([level, level, 1.15 * level])), np.float32)


def _bare(model: AppearanceModel) -> Albedo:
    """No studio's light: what is left is what is done to skin."""
    return replace(model.albedo, studio=np.zeros_like(model.albedo.studio))


def _unevenness(model: AppearanceModel, picture: Pixels) -> float:
    """Deviation of the soft shading over plain skin, natural log."""
    skin = model.albedo.zones.skin
    soft = masked_blur(np.log(np.maximum(picture, 0) + 8), skin, (0.05,)) @ LUMA
    return float(soft[skin > 0].std())


def _level(picture: Pixels, where: Pixels) -> float:
    """Mean log brightness of a picture under a mask (h, w)."""
    return float(np.average(np.log(np.maximum(picture, 0) + 8) @ LUMA, weights=where))


def test_a_studios_light_is_found_and_divided_out(model: AppearanceModel) -> None:
    flat, studio, zones = _flat(model), _studio(model), model.albedo.zones
    lit = flat * studio
    field = studio_field(lit, zones.skin)
    inside = zones.skin > 0
    wanted = np.log(studio) - np.median(np.log(studio)[inside], axis=0)
    assert np.sqrt(np.square(field - wanted)[inside].mean()) < 0.25 * np.sqrt(np.square(wanted)[inside].mean())
    even = Albedo(zones, field, flat).even(np.clip(lit, 0, 255), False)
    assert _unevenness(model, lit) > 0.1 and _unevenness(model, even) < 0.02


@pytest.mark.parametrize("beard", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_faces_of_the_model_become_even(model: AppearanceModel, seed: int, beard: bool) -> None:
    picture = _decoded(model, seed)
    assert _unevenness(model, model.albedo.even(picture, beard)) < 0.3 * _unevenness(model, picture)


def test_the_studio_is_the_same_on_both_sides_and_moves_no_tone(model: AppearanceModel) -> None:
    studio, skin = model.albedo.studio, model.albedo.zones.skin
    np.testing.assert_array_equal(studio, studio[:, ::-1])
    np.testing.assert_allclose(np.median(studio[skin > 0], axis=0), 0, atol=0.01)
    assert np.ptp(studio[skin > 0]) > 0.2, "photographs have a light"


def test_a_mirrored_face_is_the_mirrored_result(model: AppearanceModel) -> None:
    picture = _decoded(model, 5)
    one, other = (model.albedo.even(np.ascontiguousarray(p), False) for p in (picture, picture[:, ::-1]))
    # Wide blurs are made at a third of the size, which two hundred columns are no multiple of.
    assert np.abs(one - other[:, ::-1]).mean() < 0.5


@pytest.mark.parametrize("beard", [False, True])
def test_an_even_face_stays_as_it_is(model: AppearanceModel, beard: bool) -> None:
    flat, skin = _flat(model), model.albedo.zones.skin > 0
    even = _bare(model).even(flat, beard)
    assert np.abs(even - flat)[skin].max() < 3
    assert np.abs(even - flat).mean() < 3


@pytest.mark.parametrize("seed", range(3))
def test_what_is_even_changes_little_when_it_is_done_again(model: AppearanceModel, seed: int) -> None:
    skin = model.albedo.zones.skin > 0
    once = model.albedo.even(_decoded(model, seed), False)
    twice = _bare(model).even(once, False)
    assert np.abs(twice - once)[skin].mean() < 2.5
    assert np.abs(once - _decoded(model, seed))[skin].mean() > 5


def test_a_blotch_on_a_cheek_is_held_back_and_its_colour_too(model: AppearanceModel) -> None:
    flat = _flat(model)
    x, y = model.mean_shape[[2, 31]].mean(axis=0)
    rows, columns = np.mgrid[0 : flat.shape[0], 0 : flat.shape[1]]
    there = np.exp(-(((columns - x) / 16) ** 2) - ((rows - y) / 16) ** 2).astype(np.float32)
    blotched = flat * np.exp(there[:, :, None] * np.float32([-0.1, -0.4, -0.4]))
    even = _bare(model).even(blotched, False)
    at = int(y), int(x)
    before, after = (np.log(p[at] + 8) - np.log(flat[at] + 8) for p in (blotched, even))
    assert after @ LUMA > 0.6 * (before @ LUMA), "less dark"
    assert abs(after[0] - after[1]) < 0.5 * abs(before[0] - before[1]), "less red"


@pytest.mark.parametrize("darkness", [0.4, 0.8])
def test_a_beard_goes_unless_it_may_stay_and_lips_are_left(model: AppearanceModel, darkness: float) -> None:
    flat, zones, albedo = _flat(model), model.albedo.zones, _bare(model)
    beard = zones.lower * (1 - zones.lips) * zones.skin
    hairs = np.random.default_rng(1).uniform(0.5, 1.5, beard.shape).astype(np.float32)
    bearded = (flat + 8) * np.exp(-darkness * beard * cv2.GaussianBlur(hairs, (0, 0), 1.0))[:, :, None] - 8
    shaved, kept = albedo.even(bearded, False), albedo.even(bearded, True)
    upper = zones.skin * (1 - zones.lower)

    def darker(picture: Pixels) -> float:
        return _level(picture, upper) - _level(picture, beard)

    assert darker(bearded) > 0.8 * darkness
    assert darker(shaved) < 0.3 * darkness, "shaved"
    assert darker(kept) > darker(shaved) + 0.1, "a beard that may stay is seen"
    lips = zones.lips > 0.9
    redness = [np.log(p[lips] + 8).mean(axis=0) for p in (flat, shaved)]
    assert redness[1][0] - redness[1][1] == pytest.approx(redness[0][0] - redness[0][1], abs=0.1)
    assert redness[1] @ LUMA == pytest.approx(redness[0] @ LUMA, abs=0.15)


def test_hues_lie_about_skins_but_for_lips_and_eyes(model: AppearanceModel) -> None:
    zones = model.albedo.zones
    picture = _flat(model) + zones.brows[:, :, None] * np.float32([-60, -20, 60])  # blue brows
    picture = picture + zones.lips[:, :, None] * np.float32([40, -40, 0])
    even = _bare(model).even(np.clip(picture, 0, 255), True)
    log = np.log(even + 8)
    colour = log - (log @ LUMA)[:, :, None]
    away = colour - np.median(colour[zones.skin > 0], axis=0)
    plain = np.maximum(zones.lips, zones.eyes) < 0.001
    # To hold one channel back moves the brightness a little, and with it the others.
    assert (away[plain] > _HUE[0] - 0.02).all() and (away[plain] < _HUE[1] + 0.02).all()
    lips = away[zones.lips > 0.95].mean(axis=0)
    assert 0.1 < lips[0] - lips[1] < 0.3, "lips are red, and not painted"


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_every_picture_gives_numbers_from_0_to_255(model: AppearanceModel, seed: int, beard: bool) -> None:
    rng = np.random.default_rng(seed)
    shape = (*model.albedo.zones.skin.shape, 3)
    kinds = (rng.uniform(0, 255, shape), rng.normal(100, 200, shape), np.zeros(shape), np.full(shape, 255.0))
    for picture in kinds:
        before = picture.astype(np.float32)
        given_picture = before.copy()
        even = model.albedo.even(given_picture, beard)
        assert even.dtype == np.float32 and even.shape == shape
        assert np.isfinite(even).all() and even.min() >= 0 and even.max() <= 255
        np.testing.assert_array_equal(given_picture, before)


# --- the blur within a mask


def _mask() -> Pixels:
    mask = np.zeros((60, 50), np.float32)
    mask[10:45, 12:30] = 1
    return mask


def test_what_lies_outside_a_mask_does_not_enter_its_blur() -> None:
    rng, mask = np.random.default_rng(1), _mask()
    picture = rng.uniform(0, 1, (60, 50, 3)).astype(np.float32)
    other = np.where(mask[:, :, None] > 0, picture, np.float32(99))
    np.testing.assert_array_equal(masked_blur(picture, mask, (0.04, 0.3)), masked_blur(other, mask, (0.04, 0.3)))


@pytest.mark.parametrize("shares", [(0.04,), (0.04, 0.12), (0.05, 0.1, 0.4)])
def test_one_colour_stays_so_in_the_mask_and_is_carried_on_beside_it(shares: tuple[float, ...]) -> None:
    mask = _mask()
    blurred = masked_blur(np.full((60, 50, 2), 5, np.float32), mask, shares)
    np.testing.assert_allclose(blurred[mask > 0], 5, rtol=2e-3)
    if len(shares) == 3:
        np.testing.assert_allclose(blurred[20, :45], 5, rtol=0.02)


def _one_after_the_other(picture: Pixels, mask: Pixels, shares: tuple[float, ...]) -> Pixels:
    """What `masked_blur` does, width by width and in the picture's own size."""
    out, near = np.zeros_like(picture), np.zeros_like(mask)
    for share in shares:
        sigma = share * mask.shape[1]
        total = [cv2.GaussianBlur(c * mask, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT) for c in cv2.split(picture)]
        weight = cv2.GaussianBlur(mask, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT)
        enough = np.clip(near / 0.3, 0, 1)[:, :, None]
        out = out * enough + np.stack(total, axis=2) / (weight[:, :, None] + 1e-4) * (1 - enough)
        near = np.maximum(near, weight)
    return np.asarray(out, np.float32)


def test_a_blur_that_was_made_ready_is_the_one_that_is_made_step_by_step(model: AppearanceModel) -> None:
    picture = np.log(np.maximum(_decoded(model, 3), 0) + 8).astype(np.float32)
    zones = model.albedo.zones
    for zone, shares in (("bare", (0.02, 0.05, 0.1, 0.2, 0.4)), ("skin", (0.12,)), ("bare", (0.012, 0.03))):
        mask = getattr(zones, zone)
        wanted = _one_after_the_other(picture, mask, shares)
        for found in (zones.blurred(picture, zone, shares), masked_blur(picture, mask, shares)):
            away = np.abs(found - wanted).max(axis=2)
            near = cv2.GaussianBlur(mask, (0, 0), shares[-1] * mask.shape[1], borderType=cv2.BORDER_CONSTANT) > 0.05
            assert away[mask > 0.5].max() < 0.01, "a hundredth of the logarithm"
            assert away[near].max() < 0.03 and np.ptp(wanted[near]) > 0.5, "beside it, too, where the wide ones count"
        assert zones.blurred(picture[:, :, :1], zone, shares).shape == (*mask.shape, 1)


def test_one_narrow_blur_is_the_textbooks() -> None:
    rng, mask = np.random.default_rng(2), _mask()
    picture = rng.uniform(0, 1, (60, 50, 1)).astype(np.float32)
    sigma, (row, column) = 0.04 * 50, (20, 14)
    rows, columns = np.nonzero(mask)
    weights = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * sigma**2))
    wanted = float((weights * picture[rows, columns, 0]).sum() / weights.sum())
    assert float(masked_blur(picture, mask, (0.04,))[row, column, 0]) == pytest.approx(wanted, abs=0.01)
