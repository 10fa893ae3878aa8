"""What several tiles saw of one face becomes one candidate."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.detection.candidates import Candidate, covered, joined, overlap, part_of, seen_before
from streamdeid.detection.tiles import Tile

TILES = (Tile(0, 0, 640, 480, 0.3), Tile(0, 0, 256, 256, 0.75), Tile(192, 0, 448, 256, 0.75))


def one(x: float, y: float, side: float, score: float = 0.6, tile: int = 0, cut: bool = False) -> Candidate:
    """A square candidate."""
    return Candidate((x, y, x + side, y + side), np.zeros((6, 2)), score, tile, cut)


def test_a_face_seen_by_three_tiles_is_one_candidate_with_the_best_score() -> None:
    found = joined([one(100, 100, 50, 0.7), one(102, 99, 50, 0.9, 1), one(101, 103, 48, 0.5, 2)], TILES)
    assert len(found) == 1
    assert found[0].score == 0.9
    assert found[0].tile == 1  # where it was seen best it is looked for again


def test_the_box_comes_from_the_coarsest_tile_that_saw_it_clearly() -> None:
    whole, fine = one(100, 100, 50, 0.6), one(104, 104, 46, 0.9, 1)
    assert joined([fine, whole], TILES)[0].box == whole.box
    faint = one(100, 100, 50, 0.4)
    assert joined([fine, faint], TILES)[0].box == fine.box


def test_neighbours_stay_two() -> None:
    assert len(joined([one(100, 100, 50), one(140, 100, 50)], TILES)) == 2


def test_a_piece_cut_by_a_tile_goes_to_the_whole_face_that_holds_it() -> None:
    whole, piece = one(180, 100, 60, 0.7, 2), one(180, 100, 22, 0.8, 1, cut=True)
    found = joined([piece, whole], TILES)
    assert [face.box for face in found] == [whole.box]
    assert len(joined([piece], TILES)) == 1  # alone it is all there is of a face


def test_a_nose_is_a_part_of_a_face_and_a_neighbour_is_not() -> None:
    face = (100.0, 100.0, 300.0, 300.0)
    assert part_of((160.0, 180.0, 230.0, 250.0), [face])
    assert not part_of((250.0, 90.0, 330.0, 170.0), [face])
    assert not part_of(face, [(150.0, 150.0, 200.0, 200.0)])  # a large face is never a part of a small one
    assert not part_of(face, [face])
    assert not part_of(face, [])


def test_what_only_a_later_tile_saw_is_told_apart() -> None:
    everywhere, late, early = one(100, 100, 50, 0.9, 2), one(300, 100, 50, 0.9, 2), one(400, 300, 50, 0.6, 1)
    seen = [everywhere, one(102, 101, 50, 0.5, 0), late, early]
    candidates = joined(seen, TILES)
    assert [row.box[0] for row in candidates if row.tile == 2] == [102, 300]
    assert {candidates[row].box[0] for row in seen_before(2, seen, candidates)} == {102, 400}
    assert seen_before(2, [late], [late]) == set() and seen_before(2, [], []) == set()


boxes = st.tuples(*[st.floats(0, 500)] * 2, *[st.floats(1, 200)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


@given(a=st.lists(boxes, min_size=1, max_size=4), b=st.lists(boxes, min_size=1, max_size=4))
def test_overlaps_are_those_of_the_slow_way(a: list[tuple[float, ...]], b: list[tuple[float, ...]]) -> None:
    ious, shares = overlap(np.array(a), np.array(b)), covered(np.array(a), np.array(b))
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            shared = max(0.0, min(p[2], q[2]) - max(p[0], q[0])) * max(0.0, min(p[3], q[3]) - max(p[1], q[1]))
            areas = [(r[2] - r[0]) * (r[3] - r[1]) for r in (p, q)]
            assert np.isclose(ious[i, j], shared / (sum(areas) - shared))
            assert np.isclose(shares[i, j], shared / areas[0])


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 400), st.floats(10, 100), st.floats(0.2, 1)), max_size=8))
def test_nothing_is_lost_and_nothing_is_left_twice(rows: list[tuple[float, float, float, float]]) -> None:
    found = [one(x, y, side, score) for x, y, side, score in rows]
    kept = joined(found, TILES)
    for candidate in found:
        assert overlap(np.array([candidate.box]), np.array([k.box for k in kept])).max() > 0.4
    for i, k in enumerate(kept):
        others = np.array([o.box for j, o in enumerate(kept) if j != i]).reshape(-1, 4)
        assert overlap(np.array([k.box]), others).max(initial=0) <= 0.4 + 1e-9
