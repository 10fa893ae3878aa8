"""No command line destroys a file that it reads: one line, exit code 2, and every file as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from streamdeid.cli.main import main
from streamdeid.report.audit import read_report
from tests.registers import KEY
from tests.synthetic_video import encode

SETTINGS = 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands below name, in which they run."""
    encode(tmp_path / "t.mp4", frames=5)
    encode(tmp_path / "u.mp4", frames=5)
    for name in ("o.mp4", "e.json", "a.analysis", "people", "w.png", "notes"):
        (tmp_path / name).write_bytes(f"somebody's {name}".encode())
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "link.json").symlink_to("t.mp4")
    os.link(tmp_path / "t.mp4", tmp_path / "hard.json")
    (tmp_path / "later.json").symlink_to("new.mp4")  # which is not there yet
    (tmp_path / "models").mkdir()
    for name in ("aam.npz", "gallery.npz", "SHA256"):
        (tmp_path / "models" / name).write_bytes(b"a model")
    os.link(tmp_path / "key", tmp_path / "k.mkv")
    (tmp_path / "cams.toml").write_text(
        '[[camera]]\nname = "a"\nsource = "rtsp://h/a"\nkey_file = "key"\noutput = "k.mkv"\noverwrite = true\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


_FILTER = "filter t.mp4 o.mp4 --method blackout --overwrite"
REFUSED = [
    f"{_FILTER} --report t.mp4",
    f"{_FILTER} --report ./t.mp4",
    f"{_FILTER} --report link.json",
    f"{_FILTER} --report hard.json",
    f"{_FILTER} --report o.mp4",
    "filter t.mp4 new.mp4 --method blackout --overwrite --report later.json",
    f"{_FILTER} --analysis a.analysis --report a.analysis",
    f"{_FILTER} --analysis t.mp4",
    f"{_FILTER} --edits e.json --report e.json",
    f"{_FILTER} --edits e.json --report t.analysis",
    f"{_FILTER} --edits e.json --report .e.json.lock",
    f"{_FILTER} --models models --report models/aam.npz",
    "filter t.mp4 o.mp4 --overwrite --key-file key --report key",
    "filter t.mp4 key --overwrite --key-file key",
    "filter t.mp4 o.mp4 --overwrite --key-file key --register people --report people",
    "filter t.mp4 o.mp4 --overwrite --key-file people --register people",
    "filter t.mp4 o.mp4 --overwrite --whitelist w.png --report w.png",
    "filter t.mp4 t_deidentified.mp4 -o . --overwrite",
    "filter t.mp4 u.mp4 -o out --overwrite --report out/.streamdeid-journal.jsonl",
    "filter t.mp4 u.mp4 -o out --overwrite --workers 2 --report u.mp4",
    "filter --realtime t.mp4 t.mp4 --overwrite",
    "filter --realtime t.mp4 key.mkv --overwrite --key-file key.mkv",
    "compare t.mp4 w.png --sheet w.png --overwrite",
    "review t.mp4 -o t.mp4",
    "review t.mp4 --edits t.mp4",
    "review t.mp4 t.mp4",
    "review t.mp4 --edits o.mp4 -o o.mp4",
    "review t.mp4 --key-file e.json --edits e.json",
    "register forget people --all --key-file people",
    "serve cams.toml --check",
]


@pytest.mark.parametrize("line", REFUSED)
def test_a_file_that_is_read_is_never_written(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "key.mkv" in line:
        (folder / "key").rename(folder / "key.mkv")
    if "t_deidentified" in line:
        (folder / "t_deidentified.mp4").write_bytes((folder / "u.mp4").read_bytes())
    before = _content(folder)
    assert main(line.split()) == SETTINGS
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "choose another" in said.err, said.err
    assert _content(folder) == before


@pytest.mark.parametrize("name", ["notes", "w.png"])
def test_what_is_no_report_is_not_replaced_unasked(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _content(folder)
    words = ["filter", "t.mp4", "new.mp4", "--method", "blackout", "--quiet", "--report", name]
    assert main(words) == SETTINGS
    assert f"{name} exists already; use --overwrite" in capsys.readouterr().err
    assert _content(folder) == before
    assert main([*words, "--overwrite"]) == 0 and len(read_report(folder / name).files) == 1
    assert main([*words[:2], "second.mp4", *words[3:]]) == 0, "a report of ours makes place for the next"
    assert read_report(folder / name).files[0].output.name == "second.mp4"


def test_an_exchanged_report_leaves_what_a_link_leads_to(folder: Path) -> None:
    """The link comes when the run has begun: what it leads to stays, and nothing is written."""
    report = folder / "r.json"

    def put(*_: object) -> None:
        report.symlink_to("t.mp4")

    before = (folder / "t.mp4").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamdeid.cli.filter.tell", put)
        assert main(["filter", "t.mp4", "new.mp4", "--method", "blackout", "--quiet", "--report", "r.json"]) == SETTINGS
    assert (folder / "t.mp4").read_bytes() == before


def test_a_folder_of_somebody_s_is_no_demo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "original.mp4").write_bytes(b"the only one")
    assert main(["demo", "--out", ".", "--seconds", "1"]) == SETTINGS
    assert "original.mp4 exists already; use --overwrite" in capsys.readouterr().err
    assert (folder / "original.mp4").read_bytes() == b"the only one"


@pytest.mark.parametrize("name", ["papers.json", "figure.png"])
def test_an_evaluation_replaces_nothing_unasked(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "out"
    out.mkdir()
    (out / name).write_bytes(b"mine")
    assert main(["evaluate", "papers", "--faces", "models", "--out", "out"]) == 3
    assert f"{name} exists; use --overwrite" in capsys.readouterr().err and (out / name).read_bytes() == b"mine"


def test_an_evaluation_does_not_write_over_its_photographs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "papers", "--faces", ".", "--out", ".", "--overwrite"]) == SETTINGS
    assert "w.png is the photograph itself; choose another report" in capsys.readouterr().err


def test_training_replaces_models_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "photographs").mkdir()
    for number in range(10):
        (folder / "photographs" / f"{number}.png").touch()
    (folder / "CARD.md").write_text("somebody's")
    before = _content(folder)
    assert main(["train", "--images", "photographs", "--out", "."]) == SETTINGS
    assert "CARD.md exists already; use --overwrite" in capsys.readouterr().err
    assert _content(folder) == before


