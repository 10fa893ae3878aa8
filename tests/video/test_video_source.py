"""Reading files: every codec, pixel format and orientation; exact times; nothing shared with the decoder."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from streamdeid.core.frames import Colour, Frame
from streamdeid.video.files.source import FileSource
from tests.synthetic_video import RATE, ROTATIONS, encode, set_display_matrix

CLIPS = {
    "cartoon_no_faces.mp4": 132,
    "cctv_classroom.mp4": 219,
    "crowd_1080p.mp4": 105,
    "cup_occlusion.mp4": 160,
    "expressions_gaze.mp4": 78,
    "glasses.mp4": 587,
    "night_turning.mp4": 175,
    "people_from_behind.mp4": 1394,
    "presenter_hevc_portrait.mp4": 250,
    "speech_1.mpg": 75,
    "speech_2.mpg": 75,
    "speech_3.mpg": 75,
    "speech_4.mpg": 75,
    "street_bikes.mp4": 250,
    "talking_head_200s.mp4": 4800,
    "webcam_near_far.mp4": 1337,
}
SHARED = Path(__file__).parents[2] / ".." / "shared" / "videos"
FAST = {"deadline": "realtime", "cpu-used": "8"}


@pytest.mark.parametrize(
    ("codec", "name", "options"),
    [
        ("libx264", "a.mp4", {}),
        ("libx264", "a.ts", {}),
        ("libx265", "a.mp4", {"x265-params": "log-level=none"}),
        ("mpeg1video", "a.mpg", {}),
        ("mpeg2video", "a.mkv", {}),
        ("mpeg4", "a.avi", {}),
        ("libvpx-vp9", "a.webm", FAST),
        ("libsvtav1", "a.mp4", {"preset": "12"}),
        ("ffv1", "a.mkv", {}),
    ],
)
def test_every_codec_gives_upright_frames_with_exact_times(
    codec: str, name: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVT_LOG", "1")
    path = encode(tmp_path / name, codec, options=options, frames=30, size=(64, 64))
    source = FileSource(path)
    frames = list(source)
    assert [frame.index for frame in frames] == list(range(30))
    steps = {later.time - earlier.time for earlier, later in pairwise(frames)}
    assert steps == {Fraction(1, RATE)}
    assert all(frame.planes.size == (64, 64) for frame in frames)
    assert frames[9].planes.y[:16, :16].mean() > 190 > 150 > frames[9].planes.y[:16, 20:].mean()
    assert source.damaged == 0
    assert source.damage is None


def test_planes_are_contiguous_and_own_their_memory(tmp_path: Path) -> None:
    for frame in FileSource(encode(tmp_path / "a.mp4", size=(66, 50))):
        for plane in (frame.planes.y, frame.planes.u, frame.planes.v):
            assert plane.dtype == np.uint8
            assert plane.flags.owndata
            assert plane.flags.c_contiguous
            assert plane.flags.writeable


def test_writing_into_a_frame_does_not_change_later_ones(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4")
    untouched = [digest(frame) for frame in FileSource(path)]
    seen = []
    for frame in FileSource(path):
        seen.append(digest(frame))
        frame.planes.y[:] = 0
        frame.planes.u[:] = 255
    assert seen == untouched


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    source = FileSource(encode(tmp_path / "a.mp4"))
    assert [digest(frame) for frame in source] == [digest(frame) for frame in source]


def test_decoder_threads_change_nothing(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4")
    assert [digest(f) for f in FileSource(path, threads=2)] == [digest(f) for f in FileSource(path)]


def test_variable_rate_with_b_frames_keeps_every_time(tmp_path: Path) -> None:
    ticks = np.cumsum(np.random.default_rng(1).integers(900, 9000, 40)).tolist()
    path = encode(tmp_path / "a.mp4", frames=40, pts=ticks, time_base=Fraction(1, 90000), options={"bf": "3"})
    assert [frame.time for frame in FileSource(path)] == [Fraction(tick, 90000) for tick in ticks]


@pytest.mark.parametrize(
    ("pix_fmt", "expected", "colour"),
    [
        # RGB 200, 40, 60 by the BT.601 formulas, and the same without chroma.
        ("yuv420p", (93, 113, 197), Colour("bt601", False)),
        ("yuv422p", (93, 113, 197), Colour("bt601", False)),
        ("yuv444p", (93, 113, 197), Colour("bt601", False)),
        ("yuv420p10le", (93, 113, 197), Colour("bt601", False)),
        ("yuv444p16le", (93, 113, 197), Colour("bt601", False)),
        ("bgr0", (93, 113, 197), Colour("bt601", False)),
        ("yuva420p", (93, 113, 197), Colour("bt601", False)),
    ],
)
def test_pixel_formats_come_out_as_the_same_colour(
    pix_fmt: str, expected: tuple[int, int, int], colour: Colour, tmp_path: Path
) -> None:
    path = encode(tmp_path / "a.mkv", "ffv1", pix_fmt=pix_fmt, frames=2, solid=(200, 40, 60))
    source = FileSource(path)
    planes = next(iter(source)).planes
    assert np.allclose([planes.y.mean(), planes.u.mean(), planes.v.mean()], expected, atol=1.5)
    assert planes.colour == colour == source.info.colour


@pytest.mark.parametrize("pix_fmt", ["yuvj420p", "yuvj422p", "yuvj444p"])
def test_full_range_is_kept_not_squeezed(pix_fmt: str, tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mkv", "mjpeg", pix_fmt=pix_fmt, frames=2, solid=(255, 255, 255))
    source = FileSource(path)
    assert source.info.colour.full_range
    assert next(iter(source)).planes.y.mean() > 250


def test_gray_keeps_its_levels_and_gets_neutral_chroma(tmp_path: Path) -> None:
    for pix_fmt in ("gray", "gray10le"):
        white = (255, 255, 255)
        path = encode(tmp_path / f"{pix_fmt}.mkv", "ffv1", pix_fmt=pix_fmt, frames=2, solid=white, size=(33, 21))
        planes = next(iter(FileSource(path))).planes
        assert planes.y.min() >= 234
        assert set(planes.u.ravel()) == set(planes.v.ravel()) == {128}
        assert planes.u.shape == (11, 17)


@pytest.mark.parametrize(
    ("size", "tags", "expected"),
    [
        ((64, 48), (1, 1, 1, 1), Colour("bt709", False)),
        ((64, 48), (5, 5, 6, 1), Colour("bt601", False)),
        ((64, 48), (2, 2, 2, 0), Colour("bt601", False)),
        ((64, 720), (2, 2, 2, 0), Colour("bt709", False)),
        ((64, 720), (6, 6, 6, 1), Colour("bt601", False)),
        ((64, 48), (1, 1, 1, 2), Colour("bt709", True)),
    ],
)
def test_colour_follows_tags_and_size(
    size: tuple[int, int], tags: tuple[int, int, int, int], expected: Colour, tmp_path: Path
) -> None:
    info = FileSource(encode(tmp_path / "a.mp4", frames=2, size=size, tags=tags)).info
    assert info.colour == expected


def test_odd_sizes_have_ceiling_chroma(tmp_path: Path) -> None:
    planes = next(iter(FileSource(encode(tmp_path / "a.mkv", "ffv1", size=(33, 21), frames=2)))).planes
    assert planes.size == (33, 21)
    assert planes.u.shape == planes.v.shape == (11, 17)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("mirrored", [False, True])
def test_display_orientation_is_applied(rotation: int, mirrored: bool, tmp_path: Path) -> None:
    a, b, c, d = ROTATIONS[rotation]
    matrix = (-a, b, -c, d) if mirrored else (a, b, c, d)
    path = set_display_matrix(encode(tmp_path / "a.mp4", size=(64, 48), frames=3), matrix)
    source = FileSource(path)
    frame = next(iter(source))
    swapped = rotation in (90, 270)
    assert frame.planes.size == (source.info.width, source.info.height) == ((48, 64) if swapped else (64, 48))
    assert source.info.rotation == rotation
    assert source.info.orientation.mirrored == mirrored
    assert source.info.coded_size == (64, 48)
    # The bright corner, by the definition of the matrix: where does (-1, -1) go?
    x, y = -matrix[0] - matrix[2], -matrix[1] - matrix[3]
    luma = frame.planes.y
    corner = (luma if y < 0 else luma[::-1])[:10]
    corner = (corner if x < 0 else corner[:, ::-1])[:, :10]
    assert corner.mean() > 190


def test_frames_without_times_follow_the_average_rate(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.h264", frames=20, container="h264")
    times = [frame.time for frame in FileSource(path)]
    rate = FileSource(path).info.average_rate
    assert len(times) == 20
    assert {later - earlier for earlier, later in pairwise(times)} == {1 / rate}


def test_info_tells_what_the_sink_needs(tmp_path: Path) -> None:
    path = encode(
        tmp_path / "a.mp4",
        frames=25,
        audio=["aac", "aac"],
        metadata={"title": "Jane at home", "location": "+48.8+002.3/"},
        sample_aspect_ratio=Fraction(4, 3),
    )
    info = FileSource(str(path)).info
    assert (info.codec, info.audio_codecs, info.subtitle_codecs) == ("h264", ("aac", "aac"), ())
    assert info.average_rate == RATE
    assert info.frames == 25
    assert info.duration is not None
    assert info.duration >= 1
    assert info.sample_aspect_ratio == Fraction(4, 3)
    assert dict(info.metadata)["title"] == "Jane at home"
    assert "Jane" not in repr(info)


def test_data_streams_are_named_as_dropped(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mov", frames=5, stream_metadata={"timecode": "01:02:03:04"})
    assert any("data" in name for name in FileSource(path).info.dropped_streams)


@pytest.mark.parametrize("name", sorted(CLIPS))
def test_real_clips_read_whole_and_without_false_alarm(name: str) -> None:
    if not (SHARED / name).exists():
        pytest.skip(f"clip {name} is not there")
    source = FileSource(SHARED / name)
    times = [frame.time for frame in source]
    assert len(times) == CLIPS[name]
    assert times == sorted(set(times))
    assert source.damaged == 0


def digest(frame: Frame) -> bytes:
    planes = frame.planes
    return hashlib.sha256(planes.y.tobytes() + planes.u.tobytes() + planes.v.tobytes()).digest()
