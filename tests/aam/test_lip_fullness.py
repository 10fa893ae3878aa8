"""Lips that are no fuller than most people's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.lip_fullness import fullness, with_lips_at_most
from tests.aam.part_left import check_part_left, check_turned
from tests.drawn_faces import some_identity

_LIPS = np.r_[49:54, 55:60]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 0.6), st.floats(0.0, 1.0))
def test_what_lies_beyond_the_bound_is_left_in_part(
    model: AppearanceModel, seed: int, most: float, share: float
) -> None:
    shape, _ = model.decode(some_identity(model, seed))
    full = fullness(shape)
    expected = most + share * (full - most)
    check_part_left(shape, fullness, with_lips_at_most, full <= most, expected, (most, share), _LIPS)


def test_a_slanting_mouth_is_thinned_across_its_own_line(model: AppearanceModel) -> None:
    shape, _ = model.decode(some_identity(model, 4))
    check_turned(shape, with_lips_at_most, 0.1, 0.2)


def test_fullness_is_what_it_is_of_a_drawn_mouth() -> None:
    shape = np.zeros((81, 2))
    shape[[48, 54]] = (0.0, 0.0), (10.0, 0.0)
    shape[[50, 51, 52], 1], shape[[61, 62, 63], 1] = -2.0, -0.5
    shape[[56, 57, 58], 1], shape[[65, 66, 67], 1] = 3.0, 0.5
    assert fullness(shape) == pytest.approx((1.5 + 2.5) / 10)
