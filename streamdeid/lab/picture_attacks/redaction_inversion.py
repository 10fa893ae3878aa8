"""A7 on redacted heads: what of a face can be learnt from what is published of the head, or of what lies around it.

From other people the attacker learns how the face goes with the redacted picture, by ridge regression between small
colour pictures, both on their principal axes. Then he asks which known face fits his estimate best: by how much
likelier it is given the estimate than it is anyway, so that a learner who has found nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.lab.attacks.learnt_inversion import ridge

AXES = (30, 80)
"""Principal axes kept of each side: few for what is soft, more for what is not. Each is an attack."""
_PENALTIES = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0)
_LEAST = 1e-9
_FOLDS, _SPLITS = 5, 6


@dataclass(frozen=True)
class RedactedPairs:
    """Redacted pictures of people, and the faces behind them."""

    seen: Vectors
    """float64 (n, d): what is published."""
    faces: Vectors
    """float64 (n, e): what the attacker wants to know."""
    people: NDArray[np.int64]
    """(n,): who it is."""


def named(learnt: RedactedPairs, probes: RedactedPairs, known: RedactedPairs, axes: int) -> NDArray[np.bool_]:
    """Whether each probe's person is named, bool (m,): learnt from pairs of other people, asked of known faces."""
    inputs = _onto_axes(learnt.seen, axes)
    outputs = _onto_axes(learnt.faces, axes)
    x, y = inputs(learnt.seen), outputs(learnt.faces)
    aside = np.arange(len(x)) % _FOLDS == 0
    errors = {p: np.square(y[aside] - ridge(x[~aside], y[~aside], p)(x[aside])).mean(axis=0) for p in _PENALTIES}
    best = min(errors, key=lambda p: float(errors[p].mean()))
    error = np.maximum(errors[best], _LEAST)
    guessed, there = ridge(x, y, best)(inputs(probes.seen)), outputs(known.faces)
    off = (np.square(guessed[:, None] - there[None]) / error).sum(axis=2)
    anyway = (np.square(there - y.mean(axis=0)) / np.maximum(y.var(axis=0), error)).sum(axis=1)
    return np.asarray(known.people[(off - anyway).argmin(axis=1)] == probes.people)


def named_in_folds(learnt: RedactedPairs, probes: RedactedPairs, known: RedactedPairs, axes: int, runs: int) -> Vectors:
    """The same where all people are among those learnt from, left out a fifth at a time, in several divisions: share of
    the runs (m,) in which each probe is named."""
    everybody = np.unique(known.people)
    hits = np.zeros(len(probes.people))
    for run in range(runs):
        fold = dict(zip(everybody, np.random.default_rng(run).permutation(len(everybody)) % _FOLDS, strict=True))
        of_learnt, of_probes = (np.array([fold[one] for one in pairs.people]) for pairs in (learnt, probes))
        for part in range(_FOLDS):
            asked = of_probes == part
            if asked.any():
                hits[asked] += named(_some(learnt, of_learnt != part), _some(probes, asked), known, axes)
    return hits / runs


def named_in_samples(
    learnt: RedactedPairs, probes: RedactedPairs, known: RedactedPairs, axes: int, runs: int
) -> Vectors:
    """The same for people who are not learnt from: share of the runs (m,) in which each probe is named, each run with
    a sixth of the pairs left out at random."""
    hits = np.zeros(len(probes.people))
    for run in range(runs):
        kept = np.random.default_rng(run).permutation(len(learnt.people)) % _SPLITS > 0
        hits += named(_some(learnt, kept), probes, known, axes)
    return hits / runs


def _some(pairs: RedactedPairs, rows: NDArray[np.bool_]) -> RedactedPairs:
    return RedactedPairs(pairs.seen[rows], pairs.faces[rows], pairs.people[rows])


def _onto_axes(rows: Vectors, count: int) -> Callable[[Vectors], Vectors]:
    """Projection on the principal axes of rows (n, d), the first one's deviation 1."""
    mean = rows.mean(axis=0)
    _, sizes, axes = np.linalg.svd(rows - mean, full_matrices=False)
    scale = max(float(sizes[0]) / np.sqrt(len(rows)), _LEAST)
    kept = axes[: min(count, len(rows) - 2)].T / scale
    return lambda others: np.asarray((others - mean) @ kept, np.float64)
