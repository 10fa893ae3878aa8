"""How well a measure on published pictures follows the same measure on the originals."""

from __future__ import annotations

import math

import numpy as np

from streamdeid.core.arrays import Points

_LEAST = 3
"""Pairs below which a correlation says nothing."""


def pearson(x: Points, y: Points) -> float:
    """Pearson's r of two arrays of one shape; pairs with a nan do not count. nan for few pairs or no variation."""
    a, b = _pairs(x, y)
    if len(a) < _LEAST or not a.std() or not b.std():
        return math.nan
    return float(((a - a.mean()) * (b - b.mean())).mean() / (a.std() * b.std()))


def concordance(x: Points, y: Points) -> float:
    """Lin's concordance coefficient (1989): like Pearson's r, and falls with any shift or change of scale.

    2 s_xy / (s_x² + s_y² + (mean_x − mean_y)²), with 1/n variances; nan as in `pearson`.
    """
    a, b = _pairs(x, y)
    spread = float(a.var() + b.var() + (a.mean() - b.mean()) ** 2) if len(a) >= _LEAST else 0.0
    if not spread:
        return math.nan
    return float(2 * ((a - a.mean()) * (b - b.mean())).mean() / spread)


def _pairs(x: Points, y: Points) -> tuple[Points, Points]:
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]
