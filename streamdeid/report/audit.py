"""Reads and checks the report of a finished run, lists warnings about the run, and compares its files with its hashes.

A report is no proof: whoever can change a video can write a report for it. The audit checks that the report is whole,
that its counts agree with each other, and that the files at hand have the hashes that it names.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
import typing
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamdeid.core.arrays_file import read_arrays
from streamdeid.core.shipped_models import shipped
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import InputError, ModelError, SettingsError
from streamdeid.protect.mask_faces import LEAVES_NOTHING, MASKS
from streamdeid.report.redaction_report import (
    SCHEMA,
    VERSION,
    FileReport,
    FileSide,
    ProvisionalCounts,
    Report,
    RunChoice,
    sha256_of,
)
from streamdeid.surrogates.choice import SAMPLED
from streamdeid.surrogates.models import GALLERY, MODEL, read_hashes

_HASH = re.compile(r"[0-9a-f]{64}")
_MOST, _MOST_BITS = 1 << 53, 64.0
"""Counts, and leakage in bits, from which a report is refused: no run reaches them."""
_MANY_HIDDEN = 0.1
"""Share of faces without a new face above which there is a warning: viewers see a blur there, and no expression."""
_RENAMED = {"rungs": "levels", "price_bits": "leakage_bits", "worst_price_bits": "worst_leakage_bits"}
"""Names of fields in version 1, and in version 2."""
_HIDDEN = ("soft redaction", "solid", "mean face", "solid fill")
"""Protection levels that show no face of a person's own, in this version and in earlier ones."""


@dataclass(frozen=True)
class FileCheck:
    """The comparison of a file that a report names with the file at hand."""

    role: str
    """"input", "output", "model" or "gallery"."""
    name: str
    sha256: str
    """The hash in the report."""
    matches: bool | None
    """Whether the file at hand has this hash; None: no such file was found."""
    shipped: bool = False
    """True when the file was found only among the models that come with this streamdeid."""


@dataclass(frozen=True)
class Totals:
    """Counts over all files of a run."""

    frames: int
    faces: int
    people: int | None
    """Persons told apart in each file, summed; None for a mask."""
    levels: Mapping[str, int]
    provisional: ProvisionalCounts | None
    """Counts of provisional faces; None where no file has them."""

    @staticmethod
    def of(files: Sequence[FileReport]) -> Totals:
        """The sums over some files."""
        levels: Counter[str] = Counter()
        for one in files:
            levels.update(one.levels)
        people = [one.people for one in files if one.people is not None]
        return Totals(
            sum(one.frames for one in files),
            sum(one.faces for one in files),
            sum(people) if people else None,
            dict(levels),
            _summed([one.provisional for one in files if one.provisional is not None]),
        )


def _summed(counts: Sequence[ProvisionalCounts]) -> ProvisionalCounts | None:
    if not counts:
        return None
    sums = [sum(getattr(one, name) for one in counts) for name in ("shown", "kept", "tested", "replaced")]
    return ProvisionalCounts(max(one.factor for one in counts), *sums)


