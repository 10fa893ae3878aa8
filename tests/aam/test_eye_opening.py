"""Eyes that are not narrower than most people's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.eye_opening import openness, with_eyes_at_least
from tests.aam.part_left import check_part_left, check_turned
from tests.drawn_faces import some_identity

_UPPER_LIDS = np.array([37, 38, 43, 44])


def _eyes(opening: tuple[float, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """A shape of two level eyes, 10 wide, with these distances of the lids."""
    shape = np.zeros((81, 2))
    for first, gap in zip((36, 42), opening, strict=True):
        shape[first : first + 6, 0] = first + np.array([0.0, 3, 7, 10, 7, 3])
        shape[[first + 1, first + 2], 1], shape[[first + 4, first + 5], 1] = -gap / 2, gap / 2
    return shape


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 0.5), st.floats(0.0, 1.0))
def test_a_part_of_what_is_lacking_is_left(model: AppearanceModel, seed: int, least: float, share: float) -> None:
    shape, _ = model.decode(some_identity(model, seed))
    now = openness(shape)
    expected = min(least - share * (least - now), 1.5 * now)
    check_part_left(shape, openness, with_eyes_at_least, now >= least, expected, (least, share), _UPPER_LIDS)


def test_slanting_eyes_open_across_their_own_line(model: AppearanceModel) -> None:
    shape, _ = model.decode(some_identity(model, 4))
    check_turned(shape, with_eyes_at_least, 0.4, 0.2)


def test_openness_is_what_it_is_of_drawn_eyes_and_they_keep_their_difference() -> None:
    shape = _eyes((2.0, 3.0))
    assert openness(shape) == pytest.approx(0.25)
    wider = with_eyes_at_least(shape, 0.3, 0.0)
    np.testing.assert_allclose(wider[[41, 47], 1] - wider[[37, 43], 1], (2.4, 3.6))


def test_shut_eyes_stay_shut_and_none_is_pulled_open() -> None:
    shape = _eyes((0.0, 0.0))
    assert (with_eyes_at_least(shape, 0.3, 0.0) == shape).all()
    assert openness(with_eyes_at_least(_eyes((0.0, 1.0)), 0.3, 0.0)) == pytest.approx(0.075)
