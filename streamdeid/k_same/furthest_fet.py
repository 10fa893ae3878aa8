"""k-Same-furthest-FET: the papers' own facial expression transfer (P4 section 3, repaired as in docs/methods.md 1.9).

Shape and texture of an expression are moved in the model's parameters, S_new = S_new_neutral + S - S_neutral, and each
parameter is clamped to three standard deviations. The openings of eyes and mouth are then scaled by the ratio of
widths. The method is kept for comparison (`--transfer paper`): mouths are stiffer, and folds that the training set
lacks do not appear.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import (
    CHIN,
    LEFT_EYE,
    LEFT_EYE_CORNERS,
    MOUTH,
    MOUTH_CORNERS,
    RIGHT_EYE,
    RIGHT_EYE_CORNERS,
)


def transfer_shape(model: AppearanceModel, shape: Points, neutral: Points, surrogate: Points) -> Points:
    """The surrogate's shape (81, 2) with the expression of shape against neutral, all (81, 2): P4 steps 4 to 6.

    Step 4 scales x by the ratio of the faces' widths and y by that of their heights. Step 5 is equation (1) with the
    clamp. Step 6 is equation (2), with the ratio of widths also for heights (the printed ratio of openings is 0 / 0 for
    closed lips).
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
    """The surrogate's texture with the expression of texture against neutral, textures (n, 3): P4 step 7.

    surrogate (d,) is the identity vector. The clamp holds each parameter within three standard deviations.
    """
    s = len(model.shape_variances)
    zero = np.zeros(s)
    change = model.identity(model.mean_shape, texture)[s:] - model.identity(model.mean_shape, neutral)[s:]
    limit = 3 * np.sqrt(model.texture_variances)
    parameters = np.clip(surrogate[s:] + change, -limit, limit)
    return model.decode(np.concatenate([zero, parameters]))[1]


def lay(points: Points, corners: tuple[Points, Points], onto: tuple[Points, Points], ratio: float) -> Points:
    """Turn points (n, 2) so that the line between their corners gets the direction of the line between another pair.

    The points are scaled by `ratio` about the middle of their corners, which moves to the middle of the other pair.
    """
    (a, b), (c, d) = corners, onto
    turn = np.arctan2(*(d - c)[::-1]) - np.arctan2(*(b - a)[::-1])
    rotation = ratio * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    laid: Points = (points - (a + b) / 2) @ rotation.T + (c + d) / 2
    return laid


def _extent(shape: Points, a: int, b: int) -> float:
    return float(np.linalg.norm(shape[b] - shape[a]))


def _height(shape: Points) -> float:
    return float(shape[CHIN, 1] - shape[17:27, 1].min())
