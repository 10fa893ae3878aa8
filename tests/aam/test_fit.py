"""The fit: known parameters recovered, occlusions withstood, nonsense refused; and its kernels' slow twins."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import (
    CONVERGED,
    Fit,
    FitModel,
    _steepest_descent,
    _step,
    _triangle_rms,
    _weighted_gradient,
    fit,
)
from streamdeid.aam.piecewise_affine import sample
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.train import normalised_grey
from streamdeid.core.arrays import Floats
from streamdeid.core.similarity import Similarity
from tests import slow_twins
from tests.drawn_faces import Scene, pose_at, scene, some_identity

_IDENTITY = Similarity(np.eye(2), np.zeros(2))
_WIDTH = 96.0


@dataclass(frozen=True)
class Known:
    """A drawn face and its true parameters."""

    scene: Scene
    grey: NDArray[np.uint8]
    pose: HeadPose
    frontal: Floats
    b: Floats


def _known(model: AppearanceModel, seed: int, yaw: float = 0.0) -> Known:
    identity = some_identity(model, seed, 0.6)
    b = identity[: len(model.shape_variances)] / model.shape_weight
    shape, texture = model.decode(identity)
    pose = pose_at(model, _WIDTH, (80.0, 82.0), yaw=yaw)
    made = scene(model, shape, texture, pose, (160, 160))
    return Known(made, cv2.cvtColor(made.rgb, cv2.COLOR_RGB2GRAY), pose, shape, b)


def _fitted(
    fitting: FitModel, known: Known, start: Floats, grey: NDArray[np.uint8] | None = None, steps: int = 12
) -> Fit:
    return fit(fitting, known.grey if grey is None else grey, _IDENTITY, known.pose, start, steps)


def _error(found: Floats, known: Known) -> float:
    """Mean distance of points in pixels of the model's frame."""
    return float(np.linalg.norm(found - known.frontal, axis=1).mean())


def _perturbed(known: Known, seed: int, shift: float = 3.0, model: AppearanceModel | None = None) -> Floats:
    """A start that is off by place, size, turn and shape."""
    rng = np.random.default_rng(seed)
    centre = known.frontal.mean(axis=0)
    angle, scale = rng.uniform(-0.03, 0.03), rng.uniform(0.97, 1.03)
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    start = (known.frontal - centre) @ turn.T + centre + rng.uniform(-shift, shift, 2)
    if model is not None:
        start = start + (rng.normal(0, 0.5, len(known.b)) * np.sqrt(model.shape_variances) @ model.shape_basis).reshape(
            -1, 2
        )
    return np.asarray(start)


@pytest.mark.parametrize("yaw", [0.0, 0.3])
def test_a_known_face_is_recovered_from_perturbed_starts(model: AppearanceModel, fitting: FitModel, yaw: float) -> None:
    before, after, residuals = [], [], []
    for seed in range(12):
        known = _known(model, seed, yaw)
        start = _perturbed(known, seed + 100, model=model)
        found = _fitted(fitting, known, start)
        before.append(_error(start, known))
        after.append(_error(found.points, known))
        residuals.append((found.residual_before, found.residual))
        assert found.residual <= found.residual_before
        assert found.converged
    assert np.median(after) < 0.6 * np.median(before)
    assert np.mean([b for b, _ in residuals]) > 1.1 * np.mean([a for _, a in residuals])


def test_a_perfect_start_is_kept(model: AppearanceModel, fitting: FitModel) -> None:
    for seed in range(4):
        known = _known(model, seed)
        found = _fitted(fitting, known, known.frontal)
        assert _error(found.points, known) < 1.5
        np.testing.assert_allclose(found.shape, known.b, atol=1.2 * np.sqrt(model.shape_variances).max())


