"""One connection to a camera: opened with a deadline and read packet by packet; it gives undamaged pictures only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer

from streamdeid.core.frames import MOST_PIXELS, Planes
from streamdeid.errors import InputError
from streamdeid.video.live.camera_address import is_refusal, opening, reason_of
from streamdeid.video.live.coded_gaps import CodedGaps
from streamdeid.video.live.decode_lag import DecodeLag
from streamdeid.video.live.picture_ends import EARLY, PictureEnds
from streamdeid.video.pictures import colour_of, orientation_of, planes_of, turn_upright
from streamdeid.video.pixel_aspect import SaidAspect, upright
from streamdeid.video.reading import TEXT, fraction_of, is_cover, largest, open_container, packets_of, too_large

_DEFAULT_RATE = 25.0
_SLOWEST_RATE, _FASTEST_RATE = 0.2, 240.0
_KEY_PATIENCE = 12.0
"""Seconds that a key frame may take while packets come: some cameras' codecs send one key frame in ten seconds."""
_WAITING_MOST = 64
"""Most packets whose arrival is remembered until their picture comes out of the decoder."""
_LOW_DELAY = 0x80000
"""AV_CODEC_FLAG_LOW_DELAY."""


class ConnectionLost(Exception):
    """A connection could not be made or has ended; the message is a few words without address and password."""

    def __init__(self, reason: str, *, refused: bool = False, ended: bool = False) -> None:
        super().__init__(reason)
        self.refused = refused
        """Whether user or password were refused."""
        self.ended = ended
        """Whether the stream came to its regular end."""


@dataclass(frozen=True)
class DecodedPicture:
    """A decoded picture that may still be left out; it refers to the decoder's memory, and `planes` copies it."""

    picture: av.VideoFrame
    stamp: Fraction | None
    """The stream's own time in seconds."""
    arrived: float
    """`time.monotonic` when its packet had been read."""
    aspect: Fraction | None = None
    """Width of a coded pixel by its height, as the stream states it."""

    def planes(self) -> Planes:
        """The upright picture with its stored pixels. Raises ValueError or av.FFmpegError for a pixel format that
        cannot be converted."""
        colour = colour_of(self.picture, int(self.picture.colorspace), int(self.picture.color_range))
        return turn_upright(planes_of(self.picture, colour), orientation_of(self.picture))

    def upright_aspect(self) -> Fraction | None:
        """Width of a pixel of the upright picture by its height; None where the stream does not state it."""
        return None if self.aspect is None else upright(self.aspect, orientation_of(self.picture))


