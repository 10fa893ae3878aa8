"""Fitting: project-out inverse-compositional Gauss-Newton (Matthews & Baker 2004), robust, with a shape prior.

The fit runs on grey textures of a small frame, shifted to zero mean and scaled to unit norm so that gain and bias of
the light drop out. Head pose is undone first (`aam.pose`), so a turned face is fitted in the frontal frame. Robust
weights are given per triangle: an occlusion covers triangles, and the Hessians of the triangles can then be computed
once (Gross, Matthews & Baker 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import WarpTable, sample, spread
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.procrustes import align
from streamdeid.aam.solid_face import SolidFace
from streamdeid.aam.train import normalised_grey
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.kernel_cache import kernel
from streamdeid.core.similarity import Similarity

CONVERGED = 0.7
"""Residual (share of the texture's norm that the model cannot explain) up to which a fit counts as converged."""


@dataclass(frozen=True)
class Fit:
    """The model laid onto a face. A fit that did not converge is a value like any other."""

    shape: Points
    """float64 (s,): shape parameters, pixels of the model's frame."""
    texture: Points
    """float64 (c,): grey texture parameters of the unit-norm texture."""
    similarity: Similarity
    """Pose within the frame: takes the model's shape onto the frontal points."""
    points: Points
    """float64 (81, 2): fitted vertices in the frontal frame."""
    residual: float
    """Norm of the part that the model cannot explain, 0 (perfect) to 1."""
    residual_before: float
    """The same at the start."""
    triangle_residual: Points
    """float64 (m,): root mean square residual of each triangle over that of an average pixel at the mean face."""
    steps: int
    converged: bool


@dataclass(frozen=True)
class FitModel:
    """The constants of the fit, computed once per model. f pixels of the small frame, q = 4 + s parameters."""

    model: AppearanceModel
    table: WarpTable
    scale: float
    """Pixels of the small frame for one of the model's frame."""
    directions: Points
    """float64 (q, 81, 2): vertex displacements of unit parameters: x, y, scale, turn, then the shape basis."""
    jacobian: Pixels
    """float32 (f, q): change of the residual for a unit of each parameter."""
    hessians: Points
    """float64 (m, q, q): one for each triangle."""
    prior: Points
    """float64 (q,): weight of the shape prior on each parameter."""

    @cached_property
    def mean_known(self) -> Pixels:
        """float32 (c,): parameters of the mean texture itself."""
        return np.asarray(self.model.fit_basis @ self.model.fit_mean, np.float32)

    @cached_property
    def solid(self) -> SolidFace:
        """The model's mean face as a solid, for heads that are turned."""
        model = self.model
        return SolidFace(model.mean_mesh, model.mean_shape, model.depth, model.closed_triangles)

    @classmethod
    def of(cls, model: AppearanceModel, prior: float = 2e-4) -> FitModel:
        """Steepest-descent images and Hessians of a model."""
        table = model.fit_table
        scale = model.fit_width / model.frame_size[0]
        centred = model.mean_shape - model.mean_shape.mean(axis=0)
        moves = [np.tile([1.0, 0.0], (len(centred), 1)), np.tile([0.0, 1.0], (len(centred), 1))]
        moves += [centred / 100.0, np.column_stack([-centred[:, 1], centred[:, 0]]) / 100.0]
        directions = np.concatenate([np.stack(moves), model.shape_basis.reshape(-1, *centred.shape)])
        jacobian = _steepest_descent(model, table, directions * scale)
        q = jacobian.shape[1]
        hessians = np.zeros((len(model.triangles), q, q))
        for t in range(len(model.triangles)):
            rows = jacobian[table.triangle == t].astype(np.float64)
            hessians[t] = rows.T @ rows
        weights = np.concatenate([np.zeros(4), prior / model.shape_variances])
        return cls(model, table, scale, directions, jacobian, hessians, weights)


def fit(
    fitting: FitModel,
    grey: NDArray[np.uint8],
    to_grey: Similarity,
    pose: HeadPose,
    start: Points,
    most_steps: int = 6,
    enough: float = 0.0,
) -> Fit:
    """Fit the model to a face.

    grey: uint8 (h, w), a picture reduced so that the face is little wider than the small frame; to_grey takes image
    points into it. pose: the head's pose in the image; start (81, 2): first guess in the frontal frame. enough: no step
    is made from a residual up to this, such as that of a frame before, which could not be made smaller. A step that
    diverges ends the fit with the best one before it; a fit that cannot even start has residual 1 and did not converge.
    """
    model = fitting.model
    to_start, b = _project(model, start)
    best: tuple[float, Points, Similarity, Points, Pixels, Pixels] | None = None
    before = 1.0
    steps = 0
    for steps in range(most_steps + 1):
        points = to_start(_shape(model, b))
        if not np.isfinite(points).all():
            break
        texture = normalised_grey(
            sample(grey[:, :, None], to_grey(pose.to_image(points, model.depth)), fitting.table)[:, 0]
        )
        level, known, error = _parted(model, texture)
        residual = float(np.linalg.norm(error))
        if not np.isfinite(residual):
            break
        before = residual if steps == 0 else before
        stalled = residual <= enough if best is None else residual > best[0] - 1e-4
        if best is None or residual < best[0]:
            best = residual, b, to_start, points, error, known + level * fitting.mean_known
        if stalled:
            break
        if steps < most_steps:
            try:
                to_start, b = _step(fitting, to_start, b, error)
            except np.linalg.LinAlgError:
                break
    if best is None:  # not finite from the start: nothing of the face is explained
        nothing = np.zeros(len(model.fit_basis)), np.ones(len(model.triangles))
        return Fit(np.zeros_like(b), nothing[0], to_start, start, 1.0, 1.0, nothing[1], steps, False)
    residual, b, to_start, points, error, parameters = best
    triangles = _triangle_rms(error, fitting.table.triangle, len(model.triangles)) * np.sqrt(len(error))
    inside = bool((np.abs(b) <= 3 * np.sqrt(model.shape_variances) + 1e-6).all())
    converged = inside and residual <= CONVERGED
    return Fit(b, parameters.astype(np.float64), to_start, points, residual, before, triangles, steps, converged)


def _step(fitting: FitModel, similarity: Similarity, b: Points, error: Pixels) -> tuple[Similarity, Points]:
    """One inverse-compositional step: the increment is found on the mean face and its inverse composed."""
    model = fitting.model
    rms = _triangle_rms(error, fitting.table.triangle, len(model.triangles))
    typical = max(float(np.median(rms)), 1e-6)
    weights = 1 / (1 + (rms / (2.5 * typical)) ** 2)
    gradient = _weighted_gradient(fitting.jacobian, error, fitting.table.triangle, weights.astype(np.float32))
    hessian = np.tensordot(weights, fitting.hessians, axes=1)
    standing = np.concatenate([np.zeros(4), b])
    hessian[np.diag_indices_from(hessian)] += fitting.prior + 1e-12
    increment = np.linalg.solve(hessian, gradient - fitting.prior * standing)
    # The inverse of the increment, at first order: the mean shape moved the other way, then taken through the warp.
    moved = _shape(model, b) - np.tensordot(increment, fitting.directions, axes=1)
    within, b_new = _project(model, moved)
    linear = similarity.linear @ within.linear
    return Similarity(linear, similarity.linear @ within.shift + similarity.shift), b_new


def _shape(model: AppearanceModel, b: Points) -> Points:
    return model.mean_shape + (b @ model.shape_basis).reshape(-1, 2)


def _project(model: AppearanceModel, points: Points) -> tuple[Similarity, Points]:
    """Similarity and shape parameters (clamped to three standard deviations) of points (81, 2)."""
    onto = align(points, model.mean_shape)
    b = model.shape_basis @ (onto(points) - model.mean_shape).ravel()
    limit = 3 * np.sqrt(model.shape_variances)
    return onto.inverse(), np.clip(b, -limit, limit)


def _parted(model: AppearanceModel, texture: Pixels) -> tuple[np.float32, Pixels, Pixels]:
    """How much of the mean a texture (f,) has, the parameters (c,) of the rest, and the unexplained part (f,)."""
    level = np.float32(model.fit_mean @ texture)
    rest = texture - level * model.fit_mean
    known: Pixels = np.asarray(model.fit_basis @ rest, np.float32)
    return level, known, np.asarray(rest - known @ model.fit_basis, np.float32)


def _unexplained(model: AppearanceModel, texture: Pixels) -> Pixels:
    return _parted(model, texture)[2]


def _steepest_descent(model: AppearanceModel, table: WarpTable, directions: Points) -> Pixels:
    """Gradient of the mean texture times dW/dp, with everything the texture model explains projected out."""
    picture = spread(model.fit_mean[:, None], table)[:, :, 0]
    inside = spread(np.ones((len(table.rows), 1), np.float32), table)[:, :, 0] > 0
    gy, gx = np.gradient(picture)
    # A difference across the rim would be one between the face and empty pixels.
    solid_x = inside & np.roll(inside, 1, axis=1) & np.roll(inside, -1, axis=1)
    solid_y = inside & np.roll(inside, 1, axis=0) & np.roll(inside, -1, axis=0)
    dx = np.where(solid_x, gx, 0)[table.rows, table.columns]
    dy = np.where(solid_y, gy, 0)[table.rows, table.columns]
    corners = table.triangles[table.triangle]
    moves = np.einsum("fk,qfkc->qfc", table.weights, directions[:, corners])
    images = (moves[:, :, 0] * dx + moves[:, :, 1] * dy).astype(np.float32)
    images -= images.mean(axis=1, keepdims=True)
    return np.ascontiguousarray(np.stack([_unexplained(model, image) for image in images], axis=1))


@kernel
def _triangle_rms(error, triangle, count):  # type: ignore[no-untyped-def]
    total = np.zeros(count)
    pixels = np.zeros(count)
    for i in range(error.shape[0]):
        total[triangle[i]] += error[i] * error[i]
        pixels[triangle[i]] += 1
    for t in range(count):
        total[t] = np.sqrt(total[t] / pixels[t]) if pixels[t] > 0 else 0.0
    return total


@kernel
def _weighted_gradient(jacobian, error, triangle, weights):  # type: ignore[no-untyped-def]
    q = jacobian.shape[1]
    out = np.zeros(q)
    for i in range(error.shape[0]):
        w = weights[triangle[i]] * error[i]
        for k in range(q):
            out[k] += jacobian[i, k] * w
    return out
