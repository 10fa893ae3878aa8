"""What the papers claim of their closed-set algorithms, on random sets, and where a broken condition ends the claim.

Theorem 1 of k-Diff-furthest, and what becomes of theorem 3 without the overlap test, are with their algorithms.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamdeid.core.arrays import Floats
from streamdeid.k_same.clusters import cluster_of, nearest, pairwise
from streamdeid.k_same.diff_furthest import k_diff_furthest, k_diff_furthest_pairs
from streamdeid.k_same.furthest import k_same_furthest, k_same_furthest_pairs
from tests import closed_sets, simulated_faces
from tests.closed_sets import ALL, CLOSEST, DIFF, FURTHEST, SAME, in_order, own_matches

sizes = st.integers(2, 24)
small_k = st.integers(2, 5)
seeds = st.integers(0, 10**6)


def lattice(n: int, seed: int) -> Floats:
    """Faces on few points: many are equal, many distances too."""
    return np.random.default_rng(seed).integers(0, 3, (n, 2)).astype(np.float64)


# k-anonymity (P5 definition 2.9).


@pytest.mark.parametrize("name", SAME)
@given(n=sizes, k=small_k, seed=seeds, equals=st.booleans())
@settings(max_examples=30, deadline=None)
def test_each_output_is_shared_by_k_inputs(name: str, n: int, k: int, seed: int, equals: bool) -> None:
    n = max(n, closed_sets.least(name, k))
    faces = lattice(n, seed) if equals else simulated_faces.faces(n, seed)
    outputs = ALL[name](faces, k, np.random.default_rng(seed))
    assert outputs.shape == faces.shape
    assert min(Counter(row.tobytes() for row in outputs).values()) >= k


@pytest.mark.parametrize("name", CLOSEST)
@given(n=sizes, k=small_k, seed=seeds)
@settings(max_examples=20, deadline=None)
def test_averaging_keeps_the_mean_and_never_widens_the_set(name: str, n: int, k: int, seed: int) -> None:
    faces = simulated_faces.faces(max(n, closed_sets.least(name, k)), seed)
    outputs = ALL[name](faces, k, np.random.default_rng(seed))
    assert np.allclose(outputs.mean(axis=0), faces.mean(axis=0))
    assert outputs.var(axis=0).sum() < faces.var(axis=0).sum()


# The order of the input.


@pytest.mark.parametrize("name", ALL)
@given(n=sizes, k=small_k, seed=seeds, data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_order_of_rows_does_not_matter(name: str, n: int, k: int, seed: int, data: st.DataObject) -> None:
    """The same faces tried as triggers in the same order get the same outputs, wherever in the input they stand."""
    n = max(n, closed_sets.least(name, k))
    faces = simulated_faces.faces(n, seed)
    ranking = {row.tobytes(): rank for rank, row in enumerate(np.random.default_rng(seed).permutation(faces))}
    order = data.draw(st.permutations(range(n)))
    assert np.allclose(in_order(name, faces[order], k, ranking), in_order(name, faces, k, ranking)[order])


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_triggers_does_matter(name: str) -> None:
    # So the test above would notice an algorithm that goes by rows.
    faces = simulated_faces.faces(24, 5)
    forth = {row.tobytes(): rank for rank, row in enumerate(faces)}
    back = {row.tobytes(): -rank for rank, row in enumerate(faces)}
    assert not np.allclose(in_order(name, faces, 3, forth), in_order(name, faces, 3, back))


@pytest.mark.parametrize("name", ALL)
@given(seed=seeds, angle=st.floats(0.0, 6.28), scale=st.floats(0.01, 100.0))
@settings(max_examples=15, deadline=None)
def test_only_distances_count(name: str, seed: int, angle: float, scale: float) -> None:
    """Turned, enlarged and moved faces give turned, enlarged and moved outputs; classes go by the first coordinate."""
    faces = simulated_faces.faces(21, seed)
    turn = np.eye(58)
    turn[1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    outputs = ALL[name](faces, 3, np.random.default_rng(seed))
    moved = ALL[name](faces @ turn * scale + 5.0, 3, np.random.default_rng(seed))
    assert np.allclose(moved, outputs @ turn * scale + 5.0, atol=1e-6 * scale)


# k-Diff-furthest: as many outputs as faces.


@pytest.mark.parametrize("name", DIFF)
@given(n=sizes, k=small_k, seed=seeds)
@settings(max_examples=30, deadline=None)
def test_k_diff_outputs_are_distinct(name: str, n: int, k: int, seed: int) -> None:
    n = max(n, closed_sets.least(name, k))
    faces = simulated_faces.faces(n, seed)
    outputs = ALL[name](faces, k, np.random.default_rng(seed))
    gaps = pairwise(outputs, outputs)[np.triu_indices(n, 1)]
    assert gaps.min() > 1e-3


def test_k_diff_cannot_part_two_equal_faces_of_one_cluster() -> None:
    # Distinct outputs need a person-specific set: a shift is the same for both.
    faces = np.vstack([simulated_faces.faces(12, 0), np.zeros((2, 58))])
    faces[12:] = faces[0]
    together = 0
    for seed in range(30):
        outputs = k_diff_furthest(faces, 4, np.random.default_rng(seed))
        for pair in k_diff_furthest_pairs(faces, 4, np.random.default_rng(seed)):
            for side in (pair.close.members, pair.far.members):
                twins = [row for row in side if row in (0, 12, 13)]
                together += len(twins) > 1
                assert np.array_equal(outputs[twins], np.repeat(outputs[twins[:1]], len(twins), axis=0))
    assert together > 0


# k-Same: no recogniser names an output's subject with a probability above 1/k.


@pytest.mark.parametrize("name", SAME)
@given(n=sizes, k=small_k, seed=seeds)
@settings(max_examples=25, deadline=None)
def test_no_recogniser_is_right_more_often_than_one_in_k(name: str, n: int, k: int, seed: int) -> None:
    """Any recogniser is a table from distinct outputs to people. The best one names a true subject of each output; it
    knows the answers, and still has one hit per distinct output."""
    n = max(n, closed_sets.least(name, k))
    outputs = ALL[name](simulated_faces.faces(n, seed), k, np.random.default_rng(seed))
    subjects: dict[bytes, list[int]] = {}
    for person, row in enumerate(outputs):
        subjects.setdefault(row.tobytes(), []).append(person)
    best = {output: people[0] for output, people in subjects.items()}
    assert np.mean([best[row.tobytes()] == person for person, row in enumerate(outputs)]) <= 1.0 / k


@pytest.mark.parametrize("name", CLOSEST)
def test_one_in_k_needs_a_person_specific_set(name: str) -> None:
    """Two photographs of each person: they are each other's nearest, and k = 2 averages a person with himself."""
    people = simulated_faces.faces(20, 3)
    again = people + 0.01 * simulated_faces.faces(20, 4)
    faces, person = np.vstack([people, again]), np.tile(np.arange(20), 2)
    outputs = ALL[name](faces, 2, np.random.default_rng(0))
    named = person[pairwise(outputs, faces).argmin(axis=1)]
    assert (named == person).mean() > 0.9
    # One photograph each: at most 1/k.
    outputs = ALL[name](people, 2, np.random.default_rng(0))
    assert (pairwise(outputs, people).argmin(axis=1) == np.arange(20)).mean() <= 0.5


