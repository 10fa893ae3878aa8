"""What leaves a live run, at every moment: a fresh filtered frame, the last one again, or a placeholder.

A thread watches the age of what left last. Without a fresh frame the last filtered one is repeated for at most
`repeat` seconds, then comes a placeholder; so whatever holds the filter up, nobody sees an old picture for long, and
the receiver's connection stays alive.
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
"""Seconds between looks at the age of the last frame."""
_SILENCE, _INTERVALS = 0.3, 3
"""Seconds, and frame intervals, without a fresh frame after which the last one is repeated."""
_STAND_IN_RATE = 5
"""Repeated frames and placeholders per second."""
_LEAVE = 2.0
"""Seconds that `close` waits for the thread, whoever holds it up."""
_FIRST_SIZE = (640, 480)
"""Size of a placeholder before the first picture came."""


class ClosableOutput(Protocol):
    """Where frames go, as `video.live.sink.LiveSink`."""

    def write(self, frame: DeidentifiedFrame, rate: float, arrived: float | None = None) -> None: ...

    def take_latencies(self) -> list[float]: ...

    def state(self) -> SinkState: ...

    def close(self) -> None: ...


class Leaving:
    """Passes fresh frames on and stands in for them while there are none; see the module. Close it at the end.

    reason: why there is no fresh frame, asked when a placeholder is drawn; a line without passwords. repeat: seconds.
    early: whether a placeholder leaves even before the first frame. watch: called with every frame that leaves, in
    whatever thread it leaves from.
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
        """Times that a frame left again, and that a placeholder left."""
        self.failed: BaseException | None = None
        """What the output raised in the thread, to be raised by the next `fresh` or `check`."""
        self._output, self._reason, self._repeat, self._early, self._watch = output, reason, repeat, early, watch
        self._lock = threading.Lock()
        self._last: DeidentifiedFrame | None = None
        self._rate = 25.0
        self._shift = Fraction(0)
        """Seconds that placeholders lasted before the first frame, whose own time begins at 0."""
        self._left = self._stood_in = time.monotonic()
        self._since = datetime.now(timezone.utc)
        self._placeholder: tuple[tuple[object, ...], DeidentifiedFrame] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch_age, name="leaving", daemon=True)
        self._thread.start()

    @property
    def age(self) -> float | None:
        """Seconds since a fresh frame left; None when none ever did."""
        return None if self._last is None else time.monotonic() - self._left

    @property
    def silence(self) -> float:
        """Seconds without a fresh frame after which there is something wrong."""
        return max(_SILENCE, min(_INTERVALS / self._rate, self._repeat))

    def fresh(self, frame: DeidentifiedFrame, rate: float, arrived: float) -> None:
        """Let a filtered frame leave. rate: frames per second; arrived: `time.monotonic` when its data came.

        Raises FailedClosed for anything else, and what the output raised.
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
        """Stop standing in. The output stays open."""
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
        """The placeholder of the moment; drawn anew only when it says something else."""
        size = _FIRST_SIZE if last is None else last.planes.size
        colour = Colour() if last is None else last.planes.colour
        aspect = None if last is None else last.aspect
        says = size, colour, self._reason(), self._since, aspect
        if self._placeholder is None or self._placeholder[0] != says:
            lines = [says[2], f"since {self._since:%H:%M:%S} UTC"]
            index = 0 if last is None else last.index
            self._placeholder = says, placeholder(size, "NO PICTURE", lines, Fraction(0), index, colour, aspect)
        return self._placeholder[1]
