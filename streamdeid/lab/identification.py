"""Who was recognised: rank, acceptance at a false-accept rate, equal error rate, and how sure the figures are.

Distances only, so that every recogniser of the laboratory is judged alike (docs/methods.md 1.2 and 3.3). A distance
that is not finite stands for a comparison that could not be made: it never identifies anybody and is never accepted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError

_TAIL = 0.025
"""Probability on each side of a 95 % interval."""
_HALVINGS = 64


@dataclass(frozen=True)
class Interval:
    """A measured mean or share with its 95 % limits; nan where nothing was measured."""

    value: float
    low: float
    high: float
    count: int
    """What the limits rest on: people for `bootstrap`, trials for `exact_limits`."""


def identified(
    distances: Floats, probe_people: ArrayLike, gallery_people: ArrayLike, rank: int = 1
) -> NDArray[np.bool_]:
    """Whether each probe's own person is among the `rank` nearest people of a closed gallery: bool (p,).

    distances float (p, g); labels (p,) and (g,), all ints or all strings. A person counts by the nearest of his gallery
    entries. It is a hit when fewer than `rank` other people are as near or nearer: of k people at one distance none is
    told apart, so ties are missed (docs/methods.md 1.2; k-Same's outputs tie on purpose). A probe whose person is not
    in the gallery is missed. Raises SettingsError for shapes that do not fit or a rank below 1.
    """
    own, theirs = np.asarray(probe_people), np.asarray(gallery_people)
    if distances.shape != (len(own), len(theirs)):
        raise SettingsError(f"distances {distances.shape} do not fit {len(own)} probes and {len(theirs)} gallery faces")
    if rank < 1:
        raise SettingsError(f"a rank is at least 1, not {rank}")
    if not distances.size:
        return np.zeros(len(own), np.bool_)
    known = np.where(np.isfinite(distances), distances, np.inf)
    people, person_of = np.unique(theirs, return_inverse=True)
    order = np.argsort(person_of, kind="stable")
    first = np.searchsorted(person_of[order], np.arange(len(people)))
    best = np.minimum.reduceat(known[:, order], first, axis=1)
    place = np.minimum(np.searchsorted(people, own), len(people) - 1)
    own_best = np.where(people[place] == own, best[np.arange(len(own)), place], np.inf)
    as_near = (best <= own_best[:, None]).sum(axis=1) - 1  # the person himself is as near as himself
    return np.asarray(np.isfinite(own_best) & (as_near < rank))


def threshold_at(impostors: Floats, far: float) -> float:
    """The largest threshold at which at most the share `far` of impostor distances (n,) is accepted.

    It lies just below the first impostor that must be refused, so equal impostors are refused together; inf when none
    must be. nan counts as infinitely far. Raises SettingsError without impostors or for a rate outside 0 to 1.
    """
    if not impostors.size or not 0.0 <= far <= 1.0:
        raise SettingsError("a threshold needs impostor distances and a false-accept rate from 0 to 1")
    ordered = np.sort(np.where(np.isnan(impostors), np.inf, impostors).ravel())
    count = len(ordered)
    allowed = math.floor(far * count)
    if (allowed + 1) / count <= far:  # 0.29 * 100 is 28.999...
        allowed += 1
    return math.inf if allowed >= count else float(np.nextafter(ordered[allowed], -np.inf))


def accepted(genuine: Floats, threshold: float) -> NDArray[np.bool_]:
    """Which distances (n,) a verifier with this threshold takes for the same person: bool (n,). nan: refused."""
    return np.asarray(np.isfinite(genuine) & (genuine <= threshold))


def equal_error_rate(genuine: Floats, impostors: Floats) -> float:
    """The error at which as many genuine pairs (n,) are refused as impostors (m,) are accepted; 0.5 says nothing.

    The operating points, from accepting nobody to accepting everybody, are joined by straight lines (a verifier may
    toss a coin between two thresholds). nan counts as infinitely far. Raises SettingsError when either side is empty.
    """
    if not genuine.size or not impostors.size:
        raise SettingsError("an equal error rate needs genuine and impostor distances")
    same, other = (np.sort(np.where(np.isnan(side), np.inf, side).ravel()) for side in (genuine, impostors))
    steps = np.unique(np.concatenate([same, other]))
    false_accepts = np.concatenate([[0.0], np.searchsorted(other, steps, side="right") / len(other)])
    false_rejects = np.concatenate([[1.0], 1.0 - np.searchsorted(same, steps, side="right") / len(same)])
    gap = false_accepts - false_rejects  # from -1 up to 1
    after = int(np.argmax(gap >= 0.0))
    share = gap[after - 1] / (gap[after - 1] - gap[after])
    return float(false_accepts[after - 1] + share * (false_accepts[after] - false_accepts[after - 1]))


def bootstrap(hits: NDArray[np.bool_] | Floats, rng: np.random.Generator, runs: int = 2000) -> Interval:
    """Mean of hits (people, trials), or (people,), and percentile limits from `runs` resamplings of whole people.

    People are resampled, not trials: trials of one person rise and fall together. nan marks a trial that was not made;
    people without any are left out. The limits always hold the mean; where nobody or everybody was hit they are exact
    ones over people (Clopper and Pearson). Raises SettingsError when runs is below 1.
    """
    if runs < 1:
        raise SettingsError(f"a bootstrap needs at least 1 run, not {runs}")
    table = np.asarray(hits, dtype=np.float64).reshape(len(hits), -1 if np.size(hits) else 0)
    made = ~np.isnan(table)
    kept = made.any(axis=1)
    sums, counts = np.where(made, table, 0.0).sum(axis=1)[kept], made.sum(axis=1)[kept]
    people = len(sums)
    if not people:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = float(sums.sum() / counts.sum())
    drawn = rng.integers(people, size=(runs, people))
    low, high = np.percentile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [100 * _TAIL, 100 * (1 - _TAIL)])
    if low == high and mean in (0.0, 1.0):
        # Where nobody or everybody was hit resampling knows no doubt; people do (rule of three).
        exact = exact_limits(round(mean * people), people)
        low, high = exact.low, exact.high
    return Interval(mean, min(float(low), mean), max(float(high), mean), people)


def bootstrap_equal_error(
    genuine: Floats, impostors: Floats, people: ArrayLike, rng: np.random.Generator, runs: int = 500
) -> Interval:
    """Equal error rate with 95 % limits from resampling people, given whose probe each row is, labels (n,).

    genuine float (n,); impostors float (n, m), nan where there is no comparison. The value is `equal_error_rate`'s; the
    limits come from 512 thresholds at quantiles of all distances.
    """
    value = equal_error_rate(genuine, impostors[~np.isnan(impostors)])
    known = np.where(np.isnan(genuine), np.inf, genuine)
    finite = np.concatenate([known[np.isfinite(known)], impostors[np.isfinite(impostors)]])
    names, rows = np.unique(np.asarray(people), return_inverse=True)
    if not len(finite) or len(names) < 2:
        return Interval(value, value, value, len(names))
    steps = np.append(np.quantile(finite, np.linspace(0, 1, 511)), np.inf)
    same, other = np.zeros((2, len(names), len(steps)))
    pairs = np.zeros((2, len(names)))
    for row, person in enumerate(rows):
        theirs = np.sort(impostors[row][~np.isnan(impostors[row])])
        same[person] += known[row] <= steps
        other[person] += np.searchsorted(theirs, steps, side="right")
        pairs[:, person] += 1, len(theirs)
    weights = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=runs).astype(np.float64)
    rejects = 1.0 - (weights @ same) / (weights @ pairs[0])[:, None]
    accepts = (weights @ other) / np.maximum(weights @ pairs[1], 1.0)[:, None]
    after = np.argmax(accepts >= rejects, axis=1)
    errors = (accepts + rejects)[np.arange(runs), after] / 2.0
    low, high = np.percentile(errors, [100 * _TAIL, 100 * (1 - _TAIL)])
    return Interval(value, min(float(low), value), max(float(high), value), len(names))


def exact_limits(hits: int, trials: int) -> Interval:
    """Share of hits in independent trials with exact two-sided 95 % limits (Clopper and Pearson 1934).

    The low limit is the chance at which `hits` or more have probability 2.5 %, the high one that at which `hits` or
    fewer have; so 0 of n still gives 1 - 0.025^(1/n). Without trials: nan between 0 and 1. Raises SettingsError for
    counts that cannot be.
    """
    if not 0 <= hits <= trials:
        raise SettingsError(f"{hits} hits in {trials} trials cannot be")
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    share = hits / trials
    low = 0.0 if hits == 0 else _chance(np.arange(hits, trials + 1), trials, (0.0, share))
    high = 1.0 if hits == trials else _chance(np.arange(hits + 1), trials, (share, 1.0))
    return Interval(share, low, high, trials)


def _chance(outcomes: NDArray[np.int64], trials: int, between: tuple[float, float]) -> float:
    """The chance, by bisection, at which these outcomes of a binomial have probability 2.5 % together.

    At the end `between` shares with the measured share they have more, at the other end (0 or 1) they have none.
    """
    # Logarithms: 1e5 trials are beyond any float otherwise. lgamma's error there, 1e-10, is that of the probability.
    whole = math.lgamma(trials + 1)
    ways = np.array([whole - math.lgamma(i + 1) - math.lgamma(trials - i + 1) for i in outcomes.tolist()])
    rises = bool(outcomes[-1] == trials)
    low, high = between
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        logs = ways + outcomes * math.log(middle) + (trials - outcomes) * math.log1p(-middle)
        peak = float(logs.max())
        more = peak + math.log(float(np.exp(logs - peak).sum())) > math.log(_TAIL)
        low, high = (low, middle) if more == rises else (middle, high)
    return (low + high) / 2
