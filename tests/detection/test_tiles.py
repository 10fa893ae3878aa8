"""Tiles: every face of the size looked for lies whole, and large enough, in some tile; every tile has its turn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.detection.tiles import (
    INPUT,
    SEEN,
    Rounds,
    Tile,
    close_tiles,
    least_face,
    still_in,
    tile_for,
    tiles_of,
    with_turned,
)

SIZES = [(1280, 720), (1920, 1080), (640, 352), (360, 288), (1080, 1920), (512, 512), (161, 97), (3840, 2160)]


def seen(tile: Tile, box: tuple[float, float, float, float]) -> float:
    """Width in the network's pixels at which a tile sees the whole of a box; 0 when it does not."""
    x0, y0, x1, y1 = box
    inside = tile.x0 <= x0 and tile.y0 <= y0 and x1 <= tile.x1 and y1 <= tile.y1
    return (x1 - x0) * tile.scale if inside else 0.0


@given(size=st.sampled_from(SIZES), data=st.data())
def test_every_face_is_seen_large_enough_somewhere(size: tuple[int, int], data: st.DataObject) -> None:
    least = least_face(size)
    side = data.draw(st.floats(least, min(size)))
    x = data.draw(st.floats(0, size[0] - side))
    y = data.draw(st.floats(0, size[1] - side))
    widest = max(seen(tile, (x, y, x + side, y + side)) for tile in tiles_of(size, least))
    assert widest >= 11.5  # 12, but for corners at whole, even pixels


@pytest.mark.parametrize("size", SIZES)
def test_tiles_lie_in_the_picture_and_fit_the_network(size: tuple[int, int]) -> None:
    tiles = tiles_of(size, least_face(size))
    assert (tiles[0].x0, tiles[0].y0, tiles[0].x1, tiles[0].y1) == (0, 0, *size)
    for tile in tiles:
        assert 0 <= tile.x0 < tile.x1 <= size[0]
        assert 0 <= tile.y0 < tile.y1 <= size[1]
        assert tile.x0 % 2 == tile.y0 % 2 == 0
        assert max(tile.x1 - tile.x0, tile.y1 - tile.y0) * tile.scale <= INPUT + 1.5
    assert [tile.scale for tile in tiles] == sorted(tile.scale for tile in tiles)


def test_faces_of_20_pixels_at_720p_are_12_pixels_wide_for_the_network() -> None:
    tiles = tiles_of((1280, 720), 20.0)
    assert tiles[-1].scale * 20 == pytest.approx(12)
    assert least_face((1280, 720)) <= 20


def test_a_large_least_face_leaves_the_whole_picture_only() -> None:
    assert len(tiles_of((1280, 720), float("inf"))) == 1
    assert len(tiles_of((160, 120), 16.0)) == 1


