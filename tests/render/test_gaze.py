"""Irises of a new face: they look aside and up with the person's, and squint only with eyes that are crossed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Floats
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


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(-0.3, 0.3), st.floats(-0.15, 0.15), st.floats(-0.06, 0.06))
def test_both_eyes_look_aside_together_and_rise_by_half_more(
    model: AppearanceModel, seed: int, aside: float, down: float, folds: float
) -> None:
    """However much of the white beside the nose a person's own lids show."""
    shape, surrogate = _two(model, seed)
    shape[42:48, 0] += (shape[39, 0] - shape[36, 0]) - (shape[45, 0] - shape[42, 0])  # a shift of the eye, no matter
    inwards = _AHEAD + folds
    seen = _at(shape, (aside + inwards + down * 1j, aside - inwards + down * 1j))
    left, right = _places(surrogate, irises(shape, surrogate, seen))
    assert (left.real - right.real) / 2 == pytest.approx(_AHEAD, abs=1e-9)
    drawn = -0.045 + 1.5 * (down + 0.045)
    assert (left.imag, right.imag) == pytest.approx((drawn, drawn), abs=1e-9)
    assert (left.real + right.real) / 2 == pytest.approx(aside, abs=abs(folds) + 1e-9)


@pytest.mark.parametrize("inwards", [0.17, 0.3, -0.3])
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
    assert steps.min() >= -1e-12 and steps.max() < 0.004, "never backwards, at most four times as fast"


def test_the_eye_that_a_turned_head_shows_narrow_says_little(model: AppearanceModel) -> None:
    shape, surrogate = _two(model, 5)
    narrow = shape.copy()
    narrow[42:48, 0] = narrow[42, 0] + 0.3 * (narrow[42:48, 0] - narrow[42, 0])
    inwards = (0.1 + _AHEAD, 0.1 - _AHEAD)
    right_seen = _at(narrow, (complex(inwards[0]), complex(inwards[1])))
    wrong = _at(narrow, (complex(inwards[0]), complex(inwards[1] + 0.15)))
    moved = irises(narrow, surrogate, wrong) - irises(narrow, surrogate, right_seen)
    eye = np.linalg.norm(surrogate[39] - surrogate[36])
    assert np.abs(moved[0]).max() < 0.02 * eye, "the near eye hardly follows the far one's error"
    assert np.abs(moved[1]).max() < 0.02 * eye, "and the far eye follows the near one"


@pytest.mark.parametrize("what", ["shape", "laid"])
def test_eyes_without_width_give_finite_irises(model: AppearanceModel, what: str) -> None:
    shape, surrogate = _two(model, 6)
    flat = shape if what == "shape" else surrogate
    flat[36:48] = flat[36]
    assert np.isfinite(irises(shape, surrogate, shape[[36, 42]] + 1.0)).all()
