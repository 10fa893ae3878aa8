"""The layout of an analysis file, and its two JSON texts: the header and the end (docs/analysis.md)."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from streamdeid.analysis.chunk_table import MOST_WORDS
from streamdeid.analysis.records import AnalysisEnd, AnalysisHeader, ChosenSurrogate, Side
from streamdeid.analysis.strict_json import Fields, Unfit, number, parsed, shown

MAGIC = b"\x89SDANALYSIS\r\n\x1a\n"
"""It begins with a byte that is not text, and has line ends that a transfer as text would change."""
HEAD = struct.Struct("<15sHII")
"""MAGIC, version (`records.VERSION`), length and CRC-32 of the header that follows."""
TAIL = struct.Struct("<IIIIII8s")
"""Length and CRC-32 of the end, length and CRC-32 of the index, number of chunks, CRC-32 of these five, TAIL_MARK."""
TAIL_CHECKED = 20
"""Number of bytes of the tail that its own CRC-32 is computed from."""
TAIL_MARK = b"SDANEND\n"
ENTRY = np.dtype(
    [
        *((name, "<u4") for name in ("table_bytes", "table_crc", "points_bytes", "points_crc")),
        *((name, "<u4") for name in ("frames", "found", "decisions", "scene", "last_scene")),
        *((name, "<i8") for name in ("base", "time", "last_time")),
    ]
)
"""Entry of a chunk in the index: lengths and CRC-32 of its two compressed blocks, numbers of frames, faces and
decisions, first and last scene, the time base, first and last time as multiples of 1 / base seconds."""
MOST_FRAMES = 20_000_000
"""Nine days at 25 frames a second."""
MOST_ROWS = 1 << 26
"""Found faces and decisions together that a file may hold."""
LONGEST_HEADER = 1 << 20
LONGEST_END = 1 << 24
LARGEST_TIME = 1 << 62
_MOST_SETTINGS = 500
_LONGEST_TEXT = 10_000
_HEADER = ("input", "width", "height", "rate", "settings", "model_sha256", "gallery_sha256")
_END = ("frames", "levels", "causes", "surrogates", "output", "key_check", "seal")


@dataclass(frozen=True)
class End:
    """The end of a file: `records.AnalysisEnd`, the number of frames, and the names of levels and causes."""

    end: AnalysisEnd
    frames: int
    levels: tuple[str, ...]
    causes: tuple[str, ...]


def header_text(header: AnalysisHeader) -> bytes:
    """The header as JSON. Raises ValueError for a header that could not be read again."""
    value = asdict(header) | {
        "rate": fraction_text(header.rate),
        "settings": {name: list(v) if isinstance(v, tuple) else v for name, v in header.settings.items()},
    }
    return _text(value, LONGEST_HEADER, header_from)


def fits(header: AnalysisHeader, version: int) -> bool:
    """Whether a file of this version can have this header.

    Version 1 knows only pictures as they are stored. A program that knows only version 1 would take places in square
    pixels for places in stored pixels."""
    return version > 1 or header.settings.get("pixel_aspect", "1:1") == "1:1"


def header_from(data: bytes) -> AnalysisHeader:
    """Read the header from JSON. Raises Unfit."""
    fields = Fields(parsed(data), "its header", _HEADER)
    rate = fields.fraction("rate")
    if rate <= 0:
        raise Unfit("its header: rate is not positive")
    return AnalysisHeader(
        input=side_from(fields["input"], "its header: input"),
        width=fields.whole("width", 1, 32_768),
        height=fields.whole("height", 1, 32_768),
        rate=rate,
        settings=_settings(fields["settings"]),
        model_sha256=fields.sha256("model_sha256", empty=True),
        gallery_sha256=fields.sha256("gallery_sha256", empty=True),
    )


def end_text(end: End) -> bytes:
    """The end as JSON. Raises ValueError for an end that could not be read again."""
    surrogates = [_row(person, chosen) for person, chosen in sorted(end.end.surrogates.items())]
    surrogates += [_row(0, chosen) for _, chosen in sorted(end.end.provisional.items())]
    value = {
        "frames": end.frames,
        "levels": list(end.levels),
        "causes": list(end.causes),
        "surrogates": surrogates,
        "output": asdict(end.end.output) if end.end.output else None,
        "key_check": end.end.key_check,
        "seal": end.end.seal,
    }
    return _text(value, LONGEST_END, end_from)


def end_from(data: bytes) -> End:
    """Read the end from JSON. Raises Unfit."""
    fields = Fields(parsed(data), "its end", _END)
    chosen = fields.list_of("surrogates", _surrogate, LONGEST_END)
    output = fields["output"]
    key_check = fields.text("key_check", 16)
    if key_check and (len(key_check) != 16 or set(key_check) - set("0123456789abcdef")):
        raise Unfit("its end: key_check is not 16 hexadecimal digits")
    persons = {person: one for person, one in chosen if person}
    provisional = {one.tracklet: one for person, one in chosen if not person}
    if len(persons) + len(provisional) != len(chosen):
        raise Unfit("its end: a person has two surrogates")
    return End(
        AnalysisEnd(
            persons,
            None if output is None else side_from(output, "its end: output"),
            key_check,
            fields.sha256("seal", empty=True),
            provisional,
        ),
        fields.whole("frames", 0, MOST_FRAMES),
        fields.list_of("levels", _word, MOST_WORDS),
        fields.list_of("causes", _word, MOST_WORDS),
    )


def fraction_text(value: Fraction) -> str:
    """An exact number as the files write it."""
    return f"{value.numerator}/{value.denominator}"


def side_from(value: object, where: str) -> Side:
    """Read a file's hash and size from a JSON value. Raises Unfit."""
    fields = Fields(value, where, ("sha256", "bytes"))
    return Side(fields.sha256("sha256"), fields.whole("bytes"))


