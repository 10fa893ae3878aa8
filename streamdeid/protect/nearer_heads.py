"""What a nearer head hides: the redaction of a lost face leaves the head in front of it as it is.

A person who passes behind another one is not seen, and the place where the face may be lies on the other one's ear or
hair. A redaction of these hides nothing, and for half a second a dark patch is seen on a head that shows a face. So
where a head in front shows its own face, and is so much larger than the lost one that it cannot be a grown-up's behind
a child, its own pixels stay: the mean head with its hair, at the pose of that head. All of the place beside it is
redacted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import cv2
import numpy as np

from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.convex import convex
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import OUTLINE
from streamdeid.protect.levels import Level
from streamdeid.protect.plan import Plan, Plans
from streamdeid.protect.soft_head import Head, lost_face
from streamdeid.render.posed_hair import SCALP

_LARGER = 1.5
"""How much larger than a lost face a face in front has to be. Even a small child's face is about two thirds as large as
a grown-up's, and larger where it is nearer to the camera: at 1.15 a child whom nobody saw before a grown-up's hair
would be left open."""
_RIM, _LEAST_RIM = 0.06, 2.0
"""Breadth of the rim inside a head in front over which a redaction ends, share of the head's shorter side, and pixels
at least."""
_LARGEST = 2.5
"""Largest extent of a head, over that of its face: a pose that makes it larger is wrong."""


def nearer_heads(plan: Plan, plans: Plans) -> list[Points]:
    """The heads, convex polygons float64 (n, 2) in pixels, that hide a lost face wherever they lie over it.

    None hides a face that is seen, nor a place that a reviewer drew.
    """
    if plan.track.sighted is not None or plan.track.by_hand:
        return []
    face = plan.track.face
    x0, y0, x1, y1 = lost_face(plan.track) if face is None else face.box
    least = _LARGER * max(x1 - x0, y1 - y0)
    heads = [_head(other) for other in plans if other.track is not plan.track and _size(other) >= least]
    left, top, right, bottom = plan.head.box
    low, high = np.array([left, top]), np.array([right, bottom])
    return [h for h in heads if h is not None and (h.max(axis=0) > low).all() and (h.min(axis=0) < high).all()]


def _size(plan: Plan) -> float:
    """Longer side, pixels, of a face that may hide others, by its landmarks or its box, whichever is less; 0 for
    another one."""
    face = plan.track.sighted
    if plan.level is not Level.OWN_FACE or plan.measured is None or face is None or not face.confirmed:
        return 0.0
    x0, y0, x1, y1 = face.box
    return min(max(x1 - x0, y1 - y0), float(np.ptp(plan.measured.seen.raw[OUTLINE], axis=0).max()))


def _head(plan: Plan) -> Points | None:
    """The head of an own face with its hair; None where that is none."""
    assert plan.measured is not None
    seen = plan.measured.seen
    outline = seen.raw[OUTLINE]
    head = np.concatenate([seen_by(SCALP, seen.pose)[:, :2], outline])
    larger = float(np.ptp(head, axis=0).max()) / max(float(np.ptp(outline, axis=0).max()), 1.0)
    return convex(head) if larger < _LARGEST else None


@contextmanager
def left_as_it_is(out: Planes, head: Head, polygons: Sequence[Points]) -> Iterator[None]:
    """Put back, at the end, what a redaction of a head changed inside convex polygons (n, 2), in pixels."""
    window = head.window(out.size) if polygons else None
    if window is None:
        yield
        return
    x0, y0, x1, y1 = window
    planes = out.y[y0:y1, x0:x1], *(p[y0 // 2 : -(-y1 // 2), x0 // 2 : -(-x1 // 2)] for p in (out.u, out.v))
    before = [plane.copy() for plane in planes]
    yield
    weights = np.max([_inside(polygon - (x0, y0), (x1 - x0, y1 - y0)) for polygon in polygons], axis=0)
    coarse = cv2.erode(weights, np.ones((2, 2), np.uint8), anchor=(0, 0))[::2, ::2]
    for plane, was, weight in zip(planes, before, (weights, coarse, coarse), strict=True):
        plane[:] = np.rint(plane + weight * (was.astype(np.float32) - plane))


def _inside(polygon: Points, size: tuple[int, int]) -> Pixels:
    """How far inside a polygon each pixel of a picture (width, height) lies, float32 (h, w): 0 at its border and
    outside, 1 from the rim's breadth on."""
    rim = max(_LEAST_RIM, _RIM * float(np.ptp(polygon, axis=0).min()))
    room = int(rim) + 3  # the rim beyond the picture counts, too
    mask = np.zeros((size[1] + 2 * room, size[0] + 2 * room), np.uint8)
    cv2.fillConvexPoly(mask, np.round((polygon + room) * 16).astype(np.int32), (1,), cv2.LINE_8, 4)
    away = cv2.distanceTransform(mask, cv2.DIST_L2, 3)[room:-room, room:-room]
    return np.asarray(np.clip((away - 1) / rim, 0, 1), np.float32)
