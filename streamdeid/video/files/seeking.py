"""Gives exactly the frame of a video file that has a given number, decoded from the key frame before it.

A list of the file's packets says where each frame is. It is made once, without decoding. Pictures before the wanted
frame to which no other picture refers are not decoded; this halves the work where the encoder made such pictures.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.container import InputContainer
from numpy.typing import NDArray

from streamdeid.core.frames import MOST_PIXELS, Planes
from streamdeid.core.square_pixels import resized
from streamdeid.errors import InputError
from streamdeid.video.files.source import FileSource, SourceInfo
from streamdeid.video.pictures import planes_of, turn_upright
from streamdeid.video.reading import fraction_of, is_cover, largest, open_container, packets_of

_CACHE = 96 << 20
"""Bytes of pictures that are kept."""
_BEFORE = 8
"""Frames before the wanted frame that are kept, too: a user who looks at a frame often steps back."""
_ONWARDS = 24
"""Distance in frames up to which decoding goes on from the present place, even when a key frame is nearer."""


_TRIES = 2
"""Number of earlier key frames that are tried when a container seeks too far; then it is read from its start."""


@dataclass(frozen=True)
class _Index:
    """The places of the frames, by the time stamps of the packets, in units of the stream's time base."""

    stamps: tuple[int, ...]
    """Presentation time of each frame, in order; the frame numbers for a file without presentation times."""
    keys: tuple[int, ...]
    """Presentation times of the frames at which decoding can begin, rising."""
    stamped: bool
    """Whether the file has presentation times; if not, frames are counted from the beginning of the file."""


