"""Expression transfer: identity, exact openings, and an outline that never lets the person's own show."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import pose_of
from streamdeid.deidentify.expression import eye_maps, facing, lay, transfer_expression
from streamdeid.ibug68 import INNER_LIP, OUTLINE
from tests.drawn_faces import some_identity, with_mouth

Array = NDArray[np.float64]
_SEEDS = st.integers(0, 10**6)
_INNER = np.setdiff1d(np.arange(81), OUTLINE)
_PARTS = {"left eye": (36, 39, slice(36, 42)), "right eye": (42, 45, slice(42, 48)), "mouth": (48, 54, slice(48, 68))}


def _people(model: AppearanceModel, seed: int) -> tuple[Array, Array, Array]:
    """A person's neutral, the same with an expression, and a surrogate."""
    rng = np.random.default_rng(seed)
    neutral, _ = model.decode(some_identity(model, seed))
    surrogate, _ = model.decode(some_identity(model, seed + 1))
    return neutral, neutral + rng.normal(0, 2.0, neutral.shape), surrogate


def _in_own_frame(shape: Array, a: int, b: int, part: slice) -> Array:
    """Points of a part, in units of and along the line of its corners."""
    across = complex(*(shape[b] - shape[a]))
    return np.array([complex(*(p - (shape[a] + shape[b]) / 2)) / across for p in shape[part]])