# Theorem 2 (P1): the nearest outside face to a centroid stays the nearest when it has joined.


@given(
    points=arrays(np.float64, (10, 3), elements=st.floats(-10.0, 10.0)),
    size=st.integers(1, 8),
)
@settings(max_examples=100, deadline=None)
def test_no_other_outside_face_comes_nearer_than_the_one_that_joined(points: Floats, size: int) -> None:
    before = cluster_of(points, range(size))
    outside = list(range(size, 10))
    joined = nearest(points, outside, before.centroid)
    after = cluster_of(points, (*before.members, joined)).centroid
    others = [row for row in outside if row != joined]
    gaps = np.linalg.norm(points - after, axis=1)
    assert not others or gaps[others].min() >= gaps[joined] - 1e-9
    # The formula of the proof: (Γ + n C_n) / (n + 1).
    assert np.allclose(after, (points[joined] + size * before.centroid) / (size + 1))


def test_theorem_2_needs_the_nearest_face() -> None:
    broken = 0
    for seed in range(50):
        points = np.random.default_rng(seed).standard_normal((10, 3))
        before = cluster_of(points, range(3))
        second = int(np.argsort(np.linalg.norm(points[3:] - before.centroid, axis=1))[1]) + 3
        gaps = np.linalg.norm(points - cluster_of(points, (0, 1, 2, second)).centroid, axis=1)
        broken += gaps[[row for row in range(3, 10) if row != second]].min() < gaps[second]
    assert broken > 0


