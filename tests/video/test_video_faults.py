"""Broken inputs: one clear line, never a crash, never a silent loss."""

from __future__ import annotations

import errno
import itertools
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from streamdeid.errors import InputError
from streamdeid.video import reading
from streamdeid.video.files.source import FileSource
from streamdeid.video.reading import packets_of
from streamdeid.video.wholeness import cut_off
from tests.synthetic_video import encode


def read(path: Path, *, tolerant: bool = False) -> tuple[int, InputError | None, FileSource | None]:
    """Frames read, and the error that ended it."""
    count, source = 0, None
    try:
        source = FileSource(path, tolerant=tolerant)
        for _ in source:
            count += 1
    except InputError as error:
        return count, error, source
    return count, None, source


def flipped(path: Path, start: int, length: int, seed: int) -> Path:
    """A copy with `length` bytes from `start` replaced by noise."""
    data = bytearray(path.read_bytes())
    data[start : start + length] = random.Random(seed).randbytes(len(data[start : start + length]))
    copy = path.with_name(f"flipped_{start}_{seed}{path.suffix}")
    copy.write_bytes(data)
    return copy


def media_data(path: Path) -> tuple[int, int]:
    """First and last+1 byte of an MP4's coded pictures."""
    data = path.read_bytes()
    start = data.index(b"mdat")
    return start + 4, start - 4 + int(struct.unpack(">I", data[start - 4 : start])[0])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.mp4", None, "no such file"),
        ("empty.mp4", b"", "empty"),
        ("letter.mp4", b"Dear Sir or Madam,\nthis is no video.\n" * 50, "not a video"),
        ("noise.mp4", random.Random(0).randbytes(5000), "not a video"),
        ("playlist.mp4", b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n", "not a video"),
        ("script.mp4", b"ffconcat version 1.0\nfile secret.mp4\n", "not a video"),
    ],
)
def test_what_is_no_video_is_said_in_one_line(name: str, content: bytes | None, words: str, tmp_path: Path) -> None:
    encode(tmp_path / "secret.ts", frames=10)
    encode(tmp_path / "secret.mp4", frames=10)
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        FileSource(path)
    assert words in str(caught.value)
    assert name in str(caught.value)
    for unwanted in ("\n", "Errno", "Traceback", "Error", "-1094995529"):
        assert unwanted not in str(caught.value)


def test_a_directory_is_no_video(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        FileSource(tmp_path)


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "a.wav"), "w") as output:
        track = output.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1600), np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        output.mux(track.encode(frame))
    with pytest.raises(InputError, match="no video in it"):
        FileSource(tmp_path / "a.wav")


def test_a_name_that_looks_like_a_protocol_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    encode(Path("plain.mp4"), frames=5).rename("concat:a.mp4")
    assert len(list(FileSource("concat:a.mp4"))) == 5


