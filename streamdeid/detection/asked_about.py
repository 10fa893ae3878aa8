"""Which of the faces that a network sees in a view is the one that the view was made to show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Keypoints
from streamdeid.detection.candidates import overlap
from streamdeid.detection.five_points import FiveFaces, as_detected
from streamdeid.detection.upright_view import seen_in_view

_NEAR = 0.6
"""Largest distance of a face's middle from the view's, across and down, in widths of the box asked about."""
LIKE = (0.4, 2.2)
"""Limits of the longer side of a face's box over that of the box asked about: it holds brows to chin, or the head."""


def surest_asked(
    found: FiveFaces, box: Box, others: Sequence[Box], width: int, side: int, turn: float
) -> Keypoints | None:
    """The face with the highest score among those found in a `view` of these arguments that are the one asked about, in
    pixels of the frame. box: asked about; others: of faces that are known, which are not meant; both in pixels."""
    same = in_the_middle(found, np.full(2, side / 2), width)
    there = seen_in_view(found, box, width, side, turn)
    best: Keypoints | None = None
    for row in np.flatnonzero(same).tolist():
        one = there.keypoints(row)
        if (best is None or one.score > best.score) and not _of_others(one, box, others):
            best = one
    return best


def in_the_middle(found: FiveFaces, middle: NDArray[np.float64], width: int) -> NDArray[np.bool_]:
    """Which of the faces found, (n,), match the face that a view shows `width` pixels wide about its middle, (2,)."""
    away = np.abs((found.boxes[:, :2] + found.boxes[:, 2:]) / 2 - middle).max(axis=1)
    sides = (found.boxes[:, 2:] - found.boxes[:, :2]).max(axis=1)
    return np.asarray((away < _NEAR * width) & (sides > LIKE[0] * width) & (sides < LIKE[1] * width), np.bool_)


def _of_others(found: Keypoints, box: Box, others: Sequence[Box]) -> bool:
    """Whether the face found overlaps another box more than this one, all in pixels."""
    if not len(others):
        return False
    shared = overlap(np.array([as_detected(found.box)]), np.array([box, *others]))[0]
    return bool(shared[1:].max() > shared[0])