# Theorem 3 (P1): an output of k-Same-furthest is never matched with its own original under the same distance.


@pytest.mark.parametrize("name", FURTHEST)
@given(n=sizes, k=small_k, seed=seeds, flat=st.booleans())
@settings(max_examples=40, deadline=None)
def test_theorem_3_holds_inside_classes_and_in_few_dimensions(name: str, n: int, k: int, seed: int, flat: bool) -> None:
    n = max(n, closed_sets.least(name, k))
    faces = simulated_faces.faces(n, seed)[:, : 2 if flat else None]
    assert not own_matches(faces, ALL[name](faces, k, np.random.default_rng(seed))).any()


def _furthest_runs(dimensions: int, count: int = 40) -> list[tuple[Floats, Floats, int]]:
    runs = []
    for seed in range(count):
        faces = np.random.default_rng(seed).standard_normal((24 + seed % 7, dimensions))
        runs.append((faces, k_same_furthest(faces, 5, np.random.default_rng(seed)), seed))
    return runs


def test_theorem_3_needs_the_other_cluster() -> None:
    """Publishing a face's own centroid is k-Same of the closest: about as many matches as there are clusters."""
    matches = []
    for faces, _, seed in _furthest_runs(6):
        own = np.empty_like(faces)
        for pair in k_same_furthest_pairs(faces, 5, np.random.default_rng(seed)):
            own[[*pair.close.members, *pair.attached_close]] = pair.close.centroid
            own[[*pair.far.members, *pair.attached_far]] = pair.far.centroid
        matches.append(own_matches(faces, own).mean())
    assert 0.1 < np.mean(matches) <= 0.2


def test_theorem_3_needs_the_metric_it_was_made_in() -> None:
    stretch = np.array([1.0, 0.1, 30.0])
    runs = _furthest_runs(3)
    assert sum(own_matches(faces, outputs).sum() for faces, outputs, _ in runs) == 0
    assert sum(own_matches(faces * stretch, outputs * stretch).sum() for faces, outputs, _ in runs) > 0


def test_theorem_3_needs_one_photograph_per_person() -> None:
    # Another photograph of the same person may be in the far cluster, nearest of all to its centroid.
    named = 0
    for faces, outputs, _ in _furthest_runs(6):
        person = np.arange(len(faces)) % (len(faces) // 2)
        named += int((person[pairwise(outputs, faces).argmin(axis=1)] == person).sum())
    assert named > 0


@given(n=sizes, k=small_k, seed=seeds)
@settings(max_examples=30, deadline=None)
def test_the_whole_other_cluster_is_nearer_than_the_own_face(n: int, k: int, seed: int) -> None:
    """What theorem 3 rests on: an output is nearer to every core member of the other cluster than to its original."""
    faces = simulated_faces.faces(max(n, 2 * k), seed)
    assume(len(faces) < 4 * k)
    outputs = k_same_furthest(faces, k, np.random.default_rng(seed))
    (pair,) = k_same_furthest_pairs(faces, k, np.random.default_rng(seed))
    gaps = pairwise(outputs, faces)
    for here, there in ((pair.close, pair.far), (pair.far, pair.close)):
        for row in here.members:
            assert gaps[row, row] > gaps[row, list(there.members)].max()
