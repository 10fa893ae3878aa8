"""Several recordings beside each other, and a folder that was stopped: all whole or absent, no work lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.errors import ExitCode, InputError, SettingsError
from streamdeid.report.redaction_report import FileFailure, FileReport
from streamdeid.runs import batch
from streamdeid.runs.batch import filter_files
from streamdeid.runs.file_worker import FileTask
from streamdeid.runs.journal import NAME, Journal
from streamdeid.runs.workers import Worker
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.video.files.source import FileSource
from tests.drawn_recordings import draw_recordings
from tests.patience import eventually

FRAMES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """Three recordings of drawn people, one file that is none, and a key."""
    place = tmp_path_factory.mktemp("archive")
    draw_recordings(place, 3, FRAMES, fitting, gallery)
    return place


def files(folder: Path, out: Path) -> list[tuple[Path, Path]]:
    out.mkdir(exist_ok=True)
    return [(folder / "in" / f"{n}.mp4", out / f"{n}_deidentified.mp4") for n in range(3)]


def chosen(folder: Path) -> Settings:
    return Settings(key_file=folder / "key")


def command(folder: Path, out: Path, *more: str) -> int:
    words = ["filter", str(folder / "in"), str(out), "--key-file", str(folder / "key"), "--quiet", *more]
    return main(words)


def whole(path: Path) -> bool:
    return len(list(FileSource(path))) == FRAMES


def test_workers_make_the_same_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(folder, tmp_path / "one") == 0
    assert command(folder, tmp_path / "two", "--workers", "2", "--report", str(tmp_path / "r.json")) == 0
    for _, output in files(folder, tmp_path / "one"):
        assert output.read_bytes() == (tmp_path / "two" / output.name).read_bytes()
    report = json.loads((tmp_path / "r.json").read_text())
    assert [one["input"]["name"] for one in report["files"]] == ["0.mp4", "1.mp4", "2.mp4"]
    assert report["choice"]["keyed"] and not report["failures"]
    assert (
        main(["audit", str(tmp_path / "r.json"), "--files", str(tmp_path / "two"), "--files", str(folder / "in")]) == 0
    )
    assert not capsys.readouterr().err


def test_a_run_reads_its_key_once(folder: Path, tmp_path: Path) -> None:
    """The key may come from a pipe, as `--key-file <(pass show key)` does; a second reader would get nothing."""
    key = (folder / "key").read_bytes()
    report = str(tmp_path / "r.json")
    for _ in range(2):  # the second time all was done before
        reading, writing = os.pipe()
        try:
            with open(writing, "wb") as pipe:
                pipe.write(key)
            words = ["--workers", "2", "--report", report, "--overwrite", "--key-file", f"/dev/fd/{reading}"]
            assert command(folder, tmp_path / "out", *words) == 0
        finally:
            os.close(reading)
        assert json.loads(Path(report).read_text())["choice"]["keyed"]
    assert command(folder, tmp_path / "file") == 0
    for _, output in files(folder, tmp_path / "out"):
        assert output.read_bytes() == (tmp_path / "file" / output.name).read_bytes()


def test_a_bad_file_does_not_stop_the_others(folder: Path, tmp_path: Path) -> None:
    first, second, _ = files(folder, tmp_path / "out")
    given = [first, (tmp_path / "bad.mp4", tmp_path / "out" / "bad.mp4"), second]
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    found = {one.number: one.result for one in filter_files(given, chosen(folder), 2)}
    assert sorted(found) == [0, 1, 2]
    assert all(isinstance(found[number], FileReport) for number in (0, 2))
    bad = found[1]
    assert isinstance(bad, FileFailure) and bad.exit_code == ExitCode.INPUT and "bad.mp4" in bad.error
    assert not (tmp_path / "out" / "bad.mp4").exists()


def test_processes_that_are_killed_cost_at_most_their_own_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any moment, the first time or every time."""
    rng, killed = random.Random(5), threading.Event()
    deaths: dict[str, int] = {}

    class Mortal(Worker[FileTask]):
        def asked(self, task: FileTask, stop: threading.Event) -> Iterator[Any]:
            name = task.input.name
            deaths[name] = deaths.get(name, 0) + 1
            if name == "1.mp4" or (name == "0.mp4" and deaths[name] == 1):
                threading.Timer(rng.uniform(0.05, 0.9), os.kill, (self.pid, signal.SIGKILL)).start()
                killed.set()
            return super().asked(task, stop)

    monkeypatch.setattr(batch, "Worker", Mortal)
    for turn in range(2):
        deaths.clear()
        out = tmp_path / str(turn)
        given = files(folder, out)
        found = {one.number: one for one in filter_files(given, chosen(folder), 2)}
        assert killed.is_set() and sorted(found) == [0, 1, 2] and found[0].attempts == 2
        assert isinstance(found[0].result, FileReport) and isinstance(found[2].result, FileReport)
        failed = found[1].result
        assert (
            isinstance(failed, FileFailure) and failed.exit_code == ExitCode.FAILED_CLOSED and "twice" in failed.error
        )
        assert sorted(path.name for path in out.iterdir()) == ["0_deidentified.mp4", "2_deidentified.mp4"]
        assert whole(given[0][1]) and whole(given[2][1])


