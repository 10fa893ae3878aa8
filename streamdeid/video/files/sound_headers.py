"""Removes texts and pictures from copied sound: from a codec's header, and from packets with data beside the sound.

Headers of codecs have room for comments, and comments can hold pictures: a Vorbis comment can be the cover of an album
or a picture of the speaker's face. Here each header is written anew with only the data that a decoder needs. A codec
whose header is not known here is not copied. The coded sound itself is copied bit for bit, with everything that its
encoder put into it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_WITHOUT = {
    "mp1", "mp2", "mp3", "ac3", "eac3", "dts", "truehd", "mlp", "amr_nb", "amr_wb", "gsm", "gsm_ms", "adpcm_ima_qt",
    "adpcm_g722", "adpcm_g726", "adpcm_g726le",
}  # fmt: skip
"""Codecs that need no header; codecs whose names begin with pcm_ need none either."""
_LENGTHS = {"flac": 34, "alac": 36, "wmav1": 4, "wmav2": 10, "wmapro": 18, "adpcm_ms": 32, "adpcm_ima_wav": 2}
"""Codecs whose header consists of numbers, with the bytes that a decoder reads; later bytes are not of the header."""
_SHORT = 8
"""Bytes up to which an AAC header needs no inspection, because it has room for numbers only."""
_MOST_SETUP = 1 << 14
"""Most bytes of a Vorbis setup header, which holds the decoder's tables; encoders write 3 to 6 thousand."""
_GENERAL_AUDIO = {1, 2, 3, 4, 6, 7, 17, 19, 20, 21, 22, 23}
"""Kinds of AAC (ISO 14496-3, 1.5.1) that have the configuration of 4.4.1."""
_NOTES = {"vorbis": b"\x03vorbis", "opus": b"Opus", "aac": b"ID3", "speex": b"Speex"}
"""First bytes of packets that hold a header or notes, and no sound."""


@dataclass(frozen=True)
class Header:
    """The header that a decoder needs (`data`), and in words what was left out of it (`left_out`)."""

    data: bytes
    left_out: str | None = None


def clean_header(codec: str, data: bytes) -> Header | None:
    """The header of a codec (FFmpeg's name and `extradata`) without comments; None where that is not certain."""
    if codec in _WITHOUT or codec.startswith("pcm_"):
        return Header(b"", f"{len(data)} bytes of a header that it does not need" if data else None)
    try:
        if codec == "vorbis":
            return _vorbis(data)
        if codec == "aac":
            return _aac(data)
    except (ValueError, IndexError, struct.error):
        return None
    if codec == "opus" and len(data) >= 19:
        return _first(data, 19 if data[18] == 0 else 21 + data[9])  # RFC 7845, 5.1
    if codec == "speex" and len(data) >= 80:
        version = data[8:28].strip(b"\0")
        return Header(data[:8] + bytes(20) + data[28:80], "the name of its encoder" if version else None)
    if codec in _LENGTHS:
        return _first(data, _LENGTHS[codec])
    return None


def clean_packet(codec: str, data: bytes) -> bytes:
    """The sound in a packet, without tags; empty where there is no sound."""
    if codec in ("mp1", "mp2", "mp3"):
        return _mpeg_frames(data)
    if codec == "flac":
        return data if data[:2] in (b"\xff\xf8", b"\xff\xf9") else b""
    return b"" if codec in _NOTES and data.startswith(_NOTES[codec]) else data


def _first(data: bytes, length: int) -> Header:
    more = len(data) - length
    return Header(data[:length], f"{more} bytes behind its header" if more > 0 else None)


def _vorbis(data: bytes) -> Header | None:
    """The Vorbis header without comments (Vorbis I specification, 4.2 and 5.2.1).

    Its three headers are laced as in Matroska, or each has its length in two bytes before it."""
    packets = _laced(data)
    first, comments, setup = packets
    if len(first) != 30 or first[:7] != b"\x01vorbis" or comments[:7] != b"\x03vorbis" or setup[:7] != b"\x05vorbis":
        return None
    if len(setup) > _MOST_SETUP:
        return None
    (vendor,) = struct.unpack_from("<I", comments, 7)
    (count,) = struct.unpack_from("<I", comments, 11 + vendor)
    empty = b"\x03vorbis" + struct.pack("<II", 0, 0) + b"\x01"
    lengths = bytes([len(first), len(empty)])
    told = f"{count} comments ({len(comments)} bytes)" if count or len(comments) > 16 + vendor else None
    return Header(b"\x02" + lengths + first + empty + setup, told)


