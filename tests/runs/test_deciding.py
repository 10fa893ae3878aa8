"""Tracks of segments joined, and everybody's surrogate chosen once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.records import RecordedDecision
from streamdeid.core.whose import Whose
from streamdeid.identity.gathered import Gathered
from streamdeid.identity.register import Distances
from streamdeid.runs.segments.cutting import cut_up
from streamdeid.runs.segments.deciding import decide
from streamdeid.runs.segments.study import AtJoint, Studied, _Summary

DISTANCES = Distances(accept=1.0, reject=2.0, margin=0.3, enough=0.2, likelier=1.2)
SPANS = cut_up([Fraction(n) for n in range(20)], [0, 10], 1, 10)
LEFT, RIGHT = (0.0, 0.0, 10.0, 10.0), (20.0, 0.0, 30.0, 10.0)


def studied(places: dict[int, float], start: list[AtJoint], after: list[AtJoint], first: int) -> Studied:
    """A segment with a tracklet on each track, whose template is at a place on a line; all were seen together."""
    return Studied(
        tracklets={n: Gathered(np.full(3, place), np.array([place]), 10) for n, place in places.items()},
        follows={},
        spans=dict.fromkeys(places, (first, first + 9)),
        together=frozenset((one, other) for one in places for other in places if one < other),
        at_start=start,
        after=after,
        most=(max(places, default=0), max(places, default=0)),
        cuts=0,
    )


def joint(track: int, box: tuple[float, float, float, float], *, ambiguous: bool = False) -> AtJoint:
    return AtJoint(track, track, ambiguous, box)


def test_a_track_goes_on_over_a_joint() -> None:
    near = (1.0, 0.0, 11.0, 10.0)
    one = studied({1: 0.0, 2: 50.0}, [], [joint(1, LEFT), joint(2, RIGHT)], 0)
    other = studied({1: 50.0, 2: 9.0}, [joint(1, RIGHT), joint(2, near)], [], 10)
    whole = decide(SPANS, [one, other], DISTANCES, None, reentry=True, rate=Fraction(1))
    first, second = whole.numbers
    assert second.tracks == {1: first.tracks[2], 2: first.tracks[1]}
    assert second.tracklets == {1: first.tracklets[2], 2: first.tracklets[1]}
    assert whole.persons == {first.tracklets[1]: 1, first.tracklets[2]: 2}, "though the templates are far apart"


def test_a_doubt_at_a_joint_parts_tracklets_and_not_tracks() -> None:
    one = studied({1: 0.0}, [], [joint(1, LEFT, ambiguous=True)], 0)
    for place, persons in ((0.2, {1: 1, 2: 1}), (9.0, {1: 1, 2: 2})):
        other = studied({1: place}, [joint(1, LEFT)], [], 10)
        whole = decide(SPANS, [one, other], DISTANCES, None, reentry=True, rate=Fraction(1))
        assert whole.numbers[1].tracks == {1: 1} and whole.numbers[1].tracklets == {1: 2}
        assert whole.persons == persons


class Sampled:
    """Notes for whom a surrogate was asked for."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def surrogate(self, person: int, y: NDArray[np.float64]) -> str:
        self.told.append(("person", person))
        return "own"

    def provisional(self, number: int) -> str:
        self.told.append(("tracklet", number))
        return "provisional"

    def forget(self, person: int) -> None:
        """Nobody asks."""

    def release(self, number: int) -> None:
        """Nobody asks."""


def test_a_tracklet_that_is_long_in_doubt_has_a_provisional_face_besides_its_persons() -> None:
    one = replace(studied({1: 0.0, 2: 50.0}, [], [], 0), doubted=frozenset({2}))
    sampled = Sampled()
    whole = decide(SPANS[:1], [one], DISTANCES, sampled, reentry=True, rate=Fraction(1))  # type: ignore[arg-type]
    assert whole.persons == {1: 1, 2: 2}
    assert whole.surrogates == {Whose(1): "own", Whose(2): "own", Whose(2, provisional=True): "provisional"}
    assert sorted(sampled.told) == [("person", 1), ("person", 2), ("tracklet", 2)]


def test_a_doubt_is_long_from_half_a_second_on_end() -> None:
    summary = _Summary(SPANS[0])
    doubts = {1: range(4), 2: (0, 1, 2, 4, 5, 6), 3: range(9)}  # five frames a second
    for index in range(9):
        decisions = [
            RecordedDecision(n, n, 0, "", "", LEFT, LEFT, None, 0, index in at, False) for n, at in doubts.items()
        ]
        summary.add(index, Fraction(index, 5), decisions, [])
    assert summary.doubted == {1, 3}


def test_who_stands_elsewhere_is_another_track() -> None:
    one = studied({1: 0.0}, [], [joint(1, LEFT)], 0)
    other = studied({1: 0.0}, [joint(1, (6.0, 0.0, 16.0, 10.0))], [], 10)
    whole = decide(SPANS, [one, other], DISTANCES, None, reentry=True, rate=Fraction(1))
    assert whole.numbers[1].tracks == {1: 2} and set(whole.persons.values()) == {1}
