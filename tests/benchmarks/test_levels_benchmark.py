"""`benchmarks/looks/levels.py` tells which protection levels faces got, and why no better ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from benchmarks.looks import levels
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import DeidentifiedFrame, Planes, Redaction
from streamdeid.protect.levels import Cause
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip


def test_the_levels_and_causes_are_those_of_the_filter(fitting: FitModel, gallery: Gallery, tmp_path: Path) -> None:
    """A face is shown, one of a twelfth of its size is not rendered on its landmarks."""
    drawn = list(synthetic_people(fitting, gallery, people=1, seconds=0.8, size=(480, 360)))
    near, far = tmp_path / "near.mp4", tmp_path / "far.mp4"
    write_drawn_clip(near, (one.frame.planes for one in drawn), 25)
    write_drawn_clip(far, (reduced(one.frame.planes, 12) for one in drawn), 25)
    rows = [levels.one(path, None) for path in (near, far)]
    assert [row["face-frames"] > 10 for row in rows] == [True, True]
    assert rows[0]["own face %"] > 80 and rows[1]["own face %"] < 20
    assert Cause.SMALL.value in rows[1]["causes"]
    assert levels.told({}) == "none" and levels.told({Cause.SMALL: 1, Cause.LOST: 2}) == "2 lost, 1 small"


def test_only_redactions_that_stay_count_as_unsteady() -> None:
    unsteady = levels.Unsteady()
    assert unsteady.row == {"soft: area, %": None, "soft: luma": None}
    for index, (side, luma, level) in enumerate([(20, 100, "soft redaction"), (40, 110, "soft redaction"),
                                                 (30, 110, "posed face"), (20, 50, "soft redaction")]):  # fmt: skip
        grey = Planes(np.full((80, 80), luma, np.uint8), *(np.full((40, 40), 128, np.uint8) for _ in range(2)))
        box = 40.0 - side / 2, 40.0 - side / 2, 40.0 + side / 2, 40.0 + side / 2
        redaction = Redaction(1, box, level, 0)
        unsteady.see(DeidentifiedFrame(grey, Fraction(index, 25), index, (redaction,)))
    assert unsteady.row == {"soft: area, %": 300.0, "soft: luma": 10.0}


def reduced(planes: Planes, factor: int) -> Planes:
    """The picture, so many times smaller, in the middle of a grey one of the same size."""
    small = []
    for plane, grey in ((planes.y, 110), (planes.u, 128), (planes.v, 128)):
        height, width = plane.shape
        inner = cv2.resize(plane, (width // factor, height // factor), interpolation=cv2.INTER_AREA)
        whole = np.full_like(plane, grey)
        top, left = (height - inner.shape[0]) // 2, (width - inner.shape[1]) // 2
        whole[top : top + inner.shape[0], left : left + inner.shape[1]] = inner
        small.append(whole)
    return Planes(small[0], small[1], small[2], planes.colour)
