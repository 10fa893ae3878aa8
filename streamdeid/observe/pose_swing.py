"""How far a head's yaw goes to and fro: landmarks that jump between two readings of a face are on no face.

On profiles, blurred faces and faces in the dark the landmarker sees now a face that is turned aside and now one that
looks ahead, frame by frame, and is sure of both. Each reading alone passes for a face; no head turns like that.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable

WINDOW = 0.2 + 1e-6
"""Seconds over which the yaw is looked at (1e-6 allows for rounding of times). Below 10 frames a second that is too
little for a way to and fro."""
_STEP = 1 / 36
"""Time between two readings from which a step between them counts in full, seconds: of many readings the noise alone is
a long way."""


class PoseSwing:
    """Follows the smoothed yaw of one tracklet."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def __call__(self, yaw: float, time: float) -> float:
        """By how much the way of the yaw through the last fifth of a second is longer than the straight one, radians:
        0 for a head that turns to one side, however quickly. yaw: radians, at a time in seconds.

        Of cameras with more than 36 pictures a second the larger of two is told: by all readings, each step in
        proportion to its time, and by readings that are far enough apart. Either alone misses a way to and fro: the
        first a slow one, the second one that comes back in the next picture.
        """
        self._seen.append((yaw, time))
        while time - self._seen[0][1] > WINDOW:
            self._seen.popleft()
        apart = [self._seen[-1]]
        for one in reversed(self._seen):
            if apart[-1][1] - one[1] >= _STEP:
                apart.append(one)
        return max(_longer(self._seen), _longer(apart))


def _longer(readings: Iterable[tuple[float, float]]) -> float:
    """By how much the way through readings of a yaw at a time is longer than the straight one."""
    steps = [(b - a) * min(abs(t - s) / _STEP, 1.0) for (a, s), (b, t) in itertools.pairwise(readings)]
    return sum(map(abs, steps)) - abs(sum(steps))
