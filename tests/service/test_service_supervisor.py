"""The supervisor with camera processes that die, hang, stand still, talk nonsense and will not go."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from streamdeid.errors import SettingsError
from streamdeid.runs.turns import FOLDER
from streamdeid.service import restarts, supervised_camera
from streamdeid.service.supervisor import Supervisor
from tests.fake_camera import started
from tests.live_fakes import FakeTime

FAKE = (sys.executable, str(Path(__file__).parents[1] / "fake_camera.py"))
HTTP_OFF = '[http]\nlisten = "off"\n'
BUSY = 60.0
"""Seconds after which a busy machine is no excuse any more."""
Scenario = Callable[[Supervisor], Awaitable[None]]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules with shorter times."""
    monkeypatch.setattr(restarts, "PACE", 0.2)
    monkeypatch.setattr(restarts, "STALL", 1.0)
    monkeypatch.setattr(restarts, "BEGINNING", 4.0)
    monkeypatch.setattr(supervised_camera, "TICK", 0.05)
    monkeypatch.setattr(supervised_camera, "PATIENCE", 0.5)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for a cameras' file; no process that was started there lives on."""
    yield tmp_path
    for one in started(tmp_path):
        assert not _lives(one["pid"]), f"{one['name']} lives on"


def _camera(name: str, behaviour: str, more: str = "") -> str:
    return f'[[camera]]\nname = "{name}"\nsource = "{behaviour}"\noutput = "{name}.m3u8"\n{more}\n'


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _run(
    place: Path,
    text: str,
    scenario: Scenario,
    number: int = signal.SIGTERM,
    *,
    http: str = HTTP_OFF,
    **environment: str,
) -> float:
    """Supervise the cameras while a scenario runs, then send a signal; the seconds that the end took."""
    (place / "cameras.toml").write_text(http + text)
    began = 0.0

    async def both() -> int:
        nonlocal began
        known = {**os.environ, "FAKE_LOG": str(place / "log"), "PYTHONPATH": str(Path(__file__).parents[2])}
        supervisor = Supervisor(place / "cameras.toml", FAKE, known | environment)
        running = asyncio.create_task(supervisor.run())
        try:
            acting = asyncio.ensure_future(scenario(supervisor))
            await asyncio.wait({running, acting}, timeout=2 * BUSY, return_when=asyncio.FIRST_COMPLETED)
            assert acting.done(), "the supervisor ended" if running.done() else "the scenario takes too long"
            acting.result()
        finally:
            began = time.monotonic()
            os.kill(os.getpid(), number)
            code = await running
        return code

    assert asyncio.run(both()) == number
    return time.monotonic() - began


async def _until(what: Callable[[], object], seconds: float = BUSY) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.02)


def _state(supervisor: Supervisor, name: str) -> str:
    return supervisor.cameras[name].report().state


def test_cameras_run_and_end_with_the_service(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: _state(supervisor, "a") == _state(supervisor, "b") == "live")
        assert supervisor.cameras["a"].report().ready
        await asyncio.sleep(2 * supervised_camera.TICK)

    assert _run(place, _camera("a", "well") + _camera("b", "well"), scenario) < 2
    assert [one["name"] for one in started(place)] in (["a", "b"], ["b", "a"])
    assert "a: live" in capfd.readouterr().err


@pytest.mark.usefixtures("quick")
def test_one_that_will_not_go_is_killed(place: Path) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: _state(supervisor, "a") == "live")

    assert 0.4 < _run(place, _camera("a", "deaf"), scenario, signal.SIGINT) < 2


