"""What edits do to an analysis, and which do not fit one."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.analysis import edits as e
from streamdeid.analysis.applied import Applied, touched
from streamdeid.analysis.edits_check import check_edits
from streamdeid.analysis.places import Places
from streamdeid.analysis.records import Analysis
from streamdeid.errors import SettingsError
from tests.analysis.applied_twin import frame_edits, picture
from tests.analysis.small_analyses import analyses, analysis_of, decision, edits_of, some_edits

LEFT, RIGHT, BESIDE = (0.0, 0.0, 20.0, 20.0), (100.0, 0.0, 120.0, 20.0), (15.0, 0.0, 35.0, 20.0)
ALL = e.Span(0, None)


def two_people() -> Analysis:
    """Ten frames: person 1 stands left, 2 on the right until frame 5, then beside 1."""
    return analysis_of(
        [[decision(1, 1, 1, LEFT), decision(2, 2, 2, RIGHT if frame < 5 else BESIDE)] for frame in range(10)]
    )


def applied(analysis: Analysis, *edits: e.Edit) -> Applied:
    check_edits(analysis, edits_of(analysis, *edits))
    return Applied(Places.of(analysis), edits)


def test_edits_made_on_the_analysis_of_another_run_are_refused() -> None:
    """The same recording, as many frames, but other numbers: person 1 would be somebody else."""
    analysis = two_people()
    swapped = analysis_of(
        [[decision(2, 2, 2, LEFT), decision(1, 1, 1, RIGHT if frame < 5 else BESIDE)] for frame in range(10)]
    )
    made = replace(edits_of(analysis, e.ShowPerson(1, ALL)), places_sha256=Places.of(analysis).fingerprint)
    check_edits(analysis, made)
    with pytest.raises(SettingsError, match="of another run"):
        check_edits(swapped, made)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_is_what_the_slow_twin_says_frame_by_frame(data: st.DataObject) -> None:
    analysis = data.draw(analyses())
    edits = data.draw(some_edits(analysis))
    quick = Applied(Places.of(analysis), edits)
    for frame in range(len(analysis.frames)):
        assert quick.at(frame) == frame_edits(analysis, edits, frame)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_frames_that_are_not_touched_look_the_same(data: st.DataObject) -> None:
    analysis = data.draw(analyses())
    edits = data.draw(some_edits(analysis))
    before = edits[: data.draw(st.integers(0, len(edits)))]
    found = touched(Places.of(analysis), before, edits)
    assert found == touched(Places.of(analysis), edits, before)
    assert all(a[1] + 1 < b[0] for a, b in itertools.pairwise(found))
    marked = {frame for first, last in found for frame in range(first, last + 1)}
    for frame in set(range(len(analysis.frames))) - marked:
        assert picture(analysis, before, frame) == picture(analysis, edits, frame)
    if not any(
        isinstance(one, e.CoverRegion) for one in edits
    ):  # what lies in two regions of one box is not told apart
        for frame in marked:
            assert picture(analysis, before, frame) != picture(analysis, edits, frame)


def test_a_person_is_visible_where_nobody_meets_them() -> None:
    analysis = two_people()
    done = applied(analysis, e.ShowPerson(1, e.Span(2, 7)))
    assert [sorted(done.at(frame).visible) for frame in range(10)] == [[], [], [1], [1], [1], [], [], [], [], []]
    assert done.at(6).kept == {1: 1} and not done.at(6).open
    assert done.summary().visible == {1: (3, 6)}
    assert done.visible_frames() == {1: ([(2, 4)], [(5, 7)])}


def test_a_frame_in_which_one_of_two_tracks_of_a_person_is_covered_counts_as_visible() -> None:
    """The other one's face is seen there: the report must not say that nobody was."""
    analysis = analysis_of([[decision(1, 1, 1, LEFT), decision(2, 2, 1, RIGHT, ambiguous=True)] for _ in range(4)])
    assert applied(analysis, e.ShowPerson(1, ALL)).summary().visible == {1: (4, 4)}


def test_both_of_two_who_meet_may_be_visible_and_a_third_covers_both_again() -> None:
    both = applied(two_people(), e.ShowPerson(1, ALL), e.ShowPerson(2, ALL))
    assert both.at(7).open == {1, 2}
    third = (30.0, 0.0, 50.0, 20.0)
    rows = [[decision(1, 1, 1, LEFT), decision(2, 2, 2, BESIDE), decision(3, 3, 3, third)]]
    assert applied(analysis_of(rows), e.ShowPerson(1, ALL), e.ShowPerson(2, ALL)).at(0).open == frozenset()


