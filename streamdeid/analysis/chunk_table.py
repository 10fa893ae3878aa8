"""The table of a chunk of frames: all that a file keeps but the faces' points, as columns of whole numbers.

There are columns of frames, of found faces and of decisions, each in the order of the recording. Their types, little
endian, are those in the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.point_coding import from_planes, planes
from streamdeid.analysis.records import VERSION, FrameRecord, RecordedDecision
from streamdeid.analysis.stored_faces import (
    AGAIN,
    BOX_STEPS,
    FARTHEST,
    HAS_KEYPOINTS,
    SHARES,
    FaceNumbers,
    box_numbers,
    fit_together,
)

CHUNK_FRAMES = 32
CHUNK_FACES = 512
"""Most faces of a chunk of several frames."""
MOST_FACES = 1024
"""Most faces of one frame: a detector may find a thousand (`detection.guard`)."""
MOST_DECISIONS = 2048
"""Most decisions of one frame and of one chunk."""
MOST_WORDS = 255
"""Most different names of levels, and of causes, in a file."""

Columns = Mapping[str, NDArray[Any]]

_FRAMES = {"time": ("<u8", 1), "scene": ("<i4", 1), "found": ("<u4", 1), "decisions": ("<u4", 1)}
_FOUND_1 = {"box": ("<i4", 4), "score": ("<u2", 1), "presence": ("<u2", 1), "evidence": ("<u2", 1), "parts": ("u1", 1)}
_FOUND = {**_FOUND_1, "surveyed": ("<u2", 1)}
_DECISIONS_1 = {
    **dict.fromkeys(("track", "tracklet", "person", "missed"), ("<i4", 1)),
    **dict.fromkeys(("level", "cause", "flags"), ("u1", 1)),
    "box": ("<i4", 4),
    "place": ("<i4", 4),
    "face": ("<i4", 1),
}
_DECISIONS = {**_DECISIONS_1, "sides": ("<i4", 2)}
_AMBIGUOUS, _NEAR, _CUT = 1, 2, 4
_SCHEMA = (_FRAMES, _FOUND, _DECISIONS)
_SCHEMAS = {1: (_FRAMES, _FOUND_1, _DECISIONS_1), 2: _SCHEMA, 3: _SCHEMA, VERSION: _SCHEMA}
VERSIONS = tuple(_SCHEMAS)
"""Versions of files that can be read."""
_LONGEST_SIDE = 2 * FARTHEST * BOX_STEPS


class BadTable(ValueError):
    """A table that no `AnalysisWriter` can have written; the text says why."""


@dataclass(frozen=True)
class ChunkTable:
    """The columns of a chunk, by name.

    Values are as in `records`; boxes are int32 (n, 4) in steps of 1 / 64 pixel, values from 0 to 1 in steps of
    1 / 32,768. frames: time (since the frame before, in units of the chunk's time base; the first 0), scene, found and
    decisions (their numbers). found: box, score, presence, evidence, parts, surveyed (as in
    `stored_faces.FaceNumbers`). decisions: track, tracklet, person, missed, level and cause (indices into the file's
    lists), flags (1 ambiguous, 2 near, 4 cut), box, place, face (-1: none), sides (int32 (n, 2), in the steps of boxes;
    0, 0: unknown).
    """

    frames: Columns
    found: Columns
    decisions: Columns


def table_of(
    records: Sequence[FrameRecord],
    faces: Sequence[FaceNumbers],
    steps: Sequence[int],
    levels: dict[str, int],
    causes: dict[str, int],
) -> ChunkTable:
    """The table of some frames. faces: all their found faces. steps: times between the frames, the first 0.

    New names are added to levels and causes. Raises ValueError for numbers that do not fit the file's types.
    """
    made = [decision for record in records for decision in record.decisions]
    for record in records:
        for decision in record.decisions:
            if decision.face is not None and not 0 <= decision.face < len(record.found):
                raise ValueError(f"a decision about face {decision.face} of {len(record.found)}")
    for words, names in ((levels, {d.level for d in made}), (causes, {d.cause for d in made})):
        for name in sorted(names - words.keys()):
            words[name] = len(words)
    frames: dict[str, Sequence[Any]] = {
        "time": steps,
        "scene": [record.scene for record in records],
        "found": [len(record.found) for record in records],
        "decisions": [len(record.decisions) for record in records],
    }
    found = {name: [getattr(face, name) for face in faces] for name in _FOUND}
    decisions = {
        **{name: [getattr(decision, name) for decision in made] for name in ("track", "tracklet", "person", "missed")},
        "level": [levels[decision.level] for decision in made],
        "cause": [causes[decision.cause] for decision in made],
        "flags": [_AMBIGUOUS * one.ambiguous + _NEAR * one.near + _CUT * one.cut for one in made],
        "box": [box_numbers(decision.box) for decision in made],
        "place": [box_numbers(decision.place) for decision in made],
        "face": [-1 if decision.face is None else decision.face for decision in made],
        "sides": [_side_numbers(decision.sides) for decision in made],
    }
    return ChunkTable(_typed(frames, _FRAMES), _typed(found, _FOUND), _typed(decisions, _DECISIONS))


def _side_numbers(sides: tuple[float, float] | None) -> tuple[int, int]:
    """Sides in steps, rounded up so that the redaction does not get smaller."""
    if sides is None:
        return 0, 0
    if not all(map(math.isfinite, sides)):
        raise ValueError(f"sides that are not finite: {sides}")
    width, height = (max(1, math.ceil(min(side * BOX_STEPS, _LONGEST_SIDE))) for side in sides)
    return width, height


def _typed(values: Mapping[str, Sequence[Any]], types: Mapping[str, tuple[str, int]]) -> Columns:
    columns: dict[str, NDArray[Any]] = {}
    for name, (kind, width) in types.items():
        whole = np.array(values[name], dtype=np.int64).reshape((-1, width) if width > 1 else -1)
        limits = np.iinfo(kind)
        if whole.size and (whole.min() < limits.min or whole.max() > limits.max):
            raise ValueError(f"a {name} that an analysis file has no room for")
        columns[name] = whole.astype(kind)
    return columns


def table_bytes(table: ChunkTable) -> bytes:
    """The bytes of a table in the file: column after column, of each the lowest bytes first, then the next ones."""
    parts = zip((table.frames, table.found, table.decisions), _SCHEMA, strict=True)
    return b"".join(planes(columns[name]) for columns, types in parts for name in types)


def table_size(frames: int, found: int, decisions: int, version: int = VERSION) -> int:
    """Size in bytes of a table with these numbers of frames, faces and decisions, in a file of a version."""
    counts = zip((frames, found, decisions), _SCHEMAS[version], strict=True)
    return sum(count * np.dtype(kind).itemsize * width for count, types in counts for kind, width in types.values())


def table_from(data: bytes, frames: int, found: int, decisions: int, version: int = VERSION) -> ChunkTable:
    """Read a table from bytes. data: as many bytes as `table_size` says.

    Columns that the version does not have are 0. Values are not checked here, but by `check_table`."""
    at, read = 0, []
    for count, types, kept in zip((frames, found, decisions), _SCHEMA, _SCHEMAS[version], strict=True):
        columns = {}
        for name, (kind, width) in types.items():
            shape = (count, width) if width > 1 else (count,)
            if name not in kept:
                columns[name] = np.zeros(shape, kind)
                continue
            columns[name] = from_planes(data, at, shape, kind)
            at += columns[name].nbytes
        read.append(columns)
    return ChunkTable(*read)


def check_table(table: ChunkTable, levels: int, causes: int, version: int = VERSION) -> None:
    """Raise BadTable for values that no table of a version can have. levels, causes: numbers of names in the file."""
    frames, found, decisions = table.frames, table.found, table.decisions
    for name, columns, most in (("found", found, MOST_FACES), ("decisions", decisions, MOST_DECISIONS)):
        if frames[name].sum() != len(columns["box"]) or frames[name].max(initial=0) > most:
            raise BadTable(f"the numbers of its {name} disagree")
    if (np.diff(frames["scene"].astype(np.int64)) < 0).any():
        raise BadTable("its scenes run backwards")
    for boxes in (found["box"], decisions["box"], decisions["place"]):
        if (np.abs(boxes.astype(np.int64)) > FARTHEST * BOX_STEPS).any():
            raise BadTable(f"a box reaches beyond {FARTHEST:,} pixels")
        if (boxes[:, 2:] <= boxes[:, :2]).any():
            raise BadTable("a box is empty")
    if any((found[name] > SHARES).any() for name in ("score", "presence", "evidence")):
        raise BadTable("a score is larger than 1")
    if not all(map(fit_together, np.unique(found["parts"]).tolist())):
        raise BadTable("a face has parts that do not exist")
    if version == 1 and (found["parts"] & HAS_KEYPOINTS).any():
        raise BadTable("a face has keypoints, which its version does not know")
    if version < 3 and (found["parts"] & AGAIN).any():
        raise BadTable("a face was found by looking again, which its version does not know")
    sides = decisions["sides"]
    if (sides < 0).any() or (sides > _LONGEST_SIDE).any() or ((sides == 0).any(axis=1) & (sides > 0).any(axis=1)).any():
        raise BadTable("the sides of a lost face cannot be")
    if any((decisions[name] < 0).any() for name in ("track", "tracklet", "person", "missed")):
        raise BadTable("a number of a track, a tracklet or a person is negative")
    here = np.repeat(frames["found"].astype(np.int64), frames["decisions"])
    if ((decisions["face"] < -1) | (decisions["face"] >= here)).any():
        raise BadTable("a decision is about a face that is not there")
    for name, most in (("level", levels), ("cause", causes), ("flags", _CUT if version == 1 else 2 * _CUT)):
        if (decisions[name] >= most).any():
            raise BadTable(f"a {name} does not exist")


def decisions_of(
    table: ChunkTable, first: int, last: int, levels: Sequence[str], causes: Sequence[str]
) -> list[RecordedDecision]:
    """The decisions of a chunk from index `first` up to, but without, `last`."""
    part = {name: column[first:last].tolist() for name, column in table.decisions.items()}
    rows = zip(*(part[name] for name in _DECISIONS), strict=True)
    return [
        RecordedDecision(
            track=track,
            tracklet=tracklet,
            person=person,
            level=levels[level],
            cause=causes[cause],
            box=_pixels(box),
            place=_pixels(place),
            face=None if face < 0 else face,
            missed=missed,
            ambiguous=bool(flags & _AMBIGUOUS),
            near=bool(flags & _NEAR),
            cut=bool(flags & _CUT),
            sides=(sides[0] / BOX_STEPS, sides[1] / BOX_STEPS) if sides[0] else None,
        )
        for track, tracklet, person, missed, level, cause, flags, box, place, face, sides in rows
    ]


def is_ambiguous(flags: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each decision's flags say ambiguous."""
    return (flags & _AMBIGUOUS) > 0


def is_near(flags: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each decision's flags say near."""
    return (flags & _NEAR) > 0


def is_cut(flags: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each decision's flags say cut."""
    return (flags & _CUT) > 0


def _pixels(box: Sequence[int]) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    return x0 / BOX_STEPS, y0 / BOX_STEPS, x1 / BOX_STEPS, y1 / BOX_STEPS
