"""Which live output the user's output argument means, and the options with which FFmpeg writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streamdeid.core.addresses import checked_target, is_address, shown
from streamdeid.errors import SettingsError
from streamdeid.video.formats import encoder_options
from streamdeid.video.hardware import HARDWARE, bit_rate, check_available, without_delay
from streamdeid.video.live.settings import STDOUT_FORMATS, TRANSPORTS

STDOUT = "-"
CODECS = ("libx264", "libx265", *(name for name, encoder in HARDWARE.items() if encoder.headers))
"""Encoders that can work without delay and that every live container takes."""
HLS_LENGTH = 6
"""Number of segments in a playlist."""
_CRF = {"libx264": 23, "libx265": 26}
_CRF |= {name: _CRF[encoder.twin] for name, encoder in HARDWARE.items()}
_NOW = {"flush_packets": "1", "max_delay": "0"}
"""Options with which every packet is sent at once."""
_FILES = {
    ".mkv": ("matroska", {"cluster_time_limit": "1000"}),
    ".ts": ("mpegts", {}),
    # Fragments need no index at the end, so the part that is on the disk can be played.
    ".mp4": ("mp4", {"movflags": "+empty_moov+default_base_moof+frag_keyframe", "frag_duration": "1000000"}),
}
_STDOUT = {
    "mpegts": {"pat_period": "0.5"},
    # A cluster is written when the next one begins. With one picture in each cluster the delay is one picture.
    "matroska": {"live": "1", "cluster_time_limit": "0"},
}


@dataclass(frozen=True)
class LiveOutput:
    """A live output: its kind, its place, and the muxer that writes it."""

    kind: str
    """`rtsp`, `stdout`, `hls` or `files`."""
    target: str
    """The address, the path that the user named, or an empty string for standard output."""
    name: str
    """The name of the output in messages, without a password."""
    muxer: str
    options: dict[str, str]
    """Options for the muxer."""


def output_for(
    output: str, *, transport: str = "tcp", stdout_format: str = "mpegts", key_interval: float = 2.0
) -> LiveOutput:
    """The live output that the user's output argument means. Raises SettingsError, without a password."""
    if transport not in TRANSPORTS:
        raise SettingsError(f"unknown transport {transport!r}; choose one of {', '.join(TRANSPORTS)}")
    if stdout_format not in STDOUT_FORMATS:
        raise SettingsError(f"unknown stdout-format {stdout_format!r}; choose one of {', '.join(STDOUT_FORMATS)}")
    if output == STDOUT:
        return LiveOutput("stdout", "", "standard output", stdout_format, {**_NOW, **_STDOUT[stdout_format]})
    if is_address(output):
        options = {**_NOW, "rtsp_transport": transport}
        return LiveOutput("rtsp", checked_target(output), shown(output), "rtsp", options)
    extension = Path(output).suffix.lower()
    if extension == ".m3u8":
        flags = "delete_segments+temp_file+independent_segments+omit_endlist"
        options = {**_NOW, "hls_time": f"{key_interval:g}", "hls_list_size": str(HLS_LENGTH), "hls_flags": flags}
        return LiveOutput("hls", output, output, "hls", options)
    if extension not in _FILES:
        names = " ".join(_FILES)
        raise SettingsError(
            f"{shown(output)} is no live output; give rtsp://HOST/PATH, - for standard output, NAME.m3u8, or a file "
            f"with one of {names}"
        )
    muxer, options = _FILES[extension]
    return LiveOutput("files", output, output, muxer, {**_NOW, **options})


def live_encoder_options(codec: str, crf: int | None, preset: str) -> dict[str, str]:
    """Options for an encoder without delay, with key frames only where the sink asks for them. Raises SettingsError.

    Headers are repeated in the stream, so that a viewer who joins later can begin at any key frame.
    """
    if codec not in CODECS:
        raise SettingsError(f'a live output cannot have the video codec "{codec}"; choose one of {", ".join(CODECS)}')
    options = encoder_options(codec, _CRF[codec] if crf is None else crf, preset, b_frames=False)
    if codec in HARDWARE:
        check_available(codec)
        return options | without_delay(codec)
    options |= {"tune": "zerolatency", "forced-idr": "1"}
    if codec == "libx264":
        options["x264-params"] = "repeat-headers=1:scenecut=0:keyint=infinite"
    else:
        options["x265-params"] += ":repeat-headers=1:scenecut=0:keyint=-1:open-gop=0"
    return options


def fitted_options(
    codec: str, options: dict[str, str], crf: int | None, size: tuple[int, int], rate: float, key_interval: float
) -> dict[str, str]:
    """The encoder's options for pictures of `size` (width, height) at `rate` a second: hardware wants them with it.

    Not every encoder in hardware makes the key frames that the sink asks for, so it is told their distance
    (key_interval in seconds), too.
    """
    if codec not in HARDWARE:
        return options
    bits = bit_rate(codec, _CRF[codec] if crf is None else crf, size, rate)
    return {**options, "g": str(max(1, round(key_interval * rate))), **({} if bits is None else {"b": str(bits)})}
