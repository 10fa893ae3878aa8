"""Writing files: frames, times, look and sound as in the input; nothing that identifies; all or nothing on disk."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import av
import numpy as np
import pytest

from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed, InputError, OutputError, SettingsError
from streamdeid.video.files.prefetch import BackgroundSink, prefetch
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
from streamdeid.video.formats import encoder_threads
from tests.synthetic_video import ROTATIONS, encode, packets, set_display_matrix

SHARED = Path(__file__).parents[2] / ".." / "shared" / "videos"


def passed(frame: Frame) -> DeidentifiedFrame:
    """The frame as if it had been filtered."""
    return DeidentifiedFrame(frame.as_stored, frame.time, frame.index)


def copy(source: Path, target: Path, **wishes: Any) -> tuple[list[Frame], list[Frame]]:
    """Pass a file through, return the frames of the input and of the output."""
    reader = FileSource(source)
    frames = list(reader)
    with FileSink(target, reader.info, **wishes) as sink:
        for frame in frames:
            sink.write(passed(frame))
    assert [path.name for path in target.parent.iterdir() if ".partial-" in path.name] == []
    return frames, list(FileSource(target))


def alike(ours: Planes, theirs: Planes) -> bool:
    pairs = ((ours.y, theirs.y), (ours.u, theirs.u), (ours.v, theirs.v))
    return all(a.shape == b.shape and np.abs(a.astype(int) - b).mean() < 8 for a, b in pairs)


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        (None, "b.mp4"),
        (None, "b.mov"),
        (None, "b.mkv"),
        (None, "b.webm"),
        (None, "b.avi"),
        (None, "b.ts"),
        (None, "b.mpg"),
        ("libx265", "b.mp4"),
        ("libsvtav1", "b.mkv"),
        ("mpeg4", "b.mp4"),
        ("ffv1", "b.mkv"),
        ("libx264", "B.MP4"),
    ],
)
def test_every_container_and_codec_keeps_frames_and_times(codec: str | None, name: str, tmp_path: Path) -> None:
    before, after = copy(encode(tmp_path / "a.mp4", size=(96, 64)), tmp_path / name, codec=codec)
    assert len(after) == len(before) == 30
    assert max(abs(a.time - b.time) for a, b in zip(before, after, strict=True)) <= Fraction(1, 1000)
    assert all(alike(a.planes, b.planes) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("name", ["b.mp4", "b.mov", "b.mkv", "b.ts"])
def test_variable_rate_with_b_frames_keeps_every_time(name: str, tmp_path: Path) -> None:
    ticks = np.cumsum(np.random.default_rng(2).integers(900, 9000, 60)).tolist()
    source = encode(tmp_path / "a.mp4", frames=60, pts=ticks, time_base=Fraction(1, 90000), audio=["aac"])
    before, after = copy(source, tmp_path / name)
    offsets = [abs(a.time - b.time) for a, b in zip(before, after, strict=True)]
    assert max(offsets) <= (Fraction(1, 2000) if name == "b.mkv" else 0)
    if name == "b.mp4":
        with av.open(str(tmp_path / name)) as container:
            stamps = [(packet.dts, packet.pts) for packet in container.demux(video=0) if packet.size]
        assert any(dts != pts for dts, pts in stamps)  # there were B-frames


def test_a_container_without_times_refuses_a_variable_rate(tmp_path: Path) -> None:
    ticks = [0, 4000, 7000, 9000, 20000]
    source = encode(tmp_path / "a.mp4", frames=5, pts=ticks, time_base=Fraction(1, 90000))
    with pytest.raises(OutputError, match=r"cannot hold the time of frame \d.*write an \.mp4 or \.mkv"):
        copy(source, tmp_path / "b.avi")
    assert not (tmp_path / "b.avi").exists()


def test_lossless_codec_returns_the_very_planes_even_of_odd_size(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mkv", "ffv1", size=(33, 21), frames=8)
    before, after = copy(source, tmp_path / "b.mkv", codec="ffv1")
    for a, b in zip(before, after, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(planes(a), planes(b), strict=True))


def test_odd_sizes_repeat_the_last_column_and_row(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mkv", "ffv1", size=(33, 21), frames=8)
    before, after = copy(source, tmp_path / "b.mp4", crf=1)
    assert after[0].planes.size == (34, 22)
    assert np.abs(after[0].planes.y[:21, :33].astype(int) - before[0].planes.y).max() <= 6
    assert np.abs(after[0].planes.y[:21, 33].astype(int) - before[0].planes.y[:, 32]).max() <= 6


@pytest.mark.parametrize("name", ["b.mp4", "b.mkv", "b.ts"])
@pytest.mark.parametrize("rotation", [90, 180, 270])
@pytest.mark.parametrize("mirrored", [False, True])
def test_rotated_video_looks_the_same(rotation: int, mirrored: bool, name: str, tmp_path: Path) -> None:
    a, b, c, d = ROTATIONS[rotation]
    source = encode(tmp_path / "a.mp4", size=(96, 64), frames=6, sample_aspect_ratio=Fraction(4, 3))
    set_display_matrix(source, (-a, b, -c, d) if mirrored else (a, b, c, d))
    before, after = copy(source, tmp_path / name)
    assert all(alike(x.planes, y.planes) for x, y in zip(before, after, strict=True))
    tagged, untagged = FileSource(source).info, FileSource(tmp_path / name).info
    if name != "b.ts" and hasattr(av.VideoStream, "set_display_rotation"):
        assert untagged.orientation == tagged.orientation
        assert untagged.sample_aspect_ratio == Fraction(4, 3)
    else:
        assert untagged.rotation == 0
        assert untagged.sample_aspect_ratio == (Fraction(4, 3) if rotation == 180 else Fraction(3, 4))


@pytest.mark.parametrize("tags", [(1, 1, 1, 1), (6, 6, 6, 1), (9, 9, 16, 1), (1, 1, 13, 2)])
def test_colour_tags_and_aspect_ratio_are_kept(tags: tuple[int, int, int, int], tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", frames=5, tags=tags, sample_aspect_ratio=Fraction(16, 15))
    copy(source, tmp_path / "b.mp4")
    before, after = FileSource(source).info, FileSource(tmp_path / "b.mp4").info
    assert after.tags == before.tags
    assert (after.tags.matrix, after.tags.primaries, after.tags.transfer, after.tags.colour_range) == tags
    assert after.sample_aspect_ratio == Fraction(16, 15)
    assert after.colour == before.colour


@pytest.mark.parametrize("transfer", [16, 18], ids=["PQ", "HLG"])
@pytest.mark.parametrize("name", ["b.mp4", "b.mkv"])
def test_of_hdr_the_tags_are_kept_and_the_depth_is_not(name: str, transfer: int, tmp_path: Path) -> None:
    quiet = {"x265-params": "log-level=none"}
    tags = (9, 9, transfer, 1)
    source = encode(tmp_path / "a.mp4", "libx265", frames=5, pix_fmt="yuv420p10le", tags=tags, options=quiet)
    before, after = copy(source, tmp_path / name)
    assert FileSource(tmp_path / name).info.tags == FileSource(source).info.tags
    assert FileSource(source).info.tags.transfer == transfer
    assert all(alike(a.planes, b.planes) for a, b in zip(before, after, strict=True))
    with av.open(str(tmp_path / name)) as container:
        assert container.streams.video[0].codec_context.pix_fmt == "yuv420p"


@pytest.mark.parametrize("name", ["b.mp4", "b.mov", "b.mkv"])
def test_sound_is_copied_bit_for_bit(name: str, tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", frames=40, audio=["aac", "mp2"], languages=["fra", "eng"])
    copy(source, tmp_path / name)
    before, after = packets(source, "audio"), packets(tmp_path / name, "audio")
    assert len(before) == len(after) == 2
    for ours, theirs in zip(before, after, strict=True):
        assert len(ours) > 60
        assert [payload for payload, _ in ours] == [payload for payload, _ in theirs]
        slack = Fraction(1, 2000) if name == "b.mkv" else 0
        for (_, a), (_, b) in zip(ours, theirs, strict=True):
            assert a is not None
            assert b is not None
            assert abs(a - b) <= slack
    with av.open(str(tmp_path / name)) as container:
        assert [stream.language for stream in container.streams.audio] == ["fra", "eng"]


def test_a_camera_clock_becomes_zero_and_sound_stays_in_step(tmp_path: Path) -> None:
    late, ticks = tmp_path / "late.mkv", [20_000_000 + 40 * index for index in range(30)]
    encode(late, pts=ticks, time_base=Fraction(1, 1000), audio=["aac"], audio_start=20_000)
    before, after = copy(late, tmp_path / "b.mp4")
    assert before[0].time > 19_000
    assert after[0].time < 1
    sound = [packets(path, "audio")[0][0][1] for path in (late, tmp_path / "b.mp4")]
    assert sound[0] is not None
    assert sound[1] is not None
    assert abs((sound[0] - before[0].time) - (sound[1] - after[0].time)) < Fraction(1, 1000)


def test_sound_can_be_left_out(tmp_path: Path) -> None:
    copy(encode(tmp_path / "a.mp4", audio=["aac"]), tmp_path / "b.mp4", audio=False)
    assert FileSource(tmp_path / "b.mp4").info.audio_codecs == ()


@pytest.mark.parametrize(("sound", "name"), [("aac", "b.webm"), ("aac", "b.mpg")])
def test_sound_the_container_cannot_hold_is_refused_at_once(sound: str, name: str, tmp_path: Path) -> None:
    info = FileSource(encode(tmp_path / "a.mp4", audio=[sound])).info
    with pytest.raises(OutputError, match=r"cannot hold .*\.mkv file or use --no-audio"):
        FileSink(tmp_path / name, info)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]
    copy(tmp_path / "a.mp4", tmp_path / name, audio=False)


def test_subtitles_are_copied_or_named_as_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text("1\n00:00:00,100 --> 00:00:00,900\nGood morning.\n\n")
    source = encode(tmp_path / "a.mkv", frames=30, subtitles=tmp_path / "a.srt")
    assert FileSource(source).info.subtitle_codecs == ("subrip",)
    copy(source, tmp_path / "b.mkv")
    assert packets(tmp_path / "b.mkv", "subtitle") == packets(source, "subtitle")
    reader = FileSource(source)
    with FileSink(tmp_path / "b.mp4", reader.info) as sink:
        for frame in reader:
            sink.write(passed(frame))
    assert sink.dropped_streams == ("subtitle stream 1 (subrip)",)


IDENTIFYING = {
    "title": "Jane at home",
    "artist": "Jane Doe",
    "comment": "from Jane's phone",
    "location": "+48.8584+002.2945/",
    "com.apple.quicktime.model": "iJane 15",
    "creation_time": "2024-05-06T07:08:09.000000Z",
}


@pytest.mark.parametrize("name", ["b.mp4", "b.mov", "b.mkv", "b.ts", "b.avi"])
def test_what_identifies_is_left_behind(name: str, tmp_path: Path) -> None:
    of_stream = {"handler_name": "Jane's lens", "timecode": "01:00:00:00"}
    source = encode(tmp_path / "a.mov", metadata=IDENTIFYING, stream_metadata=of_stream)
    reader = FileSource(source)
    assert "Jane" in str(reader.info.metadata)
    with FileSink(tmp_path / name, reader.info) as sink:
        for frame in reader:
            sink.write(passed(frame))
    written = (tmp_path / name).read_bytes()
    for word in (b"Jane", b"48.8584", b"2024-05-06", b"01:00:00:00", b"Lavf6", b"Lavc6"):
        assert word not in written
    with av.open(str(tmp_path / name)) as container:
        assert {stream.type for stream in container.streams} == {"video"}
        assert "creation_time" not in container.metadata
    assert any("data" in stream for stream in sink.dropped_streams)


def test_metadata_is_kept_on_request(tmp_path: Path) -> None:
    copy(encode(tmp_path / "a.mp4", metadata=IDENTIFYING), tmp_path / "b.mp4", keep_metadata=True)
    assert dict(FileSource(tmp_path / "b.mp4").info.metadata)["title"] == "Jane at home"


@pytest.mark.parametrize(
    ("name", "wishes", "words"),
    [
        ("b.xyz", {}, 'cannot be a ".xyz" file'),
        ("b", {}, 'cannot be a "" file'),
        ("b.mp4", {"codec": "h265"}, 'unknown video codec "h265"; choose one of libx264'),
        ("b.webm", {"codec": "libx264"}, r"\.webm files do not take libx264; choose one of libvpx-vp9"),
        ("b.mp4", {"preset": "quick"}, 'unknown preset "quick"'),
        ("b.mp4", {"crf": 99}, "crf 99 is out of range for libx264: 0 to 51"),
        ("b.mkv", {"codec": "ffv1", "crf": 3}, "lossless"),
        ("a.mp4", {"overwrite": True}, "is the input itself"),
        ("link.mp4", {"overwrite": True}, "is the input itself"),
        ("hard.mp4", {"overwrite": True}, "is the input itself"),
        ("old.mp4", {}, "exists already; use --overwrite"),
    ],
)
def test_wrong_wishes_are_settings_errors(name: str, wishes: dict[str, Any], words: str, tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", frames=5)
    (tmp_path / "link.mp4").symlink_to(source)
    os.link(source, tmp_path / "hard.mp4")
    (tmp_path / "old.mp4").write_bytes(b"old")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(SettingsError, match=words):
        FileSink(tmp_path / name, FileSource(source).info, **wishes)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_overwrite_replaces_only_when_whole(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", frames=5)
    target = tmp_path / "b.mp4"
    target.write_bytes(b"old")
    reader = FileSource(source)

    def filter_and_fail() -> None:
        with FileSink(target, reader.info, overwrite=True) as sink:
            for frame in reader:
                sink.write(passed(frame) if frame.index < 3 else fail())

    with pytest.raises(FailedClosed):
        filter_and_fail()
    assert target.read_bytes() == b"old"
    copy(source, target, overwrite=True)
    assert len(list(FileSource(target))) == 5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere/b.mp4", "its directory does not exist"),
        ("folder.mp4", "it is a directory"),
        ("pipe.mp4", "not a regular file"),
    ],
)
def test_places_that_cannot_be_written_are_output_errors(name: str, words: str, tmp_path: Path) -> None:
    info = FileSource(encode(tmp_path / "a.mp4", frames=5)).info
    (tmp_path / "folder.mp4").mkdir()
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(OutputError, match=words) as caught:
        FileSink(tmp_path / name, info, overwrite=True)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_an_output_error(tmp_path: Path) -> None:
    info = FileSource(encode(tmp_path / "a.mp4", frames=5)).info
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(OutputError, match="permission denied"):
        FileSink(tmp_path / "locked" / "b.mp4", info)


def fill(target: Path, source: Path) -> OutputError:
    """Copy a file to a place too small for it."""
    with pytest.raises(OutputError) as caught:
        copy(source, target, codec="ffv1", audio=False)
    assert list(target.parent.glob("*")) + list(target.parent.glob(".*")) == []
    return caught.value


@pytest.mark.parametrize("room", [20_000, 200_000])
def test_a_write_that_fails_leaves_nothing(room: int, tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mkv", "ffv1", frames=30, size=(160, 120))
    (tmp_path / "out").mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        error = fill(tmp_path / "out" / "b.mkv", source)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot be written: file too large" in str(error)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root to mount a small tmpfs")
@pytest.mark.parametrize("name", ["b.mkv", "b.mp4"])
def test_a_full_disk_leaves_nothing(name: str, tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", frames=40, size=(160, 120))
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not permitted here")
    try:
        with pytest.raises(OutputError, match="no space left on device"):
            copy(source, disk / name, crf=1)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_only_deidentified_frames_are_written(tmp_path: Path) -> None:
    reader = FileSource(encode(tmp_path / "a.mp4", frames=5))
    sink = FileSink(tmp_path / "b.mp4", reader.info)
    raw = next(iter(reader))
    with pytest.raises(FailedClosed, match="a Frame was about to be written"):
        sink.write(cast(DeidentifiedFrame, raw))
    with pytest.raises(OutputError, match="closed already"):
        sink.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_no_frame_means_no_file(tmp_path: Path) -> None:
    info = FileSource(encode(tmp_path / "a.mp4", frames=5)).info
    with pytest.raises(OutputError, match="not one frame"), FileSink(tmp_path / "b.mp4", info):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_nothing_shows_under_the_final_name_before_the_end(tmp_path: Path) -> None:
    reader = FileSource(encode(tmp_path / "a.mp4", frames=5))
    sink = FileSink(tmp_path / "b.mp4", reader.info)
    for frame in reader:
        sink.write(passed(frame))
        assert not (tmp_path / "b.mp4").exists()
    assert (tmp_path / f".b.partial-{os.getpid()}.mp4").exists()
    sink.finish()
    sink.abort()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "b.mp4"]


def test_a_leftover_of_a_killed_run_is_stepped_over_and_long_names_fit(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", frames=5)
    leftover = tmp_path / f".b.partial-{os.getpid()}.mp4"
    leftover.write_bytes(b"leftover")
    reader = FileSource(source)
    with FileSink(tmp_path / "b.mp4", reader.info) as sink:
        sink.write(passed(next(iter(reader))))
    assert leftover.read_bytes() == b"leftover"
    leftover.unlink()
    copy(source, tmp_path / ("ü" * 125 + ".mp4"))


def test_damaged_sound_is_not_lost_in_silence(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp4", frames=5, audio=["aac"])
    info = FileSource(source).info
    source.unlink()
    with pytest.raises(InputError, match="cannot be read again"):
        FileSink(tmp_path / "b.mp4", info)
    assert list(tmp_path.iterdir()) == []


def test_threads_around_the_loop_change_nothing(tmp_path: Path) -> None:
    reader = FileSource(encode(tmp_path / "a.mp4", audio=["aac"]))
    copy(tmp_path / "a.mp4", tmp_path / "plain.mp4", threads=1)
    with BackgroundSink(FileSink(tmp_path / "threads.mp4", reader.info, threads=1), depth=2) as sink:
        for frame in prefetch(reader, 2):
            sink.write(passed(frame))
    # What is in the file counts; how the muxer lays out its index may depend on when the sound was read.
    for kind in ("video", "audio"):
        assert packets(tmp_path / "threads.mp4", kind) == packets(tmp_path / "plain.mp4", kind)
    assert no_threads()


def test_prefetch_is_bounded_and_passes_errors_in_their_place() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(6):
            made.append(number)
            yield number
        raise InputError("cut off")

    items = prefetch(numbers(), depth=2)
    assert next(items) == 0
    time.sleep(0.1)
    assert len(made) <= 4
    assert [next(items) for _ in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(InputError, match="cut off"):
        next(items)
    assert no_threads()
    with pytest.raises(ValueError, match="depth 0"):
        prefetch([1], depth=0)


def test_prefetch_closed_early_ends_thread_and_source() -> None:
    closed = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    items = prefetch(endless(), depth=3)
    next(items)
    items.close()
    assert closed.is_set()
    assert no_threads()


class Recorder:
    """A sink that remembers, and fails at a chosen frame."""

    def __init__(self, fails_at: int = -1) -> None:
        self.seen: list[int] = []
        self.ends: list[str] = []
        self._fails_at = fails_at

    def write(self, frame: DeidentifiedFrame) -> None:
        if frame.index == self._fails_at:
            raise OutputError("disk full")
        self.seen.append(frame.index)

    def finish(self) -> None:
        self.ends.append("finish")

    def abort(self) -> None:
        self.ends.append("abort")


def some_frames(count: int) -> list[DeidentifiedFrame]:
    plane = np.zeros((2, 2), np.uint8)
    return [DeidentifiedFrame(Planes(plane, plane[:1, :1], plane[:1, :1]), Fraction(i), i) for i in range(count)]


def test_background_sink_writes_everything_in_order_before_it_finishes() -> None:
    recorder = Recorder()
    with BackgroundSink(recorder, depth=3) as sink:
        for frame in some_frames(50):
            sink.write(frame)
    assert recorder.seen == list(range(50))
    assert recorder.ends == ["finish"]
    assert no_threads()


def test_background_sink_hands_errors_to_the_caller_and_aborts() -> None:
    recorder = Recorder(fails_at=3)

    def write_many() -> None:
        with BackgroundSink(recorder, depth=1) as sink:
            for frame in some_frames(50):
                sink.write(frame)

    with pytest.raises(OutputError, match="disk full"):
        write_many()
    assert recorder.ends == ["abort"]
    late = Recorder(fails_at=0)
    sink = BackgroundSink(late)
    sink.write(some_frames(1)[0])
    with pytest.raises(OutputError, match="disk full"):
        sink.finish()
    assert late.ends == ["abort"]
    assert no_threads()


def test_background_sink_aborts_when_the_loop_fails() -> None:
    recorder = Recorder()
    with pytest.raises(FailedClosed), BackgroundSink(recorder) as sink:
        sink.write(fail())
    assert recorder.ends == ["abort"]
    assert no_threads()


@pytest.mark.parametrize("name", ["speech_1.mpg", "expressions_gaze.mp4"])
def test_real_clips_pass_through_whole(name: str, tmp_path: Path) -> None:
    if not (SHARED / name).exists():
        pytest.skip(f"clip {name} is not there")
    before, after = copy(SHARED / name, tmp_path / "b.mp4", preset="ultrafast")
    assert [frame.time for frame in before] == [frame.time for frame in after]
    ours, theirs = packets(SHARED / name, "audio"), packets(tmp_path / "b.mp4", "audio")
    for a, b in zip(ours, theirs, strict=True):
        assert [payload for payload, _ in a] == [payload for payload, _ in b]


def fail() -> DeidentifiedFrame:
    raise FailedClosed("the filter was in doubt")


def no_threads() -> bool:
    return not any(thread.name in ("prefetch", "background-sink") for thread in threading.enumerate())


def planes(frame: Frame) -> tuple[Any, Any, Any]:
    return frame.planes.y, frame.planes.u, frame.planes.v


@pytest.mark.parametrize(
    ("codec", "preset", "threads"),
    [("libx264", "veryfast", 1), ("libx264", "ultrafast", 1), ("libx264", "medium", 0), ("libx265", "veryfast", 0)],
)
def test_quick_encoders_have_one_thread(codec: str, preset: str, threads: int) -> None:
    assert encoder_threads(codec, preset) == threads


_ENCODED = """
import hashlib, sys
from fractions import Fraction
from pathlib import Path
import numpy as np
from streamdeid.core.frames import DeidentifiedFrame, Planes
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
place = Path(sys.argv[1])
rng = np.random.default_rng(1)
scene = np.cumsum(np.cumsum(rng.normal(0, 1, (700, 700)), 0), 1) / 40
chroma = np.full((240, 240), 128, np.uint8)
with FileSink(place / "out.mkv", FileSource(place / "in.mp4").info, overwrite=True) as sink:
    for i in range(50):
        seen = scene[3 * i // 2 : 3 * i // 2 + 480, i : i + 480] + rng.integers(-3, 4, (480, 480))
        planes = Planes(np.clip(seen, 0, 255).astype(np.uint8), chroma, chroma.copy())
        sink.write(DeidentifiedFrame(planes, Fraction(i, 25), i))
print(hashlib.sha256((place / "out.mkv").read_bytes()).hexdigest())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs glibc's MALLOC_PERTURB_")
def test_the_same_pictures_give_the_same_file_whatever_lay_in_memory_before(tmp_path: Path) -> None:
    """x264 reads memory that it never wrote; without `clear_new_memory` these are three different files."""
    encode(tmp_path / "in.mp4", frames=2, size=(480, 480))
    command = [sys.executable, "-c", _ENCODED, str(tmp_path)]
    written = {
        subprocess.run(
            command, env={**os.environ, "MALLOC_PERTURB_": fill}, capture_output=True, text=True, check=True
        ).stdout
        for fill in ("0", "85", "165")
    }
    assert len(written) == 1
