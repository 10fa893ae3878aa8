"""The figures of P3's experiments on a closed set of face vectors: recognition (figs. 6, 7), distances (Table I)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Floats, Vectors
from streamdeid.k_same.clusters import Pair
from streamdeid.k_same.diff_furthest import k_diff_furthest, k_diff_furthest_pairs
from streamdeid.k_same.furthest import k_same_furthest
from streamdeid.k_same.m import k_same_m
from streamdeid.lab.identification import identified
from streamdeid.lab.papers.guessing import SLACK, guessed

KS = (2, 3, 5, 10, 20)
"""Cluster sizes of figures 6 and 7."""
RATIO_K = 5
"""Cluster size of figure 8 and Table I."""

_SEED = 20150504

SAME_MISSED, SAME_CHANCE, SAME_FURTHEST = "k-Same-M, ties missed", "k-Same-M, ties by chance", "k-Same-furthest"
DIFF, PRINTED = "k-Diff, leftovers by certificate", "k-Diff, leftovers as printed"
SINGLES, RELAXED = "k-Diff, singles allowed", "k-Diff, relaxed overlap test"
SAME = "k-Same-M"


@dataclass(frozen=True)
class RankOneRecognition:
    """Rank-1 recognition of outputs against all originals for one k."""

    k: int
    rates: dict[str, Floats]
    """By method, the share of people recognised in each run, float64 (runs,)."""
    counts: dict[str, float]
    """What the clusters of k-Diff-furthest look like, means over all runs."""


@dataclass(frozen=True)
class Diversity:
    """Distances between outputs against distances between originals."""

    originals: Floats
    """Smallest, largest, mean, and standard deviation without zeros (1 / (n - 1)), of the originals: float64 (4,)."""
    ratios: dict[str, Floats]
    """By method, the outputs' figures over the originals', float64 (runs, 4)."""

    def mean(self, method: str) -> Floats:
        """Mean ratios of a method over the runs, float64 (4,)."""
        return np.asarray(self.ratios[method].mean(axis=0))


def recognition(faces: Vectors, k: int, runs: int) -> RankOneRecognition:
    """Figures 6 and 7 for one k on faces (n, d): every method in each of `runs` runs, triggers in random order.

    The methods of a run have generators with the same seed. k-Same-furthest needs n ≥ 2k and is left out otherwise
    (39 people, k = 20). Raises SettingsError for faces too few for k-Same-M.
    """
    rates: dict[str, list[float]] = {}
    counts: dict[str, list[float]] = {}
    for run in range(runs):
        outputs, pairs = _one_run(faces, k, [_SEED, k, run])
        for name, vectors in outputs.items():
            missed, chance = rank_1(vectors, faces)
            if name == SAME:
                rates.setdefault(SAME_MISSED, []).append(missed)
                rates.setdefault(SAME_CHANCE, []).append(chance)
            else:
                rates.setdefault(name, []).append(missed)
        for name, value in _cluster_counts(pairs, len(faces)).items():
            counts.setdefault(name, []).append(value)
    return RankOneRecognition(
        k,
        {name: np.array(values) for name, values in rates.items()},
        {name: float(np.mean(values)) for name, values in counts.items()},
    )


def printed_rates(faces: Vectors, k: int, runs: int) -> Floats:
    """Rank-1 of k-Diff-furthest with leftovers as printed in each run, float64 (runs,), as `recognition` has it."""
    pairs = (k_diff_furthest_pairs(faces, k, np.random.default_rng([_SEED, k, run])) for run in range(runs))
    return np.array([rank_1(printed_outputs(faces, each), faces)[0] for each in pairs])


def diversity(faces: Vectors, runs: int, k: int = RATIO_K) -> Diversity:
    """Table I as ratios, for faces (n, d), n ≥ 2k; the runs' seeds are those of `recognition`."""
    originals = distance_figures(faces)
    ratios: dict[str, list[Floats]] = {}
    for run in range(runs):
        seed = [_SEED, k, run]
        outputs = {
            DIFF: k_diff_furthest(faces, k, np.random.default_rng(seed)),
            PRINTED: printed_outputs(faces, k_diff_furthest_pairs(faces, k, np.random.default_rng(seed))),
            SINGLES: k_diff_furthest(faces, k, np.random.default_rng(seed), singles=True),
            SAME: k_same_m(faces, k, np.random.default_rng(seed)),
            SAME_FURTHEST: k_same_furthest(faces, k, np.random.default_rng(seed)),
        }
        for name, vectors in outputs.items():
            ratios.setdefault(name, []).append(distance_figures(vectors) / originals)
    return Diversity(originals, {name: np.stack(rows) for name, rows in ratios.items()})