def test_gain_and_bias_of_light_drop_out(model: AppearanceModel, fitting: FitModel) -> None:
    known = _known(model, 3)
    start = _perturbed(known, 7)
    one = _fitted(fitting, known, start)
    dimmed = np.clip(0.5 * known.grey.astype(float) + 30, 0, 255).astype(np.uint8)
    other = _fitted(fitting, known, start, dimmed)
    np.testing.assert_allclose(one.points, other.points, atol=0.5)
    assert one.residual == pytest.approx(other.residual, abs=0.03)


def test_an_occluded_quarter_does_not_throw_it_off(model: AppearanceModel, fitting: FitModel) -> None:
    clear, hidden, marked = [], [], []
    for seed in range(8):
        known = _known(model, seed)
        start = _perturbed(known, seed + 50)
        low, high = known.scene.points.min(axis=0).astype(int), known.scene.points.max(axis=0).astype(int)
        middle = (low + high) // 2
        covered = known.grey.copy()
        covered[middle[1] : high[1] + 1, middle[0] : high[0] + 1] = 15
        a, b = _fitted(fitting, known, start), _fitted(fitting, known, start, covered)
        clear.append(_error(a.points, known))
        hidden.append(_error(b.points, known))
        assert b.residual > a.residual, "the occlusion shows in the residual"
        corners = known.scene.points[model.triangles].mean(axis=1)
        inside = (corners > middle).all(axis=1)
        rise = b.triangle_residual - a.triangle_residual
        marked.append(rise[inside].mean() - rise[~inside].mean())
    assert np.median(marked) > 0.05, "and where it is"
    assert np.median(hidden) < np.median(clear) + 2.5


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_converge(fitting: FitModel, model: AppearanceModel, seed: int) -> None:
    known = _known(model, seed)
    noise = np.random.default_rng(seed).integers(0, 255, known.grey.shape).astype(np.uint8)
    found = _fitted(fitting, known, known.frontal, noise)
    assert not found.converged and found.residual > CONVERGED


def test_an_even_picture_does_not_converge_and_does_not_fail(fitting: FitModel, model: AppearanceModel) -> None:
    known = _known(model, 1)
    found = _fitted(fitting, known, known.frontal, np.full_like(known.grey, 128))
    assert np.isfinite(found.points).all() and np.isfinite(found.residual)


def test_parameters_stay_within_three_standard_deviations(fitting: FitModel, model: AppearanceModel) -> None:
    known = _known(model, 2)
    wild = known.frontal + np.random.default_rng(1).normal(0, 25, known.frontal.shape)
    found = _fitted(fitting, known, wild)
    assert (np.abs(found.shape) <= 3 * np.sqrt(model.shape_variances) + 1e-6).all()


def test_steps_are_counted_and_limited(fitting: FitModel, model: AppearanceModel) -> None:
    known = _known(model, 5)
    start = _perturbed(known, 3)
    none = _fitted(fitting, known, start, steps=0)
    assert none.steps == 0 and none.residual == none.residual_before
    for limit in (1, 3):
        assert _fitted(fitting, known, start, steps=limit).steps <= limit
    assert _fitted(fitting, known, start, steps=12).residual <= _fitted(fitting, known, start, steps=1).residual + 1e-6


def test_the_jacobian_is_the_derivative_of_the_residual(fitting: FitModel, model: AppearanceModel) -> None:
    """Moving the mesh over the mean face by a small parameter changes the texture by that column, to first order."""
    table = fitting.table
    picture = np.zeros((table.size[1], table.size[0]), np.float32)
    picture[table.rows, table.columns] = model.fit_mean
    for q in (0, 1, 2, 3, 4, 6):
        step = 0.4 / np.abs(fitting.directions[q]).max()
        moved = [
            sample(
                picture[:, :, None], fitting.scale * (model.mean_shape + sign * step * fitting.directions[q]), table
            )[:, 0]
            for sign in (1, -1)
        ]
        change = (moved[0] - moved[1]) / (2 * step)
        change -= change.mean()
        for known in (model.fit_mean, *model.fit_basis):
            change -= (known @ change) * known
        column = fitting.jacobian[:, q]
        away = cv2.erode((picture != 0).astype(np.uint8), np.ones((5, 5), np.uint8))[table.rows, table.columns] > 0
        correlation = np.corrcoef(change[away], column[away])[0, 1]
        assert correlation > 0.9
        assert np.linalg.norm(change[away]) == pytest.approx(np.linalg.norm(column[away]), rel=0.25)


