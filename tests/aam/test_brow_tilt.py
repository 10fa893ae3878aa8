"""Brows that do not frown at rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.brow_tilt import tilt, with_tilt_at_most
from tests.drawn_faces import some_identity

_RAISED = np.r_[19:22, 22:25]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(-0.3, 0.2), st.floats(0.0, 1.0))
def test_what_lies_beyond_the_bound_is_left_in_part(
    model: AppearanceModel, seed: int, most: float, share: float
) -> None:
    shape, _ = model.decode(some_identity(model, seed))
    now, before = tilt(shape), shape.copy()
    got = with_tilt_at_most(shape, most, share)
    assert (shape == before).all()
    if now <= most:
        assert got is shape
    else:
        assert tilt(got) == pytest.approx(most + share * (now - most))
    others = np.setdiff1d(np.arange(81), _RAISED)
    assert (got[others] == shape[others]).all(), "only the inner parts of the brows rise"


def test_a_slanting_head_is_as_good(model: AppearanceModel) -> None:
    shape, _ = model.decode(some_identity(model, 4))
    turn = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
    assert tilt(shape @ turn) == pytest.approx(tilt(shape))
    one, other = with_tilt_at_most(shape, -0.3, 0.2) @ turn, with_tilt_at_most(shape @ turn, -0.3, 0.2)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_tilt_is_what_it_is_of_drawn_brows_and_they_keep_their_difference() -> None:
    shape = np.zeros((81, 2))
    shape[[36, 45]] = (0.0, 0.0), (100.0, 0.0)
    shape[18:22, 0], shape[22:26, 0] = (10, 20, 30, 40), (60, 70, 80, 90)
    shape[18:22, 1], shape[22:26, 1] = (-30, -29, -28, -27), (-24, -26, -28, -30)
    assert tilt(shape) == pytest.approx((3 / 30 + 6 / 30) / 2)
    level = with_tilt_at_most(shape, 0.0, 0.0)
    np.testing.assert_allclose(level[18:22, 1], (-30, -30.5, -31, -31.5))
    np.testing.assert_allclose(level[22:26, 1], (-28.5, -29, -29.5, -30))
