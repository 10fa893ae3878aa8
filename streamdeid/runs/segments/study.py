"""The first pass over a segment: finds and follows its faces, and gathers what is known of their persons."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from streamdeid.analysis.records import AnalysisEnd, AnalysisHeader, FrameRecord, RecordedDecision
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face
from streamdeid.detection.deadline import TimedDetector
from streamdeid.identity.gathered import Gathered
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import Plans
from streamdeid.protect.provisional_faces import LONG_DOUBT
from streamdeid.runs.analysed import found_as_tracked
from streamdeid.runs.parts import lookahead_frames, read_ahead, studied
from streamdeid.runs.segments.cutting import SegmentSpan
from streamdeid.runs.session import Session
from streamdeid.runs.step import analysed
from streamdeid.video.files.source import FileSource


@dataclass(frozen=True)
class AtJoint:
    """A redacted track in a frame that is studied with two segments."""

    track: int
    tracklet: int
    ambiguous: bool
    box: Box


@dataclass(frozen=True)
class Studied:
    """The result of the first pass over a segment, besides the records of its frames, which are in a file."""

    tracklets: Mapping[int, Gathered] = field(repr=False)
    follows: Mapping[int, int]
    spans: Mapping[int, tuple[int, int]]
    """By tracklet: its first and its last frame in the segment."""
    together: frozenset[tuple[int, int]]
    """Pairs of tracklets, the lower number first, that both surely show a face in one frame."""
    at_start: Sequence[AtJoint]
    """Tracks in the first frame of the segment."""
    after: Sequence[AtJoint]
    """Tracks in the first frame of the next segment; empty at the end of the recording."""
    most: tuple[int, int]
    """The highest numbers of a track and of a tracklet."""
    cuts: int
    faces: frozenset[int] = frozenset()
    """Tracklets that surely show a face; they may have to be shown although their person is unknown."""
    doubted: frozenset[int] = frozenset()
    """Tracklets that are ambiguous for so long that they then show a provisional face (`provisional_faces`)."""


@dataclass
class _Summary:
    """Collects a `Studied` frame by frame."""

    span: SegmentSpan
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    together: set[tuple[int, int]] = field(default_factory=set)
    at_start: list[AtJoint] = field(default_factory=list)
    after: list[AtJoint] = field(default_factory=list)
    faces: set[int] = field(default_factory=set)
    doubted: set[int] = field(default_factory=set)
    tracks: int = 0
    tracklets: int = 0
    _last: frozenset[int] = frozenset()
    _since: dict[int, Fraction] = field(default_factory=dict)
    """By ambiguous tracklet: the time in seconds since when it is so."""

    def add(self, index: int, time: Fraction, decisions: Sequence[RecordedDecision], found: Sequence[Face]) -> None:
        """Note the tracks of a frame and the faces that were found in it. time: in seconds."""
        self.tracks = max([self.tracks, *(one.track for one in decisions)])
        self.tracklets = max([self.tracklets, *(one.tracklet for one in decisions)])
        if index in (self.span.first, self.span.last + 1):
            rows = [AtJoint(one.track, one.tracklet, one.ambiguous, one.place) for one in decisions]
            if index == self.span.first:
                self.at_start = rows
            else:
                self.after = rows
        if not self.span.first <= index <= self.span.last:
            return
        for one in decisions:
            if one.tracklet:
                self.spans[one.tracklet] = self.spans.get(one.tracklet, (index, index))[0], index
        self.faces |= {
            one.tracklet
            for one in decisions
            if one.tracklet and one.face is not None and found[one.face].confirmed and not one.ambiguous
        }
        self._since = {one.tracklet: self._since.get(one.tracklet, time) for one in decisions if one.ambiguous}
        self.doubted |= {tracklet for tracklet, since in self._since.items() if tracklet and time - since >= LONG_DOUBT}
        seen = frozenset(one.tracklet for one in decisions if one.face is not None and not one.ambiguous)
        if seen != self._last:
            self.together |= {(one, other) for one in seen for other in seen if one < other}
            self._last = seen


def study(
    span: SegmentSpan,
    source: FileSource,
    session: Session,
    detect: TimedDetector,
    header: AnalysisHeader,
    path: Path,
    told: Callable[[int], None],
) -> Studied:
    """Study a segment and write the records of its frames, from `span.begin` on, to `path`.

    told: called with the number of each frame that is done. Raises InputError, OutputError and FailedClosed.
    """
    info = source.info
    lookahead = lookahead_frames(session.settings, info)
    parts = studied(session, detect, (info.width, info.height), info.average_rate)
    summary = _Summary(span)
    scenes: dict[int, int] = {}
    with contextlib.ExitStack() as safe:
        safe.callback(parts.close)
        writer = safe.enter_context(AnalysisWriter(path, header, overwrite=True, passing=True))

        def keep(pending: PendingFrame[None], plans: Plans) -> None:
            record = _record(pending, plans)
            writer.add(record)
            index = pending.frame.index
            if index in (span.first - 1, span.last):
                scenes[index] = record.scene
            summary.add(index, record.time, record.decisions, record.found)
            told(index)

        frames = source.between(span.times, span.begin, span.end, number=span.begin)
        with contextlib.closing(read_ahead(frames)) as coming:
            for _ in analysed(coming, parts.step):
                if len(parts.step.waiting) > lookahead:
                    keep(*parts.step.decide())
        while parts.step.waiting:
            keep(*parts.step.decide())
        gathered = parts.gathered()
        writer.close(AnalysisEnd({}, None, ""))
    return Studied(
        tracklets=gathered.tracklets,
        follows=gathered.follows,
        spans=summary.spans,
        together=frozenset(summary.together),
        at_start=summary.at_start,
        after=summary.after,
        most=(summary.tracks, summary.tracklets),
        cuts=scenes[span.last] - scenes.get(span.first - 1, 0),
        faces=frozenset(summary.faces),
        doubted=frozenset(summary.doubted),
    )


def _record(pending: PendingFrame[Any], plans: Plans) -> FrameRecord:
    """The record of a frame; how its faces are protected is not known yet."""
    found, number = found_as_tracked(pending.found, [plan.track for plan in plans])
    return FrameRecord(
        pending.frame.time,
        pending.scene,
        found,
        [
            RecordedDecision(
                track=plan.track.number,
                tracklet=pending.tracklet(plan.track.number),
                person=0,
                level="",
                cause="",
                box=plan.track.box,
                place=plan.track.box,
                face=None if plan.track.face is None else number.get(id(plan.track.face)),
                missed=plan.track.missed,
                ambiguous=pending.ambiguous(plan.track.number),
                near=plan.track.near,
                sides=plan.track.sides,
                cut=plan.track.cut,
            )
            for plan in plans
        ],
    )
