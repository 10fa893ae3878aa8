"""k-Same-Eigen: agreement with a literal twin, and how it stands to k-Same-Pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.errors import SettingsError
from streamdeid.k_same.eigen import k_same_eigen
from streamdeid.k_same.pixel import k_same_pixel
from tests import newton_twins, simulated_faces


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 16),
    k=st.integers(2, 6),
    width=st.integers(2, 20),
    components=st.none() | st.integers(1, 5),
)
@settings(max_examples=50, deadline=None)
def test_agrees_with_the_literal_twin(seed: int, n: int, k: int, width: int, components: int | None) -> None:
    images = np.random.default_rng(seed).uniform(0.0, 255.0, (max(n, k), width))
    order = np.random.default_rng(seed).permutation(len(images)).tolist()
    outputs = k_same_eigen(images, k, np.random.default_rng(seed), components)
    assert np.allclose(outputs, newton_twins.k_same(images, k, order, components, eigen=True))


@given(seed=st.integers(0, 10**6), n=st.integers(4, 20), k=st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_with_all_components_it_is_k_same_pixel(seed: int, n: int, k: int) -> None:
    images = simulated_faces.faces(n, seed)
    outputs = k_same_eigen(images, k, np.random.default_rng(seed))
    assert np.allclose(outputs, k_same_pixel(images, k, np.random.default_rng(seed)))


@given(seed=st.integers(0, 10**6), components=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_fewer_components_give_the_shadow_of_the_pixel_mean(seed: int, components: int) -> None:
    # Same groups, and the mean of projections is the projection of the mean: smoother, never wider.
    images = simulated_faces.faces(20, seed)
    eigen = k_same_eigen(images, 4, np.random.default_rng(seed), components)
    pixel = k_same_pixel(images, 4, np.random.default_rng(seed), components)
    centre = images.mean(axis=0)
    basis = np.linalg.svd(images - centre, full_matrices=False)[2][:components]
    assert np.allclose(eigen, centre + (pixel - centre) @ basis.T @ basis, atol=1e-6)
    assert np.linalg.norm(eigen - centre) < np.linalg.norm(pixel - centre)


def test_equal_images_come_out_as_they_are() -> None:
    images = np.full((5, 7), 90.0)
    assert np.array_equal(k_same_eigen(images, 2, np.random.default_rng(0)), images)


@pytest.mark.parametrize(("n", "k", "components"), [(4, 5, None), (6, 1, None), (6, 2, 0)])
def test_impossible_demands_are_refused(n: int, k: int, components: int | None) -> None:
    with pytest.raises(SettingsError):
        k_same_eigen(simulated_faces.faces(n, 0), k, np.random.default_rng(0), components)
