"""Procrustes alignment of shapes: the similarity transform is removed before shape is learnt (Cootes et al. 1995)."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.kernel_cache import kernel
from streamdeid.core.similarity import Similarity


def align(source: Points, target: Points, weights: Points | None = None) -> Similarity:
    """The similarity that takes source (n, 2) nearest to target (n, 2), least squares, weights (n,) non-negative.

    Raises ValueError when the numbers of points or weights differ."""
    w = np.ones(len(source)) if weights is None else weights
    if not len(source) == len(target) == len(w):
        raise ValueError("there have to be as many points on both sides, and weights")
    return Similarity(*_aligned(*(np.ascontiguousarray(one, np.float64) for one in (source, target, w))))


@kernel
def _aligned(source: Points, target: Points, weights: Points) -> tuple[Points, Points]:
    """`align` as linear (2, 2) and shift (2,). Twin: tests/aam/test_procrustes.py."""
    a, b, total = np.zeros(2), np.zeros(2), weights.sum()
    if total == 0:
        return np.full((2, 2), np.nan), np.full(2, np.nan)
    for k in range(len(source)):
        for axis in range(2):
            a[axis] += weights[k] * source[k, axis] / total
            b[axis] += weights[k] * target[k, axis] / total
    spread = along = across = 0.0
    for k in range(len(source)):
        px, py, qx, qy = source[k, 0] - a[0], source[k, 1] - a[1], target[k, 0] - b[0], target[k, 1] - b[1]
        spread += weights[k] * (px * px + py * py)
        along += weights[k] * (px * qx + py * qy)
        across += weights[k] * (px * qy - py * qx)
    linear = np.eye(2)
    if not spread <= 0:  # also for nan
        along, across = along / spread, across / spread
        linear[0, 0], linear[0, 1], linear[1, 0], linear[1, 1] = along, -across, across, along
    shift = np.empty(2)
    for axis in range(2):
        shift[axis] = b[axis] - linear[axis, 0] * a[0] - linear[axis, 1] * a[1]
    return linear, shift


def generalised_procrustes(shapes: Points, rounds: int = 20) -> tuple[Points, Points]:
    """Mean shape (n, 2), centred, of unit root-mean-square radius, upright like the first; and the aligned shapes.

    shapes: float64 (m, n, 2).
    """
    reference = _normalised(shapes[0])
    mean = reference
    for _ in range(rounds):
        aligned = np.stack([align(s, mean)(s) for s in shapes])
        new = _normalised(aligned.mean(axis=0))
        new = _normalised(align(new, reference)(new))
        moved = float(np.abs(new - mean).max())
        mean = new
        if moved < 1e-10:
            break
    return mean, np.stack([align(s, mean)(s) for s in shapes])


def _normalised(shape: Points) -> Points:
    centred = shape - shape.mean(axis=0)
    unit: Points = centred / np.sqrt((centred**2).sum(axis=1).mean())
    return unit
