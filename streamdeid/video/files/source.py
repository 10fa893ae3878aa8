"""Reads video files: upright frames with exact times, and a report of damage (see `reading`).

Damage is always reported: a face could have been in the part that was lost or misread.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
from av.container import InputContainer

from streamdeid.core.file_identity import FileIdentity
from streamdeid.core.frames import MOST_PIXELS, Colour, Frame
from streamdeid.core.square_pixels import frame_of, in_words, near, square_size
from streamdeid.errors import InputError
from streamdeid.video.pictures import Orientation, colour_of, is_rgb, orientation_of, planes_of, turn_upright
from streamdeid.video.pixel_aspect import SaidAspect, squared_by, upright
from streamdeid.video.reading import Reading, fraction_of, is_cover
from streamdeid.video.wholeness import why_unreadable

_DEFAULT_RATE = Fraction(25)
_FASTEST_RATE = 1000
_LARGEST_STEP_BACK = 1
"""Seconds by which time stamps may run backwards and still count as jitter."""


@dataclass(frozen=True)
class ColourTags:
    """The stream's colour description as ITU-T H.273 numbers (2: unspecified) and the range (0, 1 limited, 2 full)."""

    matrix: int = 2
    primaries: int = 2
    transfer: int = 2
    colour_range: int = 0


@dataclass(frozen=True)
class SourceInfo:
    """What is known about a video file before it is read, and what the sink needs to write a similar file."""

    path: Path
    identity: FileIdentity = field(compare=False, repr=False)
    """Which file this is, and its state when it was first examined. Not compared, as two files can be alike."""
    container: str
    """FFmpeg's name of the container, as in `mov,mp4,m4a,3gp,3g2,mj2`."""
    codec: str
    width: int
    height: int
    """Size of the frames' `planes`: of the upright picture in pixels, which are made square where they are not."""
    stored_size: tuple[int, int]
    """(width, height) of the upright picture in stored pixels."""
    orientation: Orientation
    average_rate: Fraction
    """Frames per second."""
    time_base: Fraction
    """Seconds of which every frame time is a whole multiple (unless the file has no time stamps)."""
    start: Fraction
    """Start of the earliest stream in seconds; 0 for most files, any number for a camera's transport stream."""
    frames: int | None
    """Number of frames as the container states it, or estimated from the duration, or None."""
    duration: Fraction | None
    """Seconds, as the container states them."""
    colour: Colour
    tags: ColourTags
    sample_aspect_ratio: Fraction | None
    """Width of a sample by its height in the *coded* orientation; None when unspecified."""
    squared_by: Fraction
    """Pixel aspect of the upright picture by which pixels are made square; the user's value, else the stream's."""
    audio_codecs: tuple[str, ...]
    subtitle_codecs: tuple[str, ...]
    dropped_streams: tuple[str, ...]
    """Streams that no sink copies: data (GPS, time code), attachments and cover art, further videos."""
    metadata: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Metadata of the container; they can identify people, so they are not shown."""

    @property
    def rotation(self) -> int:
        """Display rotation, degrees counter-clockwise: 0, 90, 180 or 270."""
        return self.orientation.rotation

    @property
    def coded_size(self) -> tuple[int, int]:
        """(width, height) of the picture as it was coded, before the display rotation."""
        width, height = self.stored_size
        return (height, width) if self.orientation.swaps_sides else (width, height)

    @property
    def squared(self) -> bool:
        """Whether the frames' `planes` have another size than the stored picture, to make its pixels square."""
        return self.stored_size != (self.width, self.height)

    @property
    def frame_bytes(self) -> int:
        """Bytes of a frame's planes, and of the stored planes where they differ."""
        stored = self.stored_size[0] * self.stored_size[1] if self.squared else 0
        return (self.width * self.height + stored) * 3 // 2


