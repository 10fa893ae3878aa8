"""Reads a video file once: decoded pictures in display order, and the ledger of damage.

A file counts as damaged when the demuxer or the decoder reports it, when the container promises more than it holds, or
when coded pictures get lost. Flipped bits that give other valid syntax cannot be detected without a checksum.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import av
from av.container import InputContainer

from streamdeid.core.frames import MOST_PIXELS
from streamdeid.errors import InputError
from streamdeid.video.wholeness import cut_off

# Only containers of video: playlists and scripts (HLS, concat, SDP) can name other files and hosts, and the text
# demuxers would render a text file as video.
_CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,mpegvideo,h264,hevc,m4v,obu,ivf,flv,live_flv,asf,ogg,mxf,gxf,"
    "dv,rm,wtv,nut,yuv4mpegpipe,mjpeg,h261,h263,gif,mp3,wav,flac,aac"
)
_PROMISING = {"mov": Fraction(1, 4), "matroska": Fraction(1, 4), "avi": Fraction(2), "asf": Fraction(5)}
"""Containers whose header states their duration, with the seconds by which the duration of an undamaged file may be too
long (or 1 % of it, where that is more)."""
_ONE_PICTURE_PER_PACKET = {"h264", "hevc", "av1", "vp9"}
_DEMUX_RETRIES = 20
_MEMORY = "a part of it says that it is larger than the memory"
TEXT: dict[str, Any] = {} if int(av.__version__.split(".")[0]) >= 19 else {"metadata_errors": "replace"}
"""Options of `av.open` so that titles in other encodings than UTF-8 raise no error; PyAV 19 does not need them."""


class Ratio(Protocol):
    """A fraction in PyAV's class for it: `Fraction` up to PyAV 18, `AVRational` (0/0: unknown) from 19 on."""

    @property
    def numerator(self) -> int: ...

    @property
    def denominator(self) -> int: ...


def fraction_of(ratio: Ratio | None) -> Fraction | None:
    """The ratio as an exact fraction, or None when it is zero or unknown."""
    if ratio is None or not ratio.numerator or not ratio.denominator:
        return None
    return Fraction(ratio.numerator, ratio.denominator)


def open_container(path: Path, most_pixels: float | None) -> InputContainer:
    """Open a video file, never a URL, a playlist or a script. Raises av.FFmpegError, ValueError and InputError.

    most_pixels: million pixels that a picture may have. No memory is allocated for a larger picture, not even while
    FFmpeg analyses the streams. None: no limit, for a file that was opened with a limit before.
    """
    try:
        container = _opened(path, **({} if most_pixels is None else largest(most_pixels)))
    except av.error.MemoryError as error:  # FFmpeg's: the header asks for more memory than any machine has
        raise InputError(f"{path} cannot be read: {_MEMORY}") from error
    reason = None if most_pixels is None else _too_large_in(container, path, most_pixels)
    if reason:
        container.close()
        raise InputError(f"{path} cannot be read: {reason}")
    return container


def largest(most_pixels: float) -> dict[str, str]:
    """The decoder option that refuses larger pictures before memory is allocated for them.

    It allows twice the number, because decoders count whole blocks. `too_large` checks the size in a header against the
    number itself.
    """
    return {"max_pixels": str(round(2e6 * most_pixels))}


def too_large(width: int, height: int, most_pixels: float) -> str | None:
    """Why pictures of this size (pixels) are refused, in words; None where they are not refused."""
    if width * height <= round(most_pixels * 1e6):
        return None
    return (
        f"its pictures have {width}x{height} pixels, more than {most_pixels:g} million; "
        "--most-pixels allows more, and they need the memory"
    )


def _too_large_in(container: InputContainer, path: Path, most_pixels: float) -> str | None:
    for stream in container.streams.video:
        if stream.codec_context is None or is_cover(stream):
            continue
        width, height = stream.codec_context.width, stream.codec_context.height
        if not width or not height:
            # FFmpeg does not decode a picture that is too large, and then forgets its size. Opened without any decoder,
            # the file gives the size in its header.
            with _opened(path, codec_whitelist="none") as told:
                same = next((one for one in told.streams.video if one.index == stream.index), None)
                if same is not None and same.codec_context is not None:
                    width, height = same.codec_context.width, same.codec_context.height
        reason = too_large(width, height, most_pixels)
        if reason:
            return reason
    return None


