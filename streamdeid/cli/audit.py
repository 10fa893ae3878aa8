"""`streamdeid audit`: show the guarantee and the counts of a finished run on one screen."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from streamdeid.core.shown_text import say, say_json
from streamdeid.errors import ExitCode, InputError, SettingsError
from streamdeid.report.audit import FileCheck, Totals, check_files, read_report, warnings_of
from streamdeid.report.redaction_report import (
    SCHEMA,
    VERSION,
    FileReport,
    ProvisionalCounts,
    Report,
    ReviewReport,
    RunChoice,
    left_visible,
)

DESCRIPTION = """\
Say in plain words what a finished run guarantees and what it counted, from the report that `streamdeid filter --report`
wrote. Files that lie beside the report, or in the directories given, are compared with the hashes in it.

A report is no proof: whoever can change the video can write another report. The exit code is 0 when all is well, 1 when
the report cannot be read, is none or is cut off, or when a file is not the one it names, and 2 for wrong usage or a
report of a newer version."""

_WIDTH = 100
_MOST_LINES = 24
"""Lines of one screen, the most for a run over one file."""
_LISTED = 12
"""Most files that are listed one by one."""
_LABEL = 10
_SHORT = 12
"""Hexadecimal digits of a hash that are shown."""
_REST = "(--json has the whole guarantee.)"
_NOT_COVERED = "This does not cover"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("report", type=Path, metavar="REPORT.json", help="what `streamdeid filter --report` wrote")
    parser.add_argument(
        "--files",
        type=Path,
        action="append",
        metavar="DIR",
        help="where to look for the files that it names, instead of beside it; may be given more than once",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command. Raises InputError, also for a file whose hash is not that in the report, and SettingsError."""
    for directory in arguments.files or ():
        if not directory.is_dir():
            raise SettingsError(f"{directory} is not a directory")
    report = read_report(arguments.report)
    checks = check_files(report, arguments.files or [arguments.report.absolute().parent])
    if arguments.json:
        say_json(as_json(report, checks))
    else:
        say("\n".join(screen(arguments.report.name, report, checks)), keep="\n")
    wrong = [check for check in checks if check.matches is False]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InputError(_printable(f"{wrong[0].name} is not the {wrong[0].role} of this run: its hash differs{more}"))
    return ExitCode.DONE


def as_json(report: Report, checks: Sequence[FileCheck]) -> dict[str, object]:
    """The audit as JSON values."""
    return {
        "schema": "streamdeid.audit",
        "version": 1,
        "report": {"schema": SCHEMA, "version": VERSION, "written_by": dict(report.versions)},
        "choice": None if report.choice is None else asdict(report.choice),
        "left_visible": left_visible(report.files),
        "totals": asdict(Totals.of(report.files)),
        "files": [{"input": one.input.name, "output": one.output.name} for one in report.files],
        "failures": [asdict(failure) for failure in report.failures],
        "warnings": warnings_of(report),
        "checks": [asdict(check) for check in checks],
    }


def screen(name: str, report: Report, checks: Sequence[FileCheck]) -> list[str]:
    """The audit as text lines: at most `_MOST_LINES` of `_WIDTH` columns if the run was over one file."""
    single = len(report.files) == 1 and not report.failures
    done = f"{len(report.files)} filtered, {len(report.failures)} failed"
    wrote = report.versions.get("streamdeid", "unknown")
    lines = [line for text in left_visible(report.files) for line in _item("VISIBLE", text)]
    lines += _item("report", f"{name}: {SCHEMA} version {VERSION}, by streamdeid {wrote}; files: {done}")
    if report.choice is not None:
        lines += _chosen(report.choice)
        lines += _item("models", "; ".join(_told(check) for check in checks if check.role in ("model", "gallery")))
    if single:
        one = report.files[0]
        picture = f"{one.picture.codec} {one.picture.width} x {one.picture.height}"
        by_role = {check.role: check for check in checks}
        lines += _item(
            "input", f"{_told(by_role['input'])}; {picture} at {one.picture.frames_per_second:.4g} per second"
        )
        lines += _item("output", _told(by_role["output"]))
    if report.files:
        totals = Totals.of(report.files)
        cuts = sum(one.scene_cuts for one in report.files)
        twice = sum(one.segments > 0 for one in report.files)
        passes = f"; {_many(twice, 'file')} in two passes" if twice else ""
        lines += _item("counted", f"{_counts(totals)}, {_many(cuts, 'scene cut')}{passes}")
        lines += _item("covered", _levels(totals))
        if totals.provisional is not None and totals.provisional.shown:
            lines += _item("untested", _untested(totals.provisional))
    if single and report.files[0].review is not None and report.files[0].review.edits is not None:
        lines += _item("review", _reviewed(report.files[0].review))
    for warning in warnings_of(report):
        lines += _item("mind", warning)
    if not single:
        lines += _listed(report, checks)
    promise = report.choice.guarantee if report.choice is not None else ""
    return lines + _promise(promise, _MOST_LINES - len(lines) if single else len(promise))


