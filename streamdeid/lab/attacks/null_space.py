"""A5, null space: compare what a shift between clusters cannot change.

Two features: the part at right angles to all differences of paired centroids, whitened; and the residual that is left
when the nearest centroid is taken away. The attacker knows the gallery and the algorithm, so he has pairs of his own
(another order of triggers); the session's own pairs are the worst case.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.clusters import pairwise
from streamdeid.lab.attacks.inversion import shifts_of
from streamdeid.lab.attacks.people import Population
from streamdeid.surrogates.fixed_map import FixedMap


def projected(published: Vectors, gallery: Vectors, fixed: FixedMap, population: Population) -> Vectors:
    """Distances (p, g) after span{c_a − c_b} is projected out, whitened in what is left.

    Projecting whitened vectors at right angles to the whitened shifts is the same as whitening the null space.
    """
    # A shift is a difference: added to the mean it is whitened as one.
    shifts = population.whitened(shifts_of(fixed) + population.mean)
    _, singular, directions = np.linalg.svd(shifts, full_matrices=False)
    span = directions[singular > 1e-9 * singular[0]]
    p, g = population.whitened(published), population.whitened(gallery)
    return pairwise(p - (p @ span.T) @ span, g - (g @ span.T) @ span)


def residual(published: Vectors, gallery: Vectors, fixed: FixedMap, population: Population) -> Vectors:
    """Distances (p, g) of whitened residuals: published minus its nearest target, gallery minus its nearest source."""
    p = published - fixed.targets[pairwise(published, fixed.targets).argmin(axis=1)]
    g = gallery - fixed.sources[pairwise(gallery, fixed.sources).argmin(axis=1)]
    return pairwise(population.whitened(p + population.mean), population.whitened(g + population.mean))
