"""What the laboratory found, written twice: GitHub Markdown for people, JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from streamdeid.core.atomic_file import write_whole
from streamdeid.core.shown_text import json_bytes
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import OutputError
from streamdeid.lab.identification import Interval

SCHEMA = "streamdeid.laboratory"
VERSION = 1

Cell = str | float | int | None

_NOTHING: Mapping[str, object] = MappingProxyType({})
_ABSENT = "-"
_SLACK = 1e-12
"""0.4 - 0.3 is a hair more than 0.1."""


@dataclass(frozen=True)
class Table:
    """Rows of equally many cells as there are columns (ValueError otherwise); None or nan: nothing was measured."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse rows of another length."""
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.title!r}: a row has another length than the {len(self.columns)} columns")


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, the figure it needs, the figure that was measured, and whether the claim was met."""

    claim: str
    expected: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Chapter:
    """One experiment: text, tables, verdicts and the names of plots that lie beside the report."""

    slug: str
    """Name of the chapter in links: lower-case words joined by hyphens."""
    title: str
    text: str
    tables: tuple[Table, ...]
    verdicts: tuple[ClaimVerdict, ...]
    plots: tuple[str, ...] = ()


def percent(value: float | None, digits: int = 1) -> str:
    """A share (0 to 1) as "12.3 %"; "not measured" for None and nan."""
    return "not measured" if value is None or not math.isfinite(value) else f"{100.0 * value:.{digits}f} %"


def limits(interval: Interval, digits: int = 1) -> str:
    """A share with its 95 % limits, such as "12.3 % (10.1-14.9)"; "not measured" where nothing was."""
    if not math.isfinite(interval.value):
        return percent(None)
    low, high = (f"{100.0 * value:.{digits}f}" for value in (interval.low, interval.high))
    return f"{percent(interval.value, digits)} ({low}-{high})"


def within(value: float | None, target: float, tolerance: float) -> bool:
    """Whether a figure is at most `tolerance` away from its target; what was not measured is not."""
    return value is not None and abs(value - target) <= tolerance + _SLACK


def write_chapters(
    out: Path, name: str, title: str, chapters: Sequence[Chapter], extra: Mapping[str, object] = _NOTHING
) -> None:
    """Write out/name.md and out/name.json, replacing what was there; `out` is made if need be.

    extra: further values for the JSON file, under "extra": mappings, sequences, numpy arrays, numbers, texts, paths;
    what is not finite becomes null. TypeError for other things. Raises OutputError when a file cannot be written.
    """
    values = {
        "schema": SCHEMA,
        "version": VERSION,
        "title": title,
        "chapters": [asdict(chapter) for chapter in chapters],
        "extra": extra,
    }
    data = json.dumps(_plain(values), indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"
    write_result(out / f"{name}.md", json_bytes(_markdown(title, chapters)))
    write_result(out / f"{name}.json", json_bytes(data))


def write_result(path: Path, data: bytes) -> None:
    """Write a file of results, over one that is there, and make its directory if there is none. Raises OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {system_reason(error)}") from error
    write_whole(path, data, overwrite=True)


def _plain(value: object) -> object:
    """The value in JSON's types, without nan and infinities."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [_plain(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    raise TypeError(f"{type(value).__name__} has no place in a JSON file")


def _markdown(title: str, chapters: Sequence[Chapter]) -> str:
    """The whole report: what was missed first, so that nobody has to look for it."""
    verdicts = [(chapter, verdict) for chapter in chapters for verdict in chapter.verdicts]
    parts = [f"# {title}"]
    parts.append("\n".join(f"* [{_line(chapter.title)}](#{chapter.slug})" for chapter in chapters))
    if verdicts:
        missed = [(chapter, verdict) for chapter, verdict in verdicts if not verdict.met]
        parts.append(f"{len(verdicts) - len(missed)} of {len(verdicts)} claims met." + (" Missed:" if missed else ""))
        parts.append("\n".join(f"* [{_line(c.title)}](#{c.slug}): {_line(v.claim)}" for c, v in missed))
    for chapter in chapters:
        parts.append(f'<a id="{chapter.slug}"></a>\n\n## {_line(chapter.title)}')
        parts.append(chapter.text.strip())
        parts.append("\n".join(_verdict_line(verdict) for verdict in chapter.verdicts))
        parts += [_table(table) for table in chapter.tables]
        parts += [f"![{_line(chapter.title)}]({plot})" for plot in chapter.plots]
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdict_line(verdict: ClaimVerdict) -> str:
    word = "met" if verdict.met else "missed"
    return (
        f"* **{word}**: {_line(verdict.claim)} - expected {_line(verdict.expected)}, measured {_line(verdict.measured)}"
    )


def _table(table: Table) -> str:
    numeric = [all(_is_number(row[c]) for row in table.rows) for c in range(len(table.columns))]
    lines = [_row(table.columns), "|" + "|".join("---:" if right else "---" for right in numeric) + "|"]
    lines += [_row(row) for row in table.rows]
    return "\n\n".join(part for part in (f"**{_line(table.title)}**", "\n".join(lines), table.note.strip()) if part)


def _row(cells: Sequence[Cell]) -> str:
    return "| " + " | ".join(_line(_text(cell)).replace("|", "\\|") for cell in cells) + " |"


def _text(cell: Cell) -> str:
    if cell is None:
        return _ABSENT
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if isinstance(cell, float | np.floating):
        return f"{float(cell):.4g}" if math.isfinite(cell) else _ABSENT
    return str(cell)


def _is_number(cell: Cell) -> bool:
    """Whether a cell belongs to the right: numbers, percentages, and gaps."""
    if not isinstance(cell, str):
        return True
    try:
        float(cell.removesuffix("%").strip() or "?")
    except ValueError:
        return cell in (_ABSENT, percent(None))
    return True


def _line(text: str) -> str:
    """One line: a line break would end a cell, a heading or a list item."""
    return " ".join(text.split())
