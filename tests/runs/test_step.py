"""The loop over frames: what is known of a track in frames before it was there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.protect.pending import PendingFrame, SeenTrack, Waiting
from streamdeid.protect.plan import Deidentifier, settled
from streamdeid.runs.step import Step, WithLookAhead, filtered
from streamdeid.tracking.lookahead import LookAhead
from streamdeid.tracking.noted import Noted
from streamdeid.tracking.tracker import FaceTracker

BOX = 10.0, 10.0, 40.0, 40.0
PLANES = Planes(np.zeros((80, 96), np.uint8), np.zeros((40, 48), np.uint8), np.zeros((40, 48), np.uint8))


class Chosen:
    """A look-ahead that covers what it was told."""

    def __init__(self, covered: Sequence[Track]) -> None:
        self._covered = covered
        self.asked: list[tuple[Noted, int]] = []
        """What was noted of the frames that it was asked about, and how many came after each."""
        self.unlooked: list[Track] = []

    def shown(self, tracks: Sequence[Track], now: Noted, later: Sequence[Noted], look: object) -> Sequence[Track]:
        self.asked.append((now, len(later)))
        return self._covered


class Decides:
    """A method that keeps what it is asked."""

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        pass

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        pass

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> list[Any]:
        return list(tracks)


class SeesCuts:
    """A detector before a camera that moves, that finds nothing, and tells of a cut before frame 2."""

    camera = CameraMotion(np.eye(2), np.array([3.0, 0.0]))
    cuts = 0

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        self.cuts = int(frame.index >= 2)
        return []


def frame(index: int, time: float | None = None, **seen: SeenTrack) -> PendingFrame[None]:
    known = {int(name[1:]): one for name, one in seen.items()}
    tracks = [Track(number, BOX, None, missed=1, ambiguous=False) for number in known]
    pending: PendingFrame[None] = PendingFrame(Frame(PLANES, Fraction(index, 25), index), tracks, None)
    pending.noted = Noted(index, index / 25 if time is None else time, 0, cast(Any, None))
    pending.seen = known
    return pending


@pytest.mark.parametrize("doubt", [True, False])
@pytest.mark.parametrize("found", [True, False])
def test_before_its_first_frame_a_track_shows_whom_it_shows_there_as_surely(doubt: bool, found: bool) -> None:
    early = Track(7, BOX, Face(BOX, 0.9, again=True) if found else None, missed=1, ambiguous=False)
    known = Track(8, BOX, None, missed=1, ambiguous=False)
    now, own = frame(0, t8=SeenTrack(3, ambiguous=True)), SeenTrack(3, ambiguous=True)
    later = [frame(1), frame(2, t7=SeenTrack(5, ambiguous=doubt)), frame(3, t7=SeenTrack(6, ambiguous=not doubt))]
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, Chosen([early, known])))
    settled(step, [now, *later], [known])
    assert now.seen == {7: SeenTrack(5, ambiguous=doubt), 8: own}


def test_of_a_track_that_no_method_observes_nothing_is_known() -> None:
    now = frame(0)
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, Chosen([Track(7, BOX, None, 1, False)])))
    settled(step, [now, frame(1)], [])
    assert now.seen == {}


@pytest.mark.parametrize(("frames", "far"), [(1, 1), (5, 1), (6, 2), (12, 3), (31, 7), (60, 7)])
def test_what_is_covered_is_settled_for_a_fifth_of_the_frames_that_wait_at_most_a_quarter_of_a_second(
    frames: int, far: int
) -> None:
    """In order, once for each, two at a time at most, with all that comes after it; the method is told."""
    waiting = [frame(index) for index in range(frames)]
    chosen = Chosen([Track(7, BOX, None, 1, False)])
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, chosen))
    for asked in range(1, 8):
        assert settled(step, waiting, []) == chosen._covered
        assert len(chosen.asked) == min(1 + 2 * asked, far)
    assert chosen.asked == [(one.noted, frames - 1 - index) for index, one in enumerate(waiting[:far])]
    assert [one.covered is not None for one in waiting] == [True] * far + [False] * (frames - far)
    assert waiting[-1].known == (chosen._covered if far == frames else [])
    for index in range(1, frames):
        settled(step, waiting[index:], [])
    assert [now for now, _ in chosen.asked] == [one.noted for one in waiting]


def test_who_was_seen_one_frame_later_is_covered_in_a_frame_that_was_not_looked_at() -> None:
    seen, waiting = Track(7, BOX, None, 1, False), [frame(n) for n in range(9)] + [frame(9, t7=SeenTrack(5, True))]
    chosen = Chosen([])
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, chosen))
    chosen.unlooked = [seen]
    assert settled(step, waiting, []) == [seen], "it is the one that is decided now"
    assert waiting[0].seen[7] == SeenTrack(5, ambiguous=True), "and shows whom it shows later"
    moved = frame(0)
    moved.noted = replace(cast(Noted, moved.noted), offset=np.array([30.0, -5.0]))
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, chosen))
    (there,) = settled(step, [moved, *(frame(n) for n in range(1, 9)), frame(9, t7=SeenTrack(5, True))], [])
    assert there.box == (BOX[0] + 30, BOX[1] - 5, BOX[2] + 30, BOX[3] - 5), "where it was before the camera moved on"
    chosen._covered, chosen.unlooked, again = [seen], [seen], [frame(n) for n in range(9)]
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, chosen))
    assert settled(step, again, []) == [seen], "whoever is covered already is not covered twice"


@pytest.mark.parametrize("gap", [0.0, 2.0])
def test_a_pause_settles_no_more_frames_and_no_time_at_all_does_not_either(gap: float) -> None:
    waiting = [frame(index, 0.0 if not gap else index / 25 + gap * (index > 1)) for index in range(10)]
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, chosen := Chosen([])))
    for _ in range(5):
        settled(step, waiting, [])
    assert len(chosen.asked) == 2


def test_a_doubt_that_is_cleared_later_is_none_before_the_first_frame_either() -> None:
    early, waiting = Track(7, BOX, Face(BOX, 0.9, again=True), missed=1, ambiguous=False), [frame(n) for n in range(9)]
    waiting[8] = frame(8, t7=SeenTrack(5, ambiguous=True))
    step = WithLookAhead(cast(Deidentifier, Decides()), cast(LookAhead, Chosen([early])))
    settled(step, waiting, [])
    assert waiting[1].seen[7] == SeenTrack(5, ambiguous=True)
    view = cast(Any, object())
    waiting[1].seen[7].posed, waiting[8].seen[7] = view, SeenTrack(6, ambiguous=False)
    settled(step, waiting[1:], [])
    assert waiting[1].seen[7] == SeenTrack(6, ambiguous=False, posed=view)


class Notes:
    """Detector, tracker and method in one: notes who is asked what, and when."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def foresee(self, frame: Frame, following: Frame | None) -> None:
        self.told.append(f"foresee {frame.index}")

    def begin(self, frame: Frame) -> None:
        self.told.append(f"begin {frame.index}")

    def __call__(self, frame: Frame, /) -> list[Face]:
        self.told.append(f"detect {frame.index}")
        return []

    def update(self, faces: Sequence[Face], time: Fraction) -> list[Track]:
        return []

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        pass

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        if due is not None:
            self.told.append(f"settle {waiting[0].frame.index}")

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> list[Any]:
        self.told.append(f"decide {pending.frame.index}")
        return []

    def render(self, pending: PendingFrame[Any], plans: object) -> DeidentifiedFrame:
        self.told.append(f"render {pending.frame.index}")
        frame = pending.frame
        return DeidentifiedFrame(frame.planes, frame.time, frame.index, ())


