"""Procrustes alignment of shapes: the similarity transform is removed before shape is learnt (Cootes et al. 1995)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Points


@dataclass(frozen=True)
class Similarity:
    """A map `points -> points @ linear.T + shift` with linear = scale times rotation."""

    linear: Points
    """float64 (2, 2)."""
    shift: Points
    """float64 (2,)."""

    def __call__(self, points: Points) -> Points:
        """Image of points (..., 2)."""
        mapped: Points = points @ self.linear.T + self.shift
        return mapped

    @property
    def scale(self) -> float:
        """Factor by which lengths grow."""
        return float(np.sqrt(abs(np.linalg.det(self.linear))))

    @property
    def angle(self) -> float:
        """Rotation in radians, clockwise on the screen."""
        return float(np.arctan2(self.linear[1, 0], self.linear[0, 0]))

    def inverse(self) -> Similarity:
        """The map back."""
        back = np.asarray(np.linalg.inv(self.linear), np.float64)
        return Similarity(back, -back @ self.shift)


def align(source: Points, target: Points, weights: Points | None = None) -> Similarity:
    """The similarity that takes source (n, 2) nearest to target (n, 2), least squares, weights (n,) non-negative."""
    w = np.ones(len(source)) if weights is None else weights
    w = w / w.sum()
    a, b = w @ source, w @ target
    p, q = source - a, target - b
    spread = float(w @ (p**2).sum(axis=1))
    if spread <= 0:
        return Similarity(np.eye(2), b - a)
    along = float(w @ (p * q).sum(axis=1)) / spread
    across = float(w @ (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0])) / spread
    linear = np.array([[along, -across], [across, along]])
    return Similarity(linear, b - linear @ a)


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
