"""Scene cuts: found when the scene changes at once, and at no other time."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pytest

from streamdeid.core.arrays import Plane
from streamdeid.core.luma_pyramid import luma_pyramid
from streamdeid.tracking.cuts import Cuts


def scene(seed: int, low: float, high: float) -> Plane:
    """Smooth blobs between two grey levels, 240 x 320."""
    rng = np.random.default_rng(seed)
    small = rng.uniform(low, high, (6, 8)).astype(np.float32)
    return np.clip(cv2.resize(small, (320, 240), interpolation=cv2.INTER_CUBIC), 0, 255).astype(np.uint8)


def moved(picture: Plane, dx: int, dy: int) -> Plane:
    """The picture seen by a camera that moved."""
    return np.roll(picture, (dy, dx), axis=(0, 1))


def cuts(pictures: Sequence[Plane]) -> list[int]:
    """Numbers of the pictures that start a scene."""
    watch = Cuts()
    return [index for index, picture in enumerate(pictures) if watch(luma_pyramid(picture))]


INDOORS, OUTDOORS = scene(1, 20, 120), scene(2, 100, 240)


def test_a_hard_cut_is_found_in_its_own_frame_and_only_there() -> None:
    assert cuts([INDOORS] * 10 + [OUTDOORS] * 10 + [INDOORS] * 10) == [10, 20]


def test_the_first_picture_is_no_cut() -> None:
    assert cuts([INDOORS]) == []


def test_a_shaken_camera_is_no_cut() -> None:
    rng = np.random.default_rng(3)
    shaken = [moved(INDOORS, *(int(v) for v in rng.integers(-24, 25, 2))) for _ in range(60)]
    assert cuts([INDOORS] * 10 + shaken) == []


@pytest.mark.parametrize("strength", [40, 90, 255])
def test_a_flash_is_no_cut(strength: int) -> None:
    flash = np.clip(INDOORS.astype(np.int32) + strength, 0, 255).astype(np.uint8)
    assert cuts([INDOORS] * 10 + [flash] * 2 + [INDOORS] * 10) == []


def test_what_jumps_is_told_cut_or_not() -> None:
    """A flash, a new scene, what heals after damage: not a camera that is panned slowly."""
    watch, jumps = Cuts(), []
    flash = np.clip(INDOORS.astype(np.int32) + 40, 0, 255).astype(np.uint8)
    panned = [moved(INDOORS, 2 * step, 0) for step in range(8)]
    for index, picture in enumerate([*panned, flash, panned[-1], panned[-1], OUTDOORS, OUTDOORS]):
        watch(luma_pyramid(picture))
        jumps += [index] * watch.jumped
    assert jumps == [8, 9, 11]


def test_lamps_switched_off_are_no_cut() -> None:
    assert cuts([OUTDOORS] * 10 + [(OUTDOORS * 0.3).astype(np.uint8)] * 10) == []


def test_a_cut_behind_black_is_found_when_the_new_scene_shows() -> None:
    black = np.full_like(INDOORS, 16)
    assert cuts([INDOORS] * 10 + [black] * 5 + [OUTDOORS] * 5) == [15]


def test_black_between_pictures_of_one_scene_is_no_cut() -> None:
    assert cuts([INDOORS] * 10 + [np.full_like(INDOORS, 16)] * 5 + [INDOORS] * 5) == []


def test_what_always_moves_wildly_is_no_cut() -> None:
    wild = [scene(10 + index, 20, 240) for index in range(40)]
    assert len(cuts(wild)) <= 2  # the first pictures may count, until it is known how wild it is


def test_a_slow_fade_is_no_cut() -> None:
    shares = np.linspace(0, 1, 50)
    assert cuts([(INDOORS * (1 - s) + OUTDOORS * s).astype(np.uint8) for s in shares]) == []
