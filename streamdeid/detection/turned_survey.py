"""The third network looks at a turned picture, for heads that lie and are too small for the turned tiles.

One network serves all turns, since a network of another size would hold some 70 MiB more. A picture on its side is cut
into two overlapping pieces if the network then sees it larger than when it is whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.faces import Keypoints
from streamdeid.detection.centerface import CenterFace
from streamdeid.detection.five_points import FiveFaces, five_turned_back
from streamdeid.detection.quarter_turns import turned

_SHARED = 64
"""Pixels of the network's picture that two pieces share: faces up to this size are whole in one of them. The tiles see
larger faces."""


@dataclass(frozen=True)
class SeenAside:
    """What a survey of a turned picture found."""

    turn: int
    """The quarter turns anticlockwise by which the picture was turned."""
    faces: tuple[Keypoints, ...]
    """In pixels of the frame before the turn."""


@dataclass(frozen=True)
class _Piece:
    """A piece of a turned picture, and where it lies in the network's picture."""

    corner: tuple[int, int]
    """Its upper left corner in the turned picture ..."""
    place: tuple[int, int]
    """... and in the network's picture; both, and the size, in pixels of the network's picture."""
    size: tuple[int, int]


def seen_turned(
    network: CenterFace, rgb: NDArray[np.uint8], turn: int, least: float, corner: tuple[float, float], unit: float
) -> tuple[Keypoints, ...]:
    """The faces with a score of `least` or more in a part of a frame that is turned by `turn` quarter turns
    anticlockwise, in pixels of the frame.

    rgb: that part before the turn, uint8 (h, w, 3). Its upper left corner lies at `corner` in the frame, and each of
    its pixels is as long as `unit` pixels of the frame.
    """
    picture = turned(rgb, turn)
    high, wide = picture.shape[:2]
    scale, pieces = pieces_of((wide, high), network.size)
    sides = max(1, round(wide * scale)), max(1, round(high * scale))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    scaled = cv2.resize(picture, sides, interpolation=how)
    canvas = np.zeros((network.size[1], network.size[0], 3), np.uint8)
    for piece in pieces:
        (x, y), (left, top), (width, height) = piece.corner, piece.place, piece.size
        canvas[top : top + height, left : left + width] = scaled[y : y + height, x : x + width]
    found = network(canvas, least).faces
    faces: list[Keypoints] = []
    for piece in pieces:
        here = _in_piece(found, piece)
        shift = np.array(piece.corner) - piece.place
        units = np.array([wide / sides[0], high / sides[1]])
        boxes = (found.boxes[here] + np.tile(shift, 2)) * np.tile(units, 2)
        points = (found.points[here] + shift) * units
        back = five_turned_back(FiveFaces(boxes, points, found.scores[here]), turn, (rgb.shape[1], rgb.shape[0]))
        faces += [back.keypoints(row, corner, unit) for row in range(len(back.scores))]
    return tuple(faces)


def pieces_of(size: tuple[int, int], seen: tuple[int, int]) -> tuple[float, list[_Piece]]:
    """The largest scale at which a picture of `size` fits into the network's picture of the size `seen`, both (width,
    height) in pixels, whole or in two pieces side by side; and those pieces."""
    whole = min(seen[0] / size[0], seen[1] / size[1])
    # The side that is cut lies along the network's shorter side. The pieces lie side by side along its longer one.
    along = 0 if seen[0] >= seen[1] else 1
    across = 1 - along
    halves = min(seen[along] / (2 * size[along]), (2 * seen[across] - _SHARED) / size[across])
    if whole >= halves:
        sides = tuple(min(there, round(side * whole)) for there, side in zip(seen, size, strict=True))
        return whole, [_Piece((0, 0), (0, 0), (sides[0], sides[1]))]
    sides = tuple(round(side * halves) for side in size)
    broad, long = min(sides[along], seen[along] // 2), min(sides[across], seen[across])
    second = sides[across] - long
    if along == 0:
        return halves, [_Piece((0, 0), (0, 0), (broad, long)), _Piece((0, second), (broad, 0), (broad, long))]
    return halves, [_Piece((0, 0), (0, 0), (long, broad)), _Piece((second, 0), (0, broad), (long, broad))]


def _in_piece(found: FiveFaces, piece: _Piece) -> NDArray[np.bool_]:
    """Which of the faces found in the network's picture, (n,), have their middle in a piece of it."""
    low = np.array(piece.place)
    middle = (found.boxes[:, :2] + found.boxes[:, 2:]) / 2
    return np.asarray(((middle >= low) & (middle < low + piece.size)).all(axis=1), np.bool_)
