"""Masks: cloth is told from skin, no light is read from it, and one colour of it is shown."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import pytest

from benchmarks.looks.masks import COLOURS, masked
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA, planes_from_rgb, rectangle_to_rgb
from streamdeid.core.frames import Colour, Planes
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation, Observer
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.face_covering import Cloth
from streamdeid.render.light import LightFrame, static_light
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedMemory
from streamdeid.render.worn import Worn
from tests.drawn_faces import Scene, inside_lips, pose_at, scene, some_identity, with_mouth
from tests.posed_heads import pose_face

_TOLD = ("blue", "white", "green", "grey")
"""Masks that are told on anybody; pink is skin's own hue, and black may be a beard."""
_WIDTH = 150.0


def _texture(fitting: FitModel, seed: int) -> Pixels:
    return NewFace.of(some_identity(fitting.model, seed), fitting).small_texture


def _cloth(light: LightFrame, texture: Pixels) -> Cloth:
    return light.covering.seen(texture, np.ones(len(texture)))


def _after(light: LightFrame, worn: Worn, cloth: Cloth, width: float = 60.0, fresh: bool = True) -> Worn:
    return worn.after(light.covering.told(cloth), cloth.colour, width, fresh)


def _covered(light: LightFrame, fitting: FitModel, texture: Pixels, cloth: str, from_tip: float = 0.4) -> Pixels:
    """A small texture (f, 3) with a mask from a place on the nose on, 0 its bridge and 1 its base: what is the same
    grey on all pixels in a picture of `masks`."""
    points = fitting.model.mean_shape * fitting.scale
    top = points[28, 1] + from_tip * (points[33, 1] - points[28, 1])
    sheet = 1.5 * float(np.median(texture[light.features.upper] @ LUMA))
    covered = texture.copy()
    covered[light.table.rows > top] = np.minimum(sheet, 250.0) * np.asarray(COLOURS[cloth], np.float32)
    return covered


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cloth", _TOLD)
def test_cloth_is_told_from_skin(light: LightFrame, fitting: FitModel, cloth: str, seed: int) -> None:
    bare = _texture(fitting, seed)
    seen, told = _cloth(light, bare), _cloth(light, _covered(light, fitting, bare, cloth))
    assert seen.below < 0.2 and light.covering.bare(seen).min() == 1 and _after(light, Worn(), seen).shown == 0
    assert told.below > 0.95 and told.beside > 0.7 and _after(light, Worn(), told, 60).shown == 1
    sheet = np.array(COLOURS[cloth]) * min(1.5 * float(np.median(bare[light.features.upper] @ LUMA)), 250)
    np.testing.assert_allclose(told.colour, sheet, rtol=0.02)


@pytest.mark.parametrize("coloured", [True, False])
def test_it_is_as_the_rule_says_pixel_by_pixel(light: LightFrame, fitting: FitModel, coloured: bool) -> None:
    """A slow twin, on noise about skin and cloth of which everything has some."""
    rng, covering = np.random.default_rng(5), light.covering
    for seed in range(4):
        texture = _covered(light, fitting, _texture(fitting, seed), "blue", 0.2)
        texture = (texture * rng.uniform(0.6, 1.5, texture.shape)).astype(np.float32)
        if not coloured:
            texture = np.repeat((texture @ LUMA)[:, None], 3, axis=1)
        well = rng.uniform(0, 1, len(texture))
        about = [i for i in np.flatnonzero(covering._about) if well[i] > 0.5]
        above = [i for i in np.flatnonzero(covering._above) if well[i] > 0.5]
        level = [float(p @ LUMA) + 8 for p in texture]
        red = [(float(p[0]) + 8) / (float(p.sum()) + 24) - 1 / 3 for p in texture]
        skin, reddest = np.median([level[i] for i in about]), np.median([red[i] for i in about])
        brightest = max(skin, np.median([level[i] for i in above]))
        assert (reddest > 0.02) == coloured
        shown = []
        for bright, r in zip(level, red, strict=True):
            much = bright > 3 * skin
            if coloured:
                shown.append(r < 0.5 * reddest and bright > 0.78 * skin and (not much or r < 0.03))
            else:
                shown.append(bright > 1.35 * brightest and not much)
        told = covering.seen(texture, well)
        assert np.mean(told.pixels != shown) < 0.004, "but for the middle one of an even number"
        for part, share in ((covering._below, told.below), (covering._beside, told.beside)):
            if part is covering._beside and not coloured and told.below > 0.4:
                assert share == 0, "brightness alone draws no mask"
                continue
            places = np.flatnonzero(part)
            assert share == pytest.approx(sum(well[i] for i in places if shown[i]) / well[places].sum(), abs=0.01)


def test_a_white_beard_is_not_drawn_as_a_mask(light: LightFrame, fitting: FitModel) -> None:
    """It leaves the nose and most of the cheeks; light is not read from it either."""
    seen = _cloth(light, _covered(light, fitting, _texture(fitting, 3), "white", 1.05))
    assert light.covering.bare(seen).min() == 0
    assert _after(light, Worn(), seen).shown == 0


