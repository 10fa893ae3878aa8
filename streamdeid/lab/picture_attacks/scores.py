"""What an attack on a set of pictures or vectors reached: rank-1, rank-5, acceptance, equal error rate, with limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.lab.identification import Interval, accepted, bootstrap, bootstrap_equal_error, identified, threshold_at
from streamdeid.lab.tables import limits

_BLOCK = 64


@dataclass(frozen=True)
class KnownFaces:
    """Unaltered faces that an attacker knows by name."""

    vectors: Vectors
    """float64 (g, d)."""
    people: tuple[str, ...]

    def impostors(self) -> Vectors:
        """Distances between different people, each pair once: float64 (n,)."""
        apart = distances(self.vectors, self.vectors)
        names = np.array(self.people)
        upper = np.triu(names[:, None] != names[None, :], 1)
        return np.asarray(apart[upper])


@dataclass(frozen=True)
class Score:
    """What one recogniser made of one set of probes."""

    rank_1: Interval
    rank_5: Interval
    tar_2: Interval
    """True accepts at the threshold that accepts 1e-2 of the impostors among unaltered faces."""
    tar_3: Interval
    """The same at 1e-3."""
    accepts_3: int
    """True accepts at 1e-3, counted."""
    equal_error: Interval
    probes: int

    def cells(self) -> tuple[str, ...]:
        """rank-1, rank-5, TAR at 1e-2, at 1e-3, EER, probes, as text."""
        shares = (self.rank_1, self.rank_5, self.tar_2, self.tar_3, self.equal_error)
        return (*(limits(share) for share in shares), str(self.probes))


COLUMNS = ("rank-1", "rank-5", "TAR at FAR 1e-2", "TAR at FAR 1e-3", "EER", "probes")
"""Headings of `Score.cells`."""


def score(probes: Vectors, people: Sequence[str], known: KnownFaces, rng: np.random.Generator) -> Score:
    """Match probes (n, d) of known people against a gallery; rows of nan name nobody.

    Limits are those of `bootstrap` over people.
    """
    apart = distances(probes, known.vectors)
    names, gallery = np.array(people), np.array(known.people)
    genuine = np.where(names[:, None] == gallery[None, :], apart, np.inf).min(axis=1)
    impostors = np.where(names[:, None] != gallery[None, :], np.where(np.isnan(apart), np.inf, apart), np.nan)
    reference = known.impostors()
    at_2, at_3 = (accepted(genuine, threshold_at(reference, far)) for far in (1e-2, 1e-3))
    return Score(
        share(identified(apart, names, gallery), names, rng),
        share(identified(apart, names, gallery, 5), names, rng),
        share(at_2, names, rng),
        share(at_3, names, rng),
        int(at_3.sum()),
        bootstrap_equal_error(genuine, impostors, names, rng),
        len(probes),
    )


def share(hits: NDArray[np.bool_], people: NDArray[np.str_], rng: np.random.Generator) -> Interval:
    """Share of hits (n,) with limits over people, given whose probe each is, text (n,)."""
    names, rows = np.unique(people, return_inverse=True)
    trials = np.bincount(rows, minlength=len(names))
    table = np.full((len(names), int(trials.max(initial=0))), np.nan)
    place = np.zeros(len(names), np.int64)
    for row, hit in zip(rows, hits, strict=True):
        table[row, place[row]] = hit
        place[row] += 1
    return bootstrap(table, rng)


def distances(a: Vectors, b: Vectors) -> Vectors:
    """Euclidean distances (n, m) of rows (n, d) and (m, d); nan where a row is."""
    out = np.empty((len(a), len(b)))
    for start in range(0, len(a), _BLOCK):
        rows = slice(start, start + _BLOCK)
        out[rows] = np.sqrt(np.square(a[rows, None] - b[None]).sum(axis=2))
    return out
