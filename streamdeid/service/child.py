"""A running camera process as the service sees it: messages, complaints, wishes for pictures, and a certain end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence

from streamdeid.core.status import LiveStatus
from streamdeid.service.camera import Camera
from streamdeid.service.pipe_messages import LONGEST_LINE, PipePicture, order_line
from streamdeid.service.running import Streams

_MOST_UNREAD = 1 << 16
"""Bytes of wishes that a process may leave unread; beyond them no more wishes are sent."""


class Child:
    """One process in a session of its own. Its encoder has another session, and ends by itself after this process."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process, self._input = process, process.stdin
        self._streams = Streams(process.stdout, process.stderr)

    @classmethod
    async def started(cls, command: Sequence[str], order: bytes, environment: Mapping[str, str]) -> Child:
        """Start a process and send it its order. Raises OSError when there is no such program."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=dict(environment),
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        child = cls(process)
        child._input.write(order)
        return child

    node = None
    """No name: the process runs on the service's machine."""
    lost = None
    """No reason: it is always known whether this process has ended."""
    free_at = 0.0
    """At once: when `end` has returned, the process is gone."""

    async def message(self) -> LiveStatus | PipePicture | None:
        """The next message, None at the end. Raises ValueError for data that are not a message."""
        return await self._streams.message()

    async def complaint(self) -> str | None:
        """The next line of its standard error, None at the end; a line that is too long is given as an empty text."""
        return await self._streams.complaint()

    def ask(self, kind: str) -> None:
        """Ask the process for a picture."""
        if not self._input.is_closing() and self._input.transport.get_write_buffer_size() < _MOST_UNREAD:
            self._input.write(kind.encode() + b"\n")

    async def end(self, grace: float, patience: float) -> int:
        """End the process: wait up to `grace` s, send SIGTERM, wait up to `patience` s, send SIGKILL.

        Returns the exit code (below 0: the number of a signal).
        """
        try:
            if await self._over(grace):
                return self._code()
            self._send(signal.SIGTERM)
            self._input.close()
            await self._over(patience)
        finally:
            self._send_group(signal.SIGKILL)  # also to all processes that it started, except its encoder
            self._input.close()
            await self._process.wait()
            with contextlib.suppress(OSError):
                await self._input.wait_closed()
        return self._code()

    async def _over(self, seconds: float) -> bool:
        if self._process.returncode is None and seconds > 0:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), seconds)
        return self._process.returncode is not None

    def _code(self) -> int:
        code = self._process.returncode
        assert code is not None
        return code

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _send_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


class ThisMachine:
    """Starts the processes of cameras on the service's machine. command: the program and its arguments."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    def check(self, camera: Camera) -> None:
        """Accept every camera, because every camera can run here."""

    async def started(self, camera: Camera, key: bytes | None, environment: Mapping[str, str]) -> Child:
        """Start the process of a camera. Raises OSError when there is no such program."""
        return await Child.started(self._command, order_line(camera, key), environment)
