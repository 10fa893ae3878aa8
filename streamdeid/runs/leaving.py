"""Sends the frames of a live run: a fresh filtered frame, the last one again, or a placeholder.

A thread watches the age of the last fresh frame. Without a fresh frame, the last filtered frame is repeated for at most
`repeat` seconds, and then a placeholder is sent. So whatever delays the filter, viewers do not see an old picture for
long, and the receiver's connection stays alive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from fractions import Fraction
from typing import Protocol

from streamdeid.core.frames import Colour, DeidentifiedFrame
from streamdeid.core.status import SinkState
from streamdeid.errors import FailedClosed
from streamdeid.protect.placeholders import again, placeholder

_TICK = 0.1
"""Seconds between checks of the age of the last frame."""
_SILENCE, _INTERVALS = 0.3, 3
"""Seconds, and frame intervals, without a fresh frame after which the last one is repeated."""
_STAND_IN_RATE = 5
"""Repeated frames and placeholders per second."""
_LEAVE = 2.0
"""Seconds that `close` waits for the thread at most."""
_FIRST_SIZE = (640, 480)
"""Size (width, height) of a placeholder before the first picture."""


class ClosableOutput(Protocol):
    """An output for frames that can be closed, as `video.live.sink.LiveSink`.

    A live run repeats frames and sends placeholders, so `frame.index` and `frame.time` may come again.
    """

    def write(self, frame: DeidentifiedFrame, rate: float, arrived: float | None = None) -> None:
        """Hand over a frame and return at once. rate: frames per second, a hint. arrived: `time.monotonic` when its
        data arrived. Raises FailedClosed for a raw frame, and OutputError, once, when the output failed for good."""
        ...

    def take_latencies(self) -> list[float]:
        """Seconds from `arrived` to the end of sending, of the frames sent since the last call."""
        ...

    def state(self) -> SinkState:
        """The present state of the output. Any thread may call this."""
        ...

    def close(self) -> None:
        """Send the frames that wait and finish the output; it may be called again. Raises OutputError that no `write`
        has raised."""
        ...


class Leaving:
    """Passes fresh frames on, and repeats frames or sends placeholders while there are none. Close it at the end.

    reason: says why there is no fresh frame, in a line without passwords; called when a placeholder is needed. repeat:
    seconds. early: whether a placeholder leaves even before the first frame. watch: called with every frame that
    leaves, in the thread from which it leaves.
    """

    def __init__(
        self,
        output: ClosableOutput,
        reason: Callable[[], str],
        *,
        repeat: float,
        early: bool = False,
        watch: Callable[[DeidentifiedFrame], None] | None = None,
    ) -> None:
        self.repeated = self.placeholders = 0
        """How often a frame left again, and how often a placeholder left."""
        self.failed: BaseException | None = None
        """The error that the output raised in the thread; the next `fresh` or `check` raises it."""
        self._output, self._reason, self._repeat, self._early, self._watch = output, reason, repeat, early, watch
        self._lock = threading.Lock()
        self._last: DeidentifiedFrame | None = None
        self._rate = 25.0
        self._shift = Fraction(0)
        """Seconds to add to the times of frames, since placeholders left before the first frame."""
        self._left = self._stood_in = time.monotonic()
        self._since = datetime.now(timezone.utc)
        self._placeholder: tuple[tuple[object, ...], DeidentifiedFrame] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch_age, name="leaving", daemon=True)
        self._thread.start()

    @property
    def age(self) -> float | None:
        """Seconds since a fresh frame left; None when no fresh frame has left yet."""
        return None if self._last is None else time.monotonic() - self._left

    @property
    def silence(self) -> float:
        """Seconds without a fresh frame after which something is wrong."""
        return max(_SILENCE, min(_INTERVALS / self._rate, self._repeat))

    def fresh(self, frame: DeidentifiedFrame, rate: float, arrived: float) -> None:
        """Let a filtered frame leave. rate: frames per second; arrived: `time.monotonic` when its data came.

        Raises FailedClosed for anything but a DeidentifiedFrame, and what the output raised.
        """
        if not isinstance(frame, DeidentifiedFrame):
            raise FailedClosed(f"a {type(frame).__name__} was about to leave; only de-identified frames may")
        self.check()
        with self._lock:
            now = time.monotonic()
            if self._last is None and self.placeholders:
                self._shift = self._time(None, now - self._left) - frame.time
            if self._shift:
                frame = again(frame, frame.time + self._shift)
            self._output.write(frame, rate, arrived)
            self._last, self._rate, self._left = frame, max(rate, 1.0), now
            self._since = datetime.now(timezone.utc)
        if self._watch is not None:
            self._watch(frame)

    def check(self) -> None:
        """Raise what the output raised in the thread, if it did."""
        if self.failed is not None:
            raise self.failed

    def close(self) -> None:
        """Stop the thread. The output stays open."""
        self._over.set()
        self._thread.join(_LEAVE)

    def _watch_age(self) -> None:
        try:
            while not self._over.wait(_TICK):
                frame = self._stand_in()
                if frame is not None and self._watch is not None:
                    self._watch(frame)
        except BaseException as error:  # raised again in the filter's thread
            self.failed = error

    def _stand_in(self) -> DeidentifiedFrame | None:
        with self._lock:
            now = time.monotonic()
            last, age = self._last, now - self._left
            if age < self.silence or now - self._stood_in < 1 / _STAND_IN_RATE or (last is None and not self._early):
                return None
            if age > self._repeat:
                frame = again(self._drawn(last), self._time(last, age))
                self.placeholders += 1
            elif last is not None:
                frame = again(last, self._time(last, age))
                self.repeated += 1
            else:
                return None
            self._stood_in = now
            self._output.write(frame, self._rate)
            return frame

    def _time(self, last: DeidentifiedFrame | None, age: float) -> Fraction:
        return (Fraction(0) if last is None else last.time) + Fraction(age).limit_denominator(90000)

    def _drawn(self, last: DeidentifiedFrame | None) -> DeidentifiedFrame:
        """The placeholder for this moment; it is made anew only when its text, size, colour or aspect changes."""
        size = _FIRST_SIZE if last is None else last.planes.size
        colour = Colour() if last is None else last.planes.colour
        aspect = None if last is None else last.aspect
        says = size, colour, self._reason(), self._since, aspect
        if self._placeholder is None or self._placeholder[0] != says:
            lines = [says[2], f"since {self._since:%H:%M:%S} UTC"]
            index = 0 if last is None else last.index
            self._placeholder = says, placeholder(size, "NO PICTURE", lines, Fraction(0), index, colour, aspect)
        return self._placeholder[1]
