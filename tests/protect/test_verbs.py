"""The contracts of the seam: observing commits nobody, settling does, deciding changes nothing, rendering asks none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.analysis.applied import FrameEdits
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.identity.looks import Looks
from streamdeid.identity.recognised_faces import Known, Recogniser, vector_of
from streamdeid.identity.register import PersonRegister, new_persons
from streamdeid.identity.upper_face import UpperFace
from streamdeid.protect.edited import Edited
from streamdeid.protect.fixed_regions import FixedRegions
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.region import Region
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.protect.whitelist import Whitelist
from streamdeid.runs.step import WithLookAhead
from streamdeid.tracking.lookahead import LookAhead
from tests.filmed import Choice, Drawn, Vector, bared, drawer, lost, track, two

AHEAD = 4
"""Frames that wait."""
NOTHING = FrameEdits(frozenset(), {}, {}, (), (), {})


class Verb:
    """What the filter is at, and what was asked of others meanwhile."""

    def __init__(self) -> None:
        self.name = ""
        self.asked: Counter[tuple[str, str]] = Counter()

    def note(self, what: str) -> None:
        self.asked[self.name, what] += 1


class Register:
    """A register of many persons that notes in which verb it is called."""

    def __init__(self, verb: Verb) -> None:
        self._verb, self._inner = verb, PersonRegister(new_persons(reentry=True, rate=25))

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        self._verb.note("update")
        self._inner.update(frame, tracks)

    def person_of(self, track: int) -> int | None:
        self._verb.note("person_of")
        return self._inner.person_of(track)

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        self._verb.note("commit")
        return self._inner.commit(track, identity, frames)

    def commit_together(self, known: Mapping[int, tuple[Points | None, int]]) -> Mapping[int, int | None]:
        self._verb.note("commit")
        return self._inner.commit_together(known)

    def commit_unseen(self, track: int) -> int:
        self._verb.note("commit")
        return self._inner.commit_unseen(track)

    def expect(self, track: int, earlier: int) -> None:
        self._verb.note("expect")
        self._inner.expect(track, earlier)

    def forgotten(self) -> Set[int]:
        self._verb.note("forgotten")
        return self._inner.forgotten()


class Surrogates(Choice):
    """A choice that notes the same."""

    def __init__(self, model: AppearanceModel, verb: Verb) -> None:
        super().__init__(model)
        self._verb = verb

    def surrogate(self, person: int, y: Points) -> Vector:
        self._verb.note("choose")
        return super().surrogate(person, y)

    def provisional(self, number: int) -> Vector:
        self._verb.note("choose")
        return super().surrogate(100 + number, np.zeros(0))

    def adopt(self, number: int, person: int, y: Points) -> Vector:
        self._verb.note("choose")
        return super().surrogate(100 + number, y)

    def release(self, number: int) -> None:
        self._verb.note("release")


def as_it_is(filter: ReplaceFaces) -> Deidentifier:
    return filter


def with_look_ahead(filter: ReplaceFaces) -> Deidentifier:
    return WithLookAhead(filter, LookAhead(0.5))


def with_a_region(filter: ReplaceFaces) -> Deidentifier:
    return FixedRegions(filter, [Region(0, 0, 20, 20)])


def edited(filter: ReplaceFaces) -> Deidentifier:
    """Every second frame the first track is another person's, and a hand drew a place."""
    edits = FrameEdits(frozenset(), {}, {}, ((4, (200.0, 200.0, 240.0, 250.0)),), (), {1: 7})
    return Edited(filter, lambda index: edits if index % 2 else NOTHING, lambda index: {}, filter)


