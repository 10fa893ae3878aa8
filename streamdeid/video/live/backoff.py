"""How long to wait before the next attempt to reach a camera."""

from __future__ import annotations

import random
from collections.abc import Callable

_FIRST = 0.25
_CAP = 2.0
_AFTER_REFUSAL = 10.0
"""Seconds between attempts with a password that was refused: cameras lock out who tries too often."""
_STEADY = 2.0
"""Seconds of pictures after which a connection counts as a good one, and waiting begins from the shortest again."""


class Backoff:
    """Waits that double from a quarter of a second to two, each shortened at random to between half of it and all.

    They are counted from the start of the last attempt, so one that used up its deadline is followed at once.
    chance: gives numbers from 0 to 1.
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._next = _FIRST

    def after(self, spent: float, *, pictures: float = 0.0, refused: bool = False) -> float:
        """Seconds to wait now.

        spent: seconds since the last attempt began. pictures: seconds for which it gave pictures.
        refused: whether it ended because user or password are wrong.
        """
        if pictures >= _STEADY:
            self._next = _FIRST
        length = _AFTER_REFUSAL if refused else self._next
        self._next = min(_CAP, 2 * self._next)
        return max(0.0, length * (0.5 + 0.5 * self._chance()) - spent)