def test_nothing_is_told_where_next_to_no_skin_is_seen(light: LightFrame, fitting: FitModel) -> None:
    texture = _covered(light, fitting, _texture(fitting, 3), "white")
    none = light.covering.seen(texture, np.where(light.table.rows > 40, 1.0, 0.2))
    assert none.below == none.beside == 0 and not none.pixels.any()


def test_dark_glasses_make_no_mask_of_the_skin_below(light: LightFrame, fitting: FitModel) -> None:
    texture = _texture(fitting, 4)
    points = fitting.model.mean_shape * fitting.scale
    rows = light.table.rows
    for grey, lens in ((False, (25, 25, 25)), (True, (25, 25, 25)), (False, (60, 20, 15))):
        dark = np.repeat((texture @ LUMA)[:, None], 3, axis=1) if grey else texture.copy()
        dark[(rows > points[19, 1]) & (rows < points[29, 1])] = lens
        dark[rows < points[19, 1]] = 20  # a cap
        assert _after(light, Worn(), _cloth(light, dark), 60).shown == 0


@pytest.mark.parametrize("cloth", _TOLD)
def test_the_light_is_that_of_the_face_without_the_mask(light: LightFrame, fitting: FitModel, cloth: str) -> None:
    own, other = _texture(fitting, 4), NewFace.of(some_identity(fitting.model, 5), fitting)
    hidden = _covered(light, fitting, own, cloth)
    at = light.table.rows, light.table.columns
    bare, worn = (
        static_light(light, texture, other, light.covering.bare(_cloth(light, texture))) for texture in (own, hidden)
    )
    away = np.abs((worn.field - bare.field)[at][light.skin > 0])
    assert np.median(away) < 0.08 and np.percentile(away, 95) < 0.25
    assert np.abs(worn.lips).max() < 0.13, "the surrogate's own lips, as far as they are lips"
    read = static_light(light, hidden, other, np.ones(len(own)))
    assert np.median(np.abs((read.field - bare.field)[at][light.skin > 0])) > 1.5 * np.median(away), "it would be read"


def _seen(
    model: AppearanceModel, fitting: FitModel, cloth: str | None, opening: float = 0.0
) -> tuple[Scene, Observation]:
    person, texture = model.decode(some_identity(model, 3))
    made = scene(model, with_mouth(person, opening), texture, pose_at(model, _WIDTH))
    if cloth is not None:
        made = replace(made, planes=_worn(made, cloth))
    seen = Observer(fitting)(made.planes, made.face, 0.0)
    assert seen is not None
    return made, seen


def _worn(made: Scene, cloth: str) -> Planes:
    rgb = rectangle_to_rgb(made.planes, 0, 0, *made.planes.size)
    return planes_from_rgb(masked(rgb, made.points[:68], COLOURS[cloth]))


def _published(
    made: Scene, seen: Observation, fitting: FitModel, light: LightFrame, blending: Blending | None = None
) -> Planes:
    out = made.planes.copy()
    face = NewFace.of(some_identity(fitting.model, 8), fitting)
    neutral = Neutral(seen.frontal, seen.small_texture, seen.hair)
    assert render_surrogate(out, made.planes, seen, neutral, face, fitting, light, blending or Blending())
    return out


def _about(planes: Planes, place: np.ndarray, reach: int = 6) -> np.ndarray:
    """Median RGB (3,) about a place (2,) of a picture."""
    x, y = np.round(place).astype(int)
    rgb = rectangle_to_rgb(planes, x - reach, y - reach, x + reach, y + reach)
    return np.asarray(np.median(rgb.reshape(-1, 3), axis=0))


@pytest.mark.parametrize("cloth", _TOLD)
def test_a_mask_is_drawn_in_the_colour_of_the_one_that_is_worn(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, cloth: str
) -> None:
    made, seen = _seen(model, fitting, cloth)
    out = _published(made, seen, fitting, light)
    for point in (made.points[[48, 54, 57]].mean(axis=0), made.points[[4, 48]].mean(axis=0)):
        np.testing.assert_allclose(_about(out, point), _about(made.planes, point), atol=22)
    bare, plain = _seen(model, fitting, None)
    skin = _about(_published(bare, plain, fitting, light), made.points[[36, 39]].mean(axis=0) - (0, 30), 3)
    np.testing.assert_allclose(_about(out, made.points[[36, 39]].mean(axis=0) - (0, 30), 3), skin, atol=14)


