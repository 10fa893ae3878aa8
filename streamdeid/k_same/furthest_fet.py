"""k-Same-furthest-FET: the papers' own facial expression transfer (P4 section 3, repaired as in docs/methods.md 1.9).

Shape and texture of an expression are moved in the model's parameters, S_new = S_new_neutral + S - S_neutral, each
parameter clamped to three standard deviations; the openings of eyes and mouth are then scaled by the ratio of widths.
Kept for comparison (`--transfer paper`): mouths are stiffer and there are no folds that the training set lacks.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.aam.procrustes import align
from streamdeid.aam.synthesise import extended
from streamdeid.core.ibug68 import (
    CHIN,
    LEFT_EYE,
    LEFT_EYE_CORNERS,
    MOUTH,
    MOUTH_CORNERS,
    RIGHT_EYE,
    RIGHT_EYE_CORNERS,
)
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation
from streamdeid.render.expression import lay
from streamdeid.render.new_face import NewFace, reduced_texture


def transfer_shape(model: AppearanceModel, shape: Points, neutral: Points, surrogate: Points) -> Points:
    """P4 steps 4 to 6: the surrogate's shape (81, 2) with the expression of shape against neutral, all (81, 2).

    Step 4 scales x by the faces' widths and y by their heights; step 5 is equation (1) with the clamp; step 6 is
    equation (2), with the ratio of widths also for heights (the printed ratio of openings is 0 / 0 for closed lips).
    """
    scale = np.array([_extent(surrogate, 0, 16) / _extent(neutral, 0, 16), _height(surrogate) / _height(neutral)])
    centre = neutral.mean(axis=0)
    scaled, rest = ((points - centre) * scale for points in (shape, neutral))
    parameters = model.shape_basis @ (surrogate - model.mean_shape + scaled - rest).ravel()
    limit = 3 * np.sqrt(model.shape_variances)
    moved: Points = model.mean_shape + (np.clip(parameters, -limit, limit) @ model.shape_basis).reshape(-1, 2)
    parts = ((LEFT_EYE, LEFT_EYE_CORNERS), (RIGHT_EYE, RIGHT_EYE_CORNERS), (MOUTH, MOUTH_CORNERS))
    for part, (a, b) in parts:
        ratio = _extent(surrogate, a, b) / max(_extent(neutral, a, b), 1e-6)
        corners = moved[a].copy(), moved[b].copy()
        moved[part] = lay(shape[part], (shape[a], shape[b]), corners, ratio)
    return moved


def transfer_texture(model: AppearanceModel, texture: Pixels, neutral: Pixels, surrogate: Points) -> Pixels:
    """P4 step 7: the surrogate's texture with the expression of texture against neutral, textures (n, 3).

    surrogate (d,) is the identity vector. The clamp holds each parameter within three standard deviations.
    """
    s = len(model.shape_variances)
    zero = np.zeros(s)
    change = model.identity(model.mean_shape, texture)[s:] - model.identity(model.mean_shape, neutral)[s:]
    limit = 3 * np.sqrt(model.texture_variances)
    parameters = np.clip(surrogate[s:] + change, -limit, limit)
    return model.decode(np.concatenate([zero, parameters]))[1]


class PaperTransfer:
    """P4's transfer in the shape that the drawing wants. The small texture stands for the full one: the expression's
    part of a texture is as smooth as the fit's frame is coarse."""

    def __init__(self, fitting: FitModel) -> None:
        self._fitting = fitting

    def __call__(self, seen: Observation, neutral: Neutral, face: NewFace) -> tuple[Points, NewFace]:
        """Shape (81, 2) and texture of the surrogate with this frame's expression."""
        model = self._fitting.model
        onto = align(face.shape, model.mean_shape)
        shape = transfer_shape(model, seen.frontal, neutral.shape, onto(face.shape))
        full, rest = (self._enlarged(t) for t in (seen.small_texture, neutral.small_texture))
        texture = transfer_texture(model, full, rest, face.vector)
        picture = model.albedo.even(extended(texture, model.table), face.beard)
        small = reduced_texture(picture, self._fitting.table)
        return onto.inverse()(shape), replace(face, picture=picture, small_texture=small)

    def _enlarged(self, small: Pixels) -> Pixels:
        model, table = self._fitting.model, self._fitting.table
        picture = cv2.resize(extended(small, table), model.frame_size, interpolation=cv2.INTER_LINEAR)
        return np.ascontiguousarray(picture[model.table.rows, model.table.columns])


def _extent(shape: Points, a: int, b: int) -> float:
    return float(np.linalg.norm(shape[b] - shape[a]))


def _height(shape: Points) -> float:
    return float(shape[CHIN, 1] - shape[17:27, 1].min())
