"""The detector of a clip that stands for a recording or for a live stream, whose surveys are told later: the same each
time, unlike where a thread looks."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.frames import Planes
from streamdeid.detection import mediapipe_faces
from streamdeid.detection.deadline import TimedDetector
from streamdeid.detection.survey_beside import Told
from streamdeid.runs import parts
from streamdeid.runs.parts import timed_detector
from streamdeid.settings import Settings

TAKES, RESTS = Fraction(1, 5), 2
"""Seconds of the stream that a look takes, which is what it takes on two threads of a slow core, and how many times as
long the next one is not begun."""


class LateSurvey:
    """As `detection.survey_beside.SurveyBeside`, by the stream's clock instead of the machine's."""

    def __init__(self, survey: Any) -> None:
        self._survey, self._anew = survey, True
        self._coming: tuple[Fraction, Any, Sequence[Any]] | None = None
        self._not_before = Fraction(-1)
        self._camera: CameraMotion | None = None

    def lay_out(self, size: tuple[int, int]) -> None:
        """The next pictures have this size."""
        self._survey.lay_out(size)
        self._coming, self._anew = None, True

    def restart(self) -> None:
        """The next picture has nothing to do with the last."""
        self._survey.restart()
        self._coming, self._anew = None, True

    def soon(self) -> None:
        """There may be more in the next picture than in the last."""
        self._survey.restart()
        self._not_before = Fraction(-1)

    def look_for(self, turns: Collection[int]) -> None:
        """Heads lie in these quarter turns."""
        self._survey.look_for(turns)

    def moved(self, motion: CameraMotion) -> None:
        """The camera moved before the next picture."""
        self._survey.moved(motion)
        self._camera = motion.after(self._camera)

    def close(self) -> None:
        """Nothing is to be ended."""

    def __call__(self, planes: Planes, time: Fraction, calm: bool, here: Sequence[Any]) -> Told:
        """What an earlier picture's survey saw, once it is told."""
        told = Told()
        if self._coming is not None and not 0 <= time - self._coming[0] < TAKES:
            since, *found = self._coming
            told = Told(*found, self._camera)
            self._coming, self._not_before = None, since + (1 + RESTS) * TAKES
        rests = not (self._anew or self._survey.owing) and 0 <= self._not_before - time <= RESTS * TAKES
        if self._coming is not None or rests:
            return told
        part = self._survey.due(time, calm)
        if part is None:
            return told
        seen = self._survey.look(planes, part)
        if self._anew:
            self._anew = False
            return Told(seen, here)
        self._coming, self._camera = (time, seen, here), None
        return told


@contextlib.contextmanager
def detector(settings: Settings) -> Iterator[TimedDetector]:
    """The detector of these settings; with a look-ahead shorter than a recording's they stand for a live stream."""
    if hasattr(mediapipe_faces, "SurveyBeside"):
        late = mock.patch.object(mediapipe_faces, "SurveyBeside", LateSurvey)
        with late, mock.patch.object(parts, "processors", return_value=2):
            own = timed_detector(settings, live=settings.lookahead < Settings().lookahead)
    else:  # an earlier version of the filter
        own = timed_detector(settings)
    with contextlib.closing(own):
        yield own
