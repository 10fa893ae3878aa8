"""The certificate of a surrogate: what was checked before it was shown, and with which margin (docs/architecture.md 3).

(i) Some donor is nearer to the surrogate P than the person y is, by a margin. This is theorem 1 of k-Diff-furthest,
checked directly instead of through the clusters' overlap: docs/methods.md 1.8, "run-time certificate". (ii) Every other
surrogate in use is at least δ away. (iii) Every donor is at least η away. (iv) P is plausible under the appearance
model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.k_same.clusters import distances, pairwise

_Z95 = 1.6448536269514722  # 95 % quantile of the standard normal distribution

DONOR_MARGIN = "donor margin"
SEPARATION = "separation"
DONOR_DISTANCE = "donor distance"
PLAUSIBILITY = "plausibility"


@dataclass(frozen=True)
class Limits:
    """The limits that a certificate checks. Distances are in the units of the identity space."""

    donor_margin: float
    """(i) the least |P − y| − min |P − donor|."""
    separation: float
    """(ii) δ."""
    donor_distance: float
    """(iii) η."""
    mahalanobis: float
    """(iv) the largest squared Mahalanobis distance from the gallery's mean."""

    def with_separation(self, separation: float) -> Limits:
        """The same limits with another δ."""
        return replace(self, separation=separation)


@dataclass(frozen=True)
class Certificate:
    """The measured values of (i) to (iv) for one surrogate, and the limits that were in force."""

    donor_margin: float | None
    """None where it was not tested, since y was not known."""
    separation: float
    """Infinite for the first surrogate of a session."""
    donor_distance: float
    mahalanobis: float
    limits: Limits

    @property
    def failures(self) -> frozenset[str]:
        """Names of the conditions that do not hold."""
        checks = {
            DONOR_MARGIN: self.donor_margin is None or self.donor_margin >= self.limits.donor_margin,
            SEPARATION: self.separation >= self.limits.separation,
            DONOR_DISTANCE: self.donor_distance >= self.limits.donor_distance,
            PLAUSIBILITY: self.mahalanobis <= self.limits.mahalanobis,
        }
        return frozenset(name for name, holds in checks.items() if not holds)

    @property
    def untested(self) -> frozenset[str]:
        """Names of the conditions that were not tested."""
        return frozenset({DONOR_MARGIN} if self.donor_margin is None else ())


@dataclass(frozen=True)
class Plausibility:
    """Squared Mahalanobis distance under the model's own variances, over the components that tell donors apart."""

    mean: Vector
    """Mean of the donors, float64 (d,)."""
    weights: Vector
    """1 / variance, and 0 for components that are the same for all donors (brightness), float64 (d,)."""

    @staticmethod
    def of(donors: Vectors, variances: Vector) -> Plausibility:
        """From donors (n, d) and the model's variances (d,), in the same weighted units."""
        used = (np.ptp(donors, axis=0) > 0.0) & (variances > 0.0)
        weights = np.zeros(len(variances))
        weights[used] = 1.0 / variances[used]
        return Plausibility(donors.mean(axis=0), weights)

    def squared(self, vectors: Vectors) -> Vector:
        """Squared distances of vectors (m, d): float64 (m,)."""
        return np.asarray(np.square(vectors - self.mean) @ self.weights, dtype=np.float64)

    @property
    def dimensions(self) -> int:
        """How many components count."""
        return int(np.count_nonzero(self.weights))


def certify(
    surrogate: Vector, y: Vector | None, donors: Vectors, in_use: Vectors, plausibility: Plausibility, limits: Limits
) -> Certificate:
    """Measure (i) to (iv) for a surrogate (d,) of a person at y (d,), against other surrogates `in_use` (m, d).

    y: None for a person of whom nothing is known; (i) is then not tested.
    """
    to_donor = float(distances(donors, surrogate).min())
    to_person = None if y is None else float(np.sqrt(np.square(surrogate - y).sum()))
    return Certificate(
        donor_margin=None if to_person is None else to_person - to_donor,
        separation=float(distances(in_use, surrogate).min()) if len(in_use) else float("inf"),
        donor_distance=to_donor,
        mahalanobis=float(plausibility.squared(surrogate[None])[0]),
        limits=limits,
    )


def default_limits(donors: Vectors, plausibility: Plausibility) -> Limits:
    """Limits measured on the gallery itself, from the distance of each donor to its nearest other donor.

    * margin (i): a tenth of the median of these distances, so that a small error of y cannot make the certificate void;
    * δ (ii): their 5 % quantile: no two surrogates are more alike than the most similar real people are;
    * η (iii): half of that: a surrogate is not closer to a donor than the middle between two similar donors;
    * (iv): the 95 % quantile of χ² with as many degrees of freedom as components (Wilson and Hilferty 1931).
    """
    between = pairwise(donors, donors)
    np.fill_diagonal(between, np.inf)
    to_nearest = between.min(axis=1)
    freedom = plausibility.dimensions
    cube = 1.0 - 2.0 / (9.0 * freedom) + _Z95 * np.sqrt(2.0 / (9.0 * freedom))
    alike = float(np.quantile(to_nearest, 0.05))
    return Limits(
        donor_margin=0.1 * float(np.median(to_nearest)),
        separation=alike,
        donor_distance=0.5 * alike,
        mahalanobis=float(freedom * cube**3),
    )
