"""How a smile changes a shape, learnt from people photographed at rest and smiling.

The direction is the mean displacement of the vertices from a person's shape at rest to the same person's smile. The
amount of a smile in one shape is 1/2 + <weights, shape - mean shape>: ridge regression on the shape components, each
divided by its standard deviation, scaled so that one mean smile adds 1. So the amount is 0 for the training set's mean
face at rest and 1 for its mean smile: the mean shape contains both equally, and lies half-way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.aam.pca import Components
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import MIRROR

_RIDGE = 0.025
"""Ridge of the regression for each row (10 in all for the 408 rows of London): with 1 to 100 in all, the shapes of the
people left out are classified equally well (21 of 204 on the wrong side of 1/2)."""


@dataclass(frozen=True)
class Smile:
    """Direction and weights, both float64 (81, 2), of pixels of the model's frame; all 0 where nothing was learnt."""

    direction: Points
    weights: Points


def learn_smile(neutral: Points, smiling: Points, mean: Points, components: Components, width: float) -> Smile:
    """Learn from shapes (p, 81, 2) of the same p people in a frame `width` pixels wide, aligned to the mean shape
    (81, 2), and their mirror images; components: of shape. Without people nothing is learnt."""
    if not len(neutral):
        return Smile(np.zeros_like(mean), np.zeros_like(mean))
    neutral, smiling = (np.concatenate([shapes, _mirrored(shapes, width)]) for shapes in (neutral, smiling))
    shapes = np.concatenate([neutral, smiling]) - mean
    scale = np.sqrt(components.variances)
    rows = shapes.reshape(len(shapes), -1) @ components.basis.T / scale
    target = np.repeat([-0.5, 0.5], len(neutral))
    found = np.linalg.solve(rows.T @ rows + _RIDGE * len(rows) * np.eye(len(scale)), rows.T @ target)
    # The mirror images make both symmetric except for rounding.
    weights = _symmetric((found / scale @ components.basis).reshape(mean.shape))
    direction = _symmetric((smiling - neutral).mean(axis=0))
    return Smile(direction, weights / float((weights * direction).sum()))


def amounts_left_out(
    neutral: Points, smiling: Points, mean: Points, components: Components, width: float
) -> tuple[Points, Points]:
    """Amount of a smile in each person's shapes at rest and smiling, float64 (p,) both, by weights learnt from the
    other people; the arguments are those of `learn_smile`."""
    found = []
    for person in range(len(neutral)):
        others = [np.delete(shapes, person, axis=0) for shapes in (neutral, smiling)]
        rule = learn_smile(others[0], others[1], mean, components, width).weights
        found.append([amount(shapes[person], mean, rule) for shapes in (neutral, smiling)])
    rest, smile = np.reshape(found, (-1, 2)).T
    return rest, smile


def amount(shape: Points, mean: Points, weights: Points) -> float:
    """Amount of a smile in a shape (81, 2) aligned to the mean (81, 2)."""
    return 0.5 + float(((shape - mean) * weights).sum())


def _mirrored(shapes: Points, width: float) -> Points:
    turned: Points = shapes[:, MIRROR] * (-1, 1) + (width - 1, 0)
    return turned


def _symmetric(offsets: Points) -> Points:
    both: Points = (offsets + offsets[MIRROR] * (-1, 1)) / 2
    return both
