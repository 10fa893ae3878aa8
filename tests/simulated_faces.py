"""Simulated identities: 58 dimensions, effective dimension about 7, pair distances as in Table I of k-Diff-furthest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.gender_rule import learn_gender

DIMENSIONS = 58
_DECAY = 0.756  # geometric variances: (1 + r) / (1 − r) = 7.2 effective dimensions
_TOTAL = (25.74**2 + 7.32**2) / 2.0  # half the mean squared distance of two faces

VARIANCES: NDArray[np.float64] = _TOTAL * (1.0 - _DECAY) * _DECAY ** np.arange(DIMENSIONS)


def faces(count: int, seed: int) -> NDArray[np.float64]:
    """`count` people, float64 (count, 58)."""
    draws: NDArray[np.float64] = np.random.default_rng(seed).standard_normal((count, DIMENSIONS))
    return np.asarray(draws * np.sqrt(VARIANCES), dtype=np.float64)


def gallery(count: int = 102, seed: int = 1, learnt: bool = False) -> Gallery:
    """Donors of two genders that differ along the third component, and of all age groups; learnt: with the rule."""
    rng = np.random.default_rng(seed)
    identities = faces(count, seed)
    gender = np.array(["female", "male"])[np.arange(count) % 2]
    identities[:, 2] += np.where(gender == "female", -1.5, 1.5) * np.sqrt(VARIANCES[2])
    camera = np.random.default_rng((seed, 1))
    varied = [y + 0.2 * camera.standard_normal((4, DIMENSIONS)) * np.sqrt(VARIANCES) for y in identities]
    return Gallery(
        identities=identities,
        gender=gender,
        age=rng.integers(18, 55, count),
        ethnicity=np.array(["not stated"] * count),
        model_sha256="0" * 64,
        gender_rule=learn_gender(varied, gender.tolist()) if learnt else None,
    )