class SeekingSource:
    """Gives frames of a video file by number, from 0, in the order in which `FileSource` yields them.

    Several threads may ask for frames; one is served at a time. Raises InputError, also in the constructor.
    """

    def __init__(
        self,
        path: Path,
        times: Sequence[float] | NDArray[np.float64] = (),
        *,
        size: tuple[int, int] | None = None,
        cache: int = _CACHE,
        most_pixels: float = MOST_PIXELS,
    ) -> None:
        """times: presentation time of each frame in seconds, where an earlier pass knows it; frames are found by these
        times when the number of packets differs (because a damaged place was left out). size: (width, height) in which
        frames are given, where it is neither the stored size nor that size made even. cache: bytes of pictures to keep.
        most_pixels: as for `FileSource`."""
        self._path = path
        self._times = times
        self._size = size
        self._room, self._most_pixels = cache, most_pixels
        square = Fraction(1)
        self.info: SourceInfo = FileSource(path, tolerant=True, pixel_aspect=square, most_pixels=most_pixels).info
        self._cache: OrderedDict[int, Planes] = OrderedDict()
        self._lock = threading.Lock()
        self._index: _Index | None = None
        self._container: InputContainer | None = None
        self._pictures: Iterator[tuple[int, av.VideoFrame]] = iter(())
        self._at = 0
        """Number of the frame that was decoded last."""
        self._near = 0
        """Time stamp from which every picture is decoded."""

    def __enter__(self) -> SeekingSource:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def beside(self, cache: int) -> SeekingSource:
        """Another source on the same file, for other frames. cache: bytes of pictures that the new source keeps."""
        other = SeekingSource(self._path, self._times, size=self._size, cache=cache, most_pixels=self._most_pixels)
        with self._lock:
            other._index = self._known()
        return other

    def prepare(self) -> int:
        """Make the list of packets if there is none yet, and return the number of frames."""
        with self._lock:
            return len(self._known().stamps)

    def frame(self, number: int) -> Planes:
        """The frame with a number, upright; it must not be written to.

        Raises InputError for a frame that does not exist or cannot be decoded.
        """
        with self._lock:
            if not 0 <= number < len(self._known().stamps):
                raise InputError(f"{self._path} has no frame {number}")
            if number in self._cache:
                self._cache.move_to_end(number)
                return self._cache[number]
            try:
                found = self._decoded(number)
            except (av.FFmpegError, ValueError, OSError) as error:
                found = None
                reason: Exception | None = error
            else:
                reason = None
            if found is None:
                self._stop()
                raise InputError(f"frame {number} of {self._path} cannot be decoded") from reason
            return found

    def forget(self) -> None:
        """Release all pictures and the open file."""
        with self._lock:
            self._cache.clear()
            self._stop()

    def close(self) -> None:
        """Release the pictures and the file; the file is opened again when a frame is asked for."""
        self.forget()

    def _known(self) -> _Index:
        if self._index is None:
            self._index = _index_of(self._path, self._times)
        return self._index

    def _decoded(self, number: int) -> Planes | None:
        index = self._known()
        wanted = index.stamps[number]
        self._near = index.stamps[max(number - _BEFORE, 0)]
        key = max(bisect_right(index.keys, wanted) - 1, 0)
        onwards = self._container is not None and self._at < number
        if onwards and (number - self._at <= _ONWARDS or index.stamps[self._at] >= index.keys[key]):
            found = self._read_to(number)
            if found is not None:
                return found
        for begin in (key, key - 1)[: key + 1]:  # if decoding cannot begin at this key frame, try the one before
            self._pictures = self._from(begin)
            self._at = -1
            found = self._read_to(number)
            if found is not None:
                return found
        return None

    def _read_to(self, number: int) -> Planes | None:
        """Decode up to a frame; None when the frame does not come. Frames shortly before it are kept, too."""
        stamps = self._known().stamps
        for stamp, picture in self._pictures:
            at = bisect_left(stamps, stamp)
            if at == self._at:  # a repeated time stamp
                at += 1
            if at >= len(stamps) or stamps[at] != stamp:
                continue
            self._at = at
            if at > number:
                return None
            if at >= number - _BEFORE:
                planes = self._sized(turn_upright(planes_of(picture, self.info.colour), self.info.orientation))
                self._keep(at, planes)
                if at == number:
                    return planes
        return None

    def _sized(self, planes: Planes) -> Planes:
        if self._size is None or halves(planes.size) == halves(self._size):
            return planes
        return resized(planes, self._size)

    def _keep(self, number: int, planes: Planes) -> None:
        self._cache[number] = planes
        self._cache.move_to_end(number)
        each = planes.y.nbytes + planes.u.nbytes + planes.v.nbytes
        while len(self._cache) > max(self._room // each, 1):
            self._cache.popitem(last=False)

    def _stop(self) -> None:
        self._pictures = iter(())
        if self._container is not None:
            self._container.close()
            self._container = None

    def _from(self, key: int) -> Generator[tuple[int, av.VideoFrame], None, None]:
        """Yield pictures with their time stamps, from a key frame on, in display order."""
        if not self._known().stamped:
            self._stop()
            for number, picture in enumerate(self._opened().decode(_video_of(self._opened()))):
                yield number, picture
            return
        for stream, packet in self._packets(key):
            stamp = packet.pts
            context: Any = stream.codec_context
            context.skip_frame = "NONREF" if stamp is not None and stamp < self._near else "DEFAULT"
            for picture in stream.decode(packet):
                if picture.pts is not None:
                    yield picture.pts, picture

    def _packets(self, key: int) -> Iterator[tuple[av.VideoStream, Any]]:
        """Yield packets from a key frame on, from an earlier one where seeking misses it; the last packet is empty."""
        keys = self._known().keys[: key + 1]
        for begin in range(key, max(key - _TRIES, 0) - 1, -1):
            container = self._opened()
            stream = _video_of(container)
            container.seek(keys[begin], stream=stream)
            packets = iter(container.demux(stream))
            for packet in packets:
                if packet.is_keyframe and packet.pts in keys:
                    yield stream, packet
                    yield from ((stream, each) for each in packets)
                    return
                if packet.pts is None or packet.pts > keys[-1]:
                    break  # too far
        self._stop()
        stream = _video_of(self._opened())
        yield from ((stream, each) for each in self._opened().demux(stream))

    def _opened(self) -> InputContainer:
        if self._container is None:
            self._container = open_container(self._path, self._most_pixels)
            video = _video_of(self._container)
            video.thread_type = "AUTO"
            video.thread_count = 0  # as many as there are cores
            video.codec_context.options = largest(self._most_pixels)
        return self._container


def frame_times(path: Path, time_base: Fraction) -> tuple[list[Fraction], list[int]]:
    """Presentation times of a file's frames, seconds, in order, and the numbers of frames at which decoding can begin.

    time_base: of the file's video. Nothing is decoded, so a damaged file may turn out to have fewer frames. Raises
    InputError where the times are not known.
    """
    index = _index_of(path, ())
    if not index.stamped or len(set(index.stamps)) != len(index.stamps):
        raise InputError(f"{path} does not tell the times of its frames")
    keys = set(index.keys)
    return [stamp * time_base for stamp in index.stamps], [
        number for number, stamp in enumerate(index.stamps) if stamp in keys
    ]


def halves(size: tuple[int, int]) -> tuple[int, int]:
    """The size of a picture in chroma samples; it stays the same when codecs pad the picture to even sides."""
    return (size[0] + 1) // 2, (size[1] + 1) // 2


def _video_of(container: InputContainer) -> av.VideoStream:
    """The stream that `FileSource` reads."""
    return next(stream for stream in container.streams.video if not is_cover(stream))


def _index_of(path: Path, times: Sequence[float] | NDArray[np.float64]) -> _Index:
    """Make the index of a file from all its packets. Raises InputError."""
    shown: list[int] = []
    keys: list[int] = []
    unstamped = count = 0
    try:
        with open_container(path, None) as container:
            stream = _video_of(container)
            base = fraction_of(stream.time_base)
            for packet in packets_of(container, stream):
                if packet.is_discard or not (count or packet.is_keyframe):
                    continue
                count += 1
                if packet.pts is None:
                    unstamped += 1
                    continue
                shown.append(packet.pts)
                if packet.is_keyframe:
                    keys.append(packet.pts)
    except (av.FFmpegError, ValueError, OSError, StopIteration) as error:
        if not count:
            raise InputError(f"{path} cannot be read") from error
    if unstamped or base is None:
        return _Index(tuple(range(len(times) or count)), (0,), False)
    first = keys[0]  # pictures shown before this one refer to pictures from before the file began
    stamps = sorted(stamp for stamp in shown if stamp >= first)
    if len(times) not in (0, len(stamps)):
        stamps = [_nearest(stamps, float(time / base)) for time in times]
    return _Index(tuple(stamps), tuple(sorted(keys)), True)


def _nearest(stamps: Sequence[int], wanted: float) -> int:
    at = bisect_left(stamps, wanted)
    return min(stamps[max(at - 1, 0) : at + 1], key=lambda stamp: abs(stamp - wanted))
