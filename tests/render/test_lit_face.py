"""A surrogate's colours under a field of light: the kernel, highlights, brows, lips and eyes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import yuv_from_rgb
from streamdeid.core.frames import Colour
from streamdeid.observe.neutral import Neutral
from streamdeid.render.eyes import browner
from streamdeid.render.face import Blending
from streamdeid.render.light import LightFrame, StaticLight, static_light
from streamdeid.render.lit_face import _KNEE, _lit, at_eye, dressed, lit_eye, lit_texture
from streamdeid.render.new_face import NewFace
from streamdeid.render.thin_brows import darkness
from tests import slow_twins
from tests.drawn_faces import some_identity

_COLOUR = Colour()


@pytest.fixture(scope="module")
def face(fitting: FitModel) -> NewFace:
    return NewFace.of(some_identity(fitting.model, 3), fitting)


@pytest.fixture(scope="module")
def plain(fitting: FitModel, light: LightFrame, face: NewFace) -> StaticLight:
    """The surrogate's own light, which changes nothing of brows and lips."""
    return replace(
        static_light(light, face.small_texture, face, np.ones(len(face.small_texture))), brows=1.0, lips=np.zeros(3)
    )


def _rgb(yuv: Pixels) -> NDArray[np.float64]:
    matrix, offset = yuv_from_rgb(_COLOUR)
    found: NDArray[np.float64] = (yuv.astype(np.float64) - offset) @ np.linalg.inv(matrix).T
    return found


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 3]))
def test_the_kernel_is_its_slow_twin(seed: int, channels: int) -> None:
    rng = np.random.default_rng(seed)
    picture = rng.uniform(0, 255, (7, 9, 3)).astype(np.float32)
    gain = rng.uniform(0, 2.5, (7, 9, channels)).astype(np.float32)
    matrix, offset = rng.normal(size=(3, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    out = np.full((7, 9, 3), np.nan, np.float32)
    _lit(picture, gain, matrix, offset, _KNEE, out)
    np.testing.assert_allclose(out, slow_twins.lit(picture, gain, matrix, offset, _KNEE), atol=2e-3, rtol=1e-5)


@pytest.mark.parametrize("field", [-0.5, 0.0, 0.1])
def test_light_multiplies_colours(field: float) -> None:
    picture = np.random.default_rng(1).uniform(0, 200, (20, 16, 3)).astype(np.float32)
    lit = _rgb(lit_texture(picture, np.full((5, 4, 1), field, np.float32), _COLOUR))
    np.testing.assert_allclose(lit, picture * np.exp(field), atol=0.05)


@settings(max_examples=40, deadline=None)
@given(st.tuples(*[st.floats(5, 255)] * 3), st.floats(-1, 3))
def test_highlights_keep_their_hue_and_do_not_burn_out(skin: tuple[float, float, float], field: float) -> None:
    picture = np.full((2, 2, 3), skin, np.float32)
    lit = _rgb(lit_texture(picture, np.full((2, 2, 1), field, np.float32), _COLOUR))[0, 0]
    assert lit.max() < 255.1
    np.testing.assert_allclose(lit / lit.max(), np.array(skin) / max(skin), atol=0.01)
    more = _rgb(lit_texture(picture, np.full((2, 2, 1), field + 0.2, np.float32), _COLOUR))[0, 0]
    assert more.max() > lit.max() - 0.01, "more light is never darker"


def test_a_texture_is_reduced_by_area_on_demand(face: NewFace) -> None:
    nothing = np.zeros((6, 5, 1), np.float32)
    small = lit_texture(face.picture, nothing, _COLOUR, (50, 59))
    assert small.shape == (59, 50, 3) and small.dtype == np.float32
    whole = lit_texture(face.picture, nothing, _COLOUR)
    assert whole.shape == face.picture.shape
    assert small.mean() == pytest.approx(whole.mean(), abs=0.5)


def test_without_anything_to_change_a_face_is_as_it_was(face: NewFace, plain: StaticLight, fitting: FitModel) -> None:
    worn = dressed(face, plain, fitting.model.albedo.zones, darkness(face.picture, fitting.model.albedo.zones))
    np.testing.assert_allclose(worn, face.picture, atol=1e-3)


def test_the_eyes_that_are_drawn_go_with_the_hair(face: NewFace, light: LightFrame, fitting: FitModel) -> None:
    own, half, dark = (
        Blending().static(fitting, light, Neutral(face.shape, face.small_texture, hair), face).eyes
        for hair in (None, -0.65, -2.0)
    )
    for eye in (0, 1):
        np.testing.assert_allclose(own[eye].iris, face.eyes[eye].iris)
        np.testing.assert_allclose(dark[eye].iris, browner(face.eyes[eye], 1.0).iris)
        np.testing.assert_allclose(half[eye].iris, browner(face.eyes[eye], 0.5).iris, rtol=1e-5)


def test_darker_hair_darkens_the_brows_alone(face: NewFace, plain: StaticLight, fitting: FitModel) -> None:
    zones = fitting.model.albedo.zones
    change = {
        factor: (dressed(face, replace(plain, brows=factor), zones, darkness(face.picture, zones)) - face.picture).mean(
            axis=2
        )
        for factor in (0.7, 1.15)
    }
    brows, elsewhere = zones.brows > 0.9, zones.brows < 0.001
    assert change[1.15][brows].mean() < -1 and change[0.7][brows].mean() > 2
    for changed in change.values():
        assert np.abs(changed[elsewhere]).max() < 0.01


def test_lips_move_by_the_shift_and_nothing_else_does(face: NewFace, plain: StaticLight, fitting: FitModel) -> None:
    zones, shift = fitting.model.albedo.zones, np.array([0.1, -0.2, -0.05])
    worn = dressed(face, replace(plain, lips=shift), zones, darkness(face.picture, zones))
    moved = np.log(worn + 8) - np.log(face.picture + 8)
    lips = zones.lips > 0.99
    np.testing.assert_allclose(moved[lips], np.broadcast_to(shift, moved[lips].shape), atol=0.01)
    assert np.abs(moved[zones.lips < 1e-4]).max() < 1e-3


def test_eyes_are_in_the_light_of_their_place(face: NewFace, fitting: FitModel) -> None:
    model = fitting.model
    field = np.zeros((76, 64, 3), np.float32)
    field[:, :32], field[:, 32:] = -0.7, 0.0
    assert [float(at_eye(field, eye, model)[0]) for eye in (0, 1)] == pytest.approx([-0.7, 0.0])
    bright, dark = (_rgb(lit_eye(face.eyes[0], np.float32([g, g, g]), _COLOUR).sclera) for g in (0.0, -0.7))
    np.testing.assert_allclose(bright, face.eyes[0].sclera, atol=0.5)
    np.testing.assert_allclose(dark, np.exp(-0.7) * bright, atol=0.5)


def test_what_makes_skin_pale_makes_no_white_blue(face: NewFace) -> None:
    """The tone of the person's skin is part of what is taken for the light's colour."""
    blue = np.array([-0.1, 0.0, 0.3], np.float32)
    plain, cast = (_rgb(lit_eye(face.eyes[0], here, _COLOUR).sclera) for here in (np.zeros(3, np.float32), blue))
    ratio = np.log(cast / plain)
    assert 0 < ratio[2] - ratio[0] < 0.45 * (blue[2] - blue[0])


def test_under_a_yellow_lamp_whites_are_yellow(face: NewFace) -> None:
    lamp = np.array([0.1, 0.0, -0.3], np.float32)
    plain, lit = (_rgb(lit_eye(face.eyes[0], here, _COLOUR).sclera) for here in (np.zeros(3, np.float32), lamp))
    ratio = np.log(lit / plain)
    assert 0.65 * (lamp[0] - lamp[2]) < ratio[0] - ratio[2] < 0.85 * (lamp[0] - lamp[2])
    steps = [_rgb(lit_eye(face.eyes[0], s * lamp, _COLOUR).sclera)[2] for s in np.linspace(-1, 1, 41, dtype=np.float32)]
    assert np.abs(np.diff(steps)).max() < 5  # no jump between the two
    brown = _rgb(lit_eye(face.eyes[0], 0.3 * lamp, _COLOUR).sclera)  # may be the tone of a skin
    assert 0 < np.log(brown / plain)[0] - np.log(brown / plain)[2] < 0.45 * 0.3 * (lamp[0] - lamp[2])