class CameraConnection:
    """One connection to a camera (URL, device), or one pass over a file.

    Timeouts are in seconds; opening may take twice its timeout, reading and closing may take theirs once.
    codec: the codec of the last connection, None for the first one. most_pixels: million pixels that a picture may
    have; no memory is allocated for larger ones. Raises ConnectionLost, also in the constructor.
    """

    def __init__(
        self,
        address: str,
        transport: str,
        open_timeout: float,
        read_timeout: float,
        *,
        file: bool,
        codec: str | None = None,
        most_pixels: float = MOST_PIXELS,
    ) -> None:
        self._address = address
        self._read_timeout = read_timeout
        self._file = file
        begun = time.monotonic()
        self.damaged = 0
        """Number of places where data were missing or could not be decoded."""
        try:
            # Without its parser FFmpeg takes longer to analyse a stream, a second for HEVC, so the parser is left out
            # only where this is useful.
            parsed = file or not address.lower().startswith(("rtsp://", "rtsps://")) or codec not in (None, EARLY)
            self._container = _open(address, transport, open_timeout, read_timeout, file, parsed, most_pixels)
        except InputError as error:
            raise ConnectionLost(str(error).removeprefix(f"{address} cannot be read: ")) from None
        except MemoryError:
            raise
        except (av.FFmpegError, OSError, ValueError) as error:
            # FFmpeg reports an answer that does not come in time as several errors, one of them is "invalid data".
            late = time.monotonic() - begun >= 0.9 * open_timeout
            reason = reason_of(error, address, opened=False, late=late, patience=open_timeout)
            raise ConnectionLost(reason, refused=is_refusal(error)) from None
        try:
            self._stream = _video_of(self._container, most_pixels)
        except ConnectionLost:
            self._container.close()
            raise
        self._packets: Any = packets_of(self._container)
        self._codec = self._stream.codec_context.codec.canonical_name
        self._base = fraction_of(self._stream.time_base)
        self._ends = None if parsed else PictureEnds(self._codec)
        self._gaps = CodedGaps(self._codec, self._stream.codec_context.extradata)
        self._sound = False
        self._format: str | None = None
        self._arrivals: dict[int, float] = {}
        now = time.monotonic()
        self._packet_at = self._sound_at = self._key_wanted_since = now
        self._lag = DecodeLag(now)
        self._said = SaidAspect(self._stream)

    @property
    def codec(self) -> str:
        """FFmpeg's name of the codec."""
        return str(self._codec)

    @property
    def rate(self) -> float:
        """Frames per second as the stream states them, or 25."""
        words = (self._stream.average_rate, self._stream.codec_context.framerate, self._stream.guessed_rate)
        rates = (float(rate) for rate in map(fraction_of, words) if rate)
        return next((rate for rate in rates if _SLOWEST_RATE <= rate <= _FASTEST_RATE), _DEFAULT_RATE)

    def read(self) -> list[DecodedPicture]:
        """Wait for the next packet, up to the deadline, and return the pictures it completes: none, one or more.

        Pictures from a damaged place to the next key frame and pictures before the first key frame are left out.
        """
        begun = time.monotonic()
        packet = self._next()
        now = time.monotonic()
        self._lag.read(begun, now)
        found: list[DecodedPicture] = []
        if packet is None:
            found = [one for last in self._whole(None) for one in self._coded(last, now)] + self._pictures(None, now)
            if not found:
                raise ConnectionLost("the stream ended", ended=True)
            return found
        if packet.stream_index == self._stream.index and packet.size:
            self._packet_at = now
            found = [one for whole in self._whole(packet) for one in self._coded(whole, now)]
        if not self._file:
            self._check_patience(bool(found), now)
            if any(self._lag.late(picture.stamp, now) for picture in found):
                raise ConnectionLost("its pictures come faster than this machine decodes them")
        return found

    def close(self) -> None:
        """End the connection."""
        self._packets.close()
        self._container.close()

    def _next(self) -> Any:
        begun = time.monotonic()
        try:
            packet = next(self._packets, None)
        except MemoryError:
            raise
        except (av.FFmpegError, OSError, ValueError) as error:
            late = time.monotonic() - begun >= 0.9 * self._read_timeout
            reason = reason_of(error, self._address, opened=True, late=late, patience=self._read_timeout)
            raise ConnectionLost(reason, refused=is_refusal(error)) from None
        if not self._file and time.monotonic() - begun >= self._read_timeout:
            # At its deadline FFmpeg first gives the frame that its parser held back, and then waits once more.
            raise ConnectionLost(f"nothing came for {self._read_timeout:g} s")
        return packet

    def _whole(self, packet: Any) -> list[Any]:
        """The packets of the whole coded pictures that this packet completes. packet None: the stream ended."""
        if self._ends is None:
            return [] if packet is None else [packet]
        if packet is None:
            given = self._ends.rest()
        else:
            if packet.is_corrupt:
                self._note()
            given = self._ends.add(bytes(packet), packet.pts)
        made = []
        for one in given:
            whole = av.Packet(one.data)
            whole.pts, whole.stream = one.stamp, self._stream
            if self._base is not None:
                whole.time_base = self._base
            made.append(whole)
        return made

    def _coded(self, packet: Any, now: float) -> list[DecodedPicture]:
        """The decoded pictures that come out after this whole coded picture went into the decoder."""
        if packet.pts is not None:
            self._arrivals[packet.pts] = now
            if len(self._arrivals) > _WAITING_MOST:
                del self._arrivals[next(iter(self._arrivals))]
        if packet.is_corrupt or self._gaps.before(bytes(packet)):
            self._note()
        return self._pictures(packet, now)

    def _pictures(self, packet: Any, now: float) -> list[DecodedPicture]:
        try:
            decoded = self._stream.decode(packet)
        except av.EOFError:
            return []
        except MemoryError:
            raise
        except (av.FFmpegError, ValueError):
            self._note()
            return []
        return [self._picture(picture, now) for picture in decoded if self._is_sound(picture)]

    def _is_sound(self, picture: av.VideoFrame) -> bool:
        if picture.is_corrupt:
            self._note()
        elif picture.key_frame:
            self._sound = True
        return self._sound

    def _note(self) -> None:
        """Record that data are missing: until the next key frame pieces of faces may be at places where nobody is."""
        if self._sound:
            self._key_wanted_since = time.monotonic()
            self.damaged += 1
        self._sound = False

    def _picture(self, picture: av.VideoFrame, now: float) -> DecodedPicture:
        stamp = None if picture.pts is None or self._base is None else picture.pts * self._base
        arrived = now if picture.pts is None else self._arrivals.pop(picture.pts, now)
        found = DecodedPicture(picture, stamp, arrived, self._said.now())
        if picture.format.name != self._format:
            try:
                found.planes()
            except (av.FFmpegError, ValueError):
                raise ConnectionLost(f"its pixel format {picture.format.name} is not supported") from None
            self._format = picture.format.name
        return found

    def _check_patience(self, found: bool, now: float) -> None:
        if self._stream.codec_context.codec.canonical_name != self._codec:
            raise ConnectionLost("its codec changed")
        if found:
            self._sound_at = now
        elif now - self._packet_at > self._read_timeout:
            raise ConnectionLost(f"no video came for {self._read_timeout:g} s, though other data did")
        elif self._sound and now - self._sound_at > self._read_timeout:
            raise ConnectionLost(f"no picture could be decoded for {self._read_timeout:g} s")
        elif not self._sound and now - self._key_wanted_since > max(_KEY_PATIENCE, self._read_timeout):
            raise ConnectionLost(f"no picture could be decoded for {max(_KEY_PATIENCE, self._read_timeout):g} s")


