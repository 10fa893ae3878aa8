"""Which codecs each container holds, and the options that set the quality of each encoder."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from streamdeid.errors import SettingsError
from streamdeid.video.hardware import HARDWARE, check_available, hardware_options

_SVT_PRESETS = {
    "ultrafast": "12",
    "superfast": "11",
    "veryfast": "10",
    "faster": "9",
    "fast": "8",
    "medium": "6",
    "slow": "4",
    "slower": "3",
    "veryslow": "2",
}
_VP9_SPEEDS = {
    "ultrafast": "8",
    "superfast": "7",
    "veryfast": "6",
    "faster": "5",
    "fast": "4",
    "medium": "3",
    "slow": "2",
    "slower": "1",
    "veryslow": "0",
}
PRESETS = tuple(_SVT_PRESETS)
_QUICK = PRESETS[:3]


@dataclass(frozen=True)
class Container:
    """A file format that can be written."""

    muxer: str
    codecs: tuple[str, ...]
    """Video encoders that the format takes; the first is its default."""
    turns: bool
    """True when the format can tell a player to rotate the picture."""
    frame_grid: bool = False
    """True when the format has no time stamps: every frame lasts 1 / average rate."""
    b_frames: bool = True
    """False when the format cannot say that a frame is shown later than it is decoded."""
    headers_first: bool = False
    """True when the format needs the encoder's headers before the first picture."""
    options: tuple[tuple[str, str], ...] = ()
    """Options for the muxer."""


@dataclass(frozen=True)
class Encoder:
    """A video encoder."""

    crf: int | None
    """Default quality, None when lossless."""
    finest_time_base: Fraction | None = None
    """The finest time base that the encoder takes; None: it takes any."""
    frame_grid: bool = False
    """True when the encoder codes only standard constant rates."""
    even: bool = True
    """True when the encoder needs an even width and height."""


# use_metadata_tags lets QuickTime keys through; it only matters with keep_metadata.
_MOV_OPTIONS = (("movflags", "+faststart+use_metadata_tags"),)
# Sound may begin before 0 (AAC's lead-in); by default these muxers then shift all streams, also the video.
_UNMOVED = (("avoid_negative_ts", "disabled"),)

CONTAINERS: dict[str, Container] = {
    ".mp4": Container("mp4", ("libx264", "libx265", "libsvtav1", "libvpx-vp9", "mpeg4"), True, options=_MOV_OPTIONS),
    ".m4v": Container("mp4", ("libx264", "libx265", "mpeg4"), True, options=_MOV_OPTIONS),
    ".mov": Container("mov", ("libx264", "libx265", "mpeg4"), True, options=_MOV_OPTIONS),
    ".mkv": Container(
        "matroska",
        ("libx264", "libx265", "libsvtav1", "libvpx-vp9", "mpeg4", "ffv1", "mpeg2video"),
        True,
        headers_first=True,
        options=_UNMOVED,
    ),
    ".webm": Container("webm", ("libvpx-vp9", "libsvtav1"), True, options=_UNMOVED),
    ".avi": Container("avi", ("mpeg4", "libx264", "ffv1", "mpeg2video"), False, frame_grid=True, b_frames=False),
    # Without copyts the muxer shifts every time stamp by its own start delay. The decode times of B-frames would begin
    # before 0, and a transport stream has no times before 0.
    ".ts": Container(
        "mpegts",
        ("libx264", "libx265", "mpeg2video"),
        False,
        b_frames=False,
        options=(("mpegts_copyts", "1"), *_UNMOVED),
    ),
    ".mpg": Container("vob", ("mpeg2video", "libx264"), False, b_frames=False, options=(("preload", "0"),)),
}

ENCODERS: dict[str, Encoder] = {
    "libx264": Encoder(20),
    "libx265": Encoder(23),
    "libsvtav1": Encoder(30),
    "libvpx-vp9": Encoder(31, even=False),
    "mpeg4": Encoder(3, finest_time_base=Fraction(1, 60000)),  # the standard stops at 1/65535
    "mpeg2video": Encoder(3, frame_grid=True),
    "ffv1": Encoder(None, even=False),
}
ENCODERS |= {name: ENCODERS[encoder.twin] for name, encoder in HARDWARE.items()}