def _opened(path: Path, **options: str) -> InputContainer:
    # With "file:" a name such as "rtsp:x.mp4" or "concat:a|b" is not mistaken for a protocol.
    container: InputContainer = av.open(
        f"file:{path}",
        mode="r",
        options=options,
        container_options={"protocol_whitelist": "file", "format_whitelist": _CONTAINERS},
        **TEXT,
    )
    return container


def packets_of(container: InputContainer, *streams: av.stream.Stream) -> Iterator[av.Packet[Any]]:
    """Yield the packets of some streams, or of all, without the empty packets that PyAV adds at the end of the file.

    Raises av.FFmpegError, OSError and ValueError.
    """
    demuxed: Any = container.demux(streams or None)
    with contextlib.closing(demuxed) as packets:
        while True:
            try:
                packet = next(packets, None)
            except IndexError:
                # PyAV raises this after the last packet when streams appeared on the way that it does not know.
                return
            if packet is None:
                return
            if packet.size:
                yield packet


class Reading:
    """One pass over a file, which gives decoded pictures in display order and keeps the ledger of damage."""

    def __init__(self, path: Path, tolerant: bool, threads: int, most_pixels: float = MOST_PIXELS) -> None:
        self.path, self.tolerant = path, tolerant
        self.damaged = 0
        self.damage: str | None = None
        try:
            self.container = open_container(path, most_pixels)
        except MemoryError:
            raise
        except (av.FFmpegError, ValueError, OSError) as error:
            reason = cut_off(path) or "is not a video file, or its header is damaged"
            raise InputError(f"{path} cannot be read: the file {reason}") from error
        streams = [stream for stream in self.container.streams.video if not is_cover(stream)]
        if not streams:
            self.container.close()
            raise InputError(f"{path} cannot be read: the file has no video in it")
        self.stream = streams[0]
        if self.stream.codec_context is None:
            self.container.close()
            raise InputError(f"{path} cannot be read: its video codec is not supported")
        self.stream.thread_type = "AUTO" if threads != 1 else "NONE"
        self.stream.thread_count = threads
        options = largest(most_pixels)
        if self.stream.codec_context.name == "hevc" and not tolerant:
            # Without "explode" the HEVC decoder drops pictures without references and reports no error.
            options["err_detect"] = "crccheck+explode"
        self.stream.codec_context.options = options
        self._ledger = PictureLedger(self.stream.codec_context.codec.canonical_name)
        self._key_seen = False
        self._misread = False
        self._smeared = False
        self._end: Fraction | None = None

    def note(self, reason: str, *, smears: bool = True) -> None:
        """Record a damaged place. smears: whether it also damages the pictures that follow."""
        self.damaged += 1
        self._smeared |= smears
        self.damage = self.damage or reason

    def pictures(self) -> Generator[av.VideoFrame, None, None]:
        """Yield decoded pictures; in strict mode the last picture is the one before the first damage.

        In tolerant mode the pictures from a damaged place to the next key frame are left out. They may show half
        decoded pieces of faces, at old places or where nobody is, and no detector finds such pieces.
        """
        for packet in self._packets():
            if packet.is_corrupt and self._key_seen:
                self.note("a part of it is missing or was damaged")
                if not self.tolerant:
                    break
            if packet.stream_index != self.stream.index:
                continue
            self._key_seen = self._key_seen or packet.is_keyframe
            self._ledger.sent(packet.pts, packet.is_discard)
            yield from self._sound(self._decode(packet))
            if self.damaged and not self.tolerant:
                break
        if not self._misread:
            yield from self._sound(self._decode(None))
        if not self.damaged:
            self._check_promises()

    def _packets(self) -> Iterator[av.Packet[av.stream.Stream]]:
        for _ in range(_DEMUX_RETRIES):
            whole = yield from self._demuxed()
            if whole or not self.tolerant:
                return

    def _demuxed(self) -> Generator[av.Packet[av.stream.Stream], None, bool]:
        """Yield packets up to the end (returns True) or up to the next unreadable place (returns False)."""
        try:
            # `packets_of` leaves out empty packets: they would tell the decoder that the stream ends.
            for packet in packets_of(self.container):
                self._remember_end(packet)
                yield packet
        except av.error.MemoryError as error:  # FFmpeg's: because of sizes in the file, before anything is decoded
            raise InputError(f"{self.path} cannot be read: {_MEMORY}") from error
        except MemoryError:
            raise
        except (av.FFmpegError, OSError, ValueError):
            self.note("a part of it cannot be read")
            return False
        return True

    def _remember_end(self, packet: av.Packet[av.stream.Stream]) -> None:
        stamp = packet.dts if packet.pts is None else packet.pts
        base = fraction_of(packet.time_base)
        if stamp is not None and base is not None:
            end = (stamp + (packet.duration or 0)) * base
            self._end = end if self._end is None else max(self._end, end)

    def _decode(self, packet: av.Packet[av.stream.Stream] | None) -> list[av.VideoFrame]:
        try:
            return self.stream.decode(packet)
        except av.EOFError:
            return []
        except MemoryError:  # PyAV's own is one of FFmpeg's errors too, but the file is not to blame
            raise
        except (av.FFmpegError, ValueError):
            # Before the first key frame nothing can be decoded: the recording was cut out of a broadcast.
            if self._key_seen:
                self.note("a picture of it cannot be decoded")
            return []

    def _sound(self, pictures: list[av.VideoFrame]) -> Iterator[av.VideoFrame]:
        for picture in pictures:
            if picture.is_corrupt:
                self.note("a picture of it was damaged")
                if not self.tolerant:
                    self._misread = True
                    return
            elif picture.key_frame:
                self._smeared = False
            self._ledger.received(picture.pts, picture.interlaced_frame)
            if not self._smeared:
                yield picture

    def _check_promises(self) -> None:
        reason = cut_off(self.path)
        if reason:
            self.note(f"the file {reason}")
        if self._ledger.lost():
            self.note(f"{self._ledger.lost()} pictures of it cannot be decoded")
        families = set(self.container.format.name.split(","))
        entries = getattr(self.stream, "index_entries", None)  # PyAV 15 and later
        if entries is not None and families & {"mov", "avi"}:
            missing = sum(entry.size > 0 for entry in entries) - self._ledger.packets
            if missing > 0:
                self.note(f"its index promises {missing} more pictures than it holds")
        slack = next((_PROMISING[family] for family in families if family in _PROMISING), None)
        if slack is not None and self.container.duration and self._end is not None:
            promised = Fraction(self.container.duration, av.time_base)
            if self._end < promised - max(slack, promised / 100):
                self.note(f"its header promises {float(promised):.1f} s, it holds {float(self._end):.1f} s")


