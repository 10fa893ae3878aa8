"""Eigenfaces beside the whole covariance matrix taken literally; metrics, ties, and what a face space may hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.lab.eigenfaces import Eigenfaces
from tests import simulated_faces


def slow_space(faces: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, all axes and all variances of the (d, d) covariance, largest first, summed entry by entry."""
    count, width = faces.shape
    mean = np.array([math.fsum(faces[:, j]) / count for j in range(width)])
    covariance = np.empty((width, width))
    for i in range(width):
        for j in range(width):
            covariance[i, j] = math.fsum((faces[:, i] - mean[i]) * (faces[:, j] - mean[j])) / (count - 1)
    values, vectors = np.linalg.eigh(covariance)
    return mean, vectors.T[::-1], values[::-1]


def slow_distances(faces: Floats, probes: Floats, gallery: Floats, keep: int, metric: str) -> Floats:
    """Pair by pair in the literal space."""
    mean, axes, variances = slow_space(faces)
    out = np.empty((len(probes), len(gallery)))
    for i, probe in enumerate(probes):
        for j, other in enumerate(gallery):
            terms = [float(axes[c] @ (probe - mean) - axes[c] @ (other - mean)) ** 2 for c in range(keep)]
            if metric == "mahalanobis":
                terms = [term / variances[c] for c, term in enumerate(terms)]
            out[i, j] = math.sqrt(math.fsum(terms))
    return out


@given(
    st.integers(0, 10**6),
    st.integers(3, 9),
    st.integers(2, 12),
    st.sampled_from([None, 1, 2, 5]),
    st.sampled_from(["euclidean", "mahalanobis"]),
)
@settings(max_examples=60, deadline=None)
def test_agrees_with_the_literal_twin(seed: int, count: int, width: int, components: int | None, metric: str) -> None:
    rng = np.random.default_rng(seed)
    spread = np.linspace(3.0, 0.5, width)
    faces, probes, gallery = (rng.normal(5.0, 1.0, (n, width)) * spread for n in (count, 4, 5))
    space = Eigenfaces.train(faces, components)
    mean, axes, variances = slow_space(faces)
    keep = min(count - 1, width, components or width)
    assert space.basis.shape == (keep, width)
    np.testing.assert_allclose(space.mean, mean)
    np.testing.assert_allclose(space.variances, variances[:keep], rtol=1e-6)
    np.testing.assert_allclose(np.abs((space.basis * axes[:keep]).sum(axis=1)), 1.0, atol=1e-4)
    found = space.distances(probes, gallery, metric)
    np.testing.assert_allclose(found, slow_distances(faces, probes, gallery, keep, metric), rtol=1e-4)


def test_training_faces_come_back_whole() -> None:
    faces = simulated_faces.faces(12, 4)
    space = Eigenfaces.train(faces)
    np.testing.assert_allclose(space.restore(space.project(faces)), faces, atol=1e-8)
    np.testing.assert_allclose(space.basis @ space.basis.T, np.eye(11), atol=1e-8)
    np.testing.assert_allclose(space.project(faces).var(axis=0, ddof=1), space.variances)
    few = Eigenfaces.train(faces, 3)
    np.testing.assert_allclose(few.basis, space.basis[:3])
    assert np.abs(few.restore(few.project(faces)) - faces).max() > 0.1


def test_distances_in_the_whole_space_are_those_of_the_faces() -> None:
    faces = simulated_faces.faces(15, 2)
    apart = np.linalg.norm(faces[:, None] - faces[None, :], axis=-1)
    found = Eigenfaces.train(faces).distances(faces, faces)
    np.testing.assert_allclose(found, apart, rtol=1e-9, atol=1e-9)
    assert (np.diag(found) == 0.0).all()


def test_mahalanobis_counts_every_axis_alike() -> None:
    faces = simulated_faces.faces(20, 3)
    found = Eigenfaces.train(faces, 6).distances(faces, faces, "mahalanobis")
    # Whitened with 1/(n - 1), squared distances of the training faces average 2 c.
    assert (found**2).sum() / (20 * 19) == pytest.approx(2 * 6)


def test_images_of_bytes_do_not_wrap_around() -> None:
    images = np.random.default_rng(0).integers(0, 256, (6, 40), dtype=np.uint8)
    space, same = Eigenfaces.train(images), Eigenfaces.train(images.astype(np.float64))
    np.testing.assert_array_equal(space.distances(images, images[::-1]), same.distances(images, images[::-1]))
    assert space.distances(images, images).max() > 100.0


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_equal_faces_tie_to_the_last_bit(metric: str) -> None:
    rng = np.random.default_rng(7)
    faces = rng.normal(100.0, 30.0, (37, 501))
    of = rng.permutation(np.repeat(np.arange(3), 11))
    space = Eigenfaces.train(faces)
    for found in (space.distances(faces, faces[of], metric), space.distances(faces[of], faces, metric).T):
        for which in range(3):
            assert (found[:, of == which] == found[:, of == which][:, :1]).all()
        assert (found[of, np.arange(33)] == 0.0).all()
        assert np.count_nonzero(found) == 37 * 33 - 33


def test_small_distances_far_from_the_mean_keep_their_digits() -> None:
    faces = simulated_faces.faces(20, 1)
    far = faces[:1] + 1e6 * (faces[1:2] - faces[2:3])
    near = np.concatenate([far, far + 1e-3 * (faces[3:4] - faces[4:5])])
    wanted = 1e-3 * np.linalg.norm(faces[3] - faces[4])
    assert Eigenfaces.train(faces).distances(far, near)[0].tolist() == pytest.approx([0.0, wanted], rel=1e-4)


def test_equal_faces_span_nothing() -> None:
    space = Eigenfaces.train(np.full((4, 9), 3.0))
    assert space.basis.shape == (0, 9) and space.variances.shape == (0,)
    for metric in ("euclidean", "mahalanobis"):
        assert (space.distances(np.eye(9), np.ones((2, 9)), metric) == 0.0).all()
    assert (space.restore(space.project(np.eye(9))) == 3.0).all()


def test_misfits_are_refused() -> None:
    faces = simulated_faces.faces(4, 0)
    with pytest.raises(SettingsError, match="two faces"):
        Eigenfaces.train(faces[:1])
    with pytest.raises(SettingsError, match="component"):
        Eigenfaces.train(faces, 0)
    with pytest.raises(SettingsError, match="finite"):
        Eigenfaces.train(np.full((3, 3), np.nan))
    with pytest.raises(SettingsError, match="metric"):
        Eigenfaces.train(faces).distances(faces, faces, "cosine")
    with pytest.raises(SettingsError, match="face space"):
        Eigenfaces.train(faces).project(faces[:, :5])
    with pytest.raises(SettingsError, match="face space"):
        Eigenfaces.train(faces).distances(faces, faces[:, :5])
