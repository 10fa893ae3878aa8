"""Which picture with square pixels is made of a stored one, and when none is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.frames import Planes
from streamdeid.core.square_pixels import frame_of, near, possible, read_aspect, resized, square_size


def planes(width: int, height: int) -> Planes:
    """Noise."""
    rng = np.random.default_rng(width)
    half = (height + 1) // 2, (width + 1) // 2
    return Planes(*(rng.integers(0, 256, size, np.uint8) for size in ((height, width), half, half)))


@pytest.mark.parametrize(
    ("stored", "aspect", "square"),
    [
        ((704, 288), "1:2", (704, 576)),
        ((352, 576), "2:1", (704, 576)),
        ((704, 576), "16:11", (1024, 576)),
        ((960, 576), "3:4", (960, 768)),
        ((160, 480), "4:1", (640, 480)),
        ((641, 121), "1:4", (641, 484)),
        ((720, 576), "16:15", (720, 576)),
        ((704, 576), "12:11", (704, 576)),
        ((720, 480), "8:9", (720, 480)),
    ],
)
def test_the_short_direction_is_enlarged(stored: tuple[int, int], aspect: str, square: tuple[int, int]) -> None:
    assert square_size(stored, read_aspect(aspect)) == square
    assert resized(planes(*stored), square).size == square


def test_a_large_picture_grows_to_what_memory_holds() -> None:
    width, height = square_size((3840, 2160), Fraction(4))
    assert width * height <= 3840 * 2160 * 1.01 and width / height == pytest.approx(4 * 3840 / 2160, rel=0.01)
    width, height = square_size((1440, 1080), Fraction(4, 3))
    assert (width, height) == (1920, 1080)


@pytest.mark.parametrize("aspect", [None, Fraction(1), Fraction(16, 15), Fraction(10, 11)])
def test_a_picture_that_is_square_enough_is_not_touched(aspect: Fraction | None) -> None:
    given = planes(64, 48)
    frame = frame_of(given, Fraction(0), 3, aspect, aspect or Fraction(1))
    assert frame.planes is given and frame.as_stored is given and frame.stored is None and frame.aspect == aspect


def test_a_squeezed_picture_travels_with_the_stored_one() -> None:
    given = planes(64, 48)
    frame = frame_of(given, Fraction(0), 3, Fraction(2), Fraction(2))
    assert frame.stored is given and frame.as_stored is given and frame.planes.size == (128, 48)


def test_enlarging_moves_nothing_and_shrinking_takes_the_mean() -> None:
    given = planes(64, 48)
    there = resized(given, (128, 48))
    assert (
        np.abs(resized(there, (64, 48)).y.astype(int) - given.y).mean()
        < np.abs(np.diff(given.y.astype(int))).mean() / 3
    )
    pairs = given.y.astype(float).reshape(48, 32, 2).mean(axis=2)
    assert np.abs(resized(given, (32, 96)).y[::2].astype(float) - pairs).mean() < 40
    assert np.abs(resized(given, (32, 48)).y - pairs).max() <= 1


@pytest.mark.parametrize("text", ["16:11", "1:4", "4:1", "1:1"])
def test_aspects_are_read(text: str) -> None:
    assert read_aspect(text) == Fraction(text.replace(":", "/"))


@pytest.mark.parametrize("text", ["", "16", "16/11", "5:1", "1:5", "0:1", "1:0", "-1:2", "a:b", "1:2:3", "²:1"])
def test_what_no_aspect_is_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is two whole numbers|is from 1:4"):
        read_aspect(text)


def test_near_and_possible() -> None:
    assert near(Fraction(16, 15)) and near(Fraction(10, 11)) and not near(Fraction(4, 3)) and not near(Fraction(3, 4))
    assert near(Fraction(16, 11), Fraction(64, 45)) and not near(Fraction(64, 45), Fraction(16, 15))
    assert possible(Fraction(4)) and possible(Fraction(1, 4)) and not possible(Fraction(41, 10))
