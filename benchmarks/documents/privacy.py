"""benchmarks/privacy.md and the tables of docs/privacy.md and README.md, from the reports of `streamdeid evaluate`.

    streamdeid evaluate papers  --faces ../shared/faces --out REPORTS
    streamdeid evaluate attacks --faces ../shared/faces --people benchmarks/people/labels/lfpw.csv \\
        --videos ../shared/videos --out REPORTS
    streamdeid evaluate utility --faces ../shared/faces --out REPORTS
    python -m benchmarks privacy REPORTS
    python -m benchmarks privacy             # the tables of the two pages only, from benchmarks/privacy.md

Nothing is typed in by hand: every cell is a cell of a report, and tests/house/test_privacy_tables.py compares the
pages. A report that is not there, or has no clips, leaves its chapters as they are. Reports of other models than the
shipped ones, and quick ones, are refused. A method of `METHODS` that has not been measured stands in the tables as
such.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.command_line import parser_of
from streamdeid.core.shipped_models import shipped
from streamdeid.identity.picture_recognisers import DlibResnet
from streamdeid.lab.picture_attacks.other_photographs import OTHERS
from streamdeid.lab.picture_attacks.posed_faces import WIDTHS, black_region_at, posed_at
from streamdeid.lab.picture_attacks.posed_recognition import SLUG as POSED
from streamdeid.lab.picture_attacks.sessions import PARROT
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, write_chapters
from streamdeid.surrogates.models import read_hashes

ROOT = Path(__file__).parents[2]
PARTS = ("attacks", "utility", "papers")
TITLE = "Privacy and utility, measured"
_VERDICT = r"^\* \*\*(met|missed)\*\*: (.*?) - expected "
"""A line of a chapter: what came of a claim, and the claim."""
METHODS = {
    "k-diff-furthest, gender preserved": "`k-diff-furthest` (default: gender preserved)",
    "k-diff-furthest": "`k-diff-furthest --preserve none`",
    **{posed_at(width): f"`k-diff-furthest --preserve none`, posed faces of {width:g} px" for width in WIDTHS},
    "k-diff-furthest-paper": "`k-diff-furthest-paper`",
    "k-same-furthest": "`k-same-furthest`",
    "k-same-m": "`k-same-m`",
    "blackout": "`blackout`",
    "blur": "`blur`",
    "pixelate": "`pixelate`",
    "bar": "`bar`",
    "t-mask": "`t-mask`",
    "noise": "`noise`",
    "threshold": "`threshold`",
    "control: black hull": "*the face cut out (black hull)*",
    **{f"control: {black_region_at(w)}": f"*the region of posed faces of {w:g} px cut out*" for w in WIDTHS},
    "control: mean face for everybody": "*one mean face for everybody*",
    "control: unaltered, through JPEG again": "*nothing changed*",
}
COLUMNS = (
    "method",
    "strongest keyless attack on vectors",
    "dlib: rank-1",
    "dlib: true accepts at FAR 1e-2",
    "the same, another photograph of the person",
    "refitted model: rank-1",
    "two keys linked, or parrot: rank-1 (dlib)",
)
README_ROWS = (
    "k-diff-furthest, gender preserved",
    "k-diff-furthest-paper",
    "k-same-m",
    "blackout",
    "blur",
    "pixelate",
    "bar",
    "control: black hull",
)
README_COLUMNS = {
    COLUMNS[0]: "method",
    COLUMNS[2]: "dlib's recogniser, against the original photographs",
    COLUMNS[6]: "two keys linked, or an attacker who masks his own pictures alike",
}
NOT_MEASURED = "not measured yet"
_LEARNT = ("right key", "right pairs", "same key", "known", "Bayes")
"""Attacks of somebody who holds the key or the bank, or has seen pairs of the very session: not in the headline."""


def main(argv: list[str]) -> int:
    """Write what the reports say, then the tables of the pages; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument(
        "reports", type=Path, nargs="?", help="directory with papers.json, attacks.json, utility.json, or some of them"
    )
    directory = parser.parse_args(argv).reports
    if directory is not None:
        page = ROOT / "benchmarks" / "privacy.md"
        page.write_text(_report(directory, page.read_text(encoding="utf-8")), encoding="utf-8")
    for page, text in pages(ROOT).items():
        page.write_text(text, encoding="utf-8")
    return 0