class FileSource:
    """A video file as an iterable of upright frames; every iteration reads it from the start.

    strict (default): frames up to the damage are yielded, then InputError ends the iteration.
    tolerant: every picture that can be decoded is yielded, except those from a damaged place to the next key frame;
    `damaged` counts the damaged places and `damage` describes the first one.
    threads: decoder threads; 1 decodes in the calling thread.
    identity: of the file that is meant, where it was examined before. Each time the file is opened, and when it has
    been read to its end, it must be the same file, unchanged.
    pixel_aspect: width of an upright pixel by its height, instead of the value in the file.
    most_pixels: million pixels that a picture may have; a file with larger pictures is refused before decoding.

    Raises InputError, also in the constructor, with one line for the user.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        tolerant: bool = False,
        threads: int = 1,
        identity: FileIdentity | None = None,
        pixel_aspect: Fraction | None = None,
        most_pixels: float = MOST_PIXELS,
    ) -> None:
        self.path = Path(path)
        self.tolerant = tolerant
        self.damaged = 0
        """Damaged places found in the current or last iteration."""
        self.damage: str | None = None
        """Description of the first damage."""
        self._threads, self._given, self._most_pixels = threads, pixel_aspect, most_pixels
        reason = why_unreadable(self.path)
        if reason:
            raise InputError(f"{self.path} cannot be read: {reason}")
        self.identity = FileIdentity.of(self.path) if identity is None else identity
        self.info: SourceInfo = self._probe()

    def __iter__(self) -> Iterator[Frame]:
        return self._frames()

    def check(self) -> None:
        """Raise InputError where the file was replaced or changed since it was first examined."""
        self.identity.check(self.path)

    def between(
        self, times: Sequence[Fraction], first: int, last: int, *, number: int = 0
    ) -> Generator[Frame, None, None]:
        """Yield the frames `first` to `last`, both included, without reading the frames before the key frame.

        times: of the file's frames, seconds. number: of the frame that has the first of the times. Raises InputError
        when the file cannot be read from there, or when its frames have other times.
        """
        index_of = {time: index for index, time in enumerate(times, number)}
        reading = self._opened(self.tolerant)
        expected: int | None = None
        with reading.container:
            said = SaidAspect(reading.stream)
            start = times[first - number]
            reading.container.seek(math.floor(start / self.info.time_base), stream=reading.stream)
            for picture in reading.pictures():
                index = -1 if picture.pts is None else index_of.get(picture.pts * self.info.time_base, -1)
                if index < 0 and expected is None:
                    continue  # before the key frame
                if index != (index if expected is None else expected) or (index > first and expected is None):
                    break
                expected = index + 1
                if index >= first:
                    self._check_aspect(said.now(), index)
                    yield self._frame(picture, times[index - number], index)
                if index == last:
                    return
        raise InputError(f"{self.path} cannot be read from frame {first} to {last}")

    def _opened(self, tolerant: bool) -> Reading:
        """Open the file, and check before and after that it is unchanged. Raises InputError."""
        self.check()
        reading = Reading(self.path, tolerant, self._threads, self._most_pixels)
        try:
            self.check()
        except InputError:
            reading.container.close()
            raise
        return reading

    def _probe(self) -> SourceInfo:
        probe = self._opened(True)
        with probe.container:
            for picture in probe.pictures():
                return _describe(self.path, self.identity, probe.container, probe.stream, picture, self._given)
        raise InputError(f"{self.path} is not a readable video: not one picture of it can be decoded")

    def _frames(self) -> Generator[Frame, None, None]:
        reading = self._opened(self.tolerant)
        self.damaged, self.damage = 0, None
        width, height = self.info.coded_size
        time, step = None, 1 / self.info.average_rate
        shift = Fraction(0)
        index = 0
        with reading.container:
            said = SaidAspect(reading.stream)
            for picture in reading.pictures():
                stamp = None if picture.pts is None else picture.pts * self.info.time_base + shift
                if stamp is None:
                    stamp = self.info.start if time is None else time + step
                elif time is not None and stamp <= time:
                    if time - stamp > _LARGEST_STEP_BACK:
                        reading.note("its time stamps jump backwards", smears=False)
                        if not self.tolerant:
                            break
                        shift += time + step - stamp
                        stamp = time + step
                    else:
                        stamp = time + self.info.time_base
                time = stamp
                if (picture.width, picture.height) != (width, height):
                    raise InputError(
                        f"{self.path} changes its picture size after frame {index}, from {width}x{height} to "
                        f"{picture.width}x{picture.height}; such files are not supported"
                    )
                self._check_aspect(said.now(), index)
                try:
                    frame = self._frame(picture, time, index)
                except MemoryError:
                    raise
                except (av.FFmpegError, ValueError) as error:
                    raise InputError(f"{self.path} has an unsupported pixel format {picture.format.name}") from error
                yield frame
                index += 1
                self.damaged, self.damage = reading.damaged, reading.damage
        self.damaged, self.damage = reading.damaged, reading.damage
        self.check()
        if self.damage and not self.tolerant:
            place = f" after frame {index} ({float(time):.2f} s)" if time is not None else " at its first frame"
            raise InputError(f"{self.path} is damaged or cut off{place}: {self.damage}")

    def _frame(self, picture: av.VideoFrame, time: Fraction, index: int) -> Frame:
        info = self.info
        planes = turn_upright(planes_of(picture, info.colour), info.orientation)
        return frame_of(planes, time, index, upright(info.sample_aspect_ratio, info.orientation), info.squared_by)

    def _check_aspect(self, said: Fraction | None, index: int) -> None:
        """Raise InputError where the stream's pixel aspect differs from the one by which frames are made square."""
        here = upright(said, self.info.orientation) or Fraction(1)
        if self._given is None and not near(here, self.info.squared_by):
            raise InputError(
                f"{self.path} changes the shape of its pixels after frame {index}, from "
                f"{in_words(self.info.squared_by)} to {in_words(here)}; give one shape for all of it with "
                "--pixel-aspect W:H"
            )