def test_not_one_decodable_picture(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", frames=10)
    start, end = media_data(path)
    with pytest.raises(InputError, match="not one picture"):
        FileSource(flipped(path, start, end - start, 1))


def test_mp4_without_index_says_so(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", frames=20)
    path.write_bytes(path.read_bytes()[: media_data(path)[1] - 100])
    with pytest.raises(InputError, match=r"no index \(moov\)"):
        FileSource(path)


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("libx264", "a.mp4"),
        ("libx264", "a.mkv"),
        ("libx264", "a.ts"),
        ("mpeg4", "a.avi"),
        ("libvpx-vp9", "a.webm"),
        ("mpeg1video", "a.mpg"),
        ("libx265", "a.mkv"),
    ],
)
@pytest.mark.parametrize("share", [0.75, 0.9])
def test_a_cut_file_gives_its_frames_and_then_the_truth(codec: str, name: str, share: float, tmp_path: Path) -> None:
    options = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    path = tmp_path / name
    faststart = name.endswith(".mp4")
    encode(path, codec, frames=60, size=(160, 120), options={**options, "g": "10"}, faststart=faststart)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share) | 1])
    count, error, source_ = read(path)
    assert 0 < count < 60
    assert error is not None
    assert source_ is not None
    assert f"{name} is damaged or cut off after frame {count} (" in str(error)
    assert "\n" not in str(error)
    more, none, tolerant = read(path, tolerant=True)
    assert none is None
    assert more >= count
    assert tolerant is not None
    assert tolerant.damaged > 0
    assert tolerant.damage


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_h264_packet_is_never_passed_over(seed: int, tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", frames=40, size=(160, 120), options={"g": "12"})
    start, end = media_data(path)
    place = random.Random(seed).randrange(start + (end - start) // 3, end - 400)
    damaged = flipped(path, place, 200, seed)
    count, error, source = read(damaged)
    assert error is not None
    assert count < 40
    assert source is not None
    assert source.damaged
    assert "after frame" in str(error)
    more, none, tolerant = read(damaged, tolerant=True)
    assert none is None
    assert tolerant is not None
    assert tolerant.damaged >= 1
    assert more >= count
    times = [round(frame.time * 25) for frame in FileSource(damaged, tolerant=True)]
    assert times[:count] == list(range(count))
    # Smeared pictures are left out: after each place of damage the next one is a key frame.
    assert all(now - before == 1 or now % 12 == 0 for before, now in itertools.pairwise(times))


@pytest.mark.parametrize(("codec", "name"), [("libx264", "a.mkv"), ("mpeg2video", "a.ts"), ("mpeg4", "a.avi")])
def test_noise_anywhere_raises_input_errors_only(codec: str, name: str, tmp_path: Path) -> None:
    path = encode(tmp_path / name, codec, frames=20)
    size = path.stat().st_size
    outcomes = set()
    for seed in range(25):
        damaged = flipped(path, random.Random(seed).randrange(size), 30, seed)
        _, error, _ = read(damaged)
        _, tolerated, _ = read(damaged, tolerant=True)
        outcomes.add(error is None)
        if tolerated is not None:  # nothing to salvage: the header itself is gone
            assert "readable" in str(tolerated) or "cannot be read" in str(tolerated)
    assert False in outcomes


@pytest.mark.parametrize(
    ("codec", "name", "options"),
    [
        ("libx264", "a.mp4", {"x264-params": "tff=1:keyint=8"}),
        ("libx264", "a.ts", {"x264-params": "open-gop=1:keyint=10:bframes=3"}),
        ("libx264", "a.avi", {"bf": "2"}),
        ("libx265", "a.mp4", {"x265-params": "open-gop=1:keyint=10:log-level=none"}),
        ("libvpx-vp9", "a.webm", {"auto-alt-ref": "1", "lag-in-frames": "16", "deadline": "good", "cpu-used": "5"}),
        ("mpeg2video", "a.mpg", {"flags": "+ildct+ilme", "bf": "2"}),
        ("mpeg4", "a.avi", {"bf": "2"}),
    ],
)
def test_healthy_oddities_are_no_damage(codec: str, name: str, options: dict[str, str], tmp_path: Path) -> None:
    count, error, _ = read(encode(tmp_path / name, codec, frames=60, size=(96, 64), options=options))
    assert error is None
    assert count == 60


def test_a_change_of_size_is_refused(tmp_path: Path) -> None:
    small = encode(tmp_path / "small.h264", frames=10, size=(64, 48), container="h264")
    large = encode(tmp_path / "large.h264", frames=10, size=(96, 64), container="h264")
    path = tmp_path / "both.h264"
    path.write_bytes(small.read_bytes() + large.read_bytes())
    count, error, _ = read(path)
    assert count == 10
    assert "from 64x48 to 96x64" in str(error)


def test_times_that_jump_back_end_the_reading(tmp_path: Path) -> None:
    part = encode(tmp_path / "part.mpg", "mpeg1video", frames=50).read_bytes()
    path = tmp_path / "twice.mpg"
    path.write_bytes(part + part)
    count, error, _ = read(path)
    assert count == 50
    assert "jump backwards" in str(error)
    source = FileSource(path, tolerant=True)
    times = [frame.time for frame in source]
    assert times == sorted(set(times))
    assert len(times) == 100
    assert source.damaged


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi", "a.ts", "a.mov"])
def test_structure_tells_whole_from_cut(name: str, tmp_path: Path) -> None:
    path = encode(tmp_path / name, "mpeg4" if name == "a.avi" else "libx264", frames=20)
    assert cut_off(path) is None
    path.write_bytes(path.read_bytes() + b"\0" * (188 if name == "a.ts" else 5))
    assert cut_off(path) is None
    path.write_bytes(path.read_bytes()[: path.stat().st_size - 250])
    assert cut_off(path) is not None


class _Container:
    """What `packets_of` asks of a container: two packets, then an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def demux(self, streams: object) -> Iterator[av.Packet[Any]]:
        yield from (av.Packet(b"a"), av.Packet(b"b"))
        raise self._error


def test_streams_that_turn_up_on_the_way_end_no_run() -> None:
    # PyAV knows the streams that were there at the beginning, and looks for all of them at the end.
    container: Any = _Container(IndexError("list index out of range"))
    assert [bytes(packet) for packet in packets_of(container)] == [b"a", b"b"]


@pytest.mark.parametrize("tolerant", [False, True])
def test_a_file_that_asks_for_more_memory_than_there_is_is_damaged(
    tolerant: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = encode(tmp_path / "a.mp4", frames=10)
    source = FileSource(path, tolerant=tolerant)
    container: Any = _Container(av.error.MemoryError(errno.ENOMEM, "Cannot allocate memory"))
    monkeypatch.setattr(reading, "packets_of", lambda given: packets_of(container))
    with pytest.raises(InputError, match="a part of it says that it is larger than the memory"):
        list(source)
    container = _Container(MemoryError())
    with pytest.raises(MemoryError):  # Python's: the machine's own want
        list(source)
