"""The review list: each kind of doubt, what explains it away, one entry for one thing, and the order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from streamdeid.analysis.columns import columns_of
from streamdeid.analysis.records import Analysis, RecordedDecision
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face
from streamdeid.review.doubts import Doubt, doubts
from tests.analysis.small_analyses import analyses, analysis_of, decision

SIZE = 1000, 600
LANDMARKS = np.zeros((68, 2))
MIDDLE = (450.0, 250.0, 530.0, 330.0)


def face(box: Box, evidence: float = 0.9, landmarks: bool = True) -> Face:
    shown = LANDMARKS if landmarks else None
    return Face(box, 0.9, evidence=evidence, landmarks=shown, forehead=shown, presence=float(landmarks))


class Scene:
    """Frames at 25 a second that tracks and sightings are put into."""

    def __init__(self, frames: int, cuts: Sequence[int] = ()) -> None:
        self.rows: list[list[RecordedDecision]] = [[] for _ in range(frames)]
        self.found: list[list[Face]] = [[] for _ in range(frames)]
        self.scenes = [sum(cut <= index for cut in cuts) for index in range(frames)]

    def track(
        self,
        number: int,
        frames: range,
        box: Box = MIDDLE,
        *,
        going: tuple[float, float] = (0, 0),
        evidence: float = 0.9,
        landmarks: bool = True,
        lost: range = range(0),
        person: int = 0,
    ) -> Scene:
        for index in frames:
            x, y = (step * (index - frames.start) for step in going)
            place = box[0] + x, box[1] + y, box[2] + x, box[3] + y
            seen = index not in lost
            if seen:
                self.found[index].append(face(place, evidence, landmarks))
            own = len(self.found[index]) - 1 if seen else None
            self.rows[index].append(decision(number, number, person or number, place, face=own))
        return self

    def sighting(self, index: int, box: Box, evidence: float, landmarks: bool = False) -> Scene:
        self.found[index].append(face(box, evidence, landmarks))
        return self

    @property
    def analysis(self) -> Analysis:
        return analysis_of(self.rows, self.found, self.scenes, SIZE)

    @property
    def doubts(self) -> list[Doubt]:
        return doubts(self.analysis)


def worst(scene: Scene) -> Doubt:
    return scene.doubts[0]


def severity(scene: Scene, kind: str) -> float:
    return max((one.severity for one in scene.doubts if one.kind == kind), default=0.0)


def test_a_face_that_is_there_throughout_is_asked_of_as_a_person_only() -> None:
    assert [one.kind for one in Scene(100).track(1, range(100)).doubts] == ["person"]
    assert Scene(50).doubts == [] and doubts(analysis_of([])) == []


def test_a_late_start_and_an_early_end_in_the_middle_of_the_picture() -> None:
    late = worst(Scene(200).track(1, range(60, 200)))
    assert (late.kind, late.first, late.last, late.box, late.track) == ("late start", 35, 60, MIDDLE, 1)
    early = worst(Scene(200).track(1, range(140)))
    assert (early.kind, early.first, early.last, early.track) == ("early end", 139, 164, 1)
    assert min(late.severity, early.severity) > 0.7


def test_a_cut_the_border_and_somebody_beside_explain_a_start() -> None:
    plain = severity(Scene(200).track(1, range(60, 200)), "late start")
    assert severity(Scene(200, cuts=[60]).track(1, range(60, 200)), "late start") == 0
    stands_there = Scene(200).track(1, range(60, 200), (0.0, 250.0, 80.0, 330.0))
    assert 0.5 * plain < severity(stands_there, "late start") < 0.7 * plain
    walks_in = Scene(200).track(1, range(60, 200), (25.0, 250.0, 105.0, 330.0), going=(10, 0))
    assert severity(walks_in, "late start") < 0.3 * plain
    beside = Scene(200).track(2, range(200), (535.0, 250.0, 615.0, 330.0)).track(1, range(60, 200))
    assert severity(beside, "late start") < plain


def test_a_start_before_which_the_look_ahead_covers_is_less_urgent() -> None:
    covered = Scene(200).track(1, range(60, 200), lost=range(60, 80))
    assert 0 < severity(covered, "late start") < 0.6 * severity(Scene(200).track(1, range(60, 200)), "late start")


def test_a_gap_is_one_entry_whoever_comes_after_it() -> None:
    for after in (1, 2):
        scene = Scene(200).track(1, range(90)).track(after, range(110, 200), person=1)
        gap = worst(scene)
        assert (gap.kind, gap.first, gap.last) == ("gap", 90, 109) and gap.severity > 0.8
        assert {one.kind for one in scene.doubts} == {"gap", "person"}


def test_one_cover_that_takes_over_from_another_is_no_doubt() -> None:
    scene = Scene(200).track(1, range(100)).track(2, range(100, 200), person=1)
    assert {one.kind for one in scene.doubts} == {"person"}


def test_far_away_it_is_another_face() -> None:
    scene = Scene(200).track(1, range(90)).track(2, range(110, 200), (100.0, 100.0, 180.0, 180.0))
    assert {"early end", "late start"} <= {one.kind for one in scene.doubts}


def test_something_sure_that_nothing_covers_is_first_and_says_where() -> None:
    scene = Scene(100).track(1, range(100), (100.0, 100.0, 180.0, 180.0)).sighting(40, MIDDLE, 0.8, True)
    one = worst(scene)
    assert (one.kind, one.first, one.last, one.track, one.box) == ("not covered", 40, 40, 0, MIDDLE)
    assert one.severity > 0.7


def test_what_walks_is_more_like_a_face_than_what_stands_and_what_changes_its_size() -> None:
    def seen(step: float, grows: float) -> float:
        scene = Scene(100)
        for index in range(20, 60, 2):
            x, side = 300 + step * index, 40 * grows ** (index % 4)
            scene.sighting(index, (x, 300.0, x + side, 300 + side), 0.4)
        return severity(scene, "not covered")

    assert seen(3, 1) > 2 * seen(0, 1) and seen(3, 1) > 1.3 * seen(3, 1.35)


def test_sightings_that_are_covered_or_a_part_of_a_covered_face_are_none() -> None:
    scene = Scene(100).track(1, range(100), (300.0, 200.0, 500.0, 400.0))
    for index in range(20, 40):
        scene.sighting(index, (380.0, 280.0, 420.0, 320.0), 0.8)
    assert severity(scene, "not covered") == 0
    beside = Scene(100).track(1, range(100), (300.0, 200.0, 500.0, 400.0))
    for index in range(20, 40):
        beside.sighting(index, (480.0, 280.0, 540.0, 340.0), 0.5)
    assert severity(beside, "not covered") < 0.1


@pytest.mark.parametrize(
    ("kind", "scene"),
    [
        ("no landmarks", Scene(100).track(1, range(100), evidence=0.5, landmarks=False)),
        ("guessed place", Scene(100).track(1, range(100), evidence=0.5, lost=range(3, 100))),
        ("short track", Scene(100, cuts=[50, 56]).track(1, range(50, 56), evidence=0.5, landmarks=False)),
        ("small face", Scene(100).track(1, range(100), (450.0, 250.0, 466.0, 266.0), evidence=0.45)),
        ("weak evidence", Scene(100).track(1, range(100), evidence=0.45)),
    ],
)
def test_redactions_that_look_like_no_face(kind: str, scene: Scene) -> None:
    one = worst(scene)
    assert one.kind == kind and one.track == 1 and one.severity < 0.6


def test_a_long_loss_asks_whether_the_cover_follows() -> None:
    scene = Scene(200).track(1, range(200), lost=range(80, 130))
    one = next(one for one in scene.doubts if one.kind == "guessed place")
    assert (one.first, one.last) == (80, 129)


def test_persons_that_change_and_that_were_never_confirmed() -> None:
    scene = Scene(200).track(1, range(200), person=3)
    for index in range(200):
        person = 3 if index < 100 else 4
        scene.rows[index] = [replace(scene.rows[index][0], person=person)]
    one = next(one for one in scene.doubts if one.kind == "change of person")
    assert (one.first, one.person) == (100, 4)
    assert {one.name for one in scene.doubts if one.kind == "person"} == {"person:3", "person:4"}
    nobody = Scene(200).track(1, range(200))
    nobody.rows = [[replace(row[0], person=0)] for row in nobody.rows]
    assert worst(nobody).kind == "never confirmed"


def test_every_sixth_place_is_for_who_somebody_is() -> None:
    scene = Scene(200, cuts=[100])
    for number in range(1, 10):
        box = 100.0 * number, 100.0, 100.0 * number + 50, 150.0
        scene.track(number, range(40, 160) if number % 2 else range(20, 190), box)
    kinds = [one.kind for one in scene.doubts]
    assert kinds[5] == "person" and "person" not in kinds[:5]


def test_an_entry_for_one_thing_grows_by_what_is_as_bad() -> None:
    scene = Scene(300).track(1, range(60, 200), evidence=0.5, landmarks=False)
    entries = [one for one in scene.doubts if one.track == 1 and one.kind != "person"]
    assert len(entries) == 1 and entries[0].first <= 60 and entries[0].last >= 199


@settings(max_examples=100, deadline=None)
@given(analyses())
def test_any_analysis_has_a_list_of_entries_within_it(analysis: Analysis) -> None:
    found = doubts(analysis)
    assert found == doubts(analysis, columns_of(analysis.frames))
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert 0 <= one.first <= one.last < len(analysis.frames) and 0 < one.severity <= 1
        assert one.why and "\n" not in one.why and one.box[0] < one.box[2] and one.box[1] < one.box[3]


def test_ten_minutes_of_six_people_take_a_moment() -> None:
    rng = np.random.default_rng(1)
    scene = Scene(15_000)
    number = 0
    for slot in range(6):
        at = 0
        while at < 15_000:
            number += 1
            end = min(15_000, at + int(rng.integers(50, 600)))
            x = 150.0 * slot + float(rng.uniform(0, 60))
            scene.track(number, range(at, end), (x, 100.0, x + 60, 160.0), person=number % 9 + 1)
            at = end + int(rng.integers(0, 20))
    for index in range(0, 15_000, 30):
        scene.sighting(index, (400.0, 400.0, 440.0, 440.0), 0.4)
    analysis = scene.analysis
    columns = columns_of(analysis.frames)
    before = time.perf_counter()
    found = doubts(analysis, columns)
    took = time.perf_counter() - before
    assert len(found) > 100 and took < 1.5, took
