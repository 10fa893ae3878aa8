"""Reads an analysis file: everything in the file is checked, and frames are decoded when they are asked for."""

from __future__ import annotations

import hmac
import os
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis import layout
from streamdeid.analysis.chunk_table import (
    CHUNK_FACES,
    CHUNK_FRAMES,
    MOST_DECISIONS,
    MOST_FACES,
    VERSIONS,
    BadTable,
    ChunkTable,
    check_table,
    decisions_of,
    table_from,
    table_size,
)
from streamdeid.analysis.keypoint_coding import decoded_keypoints, keypoint_bytes
from streamdeid.analysis.plain_file import open_plain
from streamdeid.analysis.point_coding import Misfit, coded_bytes, decoded
from streamdeid.analysis.records import Analysis, FrameRecord
from streamdeid.analysis.seal import Seal
from streamdeid.analysis.stored_faces import FaceNumbers, face_from
from streamdeid.analysis.strict_json import Unfit
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import InputError

_KEPT = 4
"""Number of decoded chunks that are kept in memory; each has about a second of frames."""
_BLOCK = 1 << 20
"""Bytes that are read at once for the seal."""
_SMALLEST_BLOCK = 8
"""Bytes of an empty block when it is compressed."""


def read_analysis(path: Path) -> Analysis:
    """Open an analysis that `AnalysisWriter` wrote. Raises InputError, one line, for any other file.

    Header, index and end are read and checked at once. Frames are read when they are asked for, and may raise then."""
    descriptor, size = open_plain(path)
    file = _File(path, descriptor, size)
    magic, version, length, check = layout.HEAD.unpack(file.part(0, layout.HEAD.size))
    if magic != layout.MAGIC:
        raise file.wrong("it is no analysis")
    if version not in VERSIONS:
        raise file.wrong(f"it is of version {version}, and this program knows versions up to {max(VERSIONS)}")
    if length > layout.LONGEST_HEADER:
        raise file.wrong("its header is too long")
    try:
        header = layout.header_from(file.checked(layout.HEAD.size, length, check, "header"))
        if not layout.fits(header, version):
            raise Unfit("its header: the pixel aspect does not fit its version")
        known, index, start = _end(file)
    except Unfit as error:
        raise file.wrong(str(error)) from error
    frames = AnalysisFrames(file, index, layout.HEAD.size + length, known, version)
    if frames.end_of_chunks != start:
        raise file.wrong("its index does not fit its length")
    return Analysis(header, frames, known.end, version)


def sealed_with(analysis: Analysis, key: bytes) -> bool:
    """Whether the file of an analysis carries the right seal for a key, so that it is unchanged. Reads the whole file.

    Raises InputError when the file cannot be read.
    """
    frames = analysis.frames
    return isinstance(frames, AnalysisFrames) and hmac.compare_digest(frames.seal(key), analysis.end.seal)


