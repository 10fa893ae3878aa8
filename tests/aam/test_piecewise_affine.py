"""The warp's kernels beside slow twins, and what must hold for any mesh."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import WarpTable, render, sample, spread, triangulate, warp_table
from streamdeid.core.arrays import Floats
from tests.slow_twins import bilinear, rasterised, rendered

_SIZE = (13, 11)
_SEEDS = st.integers(0, 10**6)


def _mesh(seed: int, low: float = 0.0, high: float = 1.0) -> tuple[Floats, NDArray[np.int32]]:
    """A fan of triangles around a point, jittered; vertices within shares low to high of a 13 x 11 frame."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 7))
    angles = np.sort(rng.uniform(0, 2 * np.pi, count))
    ring = 0.5 + 0.5 * rng.uniform(0.4, 1.0, (count, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.vstack([rng.uniform(0.4, 0.6, 2), ring])
    points = (low + points * (high - low)) * (np.array(_SIZE) - 1.0)
    triangles = [(0, 1 + i, 1 + (i + 1) % count) for i in range(count)]
    return points, np.array(triangles, np.int32)


@settings(max_examples=25, deadline=None)
@given(_SEEDS)
def test_table_is_that_of_the_twin(seed: int) -> None:
    points, triangles = _mesh(seed, -0.3, 1.3)
    table = warp_table(points, triangles, _SIZE)
    expected = rasterised(points, triangles, _SIZE)
    got = dict(zip(zip(table.rows.tolist(), table.columns.tolist(), strict=True), range(len(table.rows)), strict=True))
    # Pixels exactly on an outer edge may fall either way with rounding; none of a random mesh do.
    assert set(got) == set(expected)
    for place, i in got.items():
        numbers, weights = expected[place]
        assert table.triangle[i] == min(numbers)
        np.testing.assert_allclose(table.weights[i], weights, atol=1e-5)


def test_shared_edges_and_corners_belong_to_one_triangle_each() -> None:
    points = np.array([[0.0, 0], [6, 0], [6, 6], [0, 6]])
    table = warp_table(points, np.array([[0, 1, 2], [0, 2, 3]], np.int32), (7, 7))
    assert len(table.rows) == 49, "no pixel is lost on the diagonal, none is there twice"
    diagonal = table.rows == table.columns
    assert (table.triangle[diagonal] == 0).all()
    np.testing.assert_allclose(table.weights.sum(axis=1), 1, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(_SEEDS, st.sampled_from([np.uint8, np.float32]))
def test_sample_is_that_of_the_twin(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    points, triangles = _mesh(seed)
    table = warp_table(points, triangles, _SIZE)
    image = rng.uniform(0, 255, (9, 8, 2)).astype(dtype)
    there = rng.uniform(-3, 11, points.shape)  # some outside: the border is repeated
    got = sample(image, there, table)
    for i in range(len(got)):
        x, y = table.weights[i].astype(float) @ there[triangles[table.triangle[i]]]
        np.testing.assert_allclose(got[i], bilinear(image, x, y), atol=2e-3)


@settings(max_examples=20, deadline=None)
@given(_SEEDS)
def test_render_is_that_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame_points, triangles = _mesh(seed)
    points = frame_points + rng.uniform(-4, 4, frame_points.shape)  # some triangles turn over, some overlap
    texture = rng.uniform(0, 255, (11, 13, 2)).astype(np.float32)
    out = rng.uniform(0, 255, (10, 12, 2)).astype(np.float32)
    expected, where = rendered(texture, frame_points, points, triangles, out)
    covered = np.zeros(out.shape[:2], np.uint8)
    render(texture, frame_points, points, triangles, out, covered)
    np.testing.assert_array_equal(covered, where)
    np.testing.assert_allclose(out, expected, atol=2e-3)


@settings(max_examples=40, deadline=None)
@given(_SEEDS, st.floats(0.5, 2), st.floats(-1, 1), st.floats(-1, 1))
def test_affine_map_of_a_linear_image_is_exact(seed: int, scale: float, shear: float, slope: float) -> None:
    points, triangles = _mesh(seed)
    table = warp_table(points, triangles, _SIZE)
    linear = np.array([[scale, 0.3 * shear], [-0.2 * shear, scale]])
    there = points @ linear.T + (6.0, 5.0)
    rows, columns = np.mgrid[0:48, 0:48]
    image = (10 + 2 * columns + 3 * slope * rows).astype(np.float32)[:, :, None]
    places = np.column_stack([table.columns, table.rows]) @ linear.T + (6.0, 5.0)
    assume(places.min() >= 0 and places.max() <= 47)
    np.testing.assert_allclose(sample(image, there, table)[:, 0], 10 + places @ (2, 3 * slope), atol=2e-3)
    drawn, covered = np.full((48, 48, 1), -1, np.float32), np.zeros((48, 48), np.uint8)
    texture = spread(np.zeros((len(table.rows), 1), np.float32), table)
    rows, columns = np.mgrid[0:11, 0:13]
    texture[:, :, 0] = 5 + columns - slope * rows
    render(texture, points, there, triangles, drawn, covered)
    y, x = np.nonzero(covered)
    back = (np.column_stack([x, y]) - (6.0, 5.0)) @ np.linalg.inv(linear).T
    np.testing.assert_allclose(drawn[y, x, 0], 5 + back @ (1, -slope), atol=2e-3)
    assert (drawn[covered == 0] == -1).all()


def test_triangles_turned_away_are_not_drawn() -> None:
    points = np.array([[1.0, 1], [9, 1], [1, 9]])
    for triangle, seen in (([0, 1, 2], True), ([0, 2, 1], False)):
        out, covered = np.zeros((11, 11, 1), np.float32), np.zeros((11, 11), np.uint8)
        render(np.ones((11, 11, 1), np.float32), points, points, np.array([triangle], np.int32), out, covered)
        assert bool(covered.any()) is seen
        assert bool(out.any()) is seen


@pytest.mark.parametrize(
    "points",
    [
        [[1.0, 1], [5, 5], [9, 9]],  # a line
        [[4.0, 4], [4, 4], [9, 1]],  # two corners in one place
        [[4.0, 4], [4, 4], [4, 4]],  # a point
    ],
)
def test_degenerate_triangles_draw_nothing(points: list[list[float]]) -> None:
    place = np.array(points)
    triangles = np.array([[0, 1, 2]], np.int32)
    out, covered = np.zeros((11, 11, 1), np.float32), np.zeros((11, 11), np.uint8)
    render(np.ones((11, 11, 1), np.float32), place, place, triangles, out, covered)
    assert not covered.any() and not out.any()
    assert len(warp_table(place, triangles, (11, 11)).rows) == 0


@settings(max_examples=40, deadline=None)
@given(_SEEDS)
def test_nothing_is_written_outside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, triangles = _mesh(seed)
    there = points * rng.uniform(0.5, 6) + rng.uniform(-40, 40, 2)
    canvas, mask = np.full((24, 26, 1), 7, np.float32), np.full((24, 26), 9, np.uint8)
    # Views into the middle of larger arrays: a write beyond their ends would land in the margin.
    render(np.ones((11, 13, 1), np.float32), points, there, triangles, canvas[6:18, 6:20], mask[6:18, 6:20])
    canvas[6:18, 6:20], mask[6:18, 6:20] = 7, 9
    assert (canvas == 7).all() and (mask == 9).all()


def test_spread_puts_every_pixel_back(model: AppearanceModel) -> None:
    table: WarpTable = model.table
    picture = spread(model.mean_texture, table, fill=-1)
    np.testing.assert_array_equal(picture[table.rows, table.columns], model.mean_texture)
    assert (picture == -1).all(axis=2).sum() == picture.shape[0] * picture.shape[1] - len(table.rows)


def test_triangulation_covers_the_outline_once() -> None:
    rng = np.random.default_rng(4)
    ring = np.column_stack([np.cos(t := np.linspace(0, 2 * np.pi, 12, endpoint=False)), np.sin(t)]) * 50 + 60
    points = np.vstack([ring, rng.uniform(40, 80, (8, 2))])
    triangles = triangulate(points, np.arange(12))
    corners = points[triangles]
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    areas = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
    assert (areas > 0).all(), "wound like the screen's axes"
    x, y = ring.T
    polygon = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
    assert areas.sum() == pytest.approx(polygon, rel=1e-6)
    assert set(triangles.ravel().tolist()) == set(range(20))
    np.testing.assert_array_equal(triangles, triangulate(points, np.arange(12)))
