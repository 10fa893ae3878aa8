"""The send queue, shared by a live sink's thread and its callers: waiting frames, counts, and the end of the sink.

The thread of a sink does this, as long as `failed` is false; an OutputError goes to `fail`:

    while queue.closing is None or queue.oldest() is not None:      # at the end, what waits is sent, until `closing`
        select.select([queue.bell], [], [])                         # with a deadline of the sink's own
        queue.answer()
        while (item := queue.oldest()) is not None:
            if queue.take(item):                                    # else a newer one took its place
                send(item.frame)                                    # with a deadline, too
                queue.sent(item)
    queue.release()
"""

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
"""Most frames that wait; more frames would only add delay."""
_MOST_LATENCIES = 10_000


@dataclass(frozen=True)
class Waiting:
    """A frame that waits to be sent, with its rate (frames per second) and the time its data arrived."""

    frame: DeidentifiedFrame
    rate: float
    arrived: float | None


class SendQueue:
    """Holds the two newest filtered frames and the sink's state. Every call returns at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Waiting] = deque()
        self._state = SinkState()
        self._latencies: deque[float] = deque(maxlen=_MOST_LATENCIES)
        self._error: OutputError | None = None
        self._raised = False
        self._closing: float | None = None
        self.bell, self._rope = os.pipe()
        """A handle that can be read when a frame was put in or the end was asked for."""
        os.set_blocking(self.bell, False)
        os.set_blocking(self._rope, False)
        self._released = False

    def put(self, item: Waiting) -> None:
        """Add a frame; the oldest waiting frame is dropped when there is no room. Raises OutputError after the end."""
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
        """The frame that waits longest; it stays in the queue."""
        with self._lock:
            return self._waiting[0] if self._waiting else None

    def take(self, expected: Waiting) -> bool:
        """Take this frame out of the queue; False when it was dropped for a newer one."""
        with self._lock:
            if not self._waiting or self._waiting[0] is not expected:
                return False
            self._waiting.popleft()
            return True

    def answer(self) -> None:
        """Empty the bell's pipe, so that the bell cannot be read until the next change."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.bell, 4096):
                pass

    def close(self, deadline: float) -> None:
        """Accept no more frames, and ask the sink to end by `deadline` (time.monotonic)."""
        with self._lock:
            if self._closing is None:
                self._closing = deadline
                self._ring()

    @property
    def closing(self) -> float | None:
        """The time by which the sink must have ended (time.monotonic); None before the end was asked for."""
        with self._lock:
            return self._closing

    def opened(self) -> None:
        """Note that the output was opened."""
        with self._lock:
            self._state = replace(self._state, connected=True, reason=None, openings=self._state.openings + 1)

    def lost(self, reason: str | None, unsent: int = 0) -> None:
        """Note that the output is not open, the reason, and how many frames were being sent."""
        with self._lock:
            self._state = replace(self._state, connected=False, reason=reason, unsent=self._state.unsent + unsent)

    def sent(self, item: Waiting) -> None:
        """Note that a frame was encoded and sent."""
        with self._lock:
            self._state = replace(self._state, connected=True, reason=None, written=self._state.written + 1)
            if item.arrived is not None:
                self._latencies.append(time.monotonic() - item.arrived)

    def fail(self, error: OutputError) -> None:
        """Note that the output has failed for good."""
        with self._lock:
            self._error = self._error or error
            self._state = replace(self._state, unsent=self._state.unsent + len(self._waiting))
            self._waiting.clear()

    @property
    def failed(self) -> bool:
        """Whether the output has failed for good."""
        with self._lock:
            return self._error is not None

    def state(self) -> SinkState:
        """The present state of the sink."""
        with self._lock:
            return self._state

    def latencies(self) -> list[float]:
        """Seconds from arrival to the end of sending, of each frame sent since the last call."""
        with self._lock:
            found = list(self._latencies)
            self._latencies.clear()
            return found

    def release(self) -> None:
        """Close the handles; frames that still wait count as not sent."""
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
        """Raise the final error once, if no `put` has raised it."""
        with self._lock:
            if self._error is not None and not self._raised:
                self._raised = True
                raise self._error

    def _ring(self) -> None:
        if not self._released:
            with contextlib.suppress(BlockingIOError):
                os.write(self._rope, b".")
