"""What came of looking again is kept in an analysis, and said again by whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.analysis.records import RecordedDecision
from streamdeid.analysis.stored_faces import stored
from streamdeid.core.arrays import Box
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face, Keypoints, Track
from streamdeid.core.frames import Frame
from streamdeid.detection.deadline import TimedDetector
from streamdeid.detection.guard import Change, Watch
from streamdeid.errors import FailedClosed
from streamdeid.runs.analysed import FoundBefore, Kept, found_as_tracked
from tests.analysis.small_analyses import analysis_of

PLACE = (100.3, 100.3, 140.3, 140.3)


def frame(index: int = 0) -> Frame:
    return Frame(planes_from_rgb(np.zeros((240, 320, 3), np.uint8)), Fraction(index, 25), index)


def found(box: Box = PLACE) -> Face:
    return Face(box, 0.8, evidence=0.8, keypoints=Keypoints(box, np.full((5, 2), 120.0), 0.8), again=True)


class Looking:
    """A detector that sees nobody, and what it was made with when it looks again."""

    def __init__(self, answer: Face | None) -> None:
        self.answer, self.asked = answer, list[tuple[int, Box, Sequence[Box]]]()

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        return []

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        self.asked.append((track, box, others))
        return self.answer


def watch(detect: object) -> Watch:
    return Watch(detect, lambda levels: Change(), lambda: None)  # type: ignore[arg-type]


def test_a_look_goes_through_deadline_and_guard_to_the_detector() -> None:
    looking = Looking(found())
    timed = TimedDetector(looking, 30.0)
    seen = watch(timed).look_again(frame(), 7, PLACE, [(1.0, 2.0, 3.0, 4.0)])
    timed.close()
    assert seen == looking.answer
    assert looking.asked == [(7, PLACE, [(1.0, 2.0, 3.0, 4.0)])]


def test_who_cannot_look_again_says_that_there_may_be_a_face() -> None:
    """So the place stays covered."""

    def sees_nobody(frame: Frame, /) -> Sequence[Face]:
        return []

    timed = TimedDetector(sees_nobody, 30.0)
    for one in (watch(sees_nobody), watch(timed), watch(Kept(sees_nobody, stored))):
        seen = one.look_again(frame(), 7, PLACE, [])
        assert seen is not None and seen.keypoints is None and seen.box == PLACE
    timed.close()


def test_nobody_is_looked_for_outside_the_picture() -> None:
    """Who walks out is still expected there."""
    looking = Looking(found())

    def sees_nobody(frame: Frame, /) -> Sequence[Face]:
        return []

    for detect in (looking, sees_nobody):
        assert watch(detect).look_again(frame(), 7, (330.0, 100.0, 370.0, 140.0), []) is None
    assert not looking.asked


def test_nonsense_withholds_the_frame() -> None:
    outside = found((900.0, 900.0, 940.0, 940.0))
    for odd in (outside, replace(found(), evidence=2.0), "a face"):
        with pytest.raises(FailedClosed):
            watch(Looking(odd)).look_again(frame(), 7, PLACE, [])  # type: ignore[arg-type]

    class Broken(Looking):
        def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
            raise RuntimeError("no network")

    with pytest.raises(FailedClosed, match="failed on frame 0"):
        watch(Broken(None)).look_again(frame(), 7, PLACE, [])


def test_what_was_found_by_looking_again_is_kept_as_such_and_rounded() -> None:
    kept = Kept(Looking(found()), stored).look_again(frame(), 7, PLACE, [])
    assert kept is not None and kept.again and kept.keypoints is not None
    assert stored(kept).box == kept.box != found().box
    assert not stored(replace(found(), again=False)).again


def test_a_track_that_was_found_by_looking_again_has_its_face_among_those_of_the_frame() -> None:
    first, again = replace(found(), again=False), found((10.0, 10.0, 50.0, 50.0))
    tracks = [Track(1, first.box, first, 0, False), Track(2, again.box, again, 0, False)]
    faces, number = found_as_tracked([first], tracks)
    assert faces == [first, again] and number == {id(first): 0, id(again): 1}


def decision(track: int, face: int | None) -> RecordedDecision:
    return RecordedDecision(track, 1, 1, "soft redaction", "lost", PLACE, PLACE, face, 1, False, False)


def test_an_analysis_says_again_what_came_of_each_look() -> None:
    own, again = replace(found(), again=False), found((10.0, 10.0, 50.0, 50.0))
    before = FoundBefore(analysis_of([[decision(1, 0), decision(2, 1), decision(3, None)]], [[own, again]]))
    assert before(frame()) == [own], "what was looked for is none of the detector's"
    assert before.look_again(frame(), 2, PLACE, []) == again
    assert before.look_again(frame(), 3, PLACE, []) is None, "it was covered without being seen"
    assert before.look_again(frame(), 4, PLACE, []) is None, "it was not covered"
    with pytest.raises(FailedClosed):
        before.look_again(frame(1), 2, PLACE, [])


def test_an_earlier_program_did_not_look_so_its_places_stay_covered() -> None:
    for version in (2, 3):  # of version 3 tracks may have other numbers: they did not go along with a camera
        before = FoundBefore(replace(analysis_of([[decision(1, None)]]), version=version))
        seen = before.look_again(frame(), 1, PLACE, [])
        assert seen is not None and seen.keypoints is None
