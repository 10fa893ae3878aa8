"""Surveys of live pictures in a thread of their own: what one sees is told some frames later, and nothing waits for it.

A survey takes longer than a camera's frame, and one that is small and seldom enough to wait for finds half as much: of
419 faces in the six hardest labelled clips 39 were open with one of 640 pixels every two seconds, which pictures waited
for. Pictures still wait at a start and after a cut, when nobody is known; where they come too seldom for anything to
be told soon; and where there is no time left at all: nobody is to go without a survey.
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
"""Seconds of the stream after which an answer is of no use: the picture of then is looked at instead, and waits. And
seconds between two pictures from which they wait anyway: what is told with the next one would be of no use there."""
_REST = 2.0
"""Times as long as a survey took that the next one is not begun, but for windows that are owed: surveys take a third of
one processor at most, after the first seconds."""


@dataclass(frozen=True)
class There:
    """A place when a survey was asked for."""

    place: Place
    box: Box
    asked: bool
    """Whether what the survey says of it counts: it was seen, and upright."""
    opinions: int
    """`Place.opinions` then."""

    @classmethod
    def of(cls, place: Place) -> There:
        """A place as it is now."""
        return cls(place, place.box, _seen_upright(place), place.opinions)

    @property
    def holds(self) -> bool:
        """Whether what the survey says counts now, too: with fewer opinions the place is perhaps somebody else's."""
        return self.asked and _seen_upright(self.place) and self.place.opinions >= self.opinions


def _seen_upright(place: Place) -> bool:
    return place.missed == 0 and not place.turn


class Told(NamedTuple):
    """What a survey tells."""

    seen: Surveyed | SeenAside | None = None
    """None while it tells nothing."""
    then: Sequence[There] = ()
    """The places of the picture that it looked at."""
    camera: CameraMotion | None = None
    """How the camera moved since that picture; None where it stood."""


_Looked = tuple[Surveyed | SeenAside | None, float]


class SurveyBeside:
    """A `Survey` beside the thread that asks for it, one look at a time. `close` it in the end.

    Its calls take what is known of a picture when it is asked for, and hand that back with the answer.
    """

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._asked: Asked = SimpleQueue()
        self._told: SimpleQueue[Answer] = SimpleQueue()
        self._known: Sequence[There] | None = None
        """Of the picture that is looked at, None while none is or when the answer is of no use any more."""
        self._since: Fraction | None = None
        """Time of that picture; None while none is looked at."""
        self._part: Part | None = None
        """Of it."""
        self._wait = True
        """Whether the next picture that is looked at waits."""
        self._last: Fraction | None = None
        """Time of the last picture."""
        self._not_before = -1.0
        self._camera: CameraMotion | None = None
        """How the camera moved since that picture."""
        threading.Thread(target=serve, args=(self._asked, self._told), name="survey", daemon=True).start()
        self._finish = weakref.finalize(self, self._asked.put, None)

    def lay_out(self, size: tuple[int, int]) -> None:
        """The next pictures have this size, width and height."""
        self._drop()
        self._survey.lay_out(size)
        self._wait = True

    def restart(self) -> None:
        """Look at the next picture, which waits: it has nothing to do with the last."""
        self._known = None
        self._survey.restart()
        self._wait = True

    def soon(self) -> None:
        """Look at the next picture: there may be more in it than in the last."""
        self._survey.restart()
        self._not_before = -1.0

    def look_for(self, turns: Collection[int]) -> None:
        """Look after these quarter turns, 0 among them, as often as at the upright picture from now on."""
        self._survey.look_for(turns)

    def moved(self, motion: CameraMotion) -> None:
        """The camera moved before the next picture."""
        self._survey.moved(motion)
        if self._since is not None:
            self._camera = motion.after(self._camera)

    def close(self) -> None:
        """End the thread, once it is done with what it looks at."""
        self._finish()

    def __call__(self, planes: Planes, time: Fraction, calm: bool, here: Sequence[There]) -> Told:
        """What was seen in an earlier picture, or in this one, None while nothing was, with the places of that picture.

        planes, time, calm: as for `Survey`; nobody may change the planes. here: the places of this picture. Raises what
        a look raises.
        """
        seldom = self._last is not None and not 0 <= time - self._last < _SELDOM
        self._last, late = time, self._since is not None and not 0 <= time - self._since < _LATEST
        dropped = self._drop() if self._wait or seldom or late else None
        answer = self._answer()
        rests = not (self._wait or seldom or self._survey.owing) and clock.monotonic() < self._not_before
        if self._since is not None or rests:
            return answer
        # What was dropped was not seen: it is this picture's turn.
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
        """What was told since."""
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
            del error  # its traceback holds this frame: a circle
        seen, seconds = cast(_Looked, answer)
        self._not_before = clock.monotonic() + _REST * seconds
        return Told() if known is None else Told(seen, known, self._camera)

    def _drop(self) -> Part | None:
        """Wait for what is looked at, and forget it; which part it was. If the network fails, it does so with the next
        picture, too."""
        if self._since is None:
            return None
        self._told.get()
        self._known = self._since = None
        return self._part


def _looked(survey: Survey, planes: Planes, part: Part) -> _Looked:
    """What a survey sees, and the seconds for which it looked, by the clock."""
    began = clock.monotonic()
    return survey.look(planes, part), clock.monotonic() - began


def found_now(look: SecondLook, planes: Planes, found: Keypoints, told: Told, seen: Sequence[Box]) -> Keypoints:
    """Where a face is in a picture that a survey saw some pictures before, when places were where they were then: it
    went along with its place, or the second network sees it near where it was, as the camera moved. seen: boxes of the
    faces that are seen now, pixels."""
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