def test_the_detector_begins_with_the_next_frame_while_the_oldest_is_rendered_and_after_it_was_decided() -> None:
    """Deciding may ask it to look again, and it is to know no more then than it did."""
    notes = Notes()
    step: Step[None] = Step(notes, notes, notes)
    frames = [frame(index).frame for index in range(4)]
    assert [one.frame.index for one in filtered(iter(frames), step, 1)] == [0, 1, 2, 3]
    order = "foresee 0, detect 0, foresee 1, detect 1, foresee 2, settle 0, decide 0, begin 2, render 0, detect 2, "
    order += "foresee 3, "
    order += (
        "settle 1, decide 1, begin 3, render 1, detect 3, settle 2, decide 2, render 2, settle 3, decide 3, render 3"
    )
    assert notes.told == order.split(", ")
    assert list(filtered(iter(()), step, 1)) == []


def test_a_frame_is_noted_with_the_scene_and_the_camera_that_the_detector_tells() -> None:
    whole = WithLookAhead(cast(Deidentifier, Decides()), LookAhead(0.5))
    step: Step[None] = Step(SeesCuts(), FaceTracker(), whole)
    box, offsets = np.zeros(4), []
    for index in range(4):
        step.analyse(frame(index).frame, None)
        noted = step.waiting[-1].noted
        assert noted is not None and noted.scene == step.waiting[-1].scene == int(index >= 2)
        offsets.append(float(noted.here(box)[0]))
    assert offsets == [3.0, 6.0, 3.0, 6.0], "from the first picture of each scene"
