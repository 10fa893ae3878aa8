"""Writes an analysis while a recording is filtered, chunk by chunk; the file gets its name only when it is whole."""

from __future__ import annotations

import contextlib
import math
import zlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import numpy as np

from streamdeid.analysis import layout
from streamdeid.analysis.chunk_table import (
    CHUNK_FACES,
    CHUNK_FRAMES,
    MOST_DECISIONS,
    MOST_FACES,
    MOST_WORDS,
    check_table,
    table_bytes,
    table_of,
)
from streamdeid.analysis.keypoint_coding import coded_keypoints
from streamdeid.analysis.point_coding import coded
from streamdeid.analysis.records import VERSION, AnalysisEnd, AnalysisHeader, FrameRecord
from streamdeid.analysis.seal import Seal
from streamdeid.analysis.stored_faces import FaceNumbers, numbers_of
from streamdeid.core.atomic_file import check_paths, put_in_place, reason_of, reserve
from streamdeid.errors import OutputError

_EFFORT = 6
"""Level of zlib: it makes a fifth fewer bytes than level 1; level 9 takes five times as long and saves one per cent."""
_LEAST_EFFORT = 1


class AnalysisWriter:
    """Takes the frames of a recording in order and writes them to a temporary file beside the final one.

    Faces are kept as `stored_faces.stored` gives them; boxes are rounded outwards to 1/64 pixel. Memory grows only by
    60 bytes for each chunk (up to 32 frames). Use as a context manager: leaving it before `close` aborts.
    """

    def __init__(
        self,
        path: Path,
        header: AnalysisHeader,
        *,
        source: Path | None = None,
        overwrite: bool,
        key: bytes | None = None,
        passing: bool = False,
        mode: int = 0o666,
    ) -> None:
        """source: the recording, which the analysis must not replace. key: the file is sealed with it, if given.
        passing: the file is read once and then removed, so it is written in less time, with more bytes. mode: the
        largest permissions that it may get. Raises ValueError for a header that cannot be written, SettingsError and
        OutputError as `check_paths` does."""
        text = layout.header_text(header)
        check_paths(path, source, overwrite)
        self.path, self._overwrite, self._passing = path, overwrite, passing
        self._records: list[FrameRecord] = []
        self._faces: list[FaceNumbers] = []
        self._index: list[bytes] = []
        self._levels: dict[str, int] = {}
        self._causes: dict[str, int] = {}
        self._frames = self._rows = 0
        self._time: Fraction | None = None
        self._scene = 0
        self._seal = None if key is None else Seal(key)
        self._growing = reserve(path, mode=mode)
        self._open = True
        try:
            self._file = self._growing.opened()
            self._write(layout.HEAD.pack(layout.MAGIC, VERSION, len(text), zlib.crc32(text)) + text)
        except OSError as error:
            raise self._failed(error) from error

    def __enter__(self) -> AnalysisWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def add(self, record: FrameRecord) -> None:
        """Keep the next frame. Raises ValueError for a frame that cannot follow the last one or cannot be kept,
        OutputError when the disk refuses or the recording is too long. After an error no file is left."""
        try:
            self._add(record)
        except OSError as error:
            raise self._failed(error) from error
        except BaseException:
            self.abort()
            raise

    def close(self, end: AnalysisEnd) -> None:
        """Write the remaining frames and give the file its name. Raises ValueError and OutputError; then no file is
        left."""
        try:
            self._flush()
            known = layout.End(end, self._frames, tuple(self._levels), tuple(self._causes))
            if self._seal is not None:
                known = replace(known, end=replace(end, seal=self._seal.over(known, b"".join(self._index))))
            text, index = layout.end_text(known), zlib.compress(b"".join(self._index), _EFFORT)
            tail = layout.TAIL.pack(
                len(text), zlib.crc32(text), len(index), zlib.crc32(index), len(self._index), 0, layout.TAIL_MARK
            )
            check = zlib.crc32(tail[: layout.TAIL_CHECKED])
            fields = layout.TAIL.unpack(tail)
            self._file.write(text + index + layout.TAIL.pack(*fields[:5], check, fields[6]))
            self._file.close()
            put_in_place(self._growing, self.path, overwrite=self._overwrite)
            self._open = False
        except OSError as error:
            raise self._failed(error) from error
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Remove the temporary file; after `close` this does nothing."""
        if self._open:
            self._open = False
            with contextlib.suppress(OSError):
                self._file.close()
            self._growing.discard()
            self._growing.let_go()

    def _add(self, record: FrameRecord) -> None:
        if not self._open:
            raise ValueError("the analysis is closed")
        if self._frames >= layout.MOST_FRAMES or self._rows > layout.MOST_ROWS - MOST_FACES - MOST_DECISIONS:
            raise OutputError(f"{self.path} cannot be written: the recording is too long for an analysis file")
        if len(record.found) > MOST_FACES or len(record.decisions) > MOST_DECISIONS:
            raise ValueError(f"{len(record.found)} faces and {len(record.decisions)} decisions in a frame are too many")
        if (self._time is not None and record.time < self._time) or record.scene < self._scene:
            raise ValueError("a frame before the one before it")
        decisions = sum(len(one.decisions) for one in self._records)
        if (
            len(self._records) == CHUNK_FRAMES
            or len(self._faces) + len(record.found) > CHUNK_FACES
            or decisions + len(record.decisions) > MOST_DECISIONS
        ):
            self._flush()
        self._time, self._scene = record.time, record.scene
        self._records.append(record)
        self._faces += map(numbers_of, record.found)
        self._frames += 1
        self._rows += len(record.found) + len(record.decisions)

    def _flush(self) -> None:
        """Write the waiting frames as a chunk."""
        if not self._records:
            return
        base = math.lcm(*(record.time.denominator for record in self._records))
        times = [int(record.time * base) for record in self._records]
        if base > layout.LARGEST_TIME or max(map(abs, times)) > layout.LARGEST_TIME:
            raise ValueError("times that are too fine for an analysis file")
        steps = [after - before for before, after in zip([times[0], *times], times, strict=False)]
        table = table_of(self._records, self._faces, steps, self._levels, self._causes)
        if max(len(self._levels), len(self._causes)) > MOST_WORDS:
            raise ValueError(f"more than {MOST_WORDS} levels or causes")
        check_table(table, len(self._levels), len(self._causes))
        effort, predict = (_LEAST_EFFORT, False) if self._passing else (_EFFORT, True)
        points = coded(self._faces, predict=predict) + coded_keypoints(self._faces, predict=predict)
        blocks = [zlib.compress(data, effort) for data in (table_bytes(table), points)]
        entry = np.zeros(1, layout.ENTRY)
        for name, block in zip(("table", "points"), blocks, strict=True):
            entry[f"{name}_bytes"], entry[f"{name}_crc"] = len(block), zlib.crc32(block)
        entry["frames"], entry["found"] = len(self._records), len(self._faces)
        entry["decisions"] = len(table.decisions["box"])
        entry["scene"], entry["last_scene"] = self._records[0].scene, self._records[-1].scene
        entry["base"], entry["time"], entry["last_time"] = base, times[0], times[-1]
        self._write(b"".join(blocks))
        self._index.append(entry.tobytes())
        self._records, self._faces = [], []

    def _write(self, data: bytes) -> None:
        """Write bytes of the header or the chunks, and add them to the seal."""
        self._file.write(data)
        if self._seal is not None:
            self._seal.add(data)

    def _failed(self, error: OSError) -> OutputError:
        self.abort()
        return OutputError(f"{self.path} cannot be written: {reason_of(error)}")
