"""Filters a recording in two passes: studies all segments, decides who is who, renders all segments and joins them.

The segments, who is who, and the surrogate of each person depend on the recording, the settings and the key alone, not
on the number of processes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from streamdeid.analysis.records import AnalysisHeader
from streamdeid.core.atomic_file import check_paths
from streamdeid.core.held_signals import signals_held
from streamdeid.core.whose import Whose
from streamdeid.errors import InputError
from streamdeid.report.counts import Counts
from streamdeid.runs.parts import lookahead_frames
from streamdeid.runs.scratch import scratch
from streamdeid.runs.segments.cutting import SegmentSpan, cut_up
from streamdeid.runs.segments.deciding import Whole, decide
from streamdeid.runs.segments.processes import Processes
from streamdeid.runs.segments.registered_faces import SharedRegister
from streamdeid.runs.segments.rendering import around, parts_of
from streamdeid.runs.segments.study import Studied
from streamdeid.runs.segments.work import Recording, RenderTask, SegmentWork, StudyTask, Task
from streamdeid.runs.session import Session
from streamdeid.runs.workers import Told
from streamdeid.surrogates.choice import Surrogates
from streamdeid.video.files.copied_streams import Dropped
from streamdeid.video.files.joined import join
from streamdeid.video.files.seeking import frame_times
from streamdeid.video.files.source import FileSource
from streamdeid.video.formats import container_for


class NotCutError(Exception):
    """The recording cannot be cut into segments, so it is filtered in one pass; the message finishes "since …"."""


@dataclass(frozen=True)
class SegmentsOutcome:
    """The result of filtering a recording in two passes."""

    whole: Whole
    rendered: Counts
    segments: int
    cuts: int
    dropped: Dropped


class _Doing(Protocol):
    def run(self, tasks: Sequence[Task], told: Told) -> Iterator[tuple[int, Studied | Counts]]: ...


class _Here:
    """Does tasks in this process, one after another."""

    def __init__(self, work: SegmentWork) -> None:
        self._work = work

    def run(self, tasks: Sequence[Task], told: Told) -> Iterator[tuple[int, Studied | Counts]]:
        for number, task in enumerate(tasks):
            yield number, self._work.do(task, lambda index: told(1))


def filter_segments(
    source: FileSource,
    output: Path,
    session: Session,
    header: AnalysisHeader,
    surrogates: Surrogates | None,
    *,
    workers: int,
    progress: Callable[[int, int, int], None],
    length: float | None = None,
    register: SharedRegister | None = None,
) -> SegmentsOutcome:
    """Filter a recording in two passes; the output appears when it is whole.

    header: of an analysis of it. surrogates: None for a mask. workers: number of processes; 1 works in this process.
    progress: called with frames done (each pass counts for half), frames in all, and faces redacted. length: seconds of
    a segment, for tests. register: a register with people of other recordings, or None.
    Raises NotCutError, InputError, SettingsError, OutputError and FailedClosed; no file is left then.
    """
    info, settings = source.info, session.settings
    check_paths(output, source.path, settings.overwrite)
    if container_for(output.suffix).frame_grid:
        raise NotCutError(f"{output.suffix} files cannot be put together from segments")
    try:
        times, keys = frame_times(source.path, info.time_base)
    except InputError as error:
        raise NotCutError("the times of its frames cannot be told beforehand") from error
    source.check()
    lookahead = lookahead_frames(settings, info)
    spans = cut_up(times, keys, lookahead) if length is None else cut_up(times, keys, lookahead, length)
    told = _Progress(progress, len(times))
    with contextlib.ExitStack() as safe:
        with signals_held():
            place = safe.enter_context(scratch(output.parent, f".{output.stem[:40]}.segments-"))
        doing = _doing(Recording(source.path, source.identity, settings, header), min(workers, len(spans)), safe)
        studies = _studied(doing, spans, place, told)
        whole = decide(
            spans,
            studies,
            session.distances,
            surrogates,
            reentry=settings.reentry,
            rate=info.average_rate,
            register=register,
        )
        rendered, pieces = _rendered(doing, spans, studies, whole, place, output.suffix, told)
        dropped = join(
            pieces,
            times,
            info,
            output,
            audio=settings.audio,
            keep_metadata=settings.keep_metadata,
            overwrite=settings.overwrite,
            tolerant=settings.tolerant,
        )
    return SegmentsOutcome(whole, rendered, len(spans), sum(one.cuts for one in studies), dropped)


class _Progress:
    """Reports the progress of two passes as one."""

    def __init__(self, progress: Callable[[int, int, int], None], frames: int) -> None:
        self._progress, self._frames, self._done, self.faces = progress, frames, 0, 0

    def __call__(self, frames: int) -> None:
        self._done += frames
        self._progress(min(self._done // 2, self._frames), self._frames, self.faces)


def _doing(recording: Recording, workers: int, safe: contextlib.ExitStack) -> _Doing:
    if workers > 1:
        return safe.enter_context(Processes(recording, workers))
    return _Here(safe.enter_context(contextlib.closing(SegmentWork(recording))))


def _studied(doing: _Doing, spans: Sequence[SegmentSpan], place: Path, told: Told) -> list[Studied]:
    """Do the first pass; returns what it found, by segment."""
    found: dict[int, Studied] = {}
    try:
        for number, one in doing.run([StudyTask(span, _records(place, span.number)) for span in spans], told):
            assert isinstance(one, Studied)
            found[number] = one
    except InputError as error:  # the file is damaged, or its frames are not those that its packets announce
        raise NotCutError("it cannot be read from the middle") from error
    return [found[span.number] for span in spans]


def _rendered(
    doing: _Doing,
    spans: Sequence[SegmentSpan],
    studies: Sequence[Studied],
    whole: Whole,
    place: Path,
    suffix: str,
    told: Told,
) -> tuple[Counts, list[Path]]:
    """Do the second pass; returns the counts of what was rendered, and the files of the segments."""
    parts = parts_of(spans, [_records(place, span.number) for span in spans], whole)
    pieces = [place / f"{span.number}{suffix}" for span in spans]
    tasks = []
    for span, piece in zip(spans, pieces, strict=True):
        near = around(span, parts)
        heads = {Whose(person) for part in near for person in part.persons.values()}
        heads |= {Whose(number, provisional=True) for part in near for number in part.numbers.tracklets.values()}
        chosen = {whose: one for whose, one in whole.surrogates.items() if whose in heads}
        tasks.append(RenderTask(span, piece, near, chosen))
    counted: dict[int, Counts] = {}
    for number, one in doing.run(tasks, told):
        assert isinstance(one, Counts)
        counted[number] = one
    rendered = Counts()
    for number in sorted(counted):
        rendered.together(counted[number])
    return rendered, pieces


def _records(place: Path, number: int) -> Path:
    return place / f"{number}.analysis"
