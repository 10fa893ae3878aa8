"""Sound and subtitles, copied packet by packet from the input to the output while the video is written."""

from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction
from pathlib import Path

import av
from av.container import OutputContainer

from streamdeid.errors import InputError, OutputError
from streamdeid.video.reading import fraction_of, open_container


class CopiedStreams:
    """The sound and subtitle streams of a file on their way into another.

    The input is opened a second time and read only as far as the video has come, so memory stays flat however long
    the file is. Payload and times stay what they were; the muxer may re-frame a codec (ADTS to MP4) as it must.
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
        self.dropped: list[str] = []
        """Subtitle streams that the output container does not take."""
        self._output, self._path, self._shift, self._tolerant = output, path, shift, tolerant
        try:
            self._input = open_container(path, None)
        except MemoryError:
            raise
        except (av.FFmpegError, ValueError, OSError) as error:
            raise InputError(f"{path} cannot be read again for its sound") from error
        self._streams: dict[int, av.stream.Stream] = {}
        self._last: dict[int, int] = {}
        self._next: dict[int, int] = {}
        try:
            self._add_streams(audio, keep_metadata)
        except BaseException:
            self._input.close()
            raise
        self._packets = self._demux()
        self._held: av.Packet[av.stream.Stream] | None = None

    def copy_until(self, time: Fraction | None) -> None:
        """Mux every packet due before `time` seconds of the input; None: all that are left. Raises av.FFmpegError."""
        while True:
            packet = self._held or next(self._packets, None)
            self._held = None
            if packet is None:
                return
            base = fraction_of(packet.time_base) or Fraction(1)
            if time is not None and (packet.dts or 0) * base > time:
                self._held = packet
                return
            index = packet.stream_index
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
        for stream in self._input.streams:
            if stream.type not in (("audio", "subtitle") if audio else ("subtitle",)):
                continue
            name = stream.codec_context.codec.canonical_name if stream.codec_context else "an unknown codec"
            try:
                if stream.codec_context is None:
                    raise ValueError(name)
                copy: av.stream.Stream = self._output.add_stream_from_template(stream)
            except (av.FFmpegError, ValueError) as error:
                if stream.type == "subtitle":
                    self.dropped.append(f"subtitle stream {stream.index} ({name})")
                    continue
                raise OutputError(_refusal(Path(self._output.name), name)) from error
            copy.metadata.clear()
            copy.metadata.update(
                (key, text) for key, text in stream.metadata.items() if keep_metadata or key == "language"
            )
            copy.disposition = int(stream.disposition.value)  # type: ignore[assignment]  # PyAV 14 wants a number
            self._streams[stream.index] = copy

    def _demux(self) -> Generator[av.Packet[av.stream.Stream], None, None]:
        wanted = [stream for stream in self._input.streams if stream.index in self._streams]
        if not wanted:
            return
        try:
            for packet in self._input.demux(wanted):
                if packet.size:
                    self._set_times(packet)
                    yield packet
        except MemoryError:
            raise
        except (av.FFmpegError, ValueError, OSError) as error:
            # The source, which reads the very same file, has counted this damage already.
            if not self._tolerant:
                raise InputError(f"{self._path} is damaged: its sound cannot be read to the end") from error

    def _set_times(self, packet: av.Packet[av.stream.Stream]) -> None:
        """Fill in missing times and keep decode times rising: muxers refuse a packet otherwise."""
        index = packet.stream_index
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
