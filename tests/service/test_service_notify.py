"""systemd: what is told to its socket, and the unit that ships."""

from __future__ import annotations

import configparser
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamdeid.service.notify import Notify
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "docs" / "streamdeid.service"


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket like systemd's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(PATIENCE)
        yield listening


def _environment(systemd: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": systemd.getsockname()} | more


def test_what_is_told(systemd: socket.socket) -> None:
    notify = Notify(_environment(systemd))
    notify.ready("2 of 2\ncameras")
    assert systemd.recv(1000) == b"READY=1\nSTATUS=2 of 2 cameras"
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify.reloading()
    first, second = systemd.recv(1000).decode().split("\n")
    assert first == "RELOADING=1" and second.startswith("MONOTONIC_USEC=")
    assert before <= int(second.partition("=")[2]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify.status("x")
    notify.alive()
    notify.stopping()
    assert [systemd.recv(1000) for _ in range(3)] == [b"STATUS=x", b"WATCHDOG=1", b"STOPPING=1"]


def test_an_abstract_socket() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        name = f"streamdeid-test-{os.getpid()}"
        listening.bind(f"\0{name}")
        listening.settimeout(PATIENCE)
        Notify({"NOTIFY_SOCKET": f"@{name}"}).alive()
        assert listening.recv(100) == b"WATCHDOG=1"


def test_the_watchdog_is_fed_twice_as_often_as_asked(systemd: socket.socket) -> None:
    for more, interval in (
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ):
        assert Notify(_environment(systemd, **more)).interval == interval
    assert Notify({"WATCHDOG_USEC": "30000000"}).interval is None


def test_without_systemd_nothing_happens(tmp_path: Path) -> None:
    Notify({}).ready()
    Notify({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready()


def test_a_service_tells_systemd_all_of_it(tmp_path: Path, systemd: socket.socket) -> None:
    """Ready, alive while its loop runs and not when it is stopped, reloading, stopping; exit code 143."""
    (tmp_path / "cameras.toml").write_text(
        '[http]\nlisten = "off"\n[[camera]]\nname = "a"\nsource = "well"\noutput = "x.m3u8"\n'
    )
    fake = (sys.executable, str(ROOT / "tests" / "fake_camera.py"))
    code = (
        "import asyncio, sys, pathlib\nfrom streamdeid.service.supervisor import Supervisor\n"
        f"sys.exit(128 + asyncio.run(Supervisor(pathlib.Path({str(tmp_path / 'cameras.toml')!r}), {fake!r}).run()))\n"
    )
    known = _environment(systemd, FAKE_LOG=str(tmp_path / "log"), PYTHONPATH=str(ROOT), WATCHDOG_USEC="400000")
    with subprocess.Popen([sys.executable, "-c", code], env=os.environ | known, stderr=subprocess.DEVNULL) as service:
        try:
            assert systemd.recv(1000).startswith(b"READY=1\n")
            told: set[bytes] = set()
            while len(told) < 2:  # a busy machine may be told often that it is alive before a camera says something
                told.add(systemd.recv(1000).partition(b"=")[0])
            assert told == {b"WATCHDOG", b"STATUS"}
            service.send_signal(signal.SIGSTOP)
            _drain(systemd, service.pid)
            systemd.settimeout(0.8)
            with pytest.raises(TimeoutError):
                systemd.recv(1000)
            systemd.settimeout(PATIENCE)
            service.send_signal(signal.SIGCONT)
            service.send_signal(signal.SIGHUP)
            _expect(systemd, b"RELOADING=1\nMONOTONIC_USEC=")
            _expect(systemd, b"READY=1\n")
        finally:
            service.send_signal(signal.SIGCONT)
            service.terminate()
        _expect(systemd, b"STOPPING=1")
        assert service.wait(PATIENCE) == 143


def _drain(systemd: socket.socket, process: int) -> None:
    """Forget what was told until a process that is to stand still does."""
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < until
        time.sleep(0.01)
    systemd.setblocking(False)
    try:
        while True:
            systemd.recv(1000)
    except BlockingIOError:
        systemd.setblocking(True)


def _expect(systemd: socket.socket, beginning: bytes) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if systemd.recv(1000).startswith(beginning):
            return
    raise AssertionError(f"{beginning!r} did not come")


def test_the_unit_is_hardened_and_fits_the_service() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    assert service["Type"] == "notify" and float(service["WatchdogSec"]) >= 10 and service["Restart"] == "always"
    assert service["SuccessExitStatus"] == "143" and service["RestartPreventExitStatus"] == "2"
    assert service["ExecReload"].endswith("-HUP $MAINPID") and " serve " in service["ExecStart"]
    assert float(service["TimeoutStopSec"]) > 5
    assert service["ProtectSystem"] == "strict" and service["User"] != "root" and service["CapabilityBoundingSet"] == ""
    for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictSUIDSGID", "RestrictNamespaces"):
        assert service[name] == "yes"
    assert "MemoryDenyWriteExecute" not in service  # numba compiles
    cache = f"/var/cache/{service['CacheDirectory']}"
    assert f"NUMBA_CACHE_DIR={cache}/" in service["Environment"]


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "streamdeid.service"
    program.write_text(UNIT.read_text().replace("/usr/local/bin/streamdeid", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