def test_of_cloth_passes_one_colour(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> None:
    """What is printed on a mask, and how it lies on the nose and mouth of the person, is not seen."""
    made, seen = _seen(model, fitting, "white", 0.4)
    rng = np.random.default_rng(1)
    cloth = _cloth(light, seen.small_texture)
    printed = seen.small_texture.copy()
    places = np.flatnonzero(cloth.pixels & light.covering._below)
    printed[places] = printed[rng.permutation(places)]
    other = replace(seen, small_texture=printed)
    planes = made.planes.copy()
    lips = inside_lips(made.points, shrink=-2)
    planes.y[lips] = rng.integers(0, 255, int(lips.sum()))
    one = _published(made, seen, fitting, light)
    two = _published(replace(made, planes=planes), other, fitting, light)
    assert np.abs(one.y.astype(int) - two.y).max() <= 2


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize("gain", [1.6, 2.0, 2.5])
def test_a_lamp_from_below_is_no_mask(light: LightFrame, fitting: FitModel, gain: float, grey: bool) -> None:
    """Nor is the shade of a cap, whose edge lies on the nose."""
    points, rows = fitting.model.mean_shape * fitting.scale, light.table.rows
    for seed in range(3):
        for edge in (points[29, 1], points[30, 1]):
            lit = np.where(rows > edge, gain, 1.0)[:, None].astype(np.float32) * (0.5 * _texture(fitting, seed))
            lit = np.repeat((lit @ LUMA)[:, None], 3, axis=1) if grey else lit
            seen = light.worn_on(lit, np.ones(len(lit)))[0]
            assert light.covering.told(seen) == 0
            if not grey:
                assert light.covering.bare(seen if len(seen.pixels) else _cloth(light, lit)).min() == 1


def test_the_colour_is_that_of_what_is_seen(light: LightFrame, fitting: FitModel) -> None:
    """A turned head's far side is filled with what lies beside it."""
    for yaw in (0.0, 1.05, 1.3):
        well = light.seen_from(np.array([-np.sin(yaw), 0.0, np.cos(yaw)]))
        worn = _covered(light, fitting, _texture(fitting, 1), "blue")
        colour = light.covering.seen(worn, np.ones(len(worn))).colour
        worn[well < 0.5] = (110, 125, 120)
        told = light.covering.seen(worn, well)
        if light.covering.told(told) > 0:
            np.testing.assert_allclose(told.colour, colour, rtol=0.02)
        assert yaw > 0 or light.covering.told(told) == 1


def test_it_comes_and_goes_softly(light: LightFrame, fitting: FitModel) -> None:
    texture = _texture(fitting, 2)
    bare, told = _cloth(light, texture), _cloth(light, _covered(light, fitting, texture, "blue"))
    assert _after(light, Worn(), told).shown == 1, "who is seen first with one wears it at once"
    worn, shown = _after(light, Worn(), bare), []
    for cloth in [told] * 15 + [bare] * 15 + [told] * 15:
        worn = _after(light, worn, cloth, fresh=False)
        shown.append(worn.shown)
    assert shown[1] == 0, "one false frame draws nothing"
    assert shown[14] == 1 and shown[29] == 0 and shown[-1] == 1
    assert max(abs(b - a) for a, b in pairwise(shown)) < 0.5
    assert _after(light, worn, bare).shown == 0, "another face"
    assert _after(light, Worn(), told, 19).shown == 0, "too small to tell"


def test_a_posed_face_wears_it_too(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> None:
    frame, face = PosedFrame.of(fitting, light), NewFace.of(some_identity(model, 8), fitting)
    made, _ = _seen(model, fitting, None)
    worn = replace(made, planes=_worn(made, "blue"))
    found = []
    for one in (made, worn):
        out, memory = one.planes.copy(), PosedMemory()
        assert pose_face(out, one.planes, one.face, face, frame, memory)
        found.append(
            (memory.light.mask.shown, _about(out, made.points[[48, 54, 57]].mean(axis=0)), memory.light.numbers)
        )
    assert found[0][0] == 0 and found[1][0] == 1
    assert found[1][1][2] > found[1][1][0] > 60 and found[0][1][2] < found[0][1][0]
    np.testing.assert_allclose(found[0][2], found[1][2], atol=0.2)


def test_shape_of_a_drawn_mask(light: LightFrame, fitting: FitModel) -> None:
    model, covering = fitting.model, light.covering
    assert covering._mask.shape == model.frame_size[::-1] == covering._relief.shape
    at = model.mean_shape.round().astype(int)
    assert all(covering._mask[at[i, 1], at[i, 0]] > 0.9 for i in (30, 33, 48, 51, 54, 57, 62, 66))
    assert all(covering._mask[at[i, 1], at[i, 0]] == 0 for i in (17, 19, 24, 26, 27, 36, 39, 42, 45, 41, 46))
    assert -0.2 < covering._relief.min() < -0.03 and covering._relief.max() <= 0
    assert cv2.connectedComponents((covering._mask > 0.5).astype(np.uint8))[0] == 2


def test_a_texture_without_a_mask_is_the_same_array(light: LightFrame, fitting: FitModel) -> None:
    texture = np.zeros((*fitting.model.frame_size[::-1], 3), np.float32)
    assert light.covering.laid(texture, Worn(), np.zeros((5, 5, 1), np.float32), Colour()) is texture
