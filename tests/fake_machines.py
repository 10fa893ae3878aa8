"""Machines of a cluster that are threads of the test: they can be cut off, die, stand still, and have no room."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from concurrent import futures
from typing import Any

from streamdeid.service.placed_child import RelayLost
from streamdeid.service.relay import CameraRelay


class Machine:
    """One machine."""

    def __init__(self, name: str, places: int = 1) -> None:
        self.name, self.places = name, places
        self.deaf_to = ""
        """The name of a method whose answer gets lost, and the machine with it."""
        self.breaks = False
        """The next answer is nothing that anybody has heard of."""
        self.empty = False
        """It takes relays, and does nothing with them: nobody knows that it is gone."""
        self.cut = False
        """Nothing goes to it, and nothing comes from it; its cameras do not know that."""
        self.relays: list[CameraRelay] = []

    def die(self) -> None:
        """Be gone, with all that ran on it, without a word to anybody."""
        self.cut = True
        for relay in self.relays:
            kill(relay)


class Machines:
    """A cluster; called, it makes a relay on the first machine that has room, when one has."""

    def __init__(self, command: Sequence[str], *machines: Machine) -> None:
        self._command, self.machines = command, list(machines)
        self.made: list[Wire] = []

    def __call__(self) -> Wire:
        self.made.append(Wire(self._command, self.machines))
        return self.made[-1]


class Wire:
    """What the service has of a relay. Calls are made one after the other, as an actor of Ray's does."""

    def __init__(self, command: Sequence[str], machines: Sequence[Machine]) -> None:
        self._command, self._machines = command, machines
        self._line = futures.ThreadPoolExecutor(1)
        self._over = False
        self.machine: Machine | None = None
        self.relay: CameraRelay | None = None
        self.slow = 0.0
        """Seconds that the next call is under way."""

    def ask(self, name: str, *given: object) -> futures.Future[Any]:
        """Call a method."""
        return self._line.submit(self._call, name, given)

    def answer(self, asked: futures.Future[Any], timeout: float) -> Any:
        """What came of it."""
        try:
            told = asked.result(timeout)
            if self.machine is not None and self.machine.breaks:
                self.machine.breaks = False
                raise KeyError("rtsp://u:geheim@host/x")
            return told
        except futures.TimeoutError as error:
            raise TimeoutError from error

    def kill(self) -> None:
        """It is killed, where it can be reached."""
        self._over = True
        if self.machine is not None and self.relay is not None and not self.machine.cut:
            kill(self.relay)
            self.machine.relays.remove(self.relay)

    def _call(self, name: str, given: tuple[object, ...]) -> Any:
        while self.relay is None:
            for machine in tuple(self._machines):
                if machine.empty and not self._over:
                    machine.empty = False  # Ray spreads them: the next one goes elsewhere
                    self._machines = ()
                    break
                if len(machine.relays) < machine.places and not machine.cut and self.relay is None:
                    self.machine, self.relay = machine, CameraRelay(self._command)
                    machine.relays.append(self.relay)
            if self._over:
                raise RelayLost("it was killed before it began")
            time.sleep(0.01)
        assert self.machine is not None
        self._reached()
        time.sleep(self.slow)
        self.slow = 0.0
        told = getattr(self.relay, name)(*given)
        if name == self.machine.deaf_to:
            self.machine.cut = True
        self._reached()
        return self.machine.name if name == "hello" else told

    def _reached(self) -> None:
        while self.machine is not None and self.machine.cut:
            if self._over:
                raise RelayLost("it cannot be reached")
            time.sleep(0.01)


def kill(relay: CameraRelay) -> None:
    """As a machine's death does."""
    if relay._process is not None and relay._process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(relay._process.pid, signal.SIGKILL)
        relay._process.wait()
