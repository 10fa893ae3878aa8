"""Does one see where the new face ends? The step in log colour across the rim of what was changed, and the original's.

The rim is that of the changed pixels (the pipeline leaves all others exactly as they were), filled. From each place on
it the mean colour 5 to 8 % of the face's width inside is compared with that up to 3 % outside: the new face comes in
over a feather of 7 %, so the inner band is new and the outer is old. The same bands of the original give the step that
belongs there (a jaw's shadow, the hairline). Places in another cover's box are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from benchmarks.looks.face_pairs import LUMA, Pair, filled, grown
from streamdeid.core.arrays import Flags, Pixels
from streamdeid.core.ibug68 import OUTLINE

SECTORS = ("chin", "cheeks", "forehead")
_INNER, _OUTER = (0.05, 0.08), (0.0, 0.03)
"""Bands inside and outside the rim, share of the face's width."""
_ALONG = 0.04
"""Width of the average along the rim, share of the face's width."""
_FAR = 0.25
"""How far from the mesh the rim may lie to be this face's, share of its width."""
_APART = 0.02
"""Distance between places on the rim, share of the width."""
_BLACK = 4.0
"""Grey levels added before logarithms."""
_FEWEST = 5
"""Places that a sector must have to be measured."""
_JAW = np.arange(17)
_SECTOR_OF = np.where(np.isin(OUTLINE, _JAW[5:12]), 0, np.where(np.isin(OUTLINE, _JAW), 1, 2))
"""Sector of each vertex of the mesh's outline."""


@dataclass(frozen=True)
class EdgeStep:
    """Median absolute step across a stretch of rim, natural logs, of the original and of the output."""

    luma: tuple[float, float]
    colour: tuple[float, float]
    """Root mean square of R, G, B less luma."""
    added: float
    """Median length of the difference between both steps, luma and colour: the seam that was not there."""


def edge_steps(pair: Pair) -> dict[str, EdgeStep]:
    """Steps across the rim of a new face, by sector; those of which too little is to be seen are missing."""
    hull, places = rim(pair)
    if len(places) < _FEWEST:
        return {}
    before, after = (_steps(picture, hull, pair.width) for picture in (pair.before, pair.after))
    rows, columns = places[:, 1], places[:, 0]
    steps = [field[rows, columns] for field in (before, after)]
    known = np.isfinite(steps[0]).all(axis=1) & np.isfinite(steps[1]).all(axis=1)
    distance = np.linalg.norm(places[:, None] - pair.points[OUTLINE][None], axis=2)
    sector = _SECTOR_OF[distance.argmin(axis=1)]
    found = {}
    for number, name in enumerate(SECTORS):
        here = known & (sector == number)
        if here.sum() >= _FEWEST:
            found[name] = _median(steps[0][here], steps[1][here])
    return found


def rim(pair: Pair) -> tuple[Flags, np.ndarray]:
    """What was changed of this face, filled, bool (h, w), and places on its rim, intp (n, 2) as x, y."""
    reachable = grown(filled(pair.changed.shape, pair.points[OUTLINE]), _FAR * pair.width)
    closed = grown(grown(pair.changed & reachable, 2.0), -2.0)
    contours, _ = cv2.findContours(closed.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return closed, np.zeros((0, 2), np.intp)
    contour = max(contours, key=cv2.contourArea)[:, 0].astype(np.intp)
    hull = filled(closed.shape, contour.astype(np.float64)) & closed
    places = contour[:: max(1, round(_APART * pair.width))]
    height, width = closed.shape
    inner = (places > 1).all(axis=1) & (places[:, 0] < width - 2) & (places[:, 1] < height - 2)
    own = grown(reachable, -2.0)[places[:, 1], places[:, 0]]  # where the reach ends is no rim
    own &= ~pair.foreign[places[:, 1], places[:, 0]]
    return hull, places[inner & own]


def _steps(picture: Pixels, hull: Flags, width: float) -> Pixels:
    """Inside less outside, at each pixel: log luma, then log R, G, B less it, float32 (h, w, 4). NaN where unknown."""
    inside = cv2.distanceTransform(hull.astype(np.uint8), cv2.DIST_L2, 5) / width
    outside = cv2.distanceTransform((~hull).astype(np.uint8), cv2.DIST_L2, 5) / width
    logs = []
    for distance, (least, most) in ((inside, _INNER), (outside, _OUTER)):
        band = ((distance > least) & (distance <= most)).astype(np.float32)
        weight = cv2.GaussianBlur(band, (0, 0), _ALONG * width)
        mean = (
            cv2.GaussianBlur(picture * band[:, :, None], (0, 0), _ALONG * width) / np.maximum(weight, 1e-6)[..., None]
        )
        luma = np.log(mean @ LUMA + _BLACK)[:, :, None]
        logs.append(np.concatenate([luma, np.log(mean + _BLACK) - luma], axis=2))
        logs[-1][weight < 0.02] = np.nan
    return np.asarray(logs[0] - logs[1], np.float32)


def _median(before: Pixels, after: Pixels) -> EdgeStep:
    luma = [float(np.median(np.abs(steps[:, 0]))) for steps in (before, after)]
    colour = [float(np.median(_length(steps[:, 1:]))) for steps in (before, after)]
    difference = after - before
    added = np.hypot(difference[:, 0], _length(difference[:, 1:]))
    return EdgeStep((luma[0], luma[1]), (colour[0], colour[1]), float(np.median(added)))


def _length(channels: Pixels) -> Pixels:
    return np.asarray(np.sqrt(np.mean(channels**2, axis=1)), np.float32)
