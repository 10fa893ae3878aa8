"""A4, candidate inversion: add every shift that the method may have taken away, and see whom that meets.

The attacker knows the reference gallery and the algorithm. The order of triggers is keyed, so the shifts of his own
run are not those of the session: both are tried, those of the session as the worst case.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.surrogates.fixed_map import FixedMap


def shifts_of(fixed: FixedMap) -> Vectors:
    """Δ = c_a − c_b of every cell: what has to be added to an output of the cell, float64 (cells, d)."""
    return fixed.sources - fixed.targets


def inverted(published: Vectors, gallery: Vectors, shifts: Vectors) -> Vectors:
    """Distances (p, g): the least, over shifts (s, d), from published (p, d) + shift to gallery (g, d).

    Pass whitened vectors and whitened shifts for the whitened metric. |p + Δ − g|² is taken apart, so that nothing
    of size p · g · s is ever held.
    """
    far = np.square(published).sum(axis=1)[:, None] + np.square(gallery).sum(axis=1) - 2.0 * published @ gallery.T
    of_published = np.square(shifts).sum(axis=1) + 2.0 * published @ shifts.T
    of_gallery = 2.0 * gallery @ shifts.T
    best = np.full(far.shape, np.inf)
    for number in range(len(shifts)):
        np.minimum(best, of_published[:, number, None] - of_gallery[:, number], out=best)
    return np.asarray(np.sqrt(np.maximum(far + best, 0.0)), dtype=np.float64)
