"""The state of a camera, as health, metrics and page show it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from streamdeid.core.status import LATENCY_BOUNDS, LiveStatus

READY_AGE = 5.0
"""Seconds within which a real frame must have been filtered for a camera to be ready."""
STATES = ("starting", "live", "degraded", "ended", "restarting", "failed")
"""The states of `LiveStatus`, and two more: `restarting` is waiting for its next process, `failed` is not started again
before the settings change."""
_RECENT = 60.0
"""Seconds over which the latency is measured."""


@dataclass(frozen=True)
class CameraReport:
    """The present state of one camera."""

    name: str
    state: str
    """One of `STATES`."""
    reason: str | None
    """Why the camera is not live, one line without a password."""
    frame_age: float | None
    """Seconds since a fresh filtered frame left; None: none has left since the camera's process began."""
    restarts: int
    totals: LiveStatus
    """Counters over all processes of the camera; the other values are of the last process."""
    showing: bool
    """Whether pictures or placeholders leave, so that there is something to see."""
    latency: tuple[float, float] | None
    """Two latencies in seconds, of the last minute's frames: half of them, and 95 of 100, stayed below these."""
    node: str | None = None
    """The name of the machine that the camera runs on; None: the service's machine, or none now."""

    @property
    def ready(self) -> bool:
        """Whether the camera's process filtered a real frame in the last `READY_AGE` seconds."""
        return self.state in ("live", "degraded") and self.frame_age is not None and self.frame_age <= READY_AGE

    def as_json(self) -> dict[str, object]:
        """The report as JSON values, for the page."""
        totals = self.totals
        return {
            "name": self.name,
            "state": self.state,
            "reason": self.reason,
            "ready": self.ready,
            "showing": self.showing,
            "rate": totals.rate,
            "frame_age": None if self.frame_age is None else round(self.frame_age, 2),
            "latency_p50": None if self.latency is None else round(self.latency[0], 3),
            "latency_p95": None if self.latency is None else round(self.latency[1], 3),
            "faces": totals.faces,
            "people": totals.people,
            "size": totals.size,
            "filtered": totals.filtered,
            "dropped": totals.source.dropped,
            "withheld": totals.withheld,
            "restarts": self.restarts,
            "node": self.node,
        }


def quantile(counts: Sequence[int], share: float) -> float | None:
    """The latency, seconds, below which a share of a histogram lies; None for an empty histogram.

    Values are taken as evenly spread in each bin. A result beyond the last bound is given as the last bound.
    """
    rank, below = share * sum(counts), 0
    if not sum(counts):
        return None
    for count, low, high in zip(counts, (0.0, *LATENCY_BOUNDS), LATENCY_BOUNDS, strict=False):
        if count and below + count >= rank:
            return low + (high - low) * (rank - below) / count
        below += count
    return LATENCY_BOUNDS[-1]


class RecentLatency:
    """The latency histogram of the last minute, computed from histograms whose counts only grow."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, tuple[int, ...]]] = deque()

    def add(self, now: float, counts: tuple[int, ...]) -> None:
        """Note the counts of the histogram at a time in seconds."""
        self._seen.append((now, counts))
        while len(self._seen) > 1 and self._seen[1][0] <= now - _RECENT:
            self._seen.popleft()

    def quantiles(self) -> tuple[float, float] | None:
        """The latencies, seconds, below which half and 95 of 100 frames stayed; None when no frame left."""
        if not self._seen:
            return None
        counts = [b - a for a, b in zip(self._seen[0][1], self._seen[-1][1], strict=True)]
        half, most = quantile(counts, 0.5), quantile(counts, 0.95)
        return None if half is None or most is None else (half, most)
