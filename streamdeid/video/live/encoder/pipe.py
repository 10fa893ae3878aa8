"""What a live sink and its encoder process say to each other over pipes: small binary headers, never pickle.

To the process: an `EncoderOpening` as JSON (it may hold a password, so it goes over the pipe and nowhere else), frames
as a header and three raw planes, and the wish to end. Back: one reply for each of them, with its number.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from streamdeid.core.arrays import Plane
from streamdeid.core.frames import Colour, Planes

CLOCK = 90_000
"""Ticks per second of the times of frames."""
LARGEST_SIDE = 16_384
"""Pixels; what is larger is a damaged header."""

OPEN, FRAME, END = b"O", b"F", b"E"
READY, OPENED, TAKEN, ENDED, FAILED = b"R", b"O", b"T", b"E", b"X"
WRONG_PASSWORD = "the server wants a user and a password, or others (401)"
"""The reason after which trying again at once could lock the user out."""
_COMMAND = struct.Struct("<cI")
"""Kind, bytes of JSON that follow."""
_FRAME = struct.Struct("<QqIIBB")
"""Number, time in ticks, width, height, place of the matrix in `_MATRICES`, full range."""
_REPLY = struct.Struct("<cQI")
"""Kind, number of the frame, bytes of text that follow."""
_MATRICES = ("bt601", "bt709")


@dataclass(frozen=True)
class EncoderOpening:
    """Everything the process needs to open an encoder and an output."""

    target: str
    """What FFmpeg opens: an address, the absolute path of a file, or `pipe:1`."""
    muxer: str
    muxer_options: dict[str, str]
    codec: str
    codec_options: dict[str, str]
    width: int
    height: int
    """Of the picture; the encoder's is even."""
    matrix: str
    full_range: bool
    rate: float
    """Frames per second, a hint for the encoder."""
    key_interval: float
    """Seconds."""
    timeout: float
    """Seconds after which the kernel gives up a server that does not confirm data."""
    aspect: str = ""
    """Width of a pixel by its height, as in `16/11`; empty where nothing is said."""


@dataclass(frozen=True)
class SentFrame:
    """A frame as the process gets it."""

    number: int
    time: int
    """In ticks of `CLOCK`."""
    planes: Planes


@dataclass(frozen=True)
class Reply:
    """What the process says: kind, number of the frame it is about, and the reason of a failure."""

    kind: bytes
    number: int
    text: str


def open_command(opening: EncoderOpening) -> list[memoryview]:
    """The bytes that ask for an opening."""
    text = json.dumps(asdict(opening)).encode()
    return [memoryview(_COMMAND.pack(OPEN, len(text)) + text)]


def end_command() -> list[memoryview]:
    """The bytes that ask to finish the output."""
    return [memoryview(_COMMAND.pack(END, 0))]


def frame_command(number: int, time: int, planes: Planes) -> list[memoryview]:
    """The bytes of a frame; the planes are not copied when they lie in one piece. time: in ticks of `CLOCK`."""
    width, height = planes.size
    matrix = _MATRICES.index(planes.colour.matrix)
    header = _FRAME.pack(number, time, width, height, matrix, planes.colour.full_range)
    flat = (np.ascontiguousarray(plane, np.uint8).reshape(-1).data for plane in (planes.y, planes.u, planes.v))
    return [memoryview(_COMMAND.pack(FRAME, 0) + header), *flat]


def commands(handle: int) -> Iterator[EncoderOpening | SentFrame | None]:
    """What the other side asks for, until it closes the pipe; None asks to finish the output.

    A command that was cut off is as good as none. Raises ValueError for a damaged one.
    """
    while (head := _read(handle, _COMMAND.size)) is not None:
        kind, length = _COMMAND.unpack(head.data)
        if kind == OPEN:
            text = _read(handle, length)
            if text is None:
                return
            yield EncoderOpening(**json.loads(bytes(text)))
        elif kind == FRAME:
            frame = _read_frame(handle)
            if frame is None:
                return
            yield frame
        elif kind == END:
            yield None
        else:
            raise ValueError("a damaged command")


def reply(handle: int, kind: bytes, number: int = 0, text: str = "") -> None:
    """Send a reply. Raises OSError when nobody listens any more."""
    line = text.encode(errors="replace")
    os.write(handle, _REPLY.pack(kind, number, len(line)) + line)


class Replies:
    """Puts the pieces of replies together."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[Reply]:
        """The replies that are whole now."""
        self._rest += piece
        found = []
        while len(self._rest) >= _REPLY.size:
            kind, number, length = _REPLY.unpack_from(self._rest)
            end = _REPLY.size + length
            if len(self._rest) < end:
                break
            found.append(Reply(kind, number, self._rest[_REPLY.size : end].decode(errors="replace")))
            self._rest = self._rest[end:]
        return found


def _read_frame(handle: int) -> SentFrame | None:
    header = _read(handle, _FRAME.size)
    if header is None:
        return None
    number, time, width, height, matrix, full_range = _FRAME.unpack(header.data)
    if not (0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE and matrix < len(_MATRICES)):
        raise ValueError("a damaged header of a frame")
    planes = []
    for columns, rows in (
        (width, height),
        ((width + 1) // 2, (height + 1) // 2),
        ((width + 1) // 2, (height + 1) // 2),
    ):
        data = _read(handle, rows * columns)
        if data is None:
            return None
        planes.append(data.reshape(rows, columns))
    return SentFrame(number, time, Planes(planes[0], planes[1], planes[2], Colour(_MATRICES[matrix], bool(full_range))))


def _read(handle: int, length: int) -> Plane | None:
    data = np.empty(length, np.uint8)
    view, done = data.data, 0
    while done < length:
        count = os.readv(handle, [view[done:]])
        if count == 0:
            return None
        done += count
    return data
