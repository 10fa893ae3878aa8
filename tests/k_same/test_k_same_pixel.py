"""k-Same-Pixel: agreement with a literal twin, neighbours in the set's own face space, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.errors import SettingsError
from streamdeid.k_same.m import k_same_m
from streamdeid.k_same.pixel import face_space_groups, k_same_pixel
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
    outputs = k_same_pixel(images, k, np.random.default_rng(seed), components)
    assert np.allclose(outputs, newton_twins.k_same(images, k, order, components, eigen=False))


def test_with_all_components_the_face_space_keeps_every_distance() -> None:
    # So the groups are those that k-Same-M finds among the images themselves.
    images = simulated_faces.faces(25, 4)
    outputs = k_same_pixel(images, 4, np.random.default_rng(9))
    assert np.allclose(outputs, k_same_m(images, 4, np.random.default_rng(9)))


def test_neighbours_are_those_of_the_face_space_and_the_mean_is_that_of_the_pixels() -> None:
    # The first component is the wide axis. Rows 0 and 1 are near on it but far apart as images.
    images = np.array([[0.0, 0.0], [1.0, 40.0], [100.0, 0.0], [102.0, 40.0]])
    one = k_same_pixel(images, 2, np.random.default_rng(0), components=1)
    assert np.allclose(one, [[0.5, 20.0], [0.5, 20.0], [101.0, 20.0], [101.0, 20.0]])


def test_eight_bit_images_are_averaged_without_wrapping() -> None:
    images = np.full((4, 6), 250, dtype=np.uint8)
    images[2:] = 254
    outputs = k_same_pixel(images, 4, np.random.default_rng(0))
    assert outputs.dtype == np.float64
    assert (outputs == 252.0).all()


def test_equal_images_have_no_face_space_and_come_out_as_they_are() -> None:
    images = np.full((5, 7), 90.0)
    _, space, groups = face_space_groups(images, 2, np.random.default_rng(0))
    assert space.projections.shape == (5, 0)
    assert sorted(row for group in groups for row in group) == list(range(5))
    assert np.array_equal(k_same_pixel(images, 2, np.random.default_rng(0)), images)


@pytest.mark.parametrize(("n", "k", "components"), [(4, 5, None), (6, 1, None), (6, 2, 0), (6, 2, -1)])
def test_impossible_demands_are_refused(n: int, k: int, components: int | None) -> None:
    with pytest.raises(SettingsError):
        k_same_pixel(simulated_faces.faces(n, 0), k, np.random.default_rng(0), components)


def test_a_face_of_full_size_takes_the_small_matrix() -> None:
    # 13,266 pixels: their covariance would need 1.4 GB.
    images = np.random.default_rng(5).uniform(0.0, 255.0, (12, 134 * 99))
    outputs = k_same_pixel(images, 5, np.random.default_rng(5))
    assert len(np.unique(outputs, axis=0)) == 2
    assert np.allclose(outputs.mean(axis=0), images.mean(axis=0))
