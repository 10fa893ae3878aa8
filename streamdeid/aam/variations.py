"""A photograph as other cameras would have shown it: in other light, less sharp, slightly turned.

Rules on identity vectors that are fitted to studio photographs alone take a lamp from the side or a soft picture for a
trait of the person. These variations leave the person unchanged and change only what differs between cameras.
"""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import spread
from streamdeid.aam.procrustes import align
from streamdeid.aam.train import Sample
from streamdeid.core.arrays import Pixels, Points

_LIGHT = 0.35
"""Standard deviation, natural log, of the light's slope from the middle to a side of the face; that of its curvature is
half as much, that of the colour of the whole a quarter."""
_CONTRAST = (0.75, 1.15)
_BLUR = (0.3, 4.0)
"""Sigma of the blur in pixels of the model's frame: a face of 200 px in focus to one of about 40 px."""
_TURN = 0.25
"""Largest turn of the head to a side and up or down, radians. A face that is turned back to frontal by the mean face's
depth keeps an error where its own depth differs."""


def variation(given: Sample, texture: Pixels, model: AppearanceModel, rng: np.random.Generator) -> Points:
    """Identity vector (d,) of a sample, with texture (n, 3), as another camera would have shown it."""
    shape = _turned(given, model, rng)
    return model.identity(shape, _blurred(_lit(texture, model, rng), model, rng))


def _turned(given: Sample, model: AppearanceModel, rng: np.random.Generator) -> Points:
    to_frame = align(given.points, model.mean_shape)
    own = (given.depth - given.depth.mean()) * to_frame.scale
    turn = np.sin(rng.uniform(-_TURN, _TURN, 2))
    shape: Points = to_frame(given.points) + (own - model.depth)[:, None] * turn
    return shape


def _lit(texture: Pixels, model: AppearanceModel, rng: np.random.Generator) -> Pixels:
    width, height = model.frame_size
    x = (model.table.columns - width / 2) / (width / 2)
    y = (model.table.rows - height / 2) / (height / 2)
    terms = np.column_stack([x, y, x * x, x * y, y * y])
    level = terms @ (rng.normal(0, _LIGHT, 5) * (1, 1, 0.5, 0.5, 0.5))
    tone = rng.normal(0, _LIGHT / 4, 3)
    middle = texture.mean(axis=0)
    flat = middle + rng.uniform(*_CONTRAST) * (texture - middle)
    return np.asarray(np.clip(flat * np.exp(level[:, None] + tone), 0, 255), np.float32)


def _blurred(texture: Pixels, model: AppearanceModel, rng: np.random.Generator) -> Pixels:
    sigma = float(np.exp(rng.uniform(*np.log(_BLUR))))
    table = model.table
    inside = spread(np.ones((len(texture), 1), np.float32), table)[:, :, 0]
    near = cv2.GaussianBlur(inside, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT)[:, :, None]
    soft = cv2.GaussianBlur(spread(texture, table), (0, 0), sigma, borderType=cv2.BORDER_CONSTANT)
    return np.asarray((soft / np.maximum(near, 1e-3))[table.rows, table.columns], np.float32)
