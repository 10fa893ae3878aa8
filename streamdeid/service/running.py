"""Protocols for a camera's process that runs on any machine, and for a place that starts such processes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from streamdeid.core.status import LiveStatus
from streamdeid.service.camera import Camera
from streamdeid.service.pipe_messages import PipePicture, read_message


class Running(Protocol):
    """A camera's process, like `child.Child` and `placed_child.PlacedChild`."""

    @property
    def node(self) -> str | None:
        """The name of the machine that the process runs on; None: the service's machine."""

    @property
    def lost(self) -> str | None:
        """Why it is not known whether the process has ended, or None."""

    @property
    def free_at(self) -> float:
        """The time (`time.monotonic`) from which another process may use its output, once `end` has returned."""

    async def message(self) -> LiveStatus | PipePicture | None:
        """The next message, None at the end. Raises ValueError for data that are not a message."""

    async def complaint(self) -> str | None:
        """The next line of its standard error, None at the end."""

    def ask(self, kind: str) -> None:
        """Ask the process for a picture."""

    async def end(self, grace: float, patience: float) -> int:
        """End the process: wait up to `grace` s, send SIGTERM, wait up to `patience` s, send SIGKILL.

        Returns the exit code (below 0: the number of a signal).
        """


class RunningPlace(Protocol):
    """A place where processes start: this machine (`child.ThisMachine`) or a cluster (`placed_child.ClusterPlace`)."""

    def check(self, camera: Camera) -> None:
        """Raise SettingsError for a camera that cannot run there."""

    async def started(self, camera: Camera, key: bytes | None, environment: Mapping[str, str]) -> Running:
        """Start the process of a camera when there is room for it. Raises OSError and StreamdeidError.

        environment: of the process, where it runs on the service's machine. When this call is cancelled, no process is
        left behind.
        """


@dataclass(frozen=True)
class Streams:
    """The two streams in which a process's messages and complaints arrive."""

    output: asyncio.StreamReader
    errors: asyncio.StreamReader

    async def message(self) -> LiveStatus | PipePicture | None:
        """The next message, None at the end. Raises ValueError for data that are not a message."""
        try:
            return await read_message(self.output)
        except asyncio.IncompleteReadError:
            return None

    async def complaint(self) -> str | None:
        """The next line of its standard error, None at the end; a line that is too long is given as an empty text."""
        try:
            line = await self.errors.readline()
        except ValueError:
            return ""
        return line.decode("utf-8", "replace").strip() if line else None
