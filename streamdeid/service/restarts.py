"""When a camera's process is started again, and when it counts as stalled: Frigate's rules (docs/service.md, restarts).

Nothing in this module reads a clock or a process. The callers give all times, in seconds of `time.monotonic`.
"""

from __future__ import annotations

from streamdeid.core.status import LiveStatus
from streamdeid.errors import ExitCode

STALL = 20.0
"""Seconds without a status line, or without a frame that leaves, after which a process is stalled."""
BEGINNING = 120.0
"""The same limit until the first frame has left: models are loaded and, the first time, compiled."""
PACE = 10.0
"""Least seconds between two starts."""
FREE_RESTARTS = 5
"""Number of restarts at that pace; the wait before later restarts doubles each time."""
LONGEST = 300.0
"""Longest wait in seconds."""
HEALTHY = 60.0
"""Seconds in which frames leave after which earlier restarts no longer lengthen the wait."""


class Restarts:
    """Counts the restarts of one camera's process, and decides when it is stalled and when it may start again."""

    def __init__(self) -> None:
        self.count = 0
        """Number of restarts so far."""
        self._row = 0
        """Number of restarts since the process was last healthy."""
        self._started: float | None = None
        self._ended: float | None = None
        self._final = False
        self._line = self._progress = self._well_since = 0.0
        self._left = 0

    def started(self, now: float) -> None:
        """Note that a process was started."""
        if self._started is not None:
            self.count += 1
            self._row += 1
        self._started, self._ended = now, None
        self._line = self._progress = self._well_since = now
        self._left = 0

    def ended(self, now: float, code: int, *, finished: bool = False) -> None:
        """Note that the process ended with an exit code. finished: whether a replayed file is at its end."""
        self._ended = now
        self._final = finished or code == ExitCode.SETTINGS

    def seen(self, now: float, status: LiveStatus) -> None:
        """Note that a status line came."""
        gone = left(status)
        self._line = now
        if gone > self._left:
            self._progress = now
            self._left = gone
            if now - self._well_since >= HEALTHY:
                self._row = 0
        elif now - self._progress >= STALL / 2:
            self._well_since = now
        if not (status.source.connected or gone):
            # No frame can leave yet because the camera is not connected; the process itself works.
            self._progress = now
        if not gone:
            self._well_since = now

    def stalled(self, now: float) -> str | None:
        """Why the process is stalled and has to be killed, or None."""
        if now - self._line >= (STALL if self._left else BEGINNING):
            return f"it said nothing for {now - self._line:.0f} s"
        if now - self._progress >= (STALL if self._left else BEGINNING):
            return f"no frame left for {now - self._progress:.0f} s"
        return None

    def wait(self, now: float) -> float | None:
        """Seconds until a process may start; None: no process may start before the settings change."""
        if self._final:
            return None
        if self._started is None or self._ended is None:
            return 0.0
        later = self._row - FREE_RESTARTS + 1
        if later <= 0:
            return max(0.0, self._started + PACE - now)
        return max(0.0, self._ended + min(LONGEST, PACE * 2.0 ** min(later, 10)) - now)


def left(status: LiveStatus) -> int:
    """Number of frames of any kind that left: fresh frames, repeated frames and placeholders."""
    return status.filtered + status.repeated + status.placeholders
