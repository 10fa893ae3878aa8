"""Encoders in hardware, as far as it goes without one: names, options, refusals, and the planes that they want."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from streamdeid.core.frames import Colour, DeidentifiedFrame, Planes
from streamdeid.errors import SettingsError
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
from streamdeid.video.formats import CONTAINERS, PRESETS, encoder_for, encoder_options
from streamdeid.video.hardware import HARDWARE, HardwareEncoder, bit_rate, hardware_options, not_opened
from streamdeid.video.live.encoder.failures import reason_of
from streamdeid.video.live.encoder.pipe import EncoderOpening, SentFrame
from streamdeid.video.live.encoder.process import LiveEncoder
from streamdeid.video.live.outputs import fitted_options, live_encoder_options
from tests.synthetic_video import encode

HERE = sorted(name for name in HARDWARE if name in av.codecs_available)


def _has_device(codec: str) -> bool:
    """Whether this machine can encode by it; then nothing is refused here."""
    context = av.CodecContext.create(codec, "w")
    assert isinstance(context, av.VideoCodecContext)
    context.width, context.height, context.pix_fmt = 320, 240, HARDWARE[codec].pix_fmt
    context.time_base, context.bit_rate = Fraction(1, 25), 1_000_000
    try:
        context.open()
    except (av.FFmpegError, ValueError):
        return False
    return True


@pytest.fixture
def soft(monkeypatch: pytest.MonkeyPatch) -> str:
    """x264 as if it were in hardware and wanted nv12."""
    monkeypatch.setitem(HARDWARE, "libx264", HardwareEncoder("libx264", "nothing", "nv12"))
    return "libx264"


@pytest.mark.parametrize("codec", HERE)
def test_it_is_taken_where_its_format_is(codec: str) -> None:
    for extension, container in CONTAINERS.items():
        if HARDWARE[codec].twin in container.codecs and (HARDWARE[codec].headers or extension != ".mkv"):
            assert encoder_for(codec, extension) == codec
        else:
            with pytest.raises(SettingsError, match=codec):
                encoder_for(codec, extension)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("codec", HARDWARE)
def test_quality_and_speed_are_in_its_options(codec: str, preset: str) -> None:
    rough, fine = (encoder_options(codec, crf, preset, b_frames=True) for crf in (30, 20))
    size, rate = (640, 480), 25.0
    rates = bit_rate(codec, 30, size, rate), bit_rate(codec, 20, size, rate)
    assert rough != fine or (rates[0] is not None and rates[1] is not None and rates[0] < rates[1])
    assert rough["bf"] == "0", "a container may have no decode times"
    if codec.endswith(("_nvenc", "_qsv")):
        slow = encoder_options(codec, 30, "veryslow", b_frames=True)
        assert (slow["preset"] == rough["preset"]) == (preset == "veryslow")
        assert float(rough["i_qfactor"]) == 1, "key frames as fine as all others"
    with pytest.raises(SettingsError, match="crf"):
        encoder_options(codec, 52, preset, b_frames=True)


def test_a_rate_grows_with_the_picture_and_halves_with_six_steps_of_crf() -> None:
    low, high = (bit_rate("h264_v4l2m2m", crf, (640, 480), 15.0) for crf in (23, 17))
    assert low is not None and high == 2 * low
    assert bit_rate("h264_v4l2m2m", 23, (1280, 960), 30.0) == 8 * low
    assert bit_rate("h264_nvenc", 23, (640, 480), 15.0) is None


def test_one_that_this_ffmpeg_lacks_is_named_beside_those_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(av, "codecs_available", {"libx264", "hevc_qsv"})
    with pytest.raises(SettingsError, match=r"no h264_nvenc; of encoders in hardware it has hevc_qsv$"):
        encoder_for("h264_nvenc", ".mp4")
    with pytest.raises(SettingsError, match="no h264_nvenc"):
        live_encoder_options("h264_nvenc", None, "veryfast")


def test_vaapi_is_refused_with_its_reason() -> None:
    with pytest.raises(SettingsError, match="memory"):
        encoder_for("h264_vaapi", ".mp4")


@pytest.mark.parametrize("codec", HERE)
def test_without_its_device_a_file_is_refused_and_nothing_remains(codec: str, tmp_path: Path) -> None:
    if _has_device(codec):
        pytest.skip("this machine has the device")
    source = encode(tmp_path / "in.mp4", frames=2)
    with pytest.raises(SettingsError, match=codec) as caught:
        FileSink(tmp_path / "out.mp4", FileSource(source).info, codec=codec)
    assert HARDWARE[codec].maker in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.mp4"]


def _opening(codec: str, target: Path, options: dict[str, str]) -> EncoderOpening:
    return EncoderOpening(str(target), "matroska", {}, codec, options, 64, 48, "bt601", False, 25.0, 2.0, 3.0)


LIVE = [codec for codec in HERE if HARDWARE[codec].headers]


@pytest.mark.parametrize("codec", sorted(set(HERE) - set(LIVE)))
def test_one_whose_headers_come_late_is_no_live_encoder(codec: str) -> None:
    with pytest.raises(SettingsError, match=codec):
        live_encoder_options(codec, None, "veryfast")


@pytest.mark.parametrize("codec", LIVE)
def test_without_its_device_a_live_output_says_why(codec: str, tmp_path: Path) -> None:
    if _has_device(codec):
        pytest.skip("this machine has the device")
    opening = _opening(codec, tmp_path / "out.mkv", live_encoder_options(codec, None, "veryfast"))
    with pytest.raises(Exception, match=codec) as caught:
        LiveEncoder(opening)
    assert reason_of(caught.value, opening) == not_opened(codec, 64, 48)


def _shades(width: int, height: int) -> Planes:
    across = np.linspace(30, 220, width).astype(np.uint8)
    y = np.repeat(across[None], height, 0)
    return Planes(y, y[::2, ::2] // 2 + 60, 255 - y[::2, ::2] // 2, Colour())


def test_planes_that_are_woven_show_the_same_picture_in_files(soft: str, tmp_path: Path) -> None:
    source = FileSource(encode(tmp_path / "in.mp4", frames=3))
    frames = list(source)
    with FileSink(tmp_path / "out.mp4", source.info, codec=soft, crf=8) as sink:
        for frame in frames:
            sink.write(DeidentifiedFrame(frame.as_stored, frame.time, frame.index))
    for before, after in zip(frames, FileSource(tmp_path / "out.mp4"), strict=True):
        for name in ("y", "u", "v"):
            ours, theirs = getattr(before.planes, name), getattr(after.planes, name)
            assert np.abs(ours.astype(int) - theirs).mean() < 2


def test_planes_that_are_woven_show_the_same_picture_live(soft: str, tmp_path: Path) -> None:
    planes = _shades(64, 48)
    options = {**hardware_options(soft, 8, "veryfast"), "forced-idr": "1"}
    encoder = LiveEncoder(_opening(soft, tmp_path / "out.mkv", options))
    for number in range(60):
        encoder.take(SentFrame(number, number * 3600, planes))
    encoder.end()
    with av.open(str(tmp_path / "out.mkv")) as written:
        decoded = list(written.decode(video=0))
    assert [number for number, picture in enumerate(decoded) if picture.key_frame] == [0, 50], "every two seconds"
    pictures = [picture.to_ndarray(format="yuv420p") for picture in decoded]
    assert len(pictures) == 60
    assert np.abs(pictures[0][:48].astype(int) - planes.y).mean() < 2
    chroma = pictures[0][48:].reshape(2, 24, 32).astype(int)
    assert np.abs(chroma - np.stack((planes.u, planes.v))).mean() < 2


def test_live_key_frames_and_rate_are_told_for_the_picture(soft: str) -> None:
    options = live_encoder_options("libx265", None, "veryfast")
    assert fitted_options("libx265", options, None, (64, 48), 25.0, 2.0) is options
    fitted = fitted_options("h264_v4l2m2m", {"bf": "0"}, None, (640, 480), 25.0, 2.0)
    assert fitted == {"bf": "0", "g": "50", "b": str(bit_rate("h264_v4l2m2m", 23, (640, 480), 25.0))}
    assert fitted_options(soft, {}, None, (640, 480), 25.0, 0.01) == {"g": "1"}
