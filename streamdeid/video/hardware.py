"""Encoders in hardware: which of them can be named, their options, and why one cannot be opened.

They spare the CPU what x264 costs, on machines that have such a device; the other machines' FFmpeg may know their names
all the same. Only encoders that take pictures from ordinary memory are here: PyAV has no way to put pictures into a
graphics card's own memory, which is the only place that VAAPI's encoders take them from.

No test and no measurement of this project has run on such a device. What is tested is all that does not need one:
names, options, refusals, and pictures in the planes that they want.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import av

from streamdeid.errors import SettingsError

_KEY_FRAMES = 250
"""Most frames of a file from one key frame to the next, as x264 has it."""
_BITS_PER_PIXEL = 0.1
"""Bits for a pixel at crf 23, for encoders that know rates only: half as much again as x264 needs at `veryfast` for
footage of cameras that do not move, because hardware codes less well."""
_HALVED_BY = 6.0
"""Steps of crf that halve the rate, as in x264."""
_NVENC_PRESETS = {
    "ultrafast": "p1",
    "superfast": "p1",
    "veryfast": "p2",
    "faster": "p3",
    "fast": "p3",
    "medium": "p4",
    "slow": "p5",
    "slower": "p6",
    "veryslow": "p7",
}
_WITHOUT_DELAY = {
    "nvenc": {"tune": "ull", "zerolatency": "1", "delay": "0", "forced-idr": "1"},
    "qsv": {"async_depth": "1", "forced_idr": "1"},
    "videotoolbox": {"realtime": "1"},
}


@dataclass(frozen=True)
class HardwareEncoder:
    """An encoder in hardware."""

    twin: str
    """The encoder in software for the same format."""
    maker: str
    """Whose devices it runs on, for messages."""
    pix_fmt: str = "yuv420p"
    """The planes that it takes, by FFmpeg's name."""
    headers: bool = True
    """Whether it gives the stream's headers when it is opened. Matroska and live outputs need them then; FFmpeg's
    encoders by V4L2 put them before the first picture only (a live .mp4 without them cannot be played)."""


HARDWARE: dict[str, HardwareEncoder] = {
    f"{name}_{kind}": HardwareEncoder(twin, maker, pix_fmt, kind != "v4l2m2m")
    for kind, maker, pix_fmt in (
        ("nvenc", "an NVIDIA graphics card", "yuv420p"),
        ("qsv", "an Intel graphics unit (Quick Sync)", "nv12"),
        ("v4l2m2m", "a video encoder of the kernel that takes yuv420p (V4L2, as on a Raspberry Pi 4)", "yuv420p"),
        ("videotoolbox", "a Mac", "nv12"),
    )
    for name, twin in (("h264", "libx264"), ("hevc", "libx265"))
}


def check_available(codec: str) -> None:
    """Raise SettingsError where this machine's FFmpeg lacks an encoder in hardware."""
    if codec not in av.codecs_available:
        here = ", ".join(name for name in HARDWARE if name in av.codecs_available)
        raise SettingsError(
            f"the FFmpeg of this machine has no {codec}; of encoders in hardware it has {here or 'none'}"
        )


def planes_of(codec: str) -> str:
    """The planes that an encoder takes, by FFmpeg's name for the pixel format."""
    return HARDWARE[codec].pix_fmt if codec in HARDWARE else "yuv420p"


def hardware_options(codec: str, crf: int, preset: str) -> dict[str, str]:
    """The options that set quality and speed, by the encoder's own names.

    crf: as for the encoder in software; encoders of rates take it by `bit_rate`. There are never B-frames.
    """
    # By default key frames would have a finer quantiser than the one that is asked for.
    options = {"bf": "0", "g": str(_KEY_FRAMES), "i_qfactor": "1"}
    kind = codec.partition("_")[2]
    if kind == "nvenc":
        options |= {"preset": _NVENC_PRESETS[preset], "rc": "constqp", "qp": str(crf)}
    elif kind == "qsv":
        # Quick Sync begins at veryfast.
        quick = preset in ("ultrafast", "superfast")
        # A constant quantiser, because not all of these devices have a better measure of quality.
        quality = {"flags": "+qscale", "global_quality": str(max(1, crf) * 118)}  # FF_QP2LAMBDA
        options |= {"preset": "veryfast" if quick else preset, **quality}
    return options


def without_delay(codec: str) -> dict[str, str]:
    """The options with which every picture leaves at once, and one that the sink asks for becomes a key frame."""
    return _WITHOUT_DELAY.get(codec.partition("_")[2], {})


def bit_rate(codec: str, crf: int | None, size: tuple[int, int], rate: float | Fraction) -> int | None:
    """Bits a second for an encoder that knows rates only, by crf and the picture; None for all others.

    size: (width, height) in pixels. rate: frames a second.
    """
    if crf is None or codec.partition("_")[2] not in ("v4l2m2m", "videotoolbox"):
        return None
    pixels = size[0] * size[1] * float(rate)
    return round(pixels * _BITS_PER_PIXEL * float(2 ** ((23 - crf) / _HALVED_BY)))


def not_opened(codec: str, width: int, height: int) -> str:
    """Why a hardware encoder cannot be opened, in words: FFmpeg's reasons are numbers of its own."""
    return (
        f"{codec} cannot be opened for {width}x{height}: it needs {HARDWARE[codec].maker}, which this machine may not "
        "have, or which is taken, or which this program may not use"
    )
