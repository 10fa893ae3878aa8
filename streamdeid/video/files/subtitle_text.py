"""Removes the parts of copied subtitles that are not read on the screen: headers, comments, speakers' names, drawings.

Only kinds of text whose format is known are copied. Subtitles that are pictures (DVD, Blu-ray, DVB) are not copied: a
picture can show a face, and these pictures are not filtered.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

PLAIN = ("subrip", "text")
_PICTURES = ("dvd_subtitle", "hdmv_pgs_subtitle", "dvb_subtitle", "xsub", "dvb_teletext")
_SCRIPT = re.compile(
    r"(ScriptType|PlayRes[XY]|LayoutRes[XY]|WrapStyle|ScaledBorderAndShadow|Collisions|Timer|YCbCr Matrix)\s*:\s*"
    r"(v4\.00\+?|[\d.]{1,12}|yes|no|none|normal|reverse|(?:TV|PC)\.\w{3,4})\s*",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"Format\s*:[A-Za-z, ]{1,400}")
_FONT = re.compile(r"[\w @-]{1,31}")
_NUMBER = re.compile(r"[&Hh0-9A-Fa-f.+-]{0,16}")
_NOTE = re.compile(r"\{(?!\\)[^{}]*\}")
_DRAWING = re.compile(r"\{[^}]*\\p[1-9]")
_BOXES = (b"vttc", b"vttx", b"vtta", b"vtte")
"""Boxes in which MP4 wraps WebVTT, including its notes; other containers cannot show them."""
_TX3G_STYLE = 30
"""Bytes of an MP4 text description before its table of fonts (3GPP TS 26.245, 5.16)."""


def why_not(codec: str) -> str | None:
    """Why a kind of subtitles is not copied, in words; None where it is copied."""
    if codec in _PICTURES:
        return "pictures, which could show faces"
    return None if codec in (*PLAIN, "ass", "ssa", "webvtt", "mov_text") else "of a kind that is not known to be clean"


@dataclass
class CleanText:
    """A stream of subtitles without hidden text: its header written anew, and its packets one by one."""

    codec: str
    header: bytes
    left_out: str | None = None
    """The parts of the header that were left out, in words."""
    styles: dict[str, str] | None = None
    """The new names of ASS styles, by their old names."""

    @classmethod
    def of(cls, codec: str, header: bytes) -> CleanText:
        """Make the stream's clean header. codec: FFmpeg's name, allowed by `why_not`; header: its `extradata`."""
        if codec in ("ass", "ssa"):
            lines = header.decode("utf-8", "replace").replace("\0", "").splitlines()
            styles: dict[str, str] = {}
            kept = _ass_header(lines, styles)
            gone = sum(bool(line.strip()) for line in lines) - len(kept)
            told = f"{gone} lines of its header" if gone > 0 else None
            return cls(codec, ("\r\n".join(kept) + "\r\n").encode(), told, styles)
        if codec == "mov_text" and header:
            made = _tx3g(header)
            return cls(codec, made, None if made == header else "names of fonts")
        return cls(codec, b"", f"{len(header)} bytes of its header" if header else None)

    def packet(self, data: bytes) -> bytes:
        """A packet without the parts that are not shown; empty where nothing is left."""
        if self.codec in ("ass", "ssa"):
            return self._ass(data)
        if self.codec == "webvtt" and data[4:8] in _BOXES:
            return b""
        return _mov_text(data) if self.codec == "mov_text" else data

    def _ass(self, data: bytes) -> bytes:
        fields = data.decode("utf-8", "replace").split(",", 8)
        if len(fields) != 9 or not all(re.fullmatch(r"-?\d{0,9}", fields[n].strip()) for n in (0, 1, 4, 5, 6)):
            return b""
        if _DRAWING.search(fields[8]):
            return b""
        fields[2] = (self.styles or {}).get(fields[2].strip().lstrip("*"), "Default")
        fields[3] = fields[7] = ""
        fields[8] = _NOTE.sub("", fields[8])
        return ",".join(fields).encode()


def _ass_header(lines: list[str], styles: dict[str, str]) -> list[str]:
    """The lines of an ASS header that say how text looks; the new names of the styles are put into `styles`."""
    kept: list[str] = []
    section = ""
    for line in (one.lstrip("\ufeff").strip() for one in lines):
        if line.startswith("["):
            section = line.lower()
            if section in ("[script info]", "[v4+ styles]", "[v4 styles]", "[events]"):
                kept.append(line)
            continue
        styled = section.endswith("styles]") and section.startswith("[v4")
        if (section == "[script info]" and _SCRIPT.fullmatch(line)) or (
            (styled or section == "[events]") and _FORMAT.fullmatch(line)
        ):
            kept.append(line)
        elif styled and line.lower().startswith("style:"):
            name, *looks = (field.strip() for field in line.split(":", 1)[1].split(","))
            if looks and _FONT.fullmatch(looks[0]) and all(_NUMBER.fullmatch(one) for one in looks[1:]):
                new = styles.setdefault(name.lstrip("*"), "Default" if not styles else f"Style {len(styles) + 1}")
                kept.append(f"Style: {','.join([new, *looks])}")
    return kept


def _tx3g(header: bytes) -> bytes:
    """The description of MP4 text, with a neutral name for each font."""
    style = header[:_TX3G_STYLE].ljust(_TX3G_STYLE, b"\0")
    numbers, at = [], _TX3G_STYLE + 10
    if header[_TX3G_STYLE + 4 : _TX3G_STYLE + 8] == b"ftab":
        (count,) = struct.unpack_from(">H", header.ljust(at, b"\0"), _TX3G_STYLE + 8)
        for _ in range(min(count, 64)):
            if at + 3 > len(header):
                break
            numbers.append(header[at : at + 2])
            at += 3 + header[at + 2]
    fonts = b"".join(number + b"\x04Sans" for number in numbers or [b"\0\x01"])
    table = b"ftab" + struct.pack(">H", len(numbers) or 1) + fonts
    return style + struct.pack(">I", len(table) + 4) + table


def _mov_text(data: bytes) -> bytes:
    """The text of an MP4 sample and its style, without links and other boxes."""
    if len(data) < 2:
        return b""
    at = 2 + int.from_bytes(data[:2], "big")
    kept = data[:at]
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if length < 8:
            break
        if data[at + 4 : at + 8] == b"styl":
            # The count in the box gives its length: 12 bytes for each run of characters.
            runs = int.from_bytes(data[at + 8 : at + 10], "big")
            if length == 10 + 12 * runs:
                kept += data[at : at + length]
        at += length
    return kept
