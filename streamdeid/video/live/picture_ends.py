"""Finds where a coded picture ends in a stream of RTP payloads, before the next picture begins.

FFmpeg's parser finds the end of a picture only when the next one starts. For a camera with 15 pictures a second this
adds a delay of 67 ms. RTP marks a picture's last packet, but FFmpeg does not pass on this mark. So the parser is left
out, and the end is found by a rule from the stream (H.264; names as in RFC 6184):

* all packets of a picture have one time stamp, and a new time stamp ends the picture in any case;
* when a NAL unit is sent in fragments, all fragments but the last are as long as the connection allows, so a shorter
  packet ends a NAL unit;
* a picture has as many slices as the pictures before it.

The rule is used once it was right for `_SURE` pictures in a row: it saw the end in the last packet or not at all, and
never earlier. When it is wrong later, the rest of the picture comes as a separate packet that does not begin with the
first slice. `coded_gaps` treats that as damage, so nothing is shown until the next key frame, and the rule is not used
again. For a camera that sends filler or varies its slices, pictures come as late as with the parser.
"""

from __future__ import annotations

import re
from typing import NamedTuple

EARLY = "h264"
"""The codec for which the end of a picture is found early."""
_SURE = 50
_MARGIN = 2
"""Bytes by which a packet must be shorter than the longest packet, because its kind of header is not known."""
_LARGEST = 1 << 25
"""Bytes above which a picture without an end is passed on as it is."""
_START = b"\0\0\0\1"
_SLICE = re.compile(rb"\x00\x00\x01[\x01\x05\x21\x25\x41\x45\x61\x65]")
"""First bytes of NAL units 1 and 5, with any reference number."""
_WHOLE = frozenset({"mjpeg", "vp8", "vp9", "av1"})
"""Codecs whose pictures FFmpeg itself puts together from RTP packets."""


class CodedPicture(NamedTuple):
    """The data of all packets of one picture."""

    data: bytes
    stamp: int | None
    """Time stamp in the stream's time base."""


class PictureEnds:
    """Joins packets to coded pictures. codec: FFmpeg's name."""

    def __init__(self, codec: str) -> None:
        self._whole, self._told = codec in _WHOLE, codec == EARLY
        self._parts: list[bytes] = []
        self._bytes = 0
        self._stamp: int | None = None
        self._given: int | None = None
        """Stamp of a picture that was returned before the next one began; more packets with this stamp may follow."""
        self._longest = 0
        self._slices = self._usual = 0
        """Numbers of slices in this picture so far (`_slices`) and in the last picture (`_usual`)."""
        self._hasty = False
        """Whether the rule saw the end of this picture before its last packet."""
        self._right = 0
        """Number of pictures in a row for which the rule was right."""

    def add(self, packet: bytes, stamp: int | None) -> list[CodedPicture]:
        """Take the next packet and return the pictures that it ends: none, one or two."""
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
        """The packets so far as a picture, when its end is known in another way; nothing where there are none."""
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
        """Bytes of a packet without FFmpeg's start code and without the header that later fragments do not have."""
        return len(packet) - len(_START) - 1 if packet.startswith(_START) else len(packet)
