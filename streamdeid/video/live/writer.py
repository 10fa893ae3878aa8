"""The thread of a live sink: feeds the encoder process, watches it, and starts a new one when it hangs or fails.

The thread is one loop over `poll`; it never waits longer than to the nearest deadline, and it owns all processes that
it starts.
"""

from __future__ import annotations

import enum
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from streamdeid.core.frames import Colour
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import OutputError
from streamdeid.video.live.backoff import Backoff
from streamdeid.video.live.encoder.child import EncoderProcesses
from streamdeid.video.live.encoder.pipe import (
    CLOCK,
    ENDED,
    FAILED,
    OPENED,
    READY,
    TAKEN,
    WRONG_PASSWORD,
    EncoderOpening,
    Reply,
    end_command,
    frame_command,
    open_command,
)
from streamdeid.video.live.send_queue import SendQueue, Waiting

_IN_FLIGHT = 2
"""Most frames that the process has at once: one is encoded while the next is being transferred."""
_START_TIMEOUT = 20.0
_FILE_CHECK = 2.0
_REAP_PAUSE = 0.05
_MOST_FAILURES = 50
"""Most failed openings of one process, so that FFmpeg's memory leaks cannot add up over days."""


class Phase(enum.Enum):
    """The state of the encoder process."""

    STARTING = "starting"
    IDLE = "idle"
    OPENING = "opening"
    OPEN = "open"
    ENDING = "ending"


@dataclass(frozen=True)
class WriterPlan:
    """Settings and callbacks that the writer gets from its sink."""

    name: str
    """The name of the output in messages."""
    stdout: bool
    """Whether the output is standard output: it cannot be opened twice, has one size, and may pause without limit."""
    endless: bool
    """Whether the first opening is tried again after a failure."""
    open_timeout: float
    send_timeout: float
    rotate: float | None
    opening: Callable[[Waiting], EncoderOpening]
    """Gives the next opening, for the frame that will be its first. Raises OSError and OutputError."""
    opened: Callable[[], Path | None]
    """Called after an opening; returns the file, for which a new one is opened if it disappears."""


