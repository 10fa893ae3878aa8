"""The repairs of docs/methods.md 1.5 to 1.8, one by one, over every closed-set algorithm that they concern."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.k_same import clusters
from streamdeid.k_same.clusters import Pair
from streamdeid.k_same.diff_furthest import certificate_margin, k_diff_furthest, k_diff_furthest_pairs
from streamdeid.k_same.furthest import k_same_furthest, k_same_furthest_pairs
from streamdeid.k_same.m import k_same_m_groups
from tests import closed_sets, simulated_faces
from tests.closed_sets import ALL, CLOSEST, DIFF, FURTHEST, SAME, given_order, in_order, own_matches


def two_crowds(each: int, seed: int = 0) -> Floats:
    """Two crowds so far apart that no clusters ever overlap: only numbers end the growing."""
    faces = np.random.default_rng(seed).standard_normal((2 * each, 6))
    faces[each:, 0] += 1000.0
    return faces


def apart(pair: Pair, relaxed: bool) -> bool:
    """Whether the cores do not overlap, by more than rounding: among faces on a lattice they may touch exactly."""
    between = float(np.linalg.norm(pair.close.centroid - pair.far.centroid))
    close, far = pair.close.radius, pair.far.radius
    return between > (np.hypot(close, far) if relaxed else close + far) + 1e-9


def rows_of(pair: Pair) -> list[int]:
    """All rows of a pair."""
    return [*pair.close.members, *pair.far.members, *pair.attached_close, *pair.attached_far]


# A set that runs empty: 40 faces, k = 6 (line 9 of P3 does not ask whether two faces are left).


@pytest.mark.parametrize("name", ALL)
def test_forty_faces_in_sixes_come_out_whole(name: str) -> None:
    faces = two_crowds(20)
    outputs = ALL[name](faces, 6, np.random.default_rng(1))
    assert np.isfinite(outputs).all()
    assert (np.linalg.norm(outputs - faces, axis=1) > 1e-6).all()


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("singles", [False, True])
def test_the_last_pair_stops_when_nobody_is_left(relaxed: bool, singles: bool) -> None:
    faces = two_crowds(20)
    pairs = k_diff_furthest_pairs(faces, 6, np.random.default_rng(1), relaxed=relaxed, singles=singles)
    assert [len(pair.close.members) for pair in pairs] == [6, 6, 6, 2]
    assert [len(pair.far.members) for pair in pairs] == [6, 6, 6, 2]
    assert not any(pair.attached_close or pair.attached_far for pair in pairs)


def test_k_same_takes_the_rest_into_its_last_group() -> None:
    groups = k_same_m_groups(two_crowds(20), 6, np.random.default_rng(1))
    assert [len(group) for group in groups] == [6, 6, 6, 6, 6, 10]
    pairs = k_same_furthest_pairs(two_crowds(20), 6, np.random.default_rng(1))
    assert [len(rows_of(pair)) for pair in pairs] == [12, 12, 16]


# The same face picked for both clusters (P3 lines 10 to 13).

CONTESTED = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 0.0], [0.0, 5.1]])
"""With row 0 as trigger and row 1 furthest from it, row 2 is the nearest of the rest to both."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, [[2.5, 0.0], [5.0, 2.55], [2.5, 0.0], [5.0, 2.55]]) for name in ("m", "pixel", "eigen")),
        ("furthest", [[7.5, 0.0], [0.0, 2.55], [0.0, 2.55], [7.5, 0.0]]),
        *((name, [[7.5, -2.55], [2.5, 2.55], [-2.5, 2.55], [7.5, 2.55]]) for name in DIFF if name != "select-diff"),
    ],
)
def test_a_face_wanted_by_both_clusters_goes_to_one(name: str, expected: list[list[float]]) -> None:
    ranking = {row.tobytes(): rank for rank, row in enumerate(CONTESTED)}
    assert np.allclose(in_order(name, CONTESTED, 2, ranking), expected)


