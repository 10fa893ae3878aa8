"""Reads and writes the edits file beside a recording: readable JSON, written whole after each edit, checked when read.

docs/analysis.md has an example. Every edit is one line, so two versions of a file can be compared line by line.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamdeid.analysis.edits import (
    AnotherSurrogate,
    CoverPerson,
    CoverPlace,
    CoverRegion,
    Edit,
    Edits,
    JoinPersons,
    PartPerson,
    RemoveRedaction,
    Rendered,
    ShowPerson,
    Span,
)
from streamdeid.analysis.plain_file import read_plain
from streamdeid.analysis.records import AnalysisHeader
from streamdeid.analysis.stored_faces import FARTHEST
from streamdeid.analysis.strict_json import Fields, Unfit, number, parsed, shown, whole
from streamdeid.core.arrays import Box
from streamdeid.core.atomic_file import write_whole
from streamdeid.errors import InputError

VERSION = 1
MOST_BYTES = 1 << 25
MOST_PARTS = 2_000_000
"""Most brackets, braces and commas in a file: with this limit reading any file takes at most about 300 MiB."""
MOST_EDITS = 100_000
MOST_LOOKED_AT = 200_000
_PURPOSE = b"streamdeid seal of what an output holds"
_LARGEST = (1 << 31) - 1
_FRAMES = 20_000_000
_KEYS = (
    "version", "input_sha256", "places_sha256", "frames", "done", "undone", "looked_at", "reviewer", "reviewed",
    "rendered",
)  # fmt: skip
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?)?")


def read_edits(path: Path) -> Edits:
    """Read the edits in a file. Raises InputError, one line that names the file and says what is wrong with it."""
    try:
        return edits_from(read_plain(path, MOST_BYTES))
    except Unfit as error:
        raise InputError(f"{path} cannot be read as edits: {error}") from error


def write_edits(path: Path, edits: Edits, *, mode: int = 0o666) -> None:
    """Write an edits file whole and safe on the disk, replacing an earlier one.

    mode: the largest permissions that it may get. Raises ValueError for edits that `read_edits` would refuse,
    OutputError when the disk refuses.
    """
    text = edits_text(edits)
    try:
        edits_from(text)
    except Unfit as error:
        raise ValueError(f"edits that cannot be read again: {error}") from error
    write_whole(path, text, overwrite=True, mode=mode)


def check_edits(path: Path, edits: Edits, header: AnalysisHeader, frames: int) -> None:
    """Raise InputError for edits of another recording than the analysed one. frames: their number in the analysis."""
    if edits.input_sha256 != header.input.sha256:
        raise InputError(f"{path} cannot be used: it holds edits of another recording")
    if edits.frames != frames:
        raise InputError(f"{path} cannot be used: it is about {edits.frames:,} frames, and the analysis has {frames:,}")


def seal_of(rendered: Rendered, edits: Edits, key: bytes) -> str:
    """The seal, made with a key, for the statement that an output holds some edits of a recording."""
    told = (edits.input_sha256, edits.places_sha256, _held(replace(rendered, seal="")))
    return hmac.digest(hmac.digest(key, _PURPOSE, "sha256"), _line(told).encode(), "sha256").hex()


def edits_text(edits: Edits) -> bytes:
    """The bytes of an edits file."""
    lines = {
        "version": json.dumps(VERSION),
        "input_sha256": json.dumps(edits.input_sha256),
        "places_sha256": json.dumps(edits.places_sha256),
        "frames": json.dumps(edits.frames),
        "done": _lines([_plain(edit) for edit in edits.done]),
        "undone": _lines([_plain(edit) for edit in edits.undone]),
        "looked_at": _lines(edits.looked_at),
        "reviewer": _line(edits.reviewer),
        "reviewed": _line(edits.reviewed),
        "rendered": _line(_held(edits.rendered)),
    }
    return ("{\n" + ",\n".join(f'"{key}": {lines[key]}' for key in sorted(lines)) + "\n}\n").encode()


def edits_from(data: bytes) -> Edits:
    """Read edits from the bytes of a file. Raises Unfit."""
    if sum(map(data.count, (b"[", b"{", b","))) > MOST_PARTS:
        raise Unfit(f"it has more than {MOST_PARTS:,} entries")
    value = parsed(data)
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version != VERSION:
        raise Unfit(f"it is of version {version}, and this program knows version {VERSION}")
    fields = Fields(value, "it", _KEYS)
    fields.whole("version", VERSION, VERSION)
    frames = fields.whole("frames", 1, _FRAMES)
    reviewed = fields.text("reviewed")
    if not _MOMENT.fullmatch(reviewed):
        raise Unfit("it: reviewed is not a time as 2026-01-31T12:30:00Z")

    def edit(value: object, where: str) -> Edit:
        return _edit(value, where, frames)

    return Edits(
        input_sha256=fields.sha256("input_sha256"),
        frames=frames,
        done=fields.list_of("done", edit, MOST_EDITS),
        undone=fields.list_of("undone", edit, MOST_EDITS),
        looked_at=fields.list_of("looked_at", _name, MOST_LOOKED_AT),
        reviewer=fields.text("reviewer"),
        reviewed=reviewed,
        rendered=_rendered(fields["rendered"], edit),
        places_sha256=fields.sha256("places_sha256", empty=True),
    )


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _lines(values: Sequence[object]) -> str:
    """A JSON list with one value on each line."""
    return "[\n" + ",\n".join(map(_line, values)) + "\n]" if values else "[]"


def _spanned(span: Span) -> dict[str, Any]:
    return {"first": span.first, "last": span.last}


def _held(rendered: Rendered | None) -> Mapping[str, Any] | None:
    """The JSON value for `Rendered`."""
    if rendered is None:
        return None
    edits = [_plain(edit) for edit in rendered.edits]
    return {"output_sha256": rendered.output_sha256, "edits": edits, "seal": rendered.seal}


def _plain(edit: Edit) -> Mapping[str, Any]:
    """The JSON value for an edit."""
    match edit:
        case ShowPerson(person, span):
            return {"edit": "show person", "person": person} | _spanned(span)
        case CoverPerson(person, span):
            return {"edit": "cover person", "person": person} | _spanned(span)
        case CoverPlace(place, keys, first, boxes):
            row = {"keys": [[frame, list(box)] for frame, box in keys], "boxes": [list(box) for box in boxes]}
            return {"edit": "cover place", "number": place, "first": first} | row
        case RemoveRedaction(track, span):
            return {"edit": "remove redaction", "track": track} | _spanned(span)
        case JoinPersons(person, other):
            return {"edit": "join persons", "person": person, "other": other}
        case PartPerson(person, first, new):
            return {"edit": "part person", "person": person, "first": first, "new": new}
        case AnotherSurrogate(person):
            return {"edit": "another surrogate", "person": person}
        case CoverRegion(box, span):
            return {"edit": "cover region", "box": list(box)} | _spanned(span)


def _edit(value: object, where: str, frames: int) -> Edit:
    kind = value.get("edit") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _READ:
        known = shown(kind) if isinstance(kind, str) else "nothing"
        raise Unfit(f"{where} is no edit that is known: {known}")
    keys, read = _READ[kind]
    return read(Fields(value, where, ("edit", *keys)), where, frames)


def _span(fields: Fields, frames: int) -> Span:
    first = fields.whole("first", 0, frames - 1)
    return Span(first, None if fields["last"] is None else fields.whole("last", first, frames - 1))


def _person(fields: Fields) -> int:
    return fields.whole("person", 1, _LARGEST)


def _joined(fields: Fields, where: str, frames: int) -> Edit:
    person, other = _person(fields), fields.whole("other", 1, _LARGEST)
    if person == other:
        raise Unfit(f"{where} joins a person with the same person")
    return JoinPersons(person, other)


def _parted(fields: Fields, where: str, frames: int) -> Edit:
    person, first = _person(fields), fields.whole("first", 0, frames - 1)
    return PartPerson(person, first, fields.whole("new", person + 1, _LARGEST))


def _place(fields: Fields, where: str, frames: int) -> Edit:
    first = fields.whole("first", 0, frames - 1)
    boxes = fields.list_of("boxes", _box, frames - first)
    keys = fields.list_of("keys", _key, frames)
    at = [frame for frame, _ in keys]
    if not boxes or not keys or at != sorted(set(at)) or at[0] < first or at[-1] >= first + len(boxes):
        raise Unfit(f"{where} has no boxes, or key frames that do not rise or are none of its frames")
    return CoverPlace(fields.whole("number", 1, _LARGEST), keys, first, boxes)


def _key(value: object, where: str) -> tuple[int, Box]:
    if not isinstance(value, list) or len(value) != 2:
        raise Unfit(f"{where} is not a frame and a box")
    return whole(value[0], where, 0, _FRAMES), _box(value[1], where)


def _box(value: object, where: str) -> Box:
    if not isinstance(value, list) or len(value) != 4:
        raise Unfit(f"{where} is not a box of four numbers")
    x0, y0, x1, y1 = (number(item, where, FARTHEST) for item in value)
    if x1 <= x0 or y1 <= y0:
        raise Unfit(f"{where} is an empty box")
    return x0, y0, x1, y1


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or len(value) > 100 or not value.isprintable():
        raise Unfit(f"{where} is not a name")
    return value


def _rendered(value: object, edit: Callable[[object, str], Edit]) -> Rendered | None:
    if value is None:
        return None
    fields = Fields(value, "it: rendered", ("output_sha256", "edits", "seal"))
    held = fields.list_of("edits", edit, MOST_EDITS)
    return Rendered(fields.sha256("output_sha256"), held, fields.sha256("seal", empty=True))


_READ: Mapping[str, tuple[tuple[str, ...], Callable[[Fields, str, int], Edit]]] = {
    "show person": (("person", "first", "last"), lambda f, where, n: ShowPerson(_person(f), _span(f, n))),
    "cover person": (("person", "first", "last"), lambda f, where, n: CoverPerson(_person(f), _span(f, n))),
    "cover place": (("number", "first", "keys", "boxes"), _place),
    "remove redaction": (
        ("track", "first", "last"),
        lambda f, where, n: RemoveRedaction(f.whole("track", 1, _LARGEST), _span(f, n)),
    ),
    "join persons": (("person", "other"), _joined),
    "part person": (("person", "first", "new"), _parted),
    "another surrogate": (("person",), lambda f, where, n: AnotherSurrogate(_person(f))),
    "cover region": (("box", "first", "last"), lambda f, where, n: CoverRegion(_box(f["box"], where), _span(f, n))),
}
"""For each kind of edit: its keys, and the function that reads it from its fields, their place in the file, and the
number of frames."""
