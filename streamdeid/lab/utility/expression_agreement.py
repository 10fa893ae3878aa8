"""Whether a smile is still one: a classifier trained on originals looks at published pictures (P2, P4, methods.md 5.2).

The people are disjoint: for each half of the people the Fisherface is trained on the original pictures of the other
half. P4 trains on originals and tests on de-identified smiling faces in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Flags, Points
from streamdeid.errors import SettingsError
from streamdeid.k_same.fisherface import fit_fisherface
from streamdeid.lab.utility.correlation import concordance, pearson

NEUTRAL, SMILING = 0, 1
"""Columns of the pictures of a person."""
_LEAST_PEOPLE = 4


@dataclass(frozen=True)
class Agreement:
    """What the classifier sees in published pictures; nan where nothing was measured."""

    pictures: int
    """Published pictures in which a face was found again."""
    right: float
    """Share of them that are put into the right class; chance is one half."""
    neutral_right: float
    smiling_right: float
    as_original: float
    """Share of them that are put into the class into which the original is put, rightly or not."""
    intensity_r: float
    """Pearson's r of the intensities of originals and published pictures."""
    intensity_concordance: float
    change_r: float
    """Pearson's r of what a person's smile adds to the intensity."""


def intensities(training: Points, tested: Points) -> Points:
    """Intensity, float64 (n, 2), of pictures `tested` (n, 2, d), by the Fisherface of the other half of `training`.

    training (n, 2, d): the original pictures of the same people, neutral and smiling; people with a nan do not train.
    nan where `tested` is. Raises SettingsError for too few people.
    """
    known = np.isfinite(training).all(axis=(1, 2))
    # Every other one, so that both halves have the mix of the files' order.
    half = np.arange(len(training)) % 2
    found = np.full(tested.shape[:2], np.nan)
    for own in (0, 1):
        teachers = training[known & (half != own)]
        if len(teachers) < _LEAST_PEOPLE:
            raise SettingsError(f"{known.sum()} people with two expressions are too few to train on one half of them")
        smiling = np.tile(np.arange(2) == SMILING, len(teachers))
        face = fit_fisherface(teachers.reshape(-1, training.shape[2]), smiling)
        rows, columns = np.nonzero(np.isfinite(tested).all(axis=2) & (half == own)[:, None])
        found[rows, columns] = face.intensity(tested[rows, columns])
    return found


def expression_agreement(training: Points, originals: Points, published: Points) -> Agreement:
    """Compare published pictures with originals; all float64 (n, 2, d): neutral and smiling of the same people.

    training and originals may be the same array, or `originals` the originals as measured again. Raises SettingsError.
    """
    before, after = intensities(training, originals), intensities(training, published)
    seen = np.isfinite(after)
    positive = after > 0.0
    right = positive == (np.arange(2) == SMILING)
    both = seen & np.isfinite(before)

    def share(hits: Flags, where: Flags) -> float:
        return float(hits[where].mean()) if where.any() else float("nan")

    return Agreement(
        pictures=int(seen.sum()),
        right=share(right, seen),
        neutral_right=share(right[:, NEUTRAL], seen[:, NEUTRAL]),
        smiling_right=share(right[:, SMILING], seen[:, SMILING]),
        as_original=share(positive == (before > 0.0), both),
        intensity_r=pearson(before, after),
        intensity_concordance=concordance(before, after),
        change_r=pearson(before[:, SMILING] - before[:, NEUTRAL], after[:, SMILING] - after[:, NEUTRAL]),
    )
