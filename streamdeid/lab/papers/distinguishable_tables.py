"""P3's claims held against what was measured: the verdicts and tables of its chapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.lab.papers.distinguishable_figures import (
    DIFF,
    PRINTED,
    RATIO_K,
    RELAXED,
    SAME,
    SAME_CHANCE,
    SAME_FURTHEST,
    SINGLES,
    Diversity,
    RankOneRecognition,
)
from streamdeid.lab.tables import ClaimVerdict, Table, percent, within

Trial = tuple[str, Diversity, RankOneRecognition]
"""Name of a trial and what it gave at k = 5."""

_ROUNDING = 1e-9


def brightness_verdict(correlation: NDArray[np.float64]) -> ClaimVerdict:
    """Whether the first texture parameter may be set to zero as brightness; correlations float64 (t,)."""
    first, others = abs(float(correlation[0])), float(np.abs(correlation[1:]).max())
    measured = f"{first:.3f}; the others at most {others:.3f}"
    claim = "The first texture parameter is the overall brightness (correlation with mean grey)"
    return ClaimVerdict(claim, "above 0.9", measured, first > 0.9)


def recognition_verdicts(found: list[RankOneRecognition]) -> tuple[ClaimVerdict, ...]:
    """Claims of figures 6 and 7, one `RankOneRecognition` for each k."""

    def largest(name: str) -> str:
        means = [each.rates[name].mean() for each in found]
        return f"{percent(max(means), 2)} (k = {found[int(np.argmax(means))].k})"

    def zero(name: str) -> bool:
        return all(each.rates[name].max() == 0.0 for each in found)

    def below(name: str) -> bool:
        return all(each.rates[name].mean() < 0.004 for each in found)

    same = [(each.k, float(each.rates[SAME_CHANCE].max())) for each in found]
    listed = ", ".join(f"{percent(rate)} (k = {k})" for k, rate in same)
    return (
        ClaimVerdict(
            "Rank-1 of k-Same-M is at most 1/k in every run", "50, 33.3, 20, 10, 5 %", f"largest of a run: {listed}",
            all(rate <= 1.0 / k + 1e-12 for k, rate in same),
        ),
        ClaimVerdict(
            "Rank-1 of k-Diff-furthest is 0 in every run when single-member clusters are allowed", "0 at every k",
            f"largest mean {largest(SINGLES)}", zero(SINGLES),
        ),
        ClaimVerdict(
            "Rank-1 of k-Diff-furthest without single-member clusters, leftovers as printed (figure 7)",
            "mean below 0.4 % at every k", f"largest mean {largest(PRINTED)}", below(PRINTED),
        ),
        ClaimVerdict(
            "The same, leftovers chosen by certificate (ours)", "mean below 0.4 % at every k",
            f"largest mean {largest(DIFF)}", below(DIFF),
        ),
        ClaimVerdict(
            "The relaxed overlap test keeps rank-1 at 0 in every run (docs/methods.md 1.8)", "0 at every k",
            f"largest mean {largest(RELAXED)}", zero(RELAXED),
        ),
    )  # fmt: skip


def diversity_verdicts(spread: Diversity) -> tuple[ClaimVerdict, ...]:
    """Claims of Table I, by the mean ratios over the runs."""
    diff, close, far = (spread.mean(name) for name in (DIFF, SAME, SAME_FURTHEST))

    def near(claim: str, value: float, target: float, tolerance: float) -> ClaimVerdict:
        return ClaimVerdict(
            f"Table I, {claim}", f"{target} ± {tolerance}", f"{value:.3f}", within(value, target, tolerance)
        )

    # Two faces of one cluster keep their distance, up to rounding.
    apart = float((spread.ratios[DIFF][:, 0] >= 1.0 - _ROUNDING).mean())
    narrower = all(each[i] < diff[i] for each in (close, far) for i in (1, 2, 3))
    return (
        near("k-Diff-furthest over originals: mean distance", diff[2], 1.04, 0.05),
        near("k-Diff-furthest over originals: standard deviation", diff[3], 0.89, 0.1),
        ClaimVerdict(
            "Table I, k-Diff-furthest over originals: smallest distance", "at least 1 (paper 1.63)",
            f"{diff[0]:.3f}; at least 1 in {percent(apart)} of runs", bool(diff[0] >= 1.0 - _ROUNDING),
        ),
        near("k-Diff-furthest over originals: largest distance (paper: about the same)", diff[1], 0.99, 0.1),
        ClaimVerdict(
            "Table I, both k-Same narrower than k-Diff-furthest: largest, mean and standard deviation", "all six",
            f"means {close[2]:.2f} and {far[2]:.2f}, standard deviations {close[3]:.2f} and {far[3]:.2f}", narrower,
        ),
        near("k-Same-M over originals: mean distance", close[2], 0.49, 0.1),
        near("k-Same-furthest over originals: mean distance", far[2], 0.74, 0.1),
    )  # fmt: skip


def recognition_tables(
    found: list[RankOneRecognition], otherwise: Mapping[str, Sequence[Vectors]]
) -> tuple[Table, ...]:
    """Rates and clusters, one column for each k.

    otherwise: by name of another weight of shape against texture, `PRINTED`'s rates for each k, float64 (runs,) each.
    """
    rows = {name: [each.rates[name] for each in found] for name in found[0].rates}
    rows |= {f"{PRINTED}, {name}": list(rates) for name, rates in otherwise.items()}
    rates = tuple(
        (name, *(f"{100 * each.mean():.2f} / {100 * each.max():.1f}" for each in row)) for name, row in rows.items()
    )
    columns = tuple(f"k = {each.k}" for each in found)
    limit = ("1/k", *(f"{100.0 / each.k:.2f}" for each in found))
    pairs = tuple((name, *(f"{each.counts[name]:.3g}" for each in found)) for name in found[0].counts)
    return (
        Table("Figures 6 and 7: rank-1 in percent, mean / largest of a run", ("method", *columns), (limit, *rates)),
        Table("Clusters of k-Diff-furthest", ("", *columns), pairs, _SWAPS),
    )


_SWAPS = """\
An iteration with two single-member clusters swaps the faces of two real people. The paper says that only the last two
faces can be left alone; every iteration can end so."""


_OPEN = """\
The paper gives no units, so nobody can tell how its shape and texture parameters are weighted against each other; the
last column shows how much hangs on it. The largest distance of the originals hangs on one or two people."""


def diversity_tables(vectors: Vectors, spread: Diversity, trials: list[Trial]) -> tuple[Table, ...]:
    """Table I for the test set (n, d), and the trials."""
    own = tuple(round(float(value), 2) for value in spread.originals)
    paper = {DIFF: (1.63, 0.99, 1.04, 0.89), SAME: (0, 0.37, 0.49, 0.3), SAME_FURTHEST: (0, 0.62, 0.74, 0.68)}
    rows: list[tuple[str | float, ...]] = [("originals, distances", *own)]
    for name, ratios in spread.ratios.items():
        rows.append((f"{name}, ratios", *(round(float(value), 3) for value in ratios.mean(axis=0))))
        low, high = np.percentile(ratios, [5, 95], axis=0)
        limits = (f"{a:.2f} to {b:.2f}" for a, b in zip(low, high, strict=True))
        rows.append((f"{name}, 5 to 95 % of runs", *limits))
        if name in paper:
            rows.append((f"{name}, the paper's", *paper[name]))
    columns = ("faces", "min", "max", "mean", "std")
    title = f"Table I, k = {RATIO_K}: distances of {len(vectors) * (len(vectors) - 1) // 2} pairs over the originals'"
    lines: list[tuple[str | float, ...]] = [
        (
            name,
            *(round(float(value), 3) for value in each.mean(DIFF)),
            round(float(each.mean(SAME)[2]), 3),
            round(float(each.mean(SAME_FURTHEST)[2]), 3),
            percent(float(rates.rates[PRINTED].mean()), 2),
        )
        for name, each, rates in trials
    ]
    heads = ("vector", "min", "max", "mean", "std", "k-Same-M mean", "k-Same-furthest mean", "rank-1, printed")
    return (
        Table(title, columns, tuple(rows), "Standard deviations of both k-Same leave out distances of zero."),
        Table(f"Trials, k = {RATIO_K}, fewer runs: k-Diff-furthest over originals", heads, tuple(lines), _OPEN),
    )
