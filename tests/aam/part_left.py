"""What every change of a shape does that leaves a part of what lies beyond a bound: lips, lids and brows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from streamdeid.core.arrays import Floats

Changed = Callable[[Floats, float, float], Floats]
"""A shape (81, 2), a bound and a share to another shape."""


def check_part_left(
    shape: Floats,
    measured: Callable[[Floats], float],
    changed: Changed,
    within: bool,
    expected: float,
    given: tuple[float, float],
    moved: Floats,
) -> Floats:
    """The shape changed: given its bound and share, it measures as expected, is the same array where it is within the
    bound, nothing but the points `moved` has moved, and the given array is as before."""
    before = shape.copy()
    got = changed(shape, *given)
    assert (shape == before).all()
    if within:
        assert got is shape
    else:
        assert measured(got) == pytest.approx(expected)
    others = np.setdiff1d(np.arange(81), moved)
    assert (got[others] == shape[others]).all(), "all else stays"
    return got


def check_turned(shape: Floats, changed: Changed, bound: float, share: float) -> None:
    """A shape that slants is changed along its own line."""
    turn = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
    np.testing.assert_allclose(changed(shape, bound, share) @ turn, changed(shape @ turn, bound, share), atol=1e-9)
