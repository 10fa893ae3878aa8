"""k-Same-furthest: k-anonymity, theorem 3, agreement with a literal twin, and the paper's spread of distances."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.errors import SettingsError
from streamdeid.k_same import clusters
from streamdeid.k_same.furthest import k_same_furthest, k_same_furthest_pairs
from tests import closed_set_twins, simulated_faces


@given(seed=st.integers(0, 10**6), n=st.integers(4, 40), k=st.integers(2, 8))
@settings(max_examples=60, deadline=None)
def test_each_output_is_shared_by_k_and_never_nearest_to_its_own_original(seed: int, n: int, k: int) -> None:
    faces = simulated_faces.faces(max(n, 2 * k), seed)
    outputs = k_same_furthest(faces, k, np.random.default_rng(seed))
    assert min(Counter(row.tobytes() for row in outputs).values()) >= k
    # Theorem 3 covers core members, those that joined later, and the remainder.
    assert not (clusters.pairwise(outputs, faces).argmin(axis=1) == np.arange(len(faces))).any()


@given(seed=st.integers(0, 10**6), n=st.integers(4, 26), k=st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_agrees_with_the_literal_twin(seed: int, n: int, k: int) -> None:
    faces = simulated_faces.faces(max(n, 2 * k), seed)
    twin = closed_set_twins.k_same_furthest(faces, k, np.random.default_rng(seed))
    assert np.allclose(k_same_furthest(faces, k, np.random.default_rng(seed)), twin)


@given(seed=st.integers(0, 10**6), n=st.integers(4, 40), k=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_pairs_are_complete_and_cores_do_not_overlap(seed: int, n: int, k: int) -> None:
    faces = simulated_faces.faces(max(n, 2 * k), seed)
    pairs = k_same_furthest_pairs(faces, k, np.random.default_rng(seed))
    rows = [i for p in pairs for i in (*p.close.members, *p.far.members, *p.attached_close, *p.attached_far)]
    assert sorted(rows) == list(range(len(faces)))
    assert not any(clusters.overlap(pair.close, pair.far) for pair in pairs)


def test_the_theorem_needs_the_overlap_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "overlap", lambda close, far, relaxed=False: False)
    matched = 0
    for seed in range(30):
        faces = simulated_faces.faces(24, seed)
        outputs = k_same_furthest(faces, 12, np.random.default_rng(seed))
        matched += int((clusters.pairwise(outputs, faces).argmin(axis=1) == np.arange(24)).sum())
    assert matched > 0


def test_outputs_are_less_diverse_than_faces() -> None:
    ratios = []
    for seed in range(20):
        faces = simulated_faces.faces(40, seed)
        outputs = k_same_furthest(faces, 5, np.random.default_rng(seed))
        upper = np.triu_indices(40, 1)
        ratios.append(clusters.pairwise(outputs, outputs)[upper].mean() / clusters.pairwise(faces, faces)[upper].mean())
    # P3's Table I: 19.10 / 25.74 = 0.74.
    assert 0.55 < np.mean(ratios) < 0.85


def test_too_few_faces_are_refused() -> None:
    with pytest.raises(SettingsError, match="too few"):
        k_same_furthest(simulated_faces.faces(9, 0), 5, np.random.default_rng(0))
