"""Faces in pictures without colours have none, and nothing of a coloured picture changes."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.synthesise import Patch
from streamdeid.core.frames import Planes
from streamdeid.render.colourless import without_colours


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
    assert without_colours(patch, _picture(tint, 0.0)) == 1.0
    np.testing.assert_allclose(patch.uv, np.broadcast_to(np.float32([tint, 128]), patch.uv.shape), atol=1e-4)


def test_where_there_are_colours_nothing_changes() -> None:
    patch, before = _patch(), _patch()
    assert without_colours(patch, _picture(128, 1.0)) == 0.0
    np.testing.assert_array_equal(patch.uv, before.uv)


def test_one_plane_with_colours_is_enough() -> None:
    patch, before, picture = _patch(), _patch(), _picture(128, 0.0)
    picture.v[::2] += 4
    without_colours(patch, picture)
    np.testing.assert_array_equal(patch.uv, before.uv)


def test_nothing_of_the_face_itself_is_looked_at() -> None:
    patch, picture = _patch(), _picture(128, 0.0)
    picture.v[5:11, 6:14] = 200  # where the face is
    without_colours(patch, picture)
    np.testing.assert_allclose(patch.uv, 128, atol=1e-4)
