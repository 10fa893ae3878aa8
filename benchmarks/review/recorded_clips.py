"""Clips through the filter, kept as analyses, with the faces that slipped through (for `review_doubts`)."""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.boxes import touch
from benchmarks.leaks.leaks import cause, kept_share
from benchmarks.leaks.run import Corners, Moment
from streamdeid.analysis.records import Analysis, AnalysisEnd, AnalysisHeader, FrameRecord, Side
from streamdeid.lab.attacks import gaps
from streamdeid.lab.attacks.gaps import CLASSES, Box
from streamdeid.runs.analysed import record_of
from streamdeid.runs.parts import assemble, lookahead_frames, open_source, timed_detector
from streamdeid.runs.session import Session
from streamdeid.runs.step import Step, filtered
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models

_KEPT = 0.25
"""Share of a face's pixels that are the original's from which it is exposed, as in `leaks`."""


@dataclass(frozen=True)
class Miss:
    """A face, or a stretch of one, that slipped through."""

    kind: str
    boxes: Mapping[int, Corners]
    """Its box by frame, pixels."""


@dataclass(frozen=True)
class Clip:
    """A clip and what became of it."""

    name: str
    analysis: Analysis
    faces: Mapping[int, Sequence[Corners]]
    """Faces of the independent detector, by frame, in the frames that were looked at."""
    misses: Sequence[Miss]
    """Those that `leaks` knows: one for each box and frame."""
    false: Sequence[int]
    """Tracks whose redactions touch no box of the independent detector in any frame that was looked at."""


def recorded(video: Path, models: Models, settings: Settings) -> Clip:
    """Filter a clip. Raises what the filter raises, and ValueError for a bad table."""
    boxes: dict[int, list[Box]] = defaultdict(list)
    for box in gaps.read_all_boxes(video.with_name(f"{video.stem}.faces.csv")):
        boxes[box.frame].append(box)
    first = min(boxes, default=0)
    step_between = math.gcd(*(frame - first for frame in boxes)) or 1
    source = open_source(video, settings)
    info = source.info
    records: list[FrameRecord] = []
    moments: list[Moment] = []
    exposed: list[tuple[int, Box]] = []
    with contextlib.closing(timed_detector(settings)) as own:
        size = info.width, info.height
        stream = assemble(Session(settings, models), own, size=size, rate=info.average_rate)
        step: Step[None] = Step(stream.detect, stream.tracker, stream.deidentifier)
        for index, done in enumerate(filtered(source, step, lookahead_frames(settings, info))):
            records.append(record_of(done))
            found = [one.box for one in done.pending.tracks]
            moments.append(Moment(done.pending.frame.time, found, [one.box for one in done.frame.redactions]))
            for box in boxes.get(index, ()):
                kept = kept_share(done.pending.frame.planes, done.frame.planes, box)
                if box.score >= gaps.LEAST_SCORE and box.side >= CLASSES[0][0] and kept > _KEPT:
                    exposed.append((index, box))
        stream.close()
    header = AnalysisHeader(Side("0" * 64, 0), *size, info.average_rate, {}, "", "")
    looked_at = range(first % step_between, len(records), step_between)
    return Clip(
        video.stem,
        Analysis(header, records, AnalysisEnd({}, None, "")),
        {at: [box.corners for box in boxes.get(at, ()) if box.score >= gaps.LEAST_SCORE] for at in looked_at},
        [Miss(cause(moments, at, box.corners), {at: box.corners}) for at, box in exposed],
        _false(records, {at: [box.corners for box in boxes.get(at, ())] for at in looked_at}),
    )


def _false(records: Sequence[FrameRecord], boxes: Mapping[int, Sequence[Corners]]) -> list[int]:
    empty: dict[int, bool] = {}
    for at, here in boxes.items():
        for one in records[at].decisions:
            beside = not any(touch(one.box, box) for box in here)
            empty[one.track] = empty.get(one.track, True) and beside
    return sorted(track for track, beside in empty.items() if beside)
