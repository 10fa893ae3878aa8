"""A camera's process on another machine, as the service sees it: it behaves like a `Child` on the service's machine.

Each process has a thread that asks its relay (`relay`) repeatedly; this fetches its messages and renews its lease. The
service's own loop never waits for another machine. A relay that does not answer is lost, and then it is not known
whether its camera still runs; from `free_at` on it certainly does not run (`lease`).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from streamdeid.core.status import LiveStatus
from streamdeid.errors import ExitCode, StreamdeidError
from streamdeid.service.camera import Camera
from streamdeid.service.lease import LEASE, LeaseClaim
from streamdeid.service.pipe_messages import LONGEST_LINE, PipePicture
from streamdeid.service.placed_order import check_placeable, placed_order
from streamdeid.service.relay import Told
from streamdeid.service.running import Streams

HOLD = 0.5
"""Seconds for which a relay waits for messages. A process sends its status at the same interval."""
_LOOK = 0.2
_SLACK = 2.0
"""Seconds that an answer may take in addition to the work itself."""
_MOST_WISHES = 8
PLACING = 10.0
"""Seconds that a machine may take to accept a relay before another relay is made; doubled each time, up to a minute."""


class RelayLost(Exception):
    """A relay is gone, or did not answer. Its text is one line for the user."""


class Remote(Protocol):
    """A `CameraRelay` on some machine."""

    def ask(self, name: str, *given: object) -> Any:
        """Call a method of the relay; returns a handle for `answer`. Raises RelayLost."""

    def answer(self, asked: Any, timeout: float) -> Any:
        """The return value of a called method. Raises TimeoutError after `timeout` seconds, and RelayLost."""

    def kill(self) -> None:
        """Kill the relay wherever it is, or prevent its start."""


class ClusterPlace:
    """Starts the processes of cameras on machines of a cluster. remote: makes a relay on a machine that has room."""

    def __init__(self, remote: Callable[[], Remote]) -> None:
        self._remote = remote
        self._links: list[_Link] = []

    def check(self, camera: Camera) -> None:
        """Raise SettingsError for a camera that can run on one particular machine only."""
        check_placeable(camera)

    async def started(self, camera: Camera, key: bytes | None, environment: Mapping[str, str]) -> PlacedChild:
        """Start the process of a camera when a machine has room. Raises OSError, SettingsError and ModelError.

        environment: not used; the process gets the environment of its machine.
        """
        self._links = [link for link in self._links if link.thread.is_alive()]
        link = _Link(camera, key, self._remote)
        self._links.append(link)
        link.begun.add_done_callback(_heard)
        try:
            await asyncio.shield(link.begun)
        except asyncio.CancelledError:
            child = PlacedChild(link)
            await child.end(0.0, 0.0)
            await asyncio.sleep(max(0.0, child.free_at - time.monotonic()))
            raise
        return PlacedChild(link)

    def close(self, patience: float) -> None:
        """End all processes that run, and wait until their threads have ended, for at most `patience` seconds."""
        until = time.monotonic() + patience
        for link in self._links:
            link.finish(0.0, patience / 2)
        for link in self._links:
            link.thread.join(max(0.0, until - time.monotonic()))


class PlacedChild:
    """One camera's process on some machine of a cluster."""

    def __init__(self, link: _Link) -> None:
        self._link = link

    @property
    def node(self) -> str | None:
        """The name of the machine that the process runs on."""
        return self._link.node

    @property
    def lost(self) -> str | None:
        """Why it is not known whether the process has ended, or None."""
        return self._link.lost

    @property
    def free_at(self) -> float:
        """The time from which another process may use its output; 0 where its relay confirmed its end."""
        return 0.0 if self._link.confirmed else self._link.claim.free_at

    async def message(self) -> LiveStatus | PipePicture | None:
        """The next message, None at the end. Raises ValueError for data that are not a message."""
        return await self._link.streams.message()

    async def complaint(self) -> str | None:
        """The next line of its standard error, None at the end."""
        return await self._link.streams.complaint()

    def ask(self, kind: str) -> None:
        """Ask the process for a picture; of too many wishes the oldest are dropped."""
        self._link.wishes.append(kind.encode() + b"\n")

    async def end(self, grace: float, patience: float) -> int:
        """End the process: wait up to `grace` s, send SIGTERM, wait up to `patience` s, send SIGKILL.

        Returns the exit code (below 0: the number of a signal); 4 when the process is lost.
        """
        self._link.finish(grace, patience)
        return await asyncio.shield(self._link.code)


