"""The kernels that draw, beside slow twins."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.linear_grid import line_between, places_between
from streamdeid.observe.neutral import median
from streamdeid.observe.outline import _left_at, _overhang
from streamdeid.observe.signals import _add_gradients, _add_up
from streamdeid.render.blend import _mix
from streamdeid.render.expression import transfer_expression
from streamdeid.render.turned_rim import _fill
from tests import drawing_twins
from tests.drawn_faces import some_identity

_SEEDS = st.integers(0, 10**6)


@settings(max_examples=30, deadline=None)
@given(_SEEDS, st.integers(1, 9), st.integers(1, 9), st.integers(1, 40), st.integers(1, 40))
def test_a_grid_between_its_places_is_that_of_opencv(seed: int, gh: int, gw: int, height: int, width: int) -> None:
    grid = np.random.default_rng(seed).normal(size=(gh, gw)).astype(np.float32)
    rows, down = places_between(gh, height)
    columns, across = places_between(gw, width)
    out, few = np.empty((height, width), np.float32), np.empty(gw, np.float32)
    for y in range(height):
        line_between(grid, rows[y], down[y], columns, across, few, out[y])
    np.testing.assert_allclose(out, cv2.resize(grid, (width, height)).reshape(height, width), atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(_SEEDS, st.booleans(), st.integers(5, 30), st.integers(5, 30))
def test_blending_is_that_of_the_twin(seed: int, luma: bool, height: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    plane = rng.integers(0, 256, (40, 44)).astype(np.uint8)
    drawn = rng.uniform(-20, 280, (height, width, 2)).astype(np.float32)
    half = ((height + 1) // 2, (width + 1) // 2)
    weights = np.clip(rng.uniform(-1, 1.5, half if luma else (height, width)), 0, 1).astype(np.float32)
    mask = (rng.uniform(size=(height, width)) < 0.8).astype(np.uint8)
    lift = rng.normal(0, 20, (7, 6, 3)).astype(np.float32)
    channel = 0 if luma else 2
    own = drawn[:, :, :1] if luma else drawn
    wanted = drawing_twins.blended(
        plane, (4, 6), own[:, :, -1], weights, mask, np.ascontiguousarray(lift[:, :, channel])
    )
    _mix(plane, 4, 6, own[:, :, -1], channel, weights, 2 if luma else 1, mask, lift)
    assert np.abs(plane.astype(int) - wanted).max() <= 1, "rounding"
    assert (plane != wanted).mean() < 0.01


@settings(max_examples=40, deadline=None)
@given(_SEEDS)
def test_an_expression_is_laid_as_the_twin_lays_it(model: AppearanceModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    neutral, surrogate = (model.decode(some_identity(model, seed + i))[0] for i in range(2))
    shape = neutral + rng.normal(0, 3, neutral.shape)
    wanted = drawing_twins.transferred(shape, neutral, surrogate)
    np.testing.assert_allclose(transfer_expression(shape, neutral, surrogate), wanted, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(_SEEDS)
def test_a_ray_leaves_an_outline_where_the_twin_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 12))
    outline = rng.uniform(5, 9, 12)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    for angle in rng.uniform(0, 2 * np.pi, 20):
        direction = np.array([np.cos(angle), np.sin(angle)])
        wanted = drawing_twins.left_at(outline, direction)
        assert _left_at(outline, *direction)[1] == pytest.approx(wanted, abs=1e-9)
    assert _overhang(outline, 1.5 * outline) == pytest.approx(0.5 * np.linalg.norm(outline, axis=1).max(), rel=0.3)
    assert _overhang(outline, 0.9 * outline) == 0


@settings(max_examples=20, deadline=None)
@given(_SEEDS, st.integers(1, 12), st.integers(1, 150))
def test_a_median_over_textures_is_numpys(seed: int, count: int, pixels: int) -> None:
    textures = list(np.random.default_rng(seed).uniform(0, 255, (count, pixels, 3)).astype(np.float32))
    np.testing.assert_allclose(median(textures), np.median(textures, axis=0), rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(_SEEDS)
def test_gradients_and_sums_are_numpys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    band, inner = rng.normal(size=(14, 11)).astype(np.float32), rng.uniform(size=(14, 11)) < 0.6
    tensor = np.zeros((2, 2))
    _add_gradients(band, inner, tensor)
    down, across = (part[inner] for part in np.gradient(band.astype(np.float64)))
    wanted = np.array([[across @ across, across @ down], [across @ down, down @ down]])
    np.testing.assert_allclose(tensor, wanted, atol=1e-9)
    texture, triangle = rng.uniform(0, 255, (50, 3)).astype(np.float32), rng.integers(0, 6, 50).astype(np.int32)
    colours = np.zeros((6, 3))
    _add_up(texture, triangle, colours)
    for c in range(3):
        np.testing.assert_allclose(colours[:, c], np.bincount(triangle, texture[:, c], 6), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(_SEEDS, st.booleans())
def test_a_rim_is_filled_as_the_twin_fills_it(seed: int, luma: bool) -> None:
    rng = np.random.default_rng(seed)
    channels = 1 if luma else 2
    drawn = rng.uniform(0, 255, (24, 20, channels)).astype(np.float32)
    depth = np.clip(8 - np.hypot(*(np.mgrid[0:24, 0:20] - 11.0)), 0, None).astype(np.float32)
    wanted = rng.integers(0, 3, depth.shape).astype(np.uint8)
    line = np.array([0.8, 0.6, -14.0, -0.02, 0.05, 0.1])
    numbers = np.array([4.0, 0.7, float(rng.uniform(0, 1)), 2.0])
    skin, background = (rng.uniform(0, 255, (6, 5, 3)).astype(np.float32) for _ in range(2))
    first = channels - 1
    large = [cv2.resize(grid, (20, 24))[:, :, first : first + channels] for grid in (skin, background)]
    expected = drawing_twins.rim_filled(drawn, depth, wanted, line, (3, 2), numbers, large)
    _fill(drawn, depth, wanted, line, 3, 2, numbers, skin, background)
    np.testing.assert_allclose(drawn, expected, atol=2e-3)
