"""The face at rest of a person who may never have been seen at rest.

Expression is what a frame adds to the face at rest (`expression`). A person who smiles in every frame is "at rest"
smiling by the estimate of `neutral`, and the surrogate would then never smile. So the smile that an estimate probably
contains is taken out of it.

How much that is follows from the people of the training set, each judged by a rule that had not seen them
(models/CARD.md): the amount of a smile (`aam.smile`) is 0.0 ± 0.3 in their faces at rest and 1.0 ± 0.5 in their smiles.
These numbers give the likelihood that an estimate with amount a is a smile. If it is one, it exceeds the person's face
at rest by 1 + 0.7 (a - 1) on average. `_TAKEN` is the product of the two, for estimates of which between a third and
one half are smiles. No smile is taken from 9 of 10 faces at rest of Canada (40 people), nor from half of those of IMM
(37), where the camera looks from another height; nothing was trained on either. Corners of the mouth that are raised
without more of a smile count, too.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.mouth_corners import corner_height, with_corners_between
from streamdeid.aam.procrustes import align
from streamdeid.aam.smile import amount
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import LOWER_LIDS, MIRROR, OUTLINE, UPPER_LIDS

_UNEVEN = 2.0
"""Pixels of the model's frame, 200 wide, by which a point of a face at rest may lie off the middle between it and its
mirror image; 19 of 20 points of donors' mouths lie within that. A person who winks through a short shot counts as at
rest while winking, and an even mouth would be rendered awry."""
_RAISED, _LOWERED = 0.03, 0.05
"""Largest height of the corners of the mouth of a face at rest, a share of the mouth's width, and by how much the
corners are lowered at most: so much of a person's own mouth is rendered as a smile. London's at rest are at -.03 ± .04:
one face of fifteen lies higher. With 0, people who just talk would smile (speech_1)."""
_AMOUNTS = (0.3, 0.7, 1.5)
"""Amount of a smile in an estimate of the face at rest."""
_TAKEN = (0.0, 0.7, 1.3)
"""Share of a mean smile that is taken out for these amounts; for larger amounts it stays at the last share."""

_FOLDED = (-0.3, 0.6, 1.0)
"""Least smile that folds follow, the smile up to which they follow in full, and the one that they stay below. Faces at
rest differ by 0.3, and an open mouth counts as a large smile (up to 2.6), although it raises no cheek."""


def folds(shape: Points, rest: Points, model: AppearanceModel) -> Pixels:
    """The change that the smile of a frame makes to the surrogate's skin: natural log, float32 (f, 3) in the fit's
    frame.

    shape, rest: the person in this frame and at rest (`at_rest`), (81, 2) both. The result is the training people's
    mean folds, in proportion to the smile. So it takes one number from the person, which the mouth shows anyway, and no
    line of the own face.
    """
    more = smile_in(shape, model) - smile_in(rest, model)
    least, follow, most = _FOLDED
    if more > follow:
        more = most - (most - follow) * float(np.exp(-(more - follow) / (most - follow)))
    return model.smile_folds * np.float32(max(more, least))


def smile_in(shape: Points, model: AppearanceModel) -> float:
    """Amount of a smile in a frontal shape (81, 2) in any frame: 0 for the training set's mean face at rest, 1
    for its mean smile. One half for a model that has learnt nothing of smiles.
    """
    return amount(align(shape, model.mean_shape)(shape), model.mean_shape, model.smile_weights)


def at_rest(shape: Points, model: AppearanceModel) -> Points:
    """A frontal shape (81, 2), an estimate of a person's face at rest, without the smile and the unevenness that it
    probably contains; the same array where it contains none."""
    shape = _level(shape)
    to_frame = align(shape, model.mean_shape)
    amount_in = amount(to_frame(shape), model.mean_shape, model.smile_weights)
    taken = float(np.interp(amount_in, _AMOUNTS, _TAKEN))
    if taken > 0:
        shape = shape - taken * model.smile @ np.linalg.inv(to_frame.linear).T
    return with_corners_between(shape, -np.inf, max(_RAISED, corner_height(shape) - _LOWERED))


def opened(shape: Points, times: float) -> Points:
    """A shape (81, 2) with its eyes open so many times as wide, by moving their upper lids; the same array for 1."""
    if times == 1:
        return shape
    wide = shape.copy()
    wide[UPPER_LIDS] = shape[LOWER_LIDS] + times * (shape[UPPER_LIDS] - shape[LOWER_LIDS])
    return wide


def _level(shape: Points) -> Points:
    """The shape (81, 2) with its features no more uneven than faces at rest are. Its outline stays as it is, since a
    turn of the head makes it uneven."""
    flipped = shape[MIRROR] * (-1, 1)
    uneven = (shape - align(flipped, shape)(flipped)) / 2
    excess = uneven - np.clip(uneven, -_UNEVEN, _UNEVEN)
    excess[OUTLINE] = 0
    levelled: Points = shape - excess
    return levelled if excess.any() else shape
