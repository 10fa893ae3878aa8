"""Sound and subtitles, copied packet by packet from the input to the output while the video is written.

The sound itself and the text that is shown are copied unchanged. Headers and data beside the packets are not copied as
they are, because they can name people and hold pictures of them (`sound_headers`, `subtitle_text`). A stream that
cannot be shown to be clean is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer, OutputContainer

from streamdeid.errors import InputError, OutputError
from streamdeid.video.files.sound_headers import clean_header, clean_packet
from streamdeid.video.files.subtitle_text import CleanText, why_not
from streamdeid.video.reading import fraction_of, open_container, packets_of

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
_HEADERS_APART = {"mov", "matroska", "flv"}
"""Containers in which AAC packets have no headers of their own."""
_HARMLESS = {"skip_samples", "mpegts_stream_id", "param_change"}
"""Kinds of side data of a packet that hold only numbers for decoders; all other kinds are left out."""


@dataclass(frozen=True)
class Dropped:
    """The streams of a file, and the parts of its streams, that are missing in the copy, in words."""

    streams: tuple[str, ...] = ()
    """Streams that are missing as a whole."""
    parts: tuple[str, ...] = ()
    """Missing parts of streams that are copied."""


class CleanCopy:
    """A stream without data that could tell something about people: its header, and its packets one by one."""

    def __init__(self, stream: av.stream.Stream) -> None:
        """Raises ValueError, in a few words, for a stream that cannot be shown to be clean."""
        context: Any = stream.codec_context
        if context is None:
            raise ValueError("its codec is not known")
        codec, header = context.codec.canonical_name, bytes(context.extradata or b"")
        self.named = f"{stream.type} stream {stream.index} ({codec})"
        self._codec, self._text = codec, None
        if stream.type == "subtitle":
            reason = why_not(codec)
            if reason:
                raise ValueError(reason)
            self._text = CleanText.of(codec, header)
            self.header, self._left_out = self._text.header, self._text.left_out
        else:
            made = clean_header(codec, header)
            if made is None:
                raise ValueError("its header is not known to be clean")
            if not context.sample_rate or not context.channels:
                raise ValueError("its rate is not known")
            if codec == "aac" and not header and _HEADERS_APART & set(stream.container.format.name.split(",")):
                raise ValueError("its header is missing")  # a muxer would notice this only at its end
            self.header, self._left_out = made.data, made.left_out
        self._changed = self._beside = 0

    @property
    def parts(self) -> list[str]:
        """The parts that were left out so far, in words."""
        found = [self._left_out] if self._left_out else []
        if self._changed:
            found.append(f"what is not shown or heard in {self._changed} packets")
        if self._beside:
            found.append(f"data beside {self._beside} packets")
        return [f"{self.named}: {part}" for part in found]

    def packet(self, packet: av.Packet[Any]) -> av.Packet[Any] | None:
        """The packet to copy, with its times unchanged; None where nothing of the packet is left."""
        data = bytes(packet)
        kept = clean_packet(self._codec, data) if self._text is None else self._text.packet(data)
        beside = not _plain(packet)
        self._changed += kept != data
        self._beside += beside
        if not kept:
            return None
        if kept == data and not beside:
            return packet
        made: av.Packet[Any] = av.Packet(kept)
        made.stream, made.time_base = packet.stream, packet.time_base
        made.pts, made.dts, made.duration = packet.pts, packet.dts, packet.duration
        made.is_keyframe = packet.is_keyframe
        return made


def _plain(packet: av.Packet[Any]) -> bool:
    """Whether the side data of a packet hold nothing but numbers for decoders."""
    try:
        return all(one.data_type in _HARMLESS for one in packet.iter_sidedata())
    except (AttributeError, IndexError):  # PyAV 16 and earlier cannot tell; or PyAV does not know the kind of data
        return False


def language_of(metadata: Mapping[str, str]) -> dict[str, str]:
    """The `language` entry of a stream's metadata, where its text has the form of a language's name; else nothing."""
    return {key: text for key, text in metadata.items() if key == "language" and _LANGUAGE.fullmatch(text)}


def chapters_of(container: InputContainer) -> tuple[str, ...]:
    """The number of a file's chapters in words, as their titles are not copied; nothing for a file without chapters."""
    count = len(container.chapters()) if hasattr(container, "chapters") else 0
    return (f"{count} chapters",) if count else ()


