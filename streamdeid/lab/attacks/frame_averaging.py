"""A8, frame averaging: noise and expressions of a video average out, what is constant stays.

A frame shows P + E + noise. E is a part that the stream lets through: an expression in a few directions, and the error
of the session's own estimate of the person along them, which is the same in every frame.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.lab.attacks.people import CAPTURE_NOISE, Population

FRAMES = (1, 10, 100, 1000)
EXPRESSIONS = 8
"""Directions that expressions move in (docs/methods.md 2.4: at most 8 to 12)."""
EXPRESSION_SPREAD = 0.5
"""Of the spread between people."""


def averaged(
    published: Vectors,
    identities: Vectors,
    seen: Vectors,
    population: Population,
    frames: int,
    rng: np.random.Generator,
    *,
    noise: float = CAPTURE_NOISE,
) -> Vectors:
    """Mean of `frames` published frames of each person, float64 (n, d).

    published P, identities y and what the session took for them ŷ are (n, d). E = B (e + Bᵀ (y − ŷ)), e and the noise
    Gaussian and new in each frame. The mean of independent Gaussians is drawn as the Gaussian that it is.
    """
    directions, _ = np.linalg.qr(rng.standard_normal((len(population.spread), EXPRESSIONS)))
    error = (population.places(identities) - population.places(seen)) @ directions
    expression = EXPRESSION_SPREAD * rng.standard_normal(error.shape) / np.sqrt(frames)
    shaken = noise * rng.standard_normal((len(published), len(population.spread))) / np.sqrt(frames)
    places = (error + expression) @ directions.T + shaken
    return np.asarray(published + (places * population.spread) @ population.axes[: len(population.spread)])
