"""Finds lost coded pictures from the packets, because FFmpeg then decodes from a wrong picture and reports no error.

H.264 numbers its reference pictures (`frame_num`), so a lost picture leaves a gap; the HEVC decoder reports the loss
itself. In both codecs a picture that lost a slice keeps old pixels there. This loss shows where all pictures before had
the same number of slices, and this one has fewer. Sections and names are those of ITU-T H.264.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_HIGH_PROFILES = (100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135)
_START = b"\0\0\1"
_HEADER = 40
"""Bytes of a slice that hold the fields that are read."""
_CONSTANT = 25
"""Pictures in a row with equally many slices, after which another number means that slices are lost."""


class _Bits:
    """Reads bits of a NAL unit without its emulation prevention bytes (7.3.1). Raises IndexError at its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data.replace(b"\0\0\3", b"\0\0")
        self._place = 0

    def take(self, count: int) -> int:
        """u(n)"""
        value = 0
        for _ in range(count):
            value = value << 1 | self._data[self._place >> 3] >> (7 - (self._place & 7)) & 1
            self._place += 1
        return value

    def golomb(self) -> int:
        """ue(v), section 9.1"""
        zeros = 0
        while not self.take(1):
            zeros += 1
            if zeros > 32:
                raise IndexError("no Exp-Golomb code")
        return (1 << zeros) - 1 + self.take(zeros)

    def signed(self) -> int:
        """se(v), section 9.1.1"""
        code = self.golomb()
        return (code + 1) // 2 if code & 1 else -(code // 2)


@dataclass(frozen=True)
class _Sequence:
    """The fields of a sequence parameter set that the numbering depends on (7.3.2.1.1)."""

    frame_num_bits: int
    colour_planes: bool
    gaps_allowed: bool


def _sequence_of(nal: bytes) -> _Sequence:
    bits = _Bits(nal[1:])
    profile = bits.take(8)
    bits.take(16)
    bits.golomb()
    planes = False
    if profile in _HIGH_PROFILES:
        chroma = bits.golomb()
        planes = chroma == 3 and bool(bits.take(1))
        bits.golomb()
        bits.golomb()
        bits.take(1)
        if bits.take(1):
            for index in range(12 if chroma == 3 else 8):
                if bits.take(1):
                    _skip_scaling_list(bits, 16 if index < 6 else 64)
    number_bits = bits.golomb() + 4
    order = bits.golomb()
    if order == 0:
        bits.golomb()
    elif order == 1:
        bits.take(1)
        bits.signed()
        bits.signed()
        for _ in range(bits.golomb()):
            bits.signed()
    bits.golomb()
    return _Sequence(number_bits, planes, bool(bits.take(1)))


def _skip_scaling_list(bits: _Bits, size: int) -> None:
    last = following = 8
    for _ in range(size):
        if following:
            following = (last + bits.signed()) % 256
        last = following or last


def _units(data: bytes) -> Iterator[bytes]:
    """Yield the first bytes of each NAL unit of an Annex B byte stream, at most 4 * `_HEADER` of each.

    Parameter sets are shorter than that in practice.
    """
    place = data.find(_START)
    while place >= 0:
        following = data.find(_START, place + 3)
        end = place + 3 + 4 * _HEADER if following < 0 else min(following, place + 3 + 4 * _HEADER)
        yield data[place + 3 : end]
        place = following


class CodedGaps:
    """Finds gaps in a stream of H.264 or HEVC packets in Annex B form; finds none in any other stream.

    codec: FFmpeg's name. extradata: the parameter sets from the container or from the description of the stream.
    """

    def __init__(self, codec: str, extradata: bytes | None) -> None:
        self._codec = codec
        self._annex_b = codec in ("h264", "hevc") and not (extradata or b"").startswith(b"\1")
        self._sequence: _Sequence | None = None
        self._reference: int | None = None
        self._slices = 0
        self._constant = 0
        if self._annex_b and extradata:
            self.before(extradata)

    def before(self, packet: bytes) -> bool:
        """Whether data are missing before or in this coded picture. Call this once for each packet, in order."""
        if not self._annex_b:
            return False
        slices = gap = 0
        for unit in _units(packet):
            if not unit:
                continue
            if self._codec == "hevc":
                slices += unit[0] >> 1 & 63 < 32
                continue
            kind = unit[0] & 31
            try:
                if kind == 7:
                    self._sequence = _sequence_of(unit)
                elif kind in (1, 5):
                    slices += 1
                    gap |= slices == 1 and self._is_after_gap(unit, kind == 5)
            except IndexError:
                gap = True
        return bool(gap or (slices and self._are_fewer(slices)))

    def _is_after_gap(self, unit: bytes, idr: bool) -> bool:
        if self._sequence is None:
            return False
        bits = _Bits(unit[1:_HEADER])
        first = bits.golomb()
        bits.golomb()
        bits.golomb()
        if self._sequence.colour_planes:
            bits.take(2)
        number = bits.take(self._sequence.frame_num_bits)
        before = self._reference
        if unit[0] >> 5 & 3:
            self._reference = number
        if first != 0:
            return True
        if idr or before is None or self._sequence.gaps_allowed:
            return False
        return (number - before) % (1 << self._sequence.frame_num_bits) > 1

    def _are_fewer(self, slices: int) -> bool:
        fewer = slices < self._slices and self._constant >= _CONSTANT
        self._constant = self._constant + 1 if slices == self._slices else 0
        self._slices = slices
        return fewer