class PictureLedger:
    """Compares the numbers of coded and decoded pictures, for codecs with exactly one picture in a packet."""

    def __init__(self, codec: str) -> None:
        self.packets = 0
        self._comparable = codec in _ONE_PICTURE_PER_PACKET
        self._early: list[int] = []
        self._first: int | None = None
        self._balance = 0

    def sent(self, pts: int | None, discard: bool) -> None:
        """Count a packet that went into the decoder."""
        self.packets += 1
        if pts is None:
            self._comparable = False
        elif self._comparable and not discard:
            if self._first is None:
                self._early.append(pts)
            else:
                self._balance += pts >= self._first

    def received(self, pts: int | None, interlaced: bool) -> None:
        """Count a picture that came out of the decoder."""
        # Two fields may come in two packets and make one picture.
        self._comparable = self._comparable and not interlaced and pts is not None
        if pts is not None and self._first is None:
            # Pictures shown before the first decodable one refer to pictures from before the file began.
            self._first = pts
            self._balance += sum(early >= pts for early in self._early)
            self._early.clear()
        self._balance -= 1

    def lost(self) -> int:
        """Number of pictures that went into the decoder and never came out; 0 when this is not known."""
        return max(0, self._balance) if self._comparable else 0


def is_cover(stream: av.VideoStream) -> bool:
    """Whether a stream is not a video but a picture attached to the file, such as an album cover."""
    return bool(int(stream.disposition.value) & 0x400)  # AV_DISPOSITION_ATTACHED_PIC
