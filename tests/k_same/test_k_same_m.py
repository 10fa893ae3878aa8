"""k-Same-M: k-anonymity, the 1/k bound, and agreement with a literal twin."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.errors import SettingsError
from streamdeid.k_same.m import k_same_m, k_same_m_groups
from tests import closed_set_twins, simulated_faces


@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), k=st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_each_output_is_shared_by_k_to_2k_minus_1_faces(seed: int, n: int, k: int) -> None:
    faces = simulated_faces.faces(max(n, k), seed)
    outputs = k_same_m(faces, k, np.random.default_rng(seed))
    shares = Counter(row.tobytes() for row in outputs)
    assert all(k <= share < 2 * k for share in shares.values())
    assert np.allclose(outputs.mean(axis=0), faces.mean(axis=0))


@given(seed=st.integers(0, 10**6), n=st.integers(6, 24), k=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_agrees_with_the_literal_twin(seed: int, n: int, k: int) -> None:
    faces = simulated_faces.faces(n, seed)
    twin = closed_set_twins.k_same_m(faces, k, np.random.default_rng(seed))
    assert np.allclose(k_same_m(faces, k, np.random.default_rng(seed)), twin)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_recognition_stays_at_or_below_one_in_k(k: int) -> None:
    rates = []
    for seed in range(40):
        faces = simulated_faces.faces(40, seed)
        outputs = k_same_m(faces, k, np.random.default_rng(seed))
        found = np.linalg.norm(outputs[:, None] - faces, axis=2).argmin(axis=1)
        rates.append(np.mean(found == np.arange(40)))
    # One original at most is nearest to a centroid that k faces share.
    assert max(rates) <= 1.0 / k
    assert np.mean(rates) > 0.5 / k


def test_equal_faces_do_not_lose_the_trigger() -> None:
    faces = np.zeros((5, 3))
    groups = k_same_m_groups(faces, 2, np.random.default_rng(0))
    assert sorted(row for group in groups for row in group) == list(range(5))


def test_fewer_faces_than_k_are_refused() -> None:
    with pytest.raises(SettingsError, match="too few"):
        k_same_m(simulated_faces.faces(4, 0), 5, np.random.default_rng(0))