def test_a_visitor_that_reads_nothing_does_not_hold_up_the_end(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nor does uvicorn complain of it. Four seconds for a deaf process and one for a deaf visitor would be too many."""
    monkeypatch.setattr(supervised_camera, "PATIENCE", 2.0)
    with contextlib.closing(socket.socket()) as deaf:

        async def scenario(supervisor: Supervisor) -> None:
            await _until(lambda: _state(supervisor, "a") == "live")
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)/", capfd.readouterr().err)
            assert found is not None
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", int(found[1])))
            deaf.sendall(b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1500)
            await asyncio.sleep(0.5)

        took = _run(place, _camera("a", "deaf"), scenario, http='[http]\nlisten = "127.0.0.1:0"\n')
    assert took > 1.9 and not [record for record in caplog.records if record.name.startswith("uvicorn")]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("dies", "died (exit code 7)"),
        ("hangs", "it said nothing for 1 s"),
        ("stands", "no frame left for 1 s"),
        ("garbage", "cannot be understood"),
        ("nested", "cannot be understood"),
    ],
)
def test_a_bad_process_is_started_again_and_counters_never_fall(
    place: Path, behaviour: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        camera, last = supervisor.cameras["a"], 0
        while len(started(place)) < 3:
            report = camera.report()
            assert report.totals.filtered >= last and sum(report.totals.latency) >= last
            last = report.totals.filtered
            assert report.state != "failed"
            await asyncio.sleep(0.01)
        assert last >= 6  # two processes told of at least three frames each
        assert report.restarts == 2

    _run(place, _camera("a", behaviour), scenario)
    lines = [line for line in capfd.readouterr().err.splitlines() if "restarting" in line]
    assert lines and all(line.startswith("streamdeid: a: restarting: its process ") for line in lines)
    assert all(reason in line for line in lines)


@pytest.mark.usefixtures("quick")
def test_a_camera_that_is_away_is_left_alone_and_degraded(place: Path) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: _state(supervisor, "a") == "degraded")
        await asyncio.sleep(2.0)
        report = supervisor.cameras["a"].report()
        assert (report.state, report.reason, report.restarts, report.ready) == ("degraded", "no answer", 0, False)

    _run(place, _camera("a", "away"), scenario)


@pytest.mark.usefixtures("quick")
def test_wrong_settings_wait_for_the_file_to_be_read_again(place: Path) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: _state(supervisor, "a") == "failed")
        assert supervisor.cameras["a"].report().reason == "k is wrong rtsp://***@host/x"
        await asyncio.sleep(0.6)
        assert len(started(place)) == 1
        os.kill(os.getpid(), signal.SIGHUP)
        await _until(lambda: len(started(place)) == 2)

    _run(place, _camera("a", "wrong"), scenario)


@pytest.mark.usefixtures("quick")
def test_a_finished_file_is_not_played_again(place: Path) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: _state(supervisor, "a") == "ended")
        await asyncio.sleep(0.6)
        assert supervisor.cameras["a"].report().totals.filtered == 4

    _run(place, _camera("a", "ends"), scenario)
    assert len(started(place)) == 1


def test_a_killed_process_comes_back(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(restarts, "PACE", 0.5)

    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: _state(supervisor, "a") == "live")
        os.kill(started(place)[0]["pid"], signal.SIGKILL)
        await _until(lambda: len(started(place)) == 2)
        await _until(lambda: _state(supervisor, "a") == "live")
        assert supervisor.cameras["a"].restarts == 1

    _run(place, _camera("a", "well"), scenario)
    assert "a: restarting: its process died (signal 9)\n" in capfd.readouterr().err


def test_a_reload_touches_what_changed_and_nothing_else(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def pids(name: str) -> list[int]:
        return [one["pid"] for one in started(place) if one["name"] == name]

    async def scenario(supervisor: Supervisor) -> None:
        file = place / "cameras.toml"
        await _until(lambda: all(_state(supervisor, name) == "live" for name in "abc"))
        before = supervisor.cameras["b"].totals.filtered
        file.write_text("k = ")
        os.kill(os.getpid(), signal.SIGHUP)
        await _until(lambda: supervisor.reloads["refused"] == 1)
        await asyncio.sleep(0.2)
        assert list(supervisor.cameras) == ["a", "b", "c"] and len(started(place)) == 3
        # b has another setting, c is gone, d is new and takes the output of c
        changed = (
            _camera("a", "well") + _camera("b", "well", "k = 6") + _camera("d", "well").replace("d.m3u8", "c.m3u8")
        )
        file.write_text('[http]\nlisten = "127.0.0.1:1"\n' + changed)
        os.kill(os.getpid(), signal.SIGHUP)
        await _until(lambda: list(supervisor.cameras) == ["a", "b", "d"])
        assert supervisor.cameras["b"].totals.filtered >= before
        await _until(lambda: all(_state(supervisor, name) == "live" for name in "abd"))
        assert supervisor.cameras["b"].totals.filtered >= before
        assert len(pids("a")) == 1 and len(pids("b")) == 2 and len(pids("d")) == 1
        assert not _lives(pids("c")[0]) and not _lives(pids("b")[0]) and _lives(pids("b")[1])

    _run(place, "".join(_camera(name, "well") for name in "abc"), scenario)
    said = capfd.readouterr().err
    assert "not reloaded: " in said and "a change of [http] needs a restart" in said


def test_keys_are_shared_kept_over_a_death_and_told_to_nobody_else(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(restarts, "PACE", 0.2)

    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: len(started(place)) == 4)
        os.kill(next(one["pid"] for one in started(place) if one["name"] == "a"), signal.SIGKILL)
        await _until(lambda: len(started(place)) == 5)

    house = 'key = "house"'
    text = _camera("a", "well", house) + _camera("b", "well", house) + _camera("c", "well", 'key = "other"')
    _run(place, text + _camera("d", "well"), scenario)
    keys = {name: {one["order"]["key"] for one in started(place) if one["name"] == name} for name in "abcd"}
    assert keys["a"] == keys["b"] and len(keys["a"]) == 1 and keys["c"] != keys["a"] and keys["d"] == {None}
    (key,) = keys["a"]
    assert len(bytes.fromhex(key)) == 32
    written = [path for path in place.rglob("*") if path.is_file() and path.name != "log"]
    assert written == [place / "cameras.toml"] and key not in capfd.readouterr().err


def test_passwords_reach_a_process_by_its_pipe_only(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: _state(supervisor, "a") == "live")
        process = started(place)[0]["pid"]
        for name in ("cmdline", "environ"):
            assert b"geheim" not in Path(f"/proc/{process}/{name}").read_bytes()

    text = _camera("a", "well").replace('"well"', '"rtsp://u:${LOGIN}@h/well"')
    _run(place, text, scenario, LOGIN="geheim", NOTIFY_SOCKET="/nowhere", WATCHDOG_USEC="3000000")
    one = started(place)[0]
    assert one["order"]["camera"]["source"] == "rtsp://u:geheim@h/well"
    assert "geheim" not in str(one["argv"]) + str(one["env"]) + capfd.readouterr().err
    assert not one["env"].keys() & {"LOGIN", "NOTIFY_SOCKET", "WATCHDOG_USEC"}


def test_processes_share_turns_in_a_folder_that_is_gone_in_the_end(place: Path) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: len(started(place)) == 2)
        assert Path(started(place)[0]["env"][FOLDER]).is_dir()

    _run(place, _camera("a", "well") + _camera("b", "well"), scenario)
    (folder,) = {one["env"][FOLDER] for one in started(place)}
    assert not Path(folder).exists()


def test_what_was_a_password_before_a_reload_stays_out_of_the_environment(place: Path) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await _until(lambda: len(started(place)) == 1)
        (place / "cameras.toml").write_text(HTTP_OFF + _camera("b", "well"))
        os.kill(os.getpid(), signal.SIGHUP)
        await _until(lambda: len(started(place)) == 2)

    text = _camera("a", "well").replace('"well"', '"rtsp://u:${LOGIN}@h/well"')
    _run(place, text, scenario, LOGIN="geheim")
    assert [one["name"] for one in started(place)] == ["a", "b"]
    assert not any("LOGIN" in one["env"] for one in started(place))


def test_an_old_picture_is_not_shown(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a process that says nothing any more; and who waited for it in vain leaves nothing behind."""
    monkeypatch.setattr(supervised_camera, "MOST_AGE", 0.4)

    async def scenario(supervisor: Supervisor) -> None:
        camera = supervisor.cameras["a"]
        await _until(lambda: _state(supervisor, "a") == "live")
        assert await camera.preview(0, 2.0) is not None
        process = started(place)[0]["pid"]
        os.kill(process, signal.SIGSTOP)
        try:
            await asyncio.sleep(0.5)
            assert await camera.preview(0, 0.1) is None and await camera.snapshot(0.1) is None
            assert camera._snapshots == []
        finally:
            os.kill(process, signal.SIGCONT)

    _run(place, _camera("a", "well"), scenario)


def test_pictures_are_made_when_somebody_looks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised_camera, "time", clock := FakeTime())
    monkeypatch.setattr(supervised_camera, "MOST_AGE", 60.0)  # a busy machine makes no picture too old here

    async def scenario(supervisor: Supervisor) -> None:
        camera = supervisor.cameras["a"]
        assert await camera.preview(0, 0.0) is None
        await _until(lambda: _state(supervisor, "a") == "live")
        number, picture = await camera.preview(0, 10.0) or (0, b"")
        assert number == 1 and picture.startswith(b"\xff\xd8\xff")
        assert await camera.snapshot(10.0) == picture
        assert (await camera.preview(0, 0.0) or (0, b""))[0] == 1, "nobody asked for another one yet"
        clock.ahead += 1.05  # whoever takes what is there asks for the next one, too
        assert (await camera.preview(0, 0.0) or (0, b""))[0] == 1
        await _until(lambda: camera._picture[0] == number + 1)  # which no further call asked for
        assert await camera.preview(number + 5, 0.1) is None
        supervisor.cameras["a"].stop()
        await _until(lambda: camera._child is None)
        assert not _lives(started(place)[0]["pid"])
        assert await camera.preview(0, 0.0) is None and await camera.snapshot(0.0) is None

    (place / "log").touch()
    _run(place, _camera("a", "well"), scenario)


