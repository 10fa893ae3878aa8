"""Archives through fsspec: what is stored is whole or not there, what passes is tried again, no password is said."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.errors import ExitCode, InputError, OutputError, SettingsError
from streamdeid.report.redaction_report import FileFailure, FileReport
from streamdeid.runs import archive, archive_journal, fetched
from streamdeid.runs.shipped import ship
from streamdeid.runs.workers import Worker
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from tests.drawn_recordings import draw_recordings

fsspec = pytest.importorskip("fsspec", reason="the extra `cluster` is not installed")
local = pytest.importorskip("fsspec.implementations.local", reason="the extra `cluster` is not installed")

FRAMES = 8
_STORE = all(importlib.util.find_spec(name) for name in ("s3fs", "moto"))
needs_store = pytest.mark.skipif(not _STORE, reason="s3fs and moto[server] are not installed (docs/cluster.md)")


class Shaky(local.LocalFileSystem):  # type: ignore[misc, name-defined]
    """A store elsewhere that fails as often as it is told to, half way."""

    protocol = "shaky"
    failures: list[Exception]
    calls = 0
    renames = 0

    def put_file(self, path: str, target: str, **more: Any) -> None:
        """Store a file, or half of it."""
        type(self).calls += 1
        if self.failures:
            Path(target).write_bytes(Path(path).read_bytes()[:3])
            raise self.failures.pop()
        super().put_file(path, target, **more)

    def get_file(self, source: str, path: str, **more: Any) -> None:
        """Fetch a file, or half of it without a word."""
        type(self).calls += 1
        super().get_file(source, path, **more)
        if self.failures:
            self.failures.pop()
            Path(path).write_bytes(b"par")

    def mv(self, source: str, target: str, **more: Any) -> None:
        """Rename."""
        type(self).renames += 1
        super().mv(source, target, **more)


@pytest.fixture
def shaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Shaky]]:
    """The store, which does not fail yet."""
    fsspec.register_implementation("shaky", Shaky, clobber=True)
    monkeypatch.setattr(archive, "_WAIT", 0.001)
    Shaky.failures, Shaky.calls, Shaky.renames = [], 0, 0
    yield Shaky
    Shaky.clear_instance_cache()


def test_a_result_is_whole_or_not_there(tmp_path: Path, shaky: type[Shaky]) -> None:
    source, folder = tmp_path / "result", tmp_path / "store"
    source.write_bytes(b"whole result")
    folder.mkdir()
    place = f"shaky://{folder}/result.mp4"
    archive.check_output(place)
    shaky.failures = [ConnectionResetError("gone") for _ in range(archive.ATTEMPTS - 1)]
    archive.store(source, place, "a1", overwrite=False)
    assert (folder / "result.mp4").read_bytes() == b"whole result" and shaky.renames == 1
    assert shaky.calls == archive.ATTEMPTS
    (folder / "result.mp4").unlink()
    shaky.failures = [ConnectionResetError("gone") for _ in range(archive.ATTEMPTS)]
    with pytest.raises(OutputError, match=r"result\.mp4 cannot be written: gone"):
        archive.store(source, place, "a2", overwrite=False)
    assert list(folder.iterdir()) == []
    shaky.calls, shaky.failures = 0, [PermissionError("no")]
    with pytest.raises(OutputError, match="access was refused"):
        archive.store(source, place, "a3", overwrite=False)
    assert list(folder.iterdir()) == [] and shaky.calls == 1, "what lasts is not tried again"
    (folder / "result.mp4").write_bytes(b"somebody's")
    with pytest.raises(SettingsError, match="exists already"):
        archive.store(source, place, "a4", overwrite=False)
    assert (folder / "result.mp4").read_bytes() == b"somebody's"
    archive.store(source, place, "a5", overwrite=True)
    assert [path.read_bytes() for path in folder.iterdir()] == [b"whole result"]


def test_what_came_in_part_is_fetched_again(tmp_path: Path, shaky: type[Shaky]) -> None:
    (tmp_path / "there").write_bytes(b"whole recording")
    shaky.failures = [ConnectionError(), ConnectionError()]
    archive.fetch(f"shaky://{tmp_path}/there", tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"whole recording" and shaky.calls == 3
    shaky.failures = [ConnectionError() for _ in range(archive.ATTEMPTS)]
    with pytest.raises(InputError, match="it came in part"):
        archive.fetch(f"shaky://{tmp_path}/there", tmp_path / "here")
    with pytest.raises(InputError, match="there is nothing"):
        archive.fetch(f"shaky://{tmp_path}/none", tmp_path / "here")


def test_a_mounted_folder_is_an_archive(tmp_path: Path) -> None:
    source = tmp_path / "result"
    source.write_bytes(b"whole")
    target = tmp_path / "out::put?[1].mp4"
    archive.store(source, str(target), "t", overwrite=False)
    assert archive.size_of(str(target)) == 5 and sorted(tmp_path.iterdir()) == sorted([source, target])
    with pytest.raises(SettingsError, match="exists already"):
        archive.store(source, str(target), "t", overwrite=False)
    with pytest.raises(OutputError, match="does not exist"):
        archive.store(source, str(tmp_path / "none" / "x"), "t", overwrite=False)
    found = archive.listed(str(tmp_path), lambda name: name.endswith(".mp4"))
    assert found == [archive.Stored(str(target), 5)] and archive.listed(str(source), lambda name: True) is None
    assert archive.place_of(f"file://{tmp_path}/a%20b") == str(tmp_path / "a b")
    assert archive.size_of(str(tmp_path / "none")) is None


def test_where_half_a_copy_could_get_the_name_nothing_is_stored() -> None:
    with pytest.raises(SettingsError, match="all or nothing"):
        archive.check_output("memory://folder/result.mp4")


@pytest.mark.parametrize(
    "address",
    [
        "s3://key:s3cret@bucket/in",
        "s3://bucket/in?token=s3cret",
        "sftp://user:s3cret@host/in",
        "s3://[s3cret@bucket",
        "simplecache::s3://bucket/in?password=s3cret",
    ],
)
def test_no_secret_is_taken_or_said(address: str) -> None:
    with pytest.raises(SettingsError) as refused:
        archive.place_of(address)
    assert "s3cret" not in str(refused.value)


def test_what_is_an_archive() -> None:
    assert all(map(archive.is_archive, ("s3://bucket", "gs://bucket/a", "SFTP://host/a", "file:///a")))
    assert not any(
        map(archive.is_archive, ("rtsp://camera", "https://camera", "a/b.mp4", "/dev/video0", "-", "rtps://x"))
    )


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """Two recordings of drawn people, what a plain run makes of them, and the key."""
    place = tmp_path_factory.mktemp("archive")
    draw_recordings(place, 2, FRAMES, fitting, gallery)
    assert main(["filter", str(place / "in"), str(place / "plain"), "--key-file", str(place / "key"), "--quiet"]) == 0
    return place


def test_processes_that_are_killed_cost_at_most_their_own_file(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first time, or every time; the recording does not stay in the temporary files."""
    deaths = Counter[str]()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)

    class Mortal(Worker[fetched.Attempt]):
        def asked(self, task: fetched.Attempt, stop: threading.Event) -> Iterator[Any]:
            name = archive.name_of(task.task.input)
            deaths[name] += 1
            if name == "1.mp4" or deaths[name] == 1:
                threading.Timer(0.3 * deaths[name], os.kill, (self.pid, signal.SIGKILL)).start()
            return super().asked(task, stop)

    monkeypatch.setattr(fetched, "Worker", Mortal)
    tasks = [
        fetched.ArchiveTask(str(clips / "in" / f"{n}.mp4"), str(tmp_path / "out" / f"{n}_deidentified.mp4"), 1)
        for n in range(2)
    ]
    found = {one.number: one for one in fetched.filter_fetched(tasks, ship(Settings(key_file=clips / "key")), 2)}
    assert isinstance(found[0].result, FileReport) and found[0].attempts == 2
    died = found[1].result
    assert isinstance(died, FileFailure) and died.input == "1.mp4" and "twice" in died.error
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["0_deidentified.mp4"]
    whole = (clips / "plain" / "0_deidentified.mp4").read_bytes()
    assert (tmp_path / "out" / "0_deidentified.mp4").read_bytes() == whole
    until = time.monotonic() + 10
    while list((tmp_path / "temporary").iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert list((tmp_path / "temporary").iterdir()) == []


@needs_store
def test_s3_with_errors_gives_what_a_plain_run_gives(
    clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.cluster.store import injected, s3_stand_in

    with s3_stand_in(0.1, seed=3) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        store = fsspec.filesystem("s3", skip_instance_cache=True)
        archive._patiently(lambda: store.makedirs("tapes", exist_ok=True), "no bucket", OutputError)
        for path in (clips / "in").iterdir():
            archive.store(path, f"s3://tapes/in/{path.name}", "t", overwrite=True)
        report = tmp_path / "report.json"
        words = [
            "filter",
            "s3://tapes/in/",
            "s3://tapes/out",
            "--key-file",
            str(clips / "key"),
            "--report",
            str(report),
        ]
        assert main([*words, "--workers", "2"]) == 0
        for number in range(2):
            name = f"{number}_deidentified.mp4"
            archive.fetch(f"s3://tapes/out/{name}", tmp_path / name)
            assert (tmp_path / name).read_bytes() == (clips / "plain" / name).read_bytes()
        told = json.loads(report.read_text())
        assert [one["input"]["name"] for one in told["files"]] == ["0.mp4", "1.mp4"] and not told["failures"]
        assert main(["audit", str(report), "--files", str(tmp_path), "--files", str(clips / "in")]) == 0
        assert "nobody" not in report.read_text() and capsys.readouterr().out.count("10 frames") == 0
        assert main(words) == 0 and capsys.readouterr().out.count("done before, and as it was") == 2
        first = archive_journal.ArchiveJournal("s3://tapes/out", "other settings")
        assert first.known("0_deidentified.mp4") is None
        entries = archive.listed(f"s3://tapes/out/{archive_journal.FOLDER}", lambda name: "begun" not in name)
        assert entries is not None and len(entries) == 2
        archive.remove_from(entries[0].address)  # as if the run had been stopped between a result and its entry
        assert main(words) == 0 and capsys.readouterr().out.count("done before") == 1
        archive.store(tmp_path / "0_deidentified.mp4", "s3://tapes/out/1_deidentified.mp4", "t", overwrite=True)
        assert main(words) == ExitCode.SETTINGS and "exists already" in capsys.readouterr().err
        assert main([*words, "--overwrite"]) == 0
        names = archive.listed("s3://tapes/out", lambda name: True)
        assert names is not None and [archive.name_of(one.address)[:1] for one in names] == ["0", "1"]
        assert main(["filter", "s3://tapes/none/", str(tmp_path / "o")]) == ExitCode.INPUT
        assert "s3://tapes/none: there is nothing" in capsys.readouterr().err
        counts = injected(environment)
        assert sum(counts.values()) - counts["answered"] > 2, "no error was injected"
