"""Cameras on other machines: they die, are cut off, have no room; never do two hold one output."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streamdeid.errors import ExitCode, SettingsError
from streamdeid.runs.parts import write_drawing
from streamdeid.runs.shipped import packed
from streamdeid.service import lease, placed_child, restarts, supervised_camera
from streamdeid.service import placed_order as placed_order_file
from streamdeid.service.camera import Camera, read_camera
from streamdeid.service.lease import ENDING
from streamdeid.service.pipe_messages import Order, order_line
from streamdeid.service.placed_child import ClusterPlace
from streamdeid.service.placed_order import check_placeable, placed_order, unpacked_order
from streamdeid.service.relay import COMMAND, CameraRelay
from streamdeid.service.supervisor import Supervisor
from tests.fake_camera import started
from tests.fake_machines import Machine, Machines
from tests.live_fakes import planes
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
FAKE = (sys.executable, str(ROOT / "tests" / "fake_camera.py"))
ENDS, PLACED = 30.0, 60.0
"""Seconds in which a busy machine ends what would go on for ever, and what would wait for a place (`placing`)."""
SEEN = 20.0
"""Seconds that a busy machine may take to show that a process has ended."""
NAMES = {"name": "door", "source": "rtsp://u:geheim@cam/1", "output": "rtsp://127.0.0.1:8554/door"}
Scenario = Callable[[Supervisor], Awaitable[None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Shorter times, and no process that lives on."""
    monkeypatch.setattr(restarts, "PACE", 0.2)
    monkeypatch.setattr(supervised_camera, "TICK", 0.05)
    monkeypatch.setattr(supervised_camera, "PATIENCE", 1.0)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    yield
    assert [one for one in started(tmp_path) if lives(one["pid"])] == []


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases whose end a test waits for. On a busy machine they also end by themselves, which such a test allows."""
    for module in (lease, placed_child):
        monkeypatch.setattr(module, "LEASE", 3.0)
    monkeypatch.setattr(lease, "FREE", 6.0)


def holder(machines: Machines) -> Machine:
    """The machine that has the camera."""
    (one,) = (machine for machine in machines.machines if machine.relays)
    return one


def lives(process: int) -> bool:
    """Whether there is such a process, and not only what is left of one."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def run(place: Path, text: str, machines: Machines, scenario: Scenario) -> float:
    """Supervise cameras on machines while a scenario runs, then stop; the seconds that the end took."""
    file = place / "cameras.toml"
    file.write_text('[http]\nlisten = "off"\n' + text)
    began = 0.0

    async def both() -> None:
        nonlocal began
        where = ClusterPlace(machines)
        supervisor = Supervisor(file, place=where, environment={**os.environ, "LOGIN": "geheim"})
        running = asyncio.create_task(supervisor.run())
        try:
            await asyncio.wait_for(scenario(supervisor), 4 * PATIENCE)
        finally:
            began = time.monotonic()
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            where.close(3.0)

    asyncio.run(both())
    return time.monotonic() - began


async def until(what: Callable[[], object]) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.02)


def state(supervisor: Supervisor, name: str = "a") -> str:
    """A camera's state."""
    return supervisor.cameras[name].report().state


def camera(name: str, behaviour: str = "well", more: str = "") -> str:
    """A camera's table."""
    return f'[[camera]]\nname = "{name}"\nsource = "{behaviour}"\noutput = "{name}.m3u8"\n{more}\n'


def door(**more: object) -> Camera:
    """A camera with a password."""
    return read_camera({**NAMES, **more})


def test_cameras_run_where_there_is_room_and_end_with_the_service(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"\x07" * 32)

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: state(supervisor, "a") == state(supervisor, "b") == "live")
        reports = [one.report() for one in supervisor.cameras.values()]
        assert sorted(str(one.node) for one in reports) == ["east", "west"] and all(one.ready for one in reports)
        assert await supervisor.cameras["a"].preview(0, 3.0) is not None
        assert await supervisor.cameras["b"].snapshot(3.0) is not None

    secret = camera("b", "rtsp://u:${LOGIN}@h/well", f'key_file = "{key}"')
    machines = Machines(FAKE, Machine("west"), Machine("east"))
    assert run(tmp_path, camera("a", more='key = "house"') + secret, machines, scenario) < ENDS
    orders = {one["name"]: one for one in started(tmp_path)}
    assert len(bytes.fromhex(orders["a"]["order"]["key"])) == 32 and orders["b"]["order"]["key"] is None
    assert orders["b"]["order"]["camera"]["source"] == "rtsp://u:geheim@h/well"
    for one in orders.values():
        assert "geheim" not in str(one["argv"]) + str(one["env"])
    said = capfd.readouterr().err
    assert "a: live" in said and "geheim" not in said


