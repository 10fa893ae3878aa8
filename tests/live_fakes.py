"""A camera, a receiver and filter parts for tests of the live loop: what they do is what a test tells them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.core.status import Arrival, SinkState, SourceState
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.runs.step import Step

SIZE = (64, 48)


def planes(value: int, size: tuple[int, int] = SIZE) -> Planes:
    """A grey picture."""
    width, height = size
    half = np.full((height // 2, width // 2), 128, np.uint8)
    return Planes(np.full((height, width), value, np.uint8), half, half.copy())


class FakeTime:
    """`time.monotonic`, and what a test adds to it; in the place of a module's `time`."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return time.monotonic() + self.ahead


class FakeCamera:
    """Hands out what it is given; `ends` when that is used up, or waits for more."""

    def __init__(self, *, ends: bool = False) -> None:
        self.waiting: deque[Arrival] = deque()
        self.told = SourceState(connected=True, connections=1)
        self.ends, self.closed, self.count = ends, 0, 0
        self.error: Exception | None = None

    def give(self, value: int = 100, *, connection: int = 1, size: tuple[int, int] = SIZE) -> None:
        """One picture more."""
        frame = Frame(planes(value, size), Fraction(self.count, 25), self.count)
        self.waiting.append(Arrival(frame, time.monotonic(), connection, 25.0))
        self.count += 1

    @property
    def ended(self) -> bool:
        return self.ends and not self.waiting

    def start(self) -> None:
        """Nothing to start."""

    def take(self, timeout: float) -> Arrival | None:
        """The next one."""
        if self.error is not None:
            raise self.error
        if self.waiting:
            return self.waiting.popleft()
        time.sleep(min(timeout, 0.01))
        return None

    def state(self) -> SourceState:
        return replace(self.told, frames=self.count)

    def close(self) -> None:
        self.closed += 1


class FakeReceiver:
    """Keeps what leaves."""

    def __init__(self) -> None:
        self.frames: list[DeidentifiedFrame] = []
        self.at: list[float] = []
        self.latencies: list[float] = []
        self.error: Exception | None = None
        self.told = SinkState(connected=True, openings=1)
        self.closed = 0

    def write(self, frame: DeidentifiedFrame, rate: float, arrived: float | None = None) -> None:
        """Keep it, or raise what the test wants."""
        if self.error is not None:
            raise self.error
        self.frames.append(frame)
        self.at.append(time.monotonic())
        if arrived is not None:
            self.latencies.append(time.monotonic() - arrived)

    def take_latencies(self) -> list[float]:
        taken, self.latencies = self.latencies, []
        return taken

    def state(self) -> SinkState:
        return self.told

    def close(self) -> None:
        self.closed += 1


class FakeParts:
    """Parts that cover nothing; `fails` is asked with each frame and may raise."""

    def __init__(self, fails: Callable[[Frame], None] = lambda frame: None) -> None:
        self.built: list[tuple[tuple[int, int], Any]] = []
        self.doubted: list[bool] = []
        """What was said with each."""
        self.fails = fails
        self.error: Exception | None = None

    def __call__(self, size: tuple[int, int], rate: Fraction, earlier: Any, /, *, doubted: bool) -> Any:
        if self.error is not None:
            raise self.error
        mask = MaskFaces("blackout")

        def detect(frame: Frame) -> Sequence[Any]:
            self.fails(frame)
            return []

        tracker = SimpleNamespace(update=lambda faces, time: [])
        stream = SimpleNamespace(step=lambda: Step(detect, tracker, mask), known_people=None)
        self.built.append((size, earlier))
        self.doubted.append(doubted)
        return stream
