"""How often an attacker is right who guesses among the nearest when they tie.

Outputs of k-Same tie on purpose: k of them are equal, and the mean of two faces lies midway between both. The strict
count of `identification.identified` calls ties missed, which lets reverse and parrot attacks look like 0. An attacker
loses nothing by guessing, so a claim of "at most 1/k" has to be held against his expected hits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SLACK = 1e-9
"""Relative difference of two distances that counts as none: rounding must not decide a tie."""


def guessed(distances: NDArray[np.float64], own: NDArray[np.int64]) -> NDArray[np.float64]:
    """Chance of each probe to be named right: float64 (p,), of distances (p, g) and each probe's own column (p,).

    1 over the number of nearest gallery faces when the own one is among them, else 0.
    """
    limit = distances.min(axis=1) * (1.0 + SLACK)
    tied = (distances <= limit[:, None]).sum(axis=1)
    among = distances[np.arange(len(own)), own] <= limit
    return np.asarray(np.where(among, 1.0 / tied, 0.0), dtype=np.float64)
