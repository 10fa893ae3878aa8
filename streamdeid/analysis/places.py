"""All protected places of a recording as columns, so that 45,000 frames with six people can be searched at once.

A *part* is a tracklet together with one person, as the analysis has them. Joining and parting persons moves parts from
one person to another.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.columns import AnalysisColumns, columns_of
from streamdeid.analysis.records import Analysis
from streamdeid.core.arrays import Flags, Floats, Ints

SHOWN = "shown"
"""Level of a face that was left as it is."""
WITH_A_FACE = frozenset({"own face", "posed face", "own face quiet"})
"""Levels that show a person's surrogate; earlier versions had "own face quiet" instead of the posed face."""


@dataclass(frozen=True)
class Places:
    """The decisions of a recording as columns of n rows, (n,) or (n, 4), in the order of the frames."""

    frames: int
    """Number of frames of the recording."""
    starts: Ints
    """int64 (frames + 1,): the first row of each frame, and the end of the last frame's rows."""
    frame: Ints
    track: Ints
    tracklet: Ints
    """0 for a place before the track's start, and for a place that belongs to no track."""
    extent: Floats
    """x0, y0, x1, y1 in pixels: around the changed pixels and the place where the face is or may be."""
    covers: Flags
    """Whether the place is a redaction of a track: not a face left as it is, and not a fixed region."""
    with_a_face: Flags
    """Whether a person's surrogate is shown."""
    decided: Flags
    """Whether the person was known when the frame was rendered."""
    ambiguous: Flags
    cut: Flags
    """Whether the redaction of a lost face was cut to the largest size that such a redaction may have."""
    level: NDArray[np.str_]
    """Protection level (`records.RecordedDecision.level`)."""
    part: Ints
    """Row of `persons` and `begins`; -1 for a place whose person is not known."""
    persons: Ints
    """int64 (p,): the person of each part."""
    begins: Ints
    """int64 (p,): the first frame of each part's tracklet."""
    fingerprint: str = ""
    """SHA-256 of the tracks, tracklets, persons and boxes of all frames: what edits refer to. Runs that found and
    tracked the same faces have the same fingerprint, whatever their key."""

    @staticmethod
    def of(analysis: Analysis) -> Places:
        """Make the places of an analysis. Raises InputError for a damaged file."""
        return Places.of_columns(columns_of(analysis.frames))

    @staticmethod
    def of_columns(columns: AnalysisColumns) -> Places:
        """Make the places of an analysis from its columns."""
        rows = columns.decisions
        frame, track, tracklet, person = (
            numbers.astype(np.int64) for numbers in (rows.frame, rows.track, rows.tracklet, rows.person)
        )
        part, persons, begins = _parts(frame, track, tracklet, person)
        low, high = np.minimum(rows.box[:, :2], rows.place[:, :2]), np.maximum(rows.box[:, 2:], rows.place[:, 2:])
        return Places(
            frames=len(columns.time),
            starts=columns.decision_start.astype(np.int64),
            frame=frame,
            track=track,
            tracklet=tracklet,
            extent=np.concatenate([low, high], axis=1, dtype=np.float64),
            covers=(track > 0) & ~_of_levels(columns, frozenset({SHOWN})),
            with_a_face=_of_levels(columns, WITH_A_FACE),
            decided=person > 0,
            ambiguous=rows.ambiguous,
            cut=rows.cut,
            level=np.array([*columns.levels, ""])[rows.level],
            part=part,
            persons=persons,
            begins=begins,
            fingerprint=_fingerprint(columns),
        )

    def rows(self, frame: int) -> slice:
        """The rows of a frame."""
        return slice(int(self.starts[frame]), int(self.starts[frame + 1]))


def _fingerprint(columns: AnalysisColumns) -> str:
    rows, digest = columns.decisions, hashlib.sha256()
    for numbers in (columns.decision_start, rows.track, rows.tracklet, rows.person):
        digest.update(np.ascontiguousarray(numbers, "<i8").tobytes())
    digest.update(np.ascontiguousarray(rows.place, "<f4").tobytes())
    return digest.hexdigest()


def _of_levels(columns: AnalysisColumns, names: frozenset[str]) -> Flags:
    numbers = [number for number, name in enumerate(columns.levels) if name in names]
    return np.isin(columns.decisions.level, numbers)


def _parts(frame: Ints, track: Ints, tracklet: Ints, person: Ints) -> tuple[Ints, Ints, Ints]:
    """The part of each row (n,), the person of each part and the first frame of its tracklet (p,).

    Identity is certain within a tracklet, so the tracklet's frames before its person was known belong to this person,
    too, and so do the places before the track's start. Where an analysis has two persons for one tracklet, the
    tracklet's frames without a person get no part.
    """
    owner = tracklet.copy()
    own = np.flatnonzero(tracklet > 0)
    tracks, firsts = np.unique(track[own], return_index=True)
    before = np.flatnonzero((tracklet == 0) & (track > 0))
    if len(tracks) and len(before):
        at = np.minimum(np.searchsorted(tracks, track[before]), len(tracks) - 1)
        owner[before] = np.where(tracks[at] == track[before], tracklet[own[firsts[at]]], 0)
    known = np.flatnonzero((person > 0) & (owner > 0))
    pairs, of_known = np.unique(np.stack([owner[known], person[known]], axis=1), axis=0, return_inverse=True)
    part = np.full(len(frame), -1, dtype=np.int64)
    single, first, count = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    if len(single):
        at = np.minimum(np.searchsorted(single, owner), len(single) - 1)
        part = np.where((single[at] == owner) & (count[at] == 1), first[at], -1)
    part[known] = of_known.reshape(-1)
    numbers, starts = np.unique(tracklet[own], return_index=True)  # rows are in the order of the frames
    begins = frame[own[starts]][np.minimum(np.searchsorted(numbers, pairs[:, 0]), max(len(numbers) - 1, 0))]
    return part.astype(np.int64), pairs[:, 1].astype(np.int64), begins.astype(np.int64)
