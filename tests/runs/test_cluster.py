"""A cluster filters an archive: as a plain run does, whoever dies, and nothing is left when it ends."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.cluster.nodes import MARK, LocalNodes, local_nodes, processes_of
from benchmarks.processes import COMMAND
from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.errors import ExitCode, FailedClosed, SettingsError
from streamdeid.report.redaction_report import FileFailure, FileReport, FileSide, PictureFormat, Timings
from streamdeid.runs import cluster
from streamdeid.runs.batch import Result
from streamdeid.runs.fetched import ArchiveTask, Attempt
from streamdeid.runs.file_worker import Filtered
from streamdeid.runs.shipped import Shipped, UnfitError
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from tests.drawn_recordings import draw_recordings

pytest.importorskip("fsspec", reason="the extra `cluster` is not installed")
needs_ray = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed (extra `cluster`)")

FRAMES, FILES = 8, 5
SHIPPED = Shipped(Settings(), None, {}, {}, {})
DIES, REFUSED, UNFIT = "dies", "refused", "unfit"


class RayError(Exception):
    """As Ray's."""


class RayTaskError(RayError):
    """As Ray's."""


class PretendedRay:
    """Answers as Ray does; what becomes of each attempt is told beforehand, `dies` or its words."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, fates: dict[str, list[Any]], nodes: int = 2) -> None:
        self.fates, self.alive = fates, nodes
        self.attempts: Counter[str] = Counter()
        self.overwritten: list[bool] = []
        self.flying: dict[int, Any] = {}
        self.most = self.sent = 0
        self.cancelled: list[int] = []

    def nodes(self) -> list[dict[str, Any]]:
        """So many of one place; and a dead one, and one that is too small."""
        whole = {"Alive": True, "Resources": {"CPU": 1.0, "memory": float(2 << 30)}}
        small = {"Alive": True, "Resources": {"CPU": 8.0, "memory": float(1 << 20)}}
        return [*[whole] * self.alive, {**whole, "Alive": False}, small]

    def remote(self, function: Any) -> PretendedRay:
        """A task."""
        assert function is cluster.work_for
        self.task = self
        return self

    def options(self, **options: Any) -> SimpleNamespace:
        """A task with options."""
        assert options["num_cpus"] == 1 and options["memory"] == cluster.MEMORY and options["max_retries"] == 0
        return SimpleNamespace(remote=self._send)

    def _send(self, attempt: Attempt, sent: Any) -> int:
        self.sent += 1
        self.attempts[attempt.task.input] += 1
        self.overwritten.append(attempt.overwrite)
        self.flying[self.sent] = self.fates[Path(attempt.task.input).name].pop(0)
        self.most = max(self.most, len(self.flying))
        return self.sent

    def wait(self, references: list[int], num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        """Those that were sent first are done first."""
        return references[:num_returns], references[num_returns:]

    def get(self, reference: int) -> Any:
        """What came of it."""
        fate = self.flying.pop(reference)
        if isinstance(fate, RayError):
            raise fate
        return fate

    def cancel(self, reference: int, force: bool) -> None:
        """End a task."""
        self.cancelled.append(reference)


def words(name: str) -> Filtered:
    """What a process says that filtered a recording."""
    side = FileSide(name, "0" * 64, 5)
    timings = Timings(1.0, 1.0, 1.0, 1.0, None)
    report = FileReport(
        input=side, output=side, picture=PictureFormat("h264", 320, 240, 10.0), frames=8, faces=0, people=0, levels={},
        persons={}, tracks={}, surrogates={}, scene_cuts=0, filled_regions=0, damaged_places=0, dropped_streams=(),
        timings=timings,
    )  # fmt: skip
    return Filtered(report, None)


def run_of(ray: PretendedRay, place: Path, names: list[str]) -> list[Result]:
    """All results of a run over recordings of these names."""
    tasks = [ArchiveTask(str(place / name), str(place / f"out-{name}"), len(names) - n) for n, name in enumerate(names)]
    run = cluster._Run(ray, tasks, SHIPPED, "sent", cluster.deque(range(len(tasks))))
    found: list[Result] = []
    try:
        while run.left:
            found += run.some()
    finally:
        run.end()
    return sorted(found, key=lambda one: one.number)


def test_a_second_death_costs_the_recording_and_nothing_else(tmp_path: Path) -> None:
    gone = RayError("the node died")
    fates = {"a": [gone, words("a")], "b": [gone, None], "c": [words("c")], "d": [None, words("d")]}
    ray = PretendedRay(fates)
    (tmp_path / "out-d").write_bytes(b"somebody's")
    found = run_of(ray, tmp_path, list("abcd"))
    assert [one.attempts for one in found] == [2, 2, 1, 2]
    assert [type(one.result) for one in found] == [FileReport, FileFailure, FileReport, FileReport]
    died = found[1].result
    assert isinstance(died, FileFailure) and died.input == "b" and "twice" in died.error
    assert died.exit_code == ExitCode.FAILED_CLOSED
    assert ray.overwritten.count(True) == 2, "a second attempt replaces its own result, and nobody else's"
    assert ray.attempts == {str(tmp_path / name): count for name, count in zip("abcd", (2, 2, 1, 2), strict=True)}


def test_few_are_in_flight(tmp_path: Path) -> None:
    names = [str(number) for number in range(30)]
    ray = PretendedRay({name: [words(name)] for name in names}, nodes=3)
    assert len(run_of(ray, tmp_path, names)) == 30 and ray.most <= 2 * 3 and not ray.flying


def test_what_concerns_all_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = PretendedRay({"a": [UnfitError("edge-7 has numpy 1, ...")], "b": [words("b")], "c": [words("c")]})
    with pytest.raises(SettingsError, match="edge-7 has numpy"):
        run_of(ray, tmp_path, ["a", "b", "c"])
    assert ray.cancelled, "the others were to end"
    ray = PretendedRay({"a": [RayTaskError("Traceback\n  ...\nModuleNotFoundError: No module named 'streamdeid'")]})
    with pytest.raises(SettingsError, match=r"cannot work for this run: .*'streamdeid'"):
        run_of(ray, tmp_path, ["a"])
    monkeypatch.setattr(cluster, "_NOBODY", 0.02)
    monkeypatch.setattr(cluster, "_LOOK", 0.01)
    with pytest.raises(FailedClosed, match="no machine of the cluster"):
        run_of(PretendedRay({"a": []}, nodes=0), tmp_path, ["a"])


@pytest.mark.parametrize("answers", [True, False])
def test_workers_search_no_folder_that_others_write_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    """Ray adds its driver's current directory, as it is when Ray starts, to the places of modules of all workers."""
    told: list[tuple[str, Any]] = []

    def init(**options: Any) -> None:
        told.append((os.path.abspath(os.path.curdir), options["address"]))
        if not answers:
            raise ConnectionError("nobody there")

    pretended = SimpleNamespace(init=init, shutdown=lambda: told.append((os.getcwd(), "shutdown")))
    monkeypatch.setattr(cluster, "_imported", lambda: pretended)
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as stack:
        if not answers:
            stack.enter_context(pytest.raises(SettingsError, match="nobody there"))
        with cluster.connected("auto"):
            assert os.getcwd() == str(tmp_path)
    assert os.getcwd() == str(tmp_path)
    (first, address), *_ = told
    assert address == "auto" and first != str(tmp_path)
    if os.name != "nt":
        about = os.stat(first)
        assert about.st_uid == 0 and not about.st_mode & 0o022


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """Recordings of drawn people, one file that is none, what a plain run makes of them, and the key."""
    place = tmp_path_factory.mktemp("cluster")
    draw_recordings(place, FILES, FRAMES, fitting, gallery)
    assert main(["filter", str(place / "in"), str(place / "plain"), "--key-file", str(place / "key"), "--quiet"]) == 0
    (place / "in" / "bad.mp4").write_bytes(b"no video")
    return place