def test_a_smaller_least_face_means_more_tiles() -> None:
    counts = [len(tiles_of((1280, 720), least)) for least in (100.0, 40.0, 20.0, 10.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@pytest.mark.parametrize("size", [(1920, 1080), (2560, 1440), (3840, 2160), (1080, 1920)])
def test_smaller_faces_than_are_searched_for_are_followed_in_close_tiles(size: tuple[int, int]) -> None:
    least = least_face(size)
    close = close_tiles(size, least)
    for x in range(0, size[0] - 20, 97):
        box = (x, size[1] / 2, x + least / 2, size[1] / 2 + least / 2)
        assert max(seen(tile, box) for tile in close) >= SEEN - 1e-9
    assert max(tile.x1 - tile.x0 for tile in close) * close[0].scale <= INPUT + 1


def test_where_the_smallest_faces_are_searched_for_there_are_no_close_tiles() -> None:
    assert close_tiles((1280, 720), 12) == ()
    assert {tile.scale for tile in close_tiles((1280, 720), 16)} == {1.0}


@pytest.mark.parametrize("interval", [1, 2, 5, 32])
def test_every_tile_has_its_turn_within_the_interval(interval: int) -> None:
    tiles = tiles_of((1280, 720), 16.0)
    rounds = Rounds(tiles, interval)
    assert rounds.due(()) == list(range(len(tiles)))  # everything at the start
    frames = [rounds.due(()) for _ in range(4 * interval)]
    for number in range(len(tiles)):
        turns = [frame for frame, due in enumerate(frames) if number in due]
        gaps = [b - a for a, b in itertools.pairwise([-1, *turns, len(frames)])]
        assert max(gaps) <= interval + 1


def test_the_whole_picture_has_its_turn_every_third_frame() -> None:
    rounds = Rounds(tiles_of((1280, 720), 16.0), 32)
    whole = [0 in rounds.due(()) for _ in range(20)]
    assert all(any(whole[frame : frame + 3]) for frame in range(18))


def test_few_tiles_in_a_usual_frame() -> None:
    rounds = Rounds(tiles_of((1280, 720), 16.0), 32)
    rounds.due(())
    assert sum(len(rounds.due(())) for _ in range(320)) / 320 < 2


def test_wanted_tiles_are_looked_at_in_any_case() -> None:
    rounds = Rounds(tiles_of((1280, 720), 16.0), 32)
    for _ in range(10):
        assert {7, 30} <= set(rounds.due({7, 30}))


def test_a_restart_looks_at_everything() -> None:
    tiles = tiles_of((640, 480), 16.0)
    rounds = Rounds(tiles, 32)
    for _ in range(5):
        rounds.due(())
    rounds.restart()
    assert len(rounds.due(())) == len(tiles)


def test_the_last_picture_is_searched_upright_and_the_round_goes_on() -> None:
    upright = tiles_of((640, 480), 16.0)
    rounds, others = (Rounds(with_turned(upright), 32) for _ in range(2))
    for _ in range(5):
        assert rounds.due(()) == others.due(())
    rounds.last()
    assert rounds.due(()) == sorted(set(range(len(upright))) | set(others.due(())))
    assert all(rounds.due(()) == others.due(()) for _ in range(40))


def test_a_box_at_an_inner_side_is_cut_and_one_at_the_border_of_the_picture_is_not() -> None:
    tile = Tile(0, 100, 192, 292, 1.0)
    size = (640, 480)
    assert tile.cuts((150, 150, 192, 190), size)
    assert tile.cuts((50, 100, 90, 140), size)
    assert not tile.cuts((0, 150, 40, 190), size)
    assert not tile.cuts((60, 150, 100, 190), size)


def test_what_a_camera_that_moves_brings_into_view_is_searched_at_once() -> None:
    size = (1280, 720)
    tiles = with_turned(tiles_of(size, least_face(size)))
    rounds = Rounds(tiles, 32)
    rounds.due(())
    usual = {n for n in rounds.due(()) if not tiles[n].turn}
    left = CameraMotion(np.eye(2), np.array([20.0, 0.0]))  # what comes in is at the left
    rounds.moved(left)
    few = set(rounds.due(()))
    rounds.moved(left)
    more = {n for n, tile in enumerate(tiles) if not tile.turn and tile.x0 == 0}
    assert more <= set(rounds.due(())) and not more <= few | usual, "40 pixels are two of the smallest faces"
    rounds.moved(left)
    assert not more <= set(rounds.due(())), "and then nothing is new"
    back = CameraMotion(np.eye(2), np.array([-20.0, 0.0]))
    for motion in (back, left, back, left):  # it shakes: what comes in was there before
        rounds.moved(motion)
        assert not more <= set(rounds.due(()))


def test_what_a_camera_takes_out_of_its_tile_is_followed_in_another() -> None:
    tiles = with_turned(tiles_of((1280, 720), 20.0))
    box = 300.0, 300.0, 330.0, 330.0
    number = tile_for(tiles, box)
    assert still_in(tiles, number, box) == number
    there = 1000.0, 300.0, 1030.0, 330.0
    other = still_in(tiles, number, there)
    assert other == tile_for(tiles, there) != number and seen(tiles[other], there) > 0


def test_while_the_camera_moves_all_tiles_have_their_turn_in_half_the_time() -> None:
    tiles = tiles_of((1280, 720), 16.0)
    still = CameraMotion(np.eye(2), np.array([3.0, 0.0]))
    back = CameraMotion(np.eye(2), np.array([-3.0, 0.0]))
    for moving in (False, True):
        rounds, searched = Rounds(tiles, 32), 0
        rounds.due(())
        for frame in range(32):
            if moving:
                rounds.moved(back if frame % 2 else still)
            searched += len(rounds.due(()))
        fewest = (2 if moving else 1) * len(tiles)
        assert searched >= fewest - 1
