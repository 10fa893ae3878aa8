"""What a stream would publish instead of people's identities: the real `Surrogates`, one session a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.errors import FailedClosed
from streamdeid.surrogates.choice import Surrogates, SurrogateSettings
from streamdeid.surrogates.fixed_map import FixedMap
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.surrogate import MAPS

Publish = Callable[[Vectors, bytes], Vectors]
"""People (n, d) as one session saw them, and its key → what it published, (n, d), row for row."""

OTHERS = 1_000_001
"""Number of the first person who is not under attack."""


def published(
    method: str,
    people: Vectors,
    gallery: Gallery,
    variances: Vector,
    key: bytes,
    *,
    settings: SurrogateSettings | None = None,
    first: int = 1,
    together: bool = True,
) -> Vectors:
    """Surrogates of people (n, d) in one session: float64 (n, d), rows of nan where the method fails closed.

    `settings` hold but for the method, which `method` decides; people are numbered from `first`, row by row. Unless
    `together`, everybody is forgotten before the next one comes, so that thousands fit. SettingsError as `Surrogates`.
    """
    session = _session(method, gallery, variances, key, settings)
    result = np.full(people.shape, np.nan)
    for row, y in enumerate(people):
        result[row] = _surrogate(session, first + row, y)
        if not together:
            session.forget(first + row)
    return result


@dataclass(frozen=True)
class PeoplePublisher:
    """`published` with everything but people and key."""

    method: str
    gallery: Gallery
    variances: Vector
    """Of the model, float64 (d,)."""
    settings: SurrogateSettings | None = None

    def __call__(self, people: Vectors, key: bytes) -> Vectors:
        """One session of people (n, d): float64 (n, d)."""
        return published(self.method, people, self.gallery, self.variances, key, settings=self.settings)

    def session(self, key: bytes) -> Surrogates:
        """A session with this key in which nobody was seen yet."""
        return _session(self.method, self.gallery, self.variances, key, self.settings)

    def to_others(self, people: Vectors, key: bytes) -> Vectors:
        """What the session publishes of other people (n, d), one at a time, under other numbers: float64 (n, d)."""
        return published(
            self.method,
            people,
            self.gallery,
            self.variances,
            key,
            settings=self.settings,
            first=OTHERS,
            together=False,
        )

    def replayed(self, people: Vectors, key: bytes, numbers: range) -> Vectors:
        """What each of people (n, d) would get as person `number`: float64 (numbers, n, d).

        For an attacker who holds the key and sees in which order people came; nobody else is in the table.
        """
        session = self.session(key)
        result = np.empty((len(numbers), *people.shape))
        for place, number in enumerate(numbers):
            for row, y in enumerate(people):
                result[place, row] = _surrogate(session, number, y)
                session.forget(number)
        return result

    def map_of(self, key: bytes) -> FixedMap | None:
        """The fixed map that a session with this key uses; None for methods that have none."""
        if self.method not in MAPS:
            return None
        return self.session(key).fixed_map


def _session(
    method: str, gallery: Gallery, variances: Vector, key: bytes, settings: SurrogateSettings | None
) -> Surrogates:
    plain = settings or SurrogateSettings()
    chosen = SurrogateSettings(
        method=method, k=plain.k, q=plain.q, bank_size=plain.bank_size, attempts=plain.attempts, limits=plain.limits
    )
    return Surrogates(gallery, variances, chosen, key)


def _surrogate(session: Surrogates, number: int, y: Vector) -> Vector:
    try:
        return session.surrogate(number, y).vector
    except FailedClosed:
        return np.full(len(y), np.nan)
