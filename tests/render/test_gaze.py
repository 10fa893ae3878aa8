"""Irises of a new face: they look aside and up with the person's, and squint only with eyes that are crossed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Floats
from streamdeid.core.ibug68 import MIRROR
from streamdeid.render.gaze import irises
from tests.drawn_faces import some_identity

_CORNERS = ((36, 39), (42, 45))
_AHEAD = -0.045
"""Inwards of the middle, where irises lie that look ahead, eye widths."""


def _two(model: AppearanceModel, seed: int) -> tuple[Floats, Floats]:
    """A person's shape and a surrogate's."""
    shape, surrogate = (model.decode(some_identity(model, number))[0] for number in (seed, seed + 1))
    return shape, surrogate


def _at(shape: Floats, places: tuple[complex, complex]) -> Floats:
    """Irises (2, 2) at places along and below the line of the corners of each eye, eye widths from its middle."""
    found = []
    for (a, b), place in zip(_CORNERS, places, strict=True):
        p, q = complex(*shape[a]), complex(*shape[b])
        found.append((p + q) / 2 + place * (q - p))
    return np.array([[each.real, each.imag] for each in found])


def _places(shape: Floats, centres: Floats) -> list[complex]:
    """Slow twin of the way back: where centres (2, 2) lie."""
    found = []
    for (a, b), centre in zip(_CORNERS, centres, strict=True):
        p, q = complex(*shape[a]), complex(*shape[b])
        found.append((complex(*centre) - (p + q) / 2) / (q - p))
    return found


def _widths(shape: Floats) -> Floats:
    return np.array([np.linalg.norm(shape[b] - shape[a]) for a, b in _CORNERS])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(-0.3, 0.3), st.floats(-0.15, 0.15), st.floats(-0.06, 0.06))
def test_both_eyes_look_aside_together_and_rise_by_half_more(
    model: AppearanceModel, seed: int, aside: float, down: float, folds: float
) -> None:
    """However much of the white beside the nose a person's own lids show."""
    shape, surrogate = _two(model, seed)
    inwards = _AHEAD + folds
    seen = _at(shape, (aside + inwards + down * 1j, aside - inwards + down * 1j))
    left, right = _places(surrogate, irises(shape, surrogate, seen))
    assert (left.real - right.real) / 2 == pytest.approx(_AHEAD, abs=1e-9)
    drawn = -0.045 + 1.5 * (down + 0.045)
    assert (left.imag, right.imag) == pytest.approx((drawn, drawn), abs=1e-9)
    more, less = np.square(_widths(shape)) / np.square(_widths(shape)).sum()
    assert (left.real + right.real) / 2 == pytest.approx(aside + (more - less) * folds, abs=1e-9)


def test_mirrored_faces_look_the_other_way(model: AppearanceModel) -> None:
    shape, surrogate = _two(model, 9)
    seen, mirror = _at(shape, (0.2 + 0.01j, 0.1 - 0.02j)), np.array([-1.0, 1.0])
    got = irises(shape, surrogate, seen)
    other = irises(shape[MIRROR] * mirror, surrogate[MIRROR] * mirror, seen[::-1] * mirror)
    np.testing.assert_allclose(other[::-1] * mirror, got, atol=1e-9)


@pytest.mark.parametrize("inwards", [0.31, 0.4, -0.4])
def test_eyes_that_are_crossed_stay_crossed(model: AppearanceModel, inwards: float) -> None:
    shape, surrogate = _two(model, 3)
    left, right = _places(surrogate, irises(shape, surrogate, _at(shape, (inwards - 0.045j, -inwards - 0.045j))))
    assert left == pytest.approx(inwards - 0.045j) and right == pytest.approx(-inwards - 0.045j)


def test_eyes_cross_without_a_jump(model: AppearanceModel) -> None:
    shape, surrogate = _two(model, 4)
    found = []
    for inwards in np.linspace(-0.3, 0.3, 601):
        left, right = _places(surrogate, irises(shape, surrogate, _at(shape, (complex(inwards), complex(-inwards)))))
        found.append((left.real - right.real) / 2)
    steps = np.diff(found)
    assert steps.min() >= -1e-12 and steps.max() < 0.0026, "never backwards, at most two and a half times as fast"


@pytest.mark.parametrize("error", [0.15, 0.3, 0.4])
def test_the_eye_that_a_turned_head_shows_narrow_says_little(model: AppearanceModel, error: float) -> None:
    """Neither where the near one looks, nor whether eyes are crossed."""
    shape, surrogate = _two(model, 5)
    narrow = shape.copy()
    narrow[42:48, 0] = narrow[42, 0] + 0.3 * (narrow[42:48, 0] - narrow[42, 0])
    inwards = (0.1 + _AHEAD, 0.1 - _AHEAD)
    right_seen = _at(narrow, (complex(inwards[0]), complex(inwards[1])))
    wrong = _at(narrow, (complex(inwards[0]), complex(inwards[1] + error)))
    moved = irises(narrow, surrogate, wrong) - irises(narrow, surrogate, right_seen)
    eye = np.linalg.norm(surrogate[39] - surrogate[36])
    assert np.abs(moved[0]).max() < 0.1 * error * eye, "the near eye hardly follows the far one's error"
    assert np.abs(moved[1]).max() < 0.1 * error * eye, "and the far eye follows the near one"


def test_an_eye_without_width_is_no_eye(model: AppearanceModel) -> None:
    """Such a face is redacted (`replace_faces`)."""
    shape, surrogate = _two(model, 6)
    flat = shape.copy()
    flat[36:42] = flat[36]
    with pytest.raises(ZeroDivisionError):
        irises(flat, surrogate, shape[[36, 42]] + 1.0)
    flat = surrogate.copy()
    flat[36:42] = flat[36]
    assert np.isfinite(irises(shape, flat, shape[[36, 42]] + 1.0)).all()
