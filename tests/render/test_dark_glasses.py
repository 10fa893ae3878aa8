"""Dark glasses: told by what lies about the eyes, kept out of the light, and drawn in one colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Flags, Pixels, Points
from streamdeid.core.colour import LUMA, rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation, Observer
from streamdeid.render.dark_glasses import Lenses
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame, static_light
from streamdeid.render.new_face import NewFace
from streamdeid.render.worn import Worn
from tests.drawn_faces import Scene, pose_at, scene, some_identity, with_mouth

_LENS = np.array([30.0, 24.0, 20.0])


def _texture(fitting: FitModel, seed: int) -> Pixels:
    return NewFace.of(some_identity(fitting.model, seed), fitting).small_texture


def _lenses(light: LightFrame, fitting: FitModel) -> Flags:
    """bool (f,): where lenses of a common size lie."""
    points, at = fitting.model.mean_shape * fitting.scale, light.table
    apart = np.linalg.norm(points[LEFT_EYE].mean(axis=0) - points[RIGHT_EYE].mean(axis=0))
    covered = np.zeros(len(at.rows), bool)
    for eye in (LEFT_EYE, RIGHT_EYE):
        x, y = points[eye].mean(axis=0)
        covered |= np.square((at.columns - x) / (0.44 * apart)) + np.square((at.rows - y) / (0.32 * apart)) < 1
    return covered


def _shaded(light: LightFrame, fitting: FitModel, texture: Pixels, lens: Points = _LENS) -> Pixels:
    worn = texture.copy()
    worn[_lenses(light, fitting)] = lens
    return worn


def _seen(light: LightFrame, texture: Pixels) -> Lenses:
    return light.worn_on(texture, np.ones(len(texture)))[1]


@pytest.mark.parametrize("seed", range(6))
def test_lenses_are_told_and_eyes_are_none(light: LightFrame, fitting: FitModel, seed: int) -> None:
    bare = _texture(fitting, seed)
    for gain in (0.3, 1.0):
        assert _seen(light, np.float32(gain) * bare).told == 0
    told = _seen(light, _shaded(light, fitting, bare))
    assert told.told == 1
    np.testing.assert_allclose(told.colour, _LENS, atol=1)
    lenses = _lenses(light, fitting)
    hidden = light.dark_glasses.bare(told) == 0
    assert hidden[lenses].mean() > 0.95 and hidden[~lenses].mean() < 0.12


def test_the_brighter_eye_decides(light: LightFrame, fitting: FitModel) -> None:
    """Hair over one eye, or a shadow, is no pair of glasses; on a turned head only one eye is seen."""
    bare = _texture(fitting, 2)
    left = light.table.columns < light.table.size[0] / 2
    half = np.where(left[:, None], _shaded(light, fitting, bare), bare)
    assert _seen(light, half).told == 0
    assert light.dark_glasses.seen(half, np.where(left, 1.0, 0.0)).told == 1
    assert light.dark_glasses.seen(half, np.zeros(len(half))).told == 0, "nothing is seen"


def test_sockets_under_a_lamp_are_none(light: LightFrame, fitting: FitModel) -> None:
    bare = _texture(fitting, 2)
    deep = bare * np.exp(3 * light.sockets.studio[light.table.rows, light.table.columns])[:, None]
    assert (deep @ LUMA).min() < 0.8 * (bare @ LUMA).min() and _seen(light, deep).told == 0


def test_the_light_is_that_of_the_face_without_them(light: LightFrame, fitting: FitModel) -> None:
    own, other = _texture(fitting, 4), NewFace.of(some_identity(fitting.model, 5), fitting)
    fields = []
    for texture in (own, _shaded(light, fitting, own)):
        bare = light.worn_on(texture, np.ones(len(texture)))[2]
        fields.append(static_light(light, texture, other, bare).field[light.table.rows, light.table.columns])
    assert np.percentile(np.abs(fields[1] - fields[0])[light.skin > 0], 95) < 0.12


@pytest.mark.parametrize("cloth", [(180.0, 215.0, 250.0), (250.0, 250.0, 248.0)])
@pytest.mark.parametrize("dark", [1.0, 0.45, 0.2])
def test_a_mask_is_no_reason_to_see_dark_glasses(
    light: LightFrame, fitting: FitModel, dark: float, cloth: tuple[float, float, float]
) -> None:
    points = fitting.model.mean_shape * fitting.scale
    masked = np.float32(dark) * _texture(fitting, 3)
    below = light.table.rows > points[29, 1]
    masked[below] = 0.8 * np.array(cloth)
    mask, lenses, bare = light.worn_on(masked, np.ones(len(masked)))
    assert lenses.told == 0
    assert light.covering.told(mask) == 1 and bare[below].max() == 0, "whoever wears it"


@pytest.mark.parametrize("cloth", [(200, 225, 250), (230, 230, 228)])
def test_a_mask_and_dark_glasses_are_both_told(
    light: LightFrame, fitting: FitModel, cloth: tuple[int, int, int]
) -> None:
    points = fitting.model.mean_shape * fitting.scale
    both = _shaded(light, fitting, _texture(fitting, 3))
    both[light.table.rows > points[30, 1]] = cloth
    mask, lenses, bare = light.worn_on(both, np.ones(len(both)))
    assert light.covering.told(mask) == 1 and lenses.told == 1
    assert bare[light.table.rows > points[33, 1] + 1].max() == 0
    above = light.table.rows < points[29, 1]
    assert bare[_lenses(light, fitting) & above].mean() < 0.05, "no light is read from lenses"


def test_of_a_turned_head_every_third_pixel_tells_the_same(light: LightFrame, fitting: FitModel) -> None:
    own = _texture(fitting, 3)
    left = light.table.columns < light.table.size[0] / 2
    half = np.where(left[:, None], _shaded(light, fitting, own), own)  # only the eye that is seen less is dark
    for yaw in np.deg2rad((-60, -50, -45, -30, 0, 30, 45, 50, 60)):
        well = light.seen_from(np.array([-np.sin(yaw), 0.0, np.cos(yaw)]))
        for texture in (own, half, _shaded(light, fitting, own)):
            assert (light.worn_on(texture, well)[1].told > 0) == (light.dark_glasses.seen(texture, well).told > 0)


def _filmed(model: AppearanceModel, fitting: FitModel, light: LightFrame, worn: bool) -> tuple[Scene, Observation]:
    person, texture = model.decode(some_identity(model, 3))
    made = scene(model, with_mouth(person, 0.0), texture, pose_at(model, 150.0))
    seen = Observer(fitting)(made.planes, made.face, 0.0)
    assert seen is not None
    if worn:
        seen = replace(seen, small_texture=_shaded(light, fitting, seen.small_texture))
    return made, seen


def _published(
    made: Scene, seen: Observation, fitting: FitModel, light: LightFrame, blending: Blending | None = None
) -> Planes:
    out, face = made.planes.copy(), NewFace.of(some_identity(fitting.model, 8), fitting)
    neutral = Neutral(seen.frontal, seen.small_texture, seen.hair)
    assert render_surrogate(out, made.planes, seen, neutral, face, fitting, light, blending or Blending())
    return out


def test_they_are_drawn_in_their_colour_and_the_mouth_stays(
    model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    plain, worn = (_published(*_filmed(model, fitting, light, dark), fitting, light) for dark in (False, True))
    _, seen = _filmed(model, fitting, light, True)
    eyes = [seen.points[eye].mean(axis=0) for eye in (LEFT_EYE, RIGHT_EYE)]
    for x, y in (np.round(eye).astype(int) for eye in eyes):
        lens = rectangle_to_rgb(worn, x - 6, y - 4, x + 6, y + 4).reshape(-1, 3).astype(float)
        np.testing.assert_allclose(np.median(lens, axis=0), _LENS, atol=20)  # and what it mirrors
    mouth = np.round(seen.points[48:60].mean(axis=0)).astype(int)
    about = slice(mouth[1] - 15, mouth[1] + 15), slice(mouth[0] - 20, mouth[0] + 20)
    assert np.abs(plain.y[about].astype(int) - worn.y[about]).mean() < 4


def test_of_lenses_passes_one_colour(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> None:
    """Eyes that shimmer through them, and what is mirrored, are not seen."""
    made, seen = _filmed(model, fitting, light, True)
    rng, lenses = np.random.default_rng(3), np.flatnonzero(_lenses(light, fitting))
    one, two = seen.small_texture.copy(), seen.small_texture.copy()
    one[lenses] = (_LENS + rng.uniform(-12, 12, (len(lenses), 1))).astype(np.float32)
    about = np.flatnonzero(light.dark_glasses._eyes[0] | light.dark_glasses._eyes[1])
    two[lenses] = one[lenses]
    two[about] = one[rng.permutation(about)]
    first, second = (_published(made, replace(seen, small_texture=texture), fitting, light) for texture in (one, two))
    assert np.abs(first.y.astype(int) - second.y).max() <= 3


def test_eyes_that_are_to_be_the_originals_are_none_behind_dark_glasses(
    model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    made, seen = _filmed(model, fitting, light, True)
    face, neutral = (
        NewFace.of(some_identity(fitting.model, 8), fitting),
        Neutral(seen.frontal, seen.small_texture, None),
    )
    pictures = []
    for copied in (False, True):
        out = made.planes.copy()
        assert render_surrogate(out, made.planes, seen, neutral, face, fitting, light, Blending(), copy_eyes=copied)
        pictures.append(out)
    assert np.array_equal(pictures[0].y, pictures[1].y)


def test_they_come_and_go_within_some_frames(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> None:
    blending = Blending()
    made, bare = _filmed(model, fitting, light, False)
    _, dark = _filmed(model, fitting, light, True)
    shown = []
    for seen in [bare] * 2 + [dark] * 15 + [bare] * 15:
        _published(made, replace(seen, fresh=False), fitting, light, blending)
        shown.append(blending.shades.shown)
    assert shown[3] == 0, "one false frame draws nothing"
    assert shown[16] == 1 and shown[-1] == 0
    assert Worn().after(1.0, _LENS, 19, True).shown == 0, "too small to tell"