def played(
    fitting: FitModel,
    frames: Sequence[tuple[Planes, Sequence[Track]]],
    times: int = 1,
    around: Callable[[ReplaceFaces], Deidentifier] = as_it_is,
    ahead: int = AHEAD,
) -> tuple[Verb, list[Any]]:
    """Frames filtered with look-ahead. times: how often each is decided, with queries between. ahead: how many wait.
    What was asked of others, and the frames published, with their redactions."""
    verb = Verb()
    filter = ReplaceFaces(fitting, Surrogates(fitting.model, verb), Register(verb), judge=Looks())
    whole = around(filter)
    waiting: list[PendingFrame[None]] = []
    done: list[DeidentifiedFrame] = []

    def publish() -> None:
        one = waiting[0]
        verb.name = "settle"
        whole.settle(waiting, one.tracks)
        verb.name = "decide"
        plans = whole.decide(one, one.tracks)
        for _ in range(times - 1):
            known = filter.vectors(), filter.tracklets, [filter.chosen(plan.person) for plan in plans]
            for plan in plans:
                filter.allows(one, plan.track)
                filter.provisional(plan.tracklet)
                filter.face_of(plan.person)
            plans = whole.decide(one, one.tracks)
            assert known == (filter.vectors(), filter.tracklets, [filter.chosen(plan.person) for plan in plans])
        verb.name = "render"
        done.append(whole.render(waiting.pop(0), plans))

    for index, (planes, tracks) in enumerate(frames):
        verb.name = "observe"
        pending = PendingFrame(Frame(planes, Fraction(index, 25), index), tracks, None)
        waiting.append(pending)
        whole.observe(pending, waiting)
        verb.name = "settle"
        whole.settle(waiting)
        if len(waiting) > ahead:
            publish()
    while waiting:
        publish()
    return verb, [(one.planes.y, one.planes.u, one.redactions) for one in done]


def check_same(first: Sequence[Any], second: Sequence[Any]) -> None:
    """Two runs published the same pictures, with the same redactions."""
    for (y, u, redactions), (other_y, other_u, others) in zip(first, second, strict=True):
        np.testing.assert_array_equal(y, other_y)
        np.testing.assert_array_equal(u, other_u)
        assert redactions == others


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


@pytest.fixture(scope="module")
def frames(drawn: Drawn) -> list[tuple[Planes, list[Track]]]:
    """Two people; one is known by five points only, then in doubt; the other one is lost, ends, and comes back."""
    left, both = two(drawn)
    clear = [track(left.face), track(both.face, 2)]
    bare = [track(bared(left)), track(both.face, 2)]
    doubt = [track(left.face, ambiguous=True), track(both.face, 2)]
    hidden = [track(left.face), lost(both.face.box, 2)]
    one = [track(left.face)]
    again = [track(left.face), track(both.face, 3)]
    scenes = [(8, clear), (3, bare), (7, clear), (3, doubt), (6, clear), (3, hidden), (4, one), (8, again)]
    return [(both.planes, tracks) for times, tracks in scenes for _ in range(times)]


AROUND = pytest.mark.parametrize("around", [as_it_is, with_look_ahead, with_a_region, edited])


@AROUND
def test_only_settling_commits_persons_and_chooses_faces(
    fitting: FitModel,
    frames: list[tuple[Planes, list[Track]]],
    around: Callable[[ReplaceFaces], Deidentifier],
) -> None:
    verb, done = played(fitting, frames, around=around)
    assert {name for name, _ in verb.asked} == {"settle"}, "not observing, deciding or rendering"
    assert verb.asked["settle", "update"] == len(frames) == len(done)
    assert verb.asked["settle", "commit"] >= 3 and verb.asked["settle", "choose"] >= 2


@AROUND
def test_deciding_and_asking_change_nothing(
    fitting: FitModel,
    frames: list[tuple[Planes, list[Track]]],
    around: Callable[[ReplaceFaces], Deidentifier],
) -> None:
    """Who is decided three times, with queries between, is published as who is decided once."""
    (once, first), (more, second) = (played(fitting, frames, times, around) for times in (1, 3))
    assert once.asked == more.asked
    check_same(first, second)
    assert {one.level for _, _, redactions in first for one in redactions} >= {"own face"}


def test_the_whitelist_keeps_the_contracts(fitting: FitModel, drawn: Drawn) -> None:
    """Who is on it is left as they are once that is certain; deciding three times, and asking, change nothing."""
    left, both = two(drawn)
    one = left.face
    recogniser = Recogniser(UpperFace(fitting.model), accept=0.2, sharpness=0.0)
    vector = vector_of(left.planes, one, fitting.model, recogniser.describe)
    assert vector is not None
    known = Known(recogniser, vector[None])

    def around(filter: ReplaceFaces) -> Deidentifier:
        return Whitelist(filter, known, fitting.model)

    frames = [(both.planes, [track(one), track(both.face, 2)])] * 60
    (once, first), (more, second) = (played(fitting, frames, times, around, ahead=15) for times in (1, 3))
    assert {name for name, _ in once.asked} == {"settle"} and once.asked == more.asked
    shown = [{two.track for two in redactions} for _, _, redactions in first]
    assert shown[0] == {1, 2} and shown[-16] == {2}, "redacted at first, then left as they are"
    check_same(first, second)
