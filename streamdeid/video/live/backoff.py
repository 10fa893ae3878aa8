"""How long to wait before the next attempt to reach a camera, or the server of a live output."""

from __future__ import annotations

import random
from collections.abc import Callable

_FIRST = 0.25
_CAP = 2.0
_AFTER_REFUSAL = 10.0
"""Seconds between attempts after a refused password: cameras lock out users who try too often."""
_STEADY = 2.0
"""Seconds of pictures after which a connection counts as good, and the waits begin with the shortest one again."""


class Backoff:
    """Computes waits between attempts: they double from 0.25 s to 2 s, each times a random factor from 0.5 to 1.

    A wait is counted from the start of the last attempt, so the next attempt follows at once after one that used up its
    deadline. chance: gives numbers from 0 to 1.
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._next = _FIRST

    def after(self, spent: float, *, pictures: float = 0.0, refused: bool = False) -> float:
        """Seconds to wait now.

        spent: seconds since the last attempt began. pictures: seconds for which that attempt gave pictures.
        refused: whether the attempt ended because user or password are wrong.
        """
        if pictures >= _STEADY:
            self._next = _FIRST
        length = _AFTER_REFUSAL if refused else self._next
        self._next = min(_CAP, 2 * self._next)
        return max(0.0, length * (0.5 + 0.5 * self._chance()) - spent)
