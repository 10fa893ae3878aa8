"""Expression transfer: the surrogate's contours, the person's openings, an outline that hides the person's own."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import pose_of
from streamdeid.core.arrays import Floats
from streamdeid.core.ibug68 import OUTLINE
from streamdeid.k_same.furthest_fet import lay
from streamdeid.render.expression import facing, transfer_expression
from tests.drawn_faces import some_identity, with_mouth

_SEEDS = st.integers(0, 10**6)
_INNER = np.setdiff1d(np.arange(81), OUTLINE)
_PARTS = {"left eye": (36, 39, slice(36, 42)), "right eye": (42, 45, slice(42, 48)), "mouth": (48, 54, slice(48, 68))}


def _people(model: AppearanceModel, seed: int) -> tuple[Floats, Floats, Floats]:
    """A person's neutral, the same with an expression, and a surrogate."""
    rng = np.random.default_rng(seed)
    neutral, _ = model.decode(some_identity(model, seed))
    surrogate, _ = model.decode(some_identity(model, seed + 1))
    return neutral, neutral + rng.normal(0, 2.0, neutral.shape), surrogate


def _speaking(model: AppearanceModel, seed: int, opening: float) -> tuple[Floats, Floats, Floats]:
    """The same with a mouth opened so far, lids and lips on their own sides, as the landmarker gives them."""
    rng = np.random.default_rng(seed)
    neutral, _, surrogate = _people(model, seed)
    moved = neutral + rng.normal(0, 0.4, neutral.shape)
    return with_mouth(neutral, 0.0), with_mouth(moved, opening), surrogate


def _levelled(shape: Floats, part: str) -> Floats:
    """Points (n, 2) of a part from the middle between its corners, along and across the line through them."""
    a, b, points = _PARTS[part]
    along = complex(*(shape[b] - shape[a])) / abs(complex(*(shape[b] - shape[a])))
    turned = (shape[points] - (shape[a] + shape[b]) / 2) @ np.array([1, 1j]) / along
    return np.column_stack([turned.real, turned.imag])


def _openings(shape: Floats, part: str) -> Floats:
    """How far lower points lie below the upper ones, across the line of the corners."""
    across = _levelled(shape, part)[:, 1]
    pairs = [(13, 19), (14, 18), (15, 17)] if part == "mouth" else [(1, 5), (2, 4)]
    return np.array([across[lower] - across[upper] for upper, lower in pairs])


def _ratio(surrogate: Floats, neutral: Floats, part: str) -> float:
    a, b, _ = _PARTS[part]
    return float(np.linalg.norm(surrogate[b] - surrogate[a]) / np.linalg.norm(neutral[b] - neutral[a]))


def _with_lids(shape: Floats, share: float) -> Floats:
    """The shape with its upper lids so far above the lower ones, share of what they are; below 0 they cross."""
    shape = shape.copy()
    for upper, lower in ((37, 41), (38, 40), (43, 47), (44, 46)):
        shape[upper] = shape[lower] + share * (shape[upper] - shape[lower])
    return shape


@settings(max_examples=30, deadline=None)
@given(_SEEDS, st.floats(0.05, 0.8))
def test_a_surrogate_like_the_person_gives_the_shape_back(model: AppearanceModel, seed: int, opening: float) -> None:
    neutral, shape, _ = _speaking(model, seed, opening)
    got = transfer_expression(shape, neutral, neutral)
    lips = np.r_[48:68]  # they open a little farther, for the landmarker reads less of them
    np.testing.assert_allclose(np.delete(got, lips, axis=0), np.delete(shape, lips, axis=0), atol=1e-6)
    np.testing.assert_allclose(got[lips], shape[lips], atol=0.061 * np.abs(_openings(shape, "mouth")).max() + 1e-6)


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
def test_contours_at_rest_are_the_surrogates_whoever_the_person_is(model: AppearanceModel, seed: int) -> None:
    neutral, _, surrogate = _people(model, seed)
    neutral, surrogate = with_mouth(neutral, 0.0), with_mouth(surrogate, 0.0)
    got = transfer_expression(neutral, neutral, surrogate)
    for eye in ("left eye", "right eye"):
        np.testing.assert_allclose(_levelled(got, eye), _levelled(surrogate, eye), atol=1e-6)
    # What with_mouth shuts upright is still open by a hair across the line of the corners, where that is tilted.
    np.testing.assert_allclose(_levelled(got, "mouth"), _levelled(surrogate, "mouth"), atol=0.25)


