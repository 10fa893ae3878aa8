"""For how long a camera on another machine may go on without the service, and when another may take its place.

Two processes that publish one output are the worst case, so a camera holds a lease, which the service renews by asking
for messages. When machine and service lose sight of each other, both count: the machine ends the camera when the lease
is over, and the service starts it elsewhere only when that has certainly happened.

The two clocks know nothing of each other, and a question may be under way for any time. So a question does not renew
the lease from its arrival, but from the answer before it: the service had that answer when it asked, so it asked later.
Counted from its last question, the service therefore never counts less than the machine does.

Nothing here looks at a clock: times are handed in, in seconds of `time.monotonic`, which on one machine is the same in
all processes.
"""

from __future__ import annotations

LEASE = 10.0
"""Seconds without a question from the service, after which a camera ends."""
ENDING = 4.0
"""Seconds that it has to close its output then, before it is killed."""
ENCODER = 4.0
"""Seconds that its encoder may take to notice and to end (`video/live/encoder/process.py`: 1 and 2.5)."""
UNTIL = "until"
"""The word of the line that tells a camera's process how long it may run."""
FREE = LEASE + ENDING + ENCODER
"""Seconds after the service's last question, after which the camera has ended, whatever happened to its machine."""


class Lease:
    """The lease as the camera's machine sees it. A camera whose lease was over once does not begin again."""

    def __init__(self) -> None:
        self._answered: float | None = None
        self._until: float | None = None
        self._over = False

    def answered(self, now: float) -> None:
        """The answer to a question is about to leave."""
        self._answered = now

    def asked(self, now: float) -> float | None:
        """A question came: the time until which the camera may run, None when it may not."""
        if self.over(now) or self._answered is None:
            return None
        until = self._answered + LEASE
        if until <= now:  # the first question was under way for too long
            self._over = True
            return None
        self._until = until if self._until is None else max(self._until, until)
        return self._until

    def over(self, now: float) -> bool:
        """Whether a camera that ran has to end."""
        if self._until is not None and now >= self._until:
            self._over = True
        return self._over


class LeaseClaim:
    """The same lease as the service sees it."""

    def __init__(self) -> None:
        self._asked: float | None = None

    def asking(self, now: float) -> None:
        """A question that renews the lease is about to be sent."""
        self._asked = now

    @property
    def free_at(self) -> float:
        """From when on another camera may hold the output, if nobody confirms that this one ended."""
        return 0.0 if self._asked is None else self._asked + FREE
