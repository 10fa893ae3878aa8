"""Surrogates that tracklets show while it is not known who they are (`surrogates.choice`)."""

from __future__ import annotations

from collections import deque

import numpy as np

from streamdeid.core.arrays import Flags, Vector
from streamdeid.surrogates.surrogate import Surrogate

_REST = 8
"""One that nobody kept is shown to nobody else before a share of the bank, one candidate in so many, was given back
after it."""


class Provisional:
    """The table tracklet → provisional surrogate of one session: no longer than tracklets are there."""

    def __init__(self, size: int) -> None:
        """size: candidates of the bank."""
        self._size = size
        self._by_number: dict[int, tuple[Surrogate, int]] = {}
        self._given_back: deque[int] = deque(maxlen=size // _REST)
        """Candidates, the latest last."""

    def get(self, number: int) -> Surrogate | None:
        """What a tracklet shows; None for one without."""
        return self._by_number[number][0] if number in self._by_number else None

    def put(self, number: int, chosen: Surrogate, candidate: int) -> Surrogate:
        """Let a tracklet show it. candidate: which one of the bank it is."""
        self._by_number[number] = chosen, candidate
        return chosen

    def take(self, number: int) -> Surrogate:
        """It becomes a person's. KeyError where the tracklet has none."""
        return self._by_number.pop(number)[0]

    def release(self, number: int) -> None:
        """The tracklet is over, and nobody keeps it. Harmless where it has none."""
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
        """Those that are shown, float64 (d,) each."""
        return [chosen.vector for chosen, _ in self._by_number.values()]
