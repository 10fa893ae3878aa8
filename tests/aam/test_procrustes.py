"""Similarity maps and Procrustes alignment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.procrustes import align, generalised_procrustes
from streamdeid.core.arrays import Floats
from streamdeid.core.similarity import Similarity

_SEEDS = st.integers(0, 10**6)


def _similarity(scale: float, angle: float, shift: tuple[float, float]) -> Similarity:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return Similarity(scale * turn, np.array(shift))


def _cost(source: Floats, target: Floats, weights: Floats, way: Similarity) -> float:
    return float(weights @ ((way(source) - target) ** 2).sum(axis=1))


@settings(max_examples=40, deadline=None)
@given(_SEEDS, st.floats(0.1, 10), st.floats(-3.1, 3.1), st.tuples(st.floats(-50, 50), st.floats(-50, 50)))
def test_a_known_map_is_recovered(seed: int, scale: float, angle: float, shift: tuple[float, float]) -> None:
    source = np.random.default_rng(seed).normal(0, 10, (9, 2))
    made = _similarity(scale, angle, shift)
    found = align(source, made(source))
    np.testing.assert_allclose(found.linear, made.linear, atol=1e-8 * scale)
    np.testing.assert_allclose(found.shift, made.shift, atol=1e-6)
    assert found.scale == pytest.approx(scale)
    assert found.angle == pytest.approx(angle)
    np.testing.assert_allclose(found.inverse()(found(source)), source, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(_SEEDS)
def test_no_nearby_map_fits_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, target, weights = rng.normal(0, 10, (7, 2)), rng.normal(0, 10, (7, 2)), rng.uniform(0, 1, 7)
    found = align(source, target, weights)
    least = _cost(source, target, weights, found)
    for scale, angle, x, y in (
        (1.01, 0, 0, 0),
        (0.99, 0, 0, 0),
        (1, 0.02, 0, 0),
        (1, -0.02, 0, 0),
        (1, 0, 0.1, 0),
        (1, 0, 0, -0.1),
    ):
        other = _similarity(scale, angle, (0, 0)).linear @ found.linear
        assert _cost(source, target, weights, Similarity(other, found.shift + np.array([x, y]))) >= least - 1e-9


@settings(max_examples=40, deadline=None)
@given(_SEEDS, st.integers(2, 90))
def test_the_kernel_is_a_line_through_complex_numbers(seed: int, count: int) -> None:
    """The slow twin: a similarity is `target = factor * source + shift` of complex numbers, by least squares."""
    rng = np.random.default_rng(seed)
    source, target, weights = rng.normal(0, 10, (count, 2)), rng.normal(0, 10, (count, 2)), rng.uniform(0.1, 1, count)
    root = np.sqrt(weights)
    across = np.stack([root * (source @ [1, 1j]), root.astype(complex)], axis=1)
    factor, shift = np.linalg.lstsq(across, root * (target @ [1, 1j]), rcond=None)[0]
    found = align(source, target, weights)
    np.testing.assert_allclose(found.linear, [[factor.real, -factor.imag], [factor.imag, factor.real]], atol=1e-8)
    np.testing.assert_allclose(found.shift, [shift.real, shift.imag], atol=1e-7)


def test_points_of_no_weight_do_not_count() -> None:
    source = np.array([[0.0, 0], [1, 0], [0, 1], [5, 5]])
    target = source + np.array([3, 4])
    target[3] = (-100, 70)
    found = align(source, target, np.array([1.0, 1, 1, 0]))
    np.testing.assert_allclose(found.linear, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(found.shift, (3, 4), atol=1e-12)


def test_what_is_no_number_gives_none_and_other_numbers_of_points_are_refused() -> None:
    points = np.arange(8.0).reshape(4, 2)
    broken = points.copy()
    broken[1] = np.nan
    assert np.isnan(align(points, broken).linear).all() and np.isnan(align(broken, points).linear).all()
    assert np.isnan(align(points, points, np.zeros(4)).linear).all()
    for source, target, weights in (
        (points, points[:3], None),
        (points[:3], points, None),
        (points, points, np.ones(3)),
    ):
        with pytest.raises(ValueError, match="as many points"):
            align(source, target, weights)


def test_one_place_is_only_shifted() -> None:
    found = align(np.full((4, 2), 3.0), np.arange(8.0).reshape(4, 2))
    np.testing.assert_array_equal(found.linear, np.eye(2))
    np.testing.assert_allclose(found.shift, (0, 1))


def test_alignment_does_not_mirror() -> None:
    source = np.random.default_rng(2).normal(0, 1, (8, 2))
    assert np.linalg.det(align(source, source * (-1, 1)).linear) > 0


def test_shapes_that_differ_by_similarities_alone_become_one() -> None:
    rng = np.random.default_rng(3)
    shape = rng.normal(0, 20, (12, 2))
    shapes = np.stack(
        [_similarity(rng.uniform(0.5, 2), rng.uniform(-0.5, 0.5), (rng.uniform(-9, 9), 3))(shape) for _ in range(6)]
    )
    mean, aligned = generalised_procrustes(shapes)
    for one in aligned:
        np.testing.assert_allclose(one, mean, atol=1e-9)
    np.testing.assert_allclose(mean.mean(axis=0), 0, atol=1e-12)
    assert (mean**2).sum(axis=1).mean() == pytest.approx(1)
    assert align(mean, shapes[0]).angle == pytest.approx(0, abs=1e-9), "upright like the first"


def test_the_mean_is_that_of_the_aligned_shapes() -> None:
    rng = np.random.default_rng(4)
    shapes = rng.normal(0, 1, (12, 2)) * 20 + rng.normal(0, 1.0, (8, 12, 2))
    mean, aligned = generalised_procrustes(shapes)
    centre = aligned.mean(axis=0)
    np.testing.assert_allclose(centre / np.sqrt((centre**2).sum(axis=1).mean()), mean, atol=1e-6)
