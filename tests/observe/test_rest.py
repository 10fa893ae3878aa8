"""The face at rest of people who are seen smiling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.mouth_corners import corner_height, with_corners_between
from streamdeid.aam.piecewise_affine import spread
from streamdeid.observe.rest import at_rest, folds, smile_in
from streamdeid.render.expression import transfer_expression
from tests.drawn_faces import some_identity


def _at_rest(model: AppearanceModel, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """A face with next to no smile in it: the training people's mean at rest, and something of its own."""
    shape, _ = model.decode(some_identity(model, seed, 0.3))
    rest = shape - smile_in(shape, model) * model.smile
    assert smile_in(rest, model) == pytest.approx(0, abs=0.05)
    return rest


def test_a_mean_smile_is_about_one(model: AppearanceModel) -> None:
    assert smile_in(model.mean_shape, model) == pytest.approx(0.5)
    assert smile_in(model.mean_shape + model.smile / 2, model) == pytest.approx(1.0, abs=0.03)
    corners = model.smile[[48, 54]]
    assert corners[0, 0] < -2 and corners[1, 0] > 2 and (corners[:, 1] < 0).all()  # apart and up


@pytest.mark.parametrize("seed", range(4))
def test_a_face_at_rest_stays_as_it_is(model: AppearanceModel, seed: int) -> None:
    rest = _at_rest(model, seed)
    assert at_rest(rest, model) is rest


@pytest.mark.parametrize("seed", range(4))
def test_a_smile_is_taken_out_of_an_estimate(model: AppearanceModel, seed: int) -> None:
    rest = _at_rest(model, seed)
    smiling = rest + 1.2 * model.smile
    found = at_rest(smiling, model)
    assert np.linalg.norm(found - rest) < 0.25 * np.linalg.norm(smiling - rest)
    assert smile_in(found, model) < 0.3


@given(st.floats(0.2, 5.0), st.floats(-0.7, 0.7), st.floats(-300, 300), st.floats(0.8, 2.0))
@settings(max_examples=30, deadline=None)
def test_place_size_and_turn_do_not_matter(
    model: AppearanceModel, scale: float, angle: float, shift: float, much: float
) -> None:
    smiling = _at_rest(model) + much * model.smile
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = at_rest(smiling @ turn.T + shift, model)
    np.testing.assert_allclose(moved, at_rest(smiling, model) @ turn.T + shift, atol=1e-6 * scale * 300)


def test_more_of_a_smile_never_leaves_less_of_a_move(model: AppearanceModel) -> None:
    """No jump, and a broader smile in the estimate is never taken for a sterner face than a lesser one's by much."""
    rest = _at_rest(model)
    amounts = np.linspace(-0.5, 2.5, 301)
    taken = [
        float(((rest + a * model.smile - at_rest(rest + a * model.smile, model)) * model.smile).sum()) for a in amounts
    ]
    assert (np.diff(taken) >= -1e-9).all()
    assert np.diff(taken).max() < 0.03 * float((model.smile**2).sum())


def test_whoever_always_smiles_gets_a_surrogate_that_smiles(model: AppearanceModel) -> None:
    """The reason for all this: with the estimate itself as the face at rest nothing would be transferred."""
    smiling = _at_rest(model, 1) + model.smile
    surrogate = _at_rest(model, 2)
    lost = transfer_expression(smiling, smiling, surrogate)
    kept = transfer_expression(smiling, at_rest(smiling, model), surrogate)
    assert smile_in(lost, model) < 0.5  # the openings of the lips are the person's in any case
    assert smile_in(kept, model) > 0.8