def test_hessians_of_the_triangles_add_up(fitting: FitModel) -> None:
    whole = fitting.jacobian.astype(float).T @ fitting.jacobian.astype(float)
    np.testing.assert_allclose(fitting.hessians.sum(axis=0), whole, rtol=1e-5, atol=1e-6 * np.abs(whole).max())


def test_what_texture_explains_is_projected_out(fitting: FitModel, model: AppearanceModel) -> None:
    jacobian = fitting.jacobian
    size = np.linalg.norm(jacobian, axis=0).max()
    assert np.abs(model.fit_basis @ jacobian).max() < 1e-3 * size
    assert np.abs(model.fit_mean @ jacobian).max() < 1e-3 * size
    again = _steepest_descent(model, fitting.table, fitting.directions[:4] * fitting.scale)
    np.testing.assert_allclose(again, jacobian[:, :4], atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 60))
def test_kernels_are_those_of_their_twins(seed: int, triangles: int, pixels: int) -> None:
    rng = np.random.default_rng(seed)
    error = rng.normal(0, 1, pixels).astype(np.float32)
    triangle = rng.integers(0, triangles, pixels).astype(np.int32)  # some triangles may have no pixel
    np.testing.assert_allclose(
        _triangle_rms(error, triangle, triangles),
        slow_twins.triangle_rms(error.astype(float), triangle, triangles),
        rtol=1e-4,
    )
    jacobian = rng.normal(0, 1, (pixels, 5)).astype(np.float32)
    weights = rng.uniform(0, 1, triangles).astype(np.float32)
    np.testing.assert_allclose(
        _weighted_gradient(jacobian, error, triangle, weights),
        slow_twins.weighted_gradient(jacobian.astype(float), error.astype(float), triangle, weights),
        atol=1e-4,
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_that_of_its_twin(fitting: FitModel, model: AppearanceModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    error = rng.normal(0, 0.005, len(fitting.table.rows))
    hidden = np.isin(fitting.table.triangle, rng.choice(len(model.triangles), 25, replace=False))
    error[hidden] *= 15  # an occlusion: without robust weights it would decide
    b = rng.normal(0, 0.3, len(model.shape_variances)) * np.sqrt(model.shape_variances)
    similarity = Similarity(np.array([[1.1, -0.1], [0.1, 1.1]]), np.array([3.0, -2.0]))
    increment = slow_twins.gauss_newton_increment(
        fitting.jacobian.astype(float),
        error,
        fitting.table.triangle,
        len(model.triangles),
        fitting.prior,
        np.concatenate([np.zeros(4), b]),
    )
    got_similarity, got_b = _step(fitting, similarity, b, error.astype(np.float32))
    change = np.einsum("q,qvc->vc", increment, fitting.directions)
    wanted = model.mean_shape + (b @ model.shape_basis).reshape(-1, 2) - change
    laid = got_similarity(model.mean_shape + (got_b @ model.shape_basis).reshape(-1, 2))
    # What the shape basis cannot hold, and what is clamped, is left out of the wanted shape.
    moved, off = (np.linalg.norm(way, axis=1).mean() for way in (change, laid - similarity(wanted)))
    assert moved > 0.3, "the step goes somewhere"
    assert off < 0.25 * moved


def test_normalised_grey_has_no_mean_and_unit_norm() -> None:
    rng = np.random.default_rng(1)
    grey = rng.uniform(0, 255, 500).astype(np.float32)
    unit = normalised_grey(grey)
    assert abs(float(unit.mean())) < 1e-6 and float(np.linalg.norm(unit)) == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(normalised_grey(3 * grey + 20), unit, atol=1e-6)
    assert np.isfinite(normalised_grey(np.full(10, 7, np.float32))).all()