def test_one_whose_process_dies_is_started_again_at_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "FREE", 10 * PATIENCE)

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: len(started(tmp_path)) == 3)

    began = time.monotonic()
    run(tmp_path, camera("a", "dies"), Machines(FAKE, Machine("west")), scenario)
    assert time.monotonic() - began < PATIENCE, "its machine said that it had ended: nobody waits for a lease"
    assert "a: restarting: its process died (exit code 7)" in capfd.readouterr().err


@pytest.mark.parametrize("behaviour", ["garbage", "deaf"])
def test_bad_processes_are_ended(tmp_path: Path, behaviour: str) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: started(tmp_path))
        await until(lambda: state(supervisor) == ("live" if behaviour == "deaf" else "restarting"))

    assert run(tmp_path, camera("a", behaviour), Machines(FAKE, Machine("west")), scenario) < ENDS


@pytest.mark.usefixtures("short")
def test_a_camera_moves_when_its_machine_dies(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    machines = Machines(FAKE, Machine("west"), Machine("east"))

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: state(supervisor) == "live")
        before, dying = supervisor.cameras["a"].report(), holder(machines)
        dying.die()
        await until(lambda: supervisor.cameras["a"].report().restarts > before.restarts)
        await until(lambda: state(supervisor) == "live")
        after = supervisor.cameras["a"].report()
        assert before.node == dying.name != after.node and after.restarts == before.restarts + 1
        assert after.totals.filtered > before.totals.filtered

    run(tmp_path, camera("a"), machines, scenario)
    said = capfd.readouterr().err
    assert re.search("a: restarting: its machine (west|east) is gone or cannot be reached", said)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("behaviour", ["well", "deaf"])
def test_one_that_is_cut_off_ends_before_another_begins(tmp_path: Path, behaviour: str) -> None:
    """Nobody tells it: its machine notices that nobody asks, and the service waits for that."""
    machines = Machines(FAKE, Machine("west"), Machine("east"))

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: state(supervisor) == "live")
        before, cut = started(tmp_path), holder(machines)
        cut.cut = True
        lived = False
        while len(started(tmp_path)) == len(before):
            lived = lives(before[-1]["pid"])
            await asyncio.sleep(0.01)
        assert not lived
        await until(lambda: state(supervisor) == "live")
        assert supervisor.cameras["a"].report().node != cut.name

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("streamdeid.service.relay.ENDING", 0.5)
        run(tmp_path, camera("a", behaviour), machines, scenario)


@pytest.mark.usefixtures("short")
def test_one_that_was_started_without_anybody_hearing_of_it_is_waited_for(tmp_path: Path) -> None:
    machines = Machines(FAKE, Machine("west"), Machine("east"))
    machines.machines[0].deaf_to = "start"

    async def scenario(supervisor: Supervisor) -> None:
        began = time.monotonic()  # a busy machine sees the start late, and the wait is no shorter for it
        await until(lambda: len(started(tmp_path)) >= 1)
        first = started(tmp_path)[0]["pid"]
        await until(lambda: state(supervisor) == "live")
        assert time.monotonic() - began > lease.FREE - 0.5 and not lives(first)

    run(tmp_path, camera("a"), machines, scenario)


@pytest.mark.usefixtures("short")
def test_an_error_of_a_library_counts_as_a_machine_that_is_lost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    machines = Machines(FAKE, Machine("west"), Machine("east"))

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: state(supervisor) == "live")
        count, began = len(started(tmp_path)), time.monotonic()
        holder(machines).breaks = True
        await until(lambda: len(started(tmp_path)) > count)
        assert time.monotonic() - began > lease.FREE - 0.6

    run(tmp_path, camera("a"), machines, scenario)
    said = capfd.readouterr().err
    assert "a: restarting: an unexpected error (KeyError)" in said and "geheim" not in said


