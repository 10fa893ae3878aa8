"""The faces that YuNet and CenterFace see in a picture: boxes, five points for each, and scores.

This file also moves such points along with a box, and measures how far they lie from the points of a mesh."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Keypoints
from streamdeid.detection.quarter_turns import boxes_turned_back, turned_back

NOSE = 0.53
"""How far the middle of mediapipe's box lies below the top of a box from hairline to chin, as a share of the height of
the latter box."""

_GROWN = 1.5
"""Factor by which a mesh may have grown or shrunk for points to move with it: a mesh that collapses is on no face."""


class FiveFaces(NamedTuple):
    """n faces in a picture."""

    boxes: NDArray[np.float64]
    """(n, 4), pixels: from hairline to chin and from cheek to cheek."""
    points: NDArray[np.float64]
    """(n, 5, 2), pixels: the eyes, the one further left in an upright picture first, the tip of the nose, and the
    corners of the mouth in the same order."""
    scores: NDArray[np.float64]
    """(n,), 0 to 1."""

    def keypoints(self, row: int, corner: tuple[float, float] = (0.0, 0.0), unit: float = 1.0) -> Keypoints:
        """The face in a row, in pixels of the frame that the picture was cut from. corner: the picture's upper left
        corner in the frame; unit: pixels of the frame for one pixel of the picture."""
        x0, y0, x1, y1 = (float(v) for v in self.boxes[row] * unit + np.tile(corner, 2))
        points = self.points[row] * unit + np.array(corner)
        return Keypoints((x0, y0, x1, y1), points, float(self.scores[row]))


def five_turned_back(found: FiveFaces, turn: int, size: tuple[float, float]) -> FiveFaces:
    """Faces that were found in a turned picture, in the picture before it was turned. turn: quarter turns against the
    clock; size: width and height before, pixels. Points stay in the order of the upright head."""
    return FiveFaces(boxes_turned_back(found.boxes, turn, size), turned_back(found.points, turn, size), found.scores)


def one_to_a_face(
    corners: NDArray[np.float64], sides: NDArray[np.float64], scores: NDArray[np.floating], least: float, same: float
) -> NDArray[np.intp]:
    """Rows of the boxes that are kept, one for each face, the surest first. corners (the upper left ones) and sides are
    (n, 2), scores (n,). least: score from which a box counts; same: IoU above which two boxes are one face."""
    boxes = np.concatenate([corners, sides], axis=1).tolist()
    return np.array(cv2.dnn.NMSBoxes(boxes, scores.tolist(), least, same), np.intp).ravel()


def as_detected(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """The box that mediapipe's detector gives a face boxed from hairline to chin: a square about the nose. Pixels."""
    x0, y0, x1, y1 = box
    half = (x1 - x0 + y1 - y0) / 4
    x, y = (x0 + x1) / 2, y0 + NOSE * (y1 - y0)
    return x - half, y - half, x + half, y + half


def apart(mesh: Points, found: Keypoints) -> float:
    """Mean distance of five points of a mesh (478, 3) from the keypoints of a network, share of the face's width."""
    points = mesh[:, :2]
    five = [(points[33] + points[133]) / 2, (points[263] + points[362]) / 2, points[1], points[61], points[291]]
    return float(np.linalg.norm(np.array(five) - found.points, axis=1).mean() / max(found.box[2] - found.box[0], 1.0))


def moved_along(
    found: Keypoints, boxes: tuple[Box, Box], outlines: tuple[Points | None, Points | None], same_tile: bool
) -> Keypoints:
    """Keypoints moved and scaled as the mesh was since they were found, or as the detector's box where there is no
    such mesh. That box may be twice as large for one face in the next frame, and would enlarge the points.

    boxes, outlines: the detector's box, and the corners (2, 2) of the mesh's box, then and in this frame, pixels.
    same_tile: whether one tile gave both boxes: the boxes that two tiles give for one face differ in size.
    """
    then, now = outlines
    if then is not None and now is not None:
        scale = _growth(then, now)
        moved = moved_points(found, then, now, scale)
        (x0, y0), (x1, y1) = np.reshape(boxes[1], (2, 2))
        x, y = np.reshape(moved.box, (2, 2)).mean(axis=0)
        if 1 / _GROWN < scale < _GROWN and x0 <= x <= x1 and y0 <= y <= y1:
            return moved
    if boxes[0] == boxes[1]:
        return found
    then, now = np.reshape(boxes[0], (2, 2)), np.reshape(boxes[1], (2, 2))
    return moved_points(found, then, now, _growth(then, now) if same_tile else 1.0)


def _growth(before: Points, now: Points) -> float:
    """Longer side of a box now over its longer side before, corners (2, 2) each."""
    return float((now[1] - now[0]).max() / max((before[1] - before[0]).max(), 1e-6))


def moved_points(found: Keypoints, before: Points, now: Points, scale: float) -> Keypoints:
    """Keypoints moved as a box was moved, and scaled about its middle. before, now: corners (2, 2) of that box."""
    middle, then = now.mean(axis=0), before.mean(axis=0)
    box = (np.reshape(found.box, (2, 2)) - then) * scale + middle
    x0, y0, x1, y1 = (float(v) for v in box.ravel())
    return Keypoints((x0, y0, x1, y1), (found.points - then) * scale + middle, found.score)
