"""The README's headline table is the generated one: benchmarks/documents/privacy.py copies it, nobody types it."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.documents import privacy
from streamdeid.settings import ALL_METHODS
from streamdeid.surrogates.models import read_hashes, shipped

ROOT = Path(__file__).parents[2]


def _rows(lines: list[str]) -> list[list[str]]:
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.startswith("|")]
    return [["" if cell == "-" else cell for cell in row] for row in cells if not set("".join(row)) <= set("-:")]


def test_the_readme_shows_what_was_measured() -> None:
    page = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    inside = re.search(f"{privacy.BEGIN}(.*?){privacy.END}", page, flags=re.DOTALL)
    assert inside is not None
    report = (ROOT / "benchmarks" / "privacy.md").read_text(encoding="utf-8")
    start = report.index("## Headline")
    headline = report[start : report.index("\n## ", start + 1)]
    shown, generated = _rows(inside[1].splitlines()), _rows(headline.splitlines())
    assert shown == generated and len(shown) == len(privacy.METHODS) + 1
    assert set(ALL_METHODS) <= set(privacy.METHODS)


def test_the_strongest_attack_is_that_of_nobody_with_a_key() -> None:
    table = {
        "columns": ["attack", "a", "b"],
        "rows": [
            ["A1 naive", "2.0 % (1-3)", None],
            ["A4 inversion, own pairs", "7.0 % (1-9)", "1.0 % (0-2)"],
            ["A4 inversion, right pairs", "99.0 % (98-100)", "99.0 % (98-100)"],
            ["A6 any insider's shift, 5 known", "99.0 % (98-100)", None],
            ["A7 ridge, same key", "99.0 % (98-100)", None],
        ],
    }
    assert privacy._strongest(table) == {"a": "7.0 % (1-9)", "b": "1.0 % (0-2)"}


def test_a_report_without_other_photographs_of_the_same_people_is_noticed() -> None:

    def report(*titles: str) -> dict[str, object]:
        return {"chapters": [{"tables": []}, {"tables": [{"title": title} for title in titles]}]}

    lit, other = (
        "dlib ResNet: the same photographs in another light",
        "dlib ResNet: other photographs of the same people",
    )
    assert privacy.has_other_photographs(report(lit, other))
    assert not privacy.has_other_photographs(report(lit))


def test_the_report_is_of_the_models_that_ship() -> None:
    report = (ROOT / "benchmarks" / "privacy.md").read_text(encoding="utf-8")
    assert read_hashes(shipped())["aam.npz"] in report
