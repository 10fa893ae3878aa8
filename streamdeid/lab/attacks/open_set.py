"""A1 as verification: how often is a person accepted as himself when strangers hardly ever are?

Open set: impostors are people who are not in the attacker's gallery, published by a session with the same key, against
everybody who is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.lab.identification import Interval, accepted, bootstrap, equal_error_rate, threshold_at

FALSE_ACCEPTS = (1e-2, 1e-3)


@dataclass(frozen=True)
class Verified:
    """One trial; each person (n,) is 1 when accepted as himself, nan when nothing was published."""

    accepted: tuple[Vector, ...]
    """For each rate of `FALSE_ACCEPTS`, float64 (n,)."""
    equal_error: float
    """nan when there is nobody to verify."""


def verified(distances: Vectors, strangers: Vectors) -> Verified:
    """From distances (n, n) of published person i to photograph j, and of published strangers (m, n) to the same."""
    genuine, impostors = np.diagonal(distances).copy(), strangers[np.isfinite(strangers)]
    made = np.isfinite(genuine)
    if not len(impostors) or not made.any():
        return Verified(tuple(np.full(len(genuine), np.nan) for _ in FALSE_ACCEPTS), float("nan"))
    hits = (accepted(genuine, threshold_at(impostors, far)).astype(float) for far in FALSE_ACCEPTS)
    return Verified(tuple(np.where(made, hit, np.nan) for hit in hits), equal_error_rate(genuine[made], impostors))


def summary(trials: Sequence[Verified], rng: np.random.Generator) -> tuple[list[Interval], Interval]:
    """TAR at each rate of `FALSE_ACCEPTS` and the mean equal error rate, with 95 % limits; the latter's over trials."""
    rates = [
        bootstrap(np.stack([trial.accepted[i] for trial in trials], axis=1), rng) for i in range(len(FALSE_ACCEPTS))
    ]
    return rates, bootstrap(np.array([trial.equal_error for trial in trials]), rng)
