"""`streamdeid filter` from a camera to a server as a user starts it: its state, what it costs, how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.processes import COMMAND, with_repository

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MARK = "STREAMDEID_BENCHMARK_RUN"
"""Environment variable that all processes of a run inherit."""
_LAST_WORDS = 5.0
"""Seconds that a filter may take to end (the service's bar for SIGTERM)."""


@dataclass(frozen=True)
class Usage:
    """What the processes of a run use at a moment."""

    processes: int
    threads: int
    descriptors: int
    resident: float
    """MiB, all processes together."""
    filter_resident: float
    """MiB of the filter's own process."""
    filter_cpu: float
    """Seconds of the filter's own process so far."""
    other_cpu: float
    """Seconds of its children that live: the encoder."""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    code: int
    seconds: float
    """From the signal to the end."""
    complaint: str
    """Standard error."""
    left: int
    """Processes that it left behind."""


class FilterRun:
    """The command and all its children, wherever they go. Use it in a `with` statement."""

    def __init__(self, source: str, target: str, options: Sequence[str] = (), command: Sequence[str] = COMMAND) -> None:
        self._arguments = [*command, "filter", source, target, "--json", *options]
        self._mark = uuid.uuid4().hex
        self._status: dict[str, Any] = {}
        self._changed = threading.Condition()
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._read, name="status reader", daemon=True)

    def __enter__(self) -> FilterRun:
        self._process = subprocess.Popen(
            self._arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": with_repository(), _MARK: self._mark},
        )
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process = self._running()
        process.wait()
        self._reader.join()
        assert process.stdout is not None
        process.stdout.close()
        self._complaints.close()

    def status(self) -> dict[str, Any]:
        """The newest state that it told (`LiveStatus`); empty: none yet."""
        with self._changed:
            return self._status

    def wait(self, wanted: Callable[[dict[str, Any]], bool], timeout: float) -> bool:
        """Whether a state that is wanted came within the timeout in seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._status) and wanted(self._status), timeout)

    def alive(self) -> bool:
        """Whether it runs."""
        return self._running().poll() is None

    def usage(self) -> Usage:
        """What all its processes use now."""
        processes = threads = descriptors = pages = own_pages = 0
        cpu = {True: 0.0, False: 0.0}
        own = self._running().pid
        for pid in self._pids():
            try:
                fields = _stat(pid)
                count = len(os.listdir(f"/proc/{pid}/fd"))
            except OSError:
                continue  # it has just ended
            processes, descriptors = processes + 1, descriptors + count
            threads, pages = threads + int(fields[17]), pages + int(fields[21])
            own_pages += int(fields[21]) if pid == own else 0
            cpu[pid == own] += (int(fields[11]) + int(fields[12])) / _TICKS
        mib = _PAGE / (1 << 20)
        return Usage(processes, threads, descriptors, pages * mib, own_pages * mib, cpu[True], cpu[False])

    def end(self, how: signal.Signals = signal.SIGTERM, patience: float = 4 * _LAST_WORDS) -> Ended:
        """Send a signal and wait for the end; SIGKILL when the patience, in seconds, is over (the code is then -9)."""
        process, begun = self._running(), time.monotonic()
        if process.poll() is None:
            process.send_signal(how)
        return self._ended(begun, patience)

    def ended(self, patience: float) -> Ended:
        """Wait for it to end by itself."""
        return self._ended(time.monotonic(), patience)

    def complaint(self) -> str:
        """Standard error so far."""
        descriptor = self._complaints.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")

    def _ended(self, begun: float, patience: float) -> Ended:
        process = self._running()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return Ended(process.returncode, time.monotonic() - begun, self.complaint(), len(self._pids()))

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, "it was not started"
        return self._process

    def _pids(self) -> list[int]:
        """Living processes of the run: those with its mark in their environment, sessions of their own or not."""
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and _runs_with(self._mark, name)]

    def _read(self) -> None:
        output = self._running().stdout
        assert output is not None
        for line in output:
            try:
                status = json.loads(line)
            except ValueError:
                print(f"no JSON on standard output: {line!r}", file=sys.stderr)
                continue
            with self._changed:
                self._status = status
                self._changed.notify_all()


def _runs_with(mark: str, pid: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes() and _stat(int(pid))[0] != "Z"
    except OSError:
        return False  # it has just ended, or is somebody else's


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on: proc(5) counts them from 3."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2].split()
