"""Finds whether this machine decodes more slowly than the camera sends, so that pictures are old when they are read.

The pictures then wait in the network's buffers, where the queues of this program do not see them. Two signs together
show this: the pictures lag more and more behind their own time stamps, and the reader never has to wait for data. Time
stamps alone would also lag for a camera whose clock is slow, jumps or stands still.
"""

from __future__ import annotations

from fractions import Fraction

_LATE = 2.0
"""Seconds by which the lag may exceed the least lag so far (docs/architecture.md 4: no older picture leaves)."""
_WINDOW = 2.0
_IDLE = 0.1
"""Seconds over which the waiting is summed, and the least share of them that a reader waits when it keeps up."""


class DecodeLag:
    """Measures the lag of one connection; `now` is `time.monotonic` everywhere."""

    def __init__(self, now: float) -> None:
        self._least: float | None = None
        self._since, self._waited = now, 0.0
        self._busy = False

    def read(self, begun: float, now: float) -> None:
        """Note that the reader asked for data at `begun` and had them at `now`."""
        self._waited += now - begun
        if now - self._since >= _WINDOW:
            self._busy = self._waited < _IDLE * (now - self._since)
            self._since, self._waited = now, 0.0

    def late(self, stamp: Fraction | None, now: float) -> bool:
        """Whether a picture with this time stamp, in seconds, is too late now."""
        if stamp is None:
            return False
        lag = now - float(stamp)
        self._least = lag if self._least is None else min(self._least, lag)
        return self._busy and lag - self._least > _LATE
