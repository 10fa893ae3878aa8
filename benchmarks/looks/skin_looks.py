"""Does the new skin have the colour and the shading of the person's? Soft fields on plain skin, in natural logs.

Both faces are looked at through the same mask: the inside of the original's mesh without its features, without what on
the *original* is no plain skin (`plain_skin`: beard, hair, glasses, a hand), blurred within the mask by 5 % of the
face's width. What the new face wears of beard and folds counts: that is what one sees.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from benchmarks.looks.face_pairs import LUMA, Pair, bare
from streamdeid.core.arrays import Flags, Pixels

_SOFT = 0.05
"""Width of the blur, share of the face's width."""
_BLACK = 4.0
"""Grey levels added before logarithms: of black pixels they would say nothing but noise."""
_LEAST_SHARE = 0.25
"""Share of the bare face that must be plain skin on the original for it to be measured."""
_OFF_LUMA, _OFF_COLOUR = 0.15, 0.06
"""Log luma and log chroma off the smooth skin by which a place is none; for uneven skin, three robust deviations, but
at most twice as much."""
_LOWER = 0.1
"""Weight of what lies below the nostrils when the smooth skin is sought: it must not bend into a beard."""
_ROUNDS = 6


@dataclass(frozen=True)
class SkinLooks:
    """How a new face's skin differs from the person's, natural logs."""

    colour: float
    """Root mean square over the skin and over R, G, B of the difference in log channel less log luma."""
    shading: float
    """Root mean square over the skin of the difference in log luma, its median taken off."""
    level: float
    """That median: above 0 the new face is lighter."""


def skin_looks(pair: Pair) -> SkinLooks | None:
    """Skin of the new face against the original's; None where the original shows too little plain skin."""
    skin = plain_skin(pair)
    if skin is None:
        return None
    before, after = (_logs(soft(picture, skin, pair.width))[skin] for picture in (pair.before, pair.after))
    luma = after[:, 0] - before[:, 0]
    colour = after[:, 1:] - before[:, 1:]
    level = float(np.median(luma))
    return SkinLooks(float(np.sqrt(np.mean(colour**2))), float(np.sqrt(np.mean((luma - level) ** 2))), level)


def soft(picture: Pixels, mask: Flags, width: float) -> Pixels:
    """The picture (h, w, 3) blurred within the mask (h, w); width: the face's, pixels. Outside it means nothing."""
    weight = mask.astype(np.float32)
    sigma = _SOFT * width
    total = cv2.GaussianBlur(picture * weight[:, :, None], (0, 0), sigma)
    return np.asarray(total / np.maximum(cv2.GaussianBlur(weight, (0, 0), sigma), 1e-6)[:, :, None], np.float32)


def plain_skin(pair: Pair) -> Flags | None:
    """Where the original is plain skin, bool (h, w): a second-order surface through its log luma and a plane through
    each chroma are fitted with Tukey's weights, and what is far off them is something else. None for too little."""
    where = bare(pair)
    if where.sum() < 100:
        return None
    values = _logs(soft(pair.before, where, 0.4 * pair.width))[where]
    rows, columns = np.nonzero(where)
    y, x = ((v - v.mean()) / pair.width for v in (rows.astype(np.float64), columns.astype(np.float64)))
    plane = np.stack([np.ones_like(x), x, y], axis=1)
    surface = np.column_stack([plane, x * x, x * y, y * y])
    first = np.where(_below_nose(pair, rows, columns), _LOWER, 1.0)
    near = np.ones(len(x), np.bool_)
    for terms, value, least in (
        (surface, values[:, 0], _OFF_LUMA),
        (plane, values[:, 1], _OFF_COLOUR),
        (plane, values[:, 3], _OFF_COLOUR),
    ):
        near &= _close(terms, value, first, least)
    if near.mean() < _LEAST_SHARE:
        return None
    mask = np.zeros_like(where)
    mask[rows[near], columns[near]] = True
    return mask


def _below_nose(pair: Pair, rows: np.ndarray, columns: np.ndarray) -> Flags:
    """Which places lie below the nostrils, as the face is turned."""
    bridge, tip = pair.points[27], pair.points[33]
    down = tip - bridge
    below: Flags = (np.stack([columns, rows], axis=1) - tip) @ down > 0
    return below


def _close(terms: np.ndarray, values: np.ndarray, first: np.ndarray, least: float) -> Flags:
    """Which values (n,) lie on the smooth surface of the terms (n, k); first: weights (n,) kept throughout."""
    weights = first
    for _ in range(_ROUNDS):
        weighted = terms * weights[:, None]
        surface = terms @ np.linalg.lstsq(weighted.T @ terms, weighted.T @ values, rcond=None)[0]
        off = np.abs(values - surface)
        limit = float(np.clip(3 * 1.4826 * np.median(off), least, 2 * least))
        weights = first * np.clip(1 - (off / limit) ** 2, 0, 1) ** 2
    close: Flags = off < limit
    return close


def _logs(picture: Pixels) -> Pixels:
    """Log luma, then log R, G and B less it: (h, w, 4)."""
    luma = np.log(picture @ LUMA + _BLACK)[:, :, None]
    return np.concatenate([luma, np.log(picture + _BLACK) - luma], axis=2)
