"""One face before and after the filter, cut out at a size of its own, and where its skin and its features are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.core.arrays import Box as Corners
from streamdeid.core.arrays import Flags, Pixels, Points
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LEFT_BROW, LEFT_EYE, NOSTRILS, OUTER_LIP, OUTLINE, RIGHT_BROW, RIGHT_EYE

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
WORKING_WIDTH = 128.0
"""Width in pixels to which larger faces are shrunk (by area) for soft fields and edges."""
MARGIN = 0.45
"""What is cut out around a face's mesh, share of its width."""
_RIM = 0.08
"""Left out along the mesh's outline, share of the width: there the feather mixes both faces, and hair begins."""
_FEATURES = {
    "eyes": ((LEFT_EYE, LEFT_BROW), (RIGHT_EYE, RIGHT_BROW)),
    "nostrils": ((NOSTRILS,),),
    "lips": ((OUTER_LIP,),),
}
_GROWN = {"eyes": 0.05, "nostrils": 0.05, "lips": 0.06}
"""Reach of the features beyond their landmarks, share of the width: brows, lips and nostrils of two people differ."""


@dataclass(frozen=True)
class Pair:
    """A face before and after the filter. All lengths in pixels of the cut."""

    before: Pixels
    """float32 (h, w, 3), RGB 0 to 255."""
    after: Pixels
    """float32 (h, w, 3)."""
    changed: Flags
    """bool (h, w): where the filter changed anything."""
    foreign: Flags
    """bool (h, w): in the boxes of other covers, which are not this face's doing."""
    points: Points
    """float64 (81, 2): the original's landmarks and forehead points, as detected."""
    width: float
    """The face's width."""


def face_width(points: Points) -> float:
    """Width in pixels of a mesh (81, 2): across the line of the eyes, at least seven tenths of its height, for turned
    heads."""
    across = points[45] - points[36]
    across = across / max(float(np.linalg.norm(across)), 1e-9)
    outline = points[OUTLINE]
    along, down = outline @ across, outline @ np.array([-across[1], across[0]])
    return float(max(np.ptp(along), 0.7 * np.ptp(down)))


def mesh_of(face: Face) -> Points | None:
    """Landmarks and forehead points (81, 2) of a face, None where it has none."""
    if face.landmarks is None or face.forehead is None:
        return None
    return np.concatenate([face.landmarks, face.forehead])


def cut(
    planes: tuple[Planes, Planes],
    points: Points,
    others: Sequence[Corners] = (),
    working: float | None = WORKING_WIDTH,
) -> Pair | None:
    """The face with this mesh (81, 2) in a picture before and after the filter; others: corners of other covers;
    working: width to which larger faces are shrunk, None for as they are.

    None where less than half of the face lies in the picture.
    """
    width = face_width(points)
    reach = MARGIN * width
    (x0, y0), (x1, y1) = points.min(axis=0) - reach, points.max(axis=0) + reach
    limit = planes[0].size
    left, top = max(0, int(x0)) & ~1, max(0, int(y0)) & ~1
    right, bottom = min(limit[0], int(x1)) & ~1, min(limit[1], int(y1)) & ~1
    if min(right - left, bottom - top) < 2 or (right - left) * (bottom - top) < 0.5 * (x1 - x0) * (y1 - y0):
        return None
    scale = 1.0 if working is None else min(1.0, working / width)
    pictures = [rectangle_to_rgb(picture, left, top, right, bottom, scale).astype(np.float32) for picture in planes]
    size = pictures[0].shape[1], pictures[0].shape[0]
    touched = _changed(*planes, (left, top, right, bottom))
    changed = cv2.resize(touched.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.5
    foreign = np.zeros(changed.shape, np.bool_)
    for x0, y0, x1, y1 in others:
        a, b, c, d = (max(0, round((v - o) * scale)) for v, o in ((x0, left), (y0, top), (x1, left), (y1, top)))
        foreign[b:d, a:c] = True
    return Pair(pictures[0], pictures[1], changed, foreign, (points - [left, top]) * scale, width * scale)


def _changed(before: Planes, after: Planes, rectangle: tuple[int, int, int, int]) -> Flags:
    x0, y0, x1, y1 = rectangle
    luma = before.y[y0:y1, x0:x1] != after.y[y0:y1, x0:x1]
    for plane, other in ((before.u, after.u), (before.v, after.v)):
        part = slice(y0 // 2, y1 // 2), slice(x0 // 2, x1 // 2)
        luma |= np.repeat(np.repeat(plane[part] != other[part], 2, axis=0), 2, axis=1)
    touched: Flags = luma
    return touched


def filled(shape: Sequence[int], *polygons: Points) -> Flags:
    """Mask (h, w) of the insides of polygons (n, 2)."""
    mask = np.zeros(tuple(shape[:2]), np.uint8)
    for polygon in polygons:
        cv2.fillPoly(mask, [np.round(polygon * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
    return mask > 0


def grown(mask: Flags, reach: float) -> Flags:
    """The mask with all within `reach` pixels of it; negative: without all within so many pixels of its rim."""
    if reach >= 0:
        distance = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5)
        wider: Flags = mask | (distance <= reach)
        return wider
    return ~grown(~mask, -reach)


def features(pair: Pair) -> Flags:
    """Mask (h, w) of eyes with brows, nostrils and lips, as far as they reach beyond their landmarks."""
    mask = np.zeros(pair.changed.shape, np.bool_)
    for name, groups in _FEATURES.items():
        for group in groups:
            points = np.concatenate([pair.points[part] for part in group])
            hull = cv2.convexHull(points.astype(np.float32))[:, 0].astype(np.float64)
            mask |= grown(filled(mask.shape, hull), _GROWN[name] * pair.width)
    return mask


def bare(pair: Pair) -> Flags:
    """Mask (h, w) of the face without features and rim, as far as the filter changed it and no other cover may be."""
    inside = grown(filled(pair.changed.shape, pair.points[OUTLINE]), -_RIM * pair.width)
    return inside & ~features(pair) & ~pair.foreign & grown(pair.changed, 1.5)
