"""Is a track a face? Decided for the track as a whole, from how sure its sightings were.

A single sighting says little: an animal, a fist or the back of a head now and then gets what small or turned faces get.
Over a second or two they differ: the better half of the sightings counts, since faces turn away and come back, and few
sightings have to be surer than many.

This is not `Face.confirmed`, which is about one sighting: its evidence against a fixed value and the landmarker's
presence too. That decides who can be somebody's rival or a person; this, whether a track is covered at all, against the
user's threshold. A track that is evident may have no sighting that is confirmed.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Floats

_SEVERAL = 3
"""Sightings from which the threshold alone decides."""
_SURER = 0.15
"""By how much a single sighting has to be surer than several; two by half of it."""


_NO_MORE = 0.1
"""By how much less sure than the threshold the sightings of a face can be (it turns away) and still be those of one."""


def evident(evidence: Floats, threshold: float) -> bool:
    """Whether sightings of an evidence, float64 (n,), 0 to 1, are those of a face. False for none."""
    count = len(evidence)
    if not count:
        return False
    better = float(np.sort(evidence)[count // 2 :].mean())
    return better >= threshold + _SURER * max(0, _SEVERAL - count) / (_SEVERAL - 1)


def refuted(evidence: Floats, threshold: float) -> bool:
    """Whether sightings, float64 (n,), of what was evidently a face are not: somebody else's face had passed there.

    False for few: what is hardly seen is no evidence against.
    """
    return len(evidence) >= _SEVERAL and float(evidence.max()) < threshold - _NO_MORE
