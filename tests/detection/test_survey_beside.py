"""Surveys beside the detection: nothing waits for one, and what it saw is told with the places of its own picture."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Frame
from streamdeid.detection import survey_beside
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.places import Place
from streamdeid.detection.survey import Surveyed
from streamdeid.detection.survey_beside import SurveyBeside, There, Told, found_now
from streamdeid.runs import parts
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people

PLANES = planes_from_rgb(np.zeros((48, 64, 3), np.uint8))
BOX = (10.0, 10.0, 30.0, 30.0)


class Held:
    """A survey that is always due, and whose looks in another thread than the first last until they are let go."""

    def __init__(self) -> None:
        self.go, self.looked = threading.Event(), threading.Semaphore(0)
        self.restarts, self.looks, self.owing, self.idle = 0, 0, False, False
        self.error: Exception | None = None
        self._first = threading.get_ident()

    def lay_out(self, size: tuple[int, int]) -> None:
        """Nothing depends on it."""

    def restart(self) -> None:
        self.restarts += 1

    def soon(self) -> None:
        self.restart()

    def moved(self, motion: CameraMotion) -> None:
        """Nothing depends on it."""

    def due(self, time: Fraction, calm: bool) -> Fraction | None:
        return None if self.idle else time

    def look(self, planes: object, part: Fraction) -> str:
        self.looks += 1
        if threading.get_ident() != self._first:
            assert self.go.wait(60)
        if self.error is not None:
            raise self.error
        return f"seen at {part}"


@pytest.fixture
def held() -> Iterator[Held]:
    survey = Held()
    yield survey
    survey.go.set()


@pytest.fixture
def beside(held: Held, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A survey beside, which has no rest between two looks."""
    monkeypatch.setattr(survey_beside, "_REST", 0.0)
    made: Any = SurveyBeside(held)  # type: ignore[arg-type]
    yield made
    made.close()


def place(*corners: float) -> There:
    box = corners or BOX
    return There.of(Place(box, 0.6, 0))


def told(beside: Any, first: int) -> tuple[Any, Any, int]:
    """What pictures from this one on, 1/20 s apart, are told as soon as something is; and which one is."""
    for index in range(first, first + 15):
        deadline = time.monotonic() + 60
        while beside._since is not None and beside._told.empty() and time.monotonic() < deadline:
            time.sleep(0.001)
        seen, then, _ = beside(PLANES, Fraction(index, 20), False, [])
        if seen is not None:
            return seen, then, index
    raise AssertionError("nothing was ever told")


def test_the_first_picture_waits_and_no_other_does(held: Held, beside: Any) -> None:
    first, second = [place()], [place()]
    assert beside(PLANES, Fraction(0), False, first) == Told("seen at 0", first)
    assert beside(PLANES, Fraction(1, 20), False, second) == Told(), "it is held, and this came back"
    assert beside(PLANES, Fraction(2, 20), False, []) == Told()
    held.go.set()
    seen, then, _ = told(beside, 3)
    assert seen == "seen at 1/20" and then is second


@pytest.mark.parametrize("later", [Fraction(1), Fraction(5), Fraction(-1)])
def test_what_is_late_is_of_no_use_and_the_picture_waits(held: Held, beside: Any, later: Fraction) -> None:
    """A machine without time, a camera that stalled, a clock that went back."""
    beside(PLANES, Fraction(0), False, [])
    since = Fraction(1, 20)
    beside(PLANES, since, False, [place()])
    held.go.set()
    now, held.idle = [place()], True
    assert beside(PLANES, since + later, False, now) == Told(f"seen at {since}", now), "the same part, of this picture"
    assert held.looks == 3


def test_pictures_that_seldom_come_wait(held: Held, beside: Any) -> None:
    for index in range(4):
        here = [place()]
        assert beside(PLANES, Fraction(index, 4), False, here) == Told(f"seen at {Fraction(index, 4)}", here)


