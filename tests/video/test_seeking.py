"""Any frame by its number is the very frame that reading from the start gives, bit for bit."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from streamdeid.core.frames import Planes
from streamdeid.errors import InputError
from streamdeid.video.files.seeking import SeekingSource
from streamdeid.video.files.source import FileSource
from tests.synthetic_video import ROTATIONS, encode, set_display_matrix

B_FRAMES = {"x264-params": "keyint=40:min-keyint=40:scenecut=0:bframes=3:b-pyramid=normal"}
FRAMES = 130


def _numbered(
    path: Path, *, pts: list[int] | None = None, options: dict[str, str] | None = None, codec: str = "libx264"
) -> Path:
    """A clip each of whose pictures has its number painted in as eight bright or dark blocks."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream(codec, rate=25, options=B_FRAMES if options is None else options)
        stream.width, stream.height, stream.pix_fmt = 128, 64, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 600)
        noise = np.random.default_rng(3).integers(90, 130, (64, 128, 3), dtype=np.uint8)
        for number in range(FRAMES):
            image = np.roll(noise, number, axis=1)
            for bit in range(8):
                image[8:24, 16 * bit : 16 * bit + 16] = 230 if number >> bit & 1 else 20
            shown = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format="yuv420p")
            shown.pts, shown.time_base = 24 * number if pts is None else pts[number], Fraction(1, 600)
            output.mux(stream.encode(shown))
        output.mux(stream.encode(None))
    return path


def _number(planes: Planes) -> int:
    """The number that is painted into an upright picture that was not turned."""
    return sum(int(planes.y[12:20, 16 * bit + 4 : 16 * bit + 12].mean() > 125) << bit for bit in range(8))


def _check(path: Path, reference: list[Planes], source: SeekingSource) -> None:
    assert source.prepare() == len(reference)
    order = list(range(len(reference)))
    random.Random(5).shuffle(order)
    for number in [*order, *range(20), *range(len(reference) - 1, len(reference) - 30, -1)]:
        assert np.array_equal(source.frame(number).y, reference[number].y), f"{path.name}: frame {number}"


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts", "a.avi"])
def test_each_frame_is_exact(tmp_path: Path, name: str) -> None:
    options = {"bf": "0", "g": "40"} if name == "a.avi" else None
    path = _numbered(tmp_path / name, options=options)
    reference = [frame.planes for frame in FileSource(path)]
    assert [_number(planes) for planes in reference] == list(range(FRAMES))
    with SeekingSource(path, cache=20 * 128 * 64 * 3 // 2) as source:
        _check(path, reference, source)


def test_with_other_codecs(tmp_path: Path) -> None:
    for name, codec, options in (
        ("h.mp4", "libx265", {"x265-params": "keyint=40:bframes=4:log-level=none"}),
        ("o.mkv", "libx264", {"x264-params": "keyint=30:open-gop=1:bframes=3:scenecut=0"}),
        ("m.mp4", "mpeg4", {"bf": "2", "g": "25"}),
    ):
        path = _numbered(tmp_path / name, codec=codec, options=options)
        with SeekingSource(path) as source:
            _check(path, [frame.planes for frame in FileSource(path)], source)


def test_at_a_variable_rate(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pts = [int(stamp) for stamp in np.cumsum(rng.integers(5, 90, FRAMES))]
    path = _numbered(tmp_path / "variable.mp4", pts=pts)
    frames = list(FileSource(path))
    with SeekingSource(path, [float(frame.time) for frame in frames]) as source:
        _check(path, [frame.planes for frame in frames], source)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_turned_pictures_come_upright(tmp_path: Path, degrees: int) -> None:
    path = set_display_matrix(encode(tmp_path / "turned.mp4", frames=30, options=B_FRAMES), ROTATIONS[degrees])
    with SeekingSource(path) as source:
        _check(path, [frame.planes for frame in FileSource(path)], source)
        assert source.info.rotation == degrees


def test_frames_that_an_earlier_pass_left_out_are_left_out(tmp_path: Path) -> None:
    """Found by their times, should there be others in number than packets."""
    path = _numbered(tmp_path / "a.mp4")
    frames = list(FileSource(path))[10:90]
    with SeekingSource(path, [float(frame.time) for frame in frames]) as source:
        assert source.prepare() == 80
        assert [_number(source.frame(n)) for n in (0, 79, 33)] == [10, 89, 43]


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    path = _numbered(tmp_path / "a.mp4")
    with SeekingSource(path, cache=5 * 128 * 64 * 3 // 2) as source:
        for number in range(60):
            source.frame(number)
        assert len(source._cache) == 5
        source.forget()
        assert not source._cache and _number(source.frame(77)) == 77


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    path = _numbered(tmp_path / "a.mp4")
    with SeekingSource(path) as source:
        for number in (-1, FRAMES):
            with pytest.raises(InputError, match="has no frame"):
                source.frame(number)
    (tmp_path / "text.mp4").write_text("nothing")
    with pytest.raises(InputError):
        SeekingSource(tmp_path / "text.mp4")
