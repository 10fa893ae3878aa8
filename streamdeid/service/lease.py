"""How long a camera on another machine may run without the service, and when another process may take its place.

Two processes that publish to one output are the worst case. So a camera holds a lease, which the service renews by
asking for messages. When machine and service lose contact, both measure the time: the machine ends the camera when the
lease is over, and the service starts the camera elsewhere only when that has certainly happened.

The two clocks are not related, and a question may take any time to arrive. So a question renews the lease not from its
arrival but from the answer before it: the service had that answer when it asked, so it asked later. Therefore a time
that the service counts from its last question never ends before the same time as the machine counts it.

Nothing in this module reads a clock. The callers give all times, in seconds of `time.monotonic`, which is the same in
all processes of one machine.
"""

from __future__ import annotations

LEASE = 10.0
"""Seconds without a question from the service after which a camera ends."""
ENDING = 4.0
"""Seconds that the camera then has to close its output before it is killed."""
ENCODER = 4.0
"""Seconds that its encoder may take to notice this and to end (`video/live/encoder/process.py`: 1 and 2.5)."""
UNTIL = "until"
"""The word of the line that tells a camera's process how long it may run."""
FREE = LEASE + ENDING + ENCODER
"""Seconds after the service's last question by which the camera has ended, whatever happened to its machine."""


class Lease:
    """The lease as the camera's machine sees it. A lease that was over once is not renewed again."""

    def __init__(self) -> None:
        self._answered: float | None = None
        self._until: float | None = None
        self._over = False

    def answered(self, now: float) -> None:
        """Note that the answer to a question is about to be sent."""
        self._answered = now

    def asked(self, now: float) -> float | None:
        """Note that a question came; return the time until which the camera may run, None when it may not run."""
        if self.over(now) or self._answered is None:
            return None
        until = self._answered + LEASE
        if until <= now:  # the first question took too long to arrive
            self._over = True
            return None
        self._until = until if self._until is None else max(self._until, until)
        return self._until

    def over(self, now: float) -> bool:
        """Whether the lease is over, so that a camera that runs has to end."""
        if self._until is not None and now >= self._until:
            self._over = True
        return self._over


class LeaseClaim:
    """The same lease as the service sees it."""

    def __init__(self) -> None:
        self._asked: float | None = None

    def asking(self, now: float) -> None:
        """Note that a question, which renews the lease, is about to be sent."""
        self._asked = now

    @property
    def free_at(self) -> float:
        """The time from which another process may use the output, if the end of this one is not confirmed."""
        return 0.0 if self._asked is None else self._asked + FREE
