"""Messages between a live sink and its encoder process over pipes: small binary headers, never pickle.

The process gets an `EncoderOpening` as JSON (it may hold a password, so it goes through the pipe only), frames as a
header and three raw planes, and the command to end. It sends one reply for each of them, with its number.
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
"""Pixels; a header with a larger side is damaged."""

OPEN, FRAME, END = b"O", b"F", b"E"
READY, OPENED, TAKEN, ENDED, FAILED = b"R", b"O", b"T", b"E", b"X"
WRONG_PASSWORD = "the server wants a user and a password, or others (401)"
"""A reason after which trying again at once could lock the user out."""
_COMMAND = struct.Struct("<cI")
"""Fields: kind, bytes of JSON that follow."""
_FRAME = struct.Struct("<QqIIBB")
"""Fields: number, time in ticks, width, height, index of the matrix in `_MATRICES`, full range."""
_REPLY = struct.Struct("<cQI")
"""Fields: kind, number of the frame, bytes of text that follow."""
_MATRICES = ("bt601", "bt709")


@dataclass(frozen=True)
class EncoderOpening:
    """Everything the process needs to open an encoder and an output."""

    target: str
    """The output that FFmpeg opens: an address, the absolute path of a file, or `pipe:1`."""
    muxer: str
    muxer_options: dict[str, str]
    codec: str
    codec_options: dict[str, str]
    width: int
    height: int
    """Size of the picture in pixels; the encoder pads it to even sides."""
    matrix: str
    full_range: bool
    rate: float
    """Frames per second, a hint for the encoder."""
    key_interval: float
    """Seconds from one key frame to the next."""
    timeout: float
    """Seconds after which the kernel gives up a server that does not confirm data."""
    aspect: str = ""
    """Width of a pixel by its height, as in `16/11`; empty where it is not known."""


@dataclass(frozen=True)
class SentFrame:
    """A frame as the process gets it."""

    number: int
    time: int
    """Time in ticks of `CLOCK`."""
    planes: Planes


@dataclass(frozen=True)
class Reply:
    """A reply of the process: its kind, the number of the frame it is about, and the reason of a failure."""

    kind: bytes
    number: int
    text: str


def open_command(opening: EncoderOpening) -> list[memoryview]:
    """The bytes of the command to open an output."""
    text = json.dumps(asdict(opening)).encode()
    return [memoryview(_COMMAND.pack(OPEN, len(text)) + text)]


def end_command() -> list[memoryview]:
    """The bytes of the command to finish the output."""
    return [memoryview(_COMMAND.pack(END, 0))]


def frame_command(number: int, time: int, planes: Planes) -> list[memoryview]:
    """The bytes of a frame; planes that are contiguous in memory are not copied. time: in ticks of `CLOCK`."""
    width, height = planes.size
    matrix = _MATRICES.index(planes.colour.matrix)
    header = _FRAME.pack(number, time, width, height, matrix, planes.colour.full_range)
    flat = (np.ascontiguousarray(plane, np.uint8).reshape(-1).data for plane in (planes.y, planes.u, planes.v))
    return [memoryview(_COMMAND.pack(FRAME, 0) + header), *flat]


def commands(handle: int) -> Iterator[EncoderOpening | SentFrame | None]:
    """Yield the commands of the other side until it closes the pipe; None is the command to finish the output.

    A command that is cut off ends the iteration. Raises ValueError for a damaged command.
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
    """Send a reply. Raises OSError when the other end of the pipe is closed."""
    line = text.encode(errors="replace")
    os.write(handle, _REPLY.pack(kind, number, len(line)) + line)


class Replies:
    """Puts replies together from the pieces that were read."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[Reply]:
        """Take the next piece and return the replies that are complete now."""
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
