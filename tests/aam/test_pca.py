"""Principal components beside numpy's own singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.pca import principal_components


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 9), st.integers(3, 30))
def test_components_are_those_of_the_decomposition(seed: int, count: int, width: int) -> None:
    rows = np.random.default_rng(seed).normal(0, 1, (count, width)) * np.linspace(3, 0.5, width)
    found = principal_components(rows)
    centred = rows - rows.mean(axis=0)
    _, singular, right = np.linalg.svd(centred, full_matrices=False)
    keep = int((singular**2 > 1e-10 * singular[0] ** 2).sum())
    np.testing.assert_allclose(found.variances, singular[:keep] ** 2 / (count - 1), rtol=1e-7)
    np.testing.assert_allclose(found.basis @ found.basis.T, np.eye(keep), atol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(found.basis * right[:keep], axis=1)), 1, atol=1e-5)
    np.testing.assert_allclose((centred @ found.basis.T) @ found.basis, centred, atol=1e-6)
    np.testing.assert_allclose((centred @ found.basis.T).var(axis=0, ddof=1), found.variances, rtol=1e-6)


def test_largest_entry_of_each_component_is_positive() -> None:
    rows = np.random.default_rng(1).normal(0, 1, (10, 25))
    basis = principal_components(rows).basis
    assert (basis[np.arange(len(basis)), np.abs(basis).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(principal_components(-rows).basis, basis, atol=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_rounding_decides_no_sign_where_two_entries_are_the_largest(seed: int) -> None:
    """A mirrored training set has them in pairs, of opposite signs."""
    rng = np.random.default_rng(seed)
    half = rng.normal(0, 1, (6, 9))
    rows = np.concatenate([np.hstack([half, -half[:, ::-1]]), np.hstack([-half, half[:, ::-1]])])
    basis = principal_components(rows).basis
    for _ in range(4):
        again = principal_components(rows * (1 + 1e-13 * rng.standard_normal(rows.shape))).basis
        np.testing.assert_allclose(again, basis, atol=1e-6)


def test_share_keeps_the_fewest_components_that_carry_it() -> None:
    rows = np.diag([4.0, 3.0, 2.0, 1.0]) - np.diag([4.0, 3.0, 2.0, 1.0]).mean(axis=0)
    whole = principal_components(rows).variances
    for keep in range(1, len(whole) + 1):
        share = whole[:keep].sum() / whole.sum()
        assert len(principal_components(rows, share).variances) == keep
        assert len(principal_components(rows, min(1.0, share + 1e-6)).variances) == min(keep + 1, len(whole))
    assert len(principal_components(rows, 1.0, most=2).variances) == 2


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_rows_without_variance_have_no_components(share: float) -> None:
    found = principal_components(np.ones((5, 7)), share)
    assert found.basis.shape == (0, 7) and found.variances.shape == (0,)
    np.testing.assert_array_equal(found.mean, np.ones(7))
