"""`streamdeid serve --ray` on a cluster of two nodes: one is killed, one stands still, the service ends."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.cluster.nodes import MARK, LocalNodes, local_nodes, processes_of
from benchmarks.processes import COMMAND
from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.errors import ExitCode
from streamdeid.runs.parts import write_drawing
from streamdeid.service import ray_relays
from streamdeid.service.lease import ENCODER, ENDING, LEASE
from streamdeid.service.placed_child import RelayLost
from streamdeid.service.ray_relays import RayRelay
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from tests.patience import PATIENCE, eventually
from tests.served import PASSWORD, Service, children

needs_ray = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed (extra `cluster`)")
NAMES = "abc"
LATEST = LEASE + ENDING + ENCODER + 30
"""Seconds within which a camera must be live elsewhere; 30 for its start on a busy machine."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """Three cameras that show the same person over and over."""
    place = tmp_path_factory.mktemp("placed")
    drawn = synthetic_people(fitting, gallery, people=1, seconds=3.0, size=(320, 240), rate=10)
    write_drawing(place / "cam.mp4", (one.frame.planes for one in drawn), 10)
    (place / "scratch").mkdir()
    (place / "key").write_bytes(bytes(range(32)))
    cameras = "".join(
        f'[[camera]]\nname = "{name}"\nsource = "cam.mp4"\noutput = "{name}-%Y%m%d-%H%M%S.mkv"\n' for name in NAMES
    )
    defaults = '[defaults]\nmethod = "blackout"\nloop = true\nrotate = 600\n'
    (place / "cameras.toml").write_text('[http]\nlisten = "127.0.0.1:0"\n' + defaults + cameras)
    return place


def environment(folder: Path) -> dict[str, str]:
    """What everything that belongs to the test has."""
    return {MARK: str(folder), "TMPDIR": str(folder / "scratch"), "RAY_TMPDIR": "/tmp"}


@pytest.fixture(scope="module")
def nodes(folder: Path) -> Iterator[LocalNodes]:
    """Two nodes, each of which has room for all cameras."""
    with local_nodes(2, environment(folder), places=len(NAMES)) as running:
        yield running


class Served:
    """A service over the cluster, ended by a signal."""

    def __init__(self, folder: Path, nodes: LocalNodes) -> None:
        self.folder, self._errors = folder, folder / "stderr"
        with self._errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", str(folder / "cameras.toml"), "--ray", nodes.address],
                env={**os.environ, **environment(folder)},
                stderr=stderr,
            )
        found = eventually(lambda: re.search(r"listening on (http://\S+)", self.said()))
        self.service = Service(found[1], self.process.pid)

    def said(self) -> str:
        """Its standard error."""
        return self._errors.read_text()

    def live(self) -> bool:
        """Whether all cameras are."""
        return {one["state"] for one in self.service.cameras().values()} == {"live"}

    def filtered(self) -> dict[str, int]:
        """Frames that were filtered, by camera."""
        return {name: one["filtered"] for name, one in self.service.cameras().items()}

    def restarts(self) -> int:
        """Of all cameras."""
        return sum(one["restarts"] for one in self.service.cameras().values())

    def goes_on(self) -> bool:
        """Whether frames of every camera leave."""
        before = self.filtered()
        eventually(lambda: all(after > before[name] for name, after in self.filtered().items()))
        return True

    def end(self, number: int) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def of_cameras(folder: Path, what: str = "camera_process") -> list[str]:
    """Command lines of what filters, encodes or hands on."""
    words = (what,) if what else ("camera_process", "encoder.process", "CameraRelay")
    return [line for line in processes_of(str(folder)) if any(word in line for word in words)]


@needs_ray
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_service_that_ends_leaves_nothing(folder: Path, nodes: LocalNodes, number: int) -> None:
    served = Served(folder, nodes)
    try:
        eventually(served.live)
        assert len(of_cameras(folder)) == 3
        assert served.end(number) == (-number if number == signal.SIGKILL else 128 + number)
    finally:
        served.process.kill()
        served.process.wait()
    eventually(lambda: not of_cameras(folder, ""), LEASE + ENDING + ENCODER)


@needs_ray
def test_cameras_move_when_a_node_dies(folder: Path, nodes: LocalNodes, capsys: pytest.CaptureFixture[str]) -> None:
    """Last of those that share the nodes, since one is left then. The page stays where it is."""
    served = Served(folder, nodes)
    try:
        eventually(served.live)
        files = set(folder.glob("*.mkv"))
        began = time.monotonic()
        nodes.kill()
        eventually(lambda: served.restarts() > 0)
        eventually(served.live)
        with capsys.disabled():
            print(f"\nall cameras live {time.monotonic() - began:.1f} s after the death of a node")
        moved = served.restarts()
        assert 1 <= moved <= 3 and len(of_cameras(folder)) == 3 and served.goes_on()
        assert len(set(folder.glob("*.mkv")) - files) == moved, "each goes on in a new file"
        metrics = served.service.get("metrics").decode()
        assert metrics.count("streamdeid_camera_node{") == 3
        assert served.service.get("cameras/a/preview.jpg").startswith(b"\xff\xd8\xff")
        assert served.service.get("cameras/a/snapshot.jpg").startswith(b"\xff\xd8\xff")
        assert "is gone or cannot be reached" in served.said() and served.end(signal.SIGTERM) == ExitCode.TERMINATED
    finally:
        served.process.kill()
        served.process.wait()
    eventually(lambda: not of_cameras(folder, ""))
    assert all(line.startswith("streamdeid: ") for line in served.said().splitlines()), served.said()


@needs_ray
def test_cameras_of_a_node_that_stands_still_end_before_others_begin(folder: Path) -> None:
    """Ray's part of the node is stopped, the cameras are not: as on a machine that is cut off, nobody tells them."""
    with local_nodes(2, environment(folder), places=len(NAMES)) as nodes:
        served = Served(folder, nodes)
        stopped: list[int] = []
        try:
            eventually(served.live)
            relay = next(pid for pid, line in pids(folder).items() if "CameraRelay" in line)
            node = parent(relay)
            stopped = [node, *(pid for pid in children(node) if "ray::" in pids(folder).get(pid, ""))]
            cameras = [pid for pid in children(node) if "camera_process" in pids(folder).get(pid, "")]
            assert cameras
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            while served.restarts() == 0:
                living = [pid for pid in cameras if pid in pids(folder)]
                time.sleep(0.1)
            assert living == [], "ended by themselves"
            eventually(lambda: served.restarts() >= len(cameras) and served.live(), 2 * LATEST)
            assert len(of_cameras(folder)) == 3 and served.goes_on()
        finally:
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            assert served.end(signal.SIGTERM) == ExitCode.TERMINATED
        eventually(lambda: not of_cameras(folder, ""))