class _File:
    """A file of which parts are read; several threads may use it."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        """descriptor: closed when this object is garbage-collected."""
        self.path, self.size = path, size
        self._descriptor, self._lock = descriptor, threading.Lock()
        weakref.finalize(self, os.close, descriptor)

    def part(self, at: int, length: int) -> bytes:
        """Read `length` bytes from `at` on. Raises InputError where the file has no such place."""
        if at < 0 or at + length > self.size:
            raise self.wrong("it is cut off")
        data = b""
        try:
            with self._lock:
                os.lseek(self._descriptor, at, os.SEEK_SET)
                while len(data) < length and (piece := os.read(self._descriptor, length - len(data))):
                    data += piece
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {system_reason(error, 'an error')}") from error
        if len(data) != length:
            raise self.wrong("it is cut off")
        return data

    def checked(self, at: int, length: int, check: int, name: str) -> bytes:
        """Read bytes and compare their CRC-32 with `check`. Raises InputError."""
        data = self.part(at, length)
        if zlib.crc32(data) != check:
            raise self.wrong(f"its {name} is damaged")
        return data

    def unpacked(self, at: int, length: int, check: int, name: str, size: int) -> bytes:
        """Read a compressed block that must hold exactly `size` bytes. Raises InputError.

        Of a block that holds more, at most size + 1 bytes are decompressed."""
        packed = self.checked(at, length, check, name)
        unpack = zlib.decompressobj()
        try:
            data = unpack.decompress(packed, size + 1)
        except zlib.error as error:
            raise self.wrong(f"its {name} is damaged") from error
        if len(data) != size or not unpack.eof or unpack.unused_data:
            raise self.wrong(f"its {name} has another size than it says")
        return data

    def wrong(self, reason: str) -> InputError:
        """The error for a file that cannot be read for this reason."""
        return InputError(f"{self.path} cannot be read as an analysis: {reason}")


def _end(file: _File) -> tuple[layout.End, NDArray[Any], int]:
    """Read the end and the index, and tell where the chunks end."""
    at = file.size - layout.TAIL.size
    tail = file.part(at, layout.TAIL.size)
    length, check, index_length, index_check, chunks, tail_check, mark = layout.TAIL.unpack(tail)
    if mark != layout.TAIL_MARK:
        raise file.wrong("it is cut off")
    if zlib.crc32(tail[: layout.TAIL_CHECKED]) != tail_check:
        raise file.wrong("its last bytes are damaged")
    if length > layout.LONGEST_END or chunks * 2 * _SMALLEST_BLOCK > file.size:
        raise file.wrong("its last bytes say what cannot be")
    at -= index_length
    size = chunks * layout.ENTRY.itemsize
    index = np.frombuffer(file.unpacked(at, index_length, index_check, "index", size), layout.ENTRY)
    known = layout.end_from(file.checked(at - length, length, check, "end"))
    _check_index(file, index, known.frames)
    return known, index, at - length


def _check_index(file: _File, index: NDArray[Any], frames: int) -> None:
    """Raise InputError for an index that no `AnalysisWriter` can have written."""
    rows = {name: index[name].astype(np.int64) for name in ("frames", "found", "decisions")}
    if int(rows["frames"].sum()) != frames:
        raise file.wrong("its index has another number of frames than its end")
    if (rows["frames"] < 1).any() or (rows["frames"] > CHUNK_FRAMES).any():
        raise file.wrong("its index has a chunk of too few or too many frames")
    most = np.where(rows["frames"] == 1, MOST_FACES, CHUNK_FACES)
    if (rows["found"] > most).any() or (rows["decisions"] > MOST_DECISIONS).any():
        raise file.wrong("its index has a chunk of too many faces")
    if rows["found"].sum() + rows["decisions"].sum() > layout.MOST_ROWS:
        raise file.wrong("it has too many faces")
    limit = layout.LARGEST_TIME
    base, first, last = index["base"], index["time"], index["last_time"]
    if (base < 1).any() or (base > limit).any() or (first < -limit).any() or (last > limit).any():
        raise file.wrong("its index has a time that cannot be")
    if (last < first).any() or (index["last_scene"] < index["scene"]).any():
        raise file.wrong("its times or scenes run backwards")
    if (index["scene"][1:] < index["last_scene"][:-1]).any():
        raise file.wrong("its scenes run backwards")
    bases, firsts, lasts = base.tolist(), first.tolist(), last.tolist()
    for i in range(1, len(index)):  # Python's whole numbers: the products do not fit 64 bits
        if firsts[i] * bases[i - 1] < lasts[i - 1] * bases[i]:
            raise file.wrong("its times run backwards")


class AnalysisFrames(Sequence[FrameRecord]):
    """The frames of an analysis file. Raises InputError where a chunk is damaged. Several threads may use it."""

    def __init__(self, file: _File, index: NDArray[Any], start: int, known: layout.End, version: int) -> None:
        """index: of type `layout.ENTRY`, checked. start: place of the first chunk."""
        self._file, self._index, self._version = file, index, version
        lengths = index["table_bytes"].astype(np.int64) + index["points_bytes"]
        self._places = start + np.concatenate([[0], np.cumsum(lengths)])
        self._firsts = np.concatenate([[0], np.cumsum(index["frames"], dtype=np.int64)])
        self._known = known
        self.levels, self.causes = known.levels, known.causes
        """Names of the levels and the causes; the tables hold their numbers."""
        self._kept: OrderedDict[int, list[FrameRecord]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def end_of_chunks(self) -> int:
        """The place in the file after the last chunk."""
        return int(self._places[-1])

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return len(self._index)

    def seal(self, key: bytes) -> str:
        """The seal that `AnalysisWriter` would give these bytes with a key."""
        seal, end = Seal(key), self.end_of_chunks
        for at in range(0, end, _BLOCK):
            seal.add(self._file.part(at, min(_BLOCK, end - at)))
        return seal.over(self._known, self._index.tobytes())

    def __len__(self) -> int:
        return int(self._firsts[-1])

    @overload
    def __getitem__(self, number: int) -> FrameRecord: ...
    @overload
    def __getitem__(self, number: slice) -> list[FrameRecord]: ...
    def __getitem__(self, number: int | slice) -> FrameRecord | list[FrameRecord]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        place = number + len(self) if number < 0 else number
        if not 0 <= place < len(self):
            raise IndexError(f"frame {number} of {len(self)}")
        chunk = int(np.searchsorted(self._firsts, place, "right")) - 1
        return self._records(chunk)[place - int(self._firsts[chunk])]

    def __iter__(self) -> Iterator[FrameRecord]:
        for chunk in range(self.chunks):
            yield from self._records(chunk)

    def times_of(self, chunk: int, table: ChunkTable) -> list[Fraction]:
        """Exact times of a chunk's frames in seconds."""
        entry = self._index[chunk]
        base, time = int(entry["base"]), int(entry["time"])
        times = []
        for step in table.frames["time"].tolist():
            time += step
            times.append(time)
        if times[-1] != entry["last_time"] or times[0] != entry["time"]:
            raise self._file.wrong(f"the times of its chunk {chunk + 1} are others than its index says")
        return [Fraction(time, base) for time in times]

    def table(self, chunk: int) -> ChunkTable:
        """Read the columns of a chunk and check them."""
        entry = self._index[chunk]
        counts = int(entry["frames"]), int(entry["found"]), int(entry["decisions"])
        name = f"chunk {chunk + 1}"
        at, length, check = int(self._places[chunk]), int(entry["table_bytes"]), int(entry["table_crc"])
        data = self._file.unpacked(at, length, check, name, table_size(*counts, self._version))
        table = table_from(data, *counts, self._version)
        try:
            check_table(table, len(self.levels), len(self.causes), self._version)
        except BadTable as error:
            raise self._file.wrong(f"{name}: {error}") from error
        scenes = table.frames["scene"]
        if scenes[0] != entry["scene"] or scenes[-1] != entry["last_scene"]:
            raise self._file.wrong(f"the scenes of its {name} are others than its index says")
        return table

    def _records(self, chunk: int) -> list[FrameRecord]:
        with self._lock:
            records = self._kept.get(chunk)
            if records is None:
                records = self._read(chunk)
                while len(self._kept) >= _KEPT:
                    self._kept.popitem(last=False)
                self._kept[chunk] = records
            self._kept.move_to_end(chunk)
            return records

    def _read(self, chunk: int) -> list[FrameRecord]:
        table, entry = self.table(chunk), self._index[chunk]
        name, parts = f"chunk {chunk + 1}", table.found["parts"].tolist()
        at = int(self._places[chunk]) + int(entry["table_bytes"])
        length, check = int(entry["points_bytes"]), int(entry["points_crc"])
        of_points = coded_bytes(parts)
        data = self._file.unpacked(at, length, check, name, of_points + keypoint_bytes(parts))
        try:
            points, keys = decoded(data, parts), decoded_keypoints(data, of_points, parts)
        except Misfit as error:
            raise self._file.wrong(f"{name}: {error}") from error
        columns = (table.found[name].tolist() for name in ("box", "score", "presence", "evidence", "parts", "surveyed"))
        faces = [
            face_from(FaceNumbers((x0, y0, x1, y1), score, presence, evidence, part, place, key, surveyed))
            for (x0, y0, x1, y1), score, presence, evidence, part, surveyed, place, key in zip(
                *columns, points, keys, strict=True
            )
        ]
        records, face, decision = [], 0, 0
        counts = (table.frames[column].tolist() for column in ("scene", "found", "decisions"))
        for time, scene, found, decisions in zip(self.times_of(chunk, table), *counts, strict=True):
            made = decisions_of(table, decision, decision + decisions, self.levels, self.causes)
            records.append(FrameRecord(time, scene, faces[face : face + found], made))
            face, decision = face + found, decision + decisions
        return records
