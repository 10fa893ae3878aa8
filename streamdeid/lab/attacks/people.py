"""The people of an experiment in the identity space: who they are, and how an attacker or a stream captures them.

docs/methods.md 2.2: 200 people, drawn from a Gaussian with the covariance of the donors; every capture of a person is
the identity plus noise of 0.3 of the spread between people, on each component. Components are the donors' principal
axes, so that noise stays where faces vary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Vector, Vectors

CAPTURE_NOISE = 0.3


@dataclass(frozen=True)
class Population:
    """A Gaussian of identities, with the mean and the covariance of the donors."""

    mean: Vector
    """float64 (d,)."""
    axes: Vectors
    """All principal axes, orthonormal rows, the widest first: float64 (d, d)."""
    spread: Vector
    """Standard deviation along each axis, float64 (r,), r ≤ d: axes on which all donors agree have none."""

    @staticmethod
    def of(donors: Vectors) -> Population:
        """From donors (n, d), n ≥ 2, with 1 / (n − 1) in the covariance."""
        mean = donors.mean(axis=0)
        _, singular, axes = np.linalg.svd(donors - mean, full_matrices=True)
        spread = singular / np.sqrt(len(donors) - 1)
        return Population(mean, axes, spread[spread > 1e-6 * spread[0]])

    def sample(self, count: int, rng: np.random.Generator) -> Vectors:
        """`count` people nobody has seen: float64 (count, d)."""
        return self._from_places(rng.standard_normal((count, len(self.spread)))) + self.mean

    def capture(self, identities: Vectors, rng: np.random.Generator, noise: float = CAPTURE_NOISE) -> Vectors:
        """Another photograph's identity vector of each person (n, d): float64 (n, d)."""
        return identities + self._from_places(noise * rng.standard_normal((len(identities), len(self.spread))))

    def places(self, vectors: Vectors) -> Vectors:
        """Vectors (n, d) on the axes that have a spread, in units of it: float64 (n, r)."""
        along = (vectors - self.mean) @ self.axes[: len(self.spread)].T
        return np.asarray(along / self.spread, dtype=np.float64)

    def whitened(self, vectors: Vectors) -> Vectors:
        """Vectors (n, d) on all axes, each in units of its spread: float64 (n, d).

        An axis on which all donors agree takes the smallest spread of the others: real people differ there a little.
        """
        rest = np.full(len(self.axes) - len(self.spread), self.spread[-1])
        return np.asarray((vectors - self.mean) @ self.axes.T / np.concatenate([self.spread, rest]), dtype=np.float64)

    def _from_places(self, places: Vectors) -> Vectors:
        return np.asarray((places * self.spread) @ self.axes[: len(self.spread)], dtype=np.float64)
