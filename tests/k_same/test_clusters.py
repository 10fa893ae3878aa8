"""Cluster growing: radii, overlap, and what a broken-off step leaves behind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.errors import SettingsError
from streamdeid.k_same.clusters import (
    Cluster,
    check_faces,
    cluster_of,
    distances,
    furthest,
    grow_alone,
    grow_in_step,
    grow_in_turn,
    nearest,
    overlap,
    pairwise,
)
from tests import simulated_faces


def test_the_radius_is_the_largest_distance_to_the_centroid() -> None:
    faces = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 9.0]])
    cluster = cluster_of(faces, (0, 1, 2))
    assert np.allclose(cluster.centroid, [2.0, 3.0])
    assert cluster.radius == pytest.approx(6.0)


def test_distances_agree_with_the_definition() -> None:
    a, b = simulated_faces.faces(9, 1), simulated_faces.faces(7, 2)
    literal = [[math.dist(x, y) for y in b] for x in a]
    assert np.allclose(pairwise(a, b), literal)
    assert np.allclose(np.stack([distances(a, y) for y in b], axis=1), literal)
    assert pairwise(a, a).diagonal().max() < 1e-5


def test_nearest_and_furthest_keep_to_the_rows_asked_for() -> None:
    faces = np.array([[0.0], [1.0], [2.0], [1.0]])
    assert nearest(faces, [3, 2, 1], np.array([0.0])) == 3
    assert furthest(faces, [1, 3], np.array([0.0])) == 1


@pytest.mark.parametrize(
    ("between", "printed", "relaxed"), [(4.9, True, True), (5.0, True, True), (5.1, True, False), (7.0, True, False)]
)
def test_overlap_breaks_on_equality_and_the_relaxed_test_asks_for_less(
    between: float, printed: bool, relaxed: bool
) -> None:
    close = Cluster((0,), np.array([0.0]), 3.0)
    far = Cluster((1,), np.array([between]), 4.0)
    assert overlap(close, far) is printed
    assert overlap(close, far, relaxed=True) is relaxed
    assert not overlap(close, Cluster((1,), np.array([7.1]), 4.0))


def test_growing_in_step_never_picks_one_face_for_both_clusters() -> None:
    # Face 2 is nearest to both; line 12 of the printed algorithm would put it into both clusters.
    faces = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 0.0], [0.0, 5.5], [10.0, 5.6]])
    close, far = grow_in_step(faces, [2, 3, 4], cluster_of(faces, (0,)), cluster_of(faces, (1,)), 2, relaxed=True)
    assert far.members == (1, 2)
    assert close.members == (0, 3)


def test_a_step_that_overlaps_is_undone_for_both() -> None:
    faces = np.array([[0.0], [10.0], [6.0], [4.0], [5.0], [5.2]])
    before = cluster_of(faces, (0,)), cluster_of(faces, (1,))
    # Balls of radius 2 around 2 and 8 are apart; a third member each makes them touch.
    close, far = grow_in_step(faces, [2, 3], *before, 3, relaxed=False)
    assert (close.members, far.members) == ((0, 3), (1, 2))
    close, far = grow_in_step(faces, [2, 3, 4, 5], *before, 3, relaxed=False)
    assert (close.members, far.members) == ((0, 3), (1, 2))
    assert close.radius == 2.0
    assert np.allclose(far.centroid, [8.0])


def test_growing_in_turn_may_leave_the_far_cluster_one_larger() -> None:
    # The far ball around (10, 3) stays clear of the trigger, but not of the ball around (3, 3) that face 3 would make.
    faces = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 6.0], [6.0, 6.0]])
    close, far = grow_in_turn(faces, [2, 3], cluster_of(faces, (0,)), cluster_of(faces, (1,)), 3)
    assert (close.members, far.members) == ((0,), (1, 2))
    assert close.radius == 0.0


@given(seed=st.integers(0, 10**6), k=st.integers(2, 7), relaxed=st.booleans())
@settings(max_examples=40, deadline=None)
def test_grown_clusters_are_disjoint_equal_small_enough_and_apart(seed: int, k: int, relaxed: bool) -> None:
    faces = simulated_faces.faces(20, seed)
    close, far = grow_in_step(faces, range(2, 20), cluster_of(faces, (0,)), cluster_of(faces, (1,)), k, relaxed=relaxed)
    assert len(close.members) == len(far.members) <= k
    assert not set(close.members) & set(far.members)
    assert not overlap(close, far, relaxed=relaxed)
    for cluster in (close, far):
        assert np.allclose(cluster.centroid, faces[list(cluster.members)].mean(axis=0))
        assert cluster.radius == pytest.approx(max(math.dist(faces[i], cluster.centroid) for i in cluster.members))


@given(seed=st.integers(0, 10**6), k=st.integers(1, 9))
@settings(max_examples=25, deadline=None)
def test_a_cluster_grown_alone_takes_the_nearest_to_its_centroid(seed: int, k: int) -> None:
    faces = simulated_faces.faces(12, seed)
    members = [3]
    while len(members) < k:
        centroid = faces[members].mean(axis=0)
        members.append(min((i for i in range(12) if i not in members), key=lambda i: math.dist(faces[i], centroid)))
    assert grow_alone(faces, 3, k).members == tuple(members)


@pytest.mark.parametrize(
    ("faces", "k"),
    [
        (np.ones((1, 4)), 2),
        (np.ones((8, 4)), 1),
        (np.ones(8), 2),
        (np.ones((8, 0)), 2),
        (np.full((8, 4), np.nan), 2),
    ],
)
def test_impossible_sets_are_refused(faces: np.ndarray[tuple[int, ...], np.dtype[np.float64]], k: int) -> None:
    with pytest.raises(SettingsError):
        check_faces(faces, k, least=2)
