"""Is a track a face? Decided for the track as a whole, from how sure its sightings were.

A single sighting says little: an animal, a fist or the back of a head gets scores that small or turned faces get. Over
a second or two they differ: the better half of the sightings counts, since faces turn away and come back.

What is too small for a second look to mean much is covered, not rejected: there the detector's plain scores count too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SMALL = 32.0
"""Shorter side in pixels below which the plain score counts too."""
_LEAST = 3
"""Plain sightings that a small box needs; missing ones count 0."""


def evident(evidence: Floats, scores: Floats, sides: Floats, threshold: float) -> bool:
    """Whether sightings are those of a face.

    evidence, scores: float64 (n,), 0 to 1; sides: float64 (n,), shorter sides in pixels. False for none.
    """
    if not len(evidence):
        return False
    if _better_half(evidence, 1) >= threshold:
        return True
    return bool(np.median(sides) < _SMALL) and _better_half(scores, _LEAST) >= threshold


def _better_half(values: Floats, least: int) -> float:
    """Mean of the higher half of values (n,), of `least` of them at least."""
    count = max(least, -(-len(values) // 2))
    return float(np.sort(values)[::-1][:count].sum() / count)
