"""The service: runs the cameras of a file, which can be reloaded; handles signals, systemd and HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from streamdeid.core import shown_text
from streamdeid.core.addresses import scrubbed
from streamdeid.core.child_process import child_environment
from streamdeid.errors import FailedClosed, SettingsError
from streamdeid.runs.turns import FOLDER, folder_of_turns
from streamdeid.service.app import app_of
from streamdeid.service.camera import Camera
from streamdeid.service.cameras_file import CamerasFile, read_cameras
from streamdeid.service.child import ThisMachine
from streamdeid.service.notify import VARIABLES, Notify
from streamdeid.service.relay import COMMAND
from streamdeid.service.running import RunningPlace
from streamdeid.service.supervised_camera import SupervisedCamera
from streamdeid.service.web_server import WebServer
from streamdeid.surrogates.key import new_key

_STOP = 4.8
"""Seconds after which the service ends, even if its cameras have not ended."""
_STATUS_EVERY = 5.0


class Supervisor:
    """Runs the cameras of a file until a signal.

    file: see `cameras_file`. command: starts a camera's process. environment: for `${NAME}` and systemd's socket.
    place: where processes are started; None: on the service's machine, by `command`. Raises SettingsError.
    """

    def __init__(
        self,
        file: Path,
        command: Sequence[str] = COMMAND,
        environment: Mapping[str, str] = os.environ,
        place: RunningPlace | None = None,
    ) -> None:
        self._path, self._environment = file, environment
        self._place = ThisMachine(command) if place is None else place
        self._file = self._read()
        self._notify = Notify(environment)
        self._keys: dict[str, bytes] = {}
        self._variables: set[str] = set()
        self.cameras: dict[str, SupervisedCamera] = {}
        """The cameras by name, in the order of the file."""
        self.begun = time.time()
        """The time when this object was made, seconds since 1970."""
        self.reloads = {"done": 0, "refused": 0}
        """How often the file was read again, by result."""
        self._tasks: dict[asyncio.Task[None], SupervisedCamera] = {}
        self._signal: asyncio.Future[int] | None = None
        self._turns: Path | None = None

    async def run(self) -> int:
        """Run until SIGTERM or SIGINT and return the signal's number. Raises SettingsError when HTTP cannot listen."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()
        self._signal = ended
        with contextlib.ExitStack() as safe:
            self._turns = safe.enter_context(folder_of_turns())
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._stop_for, number)
                safe.callback(loop.remove_signal_handler, number)
            http = self._file.http
            server = None if http is None else WebServer(http, lambda over: app_of(self, http, over))
            loop.add_signal_handler(signal.SIGHUP, self.reload)
            safe.callback(loop.remove_signal_handler, signal.SIGHUP)
            for line in self._file.warnings:
                say(line)
            web = None if server is None else asyncio.create_task(server.run())
            try:
                self._take_up(self._file)
                if server is not None and web is not None:
                    await server.started(web)
                    say(f"listening on {server.address}")
                self._notify.ready(self._summary())
                await self._watch(ended, web)
            finally:
                self._notify.stopping()
                if server is not None:
                    server.stop()  # together with the cameras: a client that reads nothing delays this by a second
                await self._end()
                if web is not None:
                    await asyncio.wait([web], timeout=0.1)
                    web.cancel()
            return ended.result()

    def reload(self) -> None:
        """Read the file again; cameras that did not change continue. A file with an error changes nothing."""
        self._notify.reloading()
        try:
            file = self._read()
        except SettingsError as error:
            self.reloads["refused"] += 1
            say(f"not reloaded: {error}")
        else:
            self.reloads["done"] += 1
            if file.http != self._file.http:
                say("a change of [http] needs a restart; the cameras are reloaded")
            for line in file.warnings:
                say(line)
            self._take_up(file)
            say(f"reloaded {self._path}: {self._summary()}")
        self._notify.ready(self._summary())

    def _read(self) -> CamerasFile:
        file = read_cameras(self._path, self._environment)
        for camera in file.cameras:
            self._place.check(camera)
        return file

    def _take_up(self, file: CamerasFile) -> None:
        """Stop cameras that were removed or changed or have failed, and start cameras that are new or stopped."""
        wanted = {camera.name: camera for camera in file.cameras}
        for name, old in list(self.cameras.items()):
            if name not in wanted or wanted[name].table != old.camera.table or old.failed:
                old.stop()
        stopping = [task for task, camera in self._tasks.items() if camera.stopped and not task.done()]
        kept = {name: camera for name, camera in self.cameras.items() if not camera.stopped}
        groups = {camera.group for camera in file.cameras if camera.group is not None}
        self._keys = {group: self._keys.get(group) or new_key() for group in groups}
        environment = self._child_environment(file)
        cameras: dict[str, SupervisedCamera] = {}
        for name, camera in wanted.items():
            if name in kept:
                cameras[name] = kept[name]
                continue
            before = self.cameras.get(name)
            start = partial(self._place.started, camera, self._key(camera), environment)
            new = SupervisedCamera(camera, start, say, before)
            self._tasks[asyncio.create_task(new.run(stopping), name=name)] = new
            cameras[name] = new
        self.cameras, self._file = cameras, CamerasFile(file.cameras, self._file.http)

    def _key(self, camera: Camera) -> bytes | None:
        return None if camera.group is None else self._keys[camera.group]

    def _child_environment(self, file: CamerasFile) -> dict[str, str]:
        """The environment of camera processes, without passwords and without systemd's variables."""
        self._variables |= file.variables  # a variable that the file no longer uses may still hold a password
        left_out = {*self._variables, *VARIABLES}
        kept = {name: value for name, value in self._environment.items() if name not in left_out}
        return child_environment(kept if self._turns is None else {**kept, FOLDER: str(self._turns)})

    async def _watch(self, ended: asyncio.Future[int], web: asyncio.Task[None] | None) -> None:
        """Tell systemd that the service works, until a signal. Raises FailedClosed when a part of it has failed."""
        interval = min(self._notify.interval or _STATUS_EVERY, _STATUS_EVERY)
        while not ended.done():
            watched: set[asyncio.Future[Any]] = {ended, *self._tasks, *([web] if web is not None else [])}
            await asyncio.wait(watched, timeout=interval, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in self._tasks if task.done()]:
                camera = self._tasks.pop(task)
                if task.exception() is not None or not camera.stopped:
                    raise FailedClosed(f"nobody looks after the camera {camera.camera.name}") from task.exception()
            if web is not None and web.done() and not ended.done():
                raise FailedClosed("the HTTP server ended") from web.exception()
            if self._notify.interval is not None:
                self._notify.alive()
            self._notify.status(self._summary())

    async def _end(self) -> None:
        for camera in self._tasks.values():
            camera.stop()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_STOP)
            for task in late:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _stop_for(self, number: int) -> None:
        if self._signal is not None and not self._signal.done():
            self._signal.set_result(number)

    def _summary(self) -> str:
        live = sum(camera.report().state == "live" for camera in self.cameras.values())
        return f"{live} of {len(self.cameras)} cameras live"


def say(line: str) -> None:
    """Show a line to the user, without passwords."""
    with contextlib.suppress(OSError):
        shown_text.say(f"streamdeid: {scrubbed(line)}", to=sys.stderr)
