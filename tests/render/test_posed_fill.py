"""The kernels that fill a posed face's region, beside slow twins."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from streamdeid.render.posed_fill import (
    _ANGLES,
    _BLUR_WIDE,
    Agreement,
    _carried,
    _compare,
    _feather,
    _fill,
    _look_inside,
    _look_outside,
    _reach,
)
from tests import drawing_twins

_ROUND = np.column_stack([f(2 * np.pi * np.arange(_ANGLES) / _ANGLES) for f in (np.cos, np.sin)])


@pytest.mark.parametrize("seed", range(6))
def test_the_region_is_filled_as_the_twin_fills_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 1 + seed % 2
    height, width, channels = (30, 26, 1) if scale == 1 else (16, 14, 2)
    drawn = rng.uniform(0, 255, (height, width, channels)).astype(np.float32)
    rows, columns = np.mgrid[0:height, 0:width]
    place = np.dstack([columns, rows]) * scale + 0.5 * (scale - 1)
    middle = np.array([12.6, 14.2])
    covered = (np.hypot(*(place - middle).transpose(2, 0, 1)) < 8).astype(np.uint8)
    reaches = np.column_stack(
        [rng.uniform(*range_, _ANGLES) for range_ in ((7, 9), (10, 12), (8, 10), (9, 13), (0, 1), (0, 1))]
    )
    colours, hair = rng.uniform(0, 255, (_ANGLES, 3, 3)), rng.uniform(0, 255, 3)
    hair_line = np.array([0.9, -0.3, -5.0, 0.02, 0.06, -0.4])
    line = np.array([0.9, -0.3, -9.0, 0.02, 0.06, -0.4])
    numbers = np.array([*middle, 3.0, 2.0, rng.uniform(0, 1), 1.5, 1.8, 3.5, 1.5 + seed % 3, rng.uniform(-6, 6)])
    first = 0 if scale == 1 else 1
    own = colours[:, :, first : first + channels]
    its = np.concatenate([numbers, hair[first : first + channels]])
    past = rng.uniform(0, 255, drawn.shape).astype(np.float32)
    cells = rng.uniform(0, 1, (15, 13) if scale == 1 else covered.shape).astype(np.float32)
    known = np.kron(cells, np.ones((2, 2))) if scale == 1 else cells
    wanted = drawing_twins.region_filled(drawn, covered, place, reaches, own, line, hair_line, its, past, known)
    told = colours.reshape(_ANGLES, 9), line, hair_line, np.concatenate([numbers, hair])
    _fill(drawn, covered, scale, first, reaches, *told, past, cells)
    assert np.abs(drawn - wanted).max() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_mesh_and_region_reach_as_far_as_the_twin_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    covered = np.zeros((60, 60), np.uint8)
    cv2.ellipse(covered, (30, 28), (14, 18), float(rng.uniform(0, 90)), 0, 360, (1,), -1)
    hull = cv2.convexHull((rng.normal(0, 1, (30, 2)) * 9 + (30, 28)).astype(np.float32)).reshape(-1, 2).astype(float)
    region = hull + 2.5 * (hull - (30, 28))
    face = hull + 0.5 * (hull - (30, 28))
    aside = hull + np.array([25.0, 4.0])  # the middle lies outside of it
    found = np.zeros((_ANGLES, 4))
    _reach(np.array([30.3, 28.4]), region, face, aside, covered, found)
    for column, corners in ((2, face), (3, aside)):
        other = drawing_twins.reached(np.array([30.3, 28.4]), corners, covered, _ROUND)[:, 1]
        other = np.maximum(other, found[:, 0]) if column == 2 else other
        assert np.abs(found[:, column] - other)[other < 59].max() < 0.1 and (other > 0).any()
    wanted = drawing_twins.reached(np.array([30.3, 28.4]), region, covered, _ROUND)
    near = wanted[:, 1] < 59
    assert np.abs(found[near, 1] - wanted[near, 1]).max() < 0.1
    assert np.abs(found[:, 0] - np.minimum(wanted[:, 0], found[:, 1])).max() < 0.6


def test_colours_are_looked_at_inside_the_mesh_and_outside_what_is_barred() -> None:
    rng = np.random.default_rng(1)
    covered = np.zeros((40, 40), np.uint8)
    covered[10:30, 10:30] = 1
    luma, chroma = rng.uniform(0, 255, (40, 40)).astype(np.float32), rng.uniform(0, 255, (20, 20, 2)).astype(np.float32)
    middle, reaches = np.array([20.0, 20.0]), np.column_stack([np.full(_ANGLES, 9.0), np.full(_ANGLES, 14.0)])
    seen = np.zeros((_ANGLES, 4))
    half = np.ascontiguousarray(covered[::2, ::2])
    _look_inside(luma, chroma, covered, half, middle, reaches, np.array([1.0, 3.0]), seen)
    x, y = np.rint(middle + 8 * _ROUND[5]).astype(int), np.rint(middle + 6 * _ROUND[5]).astype(int)
    parts = [[luma[p[1], p[0]], *chroma[p[1] // 2, p[0] // 2], 1] for p in (x, y) if covered[p[1], p[0]]]
    assert np.allclose(seen[5], np.sum(parts, axis=0))
    planes = [rng.integers(0, 256, shape).astype(np.uint8) for shape in ((100, 100), (50, 50), (50, 50))]
    free, seen = np.ones((20, 20), np.uint8), np.zeros((_ANGLES, 4))
    free[:, 17:] = 0
    _look_outside(*planes, free, 30, 40, middle, reaches, np.array([1.0]), seen)
    for k, direction in enumerate(_ROUND):
        x, y = np.rint(middle + 15 * direction).astype(int)
        if 0 <= x < 34 and 0 <= y < 40:
            at = (y + 40) // 2, (x + 30) // 2
            assert np.allclose(seen[k], [planes[0][y + 40, x + 30], planes[1][at], planes[2][at], 1])
        else:
            assert not seen[k].any()


def test_weights_fall_across_the_rim_and_stay_whole_in_the_region() -> None:
    weights = np.zeros((30, 30), np.float32)
    weights[14:16, 14:16] = 1
    reaches = np.column_stack([np.full(_ANGLES, 9.0), np.full(_ANGLES, 14.0)])
    _feather(weights, reaches, np.array([30.0, 30.0, 6.0]))
    rows, columns = np.mgrid[0:30, 0:30]
    t = np.clip(1 - (np.hypot(2 * columns + 0.5 - 30, 2 * rows + 0.5 - 30) - 14) / 6, 0, 1)
    wanted = t * t * (3 - 2 * t)
    wanted[14:16, 14:16] = 1
    assert np.allclose(weights, wanted, atol=1e-6)


def test_what_is_outside_gets_softer_towards_the_mesh() -> None:
    """A narrow bright thing outside stays narrow at the region's edge, and does not run to the mesh as a ray."""
    seen = np.column_stack([np.full((_ANGLES, 3), 50.0), np.ones(_ANGLES)])
    seen[10, :3] = 250.0
    at_edge, at_mesh = _carried(seen), _carried(seen, _BLUR_WIDE)
    assert at_edge[10, 0] - 50 > 3 * (at_mesh[10, 0] - 50) > 0
    assert at_edge.mean() == pytest.approx(at_mesh.mean(), abs=0.1), "nothing is lost"


