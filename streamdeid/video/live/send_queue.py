"""What a live sink's thread and its callers share: the frames that wait, the counts, and the end."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from dataclasses import dataclass, replace

from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.core.status import SinkState
from streamdeid.errors import OutputError

_DEPTH = 2
"""Frames that wait at most: more would be delay."""
_MOST_LATENCIES = 10_000


@dataclass(frozen=True)
class Waiting:
    """A frame on its way out."""

    frame: DeidentifiedFrame
    rate: float
    arrived: float | None


class SendQueue:
    """A queue of two filtered frames, newest kept, with the sink's state beside it. Every call returns at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Waiting] = deque()
        self._state = SinkState()
        self._latencies: deque[float] = deque(maxlen=_MOST_LATENCIES)
        self._error: OutputError | None = None
        self._raised = False
        self._closing: float | None = None
        self.bell, self._rope = os.pipe()
        """A handle that can be read when something was put in or the end was asked for."""
        os.set_blocking(self.bell, False)
        os.set_blocking(self._rope, False)
        self._released = False

    def put(self, item: Waiting) -> None:
        """Add a frame; the oldest one that waits makes room. Raises OutputError when it is over."""
        with self._lock:
            if self._error is not None:
                self._raised = True
                raise self._error
            if self._closing is not None:
                raise OutputError("the output is closed already")
            if len(self._waiting) >= _DEPTH:
                self._waiting.popleft()
                self._state = replace(self._state, unsent=self._state.unsent + 1)
            self._waiting.append(item)
            self._ring()

    def oldest(self) -> Waiting | None:
        """The frame that waits longest; it stays."""
        with self._lock:
            return self._waiting[0] if self._waiting else None

    def take(self, expected: Waiting) -> bool:
        """Take that frame out; False when it has had to make room for a newer one."""
        with self._lock:
            if not self._waiting or self._waiting[0] is not expected:
                return False
            self._waiting.popleft()
            return True

    def answer(self) -> None:
        """Silence the bell."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.bell, 4096):
                pass

    def close(self, deadline: float) -> None:
        """Take nothing more and end by then (time.monotonic)."""
        with self._lock:
            if self._closing is None:
                self._closing = deadline
                self._ring()

    @property
    def closing(self) -> float | None:
        """When it has to have ended, once that was asked for."""
        with self._lock:
            return self._closing

    def opened(self) -> None:
        """Note that the output was opened."""
        with self._lock:
            self._state = replace(self._state, connected=True, reason=None, openings=self._state.openings + 1)

    def lost(self, reason: str | None, unsent: int = 0) -> None:
        """Note that the output is not open, why, and how many frames were on their way."""
        with self._lock:
            self._state = replace(self._state, connected=False, reason=reason, unsent=self._state.unsent + unsent)

    def sent(self, item: Waiting) -> None:
        """Note that a frame was encoded and sent."""
        with self._lock:
            self._state = replace(self._state, connected=True, reason=None, written=self._state.written + 1)
            if item.arrived is not None:
                self._latencies.append(time.monotonic() - item.arrived)

    def fail(self, error: OutputError) -> None:
        """Note that it is over for good."""
        with self._lock:
            self._error = self._error or error
            self._state = replace(self._state, unsent=self._state.unsent + len(self._waiting))
            self._waiting.clear()

    @property
    def failed(self) -> bool:
        """Whether it is over for good."""
        with self._lock:
            return self._error is not None

    def state(self) -> SinkState:
        """How it is doing."""
        with self._lock:
            return self._state

    def latencies(self) -> list[float]:
        """Seconds from arrival to the end of sending, since last asked."""
        with self._lock:
            found = list(self._latencies)
            self._latencies.clear()
            return found

    def release(self) -> None:
        """Give the handles back; what still waits was not sent."""
        with self._lock:
            if self._released:
                return
            self._released = True
            self._state = replace(self._state, connected=False, unsent=self._state.unsent + len(self._waiting))
            self._waiting.clear()
            self._closing = self._closing or time.monotonic()
            os.close(self.bell)
            os.close(self._rope)

    def raise_unseen(self) -> None:
        """Raise the final error, once, if no `put` has."""
        with self._lock:
            if self._error is not None and not self._raised:
                self._raised = True
                raise self._error

    def _ring(self) -> None:
        if not self._released:
            with contextlib.suppress(BlockingIOError):
                os.write(self._rope, b".")