def test_the_service_is_gone_and_so_are_its_cameras(place: Path) -> None:
    """Even when it is killed the hard way: the end of their input ends the processes."""
    (place / "cameras.toml").write_text(HTTP_OFF + _camera("a", "well"))
    code = (
        "import asyncio, sys, pathlib\nfrom streamdeid.service.supervisor import Supervisor\n"
        f"asyncio.run(Supervisor(pathlib.Path({str(place / 'cameras.toml')!r}), {FAKE!r}).run())\n"
    )

    async def kill() -> None:
        known = {**os.environ, "FAKE_LOG": str(place / "log"), "PYTHONPATH": str(Path(__file__).parents[2])}
        service = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=known, stderr=-3)
        await _until(lambda: started(place))
        service.kill()
        await service.wait()
        await _until(lambda: not _lives(started(place)[0]["pid"]))

    asyncio.run(kill())


def test_a_call_to_read_again_that_comes_too_early_ends_nothing() -> None:
    code = (
        "import os, signal, sys\nfrom streamdeid.cli import main\n"
        "main.main = lambda: os.kill(os.getpid(), signal.SIGHUP) or 7\n"
        "sys.argv[1:] = ['serve', 'x']\nmain.run()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


def test_a_port_that_is_taken_is_said(place: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f'[http]\nlisten = "127.0.0.1:{taken.getsockname()[1]}"\n'
        (place / "cameras.toml").write_text(listen + _camera("a", "well"))
        with pytest.raises(SettingsError, match="cannot listen on"):
            asyncio.run(Supervisor(place / "cameras.toml", FAKE).run())
    assert not started(place)
