"""What the command line says of archives and clusters that it cannot use: one line, and no password."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamdeid.cli.main import main
from streamdeid.errors import ExitCode


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    told = capsys.readouterr()
    assert not told.out and told.err.count("\n") == 1
    return told.err


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Something that could be one."""
    path = tmp_path / "in.mp4"
    path.write_bytes(b"no video")
    return path


def test_without_the_extra_one_line_names_it(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    for words in (["s3://bucket/in/", str(tmp_path / "out")], [str(recording), "s3://bucket/out/"]):
        assert main(["filter", *words]) == ExitCode.SETTINGS
        assert "streamdeid[cluster]" in complaint(capsys)
    assert main(["filter", str(recording), str(tmp_path / "o.mp4"), "--ray", "auto"]) == ExitCode.SETTINGS
    assert "streamdeid[cluster]" in complaint(capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ray", "auto", "--workers", "2"], "--workers"),
        (["--ray", "auto", "--analysis", "a"], "without --ray"),
        (["--ray", "auto", "--fps", "5"], "--fps"),
        (["--ray", "auto", "--report", "none/r.json"], "directory does not exist"),
    ],
)
def test_options_that_do_not_go_together(
    words: list[str], said: str, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["filter", str(recording), *words]) in (ExitCode.SETTINGS, ExitCode.OUTPUT)
    assert said in complaint(capsys)


def test_a_password_in_an_address_is_refused_and_not_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["filter", "s3://key:s3cret@bucket/in", str(tmp_path)]) == ExitCode.SETTINGS
    assert "environment" in (line := complaint(capsys)) and "s3cret" not in line
