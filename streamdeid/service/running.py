"""A camera's process that runs, wherever it does, and a place that starts some."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from streamdeid.core.status import LiveStatus
from streamdeid.service.camera import Camera
from streamdeid.service.pipe_messages import PipePicture, read_message


class Running(Protocol):
    """A process, as `child.Child` and `placed_child.PlacedChild`."""

    @property
    def node(self) -> str | None:
        """The name of its machine; None: the service's."""

    @property
    def lost(self) -> str | None:
        """Why nobody can say what became of it, or None."""

    @property
    def free_at(self) -> float:
        """The time of `time.monotonic` from when on another one may hold its output, once `end` has returned."""

    async def message(self) -> LiveStatus | PipePicture | None:
        """The next message, None at the end. Raises ValueError for anything that is none."""

    async def complaint(self) -> str | None:
        """The next line on its standard error, None at the end."""

    def ask(self, kind: str) -> None:
        """Wish for a picture."""

    async def end(self, grace: float, patience: float) -> int:
        """Its exit code (below 0: a signal's) after up to `grace` s of waiting, SIGTERM, `patience` s, and SIGKILL."""


class RunningPlace(Protocol):
    """Where processes are started: this machine (`child.ThisMachine`), or a cluster (`placed_child.ClusterPlace`)."""

    def check(self, camera: Camera) -> None:
        """Raise SettingsError for a camera that cannot run there."""

    async def started(self, camera: Camera, key: bytes | None, environment: Mapping[str, str]) -> Running:
        """Start the process of a camera, when there is room for it. Raises OSError and StreamdeidError.

        environment: of the process, where it runs beside the service. Cancelled, it leaves no process behind.
        """


@dataclass(frozen=True)
class Streams:
    """What a process says, as it comes."""

    output: asyncio.StreamReader
    errors: asyncio.StreamReader

    async def message(self) -> LiveStatus | PipePicture | None:
        """The next message, None at the end. Raises ValueError for anything that is none."""
        try:
            return await read_message(self.output)
        except asyncio.IncompleteReadError:
            return None

    async def complaint(self) -> str | None:
        """The next line on its standard error, None at the end; one that is far too long is cut out."""
        try:
            line = await self.errors.readline()
        except ValueError:
            return ""
        return line.decode("utf-8", "replace").strip() if line else None
