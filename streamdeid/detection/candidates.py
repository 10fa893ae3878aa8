"""Joins what the detector found in the tiles of one frame: one candidate for each face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Points
from streamdeid.detection.tiles import Tile
from streamdeid.detection.upright_view import roll_of

_SAME = 0.4
"""IoU from which two boxes count as the same face."""
SAME_FACE = 0.25
"""IoU from which a box that was found in another way, or a face that was lost, counts as a face that is known."""
_WITHIN = 0.6
"""Share of the smaller of two boxes that lies in both, from which they are one face; a tile's edge cuts one of them."""
_INSIDE = 0.7
"""Share of a box that lies in a larger face from which the box is a part of that face."""
_CLEAR = 0.5
"""Score from which a face gets the box of the coarsest tile that saw it: that tile shows most of what is around it."""


@dataclass(frozen=True)
class Candidate:
    """Something that may be a face."""

    box: tuple[float, float, float, float]
    """x0, y0, x1, y1 in pixels of the frame."""
    keypoints: Points
    """float64 (6, 2): eyes, nose, mouth, ears."""
    score: float
    """The best score of the boxes that were joined."""
    tile: int
    """Number of the tile that saw it with that score."""
    cut: bool
    """Whether a tile's edge may have cut it."""
    turn: int = 0
    """Quarter turns anticlockwise after which the picture was searched (`quarter_turns`)."""

    @property
    def roll(self) -> float:
        """The roll of the head by its points, clockwise on the screen, radians from -pi to pi."""
        return roll_of(self.keypoints[:2], self.keypoints[3])

    @property
    def area(self) -> float:
        """Area of its box, pixels."""
        return (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])


def in_tile(
    tile: Tile, number: int, boxes: Points, keypoints: Points, scores: Points, size: tuple[int, int]
) -> list[Candidate]:
    """Candidates for what the detector saw in a tile: boxes (n, 4), keypoints (n, 6, 2), scores (n,). Boxes and
    keypoints are in pixels from the tile's corner. size: width and height of the picture."""
    corner, found = np.array([tile.x0, tile.y0]), []
    for box, points, score in zip(boxes, keypoints, scores, strict=True):
        x0, y0, x1, y1 = (float(value) for value in box + np.tile(corner, 2))
        if x1 - x0 >= 1 and y1 - y0 >= 1:
            cut = tile.cuts((x0, y0, x1, y1), size)
            found.append(Candidate((x0, y0, x1, y1), points + corner, float(score), number, cut, tile.turn))
    return found


def joined(found: Sequence[Candidate], tiles: Sequence[Tile]) -> list[Candidate]:
    """One candidate for each face: boxes that overlap are joined by IoU, cut pieces join the box that holds them."""
    order = sorted(found, key=lambda one: (one.cut, not (one.score >= _CLEAR), _rank(one, tiles), -one.score))
    kept: list[Candidate] = []
    for one in order:
        for place, other in enumerate(kept):
            shared, smaller, union = _shares(one.box, other.box)
            if shared > _SAME * union or (one.cut and shared > _WITHIN * smaller):
                if one.score > other.score:
                    kept[place] = replace(other, score=one.score, tile=one.tile)
                break
        else:
            kept.append(one)
    return kept


def middle_in(box: Box, corners: Points) -> bool:
    """Whether the middle of a box lies between two corners (2, 2), all in pixels."""
    (x0, y0), (x1, y1) = corners.tolist()
    return bool(x0 <= (box[0] + box[2]) / 2 <= x1 and y0 <= (box[1] + box[3]) / 2 <= y1)


def shows_one_of(box: Box, faces: Sequence[Box]) -> bool:
    """Whether a box shows one of several faces, by their boxes: (x0, y0, x1, y1) each, pixels."""
    return bool(overlap(np.array([box]), np.array(faces).reshape(-1, 4)).max(initial=0.0) >= SAME_FACE)


def part_of(box: tuple[float, float, float, float], faces: Sequence[tuple[float, float, float, float]]) -> bool:
    """Whether most of a box lies in one of some larger faces, all in pixels: the redaction of that face covers it."""
    one, others = np.array([box]), np.array(faces, dtype=np.float64).reshape(-1, 4)
    larger = others[(others[:, 2:] - others[:, :2]).prod(axis=1) > 1.2 * (one[:, 2:] - one[:, :2]).prod()]
    return bool(covered(one, larger).max(initial=0.0) > _INSIDE)


def seen_before(tile: int, seen: Sequence[Candidate], joined: Sequence[Candidate]) -> set[int]:
    """Rows of `joined` that a tile with a number below `tile` saw, too. seen: all that was seen, before joining."""
    boxes = np.array([one.box for one in seen if one.tile < tile]).reshape(-1, 4)
    shared = overlap(np.array([one.box for one in joined]).reshape(-1, 4), boxes).max(axis=1, initial=0.0)
    return {row for row, one in enumerate(joined) if one.tile < tile or shared[row] > _SAME}


def covered(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the area of boxes (n, 4) that lies in boxes (m, 4), (n, m)."""
    return np.asarray(_intersection(a, b) / np.maximum(_area(a)[:, None], 1e-9), np.float64)


def overlap(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """IoU of boxes (n, 4) and (m, 4) as (n, m); 0 for boxes without area."""
    shared = _intersection(a, b)
    return np.asarray(shared / np.maximum(_area(a)[:, None] + _area(b)[None] - shared, 1e-9), np.float64)


def _intersection(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    return np.asarray(np.maximum(high - low, 0).prod(axis=2), np.float64)


def _area(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((boxes[:, 2:] - boxes[:, :2]).prod(axis=1), np.float64)


def _rank(one: Candidate, tiles: Sequence[Tile]) -> float:
    """Sorts the coarsest scale first among clear sightings; the order of other sightings is by score alone."""
    return tiles[one.tile].scale if one.score >= _CLEAR else 0.0


def _shares(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> tuple[float, float, float]:
    """Areas of the intersection, of the smaller box, and of the union."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(wide, 0.0) * max(high, 0.0)
    one, other = (a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])
    return shared, max(min(one, other), 1e-9), max(one + other - shared, 1e-9)