def test_folds_come_with_a_smile_and_lie_beside_the_mouth(model: AppearanceModel) -> None:
    rest = _at_rest(model)
    np.testing.assert_allclose(folds(rest, rest, model), 0.0, atol=1e-9)
    smiling = folds(rest + 0.5 * model.smile, rest, model)
    assert smiling.shape == (len(model.fit_mean), 3) and smiling.dtype == np.float32
    np.testing.assert_allclose(smiling, 0.5 * model.smile_folds, atol=0.02)
    grins = [np.abs(folds(rest + amount * model.smile, rest, model)).max() for amount in (0.5, 0.9, 1.5, 9)]
    assert grins == sorted(grins), "more of a smile is no less of a fold"
    assert 0.9 * np.abs(model.smile_folds).max() < grins[-1] <= np.abs(model.smile_folds).max() + 1e-6
    # Dark from the wings of the nose to the corners of the mouth and beyond, not on the forehead.
    level = spread(model.smile_folds.mean(axis=1, keepdims=True), model.fit_table)[:, :, 0]
    points = model.mean_shape * (model.fit_width / model.frame_size[0])
    for wing, corner, out in ((31, 48, -1), (35, 54, 1)):
        x, y = np.round((points[wing] + points[corner]) / 2 + (3 * out, 0)).astype(int)
        assert level[y - 1 : y + 2, x - 1 : x + 2].mean() < -0.04
    teeth = points[60:68].mean(axis=0).round().astype(int)
    assert np.abs(level[teeth[1] - 1 : teeth[1] + 2, teeth[0] - 3 : teeth[0] + 4]).max() < 0.1  # no shine of teeth
    brow = int(points[19:25, 1].min())
    assert np.abs(level[brow - 12 : brow - 4, 24:40]).mean() < 0.04


def test_folds_are_symmetric(model: AppearanceModel) -> None:
    level = spread(model.smile_folds, model.fit_table)
    both = (level != 0) & (level[:, ::-1] != 0)
    assert np.abs(level - level[:, ::-1])[both].mean() < 0.01


def test_a_model_that_knows_no_smiles_takes_nothing_out_but_raised_corners(model: AppearanceModel) -> None:
    nothing = np.zeros_like(model.smile)
    plain = replace(model, smile=nothing, smile_weights=nothing, smile_folds=np.zeros_like(model.smile_folds))
    shape = _at_rest(model)
    np.testing.assert_array_equal(at_rest(shape, plain), shape)
    raised = with_corners_between(shape, 0.07, 0.07)
    np.testing.assert_allclose(at_rest(raised, plain), with_corners_between(shape, 0.03, 0.03), atol=0.2)
    assert corner_height(at_rest(with_corners_between(shape, 0.2, 0.2), plain)) == pytest.approx(0.15, abs=0.01)
    assert not folds(shape, model.mean_shape, plain).any()


def test_whoever_always_has_raised_corners_gets_a_surrogate_with_raised_corners(model: AppearanceModel) -> None:
    """Corners alone are too little for the rule of a smile. No more than .05 of them is: mouths differ."""
    raised = with_corners_between(_at_rest(model, 1), 0.08, 0.08)
    surrogate = with_corners_between(_at_rest(model, 2), -0.01, -0.01)
    up = surrogate[[48, 54], 1] - transfer_expression(raised, at_rest(raised, model), surrogate)[[48, 54], 1]
    assert (up > 0.03 * (surrogate[54, 0] - surrogate[48, 0])).all()


def test_a_wink_is_no_rest(model: AppearanceModel) -> None:
    even, wink = model.mean_shape, model.mean_shape.copy()
    wink[48:68, 1] += np.linspace(-8, 8, 20)[np.argsort(np.argsort(even[48:68, 0]))]
    rested = at_rest(wink, model)
    before, after = (float(shape[54, 1] - shape[48, 1]) for shape in (wink, rested))
    assert before > 14 and 0 < after < 6
    slight = even.copy()
    slight[48:68, 1] += np.linspace(-1, 1, 20)[np.argsort(np.argsort(even[48:68, 0]))]
    np.testing.assert_allclose((at_rest(slight, model) - at_rest(even, model))[[48, 54], 1], [-1, 1], atol=0.35)
