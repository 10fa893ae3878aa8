"""Values that the parts of a live run pass to each other: frames as they arrive, and the state of each part."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamdeid.core.frames import Frame

LATENCY_BOUNDS = (0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 1.0, 2.5)
"""Upper bounds of the latency histogram in seconds; one more count is for all longer latencies."""


@dataclass(frozen=True)
class Arrival:
    """A decoded frame of a camera and the time when it came."""

    frame: Frame
    """The frame. Its time is the stream's own, corrected: it rises over reconnections and jumps of the camera's clock,
    keeps to the pace of `time.monotonic` in the long run, and starts near 0."""
    arrived: float
    """`time.monotonic` when its packet had been read."""
    connection: int
    """Number of the connection by which it came, from 1. After a new connection nothing of the scene is known."""
    rate: float
    """Frames per second that the stream gives, or 25."""


@dataclass(frozen=True)
class SourceState:
    """The state of a source."""

    connected: bool = False
    reason: str | None = None
    """Why it is not connected, one line without a password."""
    connections: int = 0
    """Times it was opened with success."""
    frames: int = 0
    """Pictures decoded."""
    dropped: int = 0
    """Decoded pictures that were left out unfiltered because newer ones had come."""
    spared: int = 0
    """Decoded pictures that were left out unfiltered because no more are wanted in a second."""
    damaged: int = 0
    """Places where something was missing or could not be decoded."""
    queue: int = 0
    """Frames waiting now."""


@dataclass(frozen=True)
class SinkState:
    """The state of a sink."""

    connected: bool = False
    reason: str | None = None
    """Why it is not connected, one line without a password."""
    openings: int = 0
    """Times it was opened with success."""
    written: int = 0
    """Frames that it took, encoded and sent."""
    unsent: int = 0
    """Filtered frames left out because the receiver was too slow or away."""


@dataclass(frozen=True)
class LiveStatus:
    """The state of a live run; numbers count from its start."""

    state: str = "starting"
    """`starting`, `live` (fresh filtered frames leave), `degraded` (they do not) or `ended`."""
    reason: str | None = None
    """Why it is degraded, one line without a password."""
    source: SourceState = field(default_factory=SourceState)
    sink: SinkState = field(default_factory=SinkState)
    filtered: int = 0
    """Frames that were filtered."""
    withheld: int = 0
    """Frames that the filter was in doubt about, or that a stall made too old; they never left."""
    repeated: int = 0
    """Times a filtered frame left again, because there was no newer one."""
    placeholders: int = 0
    """Times a placeholder left instead of a picture."""
    faces: dict[str, int] = field(default_factory=dict)
    """Redacted places, by protection level."""
    people: int | None = None
    """Number of persons who were told apart; None for a mask."""
    frame_age: float | None = None
    """Seconds since a fresh filtered frame left; None where none ever left."""
    size: tuple[int, int] | None = None
    """Width and height of the picture."""
    rate: float = 0.0
    """Filtered frames per second over the last seconds."""
    latency: tuple[int, ...] = (0,) * (len(LATENCY_BOUNDS) + 1)
    """Fresh frames by the time from the arrival of their data to the end of their sending (`LATENCY_BOUNDS`)."""
    latency_sum: float = 0.0
    """The sum of those times in seconds."""
    cpu_seconds: float = 0.0
    """CPU time of the process and of its encoder so far."""
    memory_bytes: int = 0
    """Resident memory of the process and of its encoder now."""
