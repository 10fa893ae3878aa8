"""What is known of a face: its identity vector, the uncertainty of the vector, and the distance of two identities."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.core.arrays import Vector


@dataclass(frozen=True)
class Identity:
    """What is known of the face of one track."""

    vector: Vector | None = field(repr=False)
    """Template, float64 (d,), averaged over the track's good frames; None while the face cannot be recognised. Kept out
    of every repr: it is biometric."""
    scatter: float = 0.0
    """Standard error of the vector as a whole (root of the summed variances of the mean), in identity units."""
    frames: int = 1
    """Good frames averaged, 1 or more."""


def finite(identity: Identity) -> bool:
    """Whether the vector, where there is one, and the scatter are finite."""
    return (identity.vector is None or bool(np.isfinite(identity.vector).all())) and math.isfinite(identity.scatter)


def owned(identity: Identity) -> Identity:
    """The identity with its own copy of the vector, so that a caller's running average cannot change a template."""
    return identity if identity.vector is None else replace(identity, vector=identity.vector.astype(np.float64))


def distance_of(one: Identity, other: Identity) -> tuple[float, float]:
    """Distance of two identities, and its uncertainty; infinite where there is nothing to compare."""
    if one.vector is None or other.vector is None:
        return math.inf, 0.0
    return float(np.linalg.norm(one.vector - other.vector)), math.hypot(one.scatter, other.scatter)


def together(one: Identity, other: Identity) -> Identity:
    """The average of two identities over all their frames."""
    if one.vector is None or other.vector is None:
        return other if one.vector is None else one
    frames = one.frames + other.frames
    vector = (one.frames * one.vector + other.frames * other.vector) / frames
    return Identity(vector, math.hypot(one.frames * one.scatter, other.frames * other.scatter) / frames, frames)
