"""Analyses as the program wrote them before it kept keypoints: version 1, to its own description."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from streamdeid.analysis import layout
from streamdeid.analysis.point_coding import coded, planes
from streamdeid.analysis.records import AnalysisEnd, AnalysisHeader, FrameRecord
from streamdeid.analysis.stored_faces import box_numbers, numbers_of


def old_frame(record: FrameRecord) -> FrameRecord:
    """A frame as far as version 1 keeps it."""
    return replace(
        record,
        found=[replace(face, keypoints=None, surveyed=None) for face in record.found],
        decisions=[replace(one, sides=None, cut=False) for one in record.decisions],
    )


def write_version_1(
    path: Path, header: AnalysisHeader, records: Sequence[FrameRecord], end: AnalysisEnd, more_parts: int = 0
) -> None:
    """Write frames without seal. more_parts: added to the parts of each face, to tell a lie."""
    words = [
        sorted({getattr(one, name) for record in records for one in record.decisions}) for name in ("level", "cause")
    ]
    blocks, index = b"", np.zeros(math.ceil(len(records) / 32), layout.ENTRY)
    for number, entry in enumerate(index):
        part = records[32 * number : 32 * number + 32]
        for name, block in zip(("table", "points"), _chunk(part, words, more_parts), strict=True):
            packed = zlib.compress(block, 6)
            entry[f"{name}_bytes"], entry[f"{name}_crc"] = len(packed), zlib.crc32(packed)
            blocks += packed
        base = math.lcm(*(record.time.denominator for record in part))
        entry["frames"], entry["base"] = len(part), base
        entry["found"] = sum(len(record.found) for record in part)
        entry["decisions"] = sum(len(record.decisions) for record in part)
        entry["scene"], entry["last_scene"] = part[0].scene, part[-1].scene
        entry["time"], entry["last_time"] = int(part[0].time * base), int(part[-1].time * base)
    text = layout.header_text(header)
    last = layout.end_text(layout.End(replace(end, seal=""), len(records), tuple(words[0]), tuple(words[1])))
    packed = zlib.compress(index.tobytes(), 6)
    tail = [len(last), zlib.crc32(last), len(packed), zlib.crc32(packed), len(index)]
    check = zlib.crc32(layout.TAIL.pack(*tail, 0, b"")[: layout.TAIL_CHECKED])
    head = layout.HEAD.pack(layout.MAGIC, 1, len(text), zlib.crc32(text)) + text
    path.write_bytes(head + blocks + last + packed + layout.TAIL.pack(*tail, check, layout.TAIL_MARK))


def _chunk(records: Sequence[FrameRecord], words: Sequence[Sequence[str]], more_parts: int) -> tuple[bytes, bytes]:
    """Table and points of a chunk."""
    base = math.lcm(*(record.time.denominator for record in records))
    times = [int(record.time * base) for record in records]
    faces = [numbers_of(face) for record in map(old_frame, records) for face in record.found]
    made = [one for record in records for one in record.decisions]
    columns: list[tuple[str, object]] = [
        ("<u8", np.diff(times, prepend=times[0])),
        ("<i4", [record.scene for record in records]),
        ("<u4", [len(record.found) for record in records]),
        ("<u4", [len(record.decisions) for record in records]),
        ("<i4", [face.box for face in faces]),
        *(("<u2", [getattr(face, name) for face in faces]) for name in ("score", "presence", "evidence")),
        ("u1", [face.parts + more_parts for face in faces]),
        *(("<i4", [getattr(one, name) for one in made]) for name in ("track", "tracklet", "person", "missed")),
        ("u1", [words[0].index(one.level) for one in made]),
        ("u1", [words[1].index(one.cause) for one in made]),
        ("u1", [one.ambiguous + 2 * one.near for one in made]),
        ("<i4", [box_numbers(one.box) for one in made]),
        ("<i4", [box_numbers(one.place) for one in made]),
        ("<i4", [-1 if one.face is None else one.face for one in made]),
    ]
    return b"".join(planes(np.array(values, kind)) for kind, values in columns), coded(faces)
