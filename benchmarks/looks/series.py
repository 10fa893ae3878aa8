"""Comparing two time series that may have holes (NaN); for the expression benchmark."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.lab.utility.correlation import concordance, pearson

LONGEST_LAG = 5
"""Frames, either way, in which the best lag is sought."""


FEWEST = 10
"""Frames in which both series are known, below which nothing is said."""


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's r of two series (n,) over the frames in which both are known; NaN for fewer than ten."""
    known = np.isfinite(a) & np.isfinite(b)
    return pearson(a[known], b[known]) if known.sum() >= FEWEST else float("nan")


def concordance_about_medians(a: Floats, b: Floats) -> float:
    """Lin's concordance of the deviations from each series' own median: as the correlation, but amplitudes count too.

    Medians are taken off because a new person has lips and brows of their own. NaN for fewer than ten frames."""
    known = np.isfinite(a) & np.isfinite(b)
    if known.sum() < FEWEST:
        return float("nan")
    return concordance(a[known] - np.median(a[known]), b[known] - np.median(b[known]))


def best_lag(a: Floats, b: Floats) -> int:
    """Frames by which b follows a (negative: precedes) when they correlate best; the smallest such lag."""
    lags = sorted(range(-LONGEST_LAG, LONGEST_LAG + 1), key=abs)
    scores = [
        correlation(a[max(0, -lag) : len(a) - max(0, lag)], b[max(0, lag) : len(b) - max(0, -lag)]) for lag in lags
    ]
    known = [-2.0 if np.isnan(score) else score for score in scores]
    return lags[int(np.argmax(np.round(known, 6)))]


def events(active: NDArray[np.bool_]) -> list[int]:
    """First frames of the runs of True."""
    return [int(i) for i in np.flatnonzero(np.diff(np.concatenate([[0], active.astype(int)])) == 1)]


def event_f1(original: list[int], output: list[int], tolerance: int = 2) -> float:
    """F1 of events matched one to one within a tolerance in frames; NaN when there are none on either side."""
    if not original and not output:
        return float("nan")
    free = list(output)
    matched = 0
    for event in original:
        near = min(free, key=lambda other: abs(other - event), default=None)
        if near is not None and abs(near - event) <= tolerance:
            free.remove(near)
            matched += 1
    return 2 * matched / (len(original) + len(output))
