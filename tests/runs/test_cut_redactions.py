"""Redactions that would be larger than they may be are counted, the same in one pass, in two, and from an analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.runs.files import filter_file
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests.runs.test_last_frames import empty

RATE, SEEN, GONE = 25, 12, 12


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """With a recording of somebody who talks, and is gone from one frame to the next."""
    place = tmp_path_factory.mktemp("cut")
    people = synthetic_people(fitting, gallery, people=1, seconds=SEEN / RATE, size=(320, 240), rate=RATE)
    pictures = [one.frame.planes for one in people]
    write_drawn_clip(place / "in.mp4", [*pictures, *[empty(pictures[0])] * GONE], RATE)
    write_drawn_clip(place / "stays.mp4", pictures, RATE)
    return place


@pytest.mark.parametrize("decisions", ["look-ahead", "whole-file"])
def test_they_are_in_the_report(place: Path, tmp_path: Path, decisions: str) -> None:
    analysis = None if decisions == "whole-file" else tmp_path / "in.analysis"
    settings = Settings(method="blackout", decisions=decisions)
    report = filter_file(place / "in.mp4", tmp_path / "out.mp4", settings, analysis=analysis)
    assert report.scene_cuts == 0 and report.levels["solid"] >= report.cut > 0
    if analysis is not None:
        frames = read_analysis(analysis).frames
        cut = [index for index, frame in enumerate(frames) for one in frame.decisions if one.cut]
        assert len(cut) == report.cut and min(cut) >= SEEN
    assert filter_file(place / "stays.mp4", tmp_path / "stays.mp4", settings).cut == 0
