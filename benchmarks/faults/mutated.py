"""Recordings for `fuzz`: drawn people in the containers that cameras write, and copies with other bytes in places."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from benchmarks.faults.clip import RATE, SIZE, Clip, walk
from streamdeid.surrogates.models import Models
from streamdeid.video.files.source import FileSource
from streamdeid.video.picture_memory import picture_of

FRAMES = 16
_KEYS = "4"
"""Pictures from key frame to key frame: something is left behind a place of damage."""
_X264 = {"crf": "17", "preset": "veryfast", "g": _KEYS, "threads": "1"}
_QUANTISED = {"flags": "+qscale", "global_quality": "236", "g": _KEYS}
_HEVC = {"crf": "17", "preset": "ultrafast", "x265-params": f"log-level=none:keyint={_KEYS}"}
_VP9 = {"crf": "10", "b": "0", "deadline": "realtime", "cpu-used": "8", "g": _KEYS}
_FORMS: dict[str, tuple[str, dict[str, str], str]] = {
    "mp4": ("libx264", _X264, "aac"),
    "mkv": ("libx265", _HEVC, "flac"),
    "ts": ("libx264", {**_X264, "bf": "0"}, "mp2"),
    "mpg": ("mpeg2video", _QUANTISED, "mp2"),
    "avi": ("mpeg4", _QUANTISED, "mp2"),
    "webm": ("libvpx-vp9", _VP9, "libopus"),
}
"""Video encoder with its options, and sound encoder, by extension."""
FORMS = tuple(_FORMS)
_RATES = {"mpg": 24, "avi": RATE}
"""MPEG-2 knows some rates only."""
_DENSITIES = (1, 6, 30)
"""Places that are changed in a file."""
_CUT = 0.12
"""Share of the files that end early, too."""


@dataclass(frozen=True)
class Recording:
    """A recording of drawn people and what is known of it."""

    form: str
    data: bytes
    clip: Clip

    @property
    def name(self) -> str:
        """Of the file."""
        return f"drawn.{self.form}"


def record(models: Models, form: str, seed: int, place: Path) -> Recording:
    """Draw a clip and encode it with a tone. place: a folder that may be written to."""
    clip = walk(models, seed, FRAMES)
    video, options, sound = _FORMS[form]
    path = place / f"drawn.{form}"
    rate = _RATES.get(form, RATE)
    with av.open(str(path), "w") as output:
        output.flags |= 0x400  # AVFMT_FLAG_BITEXACT: the same bytes in every run
        stream: Any = output.add_stream(video, rate=rate, options=options)
        (stream.width, stream.height), stream.pix_fmt = SIZE, "yuv420p"
        stream.codec_context.thread_count = 1
        track: Any = output.add_stream(sound, rate=48000)
        track.codec_context.layout = "mono"
        samples = _tone(track, FRAMES / rate)
        for index, planes in enumerate(clip.pictures):
            picture = picture_of(planes, *SIZE)
            picture.pts, picture.time_base = index, Fraction(1, rate)
            output.mux(stream.encode(picture))
            while samples and samples[0].pts <= (index + 1) * 48000 / rate:
                output.mux(track.encode(samples.pop(0)))
        output.mux(stream.encode(None))
        output.mux(track.encode(None))
    return Recording(form, path.read_bytes(), clip)


def _tone(track: Any, seconds: float) -> list[Any]:
    context = track.codec_context
    if not context.is_open:
        context.open()
    step = context.frame_size or 1024
    form = context.format.name
    made = []
    for start in range(0, int(seconds * 48000), step):
        wave = 0.2 * np.sin(np.arange(start, start + step) / 30)[None]
        scale = {"s16": 32767, "s16p": 32767, "s32": 2**31 - 1}.get(form, 1)
        kind = {"s16": np.int16, "s16p": np.int16, "s32": np.int32}.get(form, np.float32)
        frame = av.AudioFrame.from_ndarray((wave * scale).astype(kind), format=form, layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, start, Fraction(1, 48000)
        made.append(frame)
    return made


def mutate(data: bytes, seed: int) -> tuple[bytes, str]:
    """A copy with other bytes, and in words what was done to it. The same arguments give the same bytes."""
    rng = np.random.default_rng((seed, 5))
    changed, done = bytearray(data), []
    for _ in range(int(rng.choice(_DENSITIES))):
        way = str(rng.choice(["flip", "noise", "extreme", "zero", "insert", "remove", "copy"], p=_WAYS))
        # Half of the places are in what describes the file, at its start or its end.
        where = rng.random()
        reach = min(2000, len(changed) // 4)
        if where < 0.3:
            low, high = 0, reach
        else:
            low, high = (len(changed) - reach if where < 0.5 else 0), len(changed)
        at, length = int(rng.integers(low, high)), int(rng.integers(1, 9))
        if way == "flip":
            changed[at] ^= 1 << int(rng.integers(8))
        elif way == "noise":
            changed[at : at + length] = rng.bytes(length)
        elif way == "extreme":
            changed[at : at + 4] = bytes.fromhex(str(rng.choice(["ffffffff", "7fffffff", "80000000", "00000001"])))
        elif way == "zero":
            changed[at : at + 4 * length] = bytes(4 * length)
        elif way == "insert":
            changed[at:at] = rng.bytes(length)
        elif way == "remove":
            del changed[at : at + length]
        else:
            other = int(rng.integers(len(changed)))
            changed[at : at + 16 * length] = changed[other : other + 16 * length]
        done.append(f"{way} at {at}")
    if rng.random() < _CUT:
        del changed[int(rng.integers(len(changed) // 4, len(changed))) :]
        done.append(f"cut at {len(changed)}")
    return bytes(changed), ", ".join(done)


_WAYS = (0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.05)


def decoded(path: Path) -> list[Any]:
    """Luma of every picture of a whole file."""
    return [frame.planes.y for frame in FileSource(path)]
