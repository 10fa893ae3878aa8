"""Decides for a track as a whole whether it is a face, from the evidence of its sightings.

A single sighting tells little: an animal, a fist or the back of a head sometimes gets as much evidence as small or
turned faces. Over a second or two they differ. The better half of the sightings counts, because faces turn away and
come back, and few sightings need more evidence than many.

This differs from `Face.confirmed`, which is about one sighting: its evidence against a fixed value, and the
landmarker's presence. `Face.confirmed` decides which tracks can be rivals or persons; this file decides, against the
user's threshold, whether a track is protected at all. An evident track may have no confirmed sighting.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Floats

_SEVERAL = 3
"""Number of sightings from which the threshold alone decides."""
_SURER = 0.15
"""How much more evidence than several sightings a single one needs; two need half of this more."""


_NO_MORE = 0.1
"""How far below the threshold the evidence of all sightings of a face can be, when it turns away."""


def evident(evidence: Floats, threshold: float) -> bool:
    """Whether sightings with this evidence, float64 (n,), 0 to 1, show a face. False for no sightings."""
    count = len(evidence)
    if not count:
        return False
    better = float(np.sort(evidence)[count // 2 :].mean())
    return better >= threshold + _SURER * max(0, _SEVERAL - count) / (_SEVERAL - 1)


def refuted(evidence: Floats, threshold: float) -> bool:
    """Whether sightings with this evidence, float64 (n,), of an evident track show no face: perhaps another person's
    face had passed there.

    False for few sightings: these are no evidence against a face.
    """
    return len(evidence) >= _SEVERAL and float(evidence.max()) < threshold - _NO_MORE
