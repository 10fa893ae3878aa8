"""Runs surveys of live pictures in a thread of their own: the result of one comes some frames later, without a wait.

A survey takes longer than a camera's frame. A survey that is small and seldom enough to wait for finds half as much: of
419 faces in the six hardest labelled clips 39 were open with a survey of 640 pixels every two seconds, for which
pictures waited. Pictures still wait for a survey at a start and after a cut, when no person is known; where pictures
come too seldom for a result to come soon; and where a survey does not end in time, so that no person goes without one.
"""

from __future__ import annotations

import threading
import time as clock
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple, cast

import numpy as np

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.calls_beside import Answer, Asked, serve
from streamdeid.detection.candidates import SAME_FACE, overlap
from streamdeid.detection.five_points import as_detected, moved_points
from streamdeid.detection.places import Place
from streamdeid.detection.second_look import SecondLook
from streamdeid.detection.survey import Part, Survey, Surveyed
from streamdeid.detection.turned_survey import SeenAside

_LATEST, _SELDOM = Fraction(1), Fraction(1, 4)
"""Seconds of the stream after which an answer is of no use: the picture of that time is looked at instead, and waits.
And seconds between two pictures from which pictures always wait: an answer that comes with the next one is too late."""
_REST = 2.0
"""The pause after a survey, as a multiple of the time that it took; no pause while windows are owed. So surveys take a
third of one processor at most, after the first seconds."""


@dataclass(frozen=True)
class There:
    """A place as it was when a survey was asked for."""

    place: Place
    box: Box
    asked: bool
    """Whether the survey's opinion of the place counts: the place was seen, and upright."""
    opinions: int
    """`Place.opinions` at that time."""

    @classmethod
    def of(cls, place: Place) -> There:
        """A record of a place as it is now."""
        return cls(place, place.box, _seen_upright(place), place.opinions)

    @property
    def holds(self) -> bool:
        """Whether the survey's opinion still counts: a place with fewer opinions than then may be another person's."""
        return self.asked and _seen_upright(self.place) and self.place.opinions >= self.opinions


def _seen_upright(place: Place) -> bool:
    return place.missed == 0 and not place.turn


class Told(NamedTuple):
    """The result of a survey, and what was known of its picture."""

    seen: Surveyed | SeenAside | None = None
    """What the survey found; None while there is no result."""
    then: Sequence[There] = ()
    """The places of the picture that the survey looked at."""
    camera: CameraMotion | None = None
    """How the camera moved since that picture; None where it stood still."""


_Looked = tuple[Surveyed | SeenAside | None, float]


class SurveyBeside:
    """Runs a `Survey` in another thread than the caller's, one look at a time. `close` it in the end.

    Each call takes the places known in its picture; the answer for that picture hands these places back.
    """

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._asked: Asked = SimpleQueue()
        self._told: SimpleQueue[Answer] = SimpleQueue()
        self._known: Sequence[There] | None = None
        """Places of the picture that is looked at; None while there is none, or when its answer is no longer of use."""
        self._since: Fraction | None = None
        """Time of that picture; None while none is looked at."""
        self._part: Part | None = None
        """The part of that picture that is looked at."""
        self._wait = True
        """Whether the next picture that is looked at waits for its survey."""
        self._last: Fraction | None = None
        """Time of the last picture."""
        self._not_before = -1.0
        self._camera: CameraMotion | None = None
        """How the camera moved since the picture that is looked at."""
        threading.Thread(target=serve, args=(self._asked, self._told), name="survey", daemon=True).start()
        self._finish = weakref.finalize(self, self._asked.put, None)

    def lay_out(self, size: tuple[int, int]) -> None:
        """The next pictures have this size, width and height."""
        self._drop()
        self._survey.lay_out(size)
        self._wait = True

    def restart(self) -> None:
        """Look at the next picture, which waits for that: it has nothing in common with the last one."""
        self._known = None
        self._survey.restart()
        self._wait = True

    def soon(self) -> None:
        """Look at the next picture: it may show more faces than the last one."""
        self._survey.restart()
        self._not_before = -1.0

    def look_for(self, turns: Collection[int]) -> None:
        """From now on look at the picture in these quarter turns (0 is one of them) as often as at the upright one."""
        self._survey.look_for(turns)

    def moved(self, motion: CameraMotion) -> None:
        """The camera moved before the next picture."""
        self._survey.moved(motion)
        if self._since is not None:
            self._camera = motion.after(self._camera)

    def close(self) -> None:
        """End the thread after its current look."""
        self._finish()

    def __call__(self, planes: Planes, time: Fraction, calm: bool, here: Sequence[There]) -> Told:
        """The result, if any, of a survey of an earlier picture or of this one, with the places of that picture.

        planes, time, calm: as for `Survey`; the caller must not change the planes afterwards. here: the places of this
        picture. Raises the errors of a look.
        """
        seldom = self._last is not None and not 0 <= time - self._last < _SELDOM
        self._last, late = time, self._since is not None and not 0 <= time - self._since < _LATEST
        dropped = self._drop() if self._wait or seldom or late else None
        answer = self._answer()
        rests = not (self._wait or seldom or self._survey.owing) and clock.monotonic() < self._not_before
        if self._since is not None or rests:
            return answer
        # A dropped part was not seen: this picture is looked at in that part instead.
        part = self._survey.due(time, calm) if self._wait or dropped is None else dropped
        if part is None:
            return answer
        if self._wait or seldom or late:
            self._wait = False
            return Told(self._survey.look(planes, part), here)
        self._since, self._known, self._part, self._camera = time, here, part, None
        self._asked.put(partial(_looked, self._survey, planes, part))
        return answer

    def _answer(self) -> Told:
        """The result of the survey that was running, if it has ended."""
        if self._since is None:
            return Told()
        try:
            answer, error = self._told.get(block=False)
        except Empty:
            return Told()
        known, self._known, self._since = self._known, None, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback holds this stack frame: a reference cycle
        seen, seconds = cast(_Looked, answer)
        self._not_before = clock.monotonic() + _REST * seconds
        return Told() if known is None else Told(seen, known, self._camera)

    def _drop(self) -> Part | None:
        """Wait for the running survey and discard its result; returns the part that it looked at. If the network
        failed, it fails with the next picture, too."""
        if self._since is None:
            return None
        self._told.get()
        self._known = self._since = None
        return self._part


def _looked(survey: Survey, planes: Planes, part: Part) -> _Looked:
    """What a survey sees, and for how many seconds of real time it looked."""
    began = clock.monotonic()
    return survey.look(planes, part), clock.monotonic() - began


def found_now(look: SecondLook, planes: Planes, found: Keypoints, told: Told, seen: Sequence[Box]) -> Keypoints:
    """Where a face that a survey saw some pictures ago is in this picture. It moved with the place that it lay in then;
    without such a place, the second network searches near where it was, moved as the camera moved, and where that sees
    none, it is taken to be there. seen: boxes of the faces that are seen now, pixels."""
    box = as_detected(found.box)
    followed = [one for one in told.then if one.place.missed == 0]
    shared = overlap(np.array([box]), np.array([one.box for one in followed]).reshape(-1, 4))[0]
    if shared.max(initial=0.0) < SAME_FACE:
        if told.camera is not None:
            found = Keypoints(told.camera.box(found.box), told.camera(found.points), found.score)
        return look.near(planes, as_detected(found.box), seen) or found
    one = followed[int(shared.argmax())]
    before, now = np.reshape(one.box, (2, 2)), np.reshape(one.place.box, (2, 2))
    return moved_points(found, before, now, 1.0)