def test_where_the_other_may_be_counts_as_their_place() -> None:
    lost = decision(2, 2, 2, RIGHT, place=(10.0, 0.0, 130.0, 40.0))
    analysis = analysis_of([[decision(1, 1, 1, LEFT), lost]])
    assert not applied(analysis, e.ShowPerson(1, ALL)).at(0).open


def test_a_place_that_a_hand_drew_keeps_the_redaction_beneath_and_a_false_one_does_not() -> None:
    drawn = e.CoverPlace(1, [(0, BESIDE)], 0, [BESIDE, BESIDE])
    done = applied(two_people(), e.ShowPerson(1, ALL), drawn)
    assert not done.at(0).open and done.at(0).places == ((1, BESIDE),) and done.at(2).open == {1}
    assert applied(two_people(), e.ShowPerson(1, ALL), e.RemoveRedaction(2, ALL)).at(7).open == {1, 2}


def test_a_doubt_keeps_the_redaction() -> None:
    analysis = analysis_of([[decision(1, 1, 1, LEFT, ambiguous=frame == 1)] for frame in range(3)])
    done = applied(analysis, e.ShowPerson(1, ALL))
    assert [bool(done.at(frame).open) for frame in range(3)] == [True, False, True]


def test_visible_before_the_person_was_known_and_before_the_track_began() -> None:
    rows = [[decision(1, 0, 0, LEFT)], [decision(1, 4, 0, LEFT)], [decision(1, 4, 1, LEFT)], [decision(1, 5, 0, LEFT)]]
    done = applied(analysis_of(rows), e.ShowPerson(1, ALL))
    assert [bool(done.at(frame).visible) for frame in range(4)] == [True, True, True, False]


def test_the_order_of_edits_counts() -> None:
    analysis = two_people()
    show, cover = e.ShowPerson(1, ALL), e.CoverPerson(1, e.Span(1, 2))
    assert [bool(applied(analysis, show, cover).at(frame).open) for frame in range(4)] == [True, False, False, True]
    assert applied(analysis, cover, show).at(1).open == {1}
    first, second = (e.CoverPlace(1, [(n, RIGHT)], n, [RIGHT]) for n in (8, 9))
    replaced = applied(analysis, first, second)
    assert not replaced.at(8).places and replaced.at(9).places == ((1, RIGHT),)


def test_names_follow_joined_persons_and_parted_ones_begin_covered() -> None:
    analysis = two_people()
    joined = applied(analysis, e.ShowPerson(2, ALL), e.JoinPersons(1, 2), e.AnotherSurrogate(2))
    assert joined.at(0).visible == {1: 1, 2: 1} and joined.surrogates == {1: 1} and joined.persons == {1: 1, 2: 1}
    rows = [[decision(1, 1 if frame < 3 else 2, 1, LEFT)] for frame in range(6)]
    parted = applied(analysis_of(rows), e.ShowPerson(1, ALL), e.PartPerson(1, 2, 9))
    assert [parted.at(frame).persons for frame in (2, 3)] == [{1: 1}, {1: 9}]
    assert [bool(parted.at(frame).open) for frame in (2, 3)] == [True, False]


def test_another_surrogate_touches_the_frames_that_show_it() -> None:
    rows = [[decision(1, 1, 1, LEFT, "own face" if 2 <= n <= 4 else "soft redaction")] for n in range(8)]
    places = Places.of(analysis_of(rows))
    assert touched(places, [], [e.AnotherSurrogate(1)]) == [(2, 4)]
    assert touched(places, [], [e.ShowPerson(1, e.Span(4, 5))]) == [(4, 5)]
    assert touched(places, [e.ShowPerson(1, ALL)], [e.ShowPerson(1, ALL), e.AnotherSurrogate(1)]) == []