class _Link:
    """The thread that communicates with one relay, from the creation of the relay to its end."""

    def __init__(self, camera: Camera, key: bytes | None, remote: Callable[[], Remote]) -> None:
        self._camera, self._key, self._make = camera, key, remote
        self._loop = asyncio.get_running_loop()
        self._ending = threading.Event()
        self._grace = self._patience = 0.0
        self.streams = Streams(asyncio.StreamReader(LONGEST_LINE), asyncio.StreamReader(LONGEST_LINE))
        self.begun: asyncio.Future[None] = self._loop.create_future()
        """Done when the process was started; holds the error when it cannot be started."""
        self.code: asyncio.Future[int] = self._loop.create_future()
        """The exit code of the process."""
        self.wishes: deque[bytes] = deque(maxlen=_MOST_WISHES)
        self.claim = LeaseClaim()
        self.node: str | None = None
        self.lost: str | None = None
        self.confirmed = False
        """Whether the relay confirmed that the process has ended, or was not started."""
        self.thread = threading.Thread(target=self._run, name=f"link {camera.name}", daemon=True)
        self.thread.start()

    def finish(self, grace: float, patience: float) -> None:
        """Let the process end; later calls have no effect."""
        if not self._ending.is_set():
            self._grace, self._patience = grace, patience
            self._ending.set()

    def _run(self) -> None:
        """Make a relay, let it start the process, ask it for messages, and end it."""
        code = int(ExitCode.FAILED_CLOSED)
        remote: Remote | None = None
        try:
            order = placed_order(self._camera, self._key)
            remote = self._placed()
            if remote is not None:
                self._start(remote, order)
                code = self._followed(remote)
        except Exception as error:
            self._failed(error)
        finally:
            if remote is not None:
                with contextlib.suppress(Exception):
                    remote.kill()
            self._tell(self._over, code)

    def _failed(self, error: Exception) -> None:
        """Report an error. A process that may have been started is lost: the service has to wait until `free_at`."""
        gone = isinstance(error, RelayLost | TimeoutError)
        if not gone and not isinstance(error, StreamdeidError | OSError):
            error = OSError(f"an unexpected error ({type(error).__name__})")  # a library's text may hold anything
        if self.claim.free_at and not self.confirmed:
            self.lost = f"its machine {self.node} is gone or cannot be reached" if gone else str(error)
        else:
            self._tell(_fail, self.begun, OSError(str(error)) if gone else error)

    def _placed(self) -> Remote | None:
        """A relay that a machine accepted; None when the process is no longer wanted. Raises RelayLost.

        Ray may choose a machine without knowing that it is gone, and wait a minute for it. A relay that is not accepted
        is given up; this is harmless, as the relay has received nothing yet.
        """
        patience = PLACING
        while not self._ending.is_set():
            remote, until = self._make(), time.monotonic() + patience
            try:
                asked = remote.ask("hello")
                while time.monotonic() < until and not self._ending.is_set():
                    with contextlib.suppress(TimeoutError):
                        self.node = str(remote.answer(asked, _LOOK))
                        return remote
            finally:
                if self.node is None:
                    remote.kill()
            patience = min(2 * patience, 6 * PLACING)
        return None

    def _start(self, remote: Remote, order: bytes) -> None:
        """Start the process. Raises RelayLost, TimeoutError, and OSError when its machine cannot start it."""
        self.claim.asking(time.monotonic())
        wrong = remote.answer(remote.ask("start", order), LEASE)
        if wrong is not None:
            self.confirmed = True
            raise OSError(f"{self.node}: {wrong}")
        self._tell(_done, self.begun)

    def _followed(self, remote: Remote) -> int:
        """Fetch the messages of the process until it has to end, then end it; returns its exit code.

        Raises RelayLost and TimeoutError.
        """
        closed = False
        while not self._ending.is_set():
            if closed:  # the process may run for a moment more; the reader of its messages decides how long
                self._ending.wait(_LOOK)
            wishes = b"".join(self.wishes.popleft() for _ in range(len(self.wishes)))
            self.claim.asking(time.monotonic())
            told: Told = remote.answer(remote.ask("exchange", wishes, HOLD), LEASE)
            closed = told[2]
            self._hand_on(told)
        timeout = self._grace + self._patience + _SLACK
        code, told = remote.answer(remote.ask("end", self._grace, self._patience), timeout)
        self._hand_on(told)
        self.confirmed = True
        return int(code)

    def _hand_on(self, told: Told) -> None:
        """Give bytes to the service's loop and wait until it has them, so that no more is fetched than it takes."""
        taken, until = threading.Event(), time.monotonic() + LEASE / 2
        self._tell(self._feed, told, taken)
        while not taken.wait(_LOOK) and not self._loop.is_closed() and time.monotonic() < until:
            pass

    def _feed(self, told: Told, taken: threading.Event) -> None:
        messages, complaints, closed = told
        for stream, data in ((self.streams.output, messages), (self.streams.errors, complaints)):
            if data and not stream.at_eof():
                stream.feed_data(data)
        if closed:
            self.streams.output.feed_eof()
        taken.set()

    def _over(self, code: int) -> None:
        self.streams.output.feed_eof()
        self.streams.errors.feed_eof()
        _done(self.begun)
        if not self.code.done():
            self.code.set_result(code)

    def _tell(self, what: Callable[..., None], *given: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nothing waits for this call
            self._loop.call_soon_threadsafe(what, *given)


def _heard(future: asyncio.Future[None]) -> None:
    """Read the exception of a future for which nothing waits any more; otherwise asyncio would print it."""
    if not future.cancelled():
        future.exception()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: asyncio.Future[None], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
