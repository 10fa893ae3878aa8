"""Is a track a face? Decided for the track as a whole, from how sure its sightings were.

A single sighting says little: an animal, a fist or the back of a head now and then gets what small or turned faces get.
Over a second or two they differ: the better half of the sightings counts, since faces turn away and come back. That a
single look of the detector's is less sure than several is in the evidence already (`detection.places`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SEVERAL = 3
"""Sightings that can speak against a face; fewer say nothing."""
_LESS = 0.1
"""By how much less sure than the threshold each of them is: what hovers about it stays covered. With the mean of the
better half, and half of this, ten bowed heads of 16 to 24 pixels were lost in a classroom."""


def evident(evidence: Floats, threshold: float) -> bool:
    """Whether sightings of an evidence, float64 (n,), 0 to 1, are those of a face. False for none."""
    return bool(len(evidence)) and float(np.sort(evidence)[len(evidence) // 2 :].mean()) >= threshold


def refuted(evidence: Floats, threshold: float) -> bool:
    """Whether sightings, float64 (n,), of what was evident by few or faint ones are not those of a face.

    A hand that looked like one for a moment, or the place where somebody else's face had passed.
    """
    return len(evidence) >= _SEVERAL and float(evidence.max()) < threshold - _LESS
