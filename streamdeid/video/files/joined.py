"""Joins pieces that were encoded separately into one file, with the sound and the subtitles of the input.

Each piece begins with a key frame and does not refer to the piece before, so coded pictures are copied bit for bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from streamdeid.core.atomic_file import Growing, check_paths, put_in_place, reason_of, reserve
from streamdeid.core.held_signals import signals_held
from streamdeid.errors import OutputError
from streamdeid.video.files.copied_streams import CopiedStreams, Dropped
from streamdeid.video.files.sink import BITEXACT, kept_metadata, muxer_options, shift_of
from streamdeid.video.files.source import SourceInfo
from streamdeid.video.files.spliced import decoded_at, opened_video
from streamdeid.video.formats import container_for
from streamdeid.video.reading import fraction_of

_ACCURACY = 1e-3
"""Largest error of a frame's time, seconds, as in `sink`."""


def join(
    pieces: Sequence[Path],
    times: Sequence[Fraction],
    info: SourceInfo,
    path: Path,
    *,
    audio: bool,
    keep_metadata: bool,
    overwrite: bool,
    tolerant: bool,
) -> Dropped:
    """Write `path` from pieces that `sink.FileSink` wrote without sound and subtitles; return what was dropped.

    times: of all frames, seconds, as in the input. info: of the input. The other settings are as for `FileSink`.
    The file appears under its name only when it is whole. Raises InputError, SettingsError and OutputError; then
    nothing of the output is left.
    """
    check_paths(path, info.path, overwrite)
    with contextlib.ExitStack() as safe:
        with signals_held():
            growing = reserve(path)
            safe.callback(growing.let_go)
            safe.callback(growing.discard)
        try:
            dropped = _write(pieces, times, info, growing, path, audio, keep_metadata, tolerant)
            info.identity.check(info.path)
            put_in_place(growing, path, overwrite=overwrite)
        except (av.FFmpegError, OSError) as error:
            raise OutputError(f"{path} cannot be written: {reason_of(error)}") from error
    return Dropped(info.dropped_streams + dropped.streams, dropped.parts)


def _write(
    pieces: Sequence[Path],
    times: Sequence[Fraction],
    info: SourceInfo,
    growing: Growing,
    path: Path,
    audio: bool,
    keep_metadata: bool,
    tolerant: bool,
) -> Dropped:
    kind, shift = container_for(path.suffix), shift_of(info)
    options = muxer_options(kind, info.time_base)
    with (
        opened_video(pieces[0]) as (_, first),
        av.open(f"file:{growing.place}", mode="w", format=kind.muxer, container_options=options) as output,
    ):
        output.flags |= BITEXACT
        if keep_metadata:
            output.metadata.update(kept_metadata(info))
        video: av.stream.Stream = output.add_stream_from_template(first)
        video.time_base = first.time_base
        copied = CopiedStreams(
            info.path, output, audio=audio, shift=shift, keep_metadata=keep_metadata, tolerant=tolerant
        )
        with contextlib.closing(copied):
            info.identity.check(info.path)
            base = fraction_of(first.time_base)
            assert base is not None
            stamps = []
            for packet, dts, pts in _in_order(pieces, first, path):
                packet.dts = dts
                copied.copy_until(dts * base - shift)
                stamps.append(pts)
                packet.stream = video
                output.mux_one(packet)
            copied.copy_until(None)
        _check(sorted(stamps), base, [time + shift for time in times], path)
    return copied.dropped


def _in_order(pieces: Sequence[Path], like: av.VideoStream, path: Path) -> Iterator[tuple[av.Packet[Any], int, int]]:
    """Yield the coded pictures of all pieces, each with its decode time and its presentation time; decode times rise.

    Raises OutputError where the pieces do not fit into one stream."""
    latest: int | None = None
    for piece in pieces:
        with opened_video(piece) as (container, stream):
            same = stream.codec_context.extradata == like.codec_context.extradata
            if not same or stream.time_base != like.time_base:
                raise OutputError(f"{path} cannot be written: its segments were encoded in different ways")
            for packet in container.demux(stream):
                if not packet.size:
                    continue
                dts = decoded_at(packet, latest)
                if packet.pts is None or dts is None:
                    raise OutputError(f"{path} cannot be written: a segment has no times")
                told = packet.dts is not None and latest is not None and dts <= latest
                latest = latest + 1 if told and latest is not None else dts
                if latest > packet.pts:
                    raise OutputError(f"{path} cannot be written: its segments do not follow each other")
                yield packet, latest, packet.pts


def _check(stamps: Sequence[int], base: Fraction, times: Sequence[Fraction], path: Path) -> None:
    """Raise OutputError unless the number of frames is right and each frame has its time."""
    if len(stamps) != len(times):
        raise OutputError(f"{path} cannot be written: its segments have {len(stamps)} frames, not {len(times)}")
    if any(abs(float(stamp * base - time)) > _ACCURACY for stamp, time in zip(stamps, times, strict=True)):
        raise OutputError(f"{path} cannot be written: a frame of its segments would not have its time")
