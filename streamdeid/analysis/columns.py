"""An analysis as columns, without the points of its faces: half an hour of six people is read in a second.

These columns are for code that looks at the whole recording, because an object for each face and frame would take
minutes and gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.chunk_table import CHUNK_FRAMES, ChunkTable, is_ambiguous, is_cut, is_near, table_of
from streamdeid.analysis.read_analysis import AnalysisFrames
from streamdeid.analysis.records import FrameRecord
from streamdeid.analysis.stored_faces import BOX_STEPS, HAS_LANDMARKS, SHARES, FaceNumbers, kept_but_points
from streamdeid.core.arrays import Flags, Singles

Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class FoundColumns:
    """The faces that the detector found, in the order of the frames, and within a frame in the detector's order."""

    frame: Numbers
    """Number of the frame, int32 (f,)."""
    box: Singles
    """float32 (f, 4): exact, since boxes are multiples of 1/64 pixel."""
    score: Singles
    presence: Singles
    evidence: Singles
    """As in `core.faces.Face`, float32 (f,), exact too."""
    landmarks: Flags
    """Whether the face has landmarks."""
    decided: Flags
    """Whether a decision refers to the face."""


@dataclass(frozen=True)
class DecisionColumns:
    """The decisions, in the order of the frames, and within a frame as they were made (`records.RecordedDecision`)."""

    frame: Numbers
    """Number of the frame, int32 (d,)."""
    track: Numbers
    tracklet: Numbers
    person: Numbers
    level: NDArray[np.uint8]
    """Index into `AnalysisColumns.levels`."""
    cause: NDArray[np.uint8]
    """Index into `AnalysisColumns.causes`."""
    box: Singles
    place: Singles
    """float32 (d, 4)."""
    face: Numbers
    """Row of `FoundColumns`, int32 (d,); -1 where the face was lost."""
    missed: Numbers
    ambiguous: Flags
    near: Flags
    cut: Flags


@dataclass(frozen=True)
class AnalysisColumns:
    """Columns of all n frames."""

    time: NDArray[np.float64]
    """Presentation times in seconds, float64 (n,); the exact times are in the frames."""
    scene: Numbers
    found: FoundColumns
    decisions: DecisionColumns
    found_start: NDArray[np.int64]
    """int64 (n + 1,): the rows of frame i in `found` are found_start[i] up to but not found_start[i + 1]."""
    decision_start: NDArray[np.int64]
    """The same for `decisions`."""
    levels: tuple[str, ...]
    causes: tuple[str, ...]


def columns_of(frames: Sequence[FrameRecord]) -> AnalysisColumns:
    """The columns of the frames of an analysis. Raises InputError.

    From a file they are read without the points, in 2 us for each face and frame. From other frames they are made one
    by one, which is 20 times as slow."""
    tables: list[ChunkTable] = []
    times: list[float] = []
    if isinstance(frames, AnalysisFrames):
        levels, causes = frames.levels, frames.causes
        for chunk in range(frames.chunks):
            tables.append(frames.table(chunk))
            times += map(float, frames.times_of(chunk, tables[-1]))
    else:
        known_levels: dict[str, int] = {}
        known_causes: dict[str, int] = {}
        for records in _runs(frames):
            faces = [_light(kept_but_points(face), face.landmarks is not None) for r in records for face in r.found]
            tables.append(table_of(records, faces, [0] * len(records), known_levels, known_causes))
            times += [float(record.time) for record in records]
        levels, causes = tuple(known_levels), tuple(known_causes)
    return _joined(tables, times, levels, causes)


def exact_times(frames: Sequence[FrameRecord]) -> list[Fraction]:
    """Presentation time of each frame in seconds; from a file it is read without the points. Raises InputError."""
    if not isinstance(frames, AnalysisFrames):
        return [record.time for record in frames]
    return [time for chunk in range(frames.chunks) for time in frames.times_of(chunk, frames.table(chunk))]


def _runs(frames: Sequence[FrameRecord]) -> Iterator[list[FrameRecord]]:
    rest = iter(frames)
    while records := list(islice(rest, CHUNK_FRAMES)):
        yield records


def _light(face: FaceNumbers, landmarks: bool) -> FaceNumbers:
    return FaceNumbers(face.box, face.score, face.presence, face.evidence, HAS_LANDMARKS * landmarks, face.points)


def _joined(
    tables: Sequence[ChunkTable], times: Sequence[float], levels: tuple[str, ...], causes: tuple[str, ...]
) -> AnalysisColumns:
    def column(part: str, name: str, kind: Any) -> NDArray[Any]:
        pieces = [getattr(table, part)[name] for table in (nothing, *tables)]
        joined: NDArray[Any] = np.concatenate(pieces).astype(kind, copy=False)
        return joined

    def boxes(part: str, name: str) -> Singles:
        return np.asarray(column(part, name, np.float32) / np.float32(BOX_STEPS), np.float32)

    def shares(name: str) -> Singles:
        return np.asarray(column("found", name, np.float32) / np.float32(SHARES), np.float32)

    nothing = table_of([], [], [], {}, {})
    found, made = column("frames", "found", np.int64), column("frames", "decisions", np.int64)
    found_start, made_start = (np.concatenate([[0], np.cumsum(counts)]) for counts in (found, made))
    number = np.arange(len(found), dtype=np.int32)
    face = column("decisions", "face", np.int32)
    face = np.where(face < 0, -1, face + np.repeat(found_start[:-1], made)).astype(np.int32)
    decided = np.zeros(int(found_start[-1]), np.bool_)
    decided[face[face >= 0]] = True
    flags = column("decisions", "flags", np.uint8)
    return AnalysisColumns(
        time=np.array(times, np.float64),
        scene=column("frames", "scene", np.int32),
        found=FoundColumns(
            frame=np.repeat(number, found),
            box=boxes("found", "box"),
            score=shares("score"),
            presence=shares("presence"),
            evidence=shares("evidence"),
            landmarks=(column("found", "parts", np.uint8) & HAS_LANDMARKS) > 0,
            decided=decided,
        ),
        decisions=DecisionColumns(
            frame=np.repeat(number, made),
            track=column("decisions", "track", np.int32),
            tracklet=column("decisions", "tracklet", np.int32),
            person=column("decisions", "person", np.int32),
            level=column("decisions", "level", np.uint8),
            cause=column("decisions", "cause", np.uint8),
            box=boxes("decisions", "box"),
            place=boxes("decisions", "place"),
            face=face,
            missed=column("decisions", "missed", np.int32),
            ambiguous=is_ambiguous(flags),
            near=is_near(flags),
            cut=is_cut(flags),
        ),
        found_start=found_start,
        decision_start=made_start,
        levels=levels,
        causes=causes,
    )