def _describe(
    path: Path,
    identity: FileIdentity,
    container: InputContainer,
    stream: av.VideoStream,
    picture: av.VideoFrame,
    given: Fraction | None,
) -> SourceInfo:
    codec = stream.codec_context
    tags = ColourTags(codec.colorspace, codec.color_primaries, codec.color_trc, codec.color_range)
    if is_rgb(picture):
        tags = ColourTags(6, tags.primaries, tags.transfer, 1)  # `planes_of` converts red, green and blue to this
    colour = colour_of(picture, tags.matrix, tags.colour_range)
    if colour.full_range:
        tags = ColourTags(tags.matrix, tags.primaries, tags.transfer, 2)
    orientation = orientation_of(picture)
    stored = (picture.height, picture.width) if orientation.swaps_sides else (picture.width, picture.height)
    said = SaidAspect(stream).now()
    try:
        aspect = squared_by(upright(said, orientation), given)
    except ValueError as error:
        raise InputError(f"{path} {error}") from error
    width, height = square_size(stored, aspect)
    rates = (fraction_of(stream.average_rate), fraction_of(stream.guessed_rate))
    rate = next((rate for rate in rates if rate and 0 < rate <= _FASTEST_RATE), _DEFAULT_RATE)
    duration = Fraction(container.duration, av.time_base) if container.duration and container.duration > 0 else None
    estimate = round(duration * rate) if duration else None
    dropped = [f"{s.type} stream {s.index}" for s in container.streams if s.type not in ("video", "audio", "subtitle")]
    dropped += [
        f"{'cover art' if is_cover(s) else 'further video'} stream {s.index}"
        for s in container.streams.video
        if s.index != stream.index
    ]
    return SourceInfo(
        path=path,
        identity=identity,
        container=container.format.name,
        codec=codec.codec.canonical_name,
        width=width,
        height=height,
        stored_size=stored,
        orientation=orientation,
        average_rate=rate,
        time_base=fraction_of(stream.time_base) or 1 / rate,
        start=Fraction(container.start_time or 0, av.time_base),
        frames=stream.frames or estimate,
        duration=duration,
        colour=colour,
        tags=tags,
        sample_aspect_ratio=said,
        squared_by=aspect,
        audio_codecs=tuple(_codec_name(s) for s in container.streams.audio),
        subtitle_codecs=tuple(_codec_name(s) for s in container.streams.subtitles),
        dropped_streams=tuple(dropped),
        metadata=tuple(sorted(container.metadata.items())),
    )


def _codec_name(stream: av.AudioStream | av.subtitles.stream.SubtitleStream) -> str:
    return stream.codec_context.codec.canonical_name if stream.codec_context else "unknown"
