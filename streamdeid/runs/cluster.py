"""Shares out the recordings of an archive to the machines of a Ray cluster (extra `cluster`).

Only this file imports Ray; the service gets it from `connected`. The plan is that of `batch`: one recording is one
task, the largest go first, and a task that died gets one more attempt. A task has a process of its own on its machine
(`fetched`), so a process that dies takes nothing else with it. Ray's worker only waits for this process, and tells it
when it is to end. Settings, key and models go to Ray's object store once, not with each task.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamdeid.core.addresses import scrubbed, shown
from streamdeid.core.held_signals import signals_held
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import FailedClosed, SettingsError, StreamdeidError
from streamdeid.report.redaction_report import FileFailure
from streamdeid.runs.archive import name_of
from streamdeid.runs.batch import Answer, Result
from streamdeid.runs.fetched import ArchiveTask, Attempt, Attempts, attempted
from streamdeid.runs.scratch import clear_abandoned
from streamdeid.runs.shipped import Shipped, UnfitError
from streamdeid.runs.workers import next_word

_LOG = logging.getLogger(__name__)
CPUS = 1
MEMORY = 700 << 20
"""Bytes that a task reserves for Ray's worker and the process that filters 720p, measured (docs/cluster.md)."""
_AHEAD = 2
"""Tasks in flight for each place of the cluster: one at work, and one that waits so that no place is idle."""
_MOST_IN_FLIGHT = 2000
_LOOK = 0.5
"""Seconds between checks for signals and of the cluster's size."""
_NOBODY = 300.0
"""Seconds without a machine that could take a task, after which the run ends."""
_LEAVE = 20.0
"""Seconds for tasks to end when they are told to; then their workers are killed."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray reports no usage
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # machines have streamdeid; under `uv run`, Ray would send this folder
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Ray's new behaviour; without this Ray prints a notice
    "RAY_DEDUP_LOGS": "0",
}
_NOBODYS = os.environ.get("SYSTEMROOT", os.sep) if os.name == "nt" else os.sep
"""A directory that every machine has, and into which only its administrator can write."""


def filter_on_cluster(tasks: Sequence[ArchiveTask], shipped: Shipped, address: str) -> Generator[Result, None, None]:
    """Filter recordings on the machines of a cluster; yields results as they come.

    address: of Ray's head, HOST:PORT, or `auto` on one of its machines. Whatever ends the iteration early also ends the
    tasks and removes the files that they were writing. Raises SettingsError when the cluster cannot be reached or a
    machine has other versions, and FailedClosed when no machine takes a task for 5 minutes.
    """
    said: queue.SimpleQueue[Result | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    with connected(address) as ray:
        # In a thread of its own: a signal's exception must not be raised inside of Ray, which does not handle it.
        thread = threading.Thread(target=_work, args=(ray, tasks, shipped, said.put, stop), name="cluster")
        thread.start()
        try:
            for _ in tasks:
                word = next_word(said)
                if isinstance(word, BaseException):
                    raise word
                yield word
        finally:
            stop.set()
            thread.join()


def _work(
    ray: Any,
    tasks: Sequence[ArchiveTask],
    shipped: Shipped,
    told: Callable[[Result | BaseException], None],
    stop: threading.Event,
) -> None:
    """Do tasks until all are done or the run is to stop; passes results, and an error that ends the run, to `told`."""
    try:
        order = sorted(range(len(tasks)), key=lambda number: -tasks[number].bytes)
        run = _Run(ray, tasks, shipped, ray.put(shipped), deque(order))
        try:
            while run.left and not stop.is_set():
                for result in run.some():
                    told(result)
        finally:
            run.end()
            clear_abandoned()
    except BaseException as error:
        told(error)


@dataclass
class _Run:
    """The tasks of a run: those that wait, and those in flight."""

    ray: Any
    tasks: Sequence[ArchiveTask]
    shipped: Shipped
    sent: Any
    """Ray's reference to `shipped`."""
    waiting: deque[int]
    flying: dict[Any, tuple[int, Attempts, Attempt]] = field(default_factory=dict)
    """Tasks in flight, by reference to the answer."""
    idle_since: float | None = None

    @property
    def left(self) -> bool:
        """Whether there is anything to wait for."""
        return bool(self.waiting or self.flying)

    def some(self) -> list[Result]:
        """Results that arrive within a moment. Raises SettingsError and FailedClosed for errors of the whole run."""
        results: list[Result] = []
        room = min(_AHEAD * self._places(), _MOST_IN_FLIGHT)
        while self.waiting and len(self.flying) < room:
            number = self.waiting.popleft()
            try:
                attempts = Attempts(self.tasks[number], self.shipped.settings.overwrite)
            except StreamdeidError as error:
                failure = FileFailure(name_of(self.tasks[number].input), str(error), int(error.exit_code))
                return [Result(number, failure)]
            self._send(number, attempts)
        if not self.flying:
            time.sleep(_LOOK)
            return []
        ready, _ = self.ray.wait(list(self.flying), num_returns=1, timeout=_LOOK)
        for reference in ready:
            result = self._taken(reference)
            results += [] if result is None else [result]
        return results

    def end(self) -> None:
        """End all tasks. They remove their unfinished files, and are gone at return."""
        with contextlib.suppress(Exception):
            for force, wait in ((False, _LEAVE), (True, 5.0)):
                for reference in self.flying:
                    with contextlib.suppress(Exception):
                        self.ray.cancel(reference, force=force)
                if self.flying:
                    _, left = self.ray.wait(list(self.flying), num_returns=len(self.flying), timeout=wait)
                    gone = {one: self.flying[one] for one in self.flying if one not in left}
                    for reference, (_, _, attempt) in gone.items():
                        attempt.clear()
                        del self.flying[reference]
            for _, _, attempt in self.flying.values():
                attempt.clear()

    def _places(self) -> int:
        """How many tasks the cluster can work on at a time. Raises FailedClosed when this is 0 for too long."""
        found = 0
        for node in self.ray.nodes():
            if node["Alive"]:
                has = node["Resources"]
                found += int(min(has.get("CPU", 0) // CPUS, has.get("memory", 0) // MEMORY))
        now = time.monotonic()
        self.idle_since = None if found else self.idle_since or now
        if self.idle_since is not None and now - self.idle_since > _NOBODY:
            raise FailedClosed(
                f"no machine of the cluster has had a CPU and {MEMORY >> 20} MiB for a recording for "
                f"{_NOBODY / 60:.0f} minutes"
            )
        return found

    def _send(self, number: int, attempts: Attempts) -> bool:
        """Send the next attempt at a recording to the cluster; False when there is no further attempt."""
        attempt = attempts.next()
        if attempt is None:
            return False
        task = self.ray.remote(work_for)
        # Ray's own retries are off: a recording is to fail after the second death, not after the third or fourth.
        options = task.options(num_cpus=CPUS, memory=MEMORY, max_retries=0, name="streamdeid")
        self.flying[options.remote(attempt, self.sent)] = number, attempts, attempt
        return True

    def _taken(self, reference: Any) -> Result | None:
        """The result of an attempt; None when it died and another attempt was sent."""
        number, attempts, attempt = self.flying.pop(reference)
        task, errors = self.tasks[number], self.ray.exceptions
        answer: Answer = None
        try:
            answer = self.ray.get(reference)
        except errors.RayTaskError as error:
            raise SettingsError(f"the cluster's machines cannot work for this run: {last_line(error)}") from error
        except errors.RayError:  # its worker or its machine is gone
            attempt.clear()
        if answer is None and self._send(number, attempts):
            return None
        if isinstance(answer, UnfitError):
            raise answer
        return Result.of(answer, number, name_of(task.input), attempts.made)


def work_for(attempt: Attempt, shipped: Shipped) -> Answer:
    """Make one attempt in a worker of Ray; returns the answer of its process, None when it died.

    Ray interrupts the main thread of a task that is cancelled, so the main thread only waits.
    """
    stop = threading.Event()
    said: list[Answer] = []
    thread = threading.Thread(target=lambda: said.append(attempted(attempt, shipped, stop)))
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    finally:
        stop.set()
        thread.join()
    return said[0] if said else None


def _imported() -> Any:
    """Import Ray with its notices switched off beforehand. Raises SettingsError."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        from ray._private import worker
    except ImportError as error:
        raise SettingsError("--ray needs the extra `cluster`: pip install 'streamdeid[cluster]'") from error
    # Ray prints a page for each machine that dies, and no setting prevents that; we print one line instead.
    worker.print_to_stdstream = lambda told, ignore_prefix: _LOG.debug("Ray: %s", told.get("lines"))
    return ray


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a cluster as its driver; yields the module `ray`. Raises SettingsError.

    address: of Ray's head, HOST:PORT, or `auto` on one of its machines. Ray installs handlers for SIGTERM, also below
    Python, and would abort three seconds after the signal, so the handlers are put back. Ray's workers search the
    current directory of the driver for modules, on all machines. While Ray starts, the current directory is therefore
    one that only an administrator can write to.
    """
    ray = _imported()
    _check_address(address)
    try:
        with signals_held(), _in_nobodys():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except (Exception, SystemExit) as error:
        with signals_held():
            ray.shutdown()
        raise SettingsError(f"no Ray cluster can be used at {shown(address)}: {last_line(error)}") from error
    try:
        yield ray
    finally:
        with signals_held():
            ray.shutdown()


@contextlib.contextmanager
def _in_nobodys() -> Iterator[None]:
    """Make `_NOBODYS` the current directory for a moment. Raises OSError when the current one is gone."""
    before = os.getcwd()
    os.chdir(_NOBODYS)
    try:
        yield
    finally:
        os.chdir(before)


def _check_address(address: str) -> None:
    """Raise SettingsError where nothing answers: Ray itself would wait for most of a minute and print traces."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise SettingsError(f"--ray takes HOST:PORT of Ray's head, or auto, not {shown(address)}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        reason = system_reason(error)
        raise SettingsError(f"no Ray cluster can be used at {shown(address)}: {reason}") from error


def last_line(error: BaseException) -> str:
    """The last line of an error of Ray, without passwords; the lines before it are traces of other machines."""
    lines = [line.strip() for line in scrubbed(str(error)).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