def container_for(extension: str) -> Container:
    """The container for a file name's extension. Raises SettingsError."""
    try:
        return CONTAINERS[extension.lower()]
    except KeyError:
        raise SettingsError(
            f'the output cannot be a "{extension}" file; choose one of {" ".join(CONTAINERS)}'
        ) from None


def encoder_for(codec: str | None, extension: str) -> str:
    """The encoder's name, checked for a container; codec None: the container's default. Raises SettingsError."""
    container = container_for(extension)
    codecs, hardware = container.codecs, HARDWARE.get(codec or "")
    if codec is None:
        return codecs[0]
    if codec.endswith("_vaapi"):
        raise SettingsError(
            f"{codec} takes pictures only from a graphics card's own memory, where PyAV cannot put them"
        )
    if codec not in ENCODERS:
        raise SettingsError(f'unknown video codec "{codec}"; choose one of {", ".join(ENCODERS)}')
    if hardware is not None:
        check_available(codec)
    if hardware is not None and container.headers_first and not hardware.headers:
        raise SettingsError(
            f"{extension} files do not take {codec}, which gives their header too late; write .mp4 or .ts"
        )
    if (codec if hardware is None else hardware.twin) not in codecs:
        raise SettingsError(f"{extension} files do not take {codec}; choose one of {', '.join(codecs)}")
    return codec


def encoder_threads(codec: str, preset: str) -> int:
    """The number of threads for encoding a file; 0: the encoder decides.

    libx264 with a quick preset gets one thread: the filter takes longer for a frame, so more threads would only wait.
    At 1080p one thread costs as much as two or 12 % less, its files are .4 to .8 % smaller and .01 to .06 dB better
    (two clips of 100 frames), and they do not depend on the number of processors.
    """
    return 1 if codec == "libx264" and preset in _QUICK else 0


def encoder_options(codec: str, crf: int | None, preset: str, *, b_frames: bool) -> dict[str, str]:
    """The options that set quality and speed, by the encoder's own names. Raises SettingsError.

    crf: quality, lower is better; for mpeg4 and mpeg2video it is the quantiser, 1 to 31. None: the encoder's default.
    """
    if preset not in PRESETS:
        raise SettingsError(f'unknown preset "{preset}"; choose one of {", ".join(PRESETS)}')
    default = ENCODERS[codec].crf
    if default is None:
        if crf is not None:
            raise SettingsError(f"{codec} is lossless and has no crf")
        return {"level": "3", "flags": "+bitexact"}  # version 3 has checksums
    lowest, highest = {"mpeg4": (1, 31), "mpeg2video": (1, 31), "libsvtav1": (1, 63), "libvpx-vp9": (0, 63)}.get(
        codec, (0, 51)
    )
    quality = default if crf is None else crf
    if not lowest <= quality <= highest:
        raise SettingsError(f"crf {quality} is out of range for {codec}: {lowest} to {highest}")
    if codec in HARDWARE:
        return hardware_options(codec, quality, preset)
    if codec in ("mpeg4", "mpeg2video"):
        # low_delay: decode times need not start one frame before 0; MPEG program streams cannot have times before 0.
        flags = "+bitexact+qscale+low_delay" if codec == "mpeg2video" else "+bitexact+qscale"
        return {"flags": flags, "global_quality": str(quality * 118)}  # FF_QP2LAMBDA
    if codec == "libvpx-vp9":
        return {"crf": str(quality), "b": "0", "deadline": "good", "cpu-used": _VP9_SPEEDS[preset], "row-mt": "1"}
    if codec == "libsvtav1":
        return {"crf": str(quality), "preset": _SVT_PRESETS[preset]}
    options = {"crf": str(quality), "preset": preset}
    if codec == "libx265":
        options["x265-params"] = "log-level=none:info=0"
    if not b_frames:
        options["bf"] = "0"
    return options