@pytest.fixture(scope="module")
def nodes(folder: Path) -> Any:
    """Two nodes of one place each."""
    (folder / "scratch").mkdir()
    with local_nodes(2, environment(folder)) as running:
        yield running


def environment(folder: Path) -> dict[str, str]:
    return {MARK: str(folder), "TMPDIR": str(folder / "scratch"), "RAY_TMPDIR": "/tmp"}


def started(folder: Path, out: Path, nodes: LocalNodes, *more: str) -> subprocess.Popen[str]:
    command = ["filter", str(folder / "in"), str(out), "--key-file", str(folder / "key"), "--ray", nodes.address, *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*COMMAND, *command], env={**os.environ, **environment(folder)}, **pipes)  # type: ignore[call-overload,no-any-return]


def left(folder: Path, out: Path) -> list[str]:
    """Processes of tasks, scratch directories and parts of results, when there was a moment for them to go."""
    until = time.monotonic() + 10
    while True:
        found = [line for line in processes_of(str(folder)) if "runs.workers" in line or "ray::streamdeid" in line]
        found += [path.name for path in (folder / "scratch").iterdir() if "streamdeid" in path.name]
        found += [path.name for path in out.glob("*") if "partial" in path.name]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.1)


@needs_ray
def test_a_run_that_is_stopped_leaves_nothing(folder: Path, nodes: LocalNodes, tmp_path: Path) -> None:
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        out = tmp_path / str(code)
        with started(folder, out, nodes) as process:
            until = time.monotonic() + 60
            while not any("runs.workers" in line for line in processes_of(str(folder))) and time.monotonic() < until:
                time.sleep(0.05)
            process.send_signal(number)
            told = process.communicate(timeout=60)[1]
        assert process.returncode == code and left(folder, out) == []
        assert number == signal.SIGKILL or told == "streamdeid: stopped; nothing was written under the final name\n"
        for path in out.glob("*.mp4"):
            assert path.read_bytes() == (folder / "plain" / path.name).read_bytes()


@needs_ray
def test_a_node_that_dies_costs_nothing(folder: Path, nodes: LocalNodes, tmp_path: Path) -> None:
    """Last, since one node is left then."""
    out, report = tmp_path / "out", tmp_path / "report.json"
    with started(folder, out, nodes, "--report", str(report)) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        nodes.kill()
        complaints = process.stderr.read()
    assert process.returncode == ExitCode.INPUT
    assert complaints.count("\n") == 1 and "bad.mp4" in complaints and "scratch" not in complaints
    for number in range(FILES):
        name = f"{number}_deidentified.mp4"
        assert (out / name).read_bytes() == (folder / "plain" / name).read_bytes()
    told = json.loads(report.read_text())
    assert [one["input"]["name"] for one in told["files"]] == [f"{number}.mp4" for number in range(FILES)]
    assert [one["input"] for one in told["failures"]] == ["bad.mp4"] and told["choice"]["keyed"]
    assert main(["audit", str(report), "--files", str(out), "--files", str(folder / "in")]) == 0
    assert left(folder, out) == []
    with started(folder, out, nodes) as process:
        assert process.communicate(timeout=120)[0].count("done before, and as it was") == FILES


@needs_ray
def test_a_cluster_that_is_not_there_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for address in ("127.0.0.1:9", "nonsense", "ray://user:s3cret@host:1"):
        assert main(["filter", str(folder / "in"), str(folder / "o"), "--ray", address]) == ExitCode.SETTINGS
        line = capsys.readouterr().err
        assert line.count("\n") == 1 and "s3cret" not in line and "Ray" in line