@given(faces=arrays(np.float64, (12, 2), elements=st.integers(0, 3).map(float)), k=st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_no_face_is_in_two_groups_even_among_equals(faces: Floats, k: int) -> None:
    rng = np.random.default_rng(0)
    groups = [list(group) for group in k_same_m_groups(faces, k, rng)]
    for pairs in (
        k_same_furthest_pairs(faces, k, rng),
        k_diff_furthest_pairs(faces, k, rng),
        k_diff_furthest_pairs(faces, k, rng, relaxed=True, singles=True),
    ):
        assert sorted(row for pair in pairs for row in rows_of(pair)) == list(range(12))
    assert sorted(row for group in groups for row in group) == list(range(12))


# Leftovers.


@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), k=st.integers(2, 8))
@settings(max_examples=50, deadline=None)
def test_k_same_leaves_nobody_over(seed: int, n: int, k: int) -> None:
    n = max(n, k)
    groups = k_same_m_groups(simulated_faces.faces(n, seed), k, np.random.default_rng(seed))
    assert [len(group) for group in groups[:-1]] == [k] * (n // k - 1)
    assert len(groups[-1]) == k + n % k


@given(seed=st.integers(0, 10**6), n=st.integers(8, 40), k=st.integers(2, 4))
@settings(max_examples=50, deadline=None)
def test_k_same_furthest_gives_the_rest_the_farther_centroid_of_the_last_pair(seed: int, n: int, k: int) -> None:
    faces = simulated_faces.faces(n, seed)
    outputs = k_same_furthest(faces, k, np.random.default_rng(seed))
    pairs = k_same_furthest_pairs(faces, k, np.random.default_rng(seed))
    last = pairs[-1]
    rest = [
        *last.attached_close[k - len(last.close.members) :],
        *last.attached_far[k - len(last.far.members) :],
    ]
    assert len(rest) == n % (2 * k)
    centroids = np.stack([last.close.centroid, last.far.centroid])
    for row in rest:
        assert np.array_equal(outputs[row], centroids[int(clusters.distances(centroids, faces[row]).argmax())])
    assert all(len(rows_of(pair)) == 2 * k for pair in pairs[:-1])


@given(seed=st.integers(0, 10**6), n=st.integers(4, 40), k=st.integers(2, 6))
@settings(max_examples=50, deadline=None)
def test_faces_that_join_later_leave_the_centroids_alone(seed: int, n: int, k: int) -> None:
    """P1: "calculated using only members added before overlapping"; P3: core members keep the theorem."""
    faces = simulated_faces.faces(max(n, 2 * k), seed)
    rng = np.random.default_rng
    for pair in (*k_same_furthest_pairs(faces, k, rng(seed)), *k_diff_furthest_pairs(faces, k, rng(seed))):
        for side in (pair.close, pair.far):
            assert np.allclose(side.centroid, faces[list(side.members)].mean(axis=0))


def test_updating_the_centroids_with_the_fill_would_break_theorem_3() -> None:
    broken = 0
    for seed in range(60):
        faces = np.random.default_rng(seed).standard_normal((24 + seed % 7, 2))
        outputs = np.empty_like(faces)
        for pair in k_same_furthest_pairs(faces, 5, np.random.default_rng(seed)):
            close = [*pair.close.members, *pair.attached_close]
            far = [*pair.far.members, *pair.attached_far]
            outputs[close], outputs[far] = faces[far].mean(axis=0), faces[close].mean(axis=0)
        broken += int(own_matches(faces, outputs).sum())
    assert broken > 0


def test_k_diff_moves_its_leftover_to_the_side_with_the_larger_margin() -> None:
    # P3 attaches it to the nearer side, which is not always the better one.
    against_the_paper = 0
    for seed in range(60):
        faces = simulated_faces.faces(13, seed)
        outputs = k_diff_furthest(faces, 3, np.random.default_rng(seed))
        last = k_diff_furthest_pairs(faces, 3, np.random.default_rng(seed))[-1]
        (row,) = (*last.attached_close, *last.attached_far)
        shift = (last.far.centroid - last.close.centroid) * (1.0 if last.attached_close else -1.0)
        printed, other = faces[row] + shift, faces[row] - shift
        margins = [certificate_margin(faces, row, output) for output in (printed, other)]
        if max(margins) <= 0.0:
            continue  # neither side will do, and the residual is drawn: tested with the algorithm
        assert np.allclose(outputs[row], printed if margins[0] >= margins[1] else other)
        against_the_paper += margins[1] > margins[0]
    assert against_the_paper > 0


def test_two_leftovers_never_draw_the_same_output() -> None:
    # In the larger half of this set neither shift will do for either leftover, and both draw the same two donors.
    faces = simulated_faces.faces(15, 966)
    outputs = ALL["select-diff"](faces, 2, np.random.default_rng(966))
    assert len(np.unique(outputs, axis=0)) == 15


# The sign (P3 line 30): members of the close cluster go to the far side and keep their residual.


@pytest.mark.parametrize("relaxed", [False, True])
def test_clusters_exchange_places(relaxed: bool) -> None:
    faces = simulated_faces.faces(20, 7)
    outputs = k_diff_furthest(faces, 3, np.random.default_rng(7), relaxed=relaxed)
    for pair in k_diff_furthest_pairs(faces, 3, np.random.default_rng(7), relaxed=relaxed):
        for here, there in ((pair.close, pair.far), (pair.far, pair.close)):
            rows = list(here.members)
            assert np.allclose(outputs[rows] - there.centroid, faces[rows] - here.centroid)


# Odd n, and n = 1.


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [13, 15, 21])
def test_an_odd_number_comes_out_whole_and_nobody_unchanged(name: str, n: int) -> None:
    for seed in range(10):
        faces = simulated_faces.faces(n, seed)
        outputs = ALL[name](faces, 3, np.random.default_rng(seed))
        assert np.isfinite(outputs).all()
        assert (np.linalg.norm(outputs - faces, axis=1) > 0.5).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [0, 1])