def _text(value: Mapping[str, Any], most: int, read: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()
    if len(text) > most:
        raise ValueError(f"{len(text):,} bytes of text are too many for an analysis file")
    try:
        read(text)
    except Unfit as error:
        raise ValueError(f"an analysis file cannot say this: {error}") from error
    return text


def _settings(value: object) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > _MOST_SETTINGS:
        raise Unfit(f"its header: settings are not an object of at most {_MOST_SETTINGS}")
    return {_word(name, "its header: a setting"): _setting(item, shown(name)) for name, item in value.items()}


def _setting(value: object, name: str) -> Any:
    where = f"its header: setting {name}"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        number(value, where, 2.0**53)
        return value
    texts = value if isinstance(value, list) else [value]
    if len(texts) > _LONGEST_TEXT or not all(
        isinstance(t, str) and len(t) <= _LONGEST_TEXT and t.isprintable() for t in texts
    ):
        raise Unfit(f"{where} is of no kind that settings have")
    return tuple(texts) if isinstance(value, list) else value


def _surrogate(value: object, where: str) -> tuple[int, ChosenSurrogate]:
    provisional = isinstance(value, dict) and "tracklet" in value
    fields = Fields(value, where, ("person", "label", "attempt", *(("tracklet",) if provisional else ())))
    tracklet = fields.whole("tracklet", 1) if provisional else 0
    person = fields.whole("person", 0 if provisional else 1)
    return person, ChosenSurrogate(fields.text("label"), fields.whole("attempt"), tracklet)


def _row(person: int, chosen: ChosenSurrogate) -> dict[str, int | str]:
    """The JSON row of a surrogate. person: 0 for a surrogate of a tracklet whose person was not known."""
    row: dict[str, int | str] = {"person": person, "label": chosen.label, "attempt": chosen.attempt}
    return row | {"tracklet": chosen.tracklet} if chosen.tracklet else row


def _word(value: object, where: str) -> str:
    if not isinstance(value, str) or len(value) > 100 or not value.isprintable():
        raise Unfit(f"{where} is not a name")
    return value
