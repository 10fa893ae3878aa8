"""A drawn recording under review: its clip, an output with plain covers, a made-up analysis, doubts. Nobody is real."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.analysis.edits import Edits
from streamdeid.analysis.records import Analysis, AnalysisEnd, AnalysisHeader, FrameRecord, RecordedDecision, Side
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.arrays import Box
from streamdeid.core.frames import Planes
from streamdeid.report.redaction_report import FileSide
from streamdeid.review.desk import Desk, Names
from streamdeid.review.opening import Files
from streamdeid.review.pictures import Pictures
from streamdeid.review.recorded import Recorded
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip

RATE = 10
SIZE = (480, 270)
SHA = "0" * 64


@dataclass(frozen=True)
class MadeUpDoubt:
    """Something to look at."""

    name: str
    kind: str
    first: int
    last: int
    track: int
    person: int
    box: Box
    severity: float
    why: str


@dataclass
class Review:
    """A drawn recording and what belongs to it."""

    recording: Path
    output: Path
    analysis: Analysis
    doubts: list[MadeUpDoubt]
    drawn: list[SyntheticFrame]
    saved: list[Edits]
    """Each state that was written."""

    def desk(self, edits: Edits | None = None) -> Desk:
        """A desk on it, from no edits or some."""
        recorded = Recorded.of(self.analysis)
        names = Names(self.recording.name, self.output.name, self.recording.stem + ".edits.json")
        empty = Edits(SHA, len(self.drawn))
        return Desk(names, recorded, self.doubts, edits or empty, self.saved.append)

    def written(self) -> Files:
        """The analysis as a file, with the hashes of recording and output."""
        files = Files(
            self.recording,
            self.output,
            self.recording.with_suffix(".analysis"),
            self.recording.with_suffix(".edits.json"),
        )
        sides = [FileSide.of(path) for path in (self.recording, self.output)]
        source, output = (Side(side.sha256, side.bytes) for side in sides)
        with AnalysisWriter(files.analysis, replace(self.analysis.header, input=source), overwrite=True) as writer:
            for record in self.analysis.frames:
                writer.add(record)
            writer.close(AnalysisEnd({}, output, ""))
        return files

    def pictures(self) -> Pictures:
        """Its pictures."""
        header, times = self.analysis.header, [float(record.time) for record in self.analysis.frames]
        return Pictures(self.recording, self.output, times, (header.width, header.height))


def drawn_review(place: Path, fitting: FitModel, gallery: Gallery, *, people: int = 2, seconds: float = 3.0) -> Review:
    """Draw it: people side by side, with what is called a cut after two thirds; track 9 is a false redaction."""
    size = SIZE
    drawn = list(synthetic_people(fitting, gallery, people=people, seconds=seconds, size=size, rate=RATE))
    recording, output = place / "drawn.mp4", place / "drawn_deidentified.mp4"
    write_drawn_clip(recording, (one.frame.planes for one in drawn), RATE)
    records = [_record(one, cut=2 * len(drawn) // 3, frames=len(drawn)) for one in drawn]
    write_drawn_clip(
        output, (_covered(one.frame.planes, record) for one, record in zip(drawn, records, strict=True)), RATE
    )
    header = AnalysisHeader(Side(SHA, 1), *size, Fraction(RATE), {}, SHA, SHA)
    analysis = Analysis(header, records, AnalysisEnd({}, Side(SHA, 1), ""))
    return Review(recording, output, analysis, list(_doubts(records)), drawn, [])


def grown(box: Box, share: float = 0.3) -> Box:
    """A box larger by a share of its sides, on each side."""
    x0, y0, x1, y1 = box
    dx, dy = share * (x1 - x0), share * (y1 - y0)
    return x0 - dx, y0 - dy, x1 + dx, y1 + dy


def _record(one: SyntheticFrame, cut: int, frames: int) -> FrameRecord:
    n = one.frame.index
    decisions = [
        _decision(1 + t.person, _level(t.person, n), grown(t.box)) for t in one.truths if n >= 3 or t.person != 1
    ]
    if frames // 4 <= n < frames // 2:
        decisions.append(_decision(9, "soft redaction", (8.0, 8.0, 60.0, 66.0), person=0))
    return FrameRecord(Fraction(n, RATE), int(n >= cut), (), decisions)


def _level(person: int, n: int) -> str:
    return "own face" if (n // 7 + person) % 4 else "posed face" if person else "soft redaction"


def _decision(track: int, level: str, box: Box, person: int | None = None) -> RecordedDecision:
    who = track if person is None else person
    cause = "" if level == "own face" else "turned"
    return RecordedDecision(track, track, who, level, cause, box, box, None, 0, False, False)


def _covered(planes: Planes, record: FrameRecord) -> Planes:
    """A picture with plain covers, each of a colour of its track's own."""
    planes = planes.copy()
    for one in record.decisions:
        x0, y0, x1, y1 = (max(int(value) // 2 * 2, 0) for value in one.box)
        planes.y[y0:y1, x0:x1] = 90 + 30 * (one.track % 4)
        planes.u[y0 // 2 : y1 // 2, x0 // 2 : x1 // 2] = 110 + 9 * one.track
        planes.v[y0 // 2 : y1 // 2, x0 // 2 : x1 // 2] = 140
    return planes


def _doubts(records: Iterable[FrameRecord]) -> Iterable[MadeUpDoubt]:
    frames = len(list(records))
    yield MadeUpDoubt(
        "false-9",
        "no face",
        frames // 4,
        frames // 2 - 1,
        9,
        0,
        (8.0, 8.0, 60.0, 66.0),
        0.9,
        "What is covered here does not look like a face.",
    )
    yield MadeUpDoubt(
        "late-2",
        "late start",
        0,
        2,
        2,
        2,
        (200.0, 60.0, 300.0, 180.0),
        0.7,
        "The track begins in the middle of the picture.",
    )
    yield MadeUpDoubt(
        "short-1", "weak evidence", 5, 8, 1, 1, (80.0, 60.0, 180.0, 180.0), 0.2, "The detector was hardly sure here."
    )


def mean_difference(a: np.ndarray, b: np.ndarray, box: Box) -> float:
    """Mean absolute difference of two pictures (h, w, ...) in a box, inside it by a tenth."""
    x0, y0, x1, y1 = (round(value) for value in grown(box, -0.1))
    part = np.s_[max(y0, 0) : y1, max(x0, 0) : x1]
    return float(np.abs(a[part].astype(float) - b[part].astype(float)).mean())
