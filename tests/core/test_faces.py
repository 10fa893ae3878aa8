"""Which sightings are surely faces."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.core.faces import Face

LANDMARKS = np.zeros((68, 2))


@pytest.mark.parametrize(
    ("evidence", "presence", "marked", "confirmed"),
    [
        (1.0, 0.0, False, True),  # without landmarks the landmarker has not been asked
        (0.5, 0.0, False, True),
        (0.49, 1.0, False, False),
        (0.5, 0.5, True, True),
        (1.0, 0.49, True, False),
        (1.0, 0.0, True, False),
        (0.49, 1.0, True, False),
        (float("nan"), 1.0, True, False),
        (1.0, float("nan"), True, False),
    ],
)
def test_detector_and_landmarker_must_both_be_sure(
    evidence: float, presence: float, marked: bool, confirmed: bool
) -> None:
    landmarks = LANDMARKS if marked else None
    assert Face((0, 0, 9, 9), 0.9, landmarks, presence=presence, evidence=evidence).confirmed is confirmed


def test_a_detector_that_does_not_say_how_sure_it_is_is_believed() -> None:
    assert Face((0, 0, 9, 9), 0.1).confirmed
