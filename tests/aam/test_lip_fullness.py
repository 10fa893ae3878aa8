"""Lips that are no fuller than most people's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.lip_fullness import fullness, with_lips_at_most
from tests.drawn_faces import some_identity

_LIPS = np.r_[49:54, 55:60]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 0.6), st.floats(0.0, 1.0))
def test_what_lies_beyond_the_bound_is_left_in_part(
    model: AppearanceModel, seed: int, most: float, share: float
) -> None:
    shape, _ = model.decode(some_identity(model, seed))
    full, before = fullness(shape), shape.copy()
    got = with_lips_at_most(shape, most, share)
    assert (shape == before).all()
    if full <= most:
        assert got is shape
    else:
        assert fullness(got) == pytest.approx(most + share * (full - most))
    others = np.setdiff1d(np.arange(81), _LIPS)
    assert (got[others] == shape[others]).all(), "corners and inner lips stay"


def test_a_slanting_mouth_is_thinned_across_its_own_line(model: AppearanceModel) -> None:
    shape, _ = model.decode(some_identity(model, 4))
    turn = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
    one, other = with_lips_at_most(shape, 0.1, 0.2) @ turn, with_lips_at_most(shape @ turn, 0.1, 0.2)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_fullness_is_what_it_is_of_a_drawn_mouth() -> None:
    shape = np.zeros((81, 2))
    shape[[48, 54]] = (0.0, 0.0), (10.0, 0.0)
    shape[[50, 51, 52], 1], shape[[61, 62, 63], 1] = -2.0, -0.5
    shape[[56, 57, 58], 1], shape[[65, 66, 67], 1] = 3.0, 0.5
    assert fullness(shape) == pytest.approx((1.5 + 2.5) / 10)
