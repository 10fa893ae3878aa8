"""Runs a camera's process on another machine of a cluster, and passes its messages on to the service.

The relay runs as a Ray actor but does not depend on Ray: the service calls its methods, one after the other
(`placed_child`). It starts the same process that the service would start on its own machine, and only passes on its
messages and complaints, as bytes. Messages that are not fetched wait in the process's pipe. This module imports very
little, because one relay runs for each camera.
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
from streamdeid.core.system_reason import system_reason
from streamdeid.service.lease import ENDING, UNTIL, Lease

COMMAND = tuple(child_command("streamdeid.service.camera_process:main"))
"""The command that starts the process of a camera on this machine."""
_CHUNK = 1 << 16
_MOST = 1 << 20
"""Bytes of messages that wait to be fetched; more messages wait in the pipe."""
_MOST_COMPLAINTS = 1 << 16
"""Bytes of complaints that wait; more complaints are lost, because a process must never wait until they are read."""
_MOST_WISHES = 64
_LOOK = 0.2
Told = tuple[bytes, bytes, bool]
"""Messages, complaints, and whether the process has closed its output and all messages were fetched."""


class CameraRelay:
    """Runs the process of one camera while the service asks for messages, and ends it when the service stops asking."""

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
        """The name of this machine. The lease begins with this answer."""
        self._lease.answered(time.monotonic())
        return platform.node()

    def start(self, order: bytes) -> str | None:
        """Start the process and send it its order; returns why this is not possible, or None."""
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
            return system_reason(error, as_told=True)
        self._lines.put(order + _until(until))
        for work in (self._write, self._read_messages, self._read_complaints):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self._readers += [thread] * (work != self._write)
        threading.Thread(target=self._keep_lease, daemon=True).start()
        self._lease.answered(time.monotonic())
        return None

    def exchange(self, wishes: bytes, hold: float) -> Told:
        """Pass wishes on and fetch what the process said, waiting for it up to `hold` seconds. Renews the lease."""
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
        """End the process: wait up to `grace` s, send SIGTERM, wait up to `patience` s, send SIGKILL.

        Returns the exit code (below 0: the number of a signal) and the last messages. The process is gone then.
        """
        assert self._process is not None
        with self._changed:
            self._most = 1 << 62  # a full buffer must not delay the process now
            self._changed.notify_all()
        if not self._over(grace):
            self._process.send_signal(signal.SIGTERM)
            self._close_input()
            self._over(patience)
        self._kill()
        code = self._process.wait()
        self._close_input()
        for reader in self._readers:
            reader.join(timeout=0.5)  # another process may have inherited its output
        with self._changed:
            return code, self._take()

    def _take(self) -> Told:
        told = bytes(self._messages), bytes(self._complaints), self._closed
        self._messages.clear()
        self._complaints.clear()
        self._changed.notify_all()
        return told

    def _keep_lease(self) -> None:
        """End the process when the lease is over, because the service is gone or cannot be reached."""
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
        """Kill the process and all processes it started, except its encoder, which ends by itself."""
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
                    self._complaints += b"\n" * lost + chunk  # after a loss a chunk may begin within a line: split it
                    lost = False
                    self._changed.notify_all()


def _until(time: float) -> bytes:
    """The line that tells a camera's process until when it may run (`camera_process`)."""
    return f"{UNTIL} {time:.3f}\n".encode()


def _write_all(number: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(number, rest) :]
