"""Assignment against brute force, the gate, and every kind of doubt."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamdeid.core.arrays import Floats
from streamdeid.tracking import association
from streamdeid.tracking.association import Association, Shapes

TEMPLATE = np.random.default_rng(0).uniform(-0.4, 0.4, (68, 2))


def at(*centres: tuple[float, float], side: float = 60.0, marked: bool = False) -> Shapes:
    """Square faces at the centres."""
    places = np.array(centres, dtype=np.float64).reshape(-1, 2)
    landmarks = TEMPLATE * side + places[:, None] if marked else np.full((len(places), 68, 2), np.nan)
    return Shapes(np.hstack([places - side / 2, places + side / 2]), landmarks)


def still(tracks: Shapes, faces: Shapes, spread: float = 2.0) -> Association:
    return association.associate(tracks, faces, np.full((len(tracks.boxes), 2), spread))


def pairs_of(result: Association) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in result.pairs}


@pytest.mark.parametrize(
    ("before", "now", "one"),
    [(176, 74, False), (74, 176, True), (150, 74, True), (np.nan, 74, True), (176, np.nan, True)],
)
def test_a_face_does_not_shrink_to_less_than_half(before: float, now: float, one: bool) -> None:
    """Of the face itself: boxes of one face are twice as large in one frame as in the next."""
    tracks = replace(at((100, 100), side=200.0), sizes=np.array([before], dtype=np.float64))
    faces = replace(at((110, 110), side=100.0), sizes=np.array([now], dtype=np.float64))
    assert pairs_of(still(tracks, faces)) == ({(0, 0)} if one else set())


def brute_force(cost: Floats, unmatched: float) -> float:
    """The smallest total over all partial assignments, by trying every one."""
    rows, columns = cost.shape
    full = np.hstack([cost, np.full((rows, rows), unmatched)])
    return float(min(full[range(rows), list(p)].sum() for p in permutations(range(columns + rows), rows)))


costs = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    elements=st.one_of(st.floats(0, 1.5), st.sampled_from([0.0, 0.5, 1.0]), st.just(np.inf)),
)


@given(costs, st.sampled_from([0.3, 1.0, 10.0]))
@settings(max_examples=150, deadline=None)
def test_assignment_is_the_best_of_all(cost: Floats, unmatched: float) -> None:
    pairs = association.assign(cost, unmatched)
    assert len(set(pairs[:, 0])) == len(set(pairs[:, 1])) == len(pairs)
    total = cost[pairs[:, 0], pairs[:, 1]].sum() + unmatched * (len(cost) - len(pairs))
    assert total == pytest.approx(brute_force(cost, unmatched))


@pytest.mark.parametrize("seed", range(3))
def test_assignment_of_six_is_the_best_of_all(seed: int) -> None:
    cost = np.random.default_rng(seed).random((6, 6))
    pairs = association.assign(cost, 100.0)
    best = min(cost[range(6), list(p)].sum() for p in permutations(range(6)))
    assert len(pairs) == 6 and cost[pairs[:, 0], pairs[:, 1]].sum() == pytest.approx(best)


def test_large_assignment_finds_a_planted_optimum_quickly() -> None:
    """Row and column potentials hide a permutation of zero reduced cost: its total is the optimum."""
    rng = np.random.default_rng(5)
    size = 250
    u, v, hidden = rng.random(size), rng.random(size), rng.permutation(size)
    cost = u[:, None] + v + rng.random((size, size))
    cost[range(size), hidden] = u + v[hidden]
    began = time.perf_counter()
    pairs = association.assign(cost, 1000.0)
    assert cost[pairs[:, 0], pairs[:, 1]].sum() == pytest.approx(u.sum() + v.sum())
    assert time.perf_counter() - began < 5


def test_iou_and_giou_by_hand() -> None:
    a, b = np.array([0.0, 0, 2, 2]), np.array([1.0, 0, 3, 2])
    assert association.iou(a, b) == pytest.approx(2 / 6)
    assert association.giou(a, b) == pytest.approx(2 / 6)
    far = np.array([4.0, 0, 6, 2])
    assert association.iou(a, far) == 0
    assert association.giou(a, far) == pytest.approx(-4 / 12)
    assert association.iou(a[None], np.stack([a, b])).tolist() == pytest.approx([1, 1 / 3])


def test_landmark_distance_is_in_face_sizes() -> None:
    here = at((0, 0), marked=True).landmarks
    size = np.sqrt(np.ptp(here[0], axis=0).prod())
    assert association.landmark_distance(here, here + np.array([size, 0])) == pytest.approx([1])
    assert association.landmark_distance(here * 10, here * 10 + np.array([size, 0])) == pytest.approx([0.1])
    assert np.isnan(association.landmark_distance(here, at((0, 0)).landmarks)).all()


@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(0, 25))
@settings(max_examples=60, deadline=None)
def test_overlapping_equals_the_full_matrix(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, 100, (n + m, 2))
    boxes = np.hstack([corners, corners + rng.uniform(1, 60, (n + m, 2))])
    a, b = boxes[:n], boxes[n:]
    full = association.iou(a[:, None], b[None])
    assert (association.overlapping(a, b) == (full > association.OVERLAP).any(axis=1)).all()
    own = association.iou(a[:, None], a[None])
    np.fill_diagonal(own, 0)
    assert (association.overlapping(a) == (own > association.OVERLAP).any(axis=1)).all()


def test_faces_go_to_the_tracks_they_are_near() -> None:
    result = still(at((100, 100), (300, 100), (900, 100)), at((305, 102), (96, 101), (600, 400)))
    assert pairs_of(result) == {(0, 1), (1, 0)}
    assert not result.ambiguous_tracks.any() and not result.ambiguous_faces.any()


def test_nobody_at_all() -> None:
    for tracks, faces in ((at(), at((1, 1))), (at((1, 1)), at()), (at(), at())):
        result = still(tracks, faces)
        assert result.pairs.shape == (0, 2)
        assert len(result.ambiguous_tracks) == len(tracks.boxes) and len(result.ambiguous_faces) == len(faces.boxes)


def test_the_gate_widens_with_uncertainty_but_not_for_ever() -> None:
    track = at((100, 100))
    near, far = at((160, 100)), at((100 + 60 * 1.6, 100))
    assert pairs_of(still(track, near, spread=1)) == set()
    assert pairs_of(still(track, near, spread=20)) == {(0, 0)}
    assert pairs_of(still(track, far, spread=1e5)) == set()


def test_a_face_of_another_size_is_another_face() -> None:
    assert pairs_of(still(at((100, 100)), at((100, 100), side=60 * 2.1))) == {(0, 0)}
    assert pairs_of(still(at((100, 100)), at((100, 100), side=60 * 2.3))) == set()


def test_the_optimum_beats_the_nearest() -> None:
    """The middle face is nearest to both tracks; taking it greedily would leave one idle."""
    result = still(at((100, 100), (130, 100)), at((112, 100), (160, 100)), spread=5)
    assert pairs_of(result) == {(0, 0), (1, 1)}


def test_landmarks_decide_where_boxes_cannot() -> None:
    boxes = at((100, 100), (104, 100)).boxes
    left, right = TEMPLATE * 60 + [90, 100], TEMPLATE * 60 + [114, 100]
    tracks = Shapes(boxes, np.stack([left, right]))
    faces = Shapes(boxes[::-1].copy(), np.stack([left, right]))
    assert pairs_of(still(tracks, faces)) == {(0, 0), (1, 1)}
    bare = Shapes(boxes, np.full((2, 68, 2), np.nan))
    assert pairs_of(still(bare, Shapes(faces.boxes, bare.landmarks))) == {(0, 1), (1, 0)}


def test_two_tracks_for_one_face_are_ambiguous() -> None:
    result = still(at((96, 100), (104, 100), (500, 100)), at((100, 100), (500, 100)))
    assert result.ambiguous_tracks.tolist() == [True, True, False]
    assert result.ambiguous_faces.tolist() == [True, False]


def test_two_faces_for_one_track_are_ambiguous() -> None:
    result = still(at((100, 100)), at((92, 100), (108, 100)))
    assert result.ambiguous_tracks.tolist() == [True]
    assert result.ambiguous_faces.tolist() == [True, True]


def test_a_match_beyond_touching_is_ambiguous() -> None:
    result = still(at((100, 100)), at((170, 100)), spread=30)
    assert pairs_of(result) == {(0, 0)} and result.ambiguous_tracks.all()


@given(st.integers(0, 10**6), st.integers(0, 14), st.integers(0, 14))
@settings(max_examples=200, deadline=None)
def test_few_boxes_touch_the_same_ones_in_the_same_order_as_in_a_crowd(seed: int, many: int, others: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 40, (n, 4)).astype(np.float64) for n in (many, others))
    for boxes in (a, b):
        boxes[:, 2:] = boxes[:, :2] + rng.integers(0, 12, (len(boxes), 2))
    few = list(association._touching(a, b))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(association, "_FEW", 0)
        many_of_them = list(association._touching(a, b))
    assert [p for i, j in few for p in zip(i, j, strict=True)] == [
        p for i, j in many_of_them for p in zip(i, j, strict=True)
    ]


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_order_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 400, (12, 2))
    tracks, faces = at(*map(tuple, places)), at(*map(tuple, places[:10] + rng.normal(0, 6, (10, 2))))
    mix, blend = rng.permutation(12), rng.permutation(10)
    straight = still(tracks, faces)
    mixed = still(Shapes(tracks.boxes[mix], tracks.landmarks[mix]), Shapes(faces.boxes[blend], faces.landmarks[blend]))
    assert {(int(mix[i]), int(blend[j])) for i, j in pairs_of(mixed)} == pairs_of(straight)
    assert (mixed.ambiguous_tracks == straight.ambiguous_tracks[mix]).all()
    assert (mixed.ambiguous_faces == straight.ambiguous_faces[blend]).all()


@pytest.mark.parametrize("people", [association.LARGEST, association.LARGEST + 40])
def test_a_queue_of_hundreds_is_matched_as_one_component(people: int) -> None:
    """Each face could also be its neighbours': one component, optimal up to the limit and greedy above it."""
    places = np.stack([np.arange(people) * 40.0, np.zeros(people)], axis=1)
    result = still(at(*map(tuple, places)), at(*map(tuple, places + np.array([6, 0]))))
    assert pairs_of(result) == {(i, i) for i in range(people)}
    assert not result.ambiguous_tracks.any()


def test_duplicates_by_landmarks_or_by_box() -> None:
    marked, bare = at((100, 100), (102, 100), (300, 100), marked=True), at((304, 100), (300, 400))
    shapes = Shapes(np.vstack([marked.boxes, bare.boxes]), np.vstack([marked.landmarks, bare.landmarks]))
    groups = association.duplicates(shapes, np.array([1.0, 2, 1, 0.5, 1]))
    assert [group.tolist() for group in groups] == [[1, 0], [2, 3], [4]]


def test_faces_with_different_landmarks_stay_two_in_the_same_box() -> None:
    shapes = Shapes(at((100, 100), (100, 100)).boxes, np.stack([TEMPLATE * 60 + [85, 100], TEMPLATE * 60 + [115, 100]]))
    assert len(association.duplicates(shapes, np.ones(2))) == 2
