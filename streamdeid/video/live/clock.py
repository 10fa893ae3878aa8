"""Corrects the times of a live stream: they always rise at the pace of this machine's clock, not of the camera's.

A camera's time stamps are even, but they drift, jump, repeat, begin anew with each connection and may be missing. The
arrival times of packets are right on average, but they jitter. So each time is the time before plus the step between
the stamps, stretched by at most `_STRETCH` towards the arrivals. Where stamps cannot be right, the arrival is used.
"""

from __future__ import annotations

from fractions import Fraction

TICKS = 90000
"""Times are whole multiples of 1 / TICKS seconds, as in RTP and MPEG-TS."""
_LEAST_STEP = TICKS // 1000
"""Smallest step in ticks, a millisecond, so that no division by nearly zero follows."""
_JUMP = 1.0
"""Seconds of difference between stamps and arrivals that jitter cannot explain."""
_HORIZON = 20.0
"""Seconds in which a difference between stamps and arrivals would be corrected."""
_STRETCH = 0.05
"""Largest relative change of a step for this correction."""
_BRAKE = 0.5
"""Factor of a step while the stream is ahead of the arrivals by more than a jump: then the first pictures had waited
somewhere before they arrived."""


class LiveClock:
    """Gives each frame of a stream its time; times begin at 0 and rise by at least a millisecond."""

    def __init__(self) -> None:
        self._ticks: int | None = None
        self._time = 0.0
        self._origin = 0.0
        self._stamp: Fraction | None = None
        self._usual = 0.0
        self._late_since: float | None = None

    def begin_anew(self) -> None:
        """Note a new connection: the next stamp is not related to the last one."""
        self._stamp = None
        self._late_since = None

    def time(self, stamp: Fraction | None, arrived: float) -> Fraction:
        """Time in seconds of the next frame.

        stamp: the stream's own time in seconds, None when there is none. arrived: `time.monotonic` at its arrival.
        """
        if self._ticks is None:
            self._origin = arrived
            ticks = 0
        else:
            self._time += self._step(stamp, arrived - self._origin, arrived)
            ticks = max(self._ticks + _LEAST_STEP, round(self._time * TICKS))
            # Where the least step was used, the next step starts from there.
            self._time = max(self._time, ticks / TICKS)
        self._ticks, self._stamp = ticks, stamp
        return Fraction(ticks, TICKS)

    def _step(self, stamp: Fraction | None, target: float, arrived: float) -> float:
        """Seconds from the last time to the next one. target: the arrival in seconds since the first arrival."""
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
            # Repeated or out of order: up to the arrival, but at least a quarter of the usual step.
            return max(to_arrival, self._usual / 4)
        jumped = step <= 0 or (late < -_JUMP and step > _JUMP / 2)
        # Frames that were held up together with a late one may follow at once, so the stamps are used for a while.
        if jumped or (self._late_since is not None and arrived - self._late_since > _JUMP):
            self._late_since = None
            return to_arrival
        self._usual = min(step, _JUMP)  # a gap is not a usual step: repeated stamps after it would run far ahead
        if to_arrival < -2 * _JUMP:  # the stamps run too fast for `_BRAKE`
            return to_arrival
        if late < -_JUMP:
            return step * _BRAKE
        return step * (1 + min(_STRETCH, max(-_STRETCH, late / _HORIZON)))
