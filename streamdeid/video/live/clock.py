"""Times of a live stream, mended: they rise for ever at the pace of this machine's clock, whatever the camera's does.

A camera's stamps are even, but they drift, jump, repeat, begin anew with each connection and may be missing. The times
when packets arrive never lie for long, but they jitter. So each time is the one before plus the step between stamps,
stretched by at most `_STRETCH` towards the arrivals; where stamps cannot be right, the arrival counts.
"""

from __future__ import annotations

from fractions import Fraction

TICKS = 90000
"""Times are whole multiples of 1 / TICKS seconds, as in RTP and MPEG-TS."""
_LEAST_STEP = TICKS // 1000
"""A step is a millisecond or longer, so that nobody divides by nearly nothing."""
_JUMP = 1.0
"""Seconds between stamps and arrivals that no jitter explains."""
_HORIZON = 20.0
"""Seconds in which a difference between stamps and arrivals would be made up."""
_STRETCH = 0.05
"""Largest relative change of a step by which differences are made up."""
_BRAKE = 0.5
"""The part of a step that is left of it while a stream is ahead of the arrivals by more than a jump: what came first
had waited somewhere."""


class LiveClock:
    """Gives each frame of a stream its time. Times rise strictly, by at least a millisecond, and begin at 0."""

    def __init__(self) -> None:
        self._ticks: int | None = None
        self._time = 0.0
        self._origin = 0.0
        self._stamp: Fraction | None = None
        self._usual = 0.0
        self._late_since: float | None = None

    def begin_anew(self) -> None:
        """A new connection: the next stamp has nothing to do with the last one."""
        self._stamp = None
        self._late_since = None

    def time(self, stamp: Fraction | None, arrived: float) -> Fraction:
        """Time in seconds of the next frame.

        stamp: the stream's own time in seconds, None when it has none. arrived: `time.monotonic` of its arrival.
        """
        if self._ticks is None:
            self._origin = arrived
            ticks = 0
        else:
            self._time += self._step(stamp, arrived - self._origin, arrived)
            ticks = max(self._ticks + _LEAST_STEP, round(self._time * TICKS))
            # Where the least step had to be kept, the next one starts from there.
            self._time = max(self._time, ticks / TICKS)
        self._ticks, self._stamp = ticks, stamp
        return Fraction(ticks, TICKS)

    def _step(self, stamp: Fraction | None, target: float, arrived: float) -> float:
        """Seconds to go on by; target: where the arrival lies on our scale."""
        to_arrival = target - self._time
        if stamp is None or self._stamp is None:
            self._late_since = None
            return to_arrival
        step = float(stamp - self._stamp)
        late = to_arrival - step
        if late <= _JUMP:
            self._late_since = None
        elif self._late_since is None:
            self._late_since = arrived
        if -_JUMP < step <= 0:
            # Repeated or out of order: a part of a step, and no more than the arrivals allow.
            return max(to_arrival, self._usual / 4)
        jumped = step <= 0 or (late < -_JUMP and step > _JUMP / 2)
        # Once late, a frame may be followed at once by those that were held up with it; for a while the stamps count.
        if jumped or (self._late_since is not None and arrived - self._late_since > _JUMP):
            self._late_since = None
            return to_arrival
        self._usual = min(step, _JUMP)  # a gap is no step: repeated stamps after it would run far ahead
        if to_arrival < -2 * _JUMP:  # stamps that run too fast for the brake
            return to_arrival
        if late < -_JUMP:
            return step * _BRAKE
        return step * (1 + min(_STRETCH, max(-_STRETCH, late / _HORIZON)))