class CopiedStreams:
    """Copies the sound and subtitle streams of a file into another file.

    The input is opened a second time and read only as far as the video has come, so the memory does not grow with the
    length of the file. Payload and times stay unchanged; the muxer may re-frame a codec where it must (ADTS to MP4).
    """

    def __init__(
        self,
        path: Path,
        output: OutputContainer,
        *,
        audio: bool,
        shift: Fraction,
        keep_metadata: bool,
        tolerant: bool,
    ) -> None:
        """Add the streams to `output`, before its header is written; `shift` seconds are added to every time.

        audio False leaves the sound out and keeps the subtitles.

        Raises InputError, and OutputError when the output cannot hold the sound.
        """
        self._dropped: list[str] = []
        self._output, self._path, self._shift, self._tolerant = output, path, shift, tolerant
        try:
            self._input = open_container(path, None)
        except MemoryError:
            raise
        except (av.FFmpegError, ValueError, OSError) as error:
            raise InputError(f"{path} cannot be read again for its sound") from error
        self._streams: dict[int, av.stream.Stream] = {}
        self._clean: dict[int, CleanCopy] = {}
        self._last: dict[int, int] = {}
        self._next: dict[int, int] = {}
        try:
            self._add_streams(audio, keep_metadata)
        except BaseException:
            self._input.close()
            raise
        self._packets = self._demux()
        self._held: tuple[int, av.Packet[Any]] | None = None

    @property
    def dropped(self) -> Dropped:
        """What is missing in the output so far: streams that the container does not take or that could tell something
        about people, and parts of other streams."""
        return Dropped(tuple(self._dropped), tuple(part for copy in self._clean.values() for part in copy.parts))

    def copy_until(self, time: Fraction | None) -> None:
        """Mux every packet that is decoded by `time`, in seconds of the input; None: all that are left.

        Raises av.FFmpegError, and InputError for a damaged input unless `tolerant`.
        """
        while True:
            found = self._held or next(self._packets, None)
            self._held = None
            if found is None:
                return
            index, packet = found
            base = fraction_of(packet.time_base) or Fraction(1)
            if time is not None and (packet.dts or 0) * base > time:
                self._held = found
                return
            shift = round(self._shift / base)
            if shift:
                packet.pts, packet.dts = (packet.pts or 0) + shift, (packet.dts or 0) + shift
            packet.stream = self._streams[index]
            self._output.mux_one(packet)

    def close(self) -> None:
        """Close the input."""
        self._packets.close()
        self._input.close()

    def _add_streams(self, audio: bool, keep_metadata: bool) -> None:
        self._dropped += chapters_of(self._input)
        for stream in self._input.streams:
            if stream.type not in (("audio", "subtitle") if audio else ("subtitle",)):
                continue
            name = stream.codec_context.codec.canonical_name if stream.codec_context else "unknown"
            try:
                clean = CleanCopy(stream)
            except ValueError as error:
                self._dropped.append(f"{stream.type} stream {stream.index} ({name}): {error}")
                continue
            try:
                copy: av.stream.Stream = self._output.add_stream_from_template(stream)
            except (av.FFmpegError, ValueError) as error:
                if stream.type == "subtitle":
                    self._dropped.append(f"subtitle stream {stream.index} ({name})")
                    continue
                raise OutputError(_refusal(Path(self._output.name), name)) from error
            copy.codec_context.extradata = clean.header or None
            copy.metadata.clear()
            copy.metadata.update(stream.metadata if keep_metadata else language_of(stream.metadata))
            copy.disposition = int(stream.disposition.value)  # type: ignore[assignment]  # PyAV 14 wants a number
            self._streams[stream.index], self._clean[stream.index] = copy, clean

    def _demux(self) -> Generator[tuple[int, av.Packet[Any]], None, None]:
        wanted = [stream for stream in self._input.streams if stream.index in self._streams]
        if not wanted:
            return
        try:
            for packet in packets_of(self._input, *wanted):
                index = packet.stream_index
                clean = self._clean[index].packet(packet)
                if clean is not None:
                    self._set_times(index, clean)
                    yield index, clean
        except MemoryError:
            raise
        except (av.FFmpegError, ValueError, OSError) as error:
            # The source reads the same file and has counted this damage already.
            if not self._tolerant:
                raise InputError(f"{self._path} is damaged: its sound cannot be read to the end") from error

    def _set_times(self, index: int, packet: av.Packet[Any]) -> None:
        """Fill in missing times and make decode times rise, because muxers refuse other packets."""
        dts = packet.dts
        if dts is None:
            dts = self._next.get(index, 0) if packet.pts is None else packet.pts
        if index in self._last and dts <= self._last[index]:
            dts = self._last[index] + 1
        if packet.dts != dts or packet.pts is None:
            packet.pts = dts if packet.pts is None else max(packet.pts, dts)
            packet.dts = dts
        self._last[index], self._next[index] = dts, dts + max(1, packet.duration or 0)


def _refusal(path: Path, codec: str) -> str:
    return f"{path.suffix} files cannot hold {codec} sound unchanged; write an .mkv file or use --no-audio"
