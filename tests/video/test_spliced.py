"""A file put together from an earlier one and segments of others: the copied ones to the bit, times and sound exact."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.errors import InputError
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
from streamdeid.video.files.spliced import NotSplicedError, Segment, segments_of, splice, touched_segments
from tests.synthetic_video import ROTATIONS, encode, packets, set_display_matrix

UNEVEN = [0, 1, 3, 4, 8, 9, 10, 15, 16, 17, *range(20, 50)]


def written(
    source: FileSource, target: Path, frames: Sequence[Frame], dark: Sequence[int] = (), **wishes: object
) -> Path:
    """Frames as a file with a key frame each second; those of some numbers darkened."""
    with FileSink(target, source.info, key_frames=0.4, overwrite=True, **wishes) as sink:  # type: ignore[arg-type]
        for frame in frames:
            planes = frame.planes if frame.index not in dark else replace(frame.planes, y=frame.planes.y // 2)
            sink.write(DeidentifiedFrame(planes, frame.time, frame.index))
    return target


@pytest.mark.parametrize(
    ("name", "codec", "wishes"),
    [
        ("a.mp4", "libx264", {"audio": ("aac",)}),
        ("a.mkv", "libx264", {"pts": UNEVEN}),
        ("a.mov", "libx264", {"pts": UNEVEN, "audio": ("aac",)}),
        ("a.mp4", "mpeg4", {}),
        ("a.ts", "libx264", {}),
        ("a.mkv", "ffv1", {}),
    ],
)
def test_only_the_segments_change(tmp_path: Path, name: str, codec: str, wishes: dict[str, object]) -> None:
    recording = encode(tmp_path / "in.mp4", frames=40, **wishes)  # type: ignore[arg-type]
    source = FileSource(recording)
    frames = list(source)
    earlier = written(source, tmp_path / name, frames, codec=codec)
    segments = segments_of(earlier)
    assert segments[0].first == 0 and segments[-1].last == 39 and len(segments) >= 3
    assert all(a.last + 1 == b.first for a, b in itertools.pairwise(segments))
    touched = touched_segments(segments, [(segments[1].first + 1, segments[1].first + 2)])
    assert touched == [segments[1]]
    inside = range(touched[0].first, touched[0].last + 1)
    piece = written(
        source,
        tmp_path / f"piece{earlier.suffix}",
        frames[inside.start : inside.stop],
        inside,
        codec=codec,
        streams=False,
    )
    out = tmp_path / f"out{earlier.suffix}"
    splice(earlier, {touched[0]: piece}, out, overwrite=False)
    before, after = list(FileSource(earlier)), list(FileSource(out))
    assert [one.time for one in after] == [one.time for one in before]
    for one, other in zip(before, after, strict=True):
        same = np.array_equal(one.planes.y, other.planes.y)
        assert same == (one.index not in inside), one.index
    assert packets(out, "audio") == packets(earlier, "audio")
    coded = [packet for packet in video_packets(out) if packet not in video_packets(piece)]
    assert set(coded) <= set(video_packets(earlier))
    assert not list(tmp_path.glob(".*"))


def video_packets(path: Path) -> list[bytes]:
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


def test_a_turned_picture_stays_turned(tmp_path: Path) -> None:
    recording = encode(tmp_path / "in.mp4", frames=30)
    set_display_matrix(recording, ROTATIONS[90])
    source = FileSource(recording)
    frames = list(source)
    earlier = written(source, tmp_path / "a.mp4", frames)
    first = segments_of(earlier)[0]
    piece = written(source, tmp_path / "p.mp4", frames[: first.last + 1], range(30), streams=False)
    splice(earlier, {first: piece}, earlier, overwrite=True)
    assert FileSource(earlier).info.orientation == source.info.orientation


def test_what_was_coded_otherwise_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    source = FileSource(encode(tmp_path / "in.mp4", frames=30))
    frames = list(source)
    earlier = written(source, tmp_path / "a.mp4", frames)
    before = earlier.read_bytes()
    first = segments_of(earlier)[0]
    other = written(source, tmp_path / "p.mp4", frames[: first.last + 1], crf=40, streams=False, preset="slow")
    short = written(source, tmp_path / "q.mp4", frames[: first.last], streams=False)
    for piece, said in ((other, "otherwise"), (short, "number of frames")):
        with pytest.raises(NotSplicedError, match=said):
            splice(earlier, {first: piece}, earlier, overwrite=True)
    assert earlier.read_bytes() == before and not list(tmp_path.glob(".*"))


def test_open_groups_of_pictures_are_no_borders(tmp_path: Path) -> None:
    """Frames that are shown before a key frame, but coded after it, hang on both sides."""
    open_groups = encode(
        tmp_path / "in.mp4",
        frames=60,
        options={"x264-params": "open-gop=1:keyint=12:min-keyint=12:scenecut=0:bframes=3"},
    )
    closed = encode(
        tmp_path / "b.mp4", frames=60, options={"x264-params": "keyint=12:min-keyint=12:scenecut=0:bframes=3"}
    )
    assert [one.first for one in segments_of(closed)] == [0, 12, 24, 36, 48]
    assert len(segments_of(open_groups)) < 5


def test_frames_are_read_from_the_middle(tmp_path: Path) -> None:
    recording = encode(tmp_path / "in.mp4", frames=40, pts=UNEVEN, options={"g": "10"})
    source = FileSource(recording)
    frames = list(source)
    times = [one.time for one in frames]
    for first, last in ((0, 3), (17, 17), (25, 39), (39, 39)):
        part = list(source.between(times, first, last))
        assert [one.index for one in part] == list(range(first, last + 1))
        for one in part:
            assert one.time == frames[one.index].time and np.array_equal(one.planes.y, frames[one.index].planes.y)
    with pytest.raises(InputError, match="from frame 5 to 9"):
        list(source.between([time + 1 for time in times], 5, 9))


def test_neighbouring_segments_are_rendered_as_one() -> None:
    segments = [Segment(0, 9), Segment(10, 19), Segment(20, 29), Segment(30, 39)]
    assert touched_segments(segments, [(8, 11), (35, 35)]) == [Segment(0, 19), Segment(30, 39)]
    assert touched_segments(segments, []) == []
