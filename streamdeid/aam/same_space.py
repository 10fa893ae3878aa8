"""Training anew without leaving the identity space, so that everything chosen and measured in it stays valid.

Linear algebra rounds differently on other processors and with other numbers of threads, and the sign of a component is
free. So a second training on the same photographs gives the same space in slightly different numbers, and a face
sampled with a key would be another one. Where the new numbers differ from the old ones only by that, the old ones stay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.errors import InputError

Array = NDArray[np.generic]

_ROUNDING = 1e-5
"""Largest difference that counts as rounding, as a share of an array's largest entry. Two processors differed by 2e-7
(in float32); leaving out one photograph of 204 makes a difference of 1e-2."""
_HALF_ROUNDING = 2e-3
"""The same of the texture basis, whose entries are stored in 16 bits."""

_SPACE = (
    *("frame_size", "mean_shape", "depth", "triangles", "iris", "shape_basis", "shape_variances"),
    *("mean_texture", "texture_basis", "texture_variances", "fit_mean", "fit_basis", "fit_variances", "fit_width"),
)


def in_space_of(old: AppearanceModel, new: AppearanceModel) -> AppearanceModel:
    """`new` with all numbers of the identity space and the fit taken from `old`. Raises InputError when they differ by
    more than rounding and the signs of components."""
    for name in _SPACE:
        before, after = np.asarray(getattr(old, name)), np.asarray(getattr(new, name))
        if before.shape != after.shape or _difference(name, before, after) > _limit(name):
            raise InputError(f"these photographs give another identity space: {name} differs")
    return replace(new, **{name: getattr(old, name) for name in _SPACE}, sha256="")


def _difference(name: str, before: Array, after: Array) -> float:
    a, b = before.astype(np.float64), after.astype(np.float64)
    if name.endswith("basis"):
        b = b * np.sign((a * b).sum(axis=1, keepdims=True))
    return float(np.abs(a - b).max()) / max(float(np.abs(a).max()), 1e-12)


def _limit(name: str) -> float:
    return _HALF_ROUNDING if name == "texture_basis" else _ROUNDING