def parent(process: int) -> int:
    """The process that started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def pids(folder: Path) -> dict[int, str]:
    """Processes of the cluster by number."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={folder}".encode() in (place / "environ").read_bytes():
                found[int(place.name)] = (place / "cmdline").read_text()
    return found


@needs_ray
def test_a_cluster_that_is_not_there_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for address in ("127.0.0.1:9", "nonsense", f"ray://user:{PASSWORD}@host:1"):
        assert main(["serve", str(folder / "cameras.toml"), "--ray", address]) == ExitCode.SETTINGS
        line = capsys.readouterr().err
        assert line.count("\n") == 1 and PASSWORD not in line and "Ray" in line


class RayError(Exception):
    """As Ray's."""


class GetTimeoutError(RayError):
    """As Ray's."""


class PretendedRay:
    """Notes what it is asked for; answers what it is told to, or raises it."""

    exceptions = SimpleNamespace(RayError=RayError, GetTimeoutError=GetTimeoutError)

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.stored: list[bytes] = []
        self.called: list[tuple[str, tuple[object, ...]]] = []
        self.fate: Any = None
        self.killed = 0

    def remote(self, kind: type) -> Any:
        """An actor of a class."""
        assert kind is ray_relays.CameraRelay

        def with_options(**options: Any) -> Any:
            self.options = options
            return SimpleNamespace(remote=lambda: self)

        return SimpleNamespace(options=with_options)

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=lambda *given: self.called.append((name, given)) or len(self.called))

    def put(self, value: bytes) -> str:
        """A reference."""
        self.stored.append(value)
        return f"reference {len(self.stored)}"

    def get(self, reference: int, timeout: float) -> Any:
        """The fate."""
        if isinstance(self.fate, Exception):
            raise self.fate
        return self.fate

    def kill(self, actor: Any) -> None:
        """Count."""
        self.killed += 1


def test_an_actor_is_not_started_again_by_ray_and_gets_secrets_by_reference() -> None:
    ray = PretendedRay()
    relay = RayRelay(ray)
    assert ray.options["max_restarts"] == ray.options["max_task_retries"] == 0
    assert ray.options["num_cpus"] == 1 and ray.options["memory"] == ray_relays.MEMORY
    relay.ask("start", b"a key")
    relay.ask("exchange", b"", 0.5)
    assert ray.stored == [b"a key"] and "key" not in str(ray.called)
    ray.fate = "vm"
    assert relay.answer(1, 1.0) == "vm"
    ray.fate = GetTimeoutError()
    with pytest.raises(TimeoutError):
        relay.answer(1, 1.0)
    ray.fate = RayError("Traceback\n at rtsp://u:geheim@h/x\nModuleNotFoundError: No module named 'streamdeid'")
    with pytest.raises(RelayLost, match=r"'streamdeid'$") as raised:
        relay.answer(1, 1.0)
    assert PASSWORD not in str(raised.value)
    relay.kill()
    assert ray.killed == 1


def test_without_ray_it_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(folder / "cameras.toml"), "--check", "--ray", "head:1"]) == ExitCode.DONE
    capsys.readouterr()
    if importlib.util.find_spec("ray"):
        pytest.skip("Ray is installed here")
    assert main(["serve", str(folder / "cameras.toml"), "--ray", "head:1"]) == ExitCode.SETTINGS
    assert capsys.readouterr().err == "streamdeid: --ray needs the extra `cluster`: pip install 'streamdeid[cluster]'\n"