def test_counts_for_the_report() -> None:
    drawn = e.CoverPlace(2, [(8, RIGHT)], 8, [RIGHT, RIGHT])
    region = e.CoverRegion(RIGHT, e.Span(0, 3))
    done = applied(two_people(), drawn, e.RemoveRedaction(2, e.Span(1, 4)), region, e.JoinPersons(1, 2))
    counts = done.summary(["a", "b", "c"], ["b", "gone"])
    assert (counts.covered_places, counts.covered_frames) == (1, 2)
    assert (counts.removed_tracks, counts.removed_frames) == (1, 4)
    assert (counts.regions, counts.region_frames, counts.joined, counts.parted) == (1, 4, 1, 0)
    assert (counts.doubts_looked_at, counts.doubts_not_looked_at) == (1, 2)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (e.ShowPerson(7, ALL), "there is no person 7"),
        (e.CoverPerson(0, ALL), "there is no person 0"),
        (e.ShowPerson(1, e.Span(4, 10)), "frames 4 to 10"),
        (e.ShowPerson(1, e.Span(-1, 3)), "frames -1 to 3"),
        (e.ShowPerson(1, e.Span(5, 4)), "frames 5 to 4"),
        (e.RemoveRedaction(3, ALL), "no redaction of a track 3"),
        (e.AnotherSurrogate(9), "no person 9"),
        (e.JoinPersons(1, 1), "one already"),
        (e.JoinPersons(1, 8), "no person 8"),
        (e.PartPerson(1, 5, 9), "no tracklet before frame 5"),
        (e.PartPerson(1, 0, 9), "no tracklet before frame 0"),
        (e.PartPerson(1, 20, 9), "frames 20"),
        (e.CoverRegion((0.0, 0.0, float("nan"), 3.0), ALL), "a box is none"),
        (e.CoverRegion((5.0, 0.0, 5.0, 3.0), ALL), "a box is none"),
        (e.CoverRegion((500.0, 0.0, 510.0, 3.0), ALL), "outside the picture"),
        (e.CoverPlace(1, [(9, LEFT)], 9, [LEFT, LEFT]), "frames 9 to 10"),
        (e.CoverPlace(1, [(3, LEFT)], 4, [LEFT]), "key frames"),
        (e.CoverPlace(1, [(4, LEFT), (4, LEFT)], 4, [LEFT]), "key frames"),
        (e.CoverPlace(0, [(4, LEFT)], 4, [LEFT]), "number from 1"),
    ],
)
def test_edits_that_do_not_fit_are_refused_in_one_line(edit: e.Edit, told: str) -> None:
    analysis = two_people()
    with pytest.raises(SettingsError, match=told) as refused:
        check_edits(analysis, edits_of(analysis, e.ShowPerson(1, ALL), edit))
    assert "edit 2" in str(refused.value) and "\n" not in str(refused.value)


def test_a_new_person_has_a_new_number_and_can_be_named_then() -> None:
    rows = [[decision(1, 1 if frame < 3 else 2, 1, LEFT)] for frame in range(6)]
    analysis = analysis_of(rows)
    check_edits(analysis, edits_of(analysis, e.PartPerson(1, 2, 2), e.ShowPerson(2, ALL), e.JoinPersons(2, 1)))
    with pytest.raises(SettingsError, match="cannot be new"):
        check_edits(analysis, edits_of(analysis, e.PartPerson(1, 2, 1)))


def test_edits_of_another_recording_are_refused() -> None:
    analysis = two_people()
    for other in (e.Edits("b" * 64, 10), e.Edits(analysis.header.input.sha256, 11)):
        with pytest.raises(SettingsError, match="another recording"):
            check_edits(analysis, other)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_edits_that_pass_the_check_can_be_applied(data: st.DataObject) -> None:
    analysis = data.draw(analyses())
    edits = data.draw(some_edits(analysis))
    places = Places.of(analysis)
    try:
        check_edits(analysis, edits_of(analysis, *edits), places)
    except SettingsError:
        return
    done = Applied(places, edits)
    assert done.summary().covered_places == len({one.number for one in edits if isinstance(one, e.CoverPlace)})


def test_half_an_hour_of_six_people_takes_a_moment() -> None:
    row = [decision(n, n, n, (40.0 * n, 0.0, 40.0 * n + 30, 30.0)) for n in range(1, 7)]
    places = Places.of(analysis_of([row] * 45_000))
    drawn = e.CoverPlace(1, [(0, LEFT)], 0, [LEFT] * 45_000)
    before = time.perf_counter()
    found = Applied(places, [e.ShowPerson(1, ALL), e.JoinPersons(2, 3), drawn]).touched_since(Applied(places, []))
    assert found == [(0, 44_999)] and time.perf_counter() - before < 2
