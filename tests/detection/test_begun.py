"""A detector that looks at the next frame while something else is done: asked once, told in time, never in doubt."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fractions import Fraction

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.detection.deadline import TimedDetector
from streamdeid.detection.guard import Change, Watch
from streamdeid.errors import FailedClosed
from streamdeid.runs import files, parts, session
from streamdeid.runs.analysed import Kept
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models
from tests.live_fakes import planes
from tests.patience import PATIENCE


def frame(index: int) -> Frame:
    return Frame(planes(9), Fraction(index), index)


class Told:
    """A detector that finds as many faces as the frame's number, and notes what it was told; it waits where it must."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.go, self.begun = threading.Event(), threading.Event()
        self.go.set()

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        self.seen.append(frame.index)
        if frame.index == 13:
            raise ValueError("no luck")
        return [Face((0.0, 0.0, 9.0, 9.0), 1.0)] * frame.index

    def forget(self) -> None:
        self.seen.append("forget")

    def search_all(self) -> None:
        self.seen.append("search all")

    def close(self) -> None:
        self.seen.append("close")

    def look_again(self, frame: Frame, track: int, box: object, others: object, /) -> None:
        self.seen.append((frame.index, track))


def test_a_frame_that_was_begun_is_looked_at_once_and_while_nobody_waits() -> None:
    told = Told()
    told.go.clear()
    detect, three = TimedDetector(told, PATIENCE), frame(3)
    detect.begin(three)
    assert told.begun.wait(PATIENCE) and told.seen == []
    told.go.set()
    assert len(detect(three)) == 3 and len(detect(frame(2))) == 2
    assert told.seen == [3, 2]


class Upright(Told):
    """One that looks at less of a last picture."""

    def search_last(self) -> None:
        self.seen.append("search upright")


@pytest.mark.parametrize(("inner", "last"), [(Told(), "search all"), (Upright(), "search upright")])
def test_a_last_picture_is_searched_as_the_detector_can(inner: Told, last: str) -> None:
    detect = TimedDetector(inner, PATIENCE)
    detect.search_last()
    detect.search_all()
    assert inner.seen == [last, "search all"]


@pytest.mark.parametrize("other", ["frame", "look_again", "forget", "search_all", "search_last", "begin"])
def test_what_was_begun_is_over_before_anything_else_is_asked_or_told(other: str) -> None:
    told = Told()
    told.go.clear()
    detect, three = TimedDetector(told, PATIENCE), frame(3)
    detect.begin(three)
    threading.Timer(0.2, told.go.set).start()
    if other == "frame":
        assert len(detect(frame(1))) == 1
    elif other == "look_again":
        assert detect.look_again(frame(1), 7, (0.0, 0.0, 1.0, 1.0), ()) is None
    elif other == "begin":
        detect.begin(frame(1))
    else:
        getattr(detect, other)()
    assert told.seen[:1] == [3]
    assert len(detect(three)) == 3, "what was dropped is asked for anew"


def test_what_goes_wrong_with_a_frame_that_was_begun_is_raised_when_it_is_asked_for() -> None:
    told = Told()
    detect, bad = TimedDetector(told, PATIENCE), frame(13)
    detect.begin(bad)
    with pytest.raises(ValueError, match="no luck"):
        detect(bad)
    detect.begin(bad)
    assert len(detect(frame(1))) == 1, "nobody asked for it"


def test_a_frame_that_was_begun_and_never_ends_is_late_when_it_is_waited_for() -> None:
    told = Told()
    told.go.clear()
    detect, three = TimedDetector(told, 0.3), frame(3)
    detect.begin(three)
    with pytest.raises(FailedClosed, match=r"did not answer within 0\.3 s on frame 3"):
        detect(three)
    detect.begin(frame(4))  # nothing is begun any more
    with pytest.raises(FailedClosed, match="hung before"):
        detect(frame(4))
    told.go.set()
    hangs = Told()
    hangs.go.clear()
    other = TimedDetector(hangs, 0.3)
    other.begin(three)
    other.forget()
    with pytest.raises(FailedClosed, match="hung before"):
        other(frame(4))
    hangs.go.set()


def test_a_detector_that_a_file_which_failed_left_at_work_is_not_the_next_ones_where_it_hangs(
    fitting: FitModel, gallery: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Told] = []

    def detector(_: Settings, *, live: bool = False) -> Told:
        made.append(Told())
        return made[-1]

    monkeypatch.setattr(parts, "default_detector", detector)
    monkeypatch.setattr(session, "load_models", lambda _: Models(fitting, gallery))
    with files.FileRun(Settings(method="blackout", detector_deadline=0.3)) as run:
        first = run.start().detect
        first.begin(frame(1))
        assert run.start().detect is first and made[0].seen == [1, "forget"]
        made[0].go.clear()
        first.begin(frame(2))
        second = run.start().detect
        assert second is not first and first.hung and len(second(frame(2))) == 2
        made[0].go.set()


class Begun:
    """A detector that can begin."""

    def __init__(self, told: list[str]) -> None:
        self.told = told

    def begin(self, frame: Frame) -> None:
        self.told.append(f"begin {frame.index}")

    def __call__(self, frame: Frame, /) -> list[Face]:
        self.told.append(f"asked {frame.index}")
        return []


def test_a_cut_and_a_last_frame_are_told_once_before_the_detector_begins() -> None:
    told: list[str] = []
    first = frame(0)
    seen = Watch(
        Begun(told),
        lambda levels: Change(cut=levels is first.luma_levels),
        lambda: told.append("cut"),
        lambda: told.append("last"),
    )
    seen.foresee(first, None)
    seen.begin(first)
    assert told == ["cut", "last", "begin 0"]
    seen(first)
    seen(frame(1))
    assert told[3:] == ["asked 0", "asked 1"] and seen.cuts == 1


def test_a_detector_whose_faces_are_kept_begins_too() -> None:
    told: list[str] = []
    kept = Kept(Begun(told), lambda face: face)
    kept.begin(frame(2))
    Kept(lambda _: [], lambda face: face).begin(frame(2))
    assert told == ["begin 2"] and kept(frame(2)) == []


def test_nobody_looks_again_while_the_detector_is_at_the_next_frame() -> None:
    seen = Watch(Begun([]), lambda levels: Change(), lambda: None)
    seen.begin(frame(5))
    with pytest.raises(FailedClosed, match="frame 4 is asked about while the detector is at work on 5"):
        seen.look_again(frame(4), 1, (0.0, 0.0, 5.0, 5.0), ())
    assert seen(frame(5)) == [] and seen.look_again(frame(4), 1, (0.0, 0.0, 5.0, 5.0), ()) is not None


def test_a_detector_that_was_closed_answers_nothing_that_was_begun() -> None:
    told = Told()
    detect, three = TimedDetector(told, PATIENCE, told.close), frame(3)
    detect.begin(three)
    detect.close()
    assert told.seen == [3, "close"]
    with pytest.raises(FailedClosed, match="was stopped"):
        detect(three)


def test_a_detector_that_cannot_begin_is_asked_as_ever() -> None:
    told: list[str] = []
    seen = Watch(lambda _: told.append("asked") or [], lambda levels: Change(cut=not told), lambda: told.append("cut"))
    first = frame(0)
    seen.begin(first)
    assert told == []
    seen(first)
    assert told == ["cut", "asked"]
