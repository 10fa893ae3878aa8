"""A drawn box is followed on drawn pictures whose truth is known, and stops where it must."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from streamdeid.core.arrays import Box, Plane
from streamdeid.review.following import Following, ReducedPictures, follow
from tests.review.drawn_review import Review

WIDTH, HEIGHT, SIDE = 320, 180, 48


def _texture(seed: int) -> Plane:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(30, 225, (SIDE // 6, SIDE // 6))
    return np.kron(coarse, np.ones((6, 6))).astype(np.uint8)


def _scene(places: Sequence[tuple[float, float] | None], texture: Plane | None = None) -> list[Plane]:
    """A patch that moves over a still, faint ground; None for a frame without it."""
    ground = np.random.default_rng(9).integers(95, 125, (HEIGHT, WIDTH)).astype(np.uint8)
    patch = _texture(1) if texture is None else texture
    pictures = []
    for place in places:
        picture = ground.copy()
        if place is not None:
            x, y = (round(value) for value in place)
            picture[y : y + SIDE, x : x + SIDE] = patch
        pictures.append(picture)
    return pictures


def _box(place: tuple[float, float]) -> Box:
    return place[0], place[1], place[0] + SIDE, place[1] + SIDE


def _followed(
    pictures: Sequence[Plane], keys: dict[int, Box], scene: tuple[int, int] | None = None, stop: bool = False
) -> Following:
    following = Following()
    if stop:
        following.stop.set()
    follow(keys, scene or (0, len(pictures) - 1), ReducedPictures(lambda frame: pictures[frame]), following)
    assert following.done
    return following


def _path(frames: int) -> list[tuple[float, float]]:
    return [(40 + 2.0 * n, 60 + 25 * np.sin(n / 9)) for n in range(frames)]


def test_to_both_sides_as_far_as_the_scene_goes() -> None:
    path = _path(80)
    found = _followed(_scene(path), {35: _box(path[35])}, (10, 70))
    assert sorted(found.boxes) == list(range(10, 71)) and found.ends == {"after": "cut", "before": "cut"}
    for frame, box in found.boxes.items():
        assert np.abs(np.array(box) - _box(path[frame])).max() < 4


def test_it_stops_where_the_patch_is_gone() -> None:
    path: list[tuple[float, float] | None] = [*_path(60)]
    path[40:] = [None] * 20
    found = _followed(_scene(path), {20: _box(_path(60)[20])})
    assert found.ends["after"] in ("lost", "drifts") and found.ends["before"] == "cut"
    assert 39 <= max(found.boxes) <= 41 and min(found.boxes) == 0


def test_it_stops_where_it_looks_like_something_else() -> None:
    """Turned into something else little by little: each step is alike, the whole is not."""
    first, last = _texture(1).astype(float), _texture(2).astype(float)
    path = [(100.0, 60.0)] * 120
    pictures = []
    for n, place in enumerate(path):
        share = min(max((n - 20) / 60, 0.0), 1.0)
        pictures += _scene([place], ((1 - share) * first + share * last).astype(np.uint8))
    found = _followed(pictures, {0: _box(path[0])})
    assert found.ends["after"] == "drifts" and 40 < max(found.boxes) < 110


def test_it_ends_where_it_leaves_the_picture() -> None:
    path = [(120.0 + 6 * n, 60.0) for n in range(60)]
    wide = [np.pad(_scene([None])[0], ((0, 0), (0, 400)), mode="wrap") for _ in path]
    for picture, (x, y) in zip(wide, path, strict=True):
        picture[int(y) : int(y) + SIDE, int(x) : int(x) + SIDE] = _texture(1)
    found = _followed([picture[:, :WIDTH].copy() for picture in wide], {0: _box(path[0])})
    assert found.ends["after"] in ("outside", "lost", "drifts")
    assert 26 <= max(found.boxes) <= 38  # its middle leaves in frame 29; versions of OpenCV differ by a frame


def test_between_two_key_frames_both_hold() -> None:
    """The hand's boxes are kept as drawn; in between the size goes over from one to the other."""
    path = _path(60)
    big = tuple(value + (-6, -6, 6, 6)[i] for i, value in enumerate(_box(path[40])))
    found = _followed(_scene(path), {10: _box(path[10]), 40: (big[0], big[1], big[2], big[3])})
    assert found.boxes[10] == _box(path[10]) and found.boxes[40] == big
    assert sorted(found.boxes) == list(range(60))
    for frame in range(11, 40):
        box = np.array(found.boxes[frame])
        assert box[2] - box[0] == pytest.approx(SIDE + 12 * (frame - 10) / 30, abs=0.1)
        middle = (box[:2] + box[2:]) / 2
        assert np.abs(middle - np.array(path[frame]) - SIDE / 2).max() < 4


def test_where_nothing_is_found_between_key_frames_it_goes_straight() -> None:
    blank = [np.full((HEIGHT, WIDTH), 110, np.uint8)] * 21
    found = _followed(blank, {0: (10, 10, 50, 50), 20: (110, 50, 150, 90)})
    assert found.boxes[10] == (60, 30, 100, 70) and found.ends == {"after": "cut", "before": "cut"}


def test_it_can_be_stopped() -> None:
    path = _path(40)
    found = _followed(_scene(path), {20: _box(path[20])}, stop=True)
    assert set(found.boxes) == {20} and found.ends == {"after": "stopped", "before": "stopped"}
    assert isinstance(found.stop, threading.Event)


def test_pictures_are_read_in_stretches_and_few_are_kept() -> None:
    """Going backwards must not decode from the key frame for each step."""
    asked: list[int] = []

    def luma(frame: int) -> Plane:
        asked.append(frame)
        return np.zeros((90, 160), np.uint8)

    pictures = ReducedPictures(luma)
    for frame in range(300, 0, -1):
        pictures(frame)
    assert len(asked) <= 310
    assert sum(b != a + 1 for a, b in itertools.pairwise(asked)) <= 5
    assert len(pictures._kept) <= 128


def test_a_drawn_face_that_turns_and_talks(review: Review) -> None:
    lumas = [one.frame.planes.y for one in review.drawn]
    for person in (0, 1):
        truth = [one.truths[person].box for one in review.drawn]
        found = _followed(lumas, {15: truth[15]})
        assert sorted(found.boxes) == list(range(30))
        for frame, box in found.boxes.items():
            a, b = np.array(box), np.array(truth[frame])
            overlap = np.prod(np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0, None))
            assert overlap / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - overlap) > 0.6