@settings(max_examples=30, deadline=None)
@given(_SEEDS)
def test_a_surrogate_like_the_person_gives_the_shape_back(model: AppearanceModel, seed: int) -> None:
    neutral, shape, _ = _people(model, seed)
    for ratio_kept in (_INNER, OUTLINE):
        got = transfer_expression(shape, neutral, neutral)[ratio_kept]
        np.testing.assert_allclose(got, shape[ratio_kept], atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(_SEEDS)
def test_a_person_at_rest_gives_the_surrogates_brows_and_nose(model: AppearanceModel, seed: int) -> None:
    neutral, _, surrogate = _people(model, seed)
    got = transfer_expression(neutral, neutral, surrogate)
    np.testing.assert_allclose(got[17:36], surrogate[17:36], atol=1e-9)
    for a, b, _ in _PARTS.values():
        np.testing.assert_allclose(got[[a, b]], surrogate[[a, b]], atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(_SEEDS)
def test_eyes_and_mouth_have_exactly_the_persons_form(model: AppearanceModel, seed: int) -> None:
    """Openings over the corners' distance follow exactly where the corners do."""
    neutral, shape, surrogate = _people(model, seed)
    got = transfer_expression(shape, neutral, surrogate)
    for a, b, part in _PARTS.values():
        ratio = np.linalg.norm(surrogate[b] - surrogate[a]) / np.linalg.norm(neutral[b] - neutral[a])
        mine, theirs = (np.abs(np.diff(s[part] @ (1, 1j))) for s in (got, shape))
        np.testing.assert_allclose(mine, ratio * theirs, atol=1e-6)
        np.testing.assert_allclose((got[a] + got[b]) / 2, (surrogate + shape - neutral)[[a, b]].mean(axis=0), atol=1e-6)
        form, own = _in_own_frame(got, a, b, part), _in_own_frame(shape, a, b, part)
        np.testing.assert_allclose(form, own, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(_SEEDS, st.floats(0, 0.8))
def test_openings_of_the_mouth_follow_exactly(model: AppearanceModel, seed: int, opening: float) -> None:
    neutral, _, surrogate = _people(model, seed)
    shape = with_mouth(neutral, opening)
    got = transfer_expression(shape, with_mouth(neutral, 0.0), surrogate)

    def opened(points: Array) -> float:
        lips = points[INNER_LIP]
        return float(np.linalg.norm(lips[2] - lips[6]) / np.linalg.norm(lips[4] - lips[0]))

    assert opened(got) == pytest.approx(opened(shape), abs=1e-9)
    assert opened(shape) == pytest.approx(opening, abs=1e-6)


def test_closed_lips_do_not_divide_by_zero(model: AppearanceModel) -> None:
    neutral, _, surrogate = _people(model, 7)
    closed = with_mouth(neutral, 0.0)
    got = transfer_expression(closed, closed, with_mouth(surrogate, 0.0))
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got[[61, 62, 63]], got[[67, 66, 65]], atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(_SEEDS)
def test_nothing_of_the_persons_outline_shows(model: AppearanceModel, seed: int) -> None:
    neutral, _, surrogate = _people(model, seed)
    hull = transfer_expression(neutral, neutral, surrogate)[OUTLINE].astype(np.float32).reshape(-1, 1, 2)
    inside = [cv2.pointPolygonTest(hull, (float(x), float(y)), True) for x, y in neutral[OUTLINE]]
    assert min(inside) > -0.6  # half a pixel: between two pushed points the polygon may cut a corner


@pytest.mark.parametrize(("growth", "outwards"), [(1.03, True), (1.15, True), (0.93, False), (1.0, False)])
def test_a_wider_surrogate_pushes_the_outline_out_and_a_narrower_leaves_it(
    model: AppearanceModel, growth: float, outwards: bool
) -> None:
    neutral, shape, _ = _people(model, 5)
    centre = neutral[OUTLINE].mean(axis=0)
    got = transfer_expression(shape, neutral, centre + (neutral - centre) * growth)[OUTLINE]
    moved = np.linalg.norm(got - shape[OUTLINE], axis=1)
    away = ((got - shape[OUTLINE]) * (neutral[OUTLINE] - centre)).sum(axis=1)
    if outwards:
        assert (away > 0).all() and moved.mean() > 1.0
        assert moved.max() < 10, "a little: far out there is the neck"
    else:
        assert moved.max() < 1e-9


@settings(max_examples=20, deadline=None)
@given(_SEEDS)
def test_eye_maps_keep_the_look_sideways_and_raise_what_goes_up_and_down(model: AppearanceModel, seed: int) -> None:
    """Along the corners' line the share is kept; heights grow by half about an iris at rest, in eye widths."""
    _, shape, surrogate = _people(model, seed)
    places = np.array([-0.045j, 0.2 - 0.045j, -0.3 + 0.055j, 0.1 - 0.145j])
    expected = np.array([-0.045j, 0.2 - 0.045j, -0.3 + 0.105j, 0.1 - 0.195j])
    for (linear, shift), (a, b) in zip(eye_maps(shape, surrogate), ((36, 39), (42, 45)), strict=True):
        (p, q), (r, s) = ((complex(*points[a]), complex(*points[b])) for points in (shape, surrogate))
        old = (p + q) / 2 + places * (q - p)
        mapped = np.column_stack([old.real, old.imag]) @ linear.T + shift
        got = ((mapped[:, 0] + 1j * mapped[:, 1]) - (r + s) / 2) / (s - r)
        np.testing.assert_allclose(got, expected, atol=1e-8)


def test_laying_onto_the_own_corners_is_the_identity(model: AppearanceModel) -> None:
    points = model.mean_shape[36:42]
    got = lay(points, (points[0], points[3]), (points[0], points[3]), 1.0)
    np.testing.assert_allclose(got, points, atol=1e-9)


def _turn_between(model: AppearanceModel, surrogate: Array, neutral: Array) -> float:
    """Degrees by which a surrogate within the person's outline seems to look elsewhere than the person."""
    laid = surrogate.copy()
    laid[OUTLINE] = neutral[OUTLINE]
    one, other = pose_of(laid, model), pose_of(neutral, model)
    return float(np.degrees(np.hypot(one.yaw - other.yaw, one.pitch - other.pitch)))


@pytest.mark.parametrize("slope", [(0.15, 0.0), (0.0, -0.18), (-0.12, 0.15)])
def test_facing_takes_a_nod_out(model: AppearanceModel, slope: tuple[float, float]) -> None:
    neutral, _ = model.decode(some_identity(model, 1))
    nodding = neutral + np.outer(model.depth, slope)
    before, after = (_turn_between(model, s, neutral) for s in (nodding, facing(nodding, neutral, model.depth)))
    assert before > 2 and after < 0.35 * before


def test_surrogates_look_where_the_person_does(model: AppearanceModel) -> None:
    before, after = [], []
    for seed in range(10):
        neutral, surrogate = (model.decode(some_identity(model, s))[0] for s in (seed, seed + 50))
        before.append(_turn_between(model, surrogate, neutral))
        after.append(_turn_between(model, facing(surrogate, neutral, model.depth), neutral))
    assert np.median(after) < 1.0 and np.max(after) < np.max(before)


def test_facing_leaves_what_is_no_turn(model: AppearanceModel) -> None:
    neutral, _ = model.decode(some_identity(model, 1))
    np.testing.assert_allclose(facing(neutral, neutral, model.depth), neutral, atol=1e-9)
    grown = neutral.copy()
    grown[48:68] += np.array([0.0, 3.0])  # a longer upper lip is identity, and the mouth is no rigid part
    np.testing.assert_allclose(facing(grown, neutral, model.depth), grown, atol=1e-9)
