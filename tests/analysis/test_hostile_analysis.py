"""Analysis files that are damaged or made to do harm: the same frames, or one line."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamdeid.analysis import layout
from streamdeid.analysis.chunk_table import table_bytes, table_from, table_size
from streamdeid.analysis.columns import columns_of
from streamdeid.analysis.read_analysis import read_analysis, sealed_with
from streamdeid.analysis.records import VERSION
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.errors import InputError
from tests.analysis.made_recordings import END, HEADER, assert_kept, made_record, write_recording
from tests.analysis.old_analysis import write_version_1

_MOST_MEMORY = 24 << 20


def _outcome(path: Path) -> str:
    """What reading all of a file ends with: a line, or nothing. Whatever else is raised goes on."""
    try:
        analysis = read_analysis(path)
        columns_of(analysis.frames)
        for _ in analysis.frames:
            pass
    except InputError as error:
        said = str(error)
    else:
        return ""
    assert said.startswith(f"{path} cannot be read"), said
    assert "\n" not in said and len(said) < len(str(path)) + 200
    return said


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("small") / "a"
    write_recording(path, 3, 2)
    return path.read_bytes()


@pytest.mark.parametrize(("more", "reason"), [(32, "does not know"), (64, "does not know"), (128, "do not exist")])
def test_an_old_file_has_the_parts_of_its_version_only(tmp_path: Path, more: int, reason: str) -> None:
    path = tmp_path / "a"
    rng = np.random.default_rng(1)
    write_version_1(path, HEADER, [made_record(rng, number, 2) for number in range(3)], END)
    assert _outcome(path) == ""
    write_version_1(path, HEADER, [made_record(rng, number, 2) for number in range(3)], END, more)
    assert reason in _outcome(path)


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_one_version_is_none_of_the_other(tmp_path: Path, small: bytes, version: int) -> None:
    path, at = tmp_path / "a", len(layout.MAGIC)
    data = small
    if version == 2:
        write_version_1(path, HEADER, [made_record(np.random.default_rng(1), number, 2) for number in range(3)], END)
        data = path.read_bytes()
    path.write_bytes(data[:at] + bytes([version, 0]) + data[at + 2 :])
    assert "size" in _outcome(path)


def test_every_byte_is_guarded(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_recording(path, 2)
    small = path.read_bytes()
    for place in range(len(small)):
        path.write_bytes(small[:place] + bytes([small[place] ^ (1 << place % 8)]) + small[place + 1 :])
        assert _outcome(path), f"byte {place} of {len(small)} can be another"


def test_every_length_but_its_own_is_refused(tmp_path: Path, small: bytes) -> None:
    path = tmp_path / "a"
    for length in range(len(small)):
        path.write_bytes(small[:length])
        assert _outcome(path)
    path.write_bytes(small + b"\0")
    assert _outcome(path)


def test_another_version_is_named(tmp_path: Path, small: bytes) -> None:
    at = len(layout.MAGIC)
    (tmp_path / "a").write_bytes(small[:at] + bytes([VERSION + 1, 0]) + small[at + 2 :])
    assert f"version {VERSION + 1}" in _outcome(tmp_path / "a")


@given(data=st.binary(max_size=400), tail=st.booleans())
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_refused(tmp_path: Path, data: bytes, tail: bool) -> None:
    path = tmp_path / "a"
    head = layout.HEAD.pack(layout.MAGIC, VERSION, len(data) // 2, zlib.crc32(data[: len(data) // 2]))
    path.write_bytes(head + data + layout.TAIL_MARK if tail else data)
    assert _outcome(path)


_MOST = 2**32 - 1


class _Opened:
    """A file in its parts, to be put together again with right checksums: only what it says is wrong then."""

    def __init__(self, data: bytes) -> None:
        _, _, length, _ = layout.HEAD.unpack_from(data)
        fields = layout.TAIL.unpack(data[-layout.TAIL.size :])
        at = len(data) - layout.TAIL.size
        self.index = np.frombuffer(zlib.decompress(data[at - fields[2] : at]), layout.ENTRY).copy()
        self.end = data[at - fields[2] - fields[0] : at - fields[2]]
        self.header = data[layout.HEAD.size : layout.HEAD.size + length]
        self.blocks: list[bytes] = []
        place = layout.HEAD.size + length
        for entry in self.index:
            for name in ("table_bytes", "points_bytes"):
                self.blocks.append(zlib.decompress(data[place : place + int(entry[name])]))
                place += int(entry[name])
        assert self.bytes() == data

    def bytes(self) -> bytes:
        blocks = [zlib.compress(block, 6) for block in self.blocks]
        for i, entry in enumerate(self.index):
            for name, block in (("table", blocks[2 * i]), ("points", blocks[2 * i + 1])):
                entry[f"{name}_bytes"], entry[f"{name}_crc"] = len(block), zlib.crc32(block)
        index = zlib.compress(self.index.tobytes(), 6)
        tail = [len(self.end), zlib.crc32(self.end), len(index), zlib.crc32(index), len(self.index)]
        check = zlib.crc32(layout.TAIL.pack(*tail, 0, b"")[: layout.TAIL_CHECKED])
        head = layout.HEAD.pack(layout.MAGIC, VERSION, len(self.header), zlib.crc32(self.header))
        return (
            head + self.header + b"".join(blocks) + self.end + index + layout.TAIL.pack(*tail, check, layout.TAIL_MARK)
        )

    def keypoints(self, place: int, value: int) -> None:
        """Change a byte of the keypoints of the first chunk's three faces: references at 0, scores at 3 and 6, points
        at 9 (their lowest bytes) and 51."""
        block = bytearray(self.blocks[1])
        block[len(block) - 3 * 31 + place] = value
        self.blocks[1] = bytes(block)

    def set(self, part: str, name: str, row: int, value: Any) -> None:
        """Change a value of a column of the first chunk."""
        entry = self.index[0]
        counts = [int(entry[key]) for key in ("frames", "found", "decisions")]
        table = table_from(self.blocks[0], *counts)
        getattr(table, part)[name][row] = value
        self.blocks[0] = table_bytes(table)
        assert len(self.blocks[0]) == table_size(*counts)


_LIES: dict[str, tuple[str, Callable[[_Opened], object]]] = {
    "box beyond": ("beyond", lambda f: f.set("found", "box", 0, (0, 0, 64 * 40_000, 5))),
    "empty box": ("empty", lambda f: f.set("decisions", "place", 0, (5, 5, 5, 9))),
    "score": ("larger than 1", lambda f: f.set("found", "evidence", 0, 65_535)),
    "parts": ("parts", lambda f: f.set("found", "parts", 0, 2)),
    "more parts": ("size", lambda f: f.set("found", "parts", 0, 29)),
    "one more part": ("parts", lambda f: f.set("found", "parts", 0, 128 + 61)),
    "no keypoints": ("size", lambda f: f.set("found", "parts", 0, 31)),
    "keypoints before": ("predicted from none", lambda f: f.keypoints(0, 200)),
    "keypoints' score": ("score larger", lambda f: f.keypoints(6, 255)),
    "keypoints beyond": ("keypoints far outside", lambda f: f.keypoints(51, 255)),
    "keypoints' box": ("empty box", lambda f: f.keypoints(11, 255)),
    "one side": ("sides", lambda f: f.set("decisions", "sides", 0, (5, 0))),
    "negative sides": ("sides", lambda f: f.set("decisions", "sides", 0, (-5, -5))),
    "vast sides": ("sides", lambda f: f.set("decisions", "sides", 0, (5, 64 * 65_536 + 1))),
    "face": ("not there", lambda f: f.set("decisions", "face", 0, 7)),
    "negative face": ("not there", lambda f: f.set("decisions", "face", 0, -2)),
    "track": ("negative", lambda f: f.set("decisions", "track", 0, -1)),
    "level": ("level does not", lambda f: f.set("decisions", "level", 0, 200)),
    "flags": ("flags", lambda f: f.set("decisions", "flags", 0, 255)),
    "found": ("disagree", lambda f: f.set("frames", "found", 0, 3)),
    "decisions": ("disagree", lambda f: f.set("frames", "decisions", 0, _MOST)),
    "scene": ("scenes", lambda f: f.set("frames", "scene", 0, 1)),
    "later": ("times", lambda f: f.set("frames", "time", 1, 2**63)),
    "first time": ("times", lambda f: f.set("frames", "time", 0, 1)),
    "frames": ("number of frames", lambda f: f.index["frames"].__setitem__(0, 4)),
    "no frames": ("number of frames", lambda f: f.index["frames"].__setitem__(0, 0)),
    "faces": ("too many faces", lambda f: f.index["found"].__setitem__(0, 513)),
    "base": ("time that", lambda f: f.index["base"].__setitem__(0, 0)),
    "time": ("time that", lambda f: f.index["time"].__setitem__(0, -(2**63))),
    "backwards": ("backwards", lambda f: f.index["last_time"].__setitem__(0, -1)),
    "scenes": ("backwards", lambda f: f.index["scene"].__setitem__(0, 9)),
    "header key": ("unknown key", lambda f: setattr(f, "header", f.header.replace(b'"width"', b'"depth"'))),
    "header json": ("JSON", lambda f: setattr(f, "header", b"{")),
    "header deep": ("nested", lambda f: setattr(f, "header", b"[" * 100_000)),
    "header number": ("not JSON", lambda f: setattr(f, "header", f.header.replace(b"640", b"1" * 5000))),
    "header twice": ("twice", lambda f: setattr(f, "header", b'{"width":1,"width":1}')),
    "header nan": ("not a number", lambda f: setattr(f, "header", f.header.replace(b"640", b"NaN"))),
    "end frames": ("number of frames", lambda f: setattr(f, "end", f.end.replace(b'"frames": 3', b'"frames": 4'))),
    "end person": ("two surrogates", lambda f: setattr(f, "end", f.end.replace(b'"person": 7', b'"person": 1'))),
    "end key": ("unknown key", lambda f: setattr(f, "end", f.end.replace(b'"levels"', b'"\\n\\u2028levels"'))),
    "points": ("predicted|outside", lambda f: f.blocks.__setitem__(1, b"\xff" * len(f.blocks[1]))),
    "a bomb": ("size", lambda f: f.blocks.__setitem__(1, bytes(200 << 20))),
    "a bomb of a table": ("size", lambda f: f.blocks.__setitem__(0, bytes(200 << 20))),
    "many chunks": ("size|what cannot be", lambda f: setattr(f, "index", np.zeros(4_000_000, layout.ENTRY))),
}


@pytest.mark.parametrize("lie", _LIES)
def test_a_lie_with_the_right_checksum_is_found(tmp_path: Path, small: bytes, lie: str) -> None:
    path, (reason, tell) = tmp_path / "a", _LIES[lie]
    opened = _Opened(small)
    tell(opened)
    if lie == "many chunks":
        opened.index, blocks = opened.index[:1], opened.index
        data = bytearray(opened.bytes())
        opened.index = blocks
        packed = zlib.compress(blocks.tobytes(), 6)
        tail = [len(opened.end), zlib.crc32(opened.end), len(packed), zlib.crc32(packed), len(blocks)]
        check = zlib.crc32(layout.TAIL.pack(*tail, 0, b"")[: layout.TAIL_CHECKED])
        path.write_bytes(bytes(data) + opened.end + packed + layout.TAIL.pack(*tail, check, layout.TAIL_MARK))
    else:
        path.write_bytes(opened.bytes())
    del opened
    _outcome(path)  # whatever is loaded once is loaded
    tracemalloc.start()
    said = _outcome(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert any(word in said for word in reason.split("|")), said
    assert peak < _MOST_MEMORY, f"{peak >> 20} MiB"


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_content_with_right_checksums_is_read_or_refused(
    tmp_path: Path, small: bytes, seed: int, changes: int
) -> None:
    """Tables, points, index and texts with some bytes changed: frames that make sense, or one line."""
    rng = np.random.default_rng(seed)
    opened = _Opened(small)
    index = bytearray(opened.index.tobytes())
    parts = [bytearray(opened.header), bytearray(opened.end), index, *map(bytearray, opened.blocks)]
    part = parts[rng.integers(len(parts))]
    for place in rng.integers(0, len(part), changes):
        part[place] = rng.integers(0, 256)
    opened.header, opened.end = bytes(parts[0]), bytes(parts[1])
    opened.index = np.frombuffer(bytes(index), layout.ENTRY).copy()
    opened.blocks = [bytes(block) for block in parts[3:]]
    path = tmp_path / "a"
    path.write_bytes(opened.bytes())
    if not _outcome(path):
        for frame in read_analysis(path).frames:
            for face in frame.found:
                assert np.isfinite(face.box).all() and 0 <= face.score <= 1
                assert face.mesh is None or np.isfinite(face.mesh).all()


def test_the_small_file_itself_is_read(tmp_path: Path, small: bytes) -> None:
    """Else the tests above would prove nothing."""
    (tmp_path / "a").write_bytes(_Opened(small).bytes())
    assert _outcome(tmp_path / "a") == ""
    for record, read in zip(write_recording(tmp_path / "b", 3, 2), read_analysis(tmp_path / "a").frames, strict=True):
        assert_kept(record, read)


def test_who_has_the_key_sees_that_something_was_changed(tmp_path: Path, small: bytes) -> None:
    """Whatever is changed, and put under right checksums, breaks the seal; without the key nobody makes another."""
    path, key = tmp_path / "a", b"k" * 32
    path.write_bytes(small)
    known = read_analysis(path)
    assert not sealed_with(known, key)
    sealed = tmp_path / "sealed"
    with AnalysisWriter(sealed, known.header, overwrite=False, key=key) as writer:
        for record in known.frames:
            writer.add(record)
        writer.close(known.end)
    assert sealed_with(read_analysis(sealed), key) and not sealed_with(read_analysis(sealed), b"l" * 32)
    changes: tuple[Callable[[_Opened], object], ...] = (
        lambda f: f.set("decisions", "person", 0, 9),
        lambda f: f.set("frames", "scene", -1, int(f.index[0]["last_scene"])),  # no change: stays sealed
        lambda f: setattr(f, "header", f.header.replace(b'"width": ', b'"width": 1')),
        lambda f: setattr(f, "end", f.end.replace(b'"key_check": "', b'"key_check": "0123456789abcdef', 1)),
        lambda f: f.index.__setitem__("time", f.index["time"]),  # nor is this one
    )
    kept = []
    for change in changes:
        opened = _Opened(sealed.read_bytes())
        change(opened)
        path.write_bytes(opened.bytes())
        try:
            kept.append(sealed_with(read_analysis(path), key))
        except InputError:
            kept.append(False)
    assert kept == [False, True, False, False, True]
