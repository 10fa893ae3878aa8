"""`streamdeid audit`: one screen, exit codes, and nothing of a hostile report steers the terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streamdeid.cli.main import main
from streamdeid.report.redaction_report import FileFailure, ProvisionalCounts, Report, as_json, write_report
from streamdeid.settings import ALL_METHODS
from streamdeid.surrogates.guarantee import guarantee
from tests.report.test_audit import choice, one_file

Capture = pytest.CaptureFixture[str]


def audit(report: Report, place: Path, capfd: Capture, *options: str) -> tuple[int, list[str], list[str]]:
    """Exit code, lines on stdout and lines on stderr for a report that lies in `place`."""
    path = place / "report.json"
    write_report(path, report)
    code = main(["audit", str(path), *options])
    captured = capfd.readouterr()
    return code, captured.out.splitlines(), captured.err.splitlines()


def worst(place: Path) -> Report:
    """A run with everything to mind at once."""
    one = one_file(
        place,
        levels={"own face": 70, "posed face": 10, "soft redaction": 20},
        persons={"0": {"soft redaction": 20}, "1": {"own face": 70, "posed face": 10}},
        surrogates={"chosen": 1, "failed closed": 2, "separation relaxed": 3},
        damaged_places=2,
        dropped_streams=("a", "b"),
        provisional=ProvisionalCounts(1.0, 12, 5, 0, 2),
    )
    words = guarantee("k-diff-furthest", q=0.5, factor=2.0, worst_bits=1.05)
    options = {"preserved": ("gender", "age"), "leakage_bits": 0.99, "worst_leakage_bits": 1.05, "guarantee": words}
    return Report(choice(eyes="original", transfer="paper", tolerant=True, **options), (one,))


@pytest.mark.parametrize("method", ALL_METHODS)
def test_one_screen_for_every_method(method: str, tmp_path: Path, capfd: Capture) -> None:
    code, out, err = audit(Report(choice(method), (one_file(tmp_path),)), tmp_path, capfd)
    assert (code, err) == (0, [])
    assert len(out) <= 24
    assert max(len(line) for line in out) <= 100
    text = " ".join(line.strip() for line in out)
    for words in (method, "120 frames, 100 faces of 1 person", "100 own face (100.0 %)", "This does not cover"):
        assert words in text
    # There is room, so the promise is whole.
    assert " ".join(guarantee(method, q=0.5, factor=2.0, worst_bits=0.0).split()) in text


def test_with_everything_to_mind_it_is_still_one_screen(tmp_path: Path, capfd: Capture) -> None:
    code, out, _ = audit(worst(tmp_path), tmp_path, capfd)
    assert code == 0
    assert len(out) <= 24
    text = "\n".join(out)
    assert "at most 2.00 times" in text
    assert "at most 4.14 times" in text
    assert "untested  12 heads shown by a face drawn" in text
    assert "factor 1.00: 5 people kept one, 2 went over to another, 0 tested" in " ".join(text.split())
    assert "This does not cover" in text
    assert sum(line.startswith("mind") for line in out) == 9


def test_childrens_faces_are_named(tmp_path: Path, capfd: Capture) -> None:
    for children in (False, True):
        _, out, _ = audit(Report(choice(children=children), (one_file(tmp_path),)), tmp_path, capfd)
        assert any("method" in line and "children's faces" in line for line in out) == children


def test_without_provisional_faces_nothing_is_said_of_them(tmp_path: Path, capfd: Capture) -> None:
    for counts in (None, ProvisionalCounts(1.0, 0, 0, 0, 0)):
        _, out, _ = audit(Report(choice(), (one_file(tmp_path, provisional=counts),)), tmp_path, capfd)
        assert not any(line.startswith("untested") for line in out)


def test_a_method_without_a_bound_says_so(tmp_path: Path, capfd: Capture) -> None:
    _, out, _ = audit(Report(choice("k-same-m", factor=None), (one_file(tmp_path),)), tmp_path, capfd)
    assert any(line.startswith("factor    none") for line in out)


def test_several_files_have_totals_and_a_line_each(tmp_path: Path, capfd: Capture) -> None:
    files = tuple(one_file(tmp_path, f"clip{number}") for number in range(20))
    report = Report(choice(), files, (FileFailure("bad.mp4", "bad.mp4 cannot be read", 1),))
    _, out, _ = audit(report, tmp_path, capfd)
    listed = [line for line in out if line.startswith("  ") and "input matches, output matches" in line]
    assert len(listed) == 11
    assert "  bad.mp4: not filtered: bad.mp4 cannot be read" in out
    assert "  and 9 more" in out
    assert any("2400 frames, 2000 faces of 20 people" in line for line in out)


def test_a_changed_result_is_one_line_and_exit_code_1(tmp_path: Path, capfd: Capture) -> None:
    report = Report(choice(), (one_file(tmp_path),))
    (tmp_path / "clip_deidentified.mp4").write_bytes(b"something else")
    for options in ((), ("--json",)):
        code, out, err = audit(report, tmp_path, capfd, *options)
        assert code == 1
        assert err == ["streamdeid: clip_deidentified.mp4 is not the output of this run: its hash differs"]
        assert "DIFFERS" in "".join(out) or '"matches": false' in "".join(out)


def test_files_elsewhere(tmp_path: Path, capfd: Capture) -> None:
    there = tmp_path / "there"
    there.mkdir()
    report = Report(choice(), (one_file(there),))
    _, out, _ = audit(report, tmp_path, capfd)
    assert any(line.startswith("output") and "not here" in line for line in out)
    _, out, _ = audit(report, tmp_path, capfd, "--files", str(there))
    assert any(line.startswith("output") and "matches" in line for line in out)
    code, out, err = audit(report, tmp_path, capfd, "--files", str(tmp_path / "nowhere"))
    assert (code, out, len(err)) == (2, [], 1)


def test_json_is_one_object(tmp_path: Path, capfd: Capture) -> None:
    code, out, err = audit(worst(tmp_path), tmp_path, capfd, "--json")
    assert (code, len(out), err) == (0, 1, [])
    values = json.loads(out[0])
    assert (values["schema"], values["version"]) == ("streamdeid.audit", 1)
    assert values["totals"]["levels"] == {"own face": 70, "posed face": 10, "soft redaction": 20}
    assert len(values["warnings"]) == 9
    assert {check["role"]: check["matches"] for check in values["checks"]} == dict.fromkeys(
        ("input", "output", "model", "gallery"), True
    )
    assert "This does not cover" in values["choice"]["guarantee"]


@pytest.mark.parametrize(
    ("content", "code"),
    [("", 1), ("{}", 1), ('{"schema": "streamdeid.report", "version": 1}', 1), ("later", 2), ("cut", 1)],
)
def test_exit_codes(content: str, code: int, tmp_path: Path, capfd: Capture) -> None:
    values = as_json(Report(choice(), (one_file(tmp_path),)))
    whole = json.dumps({**values, "version": 9 if content == "later" else 1})
    path = tmp_path / "r.json"
    path.write_text({"later": whole, "cut": whole[:-40]}.get(content, content), encoding="utf-8")
    assert main(["audit", str(path)]) == code
    captured = capfd.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("streamdeid: ")


def test_usage(capfd: Capture) -> None:
    assert main(["audit"]) == 2
    assert main(["audit", "a.json", "b.json"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 2


def test_a_report_does_not_steer_the_terminal(tmp_path: Path, capfd: Capture) -> None:
    one = one_file(tmp_path)
    one = replace(one, output=replace(one.output, name="a\x1b[2Jb\u202ec.mp4"))
    failure = FileFailure("x\ny", "\x1b]0;title\x07\r\n", 1)
    code, out, _ = audit(Report(choice(guarantee="\x1b[31m" * 3), (one,), (failure,)), tmp_path, capfd)
    assert code == 0
    assert all(line.isprintable() for line in out)
