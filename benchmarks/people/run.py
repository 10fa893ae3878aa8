"""A clip through the filter in this process, with what was shown on whom in each frame (for `people`)."""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clips import KEY
from benchmarks.recall.late_survey import detector
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import pose_of
from streamdeid.core.arrays import Box as Corners
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.errors import InputError
from streamdeid.report.redaction_report import FileSide
from streamdeid.runs.analysed import header_of
from streamdeid.runs.parts import (
    assemble,
    in_time,
    lookahead_frames,
    open_source,
)
from streamdeid.runs.segments.cutting import cut_up
from streamdeid.runs.segments.deciding import decide
from streamdeid.runs.segments.rendering import around, parts_of, rendered
from streamdeid.runs.segments.study import study
from streamdeid.runs.session import Session
from streamdeid.runs.step import Done, Step, filtered
from streamdeid.settings import WHOLE_FILE, Settings
from streamdeid.surrogates.models import Models
from streamdeid.video.files.seeking import frame_times
from streamdeid.video.files.source import FileSource

OWN, POSED = "own face", "posed face"
_LEVELS = {"synthetic": OWN}


def level_of(redaction: Redaction) -> str:
    """The protection level's label; those of earlier versions of the filter under today's names."""
    return _LEVELS.get(redaction.level, redaction.level)


_Published = Done[None]


@dataclass(frozen=True)
class Place:
    """Where a face was protected."""

    corners: Corners
    level: str
    """Label of the protection level."""
    person: int
    """Person of the filter's register, each with a surrogate of its own; 0 for nobody known."""


@dataclass(frozen=True)
class Shown:
    """A published frame."""

    index: int
    redactions: Sequence[Place]
    turns: Sequence[tuple[Corners, float]]
    """For each face with landmarks, as detected in this frame, their bounding box and the yaw, degrees from 0 up."""


class Filtering:
    """The filter over one clip, as on a file, without encoding."""

    def __init__(
        self, video: Path, models: Models, settings: Settings, most: int | None = None, key: bytes = KEY
    ) -> None:
        """Nothing runs before `frames`; most: the clip ends after so many frames; key: 32 bytes."""
        self._video, self._most = video, most
        self._session = Session(settings, models, key)
        self.cpu = 0.0
        """CPU seconds of this process: reading, detection, filter."""
        self.breaks: Counter[str] = Counter()
        """Why a known face's tracklet ended, in words, and how often."""
        self.causes: Counter[str] = Counter()
        """Why faces got a lower level than their own face."""

    def frames(self) -> Iterator[tuple[Frame, Planes, Shown]]:
        """Each frame, what was published of it, and what was shown. Raises StreamdeidError."""
        model = self._session.models.fitting.model
        for original, published, tracks in self.published():
            yield original, published.planes, shown(published, tracks, model)

    def published(self) -> Iterator[tuple[Frame, DeidentifiedFrame, Sequence[Track]]]:
        """Each frame, what was published of it, and what the tracker said of it. Raises StreamdeidError."""
        source = open_source(self._video, self._session.settings)
        running: Iterator[_Published | None] = self._once(source)
        if self._session.settings.decisions == WHOLE_FILE:
            twice = self._twice(source)
            with contextlib.suppress(InputError):  # it cannot be cut up: in one pass, as `filter` does
                running = chain([self._next(twice)], twice)
        while (one := self._next(running)) is not None:
            self.causes.update(plan.cause.value for plan in one.plans if plan.cause is not None)
            yield one.pending.frame, one.frame, one.pending.tracks

    def _once(self, source: FileSource) -> Iterator[_Published]:
        """Its frames as decided with the look-ahead."""
        info = source.info
        with detector(self._session.settings) as detect:
            size = (info.width, info.height)
            stream = assemble(self._session, detect, size=size, rate=info.average_rate)
            step: Step[None] = stream.step()
            yield from filtered(islice(source, self._most), step, lookahead_frames(self._session.settings, info))
            if stream.faces is not None:
                self.breaks = _worded(stream.faces.breaks)

    def _twice(self, source: FileSource) -> Iterator[_Published]:
        """The same in two passes, as `runs.segments` does it in one process."""
        info, session, settings = source.info, self._session, self._session.settings
        times, keys = frame_times(source.path, info.time_base)
        spans = cut_up(times, keys, lookahead_frames(settings, info))
        header = header_of(settings, session.models, info, FileSide.of(source.path))
        with contextlib.ExitStack() as safe:
            detect = safe.enter_context(detector(settings))
            timed = safe.enter_context(contextlib.closing(in_time(detect, settings)))
            place = Path(safe.enter_context(tempfile.TemporaryDirectory()))
            files = [place / f"{span.number}.analysis" for span in spans]
            studies = [
                study(span, source, session, timed, header, file, lambda index: None)
                for span, file in zip(spans, files, strict=True)
            ]
            distances, chosen = session.distances, session.surrogates()
            whole = decide(spans, studies, distances, chosen, reentry=settings.reentry, rate=info.average_rate)
            parts = parts_of(spans, files, whole)
            for span in spans:
                yield from rendered(around(span, parts), span, source, session, header, whole.surrogates)

    def _next(self, running: Iterator[_Published | None]) -> _Published | None:
        start = time.process_time()
        published = next(running, None)
        self.cpu += time.process_time() - start
        return published


def shown(published: DeidentifiedFrame, tracks: Sequence[Track], model: AppearanceModel) -> Shown:
    """What was shown in a frame with these tracks."""
    redactions = [Place(one.box, level_of(one), one.person) for one in published.redactions]
    turns = []
    for face in (track.face for track in tracks):
        if face is not None and face.landmarks is not None and face.forehead is not None:
            points = np.concatenate([face.landmarks, face.forehead])
            (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
            corners = float(x0), float(y0), float(x1), float(y1)
            turns.append((corners, abs(math.degrees(pose_of(points, model).yaw))))
    return Shown(published.index, redactions, turns)


def _worded(counts: Mapping[Any, int]) -> Counter[str]:
    return Counter({str(getattr(cause, "value", cause)): count for cause, count in counts.items()})
