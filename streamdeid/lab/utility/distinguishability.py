"""Whether published faces can be told apart as well as the originals: distances in pairs (P3, Table I)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.errors import FailedClosed
from streamdeid.k_same.clusters import distances
from streamdeid.surrogates.choice import Surrogates, SurrogateSettings
from streamdeid.surrogates.gallery import Gallery

TABLE_I = {
    "original faces": (7.84, 50.50, 25.74, 7.32),
    "k-diff-furthest-paper": (12.76, 50.10, 26.80, 6.55),
    "k-same-m": (0.0, 18.47, 12.64, 2.17),
    "k-same-furthest": (0.0, 31.17, 19.10, 5.00),
}
"""P3's own figures, 40 people, k = 5: least, largest, mean distance and standard deviation, in its own units."""


@dataclass(frozen=True)
class PairDistances:
    """Distances of all pairs of some faces, as in P3's Table I; nan without a pair."""

    faces: int
    least: float
    largest: float
    mean: float
    deviation: float
    """Without pairs at distance zero, which are repetitions of one face (P3, section IV)."""

    @staticmethod
    def of(vectors: Points) -> PairDistances:
        """Of faces (n, d); rows with a nan are left out."""
        faces = vectors[np.isfinite(vectors).all(axis=1)]
        if len(faces) < 2:
            return PairDistances(len(faces), math.nan, math.nan, math.nan, math.nan)
        # Differences, not squares of lengths: equal faces are to be at zero exactly.
        between = np.concatenate([distances(faces[row + 1 :], faces[row]) for row in range(len(faces) - 1)])
        apart = between[between > 0.0]
        deviation = float(apart.std()) if len(apart) else 0.0
        return PairDistances(len(faces), float(between.min()), float(between.max()), float(between.mean()), deviation)

    def ratios(self, other: PairDistances) -> tuple[float, float, float, float]:
        """Least, largest, mean and deviation as multiples of another's; nan where that is zero or nan."""
        mine, theirs = self.figures, other.figures
        least, largest, mean, deviation = (a / b if b else math.nan for a, b in zip(mine, theirs, strict=True))
        return least, largest, mean, deviation

    @property
    def figures(self) -> tuple[float, float, float, float]:
        """Least, largest, mean and deviation."""
        return self.least, self.largest, self.mean, self.deviation


@dataclass(frozen=True)
class SessionCrowd:
    """What many people got in one session."""

    vectors: Points
    """float64 (n, d), nan for people who were refused a surrogate."""
    refused: int
    relaxed: int
    """Steps by which the least separation was relaxed."""

    @property
    def distinct(self) -> int:
        """Different surrogates among those given."""
        given = self.vectors[np.isfinite(self.vectors).all(axis=1)]
        return len(np.unique(given, axis=0)) if len(given) else 0


def drawn_people(donors: Points, count: int, rng: np.random.Generator) -> Points:
    """Identities of `count` people who never lived, float64 (count, d): Gaussian, with the donors' mean and covariance.

    donors: float64 (n, d).
    """
    mean = donors.mean(axis=0)
    return np.asarray(mean + rng.standard_normal((count, len(donors))) @ (donors - mean) / np.sqrt(len(donors) - 1))


def surrogates_of(people: Points, gallery: Gallery, variances: Points, method: str, key: bytes) -> SessionCrowd:
    """Surrogates of people (n, d), all in one session with the default settings. variances (d,): the model's."""
    surrogates = Surrogates(gallery, variances, SurrogateSettings(method=method), key)
    vectors = np.array([_given(surrogates, number, identity) for number, identity in enumerate(people, start=1)])
    return SessionCrowd(vectors, surrogates.counts["failed closed"], surrogates.counts["separation relaxed"])


def _given(surrogates: Surrogates, person: int, identity: Points) -> Points:
    """The surrogate of a person (d,), or nan where the session refuses one (it counts that itself)."""
    try:
        return surrogates.surrogate(person, identity).vector
    except FailedClosed:
        return np.full(identity.shape, np.nan)