def _report(directory: Path, before: str) -> str:
    """The text of benchmarks/privacy.md, which was `before`. Ends the program when the reports cannot be used."""
    hashes = read_hashes(shipped())
    files = {part: directory / f"{part}.json" for part in PARTS}
    reports = {part: json.loads(file.read_text(encoding="utf-8")) for part, file in files.items() if file.exists()}
    if not reports:
        sys.exit(f"{directory} holds none of {', '.join(file.name for file in files.values())}")
    for part, report in reports.items():
        facts = report["extra"]
        if facts["quick"] or [facts["model"], facts["gallery"]] != [hashes["aam.npz"], hashes["gallery.npz"]]:
            sys.exit(f"{part}.json is a quick run, or one of other models")
    chapters = [chapter_of(chapter) for report in reports.values() for chapter in report["chapters"]]
    if (attacks := reports.get("attacks")) is not None:
        if POSED not in {chapter.slug for chapter in chapters}:
            sys.exit("attacks.json lacks the chapter on posed faces: it is of an earlier version")
        if DlibResnet.name not in _recognition(attacks):
            sys.exit("attacks.json lacks dlib's recogniser (the extra `evaluation`)")
        if not has_other_photographs(attacks):
            sys.exit("attacks.json lacks other photographs of the same people (--people)")
        note = _NOTE + f"\n\nModel {hashes['aam.npz']}, gallery {hashes['gallery.npz']}."
        chapters.insert(0, Chapter("headline", "Headline", note, (headline_table(attacks),), ()))
    with tempfile.TemporaryDirectory() as made:
        write_chapters(Path(made), "privacy", TITLE, chapters)
        now = (Path(made) / "privacy.md").read_text(encoding="utf-8")
    return joined(sections(before), sections(now))


def sections(page: str) -> dict[str, str]:
    """The chapters of a page as `write_chapters` writes it, by their slugs."""
    parts = page.split('\n<a id="')[1:]
    return {part.partition('"')[0]: f'<a id="{part.strip()}' for part in parts}


def joined(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """A page of the chapters of two, those of the second in the place of those of the first; what was missed first."""
    chapters = {**before, **now}
    titles = {slug: re.findall("^## (.*)$", text, re.MULTILINE)[0] for slug, text in chapters.items()}
    found = [(slug, *said) for slug, text in chapters.items() for said in re.findall(_VERDICT, text, re.MULTILINE)]
    missed = [f"* [{titles[slug]}](#{slug}): {claim}" for slug, word, claim in found if word == "missed"]
    head = [f"# {TITLE}", "\n".join(f"* [{title}](#{slug})" for slug, title in titles.items())]
    head.append(f"{len(found) - len(missed)} of {len(found)} claims met." + (" Missed:" if missed else ""))
    return "\n\n".join(part for part in (*head, "\n".join(missed), *chapters.values()) if part) + "\n"


def pages(root: Path) -> dict[Path, str]:
    """The pages that show the headline, each with the text that it has to have."""
    headline = headline_of((root / "benchmarks" / "privacy.md").read_text(encoding="utf-8"))
    which = [COLUMNS.index(column) for column in README_COLUMNS]
    rows = {str(row[0]): tuple(row[column] for column in which) for row in headline.rows}
    short = Table("", tuple(README_COLUMNS.values()), tuple(rows[METHODS[name]] for name in README_ROWS))
    shown = {root / "docs" / "privacy.md": ("privacy", headline), root / "README.md": ("privacy-short", short)}
    return {page: _between(page.read_text(encoding="utf-8"), *inside) for page, inside in shown.items()}


def _between(text: str, mark: str, table: Table) -> str:
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, rest = text.split(begin)
    return f"{before}{begin}\n{markdown(table)}\n{end}{rest.split(end)[1]}"


def headline_of(report: str) -> Table:
    """The headline of benchmarks/privacy.md: a row for each of `METHODS`, measured or not. ValueError for others."""
    chapter = report[report.index("## Headline") :].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in chapter.splitlines() if line.startswith("| ")]
    measured = {row[0]: tuple("" if cell == "-" else cell for cell in row) for row in lines[1:]}
    if tuple(lines[0]) != COLUMNS or not measured.keys() <= set(METHODS.values()):
        raise ValueError("the headline of benchmarks/privacy.md has columns or methods that are not known here")
    missing = tuple(NOT_MEASURED if column == COLUMNS[2] else "" for column in COLUMNS[1:])
    return Table("Headline", COLUMNS, tuple(measured.get(name, (name, *missing)) for name in METHODS.values()))


