"""Surrogates that tracklets show while their person is not known (`surrogates.choice`)."""

from __future__ import annotations

from collections import deque

import numpy as np

from streamdeid.core.arrays import Flags, Vector
from streamdeid.surrogates.surrogate import Surrogate

_REST = 8
"""A surrogate that nobody kept is shown to nobody else until this share of the bank, one candidate in so many, was
given back after it."""


class Provisional:
    """The table tracklet → provisional surrogate of one session; entries stay only as long as the tracklets are
    present."""

    def __init__(self, size: int) -> None:
        """size: number of candidates in the bank."""
        self._size = size
        self._by_number: dict[int, tuple[Surrogate, int]] = {}
        self._given_back: deque[int] = deque(maxlen=size // _REST)
        """Candidates that were given back, the latest last."""

    def get(self, number: int) -> Surrogate | None:
        """The surrogate that a tracklet shows; None for a tracklet without one."""
        return self._by_number[number][0] if number in self._by_number else None

    def put(self, number: int, chosen: Surrogate, candidate: int) -> Surrogate:
        """Let a tracklet show a surrogate. candidate: its number in the bank."""
        self._by_number[number] = chosen, candidate
        return chosen

    def take(self, number: int) -> Surrogate:
        """Remove and return the surrogate of a tracklet: it becomes a person's. Raises KeyError where the tracklet has
        none."""
        return self._by_number.pop(number)[0]

    def release(self, number: int) -> None:
        """Give back the surrogate of a tracklet that is over and that nobody keeps. Harmless where it has none."""
        chosen = self._by_number.pop(number, None)
        if chosen is not None:
            self._given_back.append(chosen[1])

    @property
    def free(self) -> Flags:
        """Which candidates may be shown, bool (m,)."""
        found = np.ones(self._size, np.bool_)
        found[list(self._given_back)] = False
        return found

    @property
    def vectors(self) -> list[Vector]:
        """The surrogates that are shown, float64 (d,) each."""
        return [chosen.vector for chosen, _ in self._by_number.values()]
