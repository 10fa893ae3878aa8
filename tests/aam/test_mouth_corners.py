"""The corners of a mouth lie between bounds; a surrogate's do not hang."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.mouth_corners import with_corners_between
from streamdeid.core.arrays import Floats
from streamdeid.core.ibug68 import MOUTH
from tests.drawn_faces import with_mouth

_OTHERS = np.setdiff1d(np.arange(81), np.arange(MOUTH.start, MOUTH.stop))


def _height(shape: Floats) -> float:
    """Of the corners over the middle of the inner lips, a share of the mouth's width."""
    along = shape[54] - shape[48]
    width = float(np.hypot(*along))
    down = np.array([-along[1], along[0]]) / width
    return float(((shape[62] + shape[66]) / 2 - (shape[48] + shape[54]) / 2) @ down) / width


def _hanging(model: AppearanceModel, by: float) -> Floats:
    """A face at rest whose corners hang by so much of the mouth's width, lips bent with them."""
    shape = with_mouth(model.mean_shape, 0.0)
    width, middle = float(np.hypot(*(shape[54] - shape[48]))), (shape[62] + shape[66]) / 2
    missing = by + _height(shape)
    share = (2 * (shape[MOUTH, 0] - middle[0]) / width) ** 2
    shape[MOUTH, 1] += missing * width * share
    return shape


def _up(shape: Floats) -> Floats:
    return with_corners_between(shape, 0.01, np.inf)


@pytest.mark.parametrize("by", [0.03, 0.08, 0.15])
def test_hanging_corners_are_lifted_and_nothing_else_moves(model: AppearanceModel, by: float) -> None:
    shape = _hanging(model, by)
    assert _height(shape) == pytest.approx(-by, abs=0.01)
    up = _up(shape)
    assert _height(up) == pytest.approx(0.01, abs=0.005)
    np.testing.assert_array_equal(up[_OTHERS], shape[_OTHERS])
    np.testing.assert_allclose(up[[51, 57, 62, 66]], shape[[51, 57, 62, 66]], atol=0.3)
    assert float(np.hypot(*(up[54] - up[48]))) == pytest.approx(float(np.hypot(*(shape[54] - shape[48]))), rel=0.02)


def test_corners_that_are_higher_are_lowered_to_the_bound(model: AppearanceModel) -> None:
    shape = _hanging(model, -0.08)
    down = with_corners_between(shape, -np.inf, 0.03)
    assert _height(shape) == pytest.approx(0.08, abs=0.01) and _height(down) == pytest.approx(0.03, abs=0.005)
    np.testing.assert_array_equal(down[_OTHERS], shape[_OTHERS])


def test_a_mouth_that_does_not_hang_stays_as_it_is(model: AppearanceModel) -> None:
    shape = _hanging(model, -0.05)
    assert _up(shape) is shape


def test_a_lopsided_mouth_is_lifted_on_both_sides(model: AppearanceModel) -> None:
    shape = _hanging(model, 0.1)
    shape[[51, 57, 62, 66], 0] += 0.15 * (shape[54, 0] - shape[48, 0])
    up = _up(shape)
    assert _height(up) == pytest.approx(0.01, abs=1e-6)
    lifted = shape[[48, 54], 1] - up[[48, 54], 1]
    assert lifted[0] == pytest.approx(lifted[1], rel=0.01)


def test_lips_turned_with_the_head_are_lifted_along_their_own_line(model: AppearanceModel) -> None:
    shape, angle = _hanging(model, 0.08), 0.4
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(_up(shape @ turn.T), _up(shape) @ turn.T, atol=1e-9)


def test_a_mouth_of_no_width_is_no_error() -> None:
    assert np.isfinite(_up(np.zeros((81, 2)))).all()
