"""`streamdeid evaluate`: usage, exit codes, and that a run whose controls are off fails after writing its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamdeid.cli.main import main
from streamdeid.lab import evaluate
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table


def _chapter(*verdicts: ClaimVerdict) -> Chapter:
    return Chapter("one", "One", "Text.", (Table("T", ("a",), ((1,),)),), verdicts)


def _measuring(monkeypatch: pytest.MonkeyPatch, *verdicts: ClaimVerdict) -> None:
    monkeypatch.setitem(evaluate._MEASURE, "papers", lambda arguments, models, sets, bar: [_chapter(*verdicts)])


def _run(tmp_path: Path, *more: str, part: str = "papers") -> int:
    for name in evaluate._WANTED["papers"]:
        (tmp_path / "faces" / name).mkdir(parents=True, exist_ok=True)
    return main(["evaluate", part, "--faces", str(tmp_path / "faces"), "--out", str(tmp_path / "out"), *more])


def test_a_report_is_written_and_missed_claims_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _measuring(monkeypatch, ClaimVerdict("fast", "1", "1", True), ClaimVerdict("cheap", "1", "2", False))
    assert _run(tmp_path, "--quick") == 0
    told = capsys.readouterr().out
    assert "missed: cheap: expected 1, measured 2" in told and "1 of 2 claims met" in told
    written = json.loads((tmp_path / "out" / "papers.json").read_text())
    assert written["extra"]["quick"] is True and len(written["extra"]["model"]) == 64
    assert "One" in (tmp_path / "out" / "papers.md").read_text()


def test_an_existing_report_is_kept_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _measuring(monkeypatch)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "papers.md").write_text("mine")
    assert _run(tmp_path) == 3
    assert "--overwrite" in capsys.readouterr().err and (tmp_path / "out" / "papers.md").read_text() == "mine"
    assert _run(tmp_path, "--overwrite", "--quiet") == 0
    assert capsys.readouterr().out == "" and (tmp_path / "out" / "papers.md").read_text() != "mine"


def test_controls_that_are_off_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _measuring(monkeypatch, ClaimVerdict("control: unaltered faces are recognised", "95 %", "3 %", False))
    assert _run(tmp_path) == 4
    assert "1 of its controls are off: control: unaltered" in capsys.readouterr().err
    assert (tmp_path / "out" / "papers.md").exists()


@pytest.mark.parametrize(
    ("more", "part", "code", "says"),
    [
        (["--videos", "."], "papers", 2, "belong to attacks"),
        (["--people", "x.csv"], "papers", 2, "belong to attacks"),
        (["--people", "nowhere.csv"], "attacks", 1, "cannot be read as a table of people"),
        (["--recogniser", "x.onnx"], "utility", 2, "belong to attacks"),
        (["--recogniser", "x.onnx"], "attacks", 1, "no recogniser at"),
        (["--videos", "/nowhere"], "attacks", 1, "not a directory of videos"),
        (["--models", "/nowhere"], "papers", 2, "no directory of models"),
        (["--faces", "/nowhere"], "papers", 1, "/nowhere/london is not a directory of photographs"),
        (["--out", "/proc/nothing"], "papers", 3, "cannot be made"),
        ([], "papers", 1, "holds no photographs"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], part: str, code: int, says: str
) -> None:
    assert _run(tmp_path, *more, part=part) == code
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1 and says in errors[0]


def test_an_unknown_part_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(tmp_path, part="poems") == 2
    assert "poems" in capsys.readouterr().err


def test_sets_are_read_once_and_reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def read(directory: Path, detect: object, report: object, *, most: int | None) -> list[object]:
        told.append(f"{directory.name} {most}")
        return []

    monkeypatch.setattr(evaluate, "read_photographs", read)
    sets = evaluate._Sets(tmp_path, lambda image: [], {"canada": 3})
    assert sets.photographs("london") == sets.photographs("london") == []
    assert sets.photographs("canada") == []
    assert told == ["london None", "canada 3"]