def test_a_recording_with_the_name_of_an_earlier_file_is_not_deleted_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.rename("t.mp4", "r-20260101-000000.mkv")
    words = "filter --realtime r-20260101-000000.mkv r.mkv --method blackout --rotate 60 --keep-files 1"
    assert main(words.split()) == SETTINGS
    assert "would be deleted" in capsys.readouterr().err and (folder / "r-20260101-000000.mkv").exists()
    os.rename("r-20260101-000000.mkv", "hall-20260101-000000-7-000001.ts")
    words = "filter --realtime hall-20260101-000000-7-000001.ts hall.m3u8 --method blackout --overwrite"
    assert main(words.split()) == SETTINGS
    assert "would be deleted" in capsys.readouterr().err and (folder / "hall-20260101-000000-7-000001.ts").exists()


def test_a_name_that_is_no_utf_8_loses_no_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in").mkdir()
    name = os.fsdecode(b"b\xff.mp4")
    for path in (name, "\x1b[31mred\n.mp4"):
        (folder / "in" / path).write_bytes((folder / "u.mp4").read_bytes())
    words = ["filter", "in", "out", "--method", "blackout", "--report", "r.json"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "b\\udcff_deidentified.mp4: 5 frames" in said.out
    assert "\\x1b[31mred\\n_deidentified.mp4: 5 frames" in said.out
    assert {one.input.name for one in read_report(folder / "r.json").files} == {name, "\x1b[31mred\n.mp4"}
    assert main([*words, "--json"]) == 0, "all was done before, says the journal"
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["input"]["name"] for one in told} == {name, "\x1b[31mred\n.mp4"}
    assert main(["audit", "r.json", "--files", "in", "--files", "out"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    (folder / "out" / os.fsdecode(b"b\xff_deidentified.mp4")).write_bytes(b"another")
    assert main(["filter", "in", "out", "--method", "blackout", "--quiet"]) == SETTINGS
    assert "b\\udcff_deidentified.mp4 exists already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["no\nsuch\x1b[31m.mp4", "\u202egpj.mp4"])
def test_names_do_not_steer_the_terminal(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["filter", name], ["filter", name, "o2.mp4", "--debug"], ["audit", name], ["review", name]):
        assert main(words) in (1, 2)
        said = capsys.readouterr()
        assert not {"\x1b", "\u202e"} & set(said.out + said.err) and ("\\x1b[31m" in said.err or "\\u202e" in said.err)


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_key_that_everybody_may_read_is_told_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["filter", "t.mp4", "o.mp4", "--overwrite", "--quiet", "--method", "k-diff-furthest", "--key-file", "key"]
    assert main([*words, "--report", "nowhere/r.json"]) == 3
    assert "can be read by everybody" not in capsys.readouterr().err
    (folder / "key").chmod(0o644)
    assert main([*words[:-2], "--key-file", "key", "--analysis", "notes"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("streamdeid: key file key can be read by everybody") and "notes cannot be read" in second