def _untested(counts: ProvisionalCounts) -> str:
    heads, people = _many(counts.shown, "head"), _many(counts.kept, "person", "people")
    return (
        f"{heads} shown by a face drawn without knowing whose place it takes (provisional), factor "
        f"{counts.factor:.2f}: {people} kept one, {counts.replaced} went over to another, {counts.tested} tested"
    )


def _reviewed(review: ReviewReport) -> str:
    """A sentence about what a reviewer did to a file."""
    edits = review.edits
    assert edits is not None
    looked, left = edits.doubts_looked_at, edits.doubts_not_looked_at
    parts = [] if looked is None or left is None else [f"{looked} of {_many(looked + left, 'doubt')} looked at"]
    counts = (
        (edits.covered_places, "place covered by hand"),
        (edits.removed_tracks, "false redaction removed"),
        (edits.regions, "region filled"),
        (edits.joined, "pair of persons joined"),
        (edits.parted, "person parted"),
        (edits.other_surrogates, "person given another face"),
    )
    parts += [f"{count} x {what}" for count, what in counts if count]
    who = f", by {review.reviewer}" if review.reviewer else ""
    return _printable("; ".join(parts) + who + (f", {review.reviewed}" if review.reviewed else ""))


def _chosen(choice: RunChoice) -> list[str]:
    parts = [choice.method]
    parts += [f"{name} = {value:g}" for name, value in (("k", choice.k), ("q", choice.q)) if value is not None]
    parts += [f"{name} {value}" for name, value in (("transfer", choice.transfer), ("eyes", choice.eyes)) if value]
    parts += ["children's faces"] if choice.children else []
    lines = _item("method", ", ".join(parts) + f", detector threshold {choice.threshold:g}")
    if choice.factor is None:
        lines += _item("factor", "none: no bound on what a look at a covered face tells about the person")
    else:
        words = f"a look at a new face makes naming its person at most {choice.factor:.2f} times as likely, on average"
        lines += _item("factor", words)
    if choice.preserved:
        whole = (
            ""
            if choice.factor is None
            else f"; with it at most {choice.factor * 2**choice.worst_leakage_bits:.2f} times"
        )
        leakage = f"{choice.leakage_bits:.2f} bits on average, {choice.worst_leakage_bits:.2f} at worst"
        lines += _item("preserved", f"{', '.join(choice.preserved)}: tells {leakage}{whole}")
    return lines


def _listed(report: Report, checks: Sequence[FileCheck]) -> list[str]:
    """A line for each of the first `_LISTED` files, failed ones first, and one line for the rest."""
    files = [check for check in checks if check.role in ("input", "output")]
    pairs = zip(report.files, files[::2], files[1::2], strict=True)
    texts = [f"{failure.input}: not filtered: {failure.error}" for failure in report.failures]
    texts += [_one(one, before, after) for one, before, after in pairs]
    lines = [_cut(f"  {_printable(text)}") for text in texts[:_LISTED]]
    return lines + ([f"  and {len(texts) - _LISTED} more"] if len(texts) > _LISTED else [])


def _one(one: FileReport, before: FileCheck, after: FileCheck) -> str:
    hashes = f"input {_match(before)}, output {_match(after)}"
    return f"{one.output.name}: {_counts(Totals.of([one]))}; {hashes}"


def _promise(text: str, room: int) -> list[str]:
    """The guarantee in lines of full width. If there is no room for it, only the part on what it does not cover, since
    the factor is shown above."""
    lines = textwrap.wrap(_printable(text), _WIDTH)
    if len(lines) <= room:
        return lines
    _, marker, rest = text.partition(_NOT_COVERED)
    lines = textwrap.wrap(_printable(f"{_REST} {marker}{rest}" if marker else text), _WIDTH)
    return lines[: max(room, 1)]


def _told(check: FileCheck) -> str:
    where = " (shipped)" if check.shipped else ""
    return f"{check.name} {check.sha256[:_SHORT]} {_match(check)}{where}"


def _match(check: FileCheck) -> str:
    return {True: "matches", False: "DIFFERS", None: "not here"}[check.matches]


def _counts(totals: Totals) -> str:
    people = "" if totals.people is None else f" of {_many(totals.people, 'person', 'people')}"
    return f"{_many(totals.frames, 'frame')}, {_many(totals.faces, 'face')}{people}"


def _levels(totals: Totals) -> str:
    parts = [f"{count} {name} ({100 * count / max(totals.faces, 1):.1f} %)" for name, count in totals.levels.items()]
    return ", ".join(parts) or "nothing"


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _item(label: str, text: str) -> list[str]:
    """The lines of a labelled item, wrapped."""
    indent = " " * _LABEL
    return textwrap.wrap(_printable(text), _WIDTH, initial_indent=label.ljust(_LABEL), subsequent_indent=indent)


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 3] + "..."


def _printable(text: str) -> str:
    """The text without characters that could control a terminal, since a report may come from somebody else."""
    return "".join(character if character.isprintable() else "?" for character in text)
