"""The work of a process on segments, one after another: it studies and renders them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamdeid.analysis.records import AnalysisHeader
from streamdeid.core.file_identity import FileIdentity
from streamdeid.core.whose import Whose
from streamdeid.detection.deadline import TimedDetector
from streamdeid.report.counts import Counts
from streamdeid.runs.parts import default_detector, in_time, open_source, passes_self_test
from streamdeid.runs.segments.cutting import SegmentSpan
from streamdeid.runs.segments.rendering import DecidedSegment, rendered, write
from streamdeid.runs.segments.study import Studied, study
from streamdeid.runs.session import session_without_register
from streamdeid.runs.workers import Told
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import Surrogate


@dataclass(frozen=True)
class Recording:
    """The values that all segments of a recording have in common."""

    input: Path
    identity: FileIdentity
    """The identity of the input when the run first opened it."""
    settings: Settings
    header: AnalysisHeader


@dataclass(frozen=True)
class StudyTask:
    """The task to study a segment."""

    span: SegmentSpan
    path: Path
    """The file for the records of its frames."""


@dataclass(frozen=True)
class RenderTask:
    """The task to render a segment."""

    span: SegmentSpan
    path: Path
    """The file for its pictures."""
    parts: Sequence[DecidedSegment] = field(repr=False)
    surrogates: Mapping[Whose, Surrogate] = field(repr=False)
    """Of the persons and tracklets in it (`deciding.Whole`)."""


Task = StudyTask | RenderTask


class SegmentWork:
    """Does the tasks of one recording, with models and detector of its own. Close it."""

    def __init__(self, recording: Recording) -> None:
        """Runs the self-test. Raises InputError, SettingsError, ModelError and FailedClosed."""
        self._recording = recording
        self._cleanup = contextlib.ExitStack()
        with contextlib.ExitStack() as safe:
            self._source = open_source(recording.input, recording.settings, recording.identity)
            self._session = session_without_register(recording.settings)
            detect = default_detector(recording.settings)
            self._detect: TimedDetector = safe.enter_context(
                contextlib.closing(in_time(detect, recording.settings, detect.close))
            )
            passes_self_test(self._session, self._detect)
            self._cleanup = safe.pop_all()

    def do(self, task: Task, told: Told) -> Studied | Counts:
        """Do a task. Raises InputError, OutputError and FailedClosed."""
        source, session, header = self._source, self._session, self._recording.header
        if isinstance(task, StudyTask):
            return study(task.span, source, session, self._detect, header, task.path, told)
        frames = rendered(task.parts, task.span, source, session, header, task.surrogates)
        return write(frames, task.span, source.info, session.settings, task.path, told)

    def close(self) -> None:
        """End the detector. Harmless when repeated."""
        self._cleanup.close()


def begin(recording: Recording) -> Callable[[Task, Told], Studied | Counts]:
    """The function that does the tasks of a recording in a process of its own. Raises as `SegmentWork`."""
    return SegmentWork(recording).do
