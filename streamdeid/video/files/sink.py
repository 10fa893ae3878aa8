"""Writes de-identified frames to a video file: a whole file under its final name, or no file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
from av.container import OutputContainer

from streamdeid.core.atomic_file import check_paths, put_in_place, reason_of, reserve
from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.core.process_usage import clear_new_memory
from streamdeid.errors import FailedClosed, OutputError, SettingsError
from streamdeid.video.files.copied_streams import CopiedStreams
from streamdeid.video.files.source import SourceInfo
from streamdeid.video.formats import ENCODERS, Container, container_for, encoder_for, encoder_options, encoder_threads
from streamdeid.video.hardware import HARDWARE, bit_rate, not_opened, planes_of
from streamdeid.video.picture_memory import in_planes, picture_of
from streamdeid.video.pictures import Orientation, turn_back

_TIME_ACCURACY = Fraction(1, 1000)
_LATEST_START = 60
"""Seconds. A later start comes from a camera's clock, not from an edit; the output then starts at 0."""
BITEXACT = 0x400
"""AVFMT_FLAGBITEXACT: the muxer writes neither library names nor dates."""

_LONGEST_TEXT = 1000
"""Largest number of characters of a piece of metadata that is kept."""
_SETTLED = 128
"""Frames after which an encoder has allocated all its memory. x264's macroblock tree reads memory that was never
written. It held leftovers of other parts of the program, so the same pictures gave a different file each time (all of
night_turning). Therefore new memory is filled with zeros until then."""