class LiveWriter:
    """Runs in a thread of its own until the queue closes or the output fails for good."""

    def __init__(self, queue: SendQueue, plan: WriterPlan) -> None:
        self._queue, self._plan = queue, plan
        self.processes = EncoderProcesses(media_on_stdout=plan.stdout)
        self._phase, self._since = Phase.STARTING, 0.0
        self._in_flight: deque[tuple[int, Waiting]] = deque()
        self._number = 0
        self._ever = False
        self._next_spawn = self._next_attempt = self._attempted = 0.0
        self._opened: float | None = None
        self._backoff = Backoff()
        self._failures = 0
        self._first: Waiting | None = None
        self._file: Path | None = None
        self._file_checked = 0.0
        self._over = False
        self._dying = False
        self._ended_well = False

    def run(self) -> None:
        """Run the loop of the thread."""
        try:
            while not self._over and not self._queue.failed:
                now = time.monotonic()
                self._step(now)
                if not self._over:
                    self._wait(now)
        except Exception as error:
            self._queue.fail(OutputError(f"{self._plan.name} cannot be written: {type(error).__name__} in its thread"))
            raise
        finally:
            self._release()

    @property
    def ended_well(self) -> bool:
        """Whether the last output was finished in order."""
        return self._ended_well

    def _step(self, now: float) -> None:
        self._dying = self.processes.reap()
        closing = self._queue.closing
        if closing is not None and now >= closing:
            self._over = True
        elif self.processes.current is None:
            if closing is not None and (self._ever or self._queue.state().reason is not None):
                self._over = True
            elif now >= self._next_spawn:
                self._spawn(now)
        elif self._phase is Phase.STARTING and now - self._since > _START_TIMEOUT:
            self._lose(now, "the encoder process does not start")
        elif self._phase is Phase.IDLE:
            self._idle(now, closing is not None)
        elif self._phase is Phase.OPENING and now - self._since > self._plan.open_timeout:
            self._lose(now, f"no answer within {self._plan.open_timeout:g} s")
        elif self._phase is Phase.OPEN:
            self._feed(now, closing is not None)
        elif self._phase is Phase.ENDING and now - self._since > self._plan.send_timeout and not self._plan.stdout:
            self._lose(now, f"it could not be finished within {self._plan.send_timeout:g} s")

    def _spawn(self, now: float) -> None:
        self._next_spawn = now + 1.0
        try:
            self.processes.start()
        except OSError as error:
            self._fail(now, f"the encoder process cannot be started: {system_reason(error, 'no reason')}")
            return
        self._enter(Phase.STARTING, now)
        self._failures = 0

    def _idle(self, now: float, closing: bool) -> None:
        item = self._queue.oldest()
        if item is None or (closing and self._queue.state().reason is not None):
            self._over = closing
        elif now >= self._next_attempt:
            assert self.processes.current is not None
            self._attempted = now
            try:
                opening = self._plan.opening(item)
            except OSError as error:
                self._fail(now, system_reason(error, "the file system refused"))
                return
            self._first = item
            self.processes.current.send(open_command(opening))
            self._enter(Phase.OPENING, now)

    def _feed(self, now: float, closing: bool) -> None:
        assert self.processes.current is not None
        if self._in_flight and now - self._since > self._plan.send_timeout:
            reason = f"it took nothing for {self._plan.send_timeout:g} s"
            if not self._plan.stdout:
                self._lose(now, reason)
                return
            self._queue.lost(reason)  # until the reader takes data again
        while not self.processes.current.sending and len(self._in_flight) < _IN_FLIGHT:
            item = self._queue.oldest()
            if self._is_next(item, now) if item is not None else closing:
                if not self._in_flight:
                    self.processes.current.send(end_command())
                    self._enter(Phase.ENDING, now)
                return
            if item is None:
                return
            if not self._queue.take(item):
                continue
            if not self._in_flight:
                self._since = now
            self._number += 1
            self._in_flight.append((self._number, item))
            self.processes.current.send(frame_command(self._number, round(item.frame.time * CLOCK), item.frame.planes))

    def _is_next(self, item: Waiting, now: float) -> bool:
        """Whether a frame needs a new opening of the output."""
        first = self._first
        if self._plan.stdout or first is None:
            return False
        if _shape(first) != _shape(item):
            return True
        if self._plan.rotate is not None and item.frame.time - first.frame.time >= self._plan.rotate:
            return True
        if self._file is not None and now - self._file_checked > _FILE_CHECK:
            self._file_checked = now
            return not self._file.exists()
        return False

    def _wait(self, now: float) -> None:
        poll = select.poll()
        poll.register(self._queue.bell, select.POLLIN)
        child = self.processes.current
        if child is not None:
            poll.register(child.from_child, select.POLLIN)
            if child.sending:
                poll.register(child.to_child, select.POLLOUT)
        handles = {handle for handle, _ in poll.poll(1000 * self._patience(now))}
        if self._queue.bell in handles:
            self._queue.answer()
        if child is not None and handles:
            child.pump()
            now = time.monotonic()
            for reply in child.replies():
                if child is self.processes.current:
                    self._hear(reply, now)
            if child.gone and child is self.processes.current:
                self._lose(now, "the encoder process ended")

    def _patience(self, now: float) -> float:
        """Seconds until the next step is due even if no event comes."""
        times = [now + 0.5]
        if self._dying:
            times.append(now + 0.02)
        if self.processes.current is None:
            times.append(self._next_spawn)
        elif self._phase is Phase.IDLE and self._queue.oldest() is not None:
            times.append(self._next_attempt)
        elif self._phase is Phase.OPENING:
            times.append(self._since + self._plan.open_timeout)
        elif self._phase is Phase.OPEN and self._in_flight and not self._plan.stdout:
            times.append(self._since + self._plan.send_timeout)
        if (closing := self._queue.closing) is not None:
            times.append(closing)
        return max(0.0, min(times) - now) + 0.001

    def _hear(self, reply: Reply, now: float) -> None:
        if reply.kind == READY:
            self._enter(Phase.IDLE, now)
        elif reply.kind == OPENED:
            self._ever = True
            self._failures = 0
            self._opened = now
            self._queue.opened()
            self._file, self._file_checked = self._plan.opened(), now
            self._enter(Phase.OPEN, now)
        elif reply.kind == TAKEN:
            while self._in_flight and self._in_flight[0][0] <= reply.number:
                self._queue.sent(self._in_flight.popleft()[1])
            self._since = now
        elif reply.kind == ENDED:
            self._ended_well = True
            self._opened, self._next_attempt = None, now
            self._enter(Phase.IDLE, now)
            if self._queue.closing is not None:
                self._over = self._queue.oldest() is None
        elif reply.kind == FAILED and self._phase is Phase.OPENING and self._failures < _MOST_FAILURES:
            self._failures += 1
            self._enter(Phase.IDLE, now)
            self._fail(now, reply.text)
        elif reply.kind == FAILED:
            self._lose(now, reply.text)

    def _enter(self, phase: Phase, now: float) -> None:
        self._phase, self._since = phase, now
        if phase is Phase.OPEN:
            self._ended_well = False

    def _lose(self, now: float, reason: str) -> None:
        """Kill the process, which is useless now, and note the reason."""
        if self._phase is not Phase.STARTING:
            self._next_spawn = now
        self.processes.discard()
        self._fail(now, reason)

    def _fail(self, now: float, reason: str) -> None:
        pictures = 0.0 if self._opened is None else now - self._opened
        self._opened = None
        wait = self._backoff.after(now - self._attempted, pictures=pictures, refused=reason == WRONG_PASSWORD)
        self._next_attempt = now + wait
        self._queue.lost(reason, len(self._in_flight))
        self._in_flight.clear()
        if self._plan.stdout or not (self._ever or self._plan.endless):
            self._queue.fail(OutputError(f"{self._plan.name} cannot be written: {reason}"))

    def _release(self) -> None:
        """End every process, in an orderly way where there is time, and wait for each."""
        closing = self._queue.closing
        orderly = self._phase is Phase.IDLE and closing is not None
        self.processes.release(max(0.2, closing - time.monotonic()) if orderly and closing is not None else 0.0)
        self._queue.lost(self._queue.state().reason, len(self._in_flight))
        self._in_flight.clear()
        self._queue.release()
        while self.processes.reap():  # this takes a while on a busy machine; `close` waits some seconds for it
            time.sleep(_REAP_PAUSE)


def _shape(item: Waiting) -> tuple[tuple[int, int], Colour, Fraction | None]:
    return item.frame.planes.size, item.frame.planes.colour, item.frame.aspect
