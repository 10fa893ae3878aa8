"""`benchmarks/levels.py` tells which protection levels faces got, and why no better ones."""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.deidentify.gallery import Gallery
from streamdeid.deidentify.levels import Cause
from streamdeid.evaluation.synthetic_people import synthetic_people
from streamdeid.frames import Planes
from streamdeid.video.drawn_clip import write_drawn_clip

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import levels

sys.path.pop(0)


def blurred(planes: Planes) -> Planes:
    """The planes out of focus."""
    soft = (cv2.GaussianBlur(plane, (0, 0), 4.0) for plane in (planes.y, planes.u, planes.v))
    return Planes(*(np.asarray(plane, np.uint8) for plane in soft), planes.colour)


def test_the_causes_are_those_of_the_filter(fitting: FitModel, gallery: Gallery, tmp_path: Path) -> None:
    drawn = list(synthetic_people(fitting, gallery, people=1, seconds=0.8, size=(480, 360)))
    path = tmp_path / "talk.mp4"
    write_drawn_clip(path, (blurred(one.frame.planes) for one in drawn), 25)
    row = levels.one(path, None)
    assert row["face-frames"] > 10 and row["own face quiet %"] > 50 and Cause.SMALL.value in row["causes"]
    assert levels.told({}) == "none" and levels.told({Cause.SMALL: 1, Cause.LOST: 2}) == "2 lost, 1 small"
