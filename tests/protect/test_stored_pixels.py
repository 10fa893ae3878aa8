"""Back from square pixels to stored ones: nothing that was covered survives, nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.arrays import Plane
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.core.square_pixels import frame_of, resized
from streamdeid.errors import FailedClosed
from streamdeid.protect.fixed_regions import REGION
from streamdeid.protect.stored_pixels import as_stored
from streamdeid.render.masks import solid_fill

ASPECTS = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(16, 11), Fraction(2), Fraction(4)]
SIZES = [(18, 14), (17, 13), (16, 11), (9, 20)]


def squeezed(size: tuple[int, int], aspect: Fraction, seed: int = 1) -> Frame:
    """A frame of noise."""
    rng = np.random.default_rng(seed)
    half = (size[1] + 1) // 2, (size[0] + 1) // 2
    planes = Planes(*(rng.integers(20, 200, shape, np.uint8) for shape in (size[::-1], half, half)))
    return frame_of(planes, Fraction(0), 0, aspect, aspect)


def published(frame: Frame, planes: Planes, *redactions: Redaction) -> DeidentifiedFrame:
    """What a filter made of it."""
    return DeidentifiedFrame(planes, frame.time, frame.index, redactions)


def made_of(frame: Frame, plane: str) -> NDArray[np.bool_]:
    """By stored pixel of a plane: which pixels of the square plane are made of it, found by changing each by itself."""
    stored = frame.as_stored
    before: Plane = getattr(stored, plane)
    found = []
    for at in np.ndindex(before.shape):
        # Against black, so that no share of it is rounded away.
        only = np.zeros_like(before)
        only[at] = 255
        found.append(getattr(resized(replace(stored, **{plane: only}), frame.planes.size), plane) > 0)
    return np.array(found).reshape(*before.shape, -1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("aspect", ASPECTS)
def test_no_stored_pixel_survives_of_what_changed(size: tuple[int, int], aspect: Fraction) -> None:
    frame = squeezed(size, aspect)
    planes = frame.planes.copy()
    rng = np.random.default_rng(2)
    spots = {name: rng.permutation(getattr(planes, name).size) < 2 for name in "yuv"}
    for name, spot in spots.items():
        getattr(planes, name).reshape(-1)[spot] ^= 255
    done, fresh, stored = as_stored(frame, published(frame, planes)), resized(planes, size), frame.as_stored
    for name, spot in spots.items():
        touched = (made_of(frame, name) & spot).any(axis=2)
        out, new = getattr(done.planes, name), getattr(fresh, name)
        assert touched.any() and np.array_equal(out[touched], new[touched])
        assert out.shape == getattr(stored, name).shape


@pytest.mark.parametrize("size", [(180, 60), (181, 61)])
@pytest.mark.parametrize("aspect", ASPECTS)
def test_what_is_far_from_any_change_is_the_input_bit_for_bit(size: tuple[int, int], aspect: Fraction) -> None:
    frame = squeezed(size, aspect)
    wide, high = frame.planes.size
    box = (0.4 * wide, 0.4 * high, 0.6 * wide, 0.6 * high)
    done = as_stored(frame, published(frame, solid_fill(frame.planes, box)))
    stored, (across, down) = frame.as_stored, size
    kept = done.planes.y == stored.y
    outside = np.ones(kept.shape, np.bool_)
    outside[int(0.4 * down) - 8 : int(0.6 * down) + 10, int(0.4 * across) - 8 : int(0.6 * across) + 10] = False
    assert outside.mean() > 0.5 and kept[outside].all()
    halves = outside[::2, ::2]
    assert (done.planes.u == stored.u)[halves].all() and (done.planes.v == stored.v)[halves].all()
    middle = np.s_[int(0.45 * down) : int(0.55 * down), int(0.45 * across) : int(0.55 * across)]
    assert np.ptp(done.planes.y[middle]) == 0 and kept[middle].mean() < 0.05


def test_a_region_is_replaced_where_its_fill_is_what_was_there() -> None:
    frame = squeezed((40, 20), Fraction(1, 2))
    wide, high = frame.planes.size
    same = published(frame, frame.planes, Redaction(0, (0.0, 0.0, float(wide), float(high)), REGION))
    done = as_stored(frame, same).planes
    fresh = resized(frame.planes, (40, 20))
    assert all(np.array_equal(getattr(done, name), getattr(fresh, name)) for name in "yuv")
    assert not np.array_equal(done.y, frame.as_stored.y)


def test_nothing_is_done_where_nothing_is_to_do() -> None:
    square = frame_of(squeezed((20, 10), Fraction(1)).planes, Fraction(0), 0, None, Fraction(1))
    done = published(square, square.planes.copy())
    assert as_stored(square, done) is done
    frame = squeezed((20, 10), Fraction(2))
    out = as_stored(frame, published(frame, frame.planes.copy()))
    assert out.planes is frame.stored and out.aspect == Fraction(2)


def test_a_picture_of_another_size_is_not_published() -> None:
    frame = squeezed((20, 10), Fraction(2))
    with pytest.raises(FailedClosed, match="made a picture of"):
        as_stored(frame, published(frame, frame.as_stored))
