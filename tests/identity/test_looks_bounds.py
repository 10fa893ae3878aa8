"""What looks remember and look at is bounded, however long a doubt lasts and whatever a detector calls a face."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.identity.looks import Look, Looks
from streamdeid.tracking.patches import found_again, small

_BOX = (0.0, 0.0, 50.0, 50.0)
_PLANES = Planes(np.zeros((48, 64), np.uint8), np.zeros((24, 32), np.uint8), np.zeros((24, 32), np.uint8))


def _look(likeness: float) -> Look:
    return np.array([likeness, np.sqrt(1 - likeness**2)], np.float32)


@pytest.mark.parametrize("reach", [100.0, 2e4, 1e6])
def test_a_box_of_any_size_is_looked_for_in_little_memory(reach: float) -> None:
    picture = small([np.random.default_rng(0).integers(0, 255, (480, 640), np.uint8)])
    tracemalloc.start()
    found = found_again(picture, picture, np.array([-reach, -reach, reach, reach]), np.zeros(2))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 26
    assert (found is None) == (reach > 1000)


def test_a_doubt_that_lasts_for_hours_is_undone_as_far_as_frames_wait() -> None:
    looks = Looks(patches=False)
    for index in range(20_000):
        track = Track(1, _BOX, Face(_BOX, 1.0), 0, 30 <= index < 19_999)
        likeness = 0.62 if track.ambiguous else 1.0
        verdict = looks(Frame(_PLANES, Fraction(index, 30), index), [track], {1: _look(likeness)})
    frames = verdict.groundless[1]
    assert frames == list(range(frames[0], 19_999)) and 2400 < len(frames) < 5000
