"""Makes a file from an earlier one: most coded pictures are copied bit for bit, some segments come from other files.

A segment begins at a key frame where coding order and display order agree: all pictures coded before it are shown
before it, and all pictures coded after it are shown after it (a closed group of pictures). Coded pictures of different
files can be joined only at such key frames.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer

from streamdeid.core.atomic_file import Growing, put_in_place, reason_of, reserve
from streamdeid.core.file_identity import FileIdentity
from streamdeid.errors import InputError, OutputError
from streamdeid.video.files.copied_streams import CleanCopy
from streamdeid.video.files.sink import BITEXACT, muxer_options
from streamdeid.video.formats import container_for
from streamdeid.video.reading import fraction_of, is_cover, open_container

_MUXER_TAGS = ("major_brand", "minor_version", "compatible_brands", "encoder")
"""Metadata that a muxer writes by itself."""


class NotSplicedError(Exception):
    """The files cannot be joined, so all frames have to be rendered; the message completes "since …"."""


@dataclass(frozen=True)
class Segment:
    """The frames from one key frame to the one before the next; `first` and `last` are included."""

    first: int
    last: int


def segments_of(path: Path) -> list[Segment]:
    """The segments of a file, in order; together they hold all its frames. Raises InputError and NotSplicedError."""
    times: list[int] = []
    keys: list[int] = []
    with opened_video(path) as (container, stream):
        for packet in container.demux(stream):
            if packet.size:
                if packet.pts is None:
                    raise NotSplicedError("the earlier output has no time stamps")
                if packet.is_keyframe:
                    keys.append(len(times))
                times.append(packet.pts)
    if len(set(times)) != len(times):
        raise NotSplicedError("the earlier output has frames of one time")
    starts, latest, low = [], None, list(times)
    for place in range(len(low) - 2, -1, -1):
        low[place] = min(low[place], low[place + 1])
    wanted = set(keys)
    for place, time in enumerate(times):
        if place in wanted and low[place] == time and (latest is None or latest < time):
            starts.append(place)  # as many frames are shown before it as are coded before it
        latest = time if latest is None else max(latest, time)
    if not starts or starts[0] != 0:
        raise NotSplicedError("the earlier output does not begin with a key frame")
    ends = [*starts[1:], len(times)]
    return [Segment(start, end - 1) for start, end in zip(starts, ends, strict=True)]


def check_copyable(path: Path, *, audio: bool, keep_metadata: bool) -> None:
    """Raise NotSplicedError where sound, metadata or other streams forbid copying, InputError if there is no video."""
    with opened_video(path) as (container, _):
        if not audio and container.streams.audio:
            raise NotSplicedError("the earlier output has sound")
        for one in container.streams:
            if one.type != "video" and _clean(one).parts:
                raise NotSplicedError("the earlier output has streams with more than sound and text")
        if not keep_metadata and any(key.lower() not in _MUXER_TAGS for key in container.metadata):
            raise NotSplicedError("the earlier output has metadata")


def touched_segments(segments: Sequence[Segment], spans: Sequence[tuple[int, int]]) -> list[Segment]:
    """The segments that hold frames of any span (spans rise, first and last frame included), with neighbours joined."""
    found: list[Segment] = []
    for one in segments:
        if any(first <= one.last and last >= one.first for first, last in spans):
            if found and found[-1].last + 1 == one.first:
                found[-1] = Segment(found[-1].first, one.last)
            else:
                found.append(one)
    return found


def splice(
    earlier: Path, pieces: Mapping[Segment, Path], path: Path, *, overwrite: bool, identity: FileIdentity | None = None
) -> None:
    """Write `path`: the earlier file with some segments taken from other files, each of which holds one segment only.

    pieces: the other files by segments of the earlier file (segments in a row may be joined into one). `path` appears
    when it is whole. identity: of the earlier file, where it was examined before. Raises InputError, also when the
    earlier file was changed or replaced; OutputError; and NotSplicedError when a piece was encoded differently.
    """
    growing = reserve(path)
    try:
        with opened_video(earlier) as (container, stream):
            _write(container, stream, sorted(pieces.items(), key=lambda one: one[0].first), growing, path)
        if _times(growing.place) != _times(earlier):
            raise NotSplicedError("the frames would not have the times they had")
        if identity is not None:
            identity.check(earlier)
        put_in_place(growing, path, overwrite=overwrite)
    except (av.FFmpegError, OSError) as error:
        raise OutputError(f"{path} cannot be written: {reason_of(error)}") from error
    finally:
        growing.discard()
        growing.let_go()


def _write(
    container: InputContainer,
    stream: av.VideoStream,
    pieces: Sequence[tuple[Segment, Path]],
    growing: Growing,
    path: Path,
) -> None:
    kind = container_for(path.suffix)
    base = fraction_of(stream.time_base)
    assert base is not None
    outs: dict[int, Any] = {}
    clean: dict[int, CleanCopy] = {}
    output = av.open(f"file:{growing.place}", mode="w", format=kind.muxer, container_options=muxer_options(kind, base))
    with output:
        output.flags |= BITEXACT
        output.metadata.update((key, text) for key, text in container.metadata.items() if key not in _MUXER_TAGS)
        for one in container.streams:
            copy: av.stream.Stream = output.add_stream_from_template(one)
            outs[one.index] = copy
            if one.index != stream.index:
                clean[one.index] = _clean(one)
            copy.time_base = one.time_base
            copy.metadata.update((key, text) for key, text in one.metadata.items() if key == "language")
            copy.disposition = int(one.disposition.value)  # type: ignore[assignment]  # PyAV 14 wants a number
        waiting, number, latest = list(pieces), -1, None
        for packet in container.demux():
            if not packet.size:
                continue
            if packet.stream_index == stream.index:
                number += 1
                if waiting and number > waiting[0][0].last:
                    waiting.pop(0)
                if waiting and number >= waiting[0][0].first:
                    if number == waiting[0][0].first:
                        for new in _packets(waiting[0], stream):
                            latest = new.dts = decoded_at(new, latest)
                            new.stream = outs[stream.index]
                            output.mux_one(new)
                    continue
                latest = packet.dts = decoded_at(packet, latest)
            copied = packet if packet.stream_index == stream.index else clean[packet.stream_index].packet(packet)
            if copied is not None:
                copied.stream = outs[packet.stream_index]
                output.mux_one(copied)


def _clean(stream: av.stream.Stream) -> CleanCopy:
    """The clean copy of a stream. Raises NotSplicedError for a stream that is not copied (of an earlier version)."""
    try:
        return CleanCopy(stream)
    except ValueError as error:
        raise NotSplicedError(f"the earlier output has a stream that is not copied: {error}") from error


def decoded_at(packet: av.Packet[Any], latest: int | None) -> int | None:
    """The decode time of a coded picture: its own, else `latest`, else its presentation time.

    The first pictures in Matroska have no decode time. latest: decode time of the picture before, None for the first.
    """
    return packet.dts if packet.dts is not None else packet.pts if latest is None else latest


def _packets(piece: tuple[Segment, Path], like: av.VideoStream) -> Iterator[av.Packet[av.VideoStream]]:
    """Yield the coded pictures of a piece. Raises NotSplicedError if they do not fit into the other stream."""
    segment, path = piece
    with opened_video(path) as (container, stream):
        one, other = stream.codec_context, like.codec_context
        if one.extradata != other.extradata or one.codec.name != other.codec.name:
            raise NotSplicedError("the earlier output was encoded otherwise")
        if (one.width, one.height, one.pix_fmt) != (other.width, other.height, other.pix_fmt):
            raise NotSplicedError("the earlier output has other pictures")
        count = 0
        for packet in container.demux(stream):
            if packet.size:
                count += 1
                yield packet
        if count != segment.last - segment.first + 1:
            raise NotSplicedError("a segment has another number of frames")


def _times(path: Path) -> list[float]:
    """Presentation times of a file's frames in microseconds, rising."""
    with opened_video(path) as (container, stream):
        base = fraction_of(stream.time_base)
        assert base is not None
        stamps = [one.pts for one in container.demux(stream) if one.size and one.pts is not None]
        return sorted(round(1e6 * float(stamp * base)) for stamp in stamps)


@contextlib.contextmanager
def opened_video(path: Path) -> Iterator[tuple[InputContainer, av.VideoStream]]:
    """Open a file that this program wrote; gives the container and its video stream. Raises InputError."""
    try:
        container = open_container(path, None)
    except (av.FFmpegError, ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read") from error
    with container:
        streams = [one for one in container.streams.video if not is_cover(one)]
        if len(streams) != 1 or streams[0].codec_context is None:
            raise InputError(f"{path} has no video that can be read")
        yield container, streams[0]
