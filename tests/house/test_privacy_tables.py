"""The headline tables of the pages are the generated ones: `python -m benchmarks privacy` copies them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.documents import privacy
from streamdeid.core.shipped_models import shipped
from streamdeid.settings import ALL_METHODS
from streamdeid.surrogates.models import read_hashes

ROOT = Path(__file__).parents[2]


def test_the_pages_show_what_was_measured() -> None:
    """`python -m benchmarks privacy` writes them."""
    for page, text in privacy.pages(ROOT).items():
        assert page.read_text(encoding="utf-8") == text, page.name
    assert set(ALL_METHODS) <= set(privacy.METHODS)


def test_a_method_that_was_not_measured_is_shown_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(privacy.METHODS, "new", "`new`")
    monkeypatch.setattr(privacy, "README_ROWS", ("new", "blur"))
    for text in privacy.pages(ROOT).values():
        (row,) = [line for line in text.splitlines() if line.startswith("| `new` |")]
        assert privacy.NOT_MEASURED in row and "| `blur` |" in text
    monkeypatch.delitem(privacy.METHODS, "blur")
    with pytest.raises(ValueError, match="not known"):
        privacy.pages(ROOT)


def test_what_the_readme_says_in_words_is_what_was_measured() -> None:
    """The row of its comparison, and the sentence below its table."""
    report = (ROOT / "benchmarks" / "privacy.md").read_text(encoding="utf-8")
    rows = {str(row[0]): [str(cell).split(" %")[0] for cell in row] for row in privacy.headline_of(report).rows}
    ours, blur = rows[privacy.METHODS["k-diff-furthest, gender preserved"]], rows[privacy.METHODS["blur"]]
    mean = rows[privacy.METHODS["control: mean face for everybody"]]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    dlib, refitted, alike = 2, 5, 6
    both = [f"{float(one[dlib]):g} %; {float(one[alike]):g} %" for one in (ours, blur)]
    row = "| people named: by dlib; by who filters his own photographs alike |"
    assert f"{row} {both[0]} | | | | {both[1]} |" in readme
    assert f"names {float(ours[refitted]):g} % (" in readme and f"and {float(mean[refitted]):g} % if all wore" in readme


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


def test_chapters_that_were_not_measured_again_stay_as_they_are() -> None:
    """The page is what its chapters say, in the order in which they stand."""
    page = (ROOT / "benchmarks" / "privacy.md").read_text(encoding="utf-8")
    before = privacy.sections(page)
    assert privacy.joined(before, {}) == page
    line = "* **missed**: nobody is named - expected 0, measured 1"
    new = '<a id="sessions"></a>\n\n## Linked\n\nText.\n\n' + line
    other = privacy.joined(before, privacy.sections(f"# Attacks\n\n{new}\n"))
    assert privacy.sections(other) == {**before, "sessions": new}
    assert "* [Linked](#sessions): nobody is named\n" in other