def _open(
    address: str, transport: str, open_timeout: float, read_timeout: float, file: bool, parsed: bool, most_pixels: float
) -> InputContainer:
    if file:
        return open_container(Path(address), most_pixels)
    how = opening(address, transport, open_timeout, read_timeout, parsed)
    container: InputContainer = av.open(
        how.name,
        mode="r",
        format=how.format,
        options=largest(most_pixels),
        container_options=how.options,
        timeout=(open_timeout, read_timeout),
        **TEXT,
    )
    return container


def _video_of(container: InputContainer, most_pixels: float) -> av.VideoStream:
    streams = [stream for stream in container.streams.video if not is_cover(stream)]
    if not streams:
        raise ConnectionLost("there is no video in it")
    stream = streams[0]
    if stream.codec_context is None:
        raise ConnectionLost("its video codec is not supported")
    reason = too_large(stream.codec_context.width, stream.codec_context.height, most_pixels)
    if reason:
        raise ConnectionLost(reason)
    # Threads over frames would delay the pictures by as many frames as there are threads.
    stream.thread_type = "SLICE"
    stream.codec_context.flags |= _LOW_DELAY
    options = largest(most_pixels)
    if stream.codec_context.name == "hevc":
        # Without "explode" its decoder leaves out pictures without references and reports no error.
        options["err_detect"] = "explode"
    stream.codec_context.options = options
    return stream
