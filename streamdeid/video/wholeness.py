"""Finds whether a file was cut off, from its outermost structure alone, without decoding.

FFmpeg reads a Matroska file that lost its second half and reports no error; the sizes written in the file show it.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

from streamdeid.core.system_reason import system_reason

_ISO_FIRST_BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp", b"pnot", b"uuid")
_EBML_HEADER = 0x1A45DFA3
_MATROSKA_SEGMENT = 0x18538067
_TS_SYNC = 0x47
_TS_PACKET_SIZES = ((188, 0), (192, 4), (204, 0))


def cut_off(path: Path) -> str | None:
    """Why the file cannot be whole, in words that complete "the file …"; None when there is no sign of it.

    This function knows MP4/MOV boxes, Matroska/WebM segments, AVI chunks and MPEG-TS packets.
    """
    try:
        return _cut_off(path)
    except OSError as error:  # the file or its disk was removed meanwhile
        return f"cannot be looked at any more: {system_reason(error)}"


def _cut_off(path: Path) -> str | None:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(4096)
        if start[4:8] in _ISO_FIRST_BOXES:
            return _iso_boxes(file, size)
        if start[:4] == b"\x1a\x45\xdf\xa3":
            return _matroska(file, size)
        if start[:4] == b"RIFF" and start[8:12] == b"AVI ":
            return _riff(file, size)
    for packet, offset in _TS_PACKET_SIZES:
        syncs = start[offset::packet]
        if len(syncs) >= 5 and set(syncs) == {_TS_SYNC}:
            return "ends in the middle of a packet" if size % packet else None
    return None


def _short(promised: int, size: int) -> str | None:
    return f"is {promised - size} bytes shorter than it says" if promised > size else None


def _iso_boxes(file: BinaryIO, size: int) -> str | None:
    position, names, reason = 0, set(), None
    while position + 8 <= size:
        file.seek(position)
        head = file.read(16)
        length, name = struct.unpack(">I4s", head[:8])
        if length == 1 and len(head) == 16:
            length = struct.unpack(">Q", head[8:])[0]
        elif length == 0:  # the last box reaches to the end of the file
            length = size - position
        if length < 8 or not name.isascii():  # junk after the last box is harmless
            break
        names.add(name)
        position += length
        reason = _short(position, size)
    return reason if b"moov" in names else "has no index (moov): the recording was not finished"


def _riff(file: BinaryIO, size: int) -> str | None:
    position = 0
    while position + 8 <= size:
        file.seek(position)
        name, length = struct.unpack("<4sI", file.read(8))
        if name != b"RIFF":  # junk after the last segment is harmless
            break
        if position + 8 + length > size:
            return _short(position + 8 + length, size)
        position += 8 + length + length % 2
    return None


def _matroska(file: BinaryIO, size: int) -> str | None:
    position = 0
    while position < size:
        file.seek(position)
        head = file.read(12)
        identifier, width = _vint(head, keep_marker=True)
        length, length_width = _vint(head[width:], keep_marker=False)
        if not width or not length_width or length == (1 << 7 * length_width) - 1:  # unknown length: a live recording
            return None
        position += width + length_width + length
        if identifier == _MATROSKA_SEGMENT or identifier != _EBML_HEADER:
            return _short(position, size)
    return "has only a header"


def _vint(data: bytes, *, keep_marker: bool) -> tuple[int, int]:
    """An EBML number and its width in bytes; the width is 0 when the data hold no complete one."""
    if not data or not data[0]:
        return 0, 0
    width = 9 - data[0].bit_length()
    value = int.from_bytes(data[:width], "big")
    return (value if keep_marker else value & (1 << 7 * width) - 1), width if len(data) >= width else 0


def why_unreadable(path: Path) -> str | None:
    """Why a path cannot be an input file, in words for the user, or None; the content is not read."""
    try:
        path.stat()
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return system_reason(error, "it cannot be looked at")
    if path.is_dir():
        return "it is a directory"
    if not path.is_file():
        return "it is not a regular file"
    if not os.access(path, os.R_OK):
        return "reading it is not permitted"
    return "it is empty" if path.stat().st_size == 0 else None
