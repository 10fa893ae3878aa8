"""The Fisherface: a two-class linear discriminant analysis that names an expression and measures how strong it is.

Meng and Shenoy (P2), figure 4 and equation (2); docs/methods.md 1.10. With two classes S_W⁻¹ S_B has one eigenvector
with a non-zero eigenvalue, S_W⁻¹ (μ₊ − μ₋), which is solved for directly. P2 keeps as many dimensions as it has faces,
so its S_W is singular and the discriminant maps all training faces of a class to one value. Here S_W is shrunk (as for
`attributes`, too): (1 − γ) S_W + γ tr(S_W) / d · I. It is also written S_W + γ' tr(S_W) / d · I, which gives the same
direction for γ' = γ / (1 − γ).

Intensity is measured in half gaps between the classes: the mean of the positive class lies at +1, the mean of the
negative class at −1, and 0 is midway. (P2's scale has them at ∓4.2, without a meaning of its own.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.errors import SettingsError


@dataclass(frozen=True)
class Fisherface:
    """A linear measure of one expression in face vectors (n, d), such as projections into a face space."""

    weights: Vector
    """float64 (d,)."""
    offset: float
    """The value that `weights` give for the midpoint of the class means."""

    def intensity(self, vectors: Vectors) -> Vector:
        """How strongly each row (n, d) shows the positive class: float64 (n,), about −1 to 1, 0 midway."""
        return np.asarray(vectors @ self.weights - self.offset, dtype=np.float64)

    def positive(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Whether each row (n, d) is of the positive class: bool (n,)."""
        return np.asarray(self.intensity(vectors) > 0.0, dtype=np.bool_)

    def expression_index(self) -> Vector:
        """P2's "expression index" as a unit axis (d,): the coordinate with the largest weight, the sixth in P2."""
        return np.asarray(np.eye(len(self.weights))[int(np.abs(self.weights).argmax())], dtype=np.float64)


def fit_fisherface(vectors: Vectors, positive: NDArray[np.bool_], shrinkage: float = 0.3) -> Fisherface:
    """Train a Fisherface on rows (n, d) and their classes, bool (n,), True for positive; `shrinkage` is γ, from 0 to 1.

    Raises SettingsError when a class is missing, when the class means coincide, or when γ = 0 and S_W is singular.
    """
    inside = np.asarray(positive, dtype=np.bool_)
    if vectors.ndim != 2 or inside.shape != (len(vectors),) or not np.isfinite(vectors).all():
        raise SettingsError("a Fisherface needs finite vectors, one per row, and one class for each")
    if not 0.0 <= shrinkage <= 1.0:
        raise SettingsError(f"shrinkage must be from 0 to 1, not {shrinkage}")
    if inside.all() or not inside.any():
        raise SettingsError("a Fisherface needs faces of both classes")
    above, below = vectors[inside].mean(axis=0), vectors[~inside].mean(axis=0)
    within = vectors - np.where(inside[:, None], above, below)
    shrunk = shrunken_scatter(within, shrinkage)
    gap = above - below
    if shrinkage == 0.0 and np.linalg.matrix_rank(shrunk, hermitian=True) < len(shrunk):
        raise SettingsError("too few faces for a Fisherface without shrinkage: the scatter within classes is singular")
    weights = np.linalg.solve(shrunk, gap)
    between = float(weights @ gap)
    if not between > 0.0:
        raise SettingsError("the two classes have the same mean: there is no expression to measure")
    weights = weights * (2.0 / between)
    return Fisherface(weights, float(weights @ (above + below)) / 2.0)


def shrunken_scatter(within: Vectors, shrinkage: float) -> Vectors:
    """S_W shrunk to a multiple of the identity, (1 − γ) S_W + γ tr(S_W) / d · I: float64 (d, d) (docs/methods.md 1.10).

    within (n, d): rows less the mean of their class. If the rows have no spread at all, every metric is equally good,
    and the identity stands in for S_W.
    """
    scatter = within.T @ within / len(within)
    dimensions = len(scatter)
    level = float(np.trace(scatter)) / dimensions or 1.0
    return np.asarray((1.0 - shrinkage) * scatter + shrinkage * level * np.eye(dimensions), np.float64)


def set_intensity(vectors: Vectors, face: Fisherface, target: Vector | float, along: Vector | None = None) -> Vectors:
    """Move rows (n, d) so that their intensity is `target`, one number or one per row (n,): float64 (n, d).

    By default each row moves as little as it can, along the weights. P2's equation (2) changes only the expression
    index: give `along=face.expression_index()`. To move one eigenface alone can leave the space of faces
    (docs/methods.md 1.10); therefore the default is another. Raises SettingsError when `along` (d,) does not change the
    intensity.
    """
    direction = face.weights if along is None else along
    slope = float(face.weights @ direction)
    if slope == 0.0:
        raise SettingsError("the expression does not change along this direction")
    steps = (np.asarray(target, dtype=np.float64) - face.intensity(vectors)) / slope
    return np.asarray(vectors + steps[:, None] * direction, dtype=np.float64)
