"""Principal components of row vectors, from the smaller matrix of products (Turk & Pentland 1991; P5 figure 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Floats

_TIE = 1e-6
"""Share of the largest entry within which another one counts as equally large: rounding must not decide a sign."""


@dataclass(frozen=True)
class Components:
    """mean (d,), basis (m, d) of orthonormal rows, variances (m,) descending, with 1 / (n - 1) (methods.md 1.2)."""

    mean: Floats
    basis: Floats
    variances: Floats


def principal_components(rows: Floats, share: float = 1.0, most: int | None = None) -> Components:
    """Components of rows (n, d) that carry the given share of the variance, at most `most` of them.

    Signs are fixed (the largest entry of each row is positive, the first of them where a mirrored set has several) so
    that training twice gives the same file.
    """
    mean = rows.mean(axis=0)
    centred = rows - mean
    values, vectors = np.linalg.eigh(centred @ centred.T)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    rank = int((values > values[0] * 1e-10).sum()) if values[0] > 0 else 0
    keep = (
        min(rank, int(np.searchsorted(np.cumsum(values[:rank]) / values[:rank].sum(), share - 1e-12)) + 1)
        if rank
        else 0
    )
    keep = keep if most is None else min(keep, most)
    basis = (vectors[:, :keep] / np.sqrt(values[:keep])).T @ centred
    size = np.abs(basis)
    first = (size > (1 - _TIE) * size.max(axis=1, keepdims=True, initial=0)).argmax(axis=1)
    signs = np.sign(basis[np.arange(keep), first])
    return Components(mean, basis * signs[:, None], values[:keep] / (len(rows) - 1))
