"""Brows that do not frown at rest, and are not low."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.brows import brow_height, brow_tilt, with_brows_at_least, with_tilt_at_most
from tests.aam.part_left import check_part_left, check_turned
from tests.drawn_faces import some_identity

_RAISED = np.r_[19:22, 22:25]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(-0.3, 0.2), st.floats(0.0, 1.0))
def test_what_lies_beyond_the_bound_is_left_in_part(
    model: AppearanceModel, seed: int, most: float, share: float
) -> None:
    shape, _ = model.decode(some_identity(model, seed))
    now = brow_tilt(shape)
    expected = most + share * (now - most)
    check_part_left(shape, brow_tilt, with_tilt_at_most, now <= most, expected, (most, share), _RAISED)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 0.5), st.floats(0.0, 1.0))
def test_a_part_of_what_is_lacking_of_the_height_is_left(
    model: AppearanceModel, seed: int, least: float, share: float
) -> None:
    shape, _ = model.decode(some_identity(model, seed))
    now = brow_height(shape)
    expected, brows = least - share * (least - now), np.r_[17:27]
    got = check_part_left(shape, brow_height, with_brows_at_least, now >= least, expected, (least, share), brows)
    assert brow_tilt(got) == pytest.approx(brow_tilt(shape))


def test_a_slanting_head_is_as_good(model: AppearanceModel) -> None:
    shape, _ = model.decode(some_identity(model, 4))
    turn = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
    assert brow_tilt(shape @ turn) == pytest.approx(brow_tilt(shape))
    assert brow_height(shape @ turn) == pytest.approx(brow_height(shape))
    for changed, bound in ((with_tilt_at_most, -0.3), (with_brows_at_least, 0.4)):
        check_turned(shape, changed, bound, 0.2)


def test_a_brow_without_length_leaves_the_other_as_it_is() -> None:
    shape = np.zeros((81, 2))
    shape[[36, 45]] = (0.0, 0.0), (100.0, 0.0)
    shape[18:22], shape[22:26] = (30.0, -25.0), ((60.0, -25.0), (70.0, -26.0), (80.0, -27.0), (90.0, -28.0))
    shape[21, 1] = -20.0
    assert np.abs(with_tilt_at_most(shape, 0.0, 0.0) - shape).max() < 50.0


def test_tilt_is_what_it_is_of_drawn_brows_and_they_keep_their_difference() -> None:
    shape = np.zeros((81, 2))
    shape[[36, 45]] = (0.0, 0.0), (100.0, 0.0)
    shape[18:22, 0], shape[22:26, 0] = (10, 20, 30, 40), (60, 70, 80, 90)
    shape[17], shape[26] = (0.0, -31.0), (100.0, -31.0)
    shape[18:22, 1], shape[22:26, 1] = (-30, -29, -28, -27), (-24, -26, -28, -30)
    assert brow_tilt(shape) == pytest.approx((3 / 30 + 6 / 30) / 2)
    assert brow_height(shape) == pytest.approx((31 + 30 + 29 + 28 + 27 + 24 + 26 + 28 + 30 + 31) / 1000)
    level = with_tilt_at_most(shape, 0.0, 0.0)
    np.testing.assert_allclose(level[18:22, 1], (-30, -30.5, -31, -31.5))
    np.testing.assert_allclose(level[22:26, 1], (-28.5, -29, -29.5, -30))
