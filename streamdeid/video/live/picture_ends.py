"""Where a coded picture ends in a stream of RTP payloads, told before the next one begins.

FFmpeg's parser knows that a picture is over when the next one starts: a frame's time later, 67 ms of the delay of a
camera with 15 pictures a second. RTP marks a picture's last packet, but FFmpeg keeps that to itself. So the parser is
left out, and what tells the end is learnt from the stream (H.264; names as in RFC 6184):

* all packets of a picture carry one time stamp, and a new one ends the picture in any case;
* of a NAL unit that is sent in fragments all but the last are as long as the connection allows; so what is shorter
  ends a NAL unit;
* a picture has as many slices as the last ones.

The rule is used once it was right for `_SURE` pictures in a row: it saw the end in the last packet, or not at all, and
never before. When it is wrong after all, the rest of the picture comes as a packet of its own that does not begin with
the first slice: `coded_gaps` calls that damage, so that nothing is shown until the next key frame, and the rule is not
used again. A camera that sends filler or varies its slices is served as late as by the parser.
"""

from __future__ import annotations

import re
from typing import NamedTuple

EARLY = "h264"
"""The codec whose ends are told early."""
_SURE = 50
_MARGIN = 2
"""Bytes by which a packet must be shorter than the longest, whose kind of header is not known."""
_LARGEST = 1 << 25
"""Bytes at which a picture without an end is given up."""
_START = b"\0\0\0\1"
_SLICE = re.compile(rb"\x00\x00\x01[\x01\x05\x21\x25\x41\x45\x61\x65]")
"""Heads of NAL units 1 and 5, with any reference number."""
_WHOLE = frozenset({"mjpeg", "vp8", "vp9", "av1"})
"""Codecs whose pictures FFmpeg puts together itself when it takes them out of RTP."""


class CodedPicture(NamedTuple):
    """All packets of one picture."""

    data: bytes
    stamp: int | None
    """In the stream's time base."""


class PictureEnds:
    """Puts packets together to pictures. codec: FFmpeg's name."""

    def __init__(self, codec: str) -> None:
        self._whole, self._told = codec in _WHOLE, codec == EARLY
        self._parts: list[bytes] = []
        self._bytes = 0
        self._stamp: int | None = None
        self._given: int | None = None
        """Stamp of the picture that was given out before the next one began, while its like may still come."""
        self._longest = 0
        self._slices = self._usual = 0
        """Slices in this picture so far, and in the last one."""
        self._hasty = False
        """Whether the rule saw the end of this picture before its last packet."""
        self._right = 0
        """Pictures in a row for which the rule was right."""

    def add(self, packet: bytes, stamp: int | None) -> list[CodedPicture]:
        """Take the next packet, and give the pictures that it ends: none, one or two."""
        if self._whole:
            return [CodedPicture(packet, stamp)]
        found = self.rest() if self._parts and stamp != self._stamp else []
        if not self._parts and stamp is not None and stamp == self._given:
            self._told = False
        self._given = None
        over = self._parts and self._looks_over()
        self._hasty |= bool(over)
        self._parts.append(packet)
        self._bytes += len(packet)
        self._stamp = stamp
        if self._told:
            self._slices += len(_SLICE.findall(packet))
            self._longest = max(self._longest, self._payload(packet))
            if self._right >= _SURE and self._looks_over():
                self._given = stamp
                found += self.rest()
        return found if self._bytes <= _LARGEST else found + self.rest()

    def rest(self) -> list[CodedPicture]:
        """What there is of a picture whose end is known otherwise."""
        if not self._parts:
            return []
        found = CodedPicture(b"".join(self._parts), self._stamp)
        self._right = 0 if self._hasty or not self._slices else self._right + 1
        self._usual, self._slices, self._hasty = self._slices, 0, False
        self._parts, self._bytes = [], 0
        return [found]

    def _looks_over(self) -> bool:
        last = self._parts[-1]
        return 0 < self._usual == self._slices and self._payload(last) + _MARGIN <= self._longest

    def _payload(self, packet: bytes) -> int:
        """Bytes of a packet without what FFmpeg put before it: a start code, and a header that later fragments lack."""
        return len(packet) - len(_START) - 1 if packet.startswith(_START) else len(packet)
