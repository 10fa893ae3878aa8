"""What an analysis keeps of a frame names the face of each track, and is all that a later pass decides by."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import FrameRecord, RecordedDecision
from streamdeid.analysis.stored_faces import stored
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.faces import Face, Track
from streamdeid.runs.again import RecordedFrames
from streamdeid.runs.analysed import found_as_tracked, why_not_decided_so, why_not_found_so
from streamdeid.tracking.lookahead import LookAhead
from streamdeid.tracking.tracker import FaceTracker
from tests.analysis.made_recordings import END, HEADER, assert_same_face, made_face

POINTS = np.stack(np.meshgrid(np.linspace(120, 180, 17), np.linspace(120, 190, 4)), axis=-1).reshape(68, 2)


def face(box: tuple[float, float, float, float], evidence: float, presence: float, points: bool) -> Face:
    landmarks = POINTS.copy() if points else None
    return Face(box, 0.9, landmarks, np.zeros((13, 2)) if points else None, presence=presence, evidence=evidence)


def test_a_face_that_was_found_twice_keeps_its_landmarks() -> None:
    """As on a face that fills the picture: a small box with the better landmarks, a large one with more evidence."""
    better, surer = face((110, 110, 190, 200), 0.7, 0.95, True), face((100, 100, 200, 210), 0.9, 0.8, True)
    alone = face((400, 110, 480, 200), 0.8, 0.9, False)
    (joined, other) = FaceTracker(size=(640, 480)).update([surer, better, alone], Fraction(0))
    assert joined.face is not None and joined.face not in (surer, better)  # an object that the detector did not give
    found, number = found_as_tracked([surer, better, alone], [joined, other])
    kept = found[number[id(joined.face)]]
    assert kept.landmarks is better.landmarks and kept.evidence == surer.evidence
    assert found[number[id(other.face)]] is alone
    assert len(found) == 3 and found[0] is surer
    again = FaceTracker(size=(640, 480)).update(found, Fraction(0))[0]
    assert again.face == joined.face  # filtered again from what was kept, it is the same


def test_a_face_that_nobody_found_has_no_place() -> None:
    found = [face((100, 100, 200, 210), 0.9, 0.8, True)]
    stranger = replace(found[0], box=(0.0, 0.0, 10.0, 10.0), landmarks=POINTS.copy())
    tracks = [Track(1, stranger.box, stranger, 0, False)]
    assert id(stranger) not in found_as_tracked(found, tracks)[1]
    assert found_as_tracked(found, [replace(tracks[0], face=None)])[0] == found


def _read_again(path: Path, records: Sequence[FrameRecord]) -> RecordedFrames:
    with AnalysisWriter(path, HEADER, overwrite=False) as writer:
        for record in records:
            writer.add(record)
        writer.close(END)
    return RecordedFrames(read_analysis(path))


def test_tracks_that_were_read_are_those_that_were_decided_on(tmp_path: Path) -> None:
    """With what a second network saw, which says whether landmarks are true, and how large a lost face was."""
    seen = stored(made_face(np.random.default_rng(1)))
    place = (8.0, 8.0, 30.0, 40.0)
    record = FrameRecord(
        Fraction(0),
        0,
        [seen],
        [
            RecordedDecision(1, 1, 1, "own face", "", seen.box, seen.box, 0, 0, False, False),
            RecordedDecision(2, 2, 0, "soft redaction", "lost", place, place, None, 5, False, True, (12.5, 14.25)),
        ],
    )
    first, second = _read_again(tmp_path / "a", [record]).tracks(0)
    assert first.face is not None and first.face.keypoints is not None and first.sides is None
    assert_same_face(first.face, seen)
    assert second == Track(2, place, None, 5, False, True, (12.5, 14.25))


@pytest.mark.parametrize(("surveyed", "covered"), [(0.4, False), (None, True)])
def test_what_a_survey_said_counts_when_faces_are_followed_again(
    tmp_path: Path, surveyed: float | None, covered: bool
) -> None:
    """A run that reads its faces follows them anew."""
    seen = replace(face((100, 100, 180, 200), 0.7, 0.8, True), surveyed=surveyed)
    read = _read_again(tmp_path / "a", [FrameRecord(Fraction(i, 10), 0, [seen], ()) for i in range(20)])
    tracker, lookahead, waiting, told = FaceTracker(size=(640, 480)), LookAhead(0.5, (640, 480)), deque(), []
    for record in read.analysis.frames:
        tracks = tracker.update(record.found, record.time)
        waiting.append((tracks, lookahead.note(tracks, record.time, (np.full((480, 640), 90, np.uint8),), scene=0)))
    while waiting:
        tracks, now = waiting.popleft()
        told += lookahead.shown(tracks, now, [later for _, later in waiting])
    assert bool(told) == covered


def test_faces_are_found_anew_where_surveys_differ() -> None:
    def other(**changes: float | None) -> str | None:
        base = {"lookahead": 1.0, "survey": None}
        headers = [replace(HEADER, settings={**HEADER.settings, **base, **more}) for more in ({}, changes)]
        return why_not_found_so(headers[0], headers[1])

    assert other() is None
    assert other(lookahead=0.5) == "lookahead was 1.0, and is 0.5", "places are looked at again as far as it reaches"
    assert other(coast=2.0) is not None, "tracks have other numbers"
    assert other(survey=2.0) == "survey was None, and is 2.0"
    assert other(lookahead=0.0) == "lookahead was 1.0, and is 0.0", "without look-ahead surveys are fewer"
    old = replace(HEADER, settings={name: one for name, one in HEADER.settings.items() if name != "q"})
    assert why_not_decided_so(old, HEADER) is None, "what an earlier program did not know is as by default"
    new = [replace(old, settings={**old.settings, "children": children}) for children in (False, True)]
    assert why_not_decided_so(old, new[0]) is None, "it gave nobody a child's face"
    assert why_not_decided_so(old, new[1]) == "children was False, and is True"