def test_a_lone_face_is_never_published(name: str, n: int) -> None:
    with pytest.raises(SettingsError):
        ALL[name](simulated_faces.faces(n, 0), 2, np.random.default_rng(0))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("k", [2, 3])
def test_the_smallest_set_is_taken_and_one_fewer_is_refused(name: str, k: int) -> None:
    n = closed_sets.least(name, k)
    assert ALL[name](simulated_faces.faces(n, 0), k, np.random.default_rng(0)).shape == (n, 58)
    with pytest.raises(SettingsError):
        ALL[name](simulated_faces.faces(n - 1, 0), k, np.random.default_rng(0))


# Ties: a face set is a multiset (P5 definition 2.3: identical twins).


@pytest.mark.parametrize("name", ALL)
def test_a_set_of_equal_faces_ends_and_has_one_output(name: str) -> None:
    # There is nobody else whom an output could resemble; the theorems are about faces that differ.
    faces = np.full((13, 4), 7.0)
    assert np.allclose(ALL[name](faces, 3, np.random.default_rng(0)), 7.0)


@pytest.mark.parametrize("name", ALL)
@given(faces=arrays(np.float64, (13, 2), elements=st.integers(0, 2).map(float)), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_ties_are_broken_the_same_way_every_time(name: str, faces: Floats, seed: int) -> None:
    first = ALL[name](faces, 3, np.random.default_rng(seed))
    assert np.isfinite(first).all()
    assert np.array_equal(first, ALL[name](faces, 3, np.random.default_rng(seed)))


@given(faces=arrays(np.float64, (14, 2), elements=st.integers(0, 3).map(float)), relaxed=st.booleans())
@settings(max_examples=50, deadline=None)
def test_the_theorems_hold_among_equals_where_the_clusters_are_apart(faces: Floats, relaxed: bool) -> None:
    rng = np.random.default_rng
    for outputs, pairs, is_relaxed in (
        (k_same_furthest(faces, 3, rng(0)), k_same_furthest_pairs(faces, 3, rng(0)), False),
        (
            k_diff_furthest(faces, 3, rng(0), relaxed=relaxed),
            k_diff_furthest_pairs(faces, 3, rng(0), relaxed=relaxed),
            relaxed,
        ),
    ):
        for pair in pairs:
            if apart(pair, is_relaxed):
                for row in (*pair.close.members, *pair.far.members):
                    assert certificate_margin(faces, row, outputs[row]) > 0.0


# Single-member clusters.

CLOSE_QUARTERS = np.array([[0.0, 0.0], [4.0, 0.0], [-0.1, 2.0], [-0.2, 2.5], [-0.3, -2.1], [-0.1, -2.6]])
"""Row 1 is furthest from row 0, and whoever joins row 1 draws its ball over row 0 (Thales)."""


def test_an_iteration_of_two_faces_swaps_two_people() -> None:
    """P3 says only the last two faces can end up alone; the first pair of any iteration can."""
    pairs = k_diff_furthest_pairs(CLOSE_QUARTERS, 3, given_order(range(6)))
    assert (pairs[0].close.members, pairs[0].far.members) == ((0,), (1,))
    outputs = k_diff_furthest(CLOSE_QUARTERS, 3, given_order(range(6)))
    assert np.allclose(outputs[:2], CLOSE_QUARTERS[[1, 0]])


def test_the_last_two_faces_join_the_pair_before_unless_singles_are_allowed() -> None:
    faces = two_crowds(7)
    joined = k_diff_furthest_pairs(faces, 3, np.random.default_rng(0))
    alone = k_diff_furthest_pairs(faces, 3, np.random.default_rng(0), singles=True)
    assert [len(rows_of(pair)) for pair in joined] == [6, 8]
    assert [len(rows_of(pair)) for pair in alone] == [6, 6, 2]
    swapped = [alone[-1].close.members[0], alone[-1].far.members[0]]
    outputs = k_diff_furthest(faces, 3, np.random.default_rng(0), singles=True)
    assert np.allclose(outputs[swapped], faces[swapped[::-1]])


def test_k_same_furthest_fills_a_single_member_cluster_up_to_k() -> None:
    # Its centroid stays the one core member: k people get a face that somebody really has.
    pairs = k_same_furthest_pairs(CLOSE_QUARTERS, 3, given_order(range(6)))
    (pair,) = pairs
    assert (pair.close.members, pair.far.members) == ((0,), (1,))
    assert len(pair.attached_close) == len(pair.attached_far) == 2
    outputs = k_same_furthest(CLOSE_QUARTERS, 3, given_order(range(6)))
    assert Counter(tuple(row) for row in outputs.tolist()) == {(4.0, 0.0): 3, (0.0, 0.0): 3}


@pytest.mark.parametrize("name", SAME)
def test_k_same_never_publishes_for_fewer_than_k(name: str) -> None:
    for seed in range(40):
        faces = np.random.default_rng(seed).standard_normal((19, 30))
        outputs = ALL[name](faces, 3, np.random.default_rng(seed))
        assert min(Counter(row.tobytes() for row in outputs).values()) >= 3


# The relaxed test, D² > r_c² + r_f².


def test_relaxed_clusters_fail_the_printed_test_and_keep_theorem_1() -> None:
    touching = 0
    for seed in range(40):
        faces = simulated_faces.faces(24, seed)
        outputs = k_diff_furthest(faces, 6, np.random.default_rng(seed), relaxed=True)
        for pair in k_diff_furthest_pairs(faces, 6, np.random.default_rng(seed), relaxed=True):
            between = float(np.linalg.norm(pair.close.centroid - pair.far.centroid))
            assert between**2 > pair.close.radius**2 + pair.far.radius**2
            if between <= pair.close.radius + pair.far.radius:
                touching += 1
                core = (*pair.close.members, *pair.far.members)
                assert all(certificate_margin(faces, row, outputs[row]) > 0.0 for row in core)
    assert touching > 20


def test_the_relaxed_test_is_not_enough_for_k_same_furthest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its outputs carry no residual, so the proof of theorem 1 does not apply; nearest members can come too near."""
    sets = [np.random.default_rng(seed).standard_normal((8, 3)) for seed in range(60)]

    def matched() -> int:
        return sum(
            int(own_matches(faces, k_same_furthest(faces, 4, np.random.default_rng(seed))).sum())
            for seed, faces in enumerate(sets)
        )

    assert matched() == 0
    printed = clusters.overlap
    monkeypatch.setattr(clusters, "overlap", lambda close, far: printed(close, far, relaxed=True))
    assert matched() > 0


def test_every_algorithm_is_covered() -> None:
    assert set(ALL) == set(CLOSEST) | set(FURTHEST) | set(DIFF)
