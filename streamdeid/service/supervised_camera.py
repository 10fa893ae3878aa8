"""Supervises one camera: its process is started, watched, restarted, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from streamdeid.core.addresses import scrubbed
from streamdeid.core.status import LiveStatus
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import ExitCode, StreamdeidError
from streamdeid.service.camera import Camera
from streamdeid.service.camera_report import CameraReport, RecentLatency
from streamdeid.service.pipe_messages import PipePicture
from streamdeid.service.preview import MOST_AGE
from streamdeid.service.restarts import Restarts, left
from streamdeid.service.running import Running
from streamdeid.service.status_reporter import added, never_back
from streamdeid.service.wanted_pictures import PREVIEW, SNAPSHOT

TICK = 0.25
PATIENCE = 4.0
"""Seconds from SIGTERM to SIGKILL; the service itself has five seconds to end."""
_GRACE = 3.0
"""Seconds that a process that has closed its output may take to end."""
_ASK_EVERY = 1.0
_SILENT = 3.0
"""Seconds without a status line after which a camera does not count as live; also, seconds without a start after which
the reason says that no machine has taken the process."""
_NOT_TAKEN = "no machine of the cluster has taken it yet"
_PREFIX = "streamdeid: "
_GARBAGE = "its process told something that cannot be understood"
_LINE = 300
"""Characters of a complaint that are shown."""


class SupervisedCamera:
    """Keeps one camera's process running until `stop`.

    start: starts the process (`running.RunningPlace`). say: shows a line to the user. before: the same camera with
    earlier settings, whose counts are continued.
    """

    def __init__(
        self,
        camera: Camera,
        start: Callable[[], Awaitable[Running]],
        say: Callable[[str], None],
        before: SupervisedCamera | None = None,
    ) -> None:
        self.camera = camera
        self._start, self._say = start, say
        self._before = before
        self._restarts = Restarts()
        self._restarted_before = 0
        self._stopping = asyncio.Event()
        self._child: Running | None = None
        self._free_at = 0.0
        self._starting_since: float | None = None
        self._earlier = LiveStatus()
        self._status = LiveStatus()
        self._heard = 0.0
        self._latency = RecentLatency()
        self._trouble: str | None = None
        self._finished = False
        self._told: tuple[str, str | None] | None = None
        self._picture: tuple[int, float, bytes] = (0, 0.0, b"")
        self._pictured = asyncio.Event()
        self._asked = 0.0
        self._snapshots: list[asyncio.Future[bytes]] = []

    async def run(self, after: Sequence[asyncio.Task[None]] = ()) -> None:
        """Keep the process running until `stop`. after: tasks that must end first, as they may use the same output."""
        if after:
            await asyncio.wait(after)
        if self._before is not None:
            before, self._before = self._before, None
            self._earlier, self._restarted_before = before.totals, before.restarts
        while not self._stopping.is_set():
            now = time.monotonic()
            wait = self._restarts.wait(now)
            if wait is not None:
                wait = max(wait, self._free_at - now)
            if wait is not None and wait <= 0:
                await self._life()
                self._tell()
            else:
                await self._rest(TICK if wait is None else min(wait, TICK))
        # The next camera may have the same output.
        await asyncio.sleep(max(0.0, self._free_at - time.monotonic()))

    def stop(self) -> None:
        """Let `run` end within `PATIENCE`, or later when a machine was lost and its process may still run."""
        self._stopping.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    @property
    def failed(self) -> bool:
        """Whether the process is not started again before the settings change."""
        return self._child is None and self._restarts.wait(time.monotonic()) is None

    @property
    def totals(self) -> LiveStatus:
        """Counters over all processes of the camera; the other values are of the last process."""
        own = added(self._earlier, self._status)
        return own if self._before is None else added(self._before.totals, own)

    @property
    def restarts(self) -> int:
        """How often the camera's process was started again."""
        earlier = self._restarted_before if self._before is None else self._before.restarts
        return earlier + self._restarts.count

    def report(self) -> CameraReport:
        """The present state of the camera."""
        now = time.monotonic()
        state, reason = self._state(now)
        age = self._status.frame_age
        age = None if age is None or self._child is None else age + now - self._heard
        showing = self._child is not None and left(self._status) > 0
        return CameraReport(
            self.camera.name, state, reason, age, self.restarts, self.totals, showing, self._latency.quantiles(),
            None if self._child is None else self._child.node,
        )  # fmt: skip

    async def preview(self, after: int, timeout: float) -> tuple[int, bytes] | None:
        """The number of a preview, above `after`, and its JPEG; None when none comes within `timeout` seconds."""
        until = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            if self._child is not None and now - self._asked >= _ASK_EVERY:
                self._asked = now
                self._child.ask(PREVIEW)
            number, made, data = self._picture
            if number > after and now - made < MOST_AGE:
                return number, data
            if self._child is None or now >= until or self._stopping.is_set():
                return None
            await _within(self._pictured.wait(), min(_ASK_EVERY, until - now))

    async def snapshot(self, timeout: float) -> bytes | None:
        """The next frame that leaves, in full size, as JPEG; None when none leaves within `timeout` seconds."""
        if self._child is None:
            return None
        wish: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._snapshots.append(wish)
        self._child.ask(SNAPSHOT)
        await asyncio.wait([wish], timeout=timeout)
        if wish.done() and not wish.cancelled():
            return wish.result()
        wish.cancel()
        with contextlib.suppress(ValueError):
            self._snapshots.remove(wish)
        return None

    async def _life(self) -> None:
        """Run one process from its start to its end."""
        child = await self._started()
        if child is None:
            return
        self._restarts.started(self._begun(child))
        reader = asyncio.create_task(self._read(child))
        errors = asyncio.create_task(self._read_complaints(child))
        killed: str | None = None
        try:
            while not reader.done() and not self._stopping.is_set() and killed is None:
                await self._rest(TICK, reader)
                killed = self._restarts.stalled(time.monotonic())
                self._tell()
        finally:
            finished = reader.done() and self._status.state == "ended"
            code = await child.end(_GRACE if reader.done() and self._trouble != _GARBAGE else 0.0, PATIENCE)
            await asyncio.wait([reader, errors], timeout=0.5)
            for task in (reader, errors):
                task.cancel()
            self._ended(child, code, finished, killed)

    async def _started(self) -> Running | None:
        """Start the process when there is room for it; None when this fails, or when it is no longer wanted."""
        starting = asyncio.ensure_future(self._start())
        self._starting_since = time.monotonic()
        try:
            while not starting.done() and not self._stopping.is_set():
                await self._rest(TICK, starting)
                if not starting.done():
                    self._tell()
        finally:
            self._starting_since = None
            if not starting.done():
                starting.cancel()
                await asyncio.wait([starting])
        if starting.cancelled():
            return None
        error = starting.exception()
        if error is None:
            return starting.result()
        code = error.exit_code if isinstance(error, StreamdeidError) else ExitCode.FAILED_CLOSED
        self._restarts.started(now := time.monotonic())
        self._restarts.ended(now, code)
        if isinstance(error, OSError):
            self._trouble = f"its process cannot be started: {scrubbed(system_reason(error, as_told=True))}"
        elif isinstance(error, StreamdeidError):
            self._trouble = scrubbed(str(error))
        else:
            raise error
        return None

    def _begun(self, child: Running) -> float:
        self._child, self._trouble = child, None
        self._heard = time.monotonic()
        self._latency = RecentLatency()
        return self._heard

    def _ended(self, child: Running, code: int, finished: bool, killed: str | None) -> None:
        self._child = None
        self._free_at = child.free_at
        self._earlier = added(self._earlier, self._status)
        self._status = LiveStatus(people=self._status.people, size=self._status.size)
        self._picture = (self._picture[0], 0.0, b"")
        for wish in self._snapshots:
            wish.cancel()
        self._snapshots.clear()
        if self._stopping.is_set():
            return
        self._finished = finished and killed is None and code == ExitCode.DONE
        self._restarts.ended(time.monotonic(), code, finished=self._finished)
        if killed is not None:
            self._trouble = f"its process was ended: {killed}"
        elif self._finished:
            self._trouble = "the file is at its end"
        elif child.lost is not None:
            self._trouble = child.lost
        elif self._trouble is None:
            self._trouble = f"its process died ({f'signal {-code}' if code < 0 else f'exit code {code}'})"

    async def _read(self, child: Running) -> None:
        """Read the messages of the process until it ends, or sends data that cannot be understood."""
        try:
            while (message := await child.message()) is not None:
                if isinstance(message, PipePicture):
                    self._show(message)
                else:
                    self._status, self._heard = never_back(self._status, message), time.monotonic()
                    self._restarts.seen(self._heard, message)
                    self._latency.add(self._heard, message.latency)
        except (ValueError, TypeError, RecursionError):  # JSON can cause each of these
            self._trouble = _GARBAGE

    async def _read_complaints(self, child: Running) -> None:
        """Keep this program's own lines as the camera's trouble; other lines may hold secrets and are ignored."""
        while (line := await child.complaint()) is not None:
            if line.startswith(f"{_PREFIX}{self.camera.name}: "):
                line = scrubbed(line.removeprefix(_PREFIX))[:_LINE]
                if line != f"{self.camera.name}: {self._trouble}":
                    self._trouble = line.removeprefix(f"{self.camera.name}: ")

    def _show(self, picture: PipePicture) -> None:
        if picture.kind == PREVIEW:
            self._picture = (self._picture[0] + 1, time.monotonic(), picture.data)
            self._pictured.set()
            self._pictured = asyncio.Event()
            return
        for wish in self._snapshots:
            if not wish.done():
                wish.set_result(picture.data)
        self._snapshots.clear()

    def _state(self, now: float) -> tuple[str, str | None]:
        if self._child is None:
            wait = self._restarts.wait(now)
            if wait is None:
                return ("ended" if self._finished else "failed"), self._trouble
            reason = self._trouble
            if self._starting_since is not None and now - self._starting_since > _SILENT:
                reason = f"{reason}; {_NOT_TAKEN}" if reason else _NOT_TAKEN
            return ("restarting" if self._trouble else "starting"), reason
        silent = now - self._heard
        if silent > _SILENT and self._status.state != "starting":
            return "degraded", f"its process has said nothing for {silent:.0f} s"
        state, reason = self._status.state, self._status.reason
        if state == "starting" and self._status.source.reason not in (None, "being opened"):
            state, reason = "degraded", reason or self._status.source.reason  # the camera was tried and not reached
        return state, None if reason is None else scrubbed(reason)

    def _tell(self) -> None:
        """Show a line for each change of the state."""
        now = self._state(time.monotonic())
        if self._stopping.is_set():
            return
        if now != self._told and not (self._child is not None and now[1] and "said nothing" in now[1]):
            self._told = now
            self._say(f"{self.camera.name}: {now[0]}{f': {now[1]}' if now[1] else ''}")

    async def _rest(self, seconds: float, until: asyncio.Future[Any] | None = None) -> None:
        """Wait for some seconds, but not longer than until `stop` is called or a task ends."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait(
                {stopping} | ({until} if until is not None else set()),
                timeout=seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            stopping.cancel()


async def _within(what: Awaitable[object], seconds: float) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(what, seconds)
