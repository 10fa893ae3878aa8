"""The second pass over a segment, after all decisions: its frames are rendered and encoded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import Analysis, AnalysisEnd, AnalysisHeader, FrameRecord
from streamdeid.core.arrays import Points
from streamdeid.core.whose import Whose
from streamdeid.errors import FailedClosed
from streamdeid.report.counts import Counts
from streamdeid.runs.again import RecordedFrames, RecordedTracks
from streamdeid.runs.filmed_again import FilmedAgain
from streamdeid.runs.parts import decided, lookahead_frames, open_sink, read_ahead, write_behind
from streamdeid.runs.segments.cutting import SegmentSpan
from streamdeid.runs.segments.deciding import Numbers, Whole
from streamdeid.runs.session import Session
from streamdeid.runs.step import Done, Step, filtered
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import Surrogate
from streamdeid.video.files.source import FileSource, SourceInfo


@dataclass(frozen=True)
class DecidedSegment:
    """The records of a studied segment, and the meaning of its numbers in the whole recording."""

    span: SegmentSpan
    path: Path
    numbers: Numbers
    persons: Mapping[int, int]
    """Persons by tracklet of the whole recording."""


def parts_of(spans: Sequence[SegmentSpan], files: Sequence[Path], whole: Whole) -> list[DecidedSegment]:
    """The segments of a recording after the decisions. files: with the records of each segment."""
    parts = []
    for span, path, numbers in zip(spans, files, whole.numbers, strict=True):
        here = {number: whole.persons[number] for number in numbers.tracklets.values() if number in whole.persons}
        parts.append(DecidedSegment(span, path, numbers, here))
    return parts


def around(span: SegmentSpan, parts: Sequence[DecidedSegment]) -> list[DecidedSegment]:
    """The segments that hold the frames of one segment, and the frames around it that are studied with it."""
    return [part for part in parts if part.span.last >= span.begin and part.span.first <= span.end]


class DecidedFrames(Sequence[FrameRecord]):
    """The records of successive segments, with the numbers of the whole recording, by frame number."""

    def __init__(self, parts: Sequence[DecidedSegment]) -> None:
        """Raises InputError for a file that is no analysis."""
        self._parts = [(part, read_analysis(part.path).frames) for part in parts]
        self._latest: tuple[int, FrameRecord] | None = None
        """The last frame that was asked for, since each is asked for several times in a row."""

    def __len__(self) -> int:
        return self._parts[-1][0].span.last + 1

    @overload
    def __getitem__(self, index: int) -> FrameRecord: ...

    @overload
    def __getitem__(self, index: slice) -> list[FrameRecord]: ...

    def __getitem__(self, index: int | slice) -> FrameRecord | list[FrameRecord]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if self._latest is not None and self._latest[0] == index:
            return self._latest[1]
        for part, frames in self._parts:
            if part.span.first <= index <= part.span.last:
                self._latest = index, _numbered(frames[index - part.span.begin], part)
                return self._latest[1]
        raise FailedClosed(f"frame {index} was not studied")


def _numbered(record: FrameRecord, part: DecidedSegment) -> FrameRecord:
    tracks, tracklets = part.numbers.tracks, part.numbers.tracklets
    decisions = []
    for one in record.decisions:
        tracklet = tracklets.get(one.tracklet, 0)
        person = part.persons.get(tracklet, 0)
        decisions.append(replace(one, track=tracks[one.track], tracklet=tracklet, person=person))
    return replace(record, decisions=decisions)


class _Given:
    """Gives everybody the surrogate that was chosen; a `replace_faces.Choice`."""

    def __init__(self, surrogates: Mapping[Whose, Surrogate]) -> None:
        self._surrogates = surrogates

    def surrogate(self, person: int, y: Points) -> Surrogate:
        """The surrogate of a person. Raises FailedClosed for a person without one."""
        return self._of(Whose(person))

    def provisional(self, number: int) -> Surrogate:
        """The surrogate of a tracklet whose person is unknown. Raises FailedClosed for a tracklet without one."""
        return self._of(Whose(number, provisional=True))

    def adopt(self, number: int, person: int, y: Points) -> Surrogate:
        """The surrogate of the person of a tracklet: it has been decided already, so nothing is adopted."""
        return self.surrogate(person, y)

    def release(self, number: int) -> None:
        """Does nothing: all surrogates were decided beforehand."""

    def _of(self, whose: Whose) -> Surrogate:
        known = self._surrogates.get(whose)
        if known is None:
            who = "tracklet" if whose.provisional else "person"
            raise FailedClosed(f"no surrogate was chosen for {who} {whose.number}")
        return known


def write(
    frames: Generator[Done[None], None, None],
    span: SegmentSpan,
    info: SourceInfo,
    settings: Settings,
    path: Path,
    told: Callable[[int], None],
) -> Counts:
    """Write the frames of a segment, as `rendered` gives them, into a file of its own.

    told: called with the number of each frame that is done. Raises InputError, OutputError and FailedClosed.
    """
    counted = Counts()
    with contextlib.ExitStack() as safe:
        sink = safe.enter_context(write_behind(open_sink(path, info, settings, streams=False)))
        for done in safe.enter_context(contextlib.closing(frames)):
            sink.write(done.frame)
            done.count(counted, settings.synthesises)
            told(done.frame.index)
    if counted.frames != span.last - span.first + 1:
        raise FailedClosed(f"a segment of {span.last - span.first + 1} frames came out with {counted.frames}")
    return counted


def rendered(
    parts: Sequence[DecidedSegment],
    span: SegmentSpan,
    source: FileSource,
    session: Session,
    header: AnalysisHeader,
    surrogates: Mapping[Whose, Surrogate],
) -> Generator[Done[None], None, None]:
    """The frames of a segment, rendered, in order; parts: `around` it. Raises InputError and FailedClosed."""
    info = source.info
    recorded = RecordedFrames(Analysis(header, DecidedFrames(parts), AnalysisEnd({}, None, "")))
    deidentifier = decided(session, _Given(surrogates), recorded, (info.width, info.height))
    step: Step[None] = Step(FilmedAgain(recorded.faces), RecordedTracks(recorded, span.begin), deidentifier)
    frames = source.between(span.times, span.begin, span.end, number=span.begin)
    with contextlib.closing(read_ahead(frames)) as coming:
        for done in filtered(coming, step, lookahead_frames(session.settings, info)):
            if done.frame.index >= span.first:
                yield done
            if done.frame.index == span.last:
                break