def read_report(path: Path) -> Report:
    """Read and check a report.

    Raises InputError when the file cannot be read, is cut off, is no report or contradicts itself, SettingsError when
    a newer version of streamdeid wrote it.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {system_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is cut off or no JSON file: {error}") from error
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        raise InputError(f"{path} is not a report of streamdeid")
    version = values.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(f"{path} is not a report of streamdeid: it has no version")
    if version > VERSION:
        raise SettingsError(f"{path} is a report of version {version}; this streamdeid reads up to version {VERSION}")
    try:
        if "versions" not in values:
            raise ValueError("versions is missing")
        report: Report = _value(Report, _as_today(values) if version == 1 else values, "")
        _check(report)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path} is not a whole report: {error}") from error
    return report


def file_report_of(values: Any) -> FileReport:
    """The report of one file, from JSON values. Raises ValueError."""
    report: FileReport = _value(FileReport, values, "")
    return report


def _as_today(values: dict[str, Any]) -> dict[str, Any]:
    """A report of version 1 under the names of version 2."""

    def renamed(part: Any) -> Any:
        return {_RENAMED.get(name, name): value for name, value in part.items()} if isinstance(part, dict) else part

    files = values.get("files")
    named = [renamed(one) for one in files] if isinstance(files, list) else files
    return {**values, "choice": renamed(values.get("choice")), "files": named}


def warnings_of(report: Report) -> list[str]:
    """Warnings for a person who receives the results of this run, in plain words, the gravest first."""
    found = [
        (bool(report.failures), f"{_files(len(report.failures))} not filtered; nothing of them was written"),
        (report.choice is None, "no file got as far as the filter"),
        *(() if report.choice is None else _of_the_choice(report.choice)),
        *_of_the_reviews(report.files),
        *_of_the_faces(report.files),
    ]
    return [text for applies, text in found if applies]


def _of_the_choice(choice: RunChoice) -> list[tuple[bool, str]]:
    """Warnings that a method and its settings deserve, and whether they apply."""
    mask = choice.method in MASKS
    return [
        (
            mask and choice.method not in LEAVES_NOTHING,
            f"{choice.method} leaves something of a face: who masks his own photographs alike may know people",
        ),
        (
            not mask and choice.method != SAMPLED,
            f"{choice.method} is a paper's own map: no bound on what a look tells",
        ),
        (choice.eyes == "original", "the people's own eyes are shown, and eyes identify"),
        (choice.children, "children's faces were not attacked: how well they hide who is shown is not measured"),
        (choice.transfer == "paper", "expressions are carried as printed in the paper: faces look stiffer"),
        (not mask and not choice.keyed, "no key file: the key was random and is gone; nobody can repeat this run"),
        (choice.keyed, "made with a key file: whoever has it and the original can make the same faces again"),
        (
            choice.register_days is not None,
            "made with a register: people have the same faces in all runs that share it, and it holds biometric "
            f"data for {choice.register_days} days after it saw somebody",
        ),
    ]


def _of_the_reviews(files: Sequence[FileReport]) -> list[tuple[bool, str]]:
    """Warnings about what was shown or opened on purpose, and whether they apply."""
    reviewed = [one.review.edits for one in files if one.review is not None and one.review.edits is not None]
    by_hand = sum(sum(edits.visible_frames.values()) for edits in reviewed)
    shown = sum(one.shown for one in files) - by_hand
    removed = sum(edits.removed_frames for edits in reviewed)
    unseen = sum(edits.doubts_not_looked_at or 0 for edits in reviewed)
    return [
        (
            bool(shown > 0),
            f"{shown} faces were recognised as whitelisted people and are shown as they are, unprotected",
        ),
        (bool(removed), f"a reviewer took redactions away as false in {removed} frames"),
        (bool(unseen), f"{unseen} doubts about this recording were not looked at in its review"),
    ]


def _of_the_faces(files: Sequence[FileReport]) -> list[tuple[bool, str]]:
    """Warnings about the faces that were found, and what became of them; and whether they apply."""
    totals = Totals.of(files)
    surrogates: Counter[str] = Counter()
    for one in files:
        surrogates.update(one.surrogates)
    hidden = sum(totals.levels.get(level, 0) for level in _HIDDEN)
    empty = sum(not one.faces and not one.shown for one in files)
    damaged = sum(one.damaged_places for one in files)
    dropped = sum(len(one.dropped_streams) for one in files)
    cut = sum(one.cut for one in files)
    undecided = sum(sum(one.persons.get("0", {}).values()) for one in files)
    return [
        (bool(empty), f"no face was found in {_files(empty)}: look at the result before you hand it on"),
        (
            bool(surrogates["failed closed"]),
            f"{surrogates['failed closed']} times no surrogate could be certified: that person has no new face",
        ),
        (
            bool(surrogates["separation relaxed"]),
            f"separation relaxed {surrogates['separation relaxed']} times: some new faces are more alike than usual",
        ),
        (
            hidden > _MANY_HIDDEN * totals.faces,
            f"{100 * hidden / max(totals.faces, 1):.1f} % of the faces are redacted, without a new face",
        ),
        (
            bool(cut),
            f"{cut} redactions of faces that were not seen were cut to 1.6 times the face or a quarter of the picture",
        ),
        (bool(undecided), f"{undecided} faces are of people who were not seen well enough to be given a face"),
        (bool(damaged), f"{damaged} damaged places were passed over (--tolerant): frames may be missing there"),
        (bool(dropped), f"{dropped} {'stream' if dropped == 1 else 'streams'} of the input not in the output"),
    ]


def check_files(report: Report, directories: Sequence[Path]) -> list[FileCheck]:
    """Compare every file that the report names with the file of that name in the directories, where there is one.

    Models that are not there are compared with the shipped ones. Raises InputError when a file cannot be read.
    """
    sides = [(role, side) for one in report.files for role, side in (("input", one.input), ("output", one.output))]
    named: dict[str, set[str]] = {}
    for _, side in sides:
        named.setdefault(side.name, set()).add(side.sha256)
    here = {name: [sha256_of(path) for path in _found(name, directories)] for name in named}
    checks = [
        # A file of this name may be another file of this report. It is then ignored, and is no mismatch.
        FileCheck(
            role, side.name, side.sha256, _verdict(side.sha256, [h for h in here[side.name] if _own(h, side, named)])
        )
        for role, side in sides
    ]
    if report.choice is not None:
        models = (("model", MODEL, report.choice.model_sha256), ("gallery", GALLERY, report.choice.gallery_sha256))
        for role, name, expected in models:
            matches = _verdict(expected, [_hash_of_model(path) for path in _found(name, directories)])
            ours = matches is None and _shipped_hash(name) == expected
            checks.append(FileCheck(role, name, expected, True if ours else matches, ours))
    return checks


def _own(found: str, side: FileSide, named: Mapping[str, set[str]]) -> bool:
    return found == side.sha256 or found not in named[side.name]


def _verdict(expected: str, found: Sequence[str]) -> bool | None:
    return all(one == expected for one in found) if found else None


def _found(name: str, directories: Sequence[Path]) -> list[Path]:
    try:
        return [directory / name for directory in directories if (directory / name).is_file()]
    except OSError as error:  # a directory that may not be looked into, a name that is too long
        raise InputError(f"cannot look for {name!r}: {system_reason(error)}") from error


def _hash_of_model(path: Path) -> str:
    """The content hash of a model; for a damaged file an empty text, which matches nothing."""
    try:
        return read_arrays(path)[1]
    except ModelError:
        return ""


def _shipped_hash(name: str) -> str | None:
    try:
        return read_hashes(shipped()).get(name)
    except ModelError:
        return None


def _files(count: int) -> str:
    return f"{count} {'file' if count == 1 else 'files'}"


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


def _check(report: Report) -> None:
    """Raise ValueError for values of the right types that no run can have."""
    hashes = [side.sha256 for one in report.files for side in (one.input, one.output)]
    if report.choice is not None:
        hashes += [report.choice.model_sha256, report.choice.gallery_sha256]
        if not 0.0 <= report.choice.worst_leakage_bits < _MOST_BITS:
            raise ValueError("the leakage of the preserved attributes is none")
    elif report.files:
        raise ValueError("files were filtered, but choice is empty")
    if not all(_HASH.fullmatch(value) for value in hashes):
        raise ValueError("a hash is not one")
    for one in report.files:
        names = one.input.name, one.output.name
        if any(name in ("", ".", "..") or "\0" in name or Path(name).name != name for name in names):
            raise ValueError("a file's name is not a plain one")
        by_person = sum(sum(levels.values()) for levels in one.persons.values())
        if sum(one.levels.values()) != one.faces or (one.persons and by_person != one.faces):
            raise ValueError("its counts of faces do not agree with each other")
        counts = [one.frames, one.people or 0, one.scene_cuts, one.damaged_places, *one.surrogates.values()]
        counts += [one.shown, one.filled_regions, one.cut]
        if one.cut > one.faces:
            raise ValueError("more redactions were cut than there are")
        if one.review is not None and one.review.edits is not None:
            edits = one.review.edits
            counts += [edits.removed_frames, edits.doubts_not_looked_at or 0, *edits.visible_frames.values()]
        if one.provisional is not None:
            first = one.provisional
            counts += [first.shown, first.kept, first.tested, first.replaced]
            if first.factor < 1 or max(first.kept, first.replaced) > first.shown:
                raise ValueError("its counts of provisional faces are none")
        counts += [count for levels in (one.levels, *one.persons.values()) for count in levels.values()]
        if not 0 <= min(counts) <= max(counts) < _MOST:
            raise ValueError("a count is none")


def _value(kind: Any, value: Any, where: str) -> Any:
    """A JSON value as the type that a report's field has. ValueError names the first place where that is impossible.

    Fields that this version does not know are passed over, since fields are only ever added within a version. Fields
    that were added later have a default.
    """
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            raise ValueError(f"{where or 'it'} is no object")
        known = typing.get_type_hints(kind)
        for each in dataclasses.fields(kind):
            if each.name not in value and each.default is dataclasses.MISSING:
                raise ValueError(f"{_inside(where, each.name)} is missing")
        make = typing.cast(Callable[..., Any], kind)
        return make(**{n: _value(known[n], v, _inside(where, n)) for n, v in value.items() if n in known})
    parts = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return None if value is None else _value(next(p for p in parts if p is not types.NoneType), value, where)
    if parts and typing.get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{where} is no list")
        return tuple(_value(parts[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if parts:  # a mapping from names
        if not isinstance(value, dict):
            raise ValueError(f"{where} is no object")
        return {name: _value(parts[1], item, _inside(where, name)) for name, item in value.items()}
    right = isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) is (kind is bool)
    if not right or (kind is float and not math.isfinite(value)):
        raise ValueError(f"{where} is no {kind.__name__}")
    return value


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
