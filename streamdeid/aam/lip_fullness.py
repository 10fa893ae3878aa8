"""How full the lips of a shape are, and shapes whose lips are no fuller than most people's."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.mouth_corners import levelled
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import LOWER_LIP_PAIRS, MOUTH, UPPER_LIP_PAIRS

_UPPER, _LOWER = (MOUTH.start + np.array(pairs) for pairs in (UPPER_LIP_PAIRS, LOWER_LIP_PAIRS))
"""Points of the outer lips, each with the point of the inner lips beside it, int (5, 2)."""
_MIDDLE = slice(1, 4)
"""Pairs of either lip at which its thickness is measured."""


def fullness(shape: Points) -> float:
    """Thickness of both lips of a shape (81, 2) together, over the mouth's width."""
    (_, down, width), _, _ = levelled(shape)
    thick = 0.0
    for lip in (_UPPER, _LOWER):
        outer, inner = lip[_MIDDLE].T
        thick += float(np.abs((shape[outer] - shape[inner]) @ down).mean())
    return thick / width


def with_lips_at_most(shape: Points, most: float, share: float) -> Points:
    """A shape (81, 2) with only a share of its fullness beyond a bound; the same array where it is within the bound."""
    full = fullness(shape)
    if full <= most:
        return shape
    factor = (most + share * (full - most)) / full
    (_, down, _), _, _ = levelled(shape)
    thinner = shape.copy()
    outer, inner = np.concatenate([_UPPER, _LOWER]).T
    thinner[outer] -= np.outer((1 - factor) * ((shape[outer] - shape[inner]) @ down), down)
    return thinner
