"""`benchmarks/versions/same_pictures.py` tells two versions' pictures apart, inside faces and beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.versions import same_pictures
from benchmarks.versions.same_pictures import Published
from streamdeid.core.frames import Planes

_BOX = (10.0, 12.0, 30.0, 32.0)


def _planes(level: int, inside: int) -> Planes:
    y = np.full((48, 64), level, np.uint8)
    y[12:32, 10:30] = inside
    return Planes(y, np.full((24, 32), 128, np.uint8), np.full((24, 32), 128, np.uint8))


def test_equal_pictures_are_the_same() -> None:
    one = Published(_planes(90, 90), _planes(90, 140), [_BOX], ["own face"])
    found = same_pictures.compared(iter([(one, one)] * 3))
    assert found == {"frames": 3, "all": np.inf, "worst": np.inf, "outside": 0, "levels": 0}


def test_what_differs_in_a_face_is_told_in_decibels_and_elsewhere_by_the_pixel() -> None:
    one = Published(_planes(90, 90), _planes(90, 140), [_BOX], ["own face"])
    other = replace(one, published=_planes(90, 142), levels=["soft redaction"])
    found = same_pictures.compared(iter([(one, one), (one, other)]))
    assert found["worst"] == pytest.approx(10 * np.log10(255**2 / 4)), "only pixels that were changed count"
    assert found["all"] == pytest.approx(found["worst"] + 10 * np.log10(2))
    assert (found["outside"], found["levels"]) == (0, 1)
    stray = _planes(90, 140)
    stray.y[2, 2] = 91
    assert same_pictures.compared(iter([(one, replace(one, published=stray))]))["outside"] == 1
