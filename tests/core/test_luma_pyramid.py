"""The pyramid of a frame's luma: halves of halves, made once, whatever the size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.frames import Frame, Planes
from streamdeid.core.luma_pyramid import luma_pyramid, smallest
from streamdeid.tracking.patches import small


def halved(luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The slow twin: each pixel the rounded mean of four, halves upwards."""
    height, width = luma.shape[0] // 2, luma.shape[1] // 2
    four = luma[: 2 * height, : 2 * width].astype(np.int64).reshape(height, 2, width, 2).sum(axis=(1, 3))
    return ((four + 2) // 4).astype(np.uint8)


@pytest.mark.parametrize("size", [(2160, 3840), (480, 641), (271, 483), (1, 500), (64, 64), (3, 2), (65, 130)])
def test_each_level_is_half_of_the_last_and_no_pixel_is_lost_but_an_odd_last_row(size: tuple[int, int]) -> None:
    luma = np.random.default_rng(3).integers(0, 256, size, np.uint8)
    levels = luma_pyramid(luma)
    assert levels[0] is luma
    for level, last in zip(levels[1:], levels, strict=False):
        np.testing.assert_array_equal(level, halved(last))
    assert max(levels[-1].shape) < 128 or min(levels[-1].shape) == 1


def test_the_smallest_level_that_is_large_enough_is_taken() -> None:
    levels = luma_pyramid(np.zeros((480, 640), np.uint8))
    assert smallest(levels, 64, 36).shape == (60, 80)
    assert smallest(levels, 81, 36).shape == (120, 160)
    assert smallest(levels, 10_000, 36) is levels[0]


@pytest.mark.parametrize(("width", "factor"), [(640, 1), (960, 1), (962, 2), (1920, 2), (2560, 4), (3840, 4)])
def test_patches_are_matched_in_pictures_of_at_most_960_pixels(width: int, factor: int) -> None:
    picture = small(luma_pyramid(np.zeros((width * 9 // 16, width), np.uint8)))
    assert picture.factor == factor and picture.luma.shape[1] == width // factor <= 960


def test_a_frame_makes_its_levels_once() -> None:
    planes = Planes(np.zeros((48, 64), np.uint8), np.zeros((24, 32), np.uint8), np.zeros((24, 32), np.uint8))
    frame = Frame(planes, Fraction(0), 0)
    assert frame.luma_levels is frame.luma_levels