@pytest.mark.usefixtures("short")
def test_a_reload_waits_for_a_camera_that_is_cut_off(tmp_path: Path) -> None:
    """Another camera is to have its output."""
    machines = Machines(FAKE, Machine("west"), Machine("east"))

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: state(supervisor) == "live")
        before = started(tmp_path)
        holder(machines).cut = True
        began = time.monotonic()
        text = '[http]\nlisten = "off"\n' + camera("b").replace("b.m3u8", "a.m3u8")
        (tmp_path / "cameras.toml").write_text(text)
        supervisor.reload()
        await until(lambda: len(started(tmp_path)) > len(before))
        assert time.monotonic() - began > lease.FREE - 0.6 and not lives(before[-1]["pid"])

    run(tmp_path, camera("a"), machines, scenario)


def test_one_that_finds_no_room_waits_says_so_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines = Machines(FAKE, Machine("west", places=0))

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: "no machine of the cluster has taken it" in str(supervisor.cameras["a"].report().reason))
        assert state(supervisor) == "starting" and not supervisor.cameras["a"].report().ready
        machines.machines[0].places = 1
        await until(lambda: state(supervisor) == "live")
        assert supervisor.cameras["a"].restarts == 0
        machines.machines[0].places = 0

    run(tmp_path, camera("a"), machines, scenario)

    monkeypatch.setattr(placed_child, "PLACING", 2 * PLACED)

    async def waits(supervisor: Supervisor) -> None:
        await until(lambda: supervisor.cameras and state(supervisor) == "starting")

    assert run(tmp_path, camera("a"), Machines(FAKE, Machine("west", places=0)), waits) < PLACED
    assert len(started(tmp_path)) == 1


def test_a_machine_that_takes_it_and_does_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed_child, "PLACING", 0.5)
    machines = Machines(FAKE, Machine("west", places=0), Machine("east", places=0))
    machines.machines[0].empty = True

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: machines.made)
        machines.machines[1].places = 1
        await until(lambda: state(supervisor) == "live")
        assert len(machines.made) == 2 and supervisor.cameras["a"].restarts == 0

    run(tmp_path, camera("a"), machines, scenario)


@pytest.mark.usefixtures("short")
def test_the_service_is_gone_and_so_is_its_camera(tmp_path: Path) -> None:
    """Nobody asks any more."""
    relay = CameraRelay(FAKE)
    relay.hello()
    assert relay.start(order_line(read_camera({**NAMES, "source": "/well"}), None)) is None
    said = b""
    while b"status" not in said:
        said += relay.exchange(b"", 0.5)[0]
    process = relay._process
    assert process is not None and process.wait(PATIENCE) is not None


def test_a_process_ends_by_itself_when_whoever_started_it_stands_still(tmp_path: Path) -> None:
    """The real one; the camera that it waits for is away."""
    away = {"source": "rtsp://127.0.0.1:9/x", "output": str(tmp_path / "a.m3u8"), "method": "blackout"}
    given = read_camera({"name": "a", **away})
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(placed_order(given, None))
        process.stdin.flush()
        assert b"status" in process.stdout.readline()
        due = time.monotonic() + 3
        process.stdin.write(f"until {due:.3f}\n".encode())
        process.stdin.flush()
        hopeless = threading.Timer(60, process.kill)
        hopeless.start()
        process.stdout.read()
        code = process.wait(PATIENCE)
        hopeless.cancel()
    assert due - 0.1 < time.monotonic() < due + ENDING + SEEN
    assert code in (ExitCode.FAILED_CLOSED, -signal.SIGALRM), (
        "a camera that ends with 0 is a file at its end, and not started again"
    )


