"""How far a head's yaw goes to and fro: landmarks that jump between two readings of a face are on no face.

On profiles, blurred faces and faces in the dark the landmarker sees now a face that is turned aside and now one that
looks ahead, frame by frame, and is sure of both. Each reading alone passes for a face; no head turns like that.
"""

from __future__ import annotations

import itertools
from collections import deque

WINDOW = 0.2 + 1e-6
"""Seconds over which the yaw is looked at (1e-6 allows for rounding of times). Below 10 frames a second that is too
little for a way to and fro."""
_STEP = 1 / 31
"""Least time between two readings that count, seconds: of many readings the noise alone is a long way."""


class PoseSwing:
    """Follows the smoothed yaw of one track, also from one place to another: where it jumps from face to face it is in
    doubt for a fifth of a second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()
        self._swing = 0.0

    def __call__(self, yaw: float, time: float) -> float:
        """By how much the way of the yaw through the last fifth of a second is longer than the straight one, radians:
        0 for a head that turns to one side, however quickly. yaw: radians, at a time in seconds."""
        if self._seen and time - self._seen[-1][1] < _STEP:
            return self._swing
        self._seen.append((yaw, time))
        while time - self._seen[0][1] > WINDOW:
            self._seen.popleft()
        yaws = [each for each, _ in self._seen]
        way = sum(abs(b - a) for a, b in itertools.pairwise(yaws))
        self._swing = way - abs(yaws[-1] - yaws[0])
        return self._swing