def test_what_ends_early_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/task"))
    running = filter_files(files(folder, tmp_path / "out"), chosen(folder), 2)
    first = next(running)
    running.close()
    assert isinstance(first.result, FileReport)
    left = list((tmp_path / "out").iterdir())
    assert all(not path.name.startswith(".") and whole(path) for path in left)
    assert eventually(lambda: set(os.listdir("/proc/self/task")) <= before), (
        "the system lets go a moment after the join"
    )


STOPPED_RUN = """
import os, signal
from streamdeid.cli.main import run
from streamdeid.runs.journal import Journal
known, noted = Journal.add, []
def add(self, report):
    if noted:
        os.kill(os.getpid(), signal.SIGTERM)
    known(self, report)
    noted.append(report)
Journal.add = add
run()
"""
"""The program, which is asked to end when its second file is whole and not noted yet."""


def test_a_run_that_was_stopped_goes_on(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a signal in the middle; then with nothing to do; then with what was changed."""
    out = tmp_path / "out"
    words = ["filter", str(folder / "in"), str(out), "--key-file", str(folder / "key"), "--quiet"]
    stopped = subprocess.run([sys.executable, "-c", STOPPED_RUN, *words], check=False, capture_output=True)
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("*.mp4")}
    assert stopped.returncode == 143 and sorted(done) == ["0_deidentified.mp4", "1_deidentified.mp4"]
    noted = {json.loads(line)["report"]["output"]["name"] for line in _lines(out) if "report" in json.loads(line)}
    assert noted == {"0_deidentified.mp4"}
    assert not list(out.glob(".*.partial-*"))
    assert main([*words, "--workers", "2"]) == 0
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.mp4")}
    assert times["0_deidentified.mp4"] == done["0_deidentified.mp4"]
    assert times["1_deidentified.mp4"] != done["1_deidentified.mp4"], "whole and not noted: made again"
    assert len(times) == 3 and main(words) == 0
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("*.mp4")} == times
    capsys.readouterr()
    (out / "2_deidentified.mp4").write_bytes(b"changed")
    assert main(words) == ExitCode.SETTINGS and "exists already" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0 and whole(out / "2_deidentified.mp4")
    assert (out / "0_deidentified.mp4").stat().st_mtime_ns == times["0_deidentified.mp4"]
    assert main([*words, "--threshold", "0.4"]) == ExitCode.SETTINGS, "other settings are another run"


def _lines(out: Path) -> list[str]:
    return (out / NAME).read_text().splitlines()


def test_what_was_begun_is_made_again_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs.mp4").touch()
    Journal(tmp_path, "a").begin([tmp_path / "new.mp4", tmp_path / "theirs.mp4"])
    (tmp_path / "new.mp4").touch()
    (tmp_path / ".new.partial-17.mp4").touch()
    Journal(tmp_path, "b").begin([tmp_path / "new.mp4"])
    assert (tmp_path / "new.mp4").exists(), "of a run with other settings"
    Journal(tmp_path, "a").begin([tmp_path / "new.mp4", tmp_path / "theirs.mp4"])
    assert sorted(path.name for path in tmp_path.glob("*.mp4")) == ["theirs.mp4"]
    assert not (tmp_path / ".new.partial-17.mp4").exists()


def test_one_run_at_a_time(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    with Journal.lock(tmp_path / "out"):
        assert command(folder, tmp_path / "out") == ExitCode.SETTINGS
    assert "another run" in capsys.readouterr().err and not list((tmp_path / "out").iterdir())
    assert command(folder, tmp_path / "out", "--workers", "0") == ExitCode.SETTINGS


def test_a_journal_is_believed_only_as_far_as_files_agree(folder: Path, tmp_path: Path) -> None:
    (given, output), *_ = files(folder, tmp_path / "out")
    (one,) = filter_files([(given, output)], chosen(folder), 1)
    assert isinstance(one.result, FileReport)
    journal = Journal(tmp_path / "out", "a")
    assert journal.done(given, output) is None
    journal.add(one.result)
    again = Journal(tmp_path / "out", "a")
    assert again.done(given, output) == one.result
    assert Journal(tmp_path / "out", "b").done(given, output) is None, "other settings"
    assert again.done(folder / "in" / "1.mp4", output) is None, "another recording"
    with journal.path.open("ab") as file:
        file.write(b'{"settings": "a", "repo')  # the power went
    torn = Journal(tmp_path / "out", "a")
    assert torn.done(given, output) == one.result
    torn.add(replace(one.result, frames=5))
    assert (found := Journal(tmp_path / "out", "a").done(given, output)) is not None and found.frames == 5
    content = output.read_bytes()
    output.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert Journal(tmp_path / "out", "a").done(given, output) is None
    journal.path.unlink()
    journal.path.symlink_to(given)
    with pytest.raises(InputError, match="no journal"):
        Journal(tmp_path / "out", "a")


_PARTS = st.lists(st.sampled_from(['{"settings": "a"', '"report": {}}', "[", "\n", "{}", "1e999", "null"]))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200) | _PARTS.map(lambda parts: "".join(parts).encode()))
def test_any_journal_is_read_in_peace(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    place = tmp_path_factory.mktemp("journal")
    (place / NAME).write_bytes(data)
    journal = Journal(place, "a")
    assert journal.done(place / "none", place / "nothing") is None
    with pytest.raises(SettingsError), Journal.lock(place), Journal.lock(place):
        pass
