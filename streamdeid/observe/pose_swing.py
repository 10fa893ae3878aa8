"""How far a head's yaw goes to and fro: landmarks that jump between two readings of a face are on no face.

On profiles, blurred faces and faces in the dark the landmarker sees now a face that is turned aside and now one that
looks ahead, frame by frame, and is sure of both. Each reading alone passes for a face; no head turns like that.
"""

from __future__ import annotations

import itertools
from collections import deque

_WINDOW = 0.2 + 1e-6
"""Seconds over which the yaw is looked at (1e-6 allows for rounding of times)."""


class PoseSwing:
    """Follows the yaw of one track."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def __call__(self, yaw: float, time: float) -> float:
        """By how much the way of the yaw through the last fifth of a second is longer than the straight one, radians:
        0 for a head that turns to one side, however quickly. yaw: radians, at a time in seconds."""
        self._seen.append((yaw, time))
        while time - self._seen[0][1] > _WINDOW:
            self._seen.popleft()
        yaws = [each for each, _ in self._seen]
        way = sum(abs(b - a) for a, b in itertools.pairwise(yaws))
        return way - abs(yaws[-1] - yaws[0])
