"""Test videos, encoded on the fly. Nothing here is a recording of anyone."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

RATE = 25
ROTATIONS = {0: (1, 0, 0, 1), 90: (0, -1, 1, 0), 180: (-1, 0, 0, -1), 270: (0, 1, -1, 0)}
"""Display matrices (a, b, c, d) by degrees counter-clockwise."""


_ONE_THREAD: dict[str, Any] = {"threads": 1} if int(av.__version__.split(".")[0]) >= 17 else {}
"""swscale's own threads are not to be trusted; see `streamdeid.video.pictures`."""


def picture(index: int, width: int, height: int) -> NDArray[np.uint8]:
    """RGB test picture (height, width, 3): a still texture, a moving block, a bright corner at the top left."""
    rng = np.random.default_rng(7)
    image = rng.integers(60, 120, (height, width, 3), dtype=np.uint8)
    x = 3 * index % max(1, width - width // 4)
    image[height // 2 : height // 2 + height // 4, x : x + width // 4] = (180, (index * 7) % 200, 60)
    image[: height // 4, : width // 4] = 235
    return image


def encode(
    path: Path,
    codec: str = "libx264",
    *,
    frames: int = 30,
    size: tuple[int, int] = (64, 48),
    pix_fmt: str = "yuv420p",
    pts: Sequence[int] | None = None,
    time_base: Fraction = Fraction(1, RATE),
    options: dict[str, str] | None = None,
    container: str | None = None,
    audio: Sequence[str] = (),
    audio_start: int = 0,
    languages: Sequence[str] = (),
    metadata: dict[str, str] | None = None,
    stream_metadata: dict[str, str] | None = None,
    tags: tuple[int, int, int, int] | None = None,
    sample_aspect_ratio: Fraction | None = None,
    solid: tuple[int, int, int] | None = None,
    faststart: bool = False,
    subtitles: Path | None = None,
    pictures: Sequence[NDArray[np.uint8]] | None = None,
) -> Path:
    """Encode a test video and return its path.

    pts: presentation times in units of `time_base`, one for each frame. audio: encoder names, one track
    each, from `audio_start` seconds on.
    tags: matrix, primaries, transfer and range numbers. solid: one RGB colour instead of the test picture.
    faststart: the index of an MP4 comes first. subtitles: a text file of them to put in. pictures: RGB uint8 (h, w, 3),
    one for each frame, instead of the test picture.
    """
    # MP4 rounds the start of the first frame to this scale, milliseconds by default.
    scale = {"movie_timescale": str(time_base.denominator)} if path.suffix in (".mp4", ".mov") else {}
    if faststart:
        scale["movflags"] = "faststart"
    with av.open(str(path), "w", format=container, container_options=scale) as output:
        output.metadata.update(metadata or {})
        stream: Any = output.add_stream(codec, rate=RATE, options=options or {})
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        stream.codec_context.time_base = time_base
        stream.metadata.update(stream_metadata or {})
        if sample_aspect_ratio is not None:
            stream.codec_context.sample_aspect_ratio = sample_aspect_ratio
        if tags is not None:
            context = stream.codec_context
            context.colorspace, context.color_primaries, context.color_trc, context.color_range = tags
        languages = languages or ["und"] * len(audio)
        tracks = [_add_track(output, name, language) for name, language in zip(audio, languages, strict=True)]
        text = av.open(str(subtitles)) if subtitles else None
        lines: Any = output.add_stream_from_template(text.streams.subtitles[0]) if text else None
        for index in range(frames):
            image = picture(index, *size) if pictures is None else pictures[index]
            if solid is not None:
                image[:] = solid
            shown = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format=pix_fmt, **_ONE_THREAD)
            shown.pts, shown.time_base = index if pts is None else pts[index], time_base
            output.mux(stream.encode(shown))
        output.mux(stream.encode(None))
        for packet in text.demux() if text else ():
            if packet.size:
                packet.stream = lines
                output.mux(packet)
        for number, track in enumerate(tracks):
            _encode_noise(output, track, audio_start, frames / RATE, seed=number)
    return path


def _add_track(output: Any, codec: str, language: str) -> Any:
    track = output.add_stream(codec, rate=48000)
    track.codec_context.layout = "mono"
    track.metadata["language"] = language
    return track


def _encode_noise(output: Any, track: Any, begin: int, seconds: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    step = track.codec_context.frame_size or 1024
    planar = track.codec_context.format.name in ("fltp", "flt")
    for start in range(0, int(seconds * 48000), step):
        samples = rng.normal(0, 0.1, (1, step)).astype(np.float32)
        data = samples if planar else (samples * 32767).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(data, format=track.codec_context.format.name, layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, begin * 48000 + start, Fraction(1, 48000)
        output.mux(track.encode(frame))
    output.mux(track.encode(None))


def set_display_matrix(path: Path, matrix: tuple[int, int, int, int]) -> Path:
    """Write a display matrix (a, b, c, d) into the first track of an MP4 file; PyAV before 17 cannot."""
    data = bytearray(path.read_bytes())
    place = data.index(b"tkhd") + 4 + 4 + 5 * 4 + 8 + 8
    a, b, c, d = (number * 65536 for number in matrix)
    data[place : place + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)
    return path


def packets(path: Path, kind: str) -> list[list[tuple[bytes, Fraction | None]]]:
    """Payload and presentation time of every packet, stream by stream, of the streams of one kind."""
    with av.open(str(path)) as container:
        found: dict[int, list[tuple[bytes, Fraction | None]]]
        found = {stream.index: [] for stream in container.streams if stream.type == kind}
        for packet in container.demux():
            if packet.size and packet.stream_index in found:
                base = Fraction(packet.time_base.numerator, packet.time_base.denominator)
                time = None if packet.pts is None else packet.pts * base
                found[packet.stream_index].append((bytes(packet), time))
    return list(found.values())