class FileSink:
    """Encodes de-identified frames into a file like the input's.

    Times, display rotation, sample aspect ratio and colour tags are those of the input. Sound and subtitles are copied
    (`copied_streams`); data that can identify (location, device, author, dates, titles, data streams) are not. The file
    grows under a hidden temporary name beside the output and gets its name only when it is whole and synced. Codecs
    that need even sides get the last column or row of an odd side twice. Containers without a rotation tag get the
    picture upright.

    Use it as a context manager: leaving it normally finishes the file, leaving it by an exception aborts.
    Raises SettingsError for wrong settings, OutputError when the file cannot be written, FailedClosed for a raw frame.
    """

    def __init__(
        self,
        path: Path | str,
        info: SourceInfo,
        *,
        codec: str | None = None,
        crf: int | None = None,
        preset: str = "veryfast",
        audio: bool = True,
        keep_metadata: bool = False,
        overwrite: bool = False,
        tolerant: bool = False,
        threads: int | None = None,
        streams: bool = True,
        key_frames: float | None = None,
    ) -> None:
        """codec None: the container's default. threads: of the encoder; 0: the encoder decides, None: by codec and
        preset (`formats.encoder_threads`). tolerant: as for `FileSource`. streams: whether sound and subtitles are
        copied at all. key_frames: most seconds from one key frame to the next; None: the encoder's default."""
        self.path = Path(path)
        self.frames = 0
        """Frames written so far."""
        extension = self.path.suffix
        self._container = container_for(extension)
        self._codec = encoder_for(codec, extension)
        options = encoder_options(self._codec, crf, preset, b_frames=self._container.b_frames)
        quality = ENCODERS[self._codec].crf if crf is None else crf
        bits = bit_rate(self._codec, quality, info.stored_size, info.average_rate)
        if bits is not None:
            options["b"] = str(bits)
        if key_frames is not None:
            options["g"] = str(max(1, round(key_frames * info.average_rate)))
        check_paths(self.path, info.path, overwrite)
        self._overwrite = overwrite
        self._info = info
        self._grid = self._container.frame_grid or ENCODERS[self._codec].frame_grid
        self._shift = shift_of(info)
        self._last_pts: int | None = None
        self._copied: CopiedStreams | None = None
        self._open = True
        self._growing = reserve(self.path)
        clear_new_memory(True)
        self._output: OutputContainer | None = None
        with self._aborting():
            self._output = av.open(
                f"file:{self._growing.place}",
                mode="w",
                format=self._container.muxer,
                container_options=muxer_options(self._container, info.time_base),
            )
            self._output.flags |= BITEXACT
            if keep_metadata:
                self._output.metadata.update(kept_metadata(info))
            chosen = encoder_threads(self._codec, preset) if threads is None else threads
            self._stream = self._add_video(self._output, options, chosen)
            if streams:
                self._copy_streams(self._output, audio, keep_metadata, tolerant)
            self._start(self._output)

    def __enter__(self) -> FileSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    @property
    def dropped_streams(self) -> tuple[str, ...]:
        """Streams of the input that are not in the output, in words."""
        return self._info.dropped_streams + (self._copied.dropped.streams if self._copied is not None else ())

    @property
    def dropped_parts(self) -> tuple[str, ...]:
        """Parts that were left out of copied streams, in words; the list is complete once the output is finished."""
        return self._copied.dropped.parts if self._copied is not None else ()

    def write(self, frame: DeidentifiedFrame) -> None:
        """Encode one frame; times must rise. Raises FailedClosed, OutputError and, from the copied sound, InputError.

        Any error aborts: nothing remains of the output.
        """
        with self._aborting():
            if not isinstance(frame, DeidentifiedFrame):
                raise FailedClosed(f"a {type(frame).__name__} was about to be written; only de-identified frames may")
            output = self._writable()
            if frame.planes.size != self._info.stored_size:
                raise OutputError(f"{self.path} cannot be written: frame {frame.index} has another size than the rest")
            if self._copied is not None:
                self._copied.copy_until(frame.time)
            context = self._stream.codec_context
            planes = turn_back(frame.planes, self._orientation)
            picture = in_planes(picture_of(planes, context.width, context.height), planes_of(self._codec))
            picture.pts, picture.time_base = self._pts(frame), self._time_base
            self._mux(output, self._stream.encode(picture))
            self.frames += 1
            if self.frames == _SETTLED:
                clear_new_memory(False)

    def finish(self) -> None:
        """Flush, sync and give the file its name. Raises OutputError, and InputError where the recording was changed or
        replaced meanwhile; then nothing remains of the output."""
        with self._aborting():
            output = self._writable()
            if self.frames == 0:
                raise OutputError(f"{self.path} was not written: there was not one frame")
            self._mux(output, self._stream.encode(None))
            if self._copied is not None:
                self._copied.copy_until(None)
                self._copied.close()
            output.close()
            clear_new_memory(False)
            self._info.identity.check(self._info.path)
            put_in_place(self._growing, self.path, overwrite=self._overwrite)
            self._open = False

    def abort(self) -> None:
        """Stop writing; nothing remains of the output. Does nothing after `finish` or when called again."""
        if not self._open:
            return
        self._open = False
        clear_new_memory(False)
        if self._copied is not None:
            self._copied.close()
        # Unlink first: closing writes the trailer, and for MP4 that means reading the whole file once more.
        self._growing.discard()
        if self._output is not None:
            with contextlib.suppress(av.FFmpegError, OSError, ValueError):
                self._output.close()
        self._growing.discard()
        self._growing.let_go()

    def _add_video(self, output: OutputContainer, options: dict[str, str], threads: int) -> av.VideoStream:
        info = self._info
        if self._codec == "libsvtav1":
            os.environ.setdefault("SVT_LOG", "1")  # otherwise the encoder writes its settings to stderr
        stream = output.add_stream(self._codec, rate=info.average_rate, options=options)
        assert isinstance(stream, av.VideoStream)
        can_turn = self._container.turns and hasattr(stream, "set_display_rotation")  # PyAV 14 to 16 cannot
        self._orientation = info.orientation if can_turn else Orientation()
        across, down = info.stored_size
        width, height = (down, across) if self._orientation.swaps_sides else (across, down)
        if ENCODERS[self._codec].even:
            width, height = width + width % 2, height + height % 2
        context = stream.codec_context
        context.width, context.height, context.pix_fmt = width, height, planes_of(self._codec)
        context.thread_count = threads
        base = 1 / info.average_rate if self._grid else info.time_base
        finest = ENCODERS[self._codec].finest_time_base
        self._time_base = base if finest is None or base >= finest else finest
        context.time_base = stream.time_base = self._time_base
        if info.sample_aspect_ratio is not None:
            upright = info.orientation.swaps_sides and not self._orientation.swaps_sides
            ratio = 1 / info.sample_aspect_ratio if upright else info.sample_aspect_ratio
            context.sample_aspect_ratio = ratio
        tags = info.tags
        context.colorspace, context.color_primaries = tags.matrix, tags.primaries
        context.color_trc, context.color_range = tags.transfer, tags.colour_range
        if self._orientation != Orientation():
            stream.set_display_rotation(self._orientation.rotation, hflip=self._orientation.mirrored)
        return stream

    def _copy_streams(self, output: OutputContainer, audio: bool, keep_metadata: bool, tolerant: bool) -> None:
        """Add sound and subtitles as the arguments of `__init__` say."""
        path = self._info.path
        self._copied = CopiedStreams(
            path, output, audio=audio, shift=self._shift, keep_metadata=keep_metadata, tolerant=tolerant
        )
        self._info.identity.check(path)  # the sound must be of the same recording as the pictures

    def _start(self, output: OutputContainer) -> None:
        """Open the encoder and write the header now, so that errors appear before the first frame is filtered."""
        context = self._stream.codec_context
        try:
            context.open()
        except (av.FFmpegError, ValueError) as error:
            rate = f"{float(self._info.average_rate):.3f} frames per second"
            if self._codec in HARDWARE:
                reason = f"{not_opened(self._codec, context.width, context.height)}, or does not take {rate}"
            else:
                reason = f"{self._codec} cannot encode {context.width}x{context.height} at {rate}"
            raise SettingsError(f"{reason}; choose another --codec") from error
        try:
            output.start_encoding()
        except OSError:
            raise
        except (av.FFmpegError, ValueError) as error:
            sound = ", ".join(self._info.audio_codecs)
            raise OutputError(
                f"{self.path.suffix} files cannot hold {self._codec} video with {sound or 'no'} sound; "
                "write an .mkv file or use --no-audio"
            ) from error

    def _writable(self) -> OutputContainer:
        if self._output is None or not self._open:
            raise OutputError(f"{self.path} is closed already")
        return self._output

    def _pts(self, frame: DeidentifiedFrame) -> int:
        time = frame.time + self._shift
        pts = round(time / self._time_base)
        rising = self._last_pts is None or pts > self._last_pts
        # AVI has no start offset at all: its first frame is at 0.
        offset = self._container.frame_grid and self._last_pts is None and pts != 0
        if abs(pts * self._time_base - time) > _TIME_ACCURACY or not rising or offset:
            raise OutputError(
                f"{self.path.suffix} files with {self._codec} cannot hold the time of frame {frame.index} "
                f"({float(frame.time):.4f} s); write an .mp4 or .mkv file"
            )
        self._last_pts = pts
        return pts

    def _mux(self, output: OutputContainer, packets: list[av.Packet[av.VideoStream]]) -> None:
        for packet in packets:
            if not packet.duration:  # otherwise the last frame of the file would have no duration
                packet.duration = max(1, round(1 / (self._info.average_rate * self._time_base)))
            output.mux_one(packet)

    @contextlib.contextmanager
    def _aborting(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:  # PyAV's own is one of FFmpeg's errors too, but the output is not the reason for it
            self.abort()
            raise
        except (av.FFmpegError, OSError) as error:
            self.abort()
            raise OutputError(f"{self.path} cannot be written: {reason_of(error)}") from error
        except BaseException:
            self.abort()
            raise


def kept_metadata(info: SourceInfo) -> dict[str, str]:
    """The metadata of a container that a user keeps. Longer texts are left out: they are pictures or files as text."""
    return {key: text for key, text in info.metadata if len(text) <= _LONGEST_TEXT}


def shift_of(info: SourceInfo) -> Fraction:
    """Seconds that are added to every time of a file's output."""
    return -info.start if info.start > _LATEST_START else Fraction(0)


def muxer_options(container: Container, time_base: Fraction) -> dict[str, str]:
    """Options for the muxer of a container, for a video with this time base in seconds."""
    options = dict(container.options)
    if "movflags" in options and time_base.numerator == 1:
        # MP4 rounds the start of a track to this scale; by default to milliseconds.
        scale = time_base.denominator
        options["movie_timescale"] = str(scale * -(-1000 // scale))
    return options
