"""A camera's process on another machine of a cluster, and what it says handed on to the service.

It runs as an actor of Ray's, but knows nothing of Ray: each method is called, one after the other, by the service
(`placed_child`). It starts the very process that the service would start beside itself, and only takes its messages and
complaints along, as bytes. What is not fetched waits in the process's pipe. It imports next to nothing: it is there
once for each camera.
"""

from __future__ import annotations

import contextlib
import os
import platform
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Sequence

from streamdeid.core.child_process import child_command, child_environment
from streamdeid.service.lease import ENDING, UNTIL, Lease

COMMAND = tuple(child_command("streamdeid.service.camera_process:main"))
"""How the process of a camera is started on this machine."""
_CHUNK = 1 << 16
_MOST = 1 << 20
"""Bytes of messages that wait to be fetched; more wait in the pipe."""
_MOST_COMPLAINTS = 1 << 16
"""Bytes of complaints that wait; more are lost, since a process must never wait for somebody to read those."""
_MOST_WISHES = 64
_LOOK = 0.2
Told = tuple[bytes, bytes, bool]
"""Messages, complaints, and whether the process has closed its output, and all of it was fetched."""


class CameraRelay:
    """Keeps the process of one camera for as long as the service asks for it, and ends it when it does not."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = tuple(command)
        self._lease = Lease()
        self._process: subprocess.Popen[bytes] | None = None
        self._changed = threading.Condition()
        self._messages, self._complaints = bytearray(), bytearray()
        self._most = _MOST
        self._closed = False
        self._readers: list[threading.Thread] = []
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MOST_WISHES)

    def hello(self) -> str:
        """The name of this machine. The lease is counted from here."""
        self._lease.answered(time.monotonic())
        return platform.node()

    def start(self, order: bytes) -> str | None:
        """Start the process and tell it what it is to do; why that cannot be, or None."""
        until = self._lease.asked(time.monotonic())
        if until is None:
            return "the order came too late"
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=child_environment(),
                start_new_session=True,
            )
        except OSError as error:
            return error.strerror or str(error)
        self._lines.put(order + _until(until))
        for work in (self._write, self._read_messages, self._read_complaints):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self._readers += [thread] * (work != self._write)
        threading.Thread(target=self._keep_lease, daemon=True).start()
        self._lease.answered(time.monotonic())
        return None

    def exchange(self, wishes: bytes, hold: float) -> Told:
        """Hand wishes on, and take what was said; wait for it for up to `hold` seconds. Renews the lease."""
        until = self._lease.asked(time.monotonic())
        if until is not None:
            with contextlib.suppress(queue.Full):  # a process that does not read
                self._lines.put_nowait(wishes + _until(until))
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._complaints or self._closed, hold)
            told = self._take()
        self._lease.answered(time.monotonic())
        return told

    def end(self, grace: float, patience: float) -> tuple[int, Told]:
        """The process's exit code (below 0: a signal's), and what it said last.

        After up to `grace` s of waiting, SIGTERM, `patience` s, and SIGKILL. It is gone when this returns.
        """
        assert self._process is not None
        with self._changed:
            self._most = 1 << 62  # nothing is to hold it up now
            self._changed.notify_all()
        if not self._over(grace):
            self._process.send_signal(signal.SIGTERM)
            self._close_input()
            self._over(patience)
        self._kill()
        code = self._process.wait()
        self._close_input()
        for reader in self._readers:
            reader.join(timeout=0.5)  # somebody may have inherited its output
        with self._changed:
            return code, self._take()

    def _take(self) -> Told:
        told = bytes(self._messages), bytes(self._complaints), self._closed
        self._messages.clear()
        self._complaints.clear()
        self._changed.notify_all()
        return told

    def _keep_lease(self) -> None:
        """End the process when the lease is over: the service is gone, or cannot be reached."""
        assert self._process is not None
        while not self._lease.over(time.monotonic()):
            if self._process.poll() is not None:
                return
            time.sleep(_LOOK)
        self._process.send_signal(signal.SIGTERM)
        self._close_input()
        self._over(ENDING)
        self._kill()
        self._process.wait()

    def _over(self, seconds: float) -> bool:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, seconds))
        return self._process.returncode is not None

    def _kill(self) -> None:
        """The process, and whatever it started that is not its encoder, which ends by itself."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _close_input(self) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)

    def _write(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        with contextlib.suppress(OSError):
            while (line := self._lines.get()) is not None:
                _write_all(self._process.stdin.fileno(), line)
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _read_messages(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        with self._process.stdout as stream:
            while chunk := os.read(stream.fileno(), _CHUNK):
                with self._changed:
                    self._changed.wait_for(lambda: len(self._messages) < self._most)
                    self._messages += chunk
                    self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _read_complaints(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        lost = False
        with self._process.stderr as stream:
            while chunk := os.read(stream.fileno(), _CHUNK):
                with self._changed:
                    if len(self._complaints) + len(chunk) >= _MOST_COMPLAINTS:
                        lost = True
                        continue
                    self._complaints += b"\n" * lost + chunk  # what goes on in the middle of a line is no line of ours
                    lost = False
                    self._changed.notify_all()


def _until(time: float) -> bytes:
    """The line that tells a camera's process how long it may run (`camera_process`)."""
    return f"{UNTIL} {time:.3f}\n".encode()


def _write_all(number: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(number, rest) :]
