"""From an attack's distances to hits for each person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.lab.identification import Interval, bootstrap, identified

RANKS = (1, 5)
_JITTER = 1e-6


@dataclass(frozen=True)
class Scored:
    """What one attack reached in one trial."""

    rank_1: Vector
    """Hit for each person: 0, 1, or a probability; nan for those not under attack or not published. float64 (n,)."""
    rank_5: Vector
    chance: float
    """Rank-1 of guessing."""


def scored(distances: Vectors, rng: np.random.Generator, known: NDArray[np.intp] | None = None) -> Scored:
    """Judge distances (n, n) from what was published of person i to gallery person j, smaller = likelier.

    Rows of nan were not published. `known` (s,) are people whom the attacker knows already: neither under attack nor
    suspects. Of people at the same distance the attacker names one at random: methods that share faces earn no zero
    for it, which `identified` alone would give them.
    """
    count = len(distances)
    made: NDArray[np.bool_] = np.asarray(np.isfinite(distances).any(axis=1))
    scale = float(np.median(np.abs(distances[np.isfinite(distances)]))) if made.any() else 1.0
    shaken = distances + _JITTER * max(scale, 1e-12) * rng.random(distances.shape)
    suspects = count
    if known is not None:
        made[known] = False
        shaken[:, known] = np.inf
        suspects -= len(known)
    people = np.arange(count)
    ranks = [np.where(made, identified(shaken, people, people, rank), np.nan) for rank in RANKS]
    return Scored(ranks[0], ranks[1], 1.0 / suspects)


def interval(trials: Sequence[Scored], rank: int, rng: np.random.Generator) -> Interval:
    """Rank-1 or rank-5 over all trials, with 95 % limits by resampling people."""
    return bootstrap(np.stack([one.rank_1 if rank == 1 else one.rank_5 for one in trials], axis=1), rng)
