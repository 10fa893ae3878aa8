"""Faces in pictures without colours have none, and nothing of a coloured picture changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.synthesise import Patch
from streamdeid.core.frames import Planes
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observer
from streamdeid.render.blend import no_membrane
from streamdeid.render.colourless import without_colours
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from tests.drawn_faces import pose_at, scene, some_identity


def _patch() -> Patch:
    rng = np.random.default_rng(3)
    uv = rng.uniform(110, 150, (10, 12, 2)).astype(np.float32)
    covered = np.zeros((10, 12), np.uint8)
    covered[2:-2, 2:-2] = 1
    return Patch(8, 6, np.full((20, 24), 90, np.float32), uv, covered, np.ones((20, 24), np.uint8))


def _picture(u: float, spread: float) -> Planes:
    rng = np.random.default_rng(1)
    chroma = [np.clip(np.round(level + rng.normal(0, spread, (40, 40))), 0, 255).astype(np.uint8) for level in (u, 128)]
    return Planes(np.full((80, 80), 90, np.uint8), chroma[0], chroma[1])


@pytest.mark.parametrize("tint", [128.0, 133.0])
def test_a_picture_of_one_colour_gets_a_face_of_it(tint: float) -> None:
    patch = _patch()
    assert without_colours(patch, _picture(tint, 0.0), 1 - patch.covered) == 1.0
    np.testing.assert_allclose(patch.uv, np.broadcast_to(np.float32([tint, 128]), patch.uv.shape), atol=1e-4)


def test_where_there_are_colours_nothing_changes() -> None:
    patch, before = _patch(), _patch()
    assert without_colours(patch, _picture(128, 1.0), 1 - patch.covered) == 0.0
    np.testing.assert_array_equal(patch.uv, before.uv)


def test_one_plane_with_colours_is_enough() -> None:
    patch, before, picture = _patch(), _patch(), _picture(128, 0.0)
    picture.v[::2] += 4
    without_colours(patch, picture, 1 - patch.covered)
    np.testing.assert_array_equal(patch.uv, before.uv)


def test_nothing_of_the_face_itself_is_looked_at() -> None:
    patch, picture = _patch(), _picture(128, 0.0)
    picture.v[5:11, 6:14] = 200  # where the face is
    without_colours(patch, picture, 1 - patch.covered)
    np.testing.assert_allclose(patch.uv, 128, atol=1e-4)


def test_what_the_membrane_remembers_of_a_coloured_picture_is_not_shown_in_a_grey_one(
    model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    """As when a camera goes over to infrared light."""
    person, texture = model.decode(some_identity(model, 3))
    made = scene(model, person, texture, pose_at(model, 150.0))
    grey = Planes(made.planes.y, np.full_like(made.planes.u, 128), np.full_like(made.planes.v, 128))
    seen = Observer(fitting)(grey, made.face, 0.0)
    assert seen is not None
    blending = Blending()
    blending.membrane = np.broadcast_to(np.float32([0, 25, -25]), no_membrane().shape).copy()
    out, face = grey.copy(), NewFace.of(some_identity(model, 8), fitting)
    neutral = Neutral(seen.frontal, seen.small_texture, seen.hair)
    assert render_surrogate(out, grey, replace(seen, fresh=False), neutral, face, fitting, light, blending)
    assert np.abs(blending.membrane[:, :, 1:]).max() > 10, "it is remembered"
    assert np.abs(out.u.astype(int) - 128).max() <= 1 and np.abs(out.v.astype(int) - 128).max() <= 1