_NOTE = """\
Rank-1 with 95 % limits. Vectors: 200 drawn people, chance 0.5 %. Pictures: faces of 40 people whom the model never \
saw, against their own unaltered photographs and those of the donors; "another photograph": 44 other people, found in \
a photograph that is not the filtered one. Rows in italics are controls."""


def has_other_photographs(attacks: dict[str, Any]) -> bool:
    """Whether a report has the tables against other photographs of the same people."""
    titles = [table["title"] for chapter in attacks["chapters"] for table in chapter["tables"]]
    return any(title.endswith(OTHERS) for title in titles)


def chapter_of(data: dict[str, Any]) -> Chapter:
    """A chapter of a report; its plots stay in the report's directory."""
    tables = tuple(
        Table(t["title"], tuple(t["columns"]), tuple(tuple(row) for row in t["rows"]), t["note"])
        for t in data["tables"]
    )
    verdicts = tuple(ClaimVerdict(**verdict) for verdict in data["verdicts"])
    return Chapter(data["slug"], data["title"], data["text"], tables, verdicts)


def headline_table(attacks: dict[str, Any]) -> Table:
    """One row for each method and control."""
    chapters = {chapter["slug"]: chapter for chapter in attacks["chapters"]}
    vectors = _strongest(chapters["attacks-on-parameters"]["tables"][0])
    recognition = _recognition(attacks)
    dlib, refit = recognition["dlib ResNet"], recognition["appearance model, refitted"]
    others = {**recognition.get(f"{DlibResnet.name}: {OTHERS}", {}), **_others(chapters["other-photographs"])}
    sessions = _by_name(chapters["sessions"]["tables"][0])
    rows = []
    for name, shown in METHODS.items():
        linked = sessions.get(name, sessions.get(name.removeprefix("control: ")))
        rows.append(
            (
                shown,
                vectors.get("unaltered" if "unaltered" in name else name),
                _cell(dlib, name, "rank-1"),
                _cell(dlib, name, "TAR at FAR 1e-2"),
                _cell(others, "control: unaltered" if "unaltered" in name else name, "TAR at FAR 1e-2"),
                _cell(refit, name, "rank-1"),
                linked[PARROT] if linked else None,
            )
        )
    return Table("Headline", COLUMNS, tuple(rows))


def _recognition(attacks: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Rows by recogniser and set of pictures, those of posed faces too."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for chapter in attacks["chapters"]:
        if chapter["slug"] in ("recognition", POSED):
            for table in chapter["tables"]:
                found.setdefault(table["title"], {}).update(_by_name(table))
    return found


def _others(chapter: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows of dlib's recogniser against other photographs of the same people."""
    (table,) = [table for table in chapter["tables"] if table["title"] == f"{DlibResnet.name}: {OTHERS}"]
    return _by_name(table)


def _strongest(table: dict[str, Any]) -> dict[str, str]:
    """The largest rank-1 of each method over the attacks of somebody without key and without insiders."""
    best: dict[str, tuple[float, str]] = {}
    for row in table["rows"]:
        if any(word in row[0] for word in _LEARNT):
            continue
        for method, cell in zip(table["columns"][1:], row[1:], strict=True):
            if cell is not None:
                best[method] = max(best.get(method, (-1.0, "")), (float(cell.split()[0]), str(cell)))
    return {method: cell for method, (_, cell) in best.items()}


def _by_name(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


def _cell(table: dict[str, dict[str, Any]], name: str, column: str) -> str | None:
    return table[name][column] if name in table else None


def markdown(table: Table) -> str:
    """The table for docs/privacy.md; what was not measured is empty."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    lines += ["| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join(lines)
