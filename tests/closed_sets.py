"""Every closed-set algorithm under one signature, for the tests that hold of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.k_same.diff_furthest import k_diff_furthest
from streamdeid.k_same.eigen import k_same_eigen
from streamdeid.k_same.furthest import k_same_furthest
from streamdeid.k_same.m import k_same_m
from streamdeid.k_same.pixel import k_same_pixel
from streamdeid.k_same.select import ClosedSet, k_same_select


def in_halves(faces: Floats, k: int, rng: np.random.Generator, algorithm: ClosedSet = k_same_m) -> Floats:
    """k-Same-Select with two classes that travel with the faces: the lower and the upper half by first coordinate."""
    labels = np.argsort(np.argsort(faces[:, 0], kind="stable")) < (len(faces) + 1) // 2
    return k_same_select(faces, labels, k, rng, algorithm)


INSIDE: Mapping[str, ClosedSet] = {
    "select": k_same_m,
    "select-furthest": k_same_furthest,
    "select-diff": k_diff_furthest,
}
"""What runs inside the classes of each k-Same-Select."""
CLOSEST: Mapping[str, ClosedSet] = {"m": k_same_m, "pixel": k_same_pixel, "eigen": k_same_eigen, "select": in_halves}
"""k-Same with the mean of the nearest."""
FURTHEST: Mapping[str, ClosedSet] = {
    "furthest": k_same_furthest,
    "select-furthest": partial(in_halves, algorithm=k_same_furthest),
}
SAME: Mapping[str, ClosedSet] = {**CLOSEST, **FURTHEST}
"""Everything that promises k equal outputs."""
DIFF: Mapping[str, ClosedSet] = {
    "diff": k_diff_furthest,
    "diff-relaxed": partial(k_diff_furthest, relaxed=True),
    "diff-singles": partial(k_diff_furthest, singles=True),
    "select-diff": partial(in_halves, algorithm=k_diff_furthest),
}
ALL: Mapping[str, ClosedSet] = {**SAME, **DIFF}


def least(name: str, k: int) -> int:
    """The smallest set that an algorithm takes."""
    needed = 2 if "diff" in name else 2 * k if "furthest" in name else k
    return 2 * max(needed, k) if "select" in name else needed


class _Triggers:
    """What closed-set algorithms ask of a generator, answered by a fixed ranking of the faces instead of chance."""

    def __init__(self, faces: Floats, ranking: Mapping[bytes, int]) -> None:
        self._ranks = np.array([ranking[row.tobytes()] for row in faces])

    def permutation(self, count: int) -> NDArray[np.int64]:
        assert count == len(self._ranks)
        return np.argsort(self._ranks)

    def choice(self, rows: Sequence[int], size: int, replace: bool) -> list[int]:
        # Rows are all but the one that asks; it gets those that rank next after it, so no two askers get the same.
        (asking,) = set(range(len(self._ranks))) - set(rows)
        ordered = sorted(rows, key=lambda row: int(self._ranks[row]))
        after = sum(int(self._ranks[row] < self._ranks[asking]) for row in rows)
        return [ordered[(after + i) % len(ordered)] for i in range(size)]


def in_order(name: str, faces: Floats, k: int, ranking: Mapping[bytes, int]) -> Floats:
    """Run one of `ALL` without chance: triggers come as the faces (their bytes) rank, whatever their rows."""

    def run(algorithm: ClosedSet, some: Floats, k: int, rng: np.random.Generator) -> Floats:
        del rng
        return algorithm(some, k, cast(np.random.Generator, _Triggers(some, ranking)))

    rng = np.random.default_rng(0)
    if name in INSIDE:
        return in_halves(faces, k, rng, partial(run, INSIDE[name]))
    return run(ALL[name], faces, k, rng)


def given_order(order: Sequence[int]) -> np.random.Generator:
    """A stand-in for a generator whose permutation is `order`; it has nothing else."""
    rows = np.arange(len(order), dtype=np.float64)[:, None]
    ranking = {rows[row].tobytes(): rank for rank, row in enumerate(order)}
    return cast(np.random.Generator, _Triggers(rows, ranking))


def own_matches(faces: Floats, outputs: Floats) -> NDArray[np.bool_]:
    """Whether no other original is nearer to an output than its own: bool (n,)."""
    gaps = np.linalg.norm(outputs[:, None] - faces, axis=2)
    own = gaps.diagonal().copy()
    np.fill_diagonal(gaps, np.inf)
    return np.asarray(own <= gaps.min(axis=1), dtype=np.bool_)