def test_after_a_jump_the_next_picture_is_asked_for_without_a_rest(
    held: Held, beside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.go.set()
    monkeypatch.setattr(survey_beside, "_REST", 1e6)
    beside(PLANES, Fraction(0), False, [])
    beside(PLANES, Fraction(1, 20), False, [])
    seen, _, index = told(beside, 2)
    assert seen == "seen at 1/20" and beside._since is None, "it rests"
    beside.soon()
    now = Fraction(index + 1, 20)
    assert beside(PLANES, now, False, []) == Told(), "and does not wait"
    assert beside._since == now
    held.owing = True
    _, _, index = told(beside, index + 2)
    assert beside._since == Fraction(index, 20), "nor does it rest while it owes windows"


def test_after_a_cut_the_picture_waits_and_nothing_from_before_is_told(held: Held, beside: Any) -> None:
    beside(PLANES, Fraction(0), False, [])
    beside(PLANES, Fraction(1, 20), False, [place()])
    beside.restart()
    held.go.set()
    after = [place()]
    assert beside(PLANES, Fraction(2, 20), False, after) == Told("seen at 1/10", after)
    assert held.restarts == 1
    assert told(beside, 3)[0] != "seen at 1/20"


def test_what_goes_wrong_is_raised_where_it_is_asked_for(held: Held, beside: Any) -> None:
    beside(PLANES, Fraction(0), False, [])
    held.error = ValueError("broken")
    beside(PLANES, Fraction(1, 20), False, [])
    held.go.set()
    with pytest.raises(ValueError, match="broken"):
        told(beside, 2)
    held.error = None
    assert told(beside, 17)[0] is not None, "and the next one is asked for as ever"


def test_it_rests_twice_as_long_as_it_looked(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    now = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr(survey_beside, "clock", now)
    beside: Any = SurveyBeside(held)  # type: ignore[arg-type]
    monkeypatch.setattr(beside, "_told", SimpleNamespace(get=lambda block: ((None, 0.3), None)))
    beside(PLANES, Fraction(0), False, [])
    beside(PLANES, Fraction(1, 20), False, [])  # asked
    beside(PLANES, Fraction(2, 20), False, [])  # told: 0.3 seconds
    assert beside._since is None
    for later, asked in ((0.59, False), (0.61, True)):
        now.monotonic = lambda later=later: 100.0 + later
        beside(PLANES, Fraction(3, 20), False, [])
        assert (beside._since is not None) == asked
    beside.close()


def test_its_thread_ends_with_it(held: Held) -> None:
    beside: Any = SurveyBeside(held)  # type: ignore[arg-type]
    (thread,) = [one for one in threading.enumerate() if one.name == "survey" and one.is_alive()][-1:]
    beside.close()
    thread.join(60)
    assert not thread.is_alive()


def test_a_face_goes_along_with_its_place_or_is_looked_for_nearby() -> None:
    found = Keypoints((11.0, 11.0, 29.0, 29.0), np.full((5, 2), 20.0), 0.5)
    near = Keypoints((15.0, 10.0, 35.0, 30.0), np.full((5, 2), 25.0), 0.8)
    asked: list[tuple[Any, ...]] = []
    look: Any = SimpleNamespace(near=lambda *given: asked.append(given))
    one = place()
    one.place.box = (17.0, 6.0, 37.0, 26.0)  # it walked on: 7 to the right, 4 up
    moved = found_now(look, PLANES, found, Told(None, [one]), [])
    assert moved.box == (18.0, 7.0, 36.0, 25.0) and moved.points[0].tolist() == [27.0, 16.0] and not asked
    others = [(1.0, 2.0, 3.0, 4.0)]
    assert found_now(look, PLANES, found, Told(), others) is found, "nobody sees it any more"
    assert asked[0][0] is PLANES and asked[0][2] is others
    look.near = lambda *_: near
    assert found_now(look, PLANES, found, Told(), others) is near
    one.place.missed = 3
    assert found_now(look, PLANES, found, Told(None, [one]), others) is near, "a place that is lost stays where it was"


def test_a_face_of_no_place_lies_where_the_camera_left_it(held: Held, beside: Any) -> None:
    right, up = (CameraMotion(np.eye(2), np.array(by)) for by in ([8.0, 0.0], [0.0, -3.0]))
    beside(PLANES, Fraction(0), False, [])
    beside.moved(right)
    beside(PLANES, Fraction(1, 20), False, [])  # asked, after it had moved
    beside.moved(right)
    beside.moved(up)
    held.go.set()
    while beside._told.empty():
        time.sleep(0.001)
    answer = beside(PLANES, Fraction(2, 20), False, [])
    assert answer.camera.shift.tolist() == [8.0, -3.0]
    found = Keypoints((11.0, 11.0, 29.0, 29.0), np.full((5, 2), 20.0), 0.5)
    look: Any = SimpleNamespace(near=lambda *_: None)
    moved = found_now(look, PLANES, found, answer, [])
    assert moved.box == (19.0, 8.0, 37.0, 26.0) and moved.points[0].tolist() == [28.0, 17.0]


def test_what_was_said_of_a_place_counts_while_that_is_the_same_and_seen() -> None:
    one = place()
    one.place.opined(1.2)
    then = There.of(one.place)
    one.place.opined(1.4)
    assert then.holds
    one.place._opinions = 0  # as where something else is seen after a while
    assert not then.holds
    lost = There.of(Place(BOX, 0.6, 0))
    lost.place.missed = 1
    assert not lost.holds


def test_what_came_meanwhile_is_told_what_a_late_survey_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A faint place that a tile made while the survey looked would be open until the next one."""
    box = (400.0, 300.0, 440.0, 340.0)
    frame = Frame(planes_from_rgb(np.full((480, 640, 3), 110, np.uint8)), Fraction(0), 0)
    said = []
    for late in (False, True):
        detect: Any = MediapipeFaces(survey=0.5, beside=late)
        try:
            detect(frame)
            faint = Place(box, 0.2, 0, least=0.5)
            faint.evidence = 0.17
            detect._places = [faint]
            found = Keypoints((402.0, 302.0, 438.0, 338.0), np.full((5, 2), 420.0), 0.8)
            seen = SimpleNamespace(faces=(found,), opinion=lambda _: 2.0, denies=lambda _: True)
            seen.evidence = partial(Surveyed.evidence, seen)
            answer = Told(seen, []) if late else seen
            monkeypatch.setattr(detect, "_beside" if late else "_survey", lambda *_, answer=answer: answer)
            monkeypatch.setattr(detect._look, "near", lambda *_, found=found: found)
            detect._look_over(frame)
            said.append((faint.possible, faint.surveyed, faint.evidence))
        finally:
            monkeypatch.undo()
            detect.close()
    assert said[0][0] and said[1][0] and said[0][1] == said[1][1] == 2.0
    assert said[1][2] >= said[0][2]


def test_drawn_people_are_surveyed_beside_as_they_are_at_once() -> None:
    models = load_models(None)
    people = list(synthetic_people(models.fitting, models.gallery, people=2, seconds=2.4))
    said = []
    for beside in (False, True):
        detect = MediapipeFaces(survey=0.05, survey_side=320, beside=beside)  # rarer while nothing is in doubt
        try:
            detect._close_look = None  # what it says counts as a survey's word
            said.append([[face.surveyed for face in detect(one.frame)] for one in people])
        finally:
            detect.close()
    for frames in said:
        assert all(len(faces) == 2 for faces in frames)
    assert said[1][0] == said[0][0], "the first picture waits"
    later = [opinion for faces in said[1][1:] for opinion in faces if opinion is not None]
    assert later and min(later) > 1, "what is told later is of these people"


@pytest.mark.parametrize(
    ("live", "lookahead", "processors", "expected"),
    [
        (False, 1.0, 1, (0.5, 960, False)),
        (False, 0.0, 2, (2.0, 640, False)),
        (True, 0.3, 1, (2.0, 640, False)),
        (True, 0.0, 2, (0.5, 960, True)),
    ],
)
def test_only_live_pictures_do_not_wait_and_only_where_there_is_a_second_processor(
    live: bool, lookahead: float, processors: int, expected: tuple[float, int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(parts, "MediapipeFaces", lambda *given: asked.append(given))
    monkeypatch.setattr(parts, "processors", lambda: processors)
    parts.default_detector(Settings(lookahead=lookahead), live=live)
    parts.default_detector(Settings(lookahead=lookahead, survey=3.0), live=live)
    assert asked[0][3:] == expected
    assert asked[1][3:] == (3.0, *expected[1:])