def test_the_background_is_compared_where_it_is_known_and_free() -> None:
    rng = np.random.default_rng(4)
    luma, u, v = (rng.integers(0, 256, shape, dtype=np.uint8) for shape in ((41, 47), (21, 24), (21, 24)))
    past, past_uv = (rng.uniform(0, 255, shape).astype(np.float32) for shape in ((30, 31, 1), (15, 16, 2)))
    free, known = rng.integers(0, 2, (15, 16)).astype(np.uint8), rng.integers(0, 2, (15, 16)).astype(np.float32)
    x0, y0, middle, reaches = 12, 8, np.array([15.2, 14.6]), rng.uniform(6, 12, (_ANGLES, 4))
    beyond, seen = np.array([1.0, 2.5, 4.0, 9.0]), np.zeros((_ANGLES, 2))
    _compare(luma, u, v, free, x0, y0, middle, reaches, beyond, past, past_uv, known, seen)
    wanted = np.zeros_like(seen)
    for k, direction in enumerate(_ROUND):
        for r in reaches[k, 1] + beyond:
            x, y = np.round(middle + r * direction).astype(int)
            here = 0 <= x < 31 and 0 <= y < 30 and x + x0 < 47 and y + y0 < 41
            if here and free[y // 2, x // 2] and known[y // 2, x // 2] == 1:
                row, column = (y + y0) // 2, (x + x0) // 2
                now = np.array([luma[y + y0, x + x0], u[row, column], v[row, column]], float)
                wanted[k] += np.abs(now - [past[y, x, 0], *past_uv[y // 2, x // 2]]).sum(), 1
    assert wanted[:, 1].sum() > 20
    np.testing.assert_allclose(seen, wanted, atol=1e-3)


def test_background_is_shown_where_it_agrees_more_and_more_and_never_on_the_neck() -> None:
    """Nor beside a direction in which it does not agree, nor where nothing is known."""
    agreement, apart = Agreement(), np.abs(np.degrees(2 * np.pi * np.arange(_ANGLES) / _ANGLES) - 180)
    seen = np.tile([12.0, 4.0], (_ANGLES, 1))
    seen[32] = 200.0, 4.0
    seen[40] = 0.0, 0.0
    shown = [agreement.see(apart, seen) for _ in range(30)]
    assert 0 < shown[0].max() < shown[1].max() < 0.5 and shown[-1].max() > 0.99
    gone = [31, 32, 33, 40]
    assert (shown[-1][gone] == 0).all() and (
        np.delete(shown[-1], gone)[apart[np.delete(range(64), gone)] < 100] > 0.99
    ).all()
    assert (shown[-1][apart > 130] == 0).all()
    seen[:] = 200.0, 4.0
    left = [agreement.see(apart, seen).max() for _ in range(5)]
    assert 0.4 < left[0] < 0.6 and left[-1] < 0.05, "and goes more quickly than it came"
