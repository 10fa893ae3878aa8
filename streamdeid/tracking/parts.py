"""Finds parts and ghosts of a face: second detections of the same head that are not another person.

A fine tile sees a nose, a mouth or an ear as a face of its own; a coarse tile sees a head with its hair as a larger
face. If they were taken for people, they would be rivals of the face they belong to: all would be ambiguous, and no own
face would be shown. So they are dropped in every frame in which the face that holds them is surely a face
(docs/methods.md 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.core.faces import SURE, Face

_SMALLER = 0.6
"""A part has less than this share of the face's area: two faces at one place of more similar sizes are two people."""
_WITHIN, _REACH = 0.7, 1.15
"""Share of a part's box that lies in the hull of the face's points, enlarged so many times: ears and the hair line
stick out of the hull."""
_WITHIN_BARE = 0.6
"""The same for a box without landmarks whose middle lies in that hull: a fringe, with the forehead below it."""
_FRINGE, _ASIDE = 0.4, 0.1
"""Such a fringe has less than this share of the face's area, and its middle lies at most this share of the face's width
to the side: no redaction covers the rest of its box, and that might be a person half hidden behind the head. In
expressions_gaze it has 0.23 to 0.31, and lies 0.01 to 0.05 aside."""
_SHARED, _LARGEST, _CONCENTRIC = 0.7, 4.0, 0.25
"""A ghost shares so much of the smaller of both boxes with the face, has less than so many times the face's area, and
the middles are apart by less than this share of its sides. A ghost about as large as the face would be joined with it
(`association`), which makes the box loose and the landmarks doubtful; the landmarks tell better where the face is."""


def without_parts(faces: Sequence[Face], boxes: Floats) -> list[int]:
    """Rows of the detections that are neither a part nor a ghost of another one, ascending.

    boxes: float64 (n, 4), boxes of the faces in pixels, with an area. A detection is kept if it has landmarks and more
    evidence than the face that it would belong to.
    """
    gone: set[int] = set()
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    for row, face in enumerate(faces):
        if row in gone or face.landmarks is None or face.evidence < SURE:
            continue
        low, high = np.maximum(boxes[:, :2], boxes[row, :2]), np.minimum(boxes[:, 2:], boxes[row, 2:])
        shared = np.maximum(high - low, 0).prod(axis=1)
        hull: NDArray[np.float32] | None = None
        for other in np.flatnonzero(shared > 0).tolist():
            rival = faces[other]
            if other == row or other in gone or (rival.landmarks is not None and rival.evidence > face.evidence):
                continue
            if areas[other] < _SMALLER * areas[row]:
                hull = _hull(face) if hull is None else hull
                share = _inside(boxes[other], hull) / float(areas[other])
                fringe = rival.landmarks is None and share >= _WITHIN_BARE
                if share >= _WITHIN or (fringe and _is_fringe(boxes[other], boxes[row], hull)):
                    gone.add(other)
            elif rival.landmarks is None and _is_ghost(boxes[other], boxes[row], float(shared[other])):
                gone.add(other)
    return [row for row in range(len(faces)) if row not in gone]


def _hull(face: Face) -> NDArray[np.float32]:
    """Convex hull of the face's points, grown about its middle, (h, 2)."""
    assert face.landmarks is not None
    points = face.landmarks if face.forehead is None else np.concatenate([face.landmarks, face.forehead])
    hull = cv2.convexHull(points.astype(np.float32))[:, 0]
    middle = hull.mean(axis=0)
    return np.asarray(middle + _REACH * (hull - middle), np.float32)


def _is_fringe(box: Floats, face: Floats, hull: NDArray[np.float32]) -> bool:
    """Whether a box (4,) without landmarks lies in the middle of a face's box (4,), at the rim of its hull (h, 2)."""
    sides, face_sides = box[2:] - box[:2], face[2:] - face[:2]
    x, y = (float(v) for v in (box[:2] + box[2:]) / 2)
    aside = abs(x - float(face[0] + face[2]) / 2) / float(face_sides[0])
    small = float(sides.prod()) < _FRINGE * float(face_sides.prod())
    return small and aside <= _ASIDE and cv2.pointPolygonTest(hull, (x, y), False) >= 0


def _inside(box: Floats, hull: NDArray[np.float32]) -> float:
    """Area of the part of a box (4,) that lies in a convex polygon (h, 2)."""
    x0, y0, x1, y1 = box
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float32)
    return float(cv2.intersectConvexConvex(corners, hull)[0])


def _is_ghost(box: Floats, face: Floats, shared: float) -> bool:
    """Whether a box (4,) without landmarks is a ghost of a face's box (4,). shared: area of both, pixels²."""
    own, area = float((box[2:] - box[:2]).prod()), float((face[2:] - face[:2]).prod())
    apart = np.abs((box[:2] + box[2:]) - (face[:2] + face[2:])) / 2 / (box[2:] - box[:2])
    return own < _LARGEST * area and shared >= _SHARED * min(own, area) and float(apart.max()) < _CONCENTRIC
