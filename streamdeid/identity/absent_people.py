"""People who are known but were not seen in a stream, or not for a long time; all are compared at once.

A register holds up to 2,000 people. Without this, `identity.reentry` would compare them one by one in every frame.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streamdeid.identity.identity import Identity

Entry = tuple[Identity, set[int], int]
"""Template of a person, persons who were seen together with this one, and the last frame in which the face was seen."""


class AbsentPeople:
    """Persons of one stream by number, none of whom is in the picture."""

    def __init__(self) -> None:
        self._people: dict[int, Entry] = {}
        self._rows: tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]] | None = None
        """Numbers (n,), templates (n, e) and scatters (n,), made when they are asked for."""

    def __contains__(self, number: int) -> bool:
        return number in self._people

    def add(self, number: int, identity: Identity, beside: set[int], seen: int) -> None:
        """Add a person with a template. Raises ValueError where it is no vector, or not as long as the others."""
        vector = identity.vector
        others = next(iter(self._people.values()), (identity,))[0].vector
        if vector is None or vector.ndim != 1 or others is None or vector.shape != others.shape:
            raise ValueError("a template that fits no other")
        self._people[number] = identity, beside, seen
        self._rows = None

    def get(self, number: int) -> Entry | None:
        """The entry of an absent person; None for anybody else."""
        return self._people.get(number)

    def take(self, number: int) -> Entry:
        """Remove a person who is no longer absent, and return the entry."""
        self._rows = None
        return self._people.pop(number)

    def beside(self, number: int) -> set[int]:
        """Persons who were seen together with this one; the caller may add to the set."""
        return self._people[number][1]

    def part(self, gone: int) -> None:
        """Remove a forgotten person from the sets of those who were seen together."""
        for _, beside, _ in self._people.values():
            beside.discard(gone)

    def near(self, identity: Identity, reach: float, since: int) -> list[tuple[float, float, int]]:
        """Distance, joint scatter and number of all persons who may be nearer to an identity than `reach`. Persons seen
        in frame `since` or later are left out. Raises ValueError for a vector that is not as long as theirs."""
        if identity.vector is None or not self._people:
            return []
        if self._rows is None:
            vectors = [one.vector for one, _, _ in self._people.values() if one.vector is not None]
            spread = [one.scatter for one, _, _ in self._people.values()]
            self._rows = np.array(list(self._people)), np.array(vectors), np.array(spread)
        numbers, templates, scatters = self._rows
        apart = np.linalg.norm(templates - identity.vector, axis=1)
        found = []
        for place in np.flatnonzero(apart - scatters < reach + identity.scatter):
            number = int(numbers[place])
            if self._people[number][2] < since:
                found.append((float(apart[place]), math.hypot(identity.scatter, scatters[place]), number))
        return found
