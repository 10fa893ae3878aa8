"""The Fisherface: agreement with P2's own procedure, its scale, shrinkage, and setting an intensity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.k_same.fisherface import Fisherface, fit_fisherface, set_intensity
from streamdeid.surrogates.attributes import fit_discriminant
from tests import newton_twins


def smiles(seed: int, count: int = 30, width: int = 8, gap: float = 3.0) -> tuple[Floats, NDArray[np.bool_]]:
    """Faces of two expressions that differ along a random direction, of unequal numbers."""
    rng = np.random.default_rng(seed)
    positive = np.arange(count) % 3 == 0
    vectors = rng.standard_normal((count, width)) * np.linspace(4.0, 0.5, width)
    direction = rng.standard_normal(width)
    return vectors + np.where(positive, gap, 0.0)[:, None] * direction / np.linalg.norm(direction), positive


@given(seed=st.integers(0, 10**6), width=st.integers(1, 9), shrinkage=st.floats(0.05, 1.0))
@settings(max_examples=50, deadline=None)
def test_the_direction_is_that_of_the_papers_eigenvectors(seed: int, width: int, shrinkage: float) -> None:
    vectors, positive = smiles(seed, 20, width)
    found = fit_fisherface(vectors, positive, shrinkage).weights
    twin = newton_twins.fisherface(vectors, positive, shrinkage)
    assert np.allclose(found / np.linalg.norm(found), twin, atol=1e-6)


def test_shrinkage_is_that_of_the_attributes() -> None:
    vectors, positive = smiles(1)
    rule = fit_discriminant(vectors, ["a" if p else "b" for p in positive])
    expected = rule.weights[0] - rule.weights[1]
    found = fit_fisherface(vectors, positive).weights
    assert np.allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected))


@given(seed=st.integers(0, 10**6), shrinkage=st.floats(0.05, 1.0))
@settings(max_examples=30, deadline=None)
def test_class_means_lie_at_plus_and_minus_one(seed: int, shrinkage: float) -> None:
    vectors, positive = smiles(seed)
    face = fit_fisherface(vectors, positive, shrinkage)
    intensity = face.intensity(vectors)
    assert intensity[positive].mean() == pytest.approx(1.0)
    assert intensity[~positive].mean() == pytest.approx(-1.0)
    assert np.array_equal(face.positive(vectors), intensity > 0.0)


def test_held_out_faces_are_classified() -> None:
    vectors, positive = smiles(2, 300, gap=10.0)
    face = fit_fisherface(vectors[:150], positive[:150])
    assert (face.positive(vectors[150:]) == positive[150:]).mean() > 0.95


def test_more_dimensions_than_faces_need_shrinkage_and_pile_up_without_it() -> None:
    # docs/methods.md 1.10: P2's 131 dimensions for 132 faces. The less shrinkage, the smaller the variance within a
    # class of
    # the training set, which held-out faces do not have.
    vectors, positive = smiles(3, 60, 40)
    face = fit_fisherface(vectors[:30], positive[:30], 1e-9)
    inside, outside = face.intensity(vectors[:30]), face.intensity(vectors[30:])
    assert inside[~positive[:30]].std() < 1e-3
    assert outside[~positive[30:]].std() > 0.1
    mild = fit_fisherface(vectors[:30], positive[:30])
    assert mild.intensity(vectors[:30])[~positive[:30]].std() > 0.05
    with pytest.raises(SettingsError, match="singular"):
        fit_fisherface(vectors[:30], positive[:30], 0.0)


@given(seed=st.integers(0, 10**6), target=st.floats(-5.0, 5.0), printed=st.booleans(), each=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_intensity_becomes_the_target(seed: int, target: float, printed: bool, each: bool) -> None:
    vectors, positive = smiles(seed)
    face = fit_fisherface(vectors, positive)
    wanted = target + np.linspace(0.0, 1.0, len(vectors)) if each else target
    moved = set_intensity(vectors, face, wanted, face.expression_index() if printed else None)
    assert np.abs(face.intensity(moved) - wanted).max() < 1e-9


@given(seed=st.integers(0, 10**6), target=st.floats(-5.0, 5.0))
@settings(max_examples=30, deadline=None)
def test_the_printed_variant_changes_one_coordinate_as_equation_2_says(seed: int, target: float) -> None:
    vectors, positive = smiles(seed)
    face = fit_fisherface(vectors, positive)
    moved = set_intensity(vectors, face, target, face.expression_index())
    index = int(np.abs(face.weights).argmax())
    assert np.array_equal(np.delete(moved, index, axis=1), np.delete(vectors, index, axis=1))
    weights = face.weights.tolist()
    literal = [newton_twins.equation_2(vector, weights, face.offset, target) for vector in vectors.tolist()]
    assert np.allclose(moved, literal)


@given(seed=st.integers(0, 10**6), target=st.floats(-5.0, 5.0))
@settings(max_examples=30, deadline=None)
def test_the_default_moves_least(seed: int, target: float) -> None:
    vectors, positive = smiles(seed)
    face = fit_fisherface(vectors, positive)
    least = np.linalg.norm(set_intensity(vectors, face, target) - vectors, axis=1)
    other = np.random.default_rng(seed).standard_normal(vectors.shape[1])
    for along in (other, face.expression_index()):
        moved = set_intensity(vectors, face, target, along)
        assert (least <= np.linalg.norm(moved - vectors, axis=1) + 1e-9).all()


def test_a_direction_without_expression_is_refused() -> None:
    face = Fisherface(np.array([1.0, 0.0]), 0.0)
    with pytest.raises(SettingsError, match="does not change"):
        set_intensity(np.zeros((1, 2)), face, 1.0, np.array([0.0, 1.0]))


def test_classes_without_spread_are_told_apart() -> None:
    vectors = np.repeat([[0.0, 0.0], [2.0, 0.0]], 3, axis=0)
    face = fit_fisherface(vectors, np.arange(6) >= 3)
    assert np.allclose(face.intensity(vectors), [-1, -1, -1, 1, 1, 1])


@pytest.mark.parametrize(
    ("vectors", "positive", "shrinkage", "message"),
    [
        (np.eye(4), np.ones(4, dtype=np.bool_), 0.3, "both classes"),
        (np.eye(4), np.zeros(4, dtype=np.bool_), 0.3, "both classes"),
        (np.ones((4, 2)), np.arange(4) % 2 == 0, 0.3, "same mean"),
        (np.eye(4), np.arange(3) % 2 == 0, 0.3, "one class for each"),
        (np.full((4, 2), np.nan), np.arange(4) % 2 == 0, 0.3, "finite"),
        (np.eye(4), np.arange(4) % 2 == 0, 1.5, "from 0 to 1"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    vectors: Floats, positive: NDArray[np.bool_], shrinkage: float, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        fit_fisherface(vectors, positive, shrinkage)