@settings(max_examples=30, deadline=None)
@given(_SEEDS, st.floats(0, 0.8))
def test_only_the_change_of_a_part_is_the_persons(model: AppearanceModel, seed: int, opening: float) -> None:
    """Two people who move their lids and lips in the same way make one and the same face."""
    neutral, shape, surrogate = _speaking(model, seed, opening)
    rng = np.random.default_rng(seed + 1)
    other_neutral, other_shape = neutral.copy(), shape.copy()
    for a, b, points in _PARTS.values():
        apart = rng.normal(0, 1.5, len(neutral[points]))
        apart[[a - points.start, b - points.start]] = 0
        for person, other in ((neutral, other_neutral), (shape, other_shape)):
            along = (person[b] - person[a]) / np.linalg.norm(person[b] - person[a])
            other[points] += apart[:, None] * along
    one, two = (
        transfer_expression(shape, neutral, surrogate),
        transfer_expression(other_shape, other_neutral, surrogate),
    )
    for part in _PARTS:
        np.testing.assert_allclose(_levelled(two, part), _levelled(one, part), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(_SEEDS, st.floats(0, 0.8))
def test_openings_of_the_mouth_follow_within_bounds(model: AppearanceModel, seed: int, opening: float) -> None:
    neutral, shape, surrogate = _speaking(model, seed, opening)
    got = transfer_expression(shape, neutral, surrogate)
    factor = np.clip(_ratio(surrogate, neutral, "mouth"), 1.06, 1.12)
    np.testing.assert_allclose(_openings(got, "mouth"), factor * np.maximum(_openings(shape, "mouth"), 0), atol=1e-9)


def _wide(shape: Floats) -> float:
    return float(np.linalg.norm(shape[54] - shape[48]))


def _stretched(shape: Floats, growth: float) -> Floats:
    """The shape with its mouth so many times as wide."""
    shape = shape.copy()
    middle = shape[[48, 54], 0].mean()
    shape[48:68, 0] = middle + growth * (shape[48:68, 0] - middle)
    return shape


@pytest.mark.parametrize("own", [0.85, 1.0, 1.3])
@pytest.mark.parametrize("opening", [0.0, 1.0])
def test_no_mouth_that_is_drawn_wide_or_open_is_much_wider_than_the_persons(
    model: AppearanceModel, own: float, opening: float
) -> None:
    """However wide the surrogate's is at rest."""
    neutral, _, _ = _people(model, 3)
    neutral = with_mouth(neutral, 0.0)
    surrogate = _stretched(neutral, own)
    for growth in (0.7, 0.9, 1.05, 1.2, 1.5):
        shape = with_mouth(_stretched(neutral, growth), opening)
        got = _wide(transfer_expression(shape, neutral, surrogate)) / _wide(shape)
        if opening or growth == 1.5:
            assert got <= 1.121
        assert got <= max(own, 1) / min(growth, 1) + 1e-9


@pytest.mark.parametrize("own", [0.85, 1.0, 1.12])
def test_a_mouth_that_speaks_moves_as_far_as_the_persons(model: AppearanceModel, own: float) -> None:
    neutral, _, _ = _people(model, 4)
    neutral = with_mouth(neutral, 0.0)
    surrogate = _stretched(neutral, own)
    shapes = [with_mouth(_stretched(neutral, growth), 0.12) for growth in (0.9, 1.0, 1.1)]
    person, new = (
        [_wide(s) for s in faces] for faces in (shapes, [transfer_expression(s, neutral, surrogate) for s in shapes])
    )
    for a, b in ((0, 1), (1, 2)):
        assert 0.999 <= (new[b] - new[a]) / (person[b] - person[a]) <= 1.121


def test_a_lip_that_is_drawn_up_does_not_run_into_a_short_nose(model: AppearanceModel) -> None:
    neutral, _, _ = _people(model, 6)
    surrogate, shape = neutral.copy(), neutral.copy()
    height = neutral[51, 1] - neutral[33, 1]
    surrogate[48:68, 1] -= 0.4 * height
    shape[48:68, 1] -= 0.5 * height
    got = transfer_expression(shape, neutral, surrogate)
    assert got[51, 1] - got[33, 1] == pytest.approx(0.5 * (surrogate[51, 1] - surrogate[33, 1]), abs=0.3)


@settings(max_examples=30, deadline=None)
@given(_SEEDS, st.floats(-0.5, 1.0))
def test_lids_close_in_proportion_and_shut_eyes_are_shut(model: AppearanceModel, seed: int, share: float) -> None:
    neutral, _, surrogate = _people(model, seed)
    got = transfer_expression(_with_lids(neutral, share), neutral, surrogate)
    for eye in ("left eye", "right eye"):
        own = _openings(surrogate, eye)
        assert (own > 2).all() and (_openings(neutral, eye) > 2).all(), "the model's eyes are open"
        np.testing.assert_allclose(_openings(got, eye), max(share, 0.0) * own, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(_SEEDS, st.floats(1.0, 2.0))
def test_a_stare_opens_every_eye_by_as_much_within_bounds(model: AppearanceModel, seed: int, share: float) -> None:
    neutral, _, surrogate = _people(model, seed)
    narrow = _with_lids(neutral, 0.3)
    for rest in (neutral, narrow):
        got = transfer_expression(_with_lids(rest, share), rest, surrogate)
        # A narrower one was never seen open; narrow ones are drawn equally open.
        least = {eye: 0.12 * np.ptp(_levelled(rest, eye)[:, 0]) for eye in ("left eye", "right eye")}
        open_by = np.array([np.minimum(share * _openings(rest, eye) / least[eye], 1) for eye in least])
        alike = abs(open_by.mean(axis=1) @ [0.5, -0.5])  # what each is moved by towards the other, at most
        for eye in least:
            shown = _openings(surrogate, eye) * (float(open_by.min()) - alike)
            wider = _ratio(surrogate, rest, eye) * (share - 1) * _openings(rest, eye)
            assert (_openings(got, eye) <= _openings(surrogate, eye) + wider + 1e-6).all()
            assert (_openings(got, eye) >= shown - 1e-6).all()
            if rest is neutral and open_by.min() == 1:
                now = _ratio(surrogate, rest, eye) * share * _openings(rest, eye)
                own = _openings(surrogate, eye)
                expected = np.minimum(own + wider, 1.1 * np.maximum(own, now))
                np.testing.assert_allclose(_openings(got, eye), expected, atol=0.05 * float(own.max()))


def _with_two_lids(shape: Floats, left: float, right: float) -> Floats:
    """The shape with each eye open by a share of what it is."""
    return np.where(np.arange(len(shape))[:, None] < 42, _with_lids(shape, left), _with_lids(shape, right))


@pytest.mark.parametrize("turned", [False, True])
def test_two_lowered_lids_are_no_wink_and_a_wink_is_one(model: AppearanceModel, turned: bool) -> None:
    """Lids that look down are read apart in a turned head; who winks has the other eye open."""
    neutral, _, surrogate = _people(model, 3)
    for left, right, apart in ((0.55, 0.2, False), (1.0, 0.15, True)):
        pair = (right, left) if turned else (left, right)
        got = transfer_expression(_with_two_lids(neutral, *pair), neutral, surrogate)
        shown = [float((_openings(got, eye) / _openings(surrogate, eye)).mean()) for eye in ("left eye", "right eye")]
        wanted = pair if apart else (0.375, 0.375)
        assert shown == pytest.approx(wanted, abs=0.02)


def test_an_eye_that_was_shut_while_the_face_at_rest_was_learnt_is_as_open_as_the_other(model: AppearanceModel) -> None:
    neutral, _, surrogate = _people(model, 3)
    got = transfer_expression(_with_lids(neutral, 0.8), _with_two_lids(neutral, 0.5, 1.0), surrogate)
    left, right = ((_openings(got, eye) / _openings(surrogate, eye)).mean() for eye in ("left eye", "right eye"))
    assert left == pytest.approx(1.0, abs=0.02) and right == pytest.approx(0.8, abs=0.02)


@settings(max_examples=40, deadline=None)
@given(_SEEDS, st.floats(0.5, 8.0))
def test_lids_and_lips_never_cross(model: AppearanceModel, seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    neutral, surrogate = (model.decode(some_identity(model, seed + i))[0] for i in range(2))
    shape, noisy = (neutral + rng.normal(0, spread, neutral.shape) for _ in range(2))
    got = transfer_expression(shape, noisy, surrogate)
    assert np.isfinite(got).all()
    for part in _PARTS:
        assert _openings(got, part).min() >= -1e-9


def test_an_eye_that_was_never_seen_open_is_not_torn_open(model: AppearanceModel) -> None:
    neutral, _, surrogate = _people(model, 8)
    shut = _with_lids(neutral, 0.0)
    got = transfer_expression(shut, shut, surrogate)
    for eye in ("left eye", "right eye"):
        np.testing.assert_allclose(_openings(got, eye), 0, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(_SEEDS, st.floats(0, 30))
def test_lips_keep_their_thickness(model: AppearanceModel, seed: int, half: float) -> None:
    neutral, _, surrogate = _people(model, seed)
    shut = with_mouth(neutral, 0.0)
    shape = shut.copy()
    shape[[*range(49, 54), 61, 62, 63], 1] -= half
    shape[[*range(55, 60), 65, 66, 67], 1] += half
    got = transfer_expression(shape, shut, surrogate)
    for outer, inner in ((51, 62), (57, 66)):
        thick, own = (np.ptp(_levelled(s, "mouth")[[outer - 48, inner - 48], 1]) for s in (got, surrogate))
        assert thick == pytest.approx(own, abs=0.4)  # that the lips part upright, not quite across, is in it


def test_who_was_taken_for_squinting_does_not_stare(model: AppearanceModel) -> None:
    neutral, _, surrogate = _people(model, 5)
    eye, (upper, lower) = neutral.copy(), ([37, 38, 43, 44], [41, 40, 47, 46])
    gaps = (neutral[lower, 1] - neutral[upper, 1])[:, None] * (0, 1)
    squinting, usual, wide = (eye.copy() for _ in range(3))
    squinting[upper] += 0.5 * gaps
    wide[upper] -= gaps
    own = surrogate[lower, 1] - surrogate[upper, 1]
    got = {name: transfer_expression(now, squinting, surrogate) for name, now in (("usual", usual), ("wide", wide))}
    drawn = {name: shape[lower, 1] - shape[upper, 1] for name, shape in got.items()}
    ratio = np.repeat([np.ptp(surrogate[36:42, 0]) / np.ptp(neutral[36:42, 0])], 4)
    most = 1.1 * np.maximum(own, ratio * gaps[:, 1]) + 0.6
    assert (drawn["usual"] <= most).all(), "as wide as the person's or the surrogate's, and a tenth"
    assert (drawn["wide"] > 1.25 * drawn["usual"]).all(), "who is startled is drawn startled"


@pytest.mark.parametrize("full", [1.0, 2.0])
def test_lips_that_grow_thin_do_so_in_proportion(model: AppearanceModel, full: float) -> None:
    """A smile that leaves half of the person's lips leaves half of the surrogate's, however full they are."""
    upper, lower = ((2, 13), (3, 14), (4, 15)), ((8, 17), (9, 18), (10, 19))
    neutral, _, surrogate = _people(model, 7)
    neutral, surrogate = with_mouth(neutral, 0.0), with_mouth(surrogate, 0.0)

    def fuller(shape: Floats, times: float) -> Floats:
        out = shape.copy()
        for outer, inner in ((1, 13), *upper, (5, 15), (7, 17), *lower, (11, 19)):
            out[48 + outer, 1] = shape[48 + inner, 1] + times * (shape[48 + outer, 1] - shape[48 + inner, 1])
        return out

    def thickness(shape: Floats) -> Floats:
        return np.array([np.mean([abs(shape[48 + o, 1] - shape[48 + i, 1]) for o, i in lip]) for lip in (upper, lower)])

    own = fuller(surrogate, full)
    drawn = transfer_expression(fuller(neutral, 0.5), neutral, own)
    np.testing.assert_allclose(thickness(drawn), 0.5 * thickness(own), rtol=0.1)
    pouting = transfer_expression(fuller(neutral, 1.4), neutral, own)
    assert (thickness(pouting) > 1.05 * thickness(own)).all()


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


def test_laying_onto_the_own_corners_is_the_identity(model: AppearanceModel) -> None:
    points = model.mean_shape[36:42]
    got = lay(points, (points[0], points[3]), (points[0], points[3]), 1.0)
    np.testing.assert_allclose(got, points, atol=1e-9)


def _turn_between(model: AppearanceModel, surrogate: Floats, neutral: Floats) -> float:
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
