"""The pace of a replayed file, which follows the file's own time stamps."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

_LONGEST = 10.0
"""Seconds between pictures above which time stamps count as damaged, not as a pause."""


class Pace:
    """Says how long to wait until a picture is due. now: the clock in seconds.

    A picture that comes late does not delay the next ones by more than a second.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._due: float | None = None
        self._stamp: Fraction | None = None

    def wait(self, stamp: Fraction | None, step: float) -> float:
        """Seconds until the next picture is due, 0 or more.

        stamp: the picture's time in the file, seconds. step: seconds since the picture before, where stamps do not say.
        """
        now = self._now()
        if stamp is not None and self._stamp is not None and 0 < stamp - self._stamp <= _LONGEST:
            step = float(stamp - self._stamp)
        self._stamp = stamp
        self._due = now if self._due is None else max(self._due + step, now - 1.0)
        return max(0.0, self._due - now)
