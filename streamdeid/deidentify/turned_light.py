"""The light of a turned head: a plane over the half that is seen; the other half tells nothing (METHODS 6.3 item 4)."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.piecewise_affine import Pixels
from streamdeid.deidentify.light import LightFrame
from streamdeid.deidentify.turned_view import TurnedView

_NEAR = 0.15, 0.3
"""How far beyond the middle of the face a pixel still counts, and over what it fades, halves of its width."""
_FARTHEST = 0.2
"""How far the plane goes on darkening beyond the middle, halves of the width: what lies there was not seen."""
_MOST = 0.9
"""Largest change, natural log."""
_RIDGE = 4e-3
_SPREAD = 0.1
"""Deviation, natural log, from which a pixel counts less: brows, folds, lips."""


def turned_light(light: LightFrame, change: Pixels, view: TurnedView) -> Pixels:
    """A frame's change of light float32 (h, w, 3) as it is where the face is drawn flat, going over to a plane.

    change: ratio of a frame's light to that of the face at rest (`light.light_ratio`).
    """
    rows, columns = light.table.rows, light.table.columns
    width, height = light.table.size
    level = np.log(change.mean(axis=2))
    x, y = _places(columns, width), _places(rows, height)
    side = float(np.sign(view.pose.yaw))
    near = np.clip((side * x + _NEAR[0]) / _NEAR[1], 0, 1)
    terms = np.column_stack([np.ones(len(x)), x, y])
    found, weights = np.zeros(3), near
    for _ in range(4):
        weighted = terms * weights[:, None]
        ridge = _RIDGE * near.sum() * np.diag([0.0, 1.0, 1.0])
        found = np.linalg.solve(weighted.T @ terms + ridge, weighted.T @ level[rows, columns])
        weights = near / (1 + ((level[rows, columns] - terms @ found) / _SPREAD) ** 2)
    grid_x = np.maximum(side * _places(np.arange(width), width), -_FARTHEST) * side
    grid_y = _places(np.arange(height), height)
    plane = np.clip(found[0] + found[1] * grid_x[None, :] + found[2] * grid_y[:, None], -_MOST, _MOST)
    mixed = (1 - view.share) * np.log(change) + view.share * plane[:, :, None]
    return np.exp(mixed).astype(np.float32)


def _places(
    pixels: np.ndarray[tuple[int], np.dtype[np.integer]], size: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Pixels (n,) from -1 to 1."""
    return (pixels - size / 2) / (size / 2)
