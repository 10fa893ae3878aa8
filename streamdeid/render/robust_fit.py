"""Robust least squares for what most pixels of a face tell of its light: hair, glasses and shadows count little."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.positive_system import solved
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.kernel_cache import kernel, reordering_kernel


def robust_fit(
    terms: Points,
    level: Pixels,
    weights: Points,
    usual: Points,
    ridge: Points,
    scale: float,
    rounds: int,
    before: float = -np.inf,
) -> Points:
    """The coefficients float64 (q,) of level (p,) over terms (p, q), by reweighted least squares.

    The weights are Geman and McClure's of that scale, at first Cauchy's of three times the scale. A ridge (q,), times
    the total weight (p,), pulls the coefficients towards the usual ones (q,). The first term is constant; it leaves as
    much above the fit as below. before: where most of the level lay a frame ago, or lies beside the nose, over what is
    usual. The search begins there if the median is lower, as it is where hair or a hand is over half of a face, with
    weights that are up to squared.
    """
    columns = np.ascontiguousarray(terms, np.float64)
    found: Points = _robust_fit(columns, level.astype(np.float64), weights, usual, ridge, scale, rounds, before)
    return found


def middle_of(values: Points, weights: Points) -> float:
    """The weighted median of values (n,) with weights (n,)."""
    return float(_weighted_median(np.ascontiguousarray(values, np.float64), np.ascontiguousarray(weights, np.float64)))


@kernel
def _robust_fit(terms, level, weights, usual, ridge, scale, rounds, before):  # type: ignore[no-untyped-def]
    n, q = terms.shape
    total = weights.sum()
    away = np.empty(n)
    for i in range(n):
        away[i] = level[i]
        for j in range(q):
            away[i] -= terms[i, j] * usual[j]
    # Hair over the forehead has little weight from the start.
    median = _weighted_median(away, weights)
    middle = max(median, before)
    # Where most is hair, all of it together would weigh as much as the skin.
    power = 1 + min((middle - median) / (3 * scale), 1.0)
    now = np.empty(n)
    for i in range(n):
        now[i] = weights[i] / (1 + ((away[i] - middle) / (3 * scale)) ** 2) ** power
    found = usual.copy()
    for _ in range(rounds):
        matrix, right = _normal_equations(terms, level, now)
        for j in range(q):
            matrix[j, j] += total * ridge[j]
            right[j] += total * ridge[j] * usual[j]
        found = solved(matrix, right)
        for i in range(n):
            away[i] = level[i]
            for j in range(q):
                away[i] -= terms[i, j] * found[j]
            now[i] = weights[i] / (1 + (away[i] / scale) ** 2) ** 2
    found[0] += _weighted_median(away, now)  # the densest colour counts most, so the fit is a shade off
    return found


@kernel
def _weighted_median(values, weights):  # type: ignore[no-untyped-def]
    """The least of values (n,) up to which half of the weights (n,) lie.

    As in quicksort, the search goes on in the part that the result lies in.
    """
    left, masses = values.copy(), weights.copy()
    count, before, half = len(values), 0.0, weights.sum() / 2
    while count > 1:
        a, b, c = left[0], left[count // 2], left[count - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        lower, lower_mass, same_mass = 0, 0.0, 0.0
        for i in range(count):
            if left[i] < pivot:
                lower += 1
                lower_mass += masses[i]
            elif left[i] == pivot:
                same_mass += masses[i]
        if before + lower_mass < half <= before + lower_mass + same_mass:
            return pivot
        down = lower > 0 and before + lower_mass >= half
        kept = 0
        for i in range(count):
            if (left[i] < pivot) if down else (left[i] > pivot):
                left[kept], masses[kept] = left[i], masses[i]
                kept += 1
        if kept == 0:  # rounding, or no numbers
            return pivot
        before, count = before if down else before + lower_mass + same_mass, kept
    return left[0]


@reordering_kernel
def _normal_equations(terms, level, weights):  # type: ignore[no-untyped-def]
    n, q = terms.shape
    matrix, right = np.zeros((q, q)), np.zeros(q)
    columns, weighted = np.empty((q, n)), np.empty(n)
    for i in range(n):
        for j in range(q):
            columns[j, i] = terms[i, j]
    for j in range(q):
        total = 0.0
        for i in range(n):
            weighted[i] = weights[i] * columns[j, i]
            total += weighted[i] * level[i]
        right[j] = total
        for k in range(j + 1):
            total = 0.0
            for i in range(n):
                total += weighted[i] * columns[k, i]
            matrix[j, k] = matrix[k, j] = total
    return matrix, right