def test_it_ends_though_no_thread_of_it_gets_a_turn() -> None:
    """Python's lock is held by a library that computes: two cameras would hold one output."""
    code = (
        "import ctypes, threading, time\nfrom streamdeid.service import camera_process\n"
        "camera_process.ENDING = 0.5\nlease = camera_process._Lease(threading.Event())\n"
        "lease.renew(time.monotonic() + 0.2)\nlease.renew(time.monotonic() + 0.5)\nprint('begun', flush=True)\n"
        "ctypes.PyDLL(None).sleep(90)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        began = time.monotonic()
        assert process.wait(PATIENCE) == -signal.SIGALRM
    assert time.monotonic() - began < 1.0 + SEEN


def test_one_that_the_service_had_no_time_for_is_started_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its machine is well, and the service too, when it comes back; the real process, over a file that loops."""
    write_drawing(tmp_path / "cam.mp4", [planes(100 + number) for number in range(10)], 10)
    machines = Machines(COMMAND, Machine("west"))

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: state(supervisor) == "live")
        machines.made[0].slow = 1.5 * lease.LEASE
        await until(lambda: supervisor.cameras["a"].report().restarts >= 1)
        await until(lambda: state(supervisor) == "live")

    text = camera("a", "cam.mp4", 'loop = true\nmethod = "blackout"')
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lease, "LEASE", 6.0)  # a start takes half of it
        patched.setattr(placed_child, "LEASE", 20.0)  # the answer comes after all
        run(tmp_path, text, machines, scenario)
    assert "a: restarting: the service could not be reached" in capfd.readouterr().err


def test_a_machine_that_differs_fails_the_camera_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        placed_order_file, "packed", lambda settings: replace(packed(settings), versions={"numpy": "0"})
    )

    async def scenario(supervisor: Supervisor) -> None:
        await until(lambda: state(supervisor) == "failed")

    run(tmp_path, camera("a", "rtsp://127.0.0.1:9/x"), Machines(COMMAND, Machine("west")), scenario)
    assert f"a: failed: {platform.node()} has " in capfd.readouterr().err


def test_what_is_not_fetched_waits_and_what_is_too_much_is_lost(tmp_path: Path) -> None:
    flood = "import sys\nwhile True: sys.stdout.write('x' * 9999); sys.stderr.write('streamdeid: y\\n' * 999)"
    relay = CameraRelay((sys.executable, "-c", flood))
    relay.hello()
    assert relay.start(b"\n") is None
    time.sleep(0.7)
    messages, complaints, closed = relay.exchange(b"", 0.0)
    assert 1 << 20 <= len(messages) < 3 << 19 and 0 < len(complaints) <= 1 << 16 and not closed
    whole = b"streamdeid: y"
    assert all(whole.startswith(line) or whole.endswith(line) for line in complaints.split(b"\n"))
    assert relay.end(0.0, 1.0)[0] == -signal.SIGTERM
    late = CameraRelay(("/no/such/program",))
    assert late.start(b"\n") == "the order came too late", "nobody said hello"
    late.hello()
    assert late.start(b"\n") == "No such file or directory"


def test_what_is_sent_is_packed_and_another_machine_refuses_it(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(range(60, 92)))
    given = door(key_file=str(key))
    head, _, sent = placed_order(given, None).partition(b"\n")
    assert json.loads(head)["sent"] == len(sent) and json.loads(head)["key"] is None
    key.unlink()
    with unpacked_order(Order(given, None, len(sent)), sent) as (there, secret):
        assert there == given and secret == bytes(range(60, 92))
    with unpacked_order(Order(given, b"k" * 32, len(sent)), sent) as (_, secret):
        assert secret == b"k" * 32
    other = pickle.dumps(replace(pickle.loads(sent), versions={"python": "2.7"}))
    with (
        pytest.raises(SettingsError, match=r"has .* and the run was started with"),
        unpacked_order(Order(given, None, len(other)), other),
    ):
        pass


def test_what_belongs_to_one_machine_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    with pytest.raises(SettingsError, match="camera door: a register"):
        check_placeable(door(register=str(tmp_path / "r"), key_file=str(key)))
    with pytest.raises(SettingsError, match="camera door: /dev/video0 is a device"):
        check_placeable(door(source="/dev/video0"))
    check_placeable(door())
    (tmp_path / "cameras.toml").write_text(camera("a").replace('"well"', '"/dev/video0"'))
    with pytest.raises(SettingsError, match="device"):
        Supervisor(tmp_path / "cameras.toml", place=ClusterPlace(Machines(FAKE)))
