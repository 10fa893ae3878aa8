"""Whether a camera's pictures grow old before they are read: this machine decodes more slowly than the camera sends.

They then wait in the network's buffers, where no queue of ours sees them. Two signs together tell it: the pictures lag
further and further behind their own time stamps, and the reader never has to wait for data. Time stamps alone would
accuse a camera whose clock is slow, jumps or stands still.
"""

from __future__ import annotations

from fractions import Fraction

_LATE = 2.0
"""Seconds by which pictures may lag behind the best there was (docs/architecture.md 4: nothing older leaves)."""
_WINDOW = 2.0
_IDLE = 0.1
"""Seconds over which the waiting is summed, and the share of them that a reader who keeps up waits at least."""


class DecodeLag:
    """Of one connection; `now` is `time.monotonic` everywhere."""

    def __init__(self, now: float) -> None:
        self._least: float | None = None
        self._since, self._waited = now, 0.0
        self._busy = False

    def read(self, begun: float, now: float) -> None:
        """Note that the reader asked for data at `begun` and had it at `now`."""
        self._waited += now - begun
        if now - self._since >= _WINDOW:
            self._busy = self._waited < _IDLE * (now - self._since)
            self._since, self._waited = now, 0.0

    def late(self, stamp: Fraction | None, now: float) -> bool:
        """Whether a picture of that time stamp, in seconds, comes too late by now."""
        if stamp is None:
            return False
        lag = now - float(stamp)
        self._least = lag if self._least is None else min(self._least, lag)
        return self._busy and lag - self._least > _LATE
