"""The face at rest of somebody who may never have been seen at rest.

Expression is what a frame adds to the face at rest (`expression`). Whoever smiles in every frame is "at rest" smiling,
by the estimate of `neutral`, and the surrogate then never smiles. So the smile that an estimate is likely to contain is
taken out of it.

How much that is follows from the training set's people, each judged by a rule that had not seen them (models/CARD.md):
the amount of a smile (`aam.smile`) is 0.0 ± 0.3 in their faces at rest and 1.0 ± 0.5 in their smiles. An estimate with
amount a is a smile with a likelihood that these tell, and exceeds its owner's face at rest by 1 + 0.7 (a - 1) then, on
average. `_TAKEN` is the product of the two, for estimates of which between a third and one half are smiles. No smile is
taken from 9 of 10 faces at rest of Canada (40 people), nor from half of those of IMM (37), where the camera looks from
another height; nothing was trained on either. Corners of the mouth that are raised without more of a smile count, too.
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
"""Pixels of the model's frame, 200 wide, by which a point may lie off the middle between it and its mirror image in a
face at rest: 19 of 20 points of donors' mouths do not. Whoever winks through a short shot is at rest winking, and an
even mouth would be drawn awry."""
_RAISED, _LOWERED = 0.03, 0.05
"""Height of the corners of the mouth, a share of its width, that a face at rest has at most, and by how much they are
lowered at most: that much of somebody's own mouth is drawn as a smile. London's at rest are at -.03 ± .04: one face of
fifteen lies higher. At 0 people who just talk smile (speech_1)."""
_AMOUNTS = (0.3, 0.7, 1.5)
"""Amount of a smile in an estimate of the face at rest."""
_TAKEN = (0.0, 0.7, 1.3)
"""What of a mean smile is taken out of it; no more than the last of however much."""

_FOLDED = (-0.3, 0.6, 1.0)
"""Least smile that folds follow, the one up to which they do so in full, and the one that they stay below: faces at
rest differ by 0.3, and an open mouth counts as a large smile (up to 2.6), which draws no cheek up."""


def folds(shape: Points, rest: Points, model: AppearanceModel) -> Pixels:
    """Natural log, float32 (f, 3) in the fit's frame, of what the smile of a frame does to the surrogate's skin.

    shape, rest: the person in this frame and at rest (`at_rest`), (81, 2) both. The training people's mean folds, in
    proportion to the smile: one number of the person's, which the mouth shows anyway, and no line of the own face.
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
    """A frontal shape (81, 2), an estimate of somebody's face at rest, without the smile and the unevenness that it is
    likely to contain; the same array where that is none."""
    shape = _level(shape)
    to_frame = align(shape, model.mean_shape)
    amount_in = amount(to_frame(shape), model.mean_shape, model.smile_weights)
    taken = float(np.interp(amount_in, _AMOUNTS, _TAKEN))
    if taken > 0:
        shape = shape - taken * model.smile @ np.linalg.inv(to_frame.linear).T
    return with_corners_between(shape, -np.inf, max(_RAISED, corner_height(shape) - _LOWERED))


def opened(shape: Points, times: float) -> Points:
    """A shape (81, 2) with its eyes open so many times as wide, by their upper lids; the same array for one."""
    if times == 1:
        return shape
    wide = shape.copy()
    wide[UPPER_LIDS] = shape[LOWER_LIDS] + times * (shape[UPPER_LIDS] - shape[LOWER_LIDS])
    return wide


def _level(shape: Points) -> Points:
    """The shape (81, 2) with its features no more uneven than faces at rest are; its outline, which a turn of the head
    makes uneven, as it is."""
    flipped = shape[MIRROR] * (-1, 1)
    uneven = (shape - align(flipped, shape)(flipped)) / 2
    excess = uneven - np.clip(uneven, -_UNEVEN, _UNEVEN)
    excess[OUTLINE] = 0
    levelled: Points = shape - excess
    return levelled if excess.any() else shape
