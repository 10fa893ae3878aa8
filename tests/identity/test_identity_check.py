"""Tracklets and persons, where looks say when a tracklet is over: who is asked for, when, and with what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.identity.identity_check import Estimate, IdentityCheck, ManyPersons
from streamdeid.identity.looks import Break, BreakCause

FACE = Face((0, 0, 50, 50), 0.9)
EMPTY = np.zeros((2, 2), np.uint8)
LIKELY, UNLIKELY = Break(BreakCause.CROSSING, True), Break(BreakCause.CROSSING, False)
Y = np.arange(3.0)
TEMPLATE = np.ones(2)
Asked = dict[int, tuple[int, bool]]
"""By tracklet: frames, and whether there was a template."""


@dataclass
class Known:
    """A register that notes what it is asked, and answers as it is told to."""

    answers: dict[int, int] = field(default_factory=dict)
    people: dict[int, int] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    expected: list[tuple[int, int]] = field(default_factory=list)
    unseen: list[int] = field(default_factory=list)
    present: set[int] = field(default_factory=set)

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        self.present = {track.number for track in tracks}

    def person_of(self, track: int) -> int | None:
        return self.people.get(track)

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        raise AssertionError("all of a frame are asked for together")

    def commit_together(self, known: Mapping[int, tuple[Points | None, int]]) -> dict[int, int | None]:
        assert known and known.keys() <= self.present, "the register knows nobody who is gone"
        self.asked.append({number: (frames, template is not None) for number, (template, frames) in known.items()})
        for number, (template, _) in known.items():
            if number in self.answers and template is not None:
                self.people.setdefault(number, self.answers[number])
        return {number: self.people.get(number) for number in known}

    def commit_unseen(self, track: int) -> int:
        assert track in self.present
        self.unseen.append(track)
        return self.people.setdefault(track, 100 + track)

    def expect(self, track: int, earlier: int) -> None:
        assert track in self.present
        self.expected.append((track, earlier))

    def forgotten(self) -> frozenset[int]:
        return frozenset({77})


class Played:
    """A check that is told frame by frame what is seen of each track."""

    def __init__(self) -> None:
        self.register = Known()
        self.estimates: list[tuple[int, bool]] = []
        self.named: list[tuple[int, list[float]]] = []
        self.nothing: set[int] = set()
        """Tracklets of which there is no template."""
        self.check = IdentityCheck(self.register, self._estimate, self._name)
        self.index = -1
        self.tracklets: list[dict[int, int]] = []
        """By frame, then by track."""

    def _estimate(self, tracklet: int, final: bool) -> Estimate:
        self.estimates.append((tracklet, final))
        return Estimate(Y + tracklet, None if tracklet in self.nothing else TEMPLATE)

    def _name(self, person: int, y: Points) -> None:
        self.named.append((person, y.tolist()))

    def frame(self, states: Mapping[int, str], broken: Mapping[int, Break] | None = None) -> list[Track]:
        """A frame that shows tracks as good (`.`), weak (`w`), ambiguous (`?`) or lost (`-`)."""
        self.index += 1
        tracks = [
            Track(number, FACE.box, None if state == "-" else FACE, int(state == "-"), state == "?")
            for number, state in states.items()
        ]
        tracklets = self.check.update(self.at(self.index), tracks, {} if broken is None else broken)
        self.tracklets.append({track.number: one.number for track, one in zip(tracks, tracklets, strict=True)})
        for track, state in zip(tracklets, states.values(), strict=True):
            if state in ".w" and not track.ambiguous:
                self.check.saw(track.number, good=state == ".")
        self.check.settle()
        return tracklets

    def play(self, line: str) -> None:
        for state in line:
            self.frame({1: state})

    @staticmethod
    def at(index: int) -> Frame:
        return Frame(Planes(EMPTY, EMPTY[:1, :1], EMPTY[:1, :1]), Fraction(index, 25), index)

    def person(self, tracklet: int = 1) -> int | None:
        return self.check.settle_last(tracklet)


def numbers(tracks: Iterable[Track]) -> list[int]:
    return [track.number for track in tracks]


def test_the_register_of_these_tests_is_one_of_many_persons() -> None:
    assert isinstance(Known(), ManyPersons)


def test_where_looks_judge_a_doubt_or_a_loss_breaks_nothing() -> None:
    played = Played()
    for state in "...??..----------..":
        (track,) = played.frame({1: state})
        assert (track.number, track.ambiguous) == (1, state == "?")


def test_a_tracklet_ends_where_looks_broke_it_and_only_of_that_track() -> None:
    played = Played()
    assert numbers(played.frame({1: ".", 2: "."})) == [1, 2]
    tracklets = played.frame({1: ".", 2: "."}, {2: UNLIKELY})
    assert [(track.number, track.ambiguous) for track in tracklets] == [(1, False), (3, True)]
    tracklets = played.frame({2: ".", 1: "."})
    assert [(track.number, track.ambiguous) for track in tracklets] == [(3, False), (1, False)], "in the same order"
    assert [played.tracklets[index][2] for index in range(3)] == [2, 3, 3]
    assert not played.check.present(2) and played.check.present(3)


def test_a_track_that_is_broken_in_its_first_frame_begins_once() -> None:
    """It is the first tracklet that begins, and nobody was there before to go on with."""
    played = Played()
    (track,) = played.frame({1: "."}, {1: LIKELY})
    assert (track.number, track.ambiguous) == (1, False)
    assert numbers(played.frame({1: "."})) == [1] and played.register.expected == []


def test_the_register_is_told_who_most_likely_goes_on() -> None:
    played = Played()
    played.frame({1: ".", 2: "."})
    played.frame({1: ".", 2: "."}, {1: LIKELY, 2: UNLIKELY})
    assert played.register.expected == [(3, 1)]
    played.frame({1: ".", 2: "."}, {1: LIKELY, 2: LIKELY})
    assert played.register.expected == [(3, 1), (5, 3), (6, 4)]


def test_a_known_person_goes_on_in_frames_before_the_break_only() -> None:
    played = Played()
    played.register.answers = {1: 7, 2: 8}
    for _ in range(24):
        played.frame({1: "."})
    played.frame({1: "."}, {1: LIKELY})
    assert played.person(played.tracklets[23][1]) == 7
    assert played.person(played.tracklets[24][1]) is None


@pytest.mark.parametrize("frames", [11, 12])
def test_who_gives_no_good_frame_is_somebody_new_after_twelve(frames: int) -> None:
    played = Played()
    played.play("w" * frames)
    assert played.person() == (None if frames < 12 else 101)
    assert played.register.asked == [], "there is nothing to recognise anybody by"
    assert played.named == ([] if frames < 12 else [(101, (Y + 1).tolist())])
    played.person()
    assert played.register.unseen == ([] if frames < 12 else [1]), "once"


def test_a_few_good_frames_count_with_the_weak_ones() -> None:
    played = Played()
    played.frame({1: "w", 2: "-"})
    played.play("w...." + "w" * 6)
    assert played.person() == 101


def test_frames_in_doubt_are_neither_good_nor_weak() -> None:
    played = Played()
    played.play("w" * 11 + "?" * 30)
    assert played.person() is None


def test_few_good_ones_among_many_are_asked_for_as_many() -> None:
    """Five good and forty weak: who gave enough good ones is not waited for any longer."""
    played = Played()
    played.frame({1: "w", 2: "w"})  # somebody else was there, so the first frame does not name anybody
    for _ in range(39):
        played.frame({1: "w", 2: "-"})
    for _ in range(5):
        played.frame({1: ".", 2: "-"})
    assert played.person() is None
    assert played.register.asked[-1] == {1: (5 + 40, True)}
    assert played.register.unseen == []


def test_four_good_frames_count_no_weak_ones() -> None:
    played = Played()
    played.play("...." + "w" * 3)
    played.person()
    assert played.register.asked == [{1: (4, True)}]


def test_among_others_a_face_waits_for_five_good_frames_and_alone_for_one() -> None:
    played = Played()
    played.frame({1: ".", 2: "."})
    for _ in range(3):
        played.frame({1: ".", 2: "-"})
        assert played.person() is None
    assert played.register.asked == []
    played.frame({1: ".", 2: "-"})
    played.person()
    assert played.register.asked == [{1: (5, True)}]
    alone = Played()
    alone.frame({1: "."})
    alone.person()
    assert alone.register.asked == [{1: (1, True)}]


def test_those_who_wait_are_asked_for_together() -> None:
    played = Played()
    for _ in range(6):
        played.frame({1: ".", 2: ".", 3: "w"})
    played.register.answers = {1: 7, 2: 8}
    assert played.person(2) == 8
    assert played.register.asked == [{1: (6, True), 2: (6, True)}]
    assert played.person(1) == 7 and len(played.register.asked) == 1
    assert sorted(played.named) == [(7, (Y + 1).tolist()), (8, (Y + 2).tolist())]


def test_who_is_lost_is_asked_for_with_five_good_frames() -> None:
    played = Played()
    played.play("....-")
    assert played.register.asked == []
    played.play(".")
    assert played.register.asked == []
    played.play("-")
    assert played.register.asked == [{1: (5, True)}]


def test_without_a_template_a_tracklet_waits_and_then_is_somebody_new() -> None:
    """The recogniser has not told enough: up to twice as many frames are waited for it."""
    played = Played()
    played.nothing = {1}
    played.register.answers = {1: 7}
    for count in range(1, 24):
        played.frame({1: "."})
        assert played.person() is None and not played.register.unseen, count
    assert not any(told for asked in played.register.asked for _, told in asked.values())
    played.frame({1: "."})
    assert played.person() == 101 and played.register.unseen == [1]


def test_a_template_that_comes_late_is_asked_for_after_a_few_frames() -> None:
    played = Played()
    played.nothing = {1}
    played.register.answers = {1: 7}
    for _ in range(14):
        played.frame({1: "."})
        assert played.person() is None
    played.nothing = set()
    for _ in range(4):
        played.frame({1: "."})
        played.person()
    assert played.person() == 7
    ((_, known),) = played.register.asked[-1].values()
    assert known
    assert played.register.unseen == []


def test_an_estimate_is_made_again_at_a_few_counts_only() -> None:
    """It is dear. Without anybody else the first frame is enough to ask, and the person is asked for in each, from 24
    good ones on twice: as soon as they are known, and before they are shown."""
    played = Played()
    for _ in range(100):
        played.frame({1: "."})
        played.person()
    assert [next(iter(asked.values()))[0] for asked in played.register.asked] == sorted(
        [1] * 4 + [5] * 3 + [8] * 4 + [12] * 12 + [24] * 52 + [50] * 50 + [75] * 50 + [100] * 2
    )
    assert len(played.estimates) == 8


def test_at_the_end_of_a_tracklet_all_good_frames_are_told() -> None:
    """The person was found with five of eleven; what was learned since makes the template better."""
    played = Played()
    played.register.answers = {1: 7}
    played.play("." * 5)
    assert played.person() == 7
    played.play("." * 6)
    assert played.estimates[-1] == (1, False) and len(played.register.asked) == 1
    played.frame({1: "."}, {1: UNLIKELY})
    assert played.estimates[-1] == (1, True)
    assert played.register.asked[-1] == {1: (11, True)}
    assert played.named == [(7, (Y + 1).tolist())], "the surrogate is chosen once"


@pytest.mark.parametrize(("line", "asked"), [("....", False), (".....", True), ("." * 24, False)])
def test_a_tracklet_that_ends_is_asked_for_unless_too_little_or_everything_is_known(line: str, asked: bool) -> None:
    played = Played()
    played.register.answers = {1: 7}
    played.play(line)
    if len(line) >= 24:  # known, and learnt
        assert played.person() == 7
        played.play(".")
    before = len(played.register.asked)
    played.frame({})
    assert (len(played.register.asked) > before) == asked
    assert ((1, True) in played.estimates) == asked


@pytest.mark.parametrize(("line", "unseen"), [("w" * 11, False), ("w" * 12, True), ("..." + "w" * 9, True)])
def test_a_tracklet_that_ends_without_a_person_is_somebody_new_if_it_was_long(line: str, unseen: bool) -> None:
    """Frames of it may still wait to be published."""
    played = Played()
    played.play(line)
    played.frame({})
    assert played.register.unseen == ([1] if unseen else [])
    assert played.check.settle_last(1) == (101 if unseen else None)
    assert len(played.named) == unseen


def test_when_no_frame_follows_what_was_learned_of_the_known_is_told() -> None:
    """Another part of the stream may follow. Nobody is named any more: nothing will be shown."""
    played = Played()
    played.register.answers = {1: 7, 2: 8, 3: 9}
    for index in range(10):
        played.frame({1: ".", 2: ".", 3: "." if index < 4 else "w"})
    assert played.person(1) == 7
    del played.register.people[2]  # as if nobody was recognised on it
    before, named = len(played.register.asked), len(played.named)
    played.frame({1: ".", 2: ".", 3: "w"})
    played.check.close()
    played.check.close()
    assert played.register.asked[before:] == [{1: (11, True)}]
    assert played.estimates[-1] == (1, True)
    assert len(played.named) == named and played.register.unseen == []


def test_several_who_end_at_once_claim_together() -> None:
    played = Played()
    for _ in range(6):
        played.frame({1: ".", 2: "."})
    played.frame({1: ".", 2: "."}, {1: UNLIKELY, 2: UNLIKELY})
    assert played.register.asked == [{1: (6, True), 2: (6, True)}]


def test_who_is_known_and_learnt_teaches_nothing_more() -> None:
    played = Played()
    played.register.answers = {1: 7}
    played.play("." * 23)
    assert played.check.learns(1)
    played.play("..")
    assert not played.check.learns(1) and not played.check.learns(2)
    asked = len(played.register.asked)
    played.play("." * 50)
    assert len(played.register.asked) == asked


def test_a_later_part_of_the_stream_counts_its_tracklets_on() -> None:
    played = Played()
    played.frame({1: "."})
    played.frame({1: "."}, {1: UNLIKELY})
    assert played.check.count == 2 and played.check.forgotten() == {77}
    after = IdentityCheck(played.register, lambda one, final: Estimate(Y, TEMPLATE), lambda person, y: None, 2)
    (track,) = after.update(played.at(2), [Track(1, FACE.box, FACE, 0, False)], {})
    assert track.number == after.count == 3


def test_a_register_that_knows_no_unseen_people_leaves_them_undecided() -> None:
    class Plain:
        def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
            """Nothing to note."""

        def person_of(self, track: int) -> int | None:
            return None

        def commit(self, track: int, identity: Points, frames: int) -> int | None:
            return None

    named: list[int] = []
    check = IdentityCheck(Plain(), lambda tracklet, final: Estimate(Y, None), lambda person, y: named.append(person))
    for index in range(40):
        check.update(Played.at(index), [Track(1, FACE.box, FACE, 0, False)], {})
        check.saw(1, good=False)
        assert check.settle_last(1) is None
    check.update(Played.at(40), [], {})
    assert check.settle_last(1) is None and not named and check.forgotten() == frozenset()
