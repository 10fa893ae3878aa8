"""Persons over a whole recording: nobody is two people at a time, nobody who might be somebody else is recognised."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.identity.gathered import Gathered, GatheredTracklets
from streamdeid.identity.reentry import Outcome
from streamdeid.identity.register import Distances
from streamdeid.identity.whole_recording import Tracklet, who_is_who

DISTANCES = Distances(accept=1.0, reject=2.0, margin=0.3, enough=0.2, likelier=1.2)


def at(place: float, first: int, *, frames: int = 10, follows: int | None = None) -> Tracklet:
    """A tracklet of somebody whose template is at a place on a line."""
    return Tracklet(first, first + 5, Gathered(np.zeros(3), np.array([place, 0.0]), frames), follows)


def persons(tracklets: dict[int, Tracklet], *together: tuple[int, int], reentry: bool = True) -> dict[int, int]:
    return dict(who_is_who(tracklets, together, DISTANCES, reentry=reentry).persons)


def test_who_comes_back_is_the_same_and_numbers_follow_the_first_frames() -> None:
    known = {5: at(0.0, 50), 6: at(9.0, 0), 7: at(0.4, 100)}
    assert persons(known) == {6: 1, 5: 2, 7: 2}
    assert persons(known, reentry=False) == {6: 1, 5: 2, 7: 3}
    counts = who_is_who(known, [], DISTANCES, reentry=True).counts
    assert counts == {Outcome.NEW: 2, Outcome.RETURNED: 1, Outcome.UNCERTAIN: 0, Outcome.UNSEEN: 0}


def test_who_was_seen_together_is_two() -> None:
    known = {1: at(0.0, 0), 2: at(0.1, 0), 3: at(-0.5, 50)}
    assert persons(known, (1, 2)) == {1: 1, 2: 2, 3: 3}, "it might as well be the other one"
    known[3] = at(-0.9, 50)
    found = persons(known, (1, 2))
    assert found[1] != found[2] and found[3] == 3, "a rival is within the margin"
    known[2] = at(3.0, 0)
    assert persons(known, (1, 2)) == {1: 1, 2: 2, 3: 1}


def test_constraints_are_handed_on() -> None:
    """1 and 2 are one; 2 was seen with 3, so 1 is not 3 either."""
    known = {1: at(0.0, 0), 2: at(0.1, 20), 3: at(0.9, 20)}
    found = persons(known, (2, 3))
    assert found[3] not in (found[1], found[2])


def test_a_track_that_goes_on_may_be_a_little_farther() -> None:
    assert persons({1: at(0.0, 0), 2: at(1.1, 9)}) == {1: 1, 2: 2}
    assert persons({1: at(0.0, 0), 2: at(1.1, 9, follows=1)}) == {1: 1, 2: 1}
    assert persons({1: at(0.0, 0), 2: at(1.1, 9, follows=1)}, reentry=False) == {1: 1, 2: 1}
    uncertain = who_is_who({1: at(0.0, 0), 2: at(1.1, 9)}, [], DISTANCES, reentry=True).counts[Outcome.UNCERTAIN]
    assert uncertain == 2


def test_a_glimpse_is_somebody_only_alone_or_recognised() -> None:
    known = {1: at(0.0, 0), 2: at(9.0, 0, frames=4), 3: at(0.2, 50, frames=1)}
    assert persons(known) == {1: 1, 2: 2, 3: 1}
    assert persons(known, (1, 2)) == {1: 1, 3: 1}
    assert persons(known | {2: at(9.0, 0, frames=5)}, (1, 2)) == {1: 1, 2: 2, 3: 1}


def test_those_without_a_template_are_nobody_known() -> None:
    unseen = Tracklet(0, 9, Gathered(np.zeros(3), None, 0))
    short = Tracklet(10, 12, None, follows=1)
    assert persons({1: unseen, 2: unseen}) == {1: 1, 2: 2}
    assert persons({1: unseen, 2: short}) == {1: 1, 2: 1}, "too short to tell, but nobody else was near"
    assert persons({1: unseen, 2: short}, (1, 2)) == {1: 1}
    assert persons({2: short}) == {}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_nobody_is_two_people_at_a_time(data: st.DataObject) -> None:
    """Whatever the templates: those seen together differ, and everybody of a person is near its middle."""
    count = data.draw(st.integers(1, 12))
    places = data.draw(st.lists(st.floats(-4, 4), min_size=count, max_size=count))
    known = {n: at(places[n], data.draw(st.integers(0, 30)), frames=5 + n) for n in range(count)}
    pairs = list(itertools.combinations(range(count), 2))
    together = set(data.draw(st.lists(st.sampled_from(pairs), max_size=12))) if pairs else set()
    who = who_is_who(known, together, DISTANCES, reentry=True)
    assert set(who.persons) == set(known) and set(who.persons.values()) == set(range(1, 1 + max(who.persons.values())))
    assert all(who.persons[one] != who.persons[other] for one, other in together)
    assert sum(who.counts.values()) == count
    firsts = [
        min(known[n].first for n, p in who.persons.items() if p == person)
        for person in sorted(set(who.persons.values()))
    ]
    assert firsts == sorted(firsts)
    again = who_is_who(dict(reversed(known.items())), together, DISTANCES, reentry=True)
    assert again.persons == who.persons, "the order in which they are told does not matter"


def test_what_is_gathered_of_a_tracklet() -> None:
    gathered = GatheredTracklets()
    assert gathered.person_of(4) is None
    assert gathered.commit_together({4: (None, 6)}) == {4: 4}
    gathered.named(4, np.ones(3))
    gathered.commit_together({4: (np.ones(2), 9)})
    gathered.commit_together({4: (None, 12)})
    gathered.named(gathered.commit_unseen(5), np.zeros(3))
    gathered.expect(5, 4)
    one, other = gathered.tracklets[4], gathered.tracklets[5]
    assert one.frames == 9 and one.template is not None, "a template is not lost to later words without one"
    assert (other.frames, other.template) == (0, None) and gathered.follows == {5: 4}
    assert "1." not in repr(one), "nothing biometric is printed"
