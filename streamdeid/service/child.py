"""A running camera process as the service sees it: messages, complaints, wishes, and its end in any case."""

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
"""Bytes of wishes that a process may leave unread; after them nothing more is asked."""


class Child:
    """One process in a session of its own. Its encoder has another, and ends by itself when this one is gone."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process, self._input = process, process.stdin
        self._streams = Streams(process.stdout, process.stderr)

    @classmethod
    async def started(cls, command: Sequence[str], order: bytes, environment: Mapping[str, str]) -> Child:
        """Start a process and tell it what it is to do. Raises OSError when there is no such program."""
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
    """It runs beside the service."""
    lost = None
    """What became of it can always be said."""
    free_at = 0.0
    """When `end` has returned, it is gone."""

    async def message(self) -> LiveStatus | PipePicture | None:
        """The next message, None at the end. Raises ValueError for anything that is none."""
        return await self._streams.message()

    async def complaint(self) -> str | None:
        """The next line on its standard error, None at the end; one that is far too long is cut out."""
        return await self._streams.complaint()

    def ask(self, kind: str) -> None:
        """Wish for a picture."""
        if not self._input.is_closing() and self._input.transport.get_write_buffer_size() < _MOST_UNREAD:
            self._input.write(kind.encode() + b"\n")

    async def end(self, grace: float, patience: float) -> int:
        """Its exit code (below 0: a signal's) after up to `grace` s of waiting, SIGTERM, `patience` s, and SIGKILL."""
        try:
            if await self._over(grace):
                return self._code()
            self._send(signal.SIGTERM)
            self._input.close()
            await self._over(patience)
        finally:
            self._send_group(signal.SIGKILL)  # and whatever it started that is not its encoder
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
    """Starts the processes of cameras beside the service. command: the program and its arguments."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    def check(self, camera: Camera) -> None:
        """Every camera can run here."""

    async def started(self, camera: Camera, key: bytes | None, environment: Mapping[str, str]) -> Child:
        """Start the process of a camera. Raises OSError when there is no such program."""
        return await Child.started(self._command, order_line(camera, key), environment)
