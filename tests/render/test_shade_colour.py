"""Shade on a surrogate is as saturated as on the person: two numbers, and nothing where there is nothing to tell."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA
from streamdeid.render.light import LightFrame, static_light
from streamdeid.render.new_face import NewFace
from streamdeid.render.shade_colour import USUAL, shade_colour, slopes_of
from tests.drawn_faces import some_identity


def _skin(slopes: tuple[float, float, float], spread: float = 0.2, count: int = 400) -> Pixels:
    """Skin (p, 3) whose brightness varies and whose channels fall with it so quickly."""
    level = np.random.default_rng(1).normal(0, spread, count)
    tone = np.array([150.0, 105.0, 85.0])
    return (tone * np.exp(level[:, None] * np.array(slopes))).astype(np.float32)


@pytest.fixture(scope="module")
def light(fitting: FitModel) -> LightFrame:
    return LightFrame.of(fitting)


@pytest.mark.parametrize("slopes", [(1.0, 1.0, 1.0), (0.8, 1.1, 1.3), (0.6, 1.15, 1.6)])
def test_the_slopes_of_skin_are_found(slopes: tuple[float, float, float]) -> None:
    skin = _skin(slopes)
    level = np.log(skin @ LUMA)
    true = [np.polyfit(level, np.log(skin[:, c]), 1)[0] for c in range(3)]
    np.testing.assert_allclose(slopes_of(skin, np.ones(len(skin))), true, atol=0.06)


def test_hair_and_what_does_not_count_tell_nothing() -> None:
    skin, weights = _skin((0.8, 1.1, 1.3)), np.ones(400)
    alone = slopes_of(skin, weights)
    with_hair = np.concatenate([skin, np.full((80, 3), (20, 20, 30), np.float32)])
    np.testing.assert_allclose(slopes_of(with_hair, np.ones(480)), alone, atol=0.03)
    blue = np.concatenate([skin, _skin((1.3, 0.9, 0.4))])
    np.testing.assert_allclose(slopes_of(blue, np.concatenate([weights, 0 * weights])), alone, atol=0.01)


def test_even_skin_has_the_usual_slopes_and_what_is_not_seen_too() -> None:
    np.testing.assert_allclose(slopes_of(_skin((0.5, 1.2, 2.0), spread=0.001), np.ones(400)), USUAL, atol=0.02)
    np.testing.assert_array_equal(slopes_of(_skin((0.5, 1.2, 2.0)), np.zeros(400)), USUAL)
    half = slopes_of(_skin((0.5, 1.2, 2.0), spread=0.06), np.ones(400))
    assert 1.5 < half[2] < 1.8 and 0.58 < half[0] < 0.72


def _published(light: LightFrame, person: Pixels, face: NewFace) -> NDArray[np.float64]:
    """The small texture (f, 3) of a surrogate in the light of a person."""
    field = static_light(light, person, face, np.ones(len(person))).field
    return (face.small_texture * np.exp(field[light.table.rows, light.table.columns])).astype(np.float64)


@pytest.mark.parametrize("more", [0.0, 0.35])
def test_a_surrogates_shade_is_as_saturated_as_the_persons(light: LightFrame, fitting: FitModel, more: float) -> None:
    own, face = (NewFace.of(some_identity(fitting.model, seed), fitting) for seed in (3, 4))
    lamp = np.exp(0.5 * (light.table.columns / light.table.size[0] - 0.5))[:, None]
    person = own.small_texture * lamp
    level = person @ LUMA
    person = person * (level[:, None] / np.median(level)) ** (more * np.array([-0.6, 0.2, 0.8]))
    person = person.astype(np.float32)
    done = _published(light, person, face)
    weights = light.bright
    theirs, ours = (slopes_of(light.soft_skin(p.astype(np.float32))[light.fitted], weights) for p in (person, done))
    np.testing.assert_allclose(ours, theirs, atol=0.12)
    gain = np.log(done @ LUMA) - np.log(face.small_texture @ LUMA)
    assert np.isfinite(gain).all()


def test_what_is_dark_on_a_surrogate_gets_the_colour_and_keeps_its_brightness(
    light: LightFrame, fitting: FitModel
) -> None:
    face = NewFace.of(some_identity(fitting.model, 4), fitting)
    lit, table = face.small_texture, light.table
    soft, weights = light.soft_skin(lit), np.ones(len(light.fitted))
    level = soft @ LUMA
    person = (soft * (level[:, None] / np.median(level)) ** np.array([-0.3, 0.1, 0.4])).astype(np.float32)
    gain = shade_colour(lit, soft, person, light.fitted, weights, table)[table.rows, table.columns]
    dark = np.log(lit @ LUMA) < np.log(np.median((soft @ LUMA)[light.fitted])) - 0.25
    assert dark.sum() > 50
    assert (gain[dark, 0] > gain[dark, 1]).all() and (gain[dark, 1] > gain[dark, 2]).all()
    after = lit * np.exp(gain)
    assert np.abs(np.log((after @ LUMA + 2) / (lit @ LUMA + 2))).max() < 0.12
    bright = (soft @ LUMA)[light.fitted] > np.quantile((soft @ LUMA)[light.fitted], 0.8)
    assert np.abs(gain[light.fitted][bright]).max() < 0.06, "what is lit keeps its colour"
    same = shade_colour(lit, soft, soft, light.fitted, weights, table)
    assert np.abs(same).max() < 0.15 < np.abs(gain).max()


def test_a_grey_person_gives_no_colour(light: LightFrame, fitting: FitModel) -> None:
    face = NewFace.of(some_identity(fitting.model, 4), fitting)
    grey = np.repeat((face.small_texture @ LUMA)[:, None], 3, axis=1)
    done = shade_colour(grey, grey, grey, light.fitted, np.ones(len(light.fitted)), light.table)
    assert np.abs(done).max() < 1e-3


def test_it_is_bounded_whatever_is_seen(light: LightFrame) -> None:
    rng = np.random.default_rng(3)
    count, weights = len(light.skin), np.ones(len(light.fitted))
    for _ in range(5):
        lit, ours, person = (rng.uniform(0, 255, (count, 3)).astype(np.float32) for _ in range(3))
        gain = shade_colour(lit, ours, person, light.fitted, weights, light.table)
        assert np.isfinite(gain).all() and np.abs(gain).max() <= 0.5 * 0.8 + 1e-3


def test_shade_gets_never_less_saturated(light: LightFrame, fitting: FitModel) -> None:
    """As in the light of two lamps: brows and lips are not in the shade of one of them."""
    face = NewFace.of(some_identity(fitting.model, 4), fitting)
    lit, table = face.small_texture, light.table
    soft = light.soft_skin(lit)
    level = soft @ LUMA
    cool = (soft * (level[:, None] / np.median(level)) ** np.array([0.6, -0.1, -1.2])).astype(np.float32)
    gain = shade_colour(lit, soft, cool, light.fitted, np.ones(len(light.fitted)), table)[table.rows, table.columns]
    dark = np.log(lit @ LUMA) < np.log(np.median(level[light.fitted])) - 0.25
    assert gain[dark, 0].min() >= -1e-6 and gain[dark, 2].max() <= 1e-6
    nothing = shade_colour(lit, soft, cool, light.fitted, np.zeros(len(light.fitted)), table)
    assert (nothing == 0).all()