def rank_1(outputs: Vectors, faces: Vectors) -> tuple[float, float]:
    """Share of outputs (n, d) nearest to their own original in faces (n, d): with ties missed, with ties by chance.

    By chance, one of t equally near originals is named with probability 1/t each.
    """
    people = np.arange(len(faces))
    to_faces = np.linalg.norm(outputs[:, None] - faces, axis=2)
    least = to_faces.min(axis=1, keepdims=True)
    at_least = to_faces <= least * (1.0 + SLACK)
    missed = identified(np.where(at_least, least, to_faces), people, people).mean()
    chance = guessed(to_faces, people).mean()
    return float(missed), float(chance)


def printed_outputs(faces: Vectors, pairs: tuple[Pair, ...]) -> Vectors:
    """Outputs by lines 30 to 39 of P3's fig. 2, leftovers shifted like the members of the cluster they joined."""
    outputs = np.empty_like(faces)
    for pair in pairs:
        close, far = [*pair.close.members, *pair.attached_close], [*pair.far.members, *pair.attached_far]
        shift = pair.close.centroid - pair.far.centroid
        outputs[close] = faces[close] - shift
        outputs[far] = faces[far] + shift
    return outputs


def pair_distances(faces: Vectors) -> Floats:
    """Euclidean distances of all pairs of faces (n, d), float64 (n (n - 1) / 2,); equal faces give exactly 0."""
    first, second = np.triu_indices(len(faces), 1)
    return np.asarray(np.linalg.norm(faces[first] - faces[second], axis=1))


def distance_figures(faces: Vectors) -> Floats:
    """Smallest, largest and mean distance of all pairs, and the standard deviation without zeros: float64 (4,).

    The deviation is 0 when fewer than two distances are left.
    """
    distances = pair_distances(faces)
    apart = distances[distances > 0.0]
    deviation = apart.std(ddof=1) if len(apart) > 1 else 0.0
    return np.array([distances.min(), distances.max(), distances.mean(), deviation])


def effective_dimension(faces: Vectors) -> float:
    """Participation ratio of the covariance's eigenvalues: (Σλ)² / Σλ²."""
    covariance = np.cov(faces.T)
    return float(np.trace(covariance) ** 2 / np.square(covariance).sum())


def _one_run(faces: Vectors, k: int, seed: list[int]) -> tuple[dict[str, Vectors], dict[str, tuple[Pair, ...]]]:
    pairs = {
        DIFF: k_diff_furthest_pairs(faces, k, np.random.default_rng(seed)),
        SINGLES: k_diff_furthest_pairs(faces, k, np.random.default_rng(seed), singles=True),
        RELAXED: k_diff_furthest_pairs(faces, k, np.random.default_rng(seed), relaxed=True),
    }
    outputs = {SAME: k_same_m(faces, k, np.random.default_rng(seed))}
    if len(faces) >= 2 * k:
        outputs[SAME_FURTHEST] = k_same_furthest(faces, k, np.random.default_rng(seed))
    outputs[SINGLES] = k_diff_furthest(faces, k, np.random.default_rng(seed), singles=True)
    outputs[PRINTED] = printed_outputs(faces, pairs[DIFF])
    outputs[DIFF] = k_diff_furthest(faces, k, np.random.default_rng(seed))
    outputs[RELAXED] = k_diff_furthest(faces, k, np.random.default_rng(seed), relaxed=True)
    return outputs, pairs


def _cluster_counts(pairs: dict[str, tuple[Pair, ...]], people: int) -> dict[str, float]:
    """Shares of iterations and of people in pairs of two lone faces, cluster sizes and leftovers."""
    lone = {name: sum(_lone(pair) for pair in found) for name, found in pairs.items()}
    leftovers = [len(pair.attached_close) + len(pair.attached_far) for pair in pairs[DIFF]]
    return {
        "lone pairs, share of iterations, singles allowed": lone[SINGLES] / len(pairs[SINGLES]),
        "lone pairs, share of iterations, singles not allowed": lone[DIFF] / len(pairs[DIFF]),
        "lone pairs, share of iterations, relaxed test": lone[RELAXED] / len(pairs[RELAXED]),
        "people who get another person's face, singles allowed": 2 * lone[SINGLES] / people,
        "people who get another person's face, singles not allowed": 2 * lone[DIFF] / people,
        "leftover people in a run": float(sum(leftovers)),
        "mean cluster size": _size(pairs[DIFF]),
        "mean cluster size, relaxed test": _size(pairs[RELAXED]),
    }


def _lone(pair: Pair) -> bool:
    """Whether two single faces exchange places."""
    return len(pair.close.members) == len(pair.far.members) == 1 and not (pair.attached_close or pair.attached_far)


def _size(pairs: tuple[Pair, ...]) -> float:
    return float(np.mean([len(pair.close.members) for pair in pairs]))
