"""What the page is told of a recording, and that it stays small for a long one."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.analysis.edits import (
    CoverPlace,
    CoverRegion,
    Edits,
    JoinPersons,
    PartPerson,
    RemoveRedaction,
    Rendered,
    ShowPerson,
    Span,
)
from streamdeid.analysis.edits_check import check_edits
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import (
    VERSION,
    Analysis,
    AnalysisEnd,
    AnalysisHeader,
    FrameRecord,
    RecordedDecision,
    Side,
)
from streamdeid.errors import SettingsError
from streamdeid.review.desk import Desk, Names
from streamdeid.review.doubts import doubts
from streamdeid.review.pictures import _changes
from streamdeid.review.recorded import LEVELS, Recorded, runs
from tests.analysis.made_recordings import END, HEADER, write_recording
from tests.analysis.old_analysis import write_version_1
from tests.review.drawn_review import SHA, Review

rows = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=60)


@settings(deadline=None)
@given(rows)
def test_runs_say_what_is_highest_in_each_frame(some: list[tuple[int, int]]) -> None:
    some = sorted(some, key=lambda one: one[0])
    found = runs(np.array([frame for frame, _ in some], np.int64), np.array([state for _, state in some], np.uint8))
    assert len(found) % 3 == 0
    told = {}
    for first, count, state in zip(found[::3], found[1::3], found[2::3], strict=True):
        assert count > 0 and not told.keys() & set(range(first, first + count))
        told |= dict.fromkeys(range(first, first + count), state)
    assert told == {frame: max(state for at, state in some if at == frame) for frame, _ in some}
    for at in range(3, len(found), 3):  # neighbours are not told apart without need
        assert found[at - 3] + found[at - 2] < found[at] or found[at - 1] != found[at + 2]


def _long(frames: int, people: int) -> Analysis:
    """A recording whose levels change every 40 frames or so, as rows of six people do."""
    rng = np.random.default_rng(2)
    names = ("own face", "posed face", "soft redaction")
    state = [0] * people
    records = []
    for n in range(frames):
        decisions = []
        for person in range(people):
            if rng.random() < 0.05:
                state[person] = int(rng.integers(3))
            box = (100.0 * person, 50.0, 100.0 * person + 80, 150.0)
            track = 1 + person + people * (n // 900)
            decisions.append(
                RecordedDecision(track, track, person + 1, names[state[person]], "", box, box, None, 0, False, False)
            )
        records.append(FrameRecord(Fraction(n, 25), n // 500, (), decisions))
    header = AnalysisHeader(Side(SHA, 1), 1280, 720, Fraction(25), {}, SHA, SHA)
    return Analysis(header, records, AnalysisEnd({}, None, ""))


def test_levels_of_earlier_versions_are_shown_as_what_they_were() -> None:
    """A name that nobody knows counts as a mask; the earlier posed face is none."""
    names = ("own face", "own face quiet", "posed face", "soft redaction", "solid", "something else")
    box = (10.0, 10.0, 50.0, 60.0)
    rows = [
        RecordedDecision(1 + n, 1 + n, 1 + n, name, "", box, box, None, 0, False, False) for n, name in enumerate(names)
    ]
    header = AnalysisHeader(Side(SHA, 1), 1280, 720, Fraction(25), {}, SHA, SHA)
    analysis = Analysis(header, [FrameRecord(Fraction(0), 0, (), rows)], AnalysisEnd({}, None, ""))
    recorded = Recorded.of(analysis)
    shown = [LEVELS[number] for number in recorded.level]
    assert shown == ["own face", "posed face", "posed face", "soft redaction", "solid", "mask"]
    assert recorded.places.with_a_face.tolist() == [True, True, True, False, False, False]


def test_the_state_of_a_long_recording_is_small() -> None:
    """6,000 frames stand for 45,000: it grows with how often something changes, not with the frames."""
    analysis = _long(6000, 6)
    desk = Desk(Names("a", "b", "c"), Recorded.of(analysis), [], Edits(SHA, 6000), lambda edits: None)
    state = json.dumps(desk.state())
    assert len(state) * 45_000 / 6000 < 1 << 20
    assert [one["frames"] for one in desk.state()["people"]] == [6000] * 6
    assert len(json.dumps(desk.places_of(0, 120))) < 150_000


def test_what_the_output_holds_is_told(review: Review) -> None:
    shown, removed = ShowPerson(1, Span(0, None)), RemoveRedaction(9, Span(8, 9))
    edits = Edits(SHA, 30, done=(shown, removed), rendered=Rendered(SHA, (shown,)))
    desk = review.desk(edits)
    assert desk.state()["rendered"] == 1
    now, rendered = desk.at(12)
    assert 1 in now.visible and 1 in rendered.visible
    desk.undo()
    desk.undo()
    now, rendered = desk.at(12)
    assert not now.visible and 1 in rendered.visible  # the output still shows who is to be covered again


def test_who_is_undone_is_covered_again_in_the_picture(review: Review) -> None:
    """The output shows the person; until it is made anew, the desk fills the place."""
    shown = ShowPerson(1, Span(0, None))
    desk = review.desk(Edits(SHA, 30, undone=(shown,), rendered=Rendered(SHA, (shown,))))
    pictures = review.pictures()
    x0, y0, x1, y1 = (int(value) for value in review.drawn[12].truths[0].box)
    for made in (pictures.published, pictures.snapshot):
        data = made(12, desk.recorded, *desk.at(12))
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
        assert picture[y0:y1, x0:x1].std() < 2 and picture[y0:y1, x0:x1].mean() < 80


def test_what_a_hand_covered_and_no_longer_does_is_shown(review: Review) -> None:
    """The output still has the cover, but the video made next has not: the desk must not show it as covered."""
    box = (8.0, 8.0, 40.0, 40.0)
    for place in (CoverPlace(1, [(12, box)], 12, [box]), CoverRegion(box, Span(12, 12))):
        pictures = review.pictures()
        data = []
        for edits in (Edits(SHA, 30, rendered=Rendered(SHA, (place,))), Edits(SHA, 30, (place,))):
            desk = review.desk(edits)
            data.append(pictures.published(12, desk.recorded, *desk.at(12)))
            opened = _changes(12, desk.recorded, *desk.at(12))[0]
            assert [a <= b for one in opened for a, b in zip(one[:2], box[:2], strict=True)] == [True] * 2 * len(opened)
            assert len(opened) == (1 if edits.rendered else 0)
        assert data[0] != data[1]


def test_who_becomes_one_with_somebody_visible_is_confirmed(review: Review) -> None:
    desk = review.desk()
    desk.make(JoinPersons(1, 2), confirmed=False)
    desk.undo()
    desk.make(ShowPerson(1, Span(0, None)))
    with pytest.raises(SettingsError, match="confirmed"):
        desk.make(JoinPersons(1, 2), confirmed=False)
    assert len(desk.edits.done) == 1
    desk.make(JoinPersons(1, 2), confirmed=True)


def test_numbers_of_new_people_and_places_are_new(review: Review) -> None:
    desk = review.desk()
    desk.make(JoinPersons(1, 2))
    desk.make(PartPerson(1, 2, desk.state()["new_person"]))
    assert desk.state()["new_person"] == 4
    desk.undo()
    assert desk.state()["new_person"] == 4  # it can be redone
    place = CoverPlace(desk.state()["new_place"], ((0, (0, 0, 9, 9)),), 0, ((0, 0, 9, 9),))
    desk.make(place)
    assert desk.state()["new_place"] == 2
    desk.make(replace(place, boxes=((0, 0, 9, 9), (1, 1, 9, 9))))
    assert desk.state()["new_place"] == 2 and len(desk.state()["by_hand"]) == 1


def test_edits_that_do_not_fit_open_no_desk(review: Review) -> None:
    with pytest.raises(SettingsError, match="edit 1"):
        review.desk(Edits(SHA, 30, done=(ShowPerson(7, Span(0, None)),)))


def test_scenes(review: Review) -> None:
    recorded = Recorded.of(review.analysis)
    assert recorded.scene_of(0) == recorded.scene_of(19) == (0, 19) and recorded.scene_of(20) == (20, 29)


def test_a_desk_tells_the_same_of_an_analysis_of_version_1(tmp_path: Path) -> None:
    records = write_recording(tmp_path / "new", 70)
    write_version_1(tmp_path / "old", HEADER, records, END)
    old, new = read_analysis(tmp_path / "old"), read_analysis(tmp_path / "new")
    assert (old.version, new.version) == (1, VERSION)
    assert doubts(old) == doubts(new) != []
    one, other = Recorded.of(old), Recorded.of(new)
    assert one.causes == other.causes and (one.cause == other.cause).all() and (one.level == other.level).all()
    assert (one.box == other.box).all() and one.places.fingerprint == other.places.fingerprint
    edits = Edits(HEADER.input.sha256, 70, (ShowPerson(1, Span(0, None)),), places_sha256=one.places.fingerprint)
    check_edits(old, edits)
    check_edits(new, edits)