def _laced(data: bytes) -> tuple[bytes, bytes, bytes]:
    if data[:2] == b"\x00\x1e":
        parts, at = [], 0
        for _ in range(3):
            (length,) = struct.unpack_from(">H", data, at)
            parts.append(data[at + 2 : at + 2 + length])
            at += 2 + length
        return parts[0], parts[1], parts[2]
    if data[0] != 2:
        raise ValueError
    at, lengths = 1, []
    for _ in range(2):
        length = 0
        while data[at] == 255:
            length, at = length + 255, at + 1
        lengths.append(length + data[at])
        at += 1
    middle = at + lengths[0]
    return data[at:middle], data[middle : middle + lengths[1]], data[middle + lengths[1] :]


class _Bits:
    def __init__(self, data: bytes) -> None:
        self._number, self._length, self.at = int.from_bytes(data, "big"), 8 * len(data), 0

    def take(self, count: int) -> int:
        self.at += count
        if self.at > self._length:
            raise ValueError
        return self._number >> (self._length - self.at) & ((1 << count) - 1)


def _aac(data: bytes) -> Header | None:
    """The AAC header (ISO 14496-3, 1.6.2.1) with zeros for the comment at the end of its program config element."""
    if not data:  # each packet has a header of its own (ADTS)
        return Header(data)
    bits = _Bits(data)
    kind, rate = _aac_kind(bits), bits.take(4)
    if rate in (13, 14):  # reserved: the header is damaged, and some muxers give up late
        return None
    _ = rate == 15 and bits.take(24)
    channels = bits.take(4)
    if len(data) <= _SHORT:
        return Header(data)
    if kind in (5, 29):
        _ = bits.take(4) == 15 and bits.take(24)
        kind = _aac_kind(bits)
    if kind not in _GENERAL_AUDIO:
        return None
    bits.take(1)
    _ = bits.take(1) and bits.take(14)
    bits.take(1)
    told = None
    if channels == 0:
        _skip_channels(bits)
        length = bits.take(8)
        begin = bits.at // 8
        told = f"a comment of {length} bytes" if length else None
        data = data[:begin] + bytes(length) + data[begin + length :]
        bits.take(8 * length)
    rest = _first(data, -(-bits.at // 8) + _SHORT)
    return Header(rest.data, " and ".join(filter(None, (told, rest.left_out))) or None)


def _aac_kind(bits: _Bits) -> int:
    kind = bits.take(5)
    return 32 + bits.take(6) if kind == 31 else kind


def _skip_channels(bits: _Bits) -> None:
    """Skip a program config element (4.4.1.1) up to the length of its comment."""
    bits.take(10)
    front, side, back = (bits.take(4) for _ in range(3))
    low, data, coupled = bits.take(2), bits.take(3), bits.take(4)
    for length in (4, 4, 3):
        _ = bits.take(1) and bits.take(length)
    bits.take(5 * (front + side + back + coupled) + 4 * (low + data))
    bits.take(-bits.at % 8)


_MPEG_RATES = {
    (1, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Thousands of bits per second by version (2: also 2.5) and layer (ISO 11172-3, 13818-3)."""


def _mpeg_frames(data: bytes) -> bytes:
    """The frames of MPEG audio in a packet, without ID3 tags before them and without anything behind them.

    Frames are not searched for inside other data: pictures in tags have bytes that look like a frame."""
    while data[:3] == b"ID3" and len(data) >= 10:
        size = sum((byte & 127) << 7 * place for place, byte in enumerate(reversed(data[6:10])))
        data = data[10 + size + (10 if data[5] & 16 else 0) :]
    at = 0
    while (length := _mpeg_length(data[at : at + 4])) is not None and at + length <= len(data):
        at += length
    return data[:at]


def _mpeg_length(head: bytes) -> int | None:
    """Length in bytes of the MPEG audio frame that begins with these four bytes; None where no frame begins."""
    if len(head) < 4:
        return None
    number = int.from_bytes(head, "big")
    version, layer = number >> 19 & 3, 4 - (number >> 17 & 3)
    rate, hertz, padded = number >> 12 & 15, number >> 10 & 3, number >> 9 & 1
    if number >> 21 != 0x7FF or version == 1 or layer == 4 or rate in (0, 15) or hertz == 3:
        return None
    bits = 1000 * _MPEG_RATES[1 if version == 3 else 2, layer][rate - 1]
    samples_a_second = (44100, 48000, 32000)[hertz] >> (0 if version == 3 else 1 if version == 2 else 2)
    if layer == 1:
        return 4 * (12 * bits // samples_a_second + padded)
    return (72 if layer == 3 and version != 3 else 144) * bits // samples_a_second + padded
