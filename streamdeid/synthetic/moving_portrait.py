"""A still portrait that talks, blinks, looks about and turns: a smooth warp of the picture by the model's mesh.

Thin-plate splines (Bookstein 1989) move every pixel along with the mesh of the face, a ring of points on the hair that
turns with the head, and points of body and background that stay. A closing eye is no smooth warp (the eye shrinks to a
line), so lids are moved in the still picture first. No photograph shows the inside of a mouth that opens, so that is
painted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import HeadPose, pose_of
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import CHIN, INNER_LIP, LEFT_BROW, LEFT_EYE, OUTLINE, RIGHT_BROW, RIGHT_EYE
from streamdeid.synthetic.motion import PersonMotion

_RING = 1.6
"""Reach of the ring on the hair over that of the face's outline, both from the middle of the face."""
_RING_DEPTH = 45.0
"""Depth of the ring in the model's frame: the widest part of a head lies behind the face."""
_PIVOT, _PIVOT_DEPTH = (100.0, 225.0), 75.0
"""The head turns about this point of the neck in the model's frame."""
_STILL = 1.32
"""Reach of the region that turns with the head, over that of the ring; points beyond it and below the neck stay."""
_GRID = 9
"""Number of grid points along each side of the picture, from which those that stay are taken."""
_STIFFNESS = 20.0
"""Stiffness of the spline: it misses its points by a fraction of a pixel, so the noise of single landmarks makes no
folds."""
_COARSE, _FINE = 12, 3
"""Pixels between two points at which the spline is computed, outside and inside the face."""
_TEETH_SHOWN = 5.0
"""Distance between the lips, in pixels of the model's frame, above which a picture shows teeth."""
_TEETH_EDGE = 0.78
"""Where the teeth end in such a picture: a share of the way from the upper to the lower lip."""
_LEAST_SHARE = 0.4
"""The lips keep at least this share of the gap that such a picture shows: teeth cannot vanish in a smooth warp."""
_UPPER_LID, _LOWER_LID = 0.85, 0.13
"""How far each lid moves towards the other when the eyes are shut, as in `PersonMotion.shape`."""
_LID_ABOVE, _LID_BELOW = 0.8, 0.5
"""The skin that moves with the lids: a share of the way to the brow, and a share of the eye's width below the eye."""
_DARK, _TEETH = np.array([58.0, 27.0, 27.0], np.float32), np.array([196.0, 182.0, 170.0], np.float32)
"""RGB of the mouth's inside and of painted teeth."""
_LIPS = ((61, 67), (62, 66), (63, 65))
"""Points of the upper and the lower inner lip that lie opposite each other."""


@dataclass(frozen=True)
class Portrait:
    """A still picture of one person, and where the face lies in it."""

    picture: Pixels
    """float32 (h, w, 3), RGB, 0 to 255."""
    alpha: Pixels
    """float32 (h, w), 0 to 1: how much the picture hides of the scene behind it."""
    points: Points
    """float64 (81, 2): landmarks and forehead points in pixels."""
    iris: Points
    """float64 (2, 2): iris centres in pixels."""


@dataclass(frozen=True)
class Moved:
    """A portrait in one frame; picture and alpha as in `Portrait`."""

    picture: Pixels
    alpha: Pixels
    points: Points
    iris: Points
    pose: HeadPose


class MovingPortrait:
    """A portrait and everything about it that does not change from frame to frame."""

    def __init__(self, portrait: Portrait, model: AppearanceModel) -> None:
        self._portrait, self._model = portrait, model
        self._pose = pose_of(portrait.points, model)
        self._shape = self._pose.to_frame(portrait.points, model.depth)
        self._opening = float(self._shape[66, 1] - self._shape[62, 1])
        self._shows_teeth = self._opening > _TEETH_SHOWN
        middle = portrait.points.mean(axis=0)
        ring = middle + _RING * (portrait.points[OUTLINE] - middle)
        ring = ring[ring[:, 1] < portrait.points[CHIN, 1]]
        self._ring = self._pose.to_frame(ring, np.full(len(ring), _RING_DEPTH))
        self._teeth = _between(portrait.points, _TEETH_EDGE) if self._shows_teeth else np.zeros((0, 2))
        self._still = self._points_that_stay(middle)
        self._from = np.concatenate([portrait.points, portrait.iris, self._teeth, ring, self._still])

    @property
    def rest_opening(self) -> float:
        """The gap between the lips of the still picture, in pixels of the model's frame."""
        return self._opening

    def frame(self, motion: PersonMotion, index: int) -> Moved:
        """The portrait in one frame of a motion; the motion adds to the expression of the still picture."""
        model = self._model
        shape, awake = (self._expression(each, index) for each in (motion, replace(motion, blink=0 * motion.blink)))
        rotation = motion.rotation(index) @ self._pose.rotation
        pivot, depth = np.array([_PIVOT]), np.array([_PIVOT_DEPTH])
        turned = HeadPose(self._pose.scale, rotation, np.zeros(2))
        neck = self._pose.to_image(pivot, depth)[0] + 0.4 * self._pose.scale * motion.shift[index]
        pose = HeadPose(self._pose.scale, rotation, neck - turned.to_image(pivot, depth)[0])
        points, spread = pose.to_image(shape, model.depth), pose.to_image(awake, model.depth)
        iris = self._irises(spread, motion, index)
        ring = pose.to_image(self._ring, np.full(len(self._ring), _RING_DEPTH))
        to = np.concatenate([spread, iris, self._moved_teeth(points), ring, self._still])
        picture, alpha = self._warped(with_lids(self._portrait, float(motion.blink[index])), to, points)
        self._draw_mouth(picture, points)
        return Moved(picture, alpha, points, iris, pose)

    def _expression(self, motion: PersonMotion, index: int) -> Points:
        """The shape (81, 2) of a frame in the model's frame: lips meet, or show teeth if the picture shows them."""
        shape = motion.shape(self._shape, index)
        least = _LEAST_SHARE if self._shows_teeth else 0.0
        for upper, lower in _LIPS:
            gap = max(0.3, least * float(self._shape[lower, 1] - self._shape[upper, 1]))
            shape[lower, 1] = max(shape[lower, 1], shape[upper, 1] + gap)
        return shape

    def _points_that_stay(self, middle: Points) -> Points:
        """The points (n, 2) that stay: those of body and background and of the picture's rim."""
        height, width = self._portrait.alpha.shape
        across, down = np.meshgrid(np.linspace(0, width - 1, _GRID), np.linspace(0, height - 1, _GRID))
        grid = np.column_stack([across.ravel(), down.ravel()])
        face = self._portrait.points
        reach = _STILL * _RING * np.ptp(face[OUTLINE], axis=0) / 2
        rim = (grid[:, 0] % (width - 1) == 0) | (grid[:, 1] % (height - 1) == 0)
        beyond = np.linalg.norm((grid - middle) / reach, axis=1) > 1
        neck = face[CHIN, 1] + 0.3 * np.ptp(face[:, 0])
        stays: Points = grid[rim | beyond | (grid[:, 1] > neck)]
        return stays

    def _irises(self, points: Points, motion: PersonMotion, index: int) -> Points:
        """The iris centres (2, 2): their place between the lids in the still picture, plus the glance."""
        moved = []
        for lids, own in zip((LEFT_EYE, RIGHT_EYE), self._portrait.iris, strict=True):
            before, now = self._portrait.points[lids], points[lids]
            centre = now.mean(axis=0) + (own - before.mean(axis=0))
            glance = self._pose.scale * motion.gaze[index] * (1 - motion.blink[index])
            moved.append(centre + glance)
        return np.stack(moved)

    def _moved_teeth(self, points: Points) -> Points:
        """The lower edge of upper teeth that the picture shows: it moves with the upper lip, not below the lower."""
        if not self._shows_teeth:
            return self._teeth
        gaps = [points[lower] - points[upper] for upper, lower in _LIPS]
        before = [float(np.linalg.norm(self._portrait.points[b] - self._portrait.points[a])) for a, b in _LIPS]
        share = [min(1.0, b / max(float(np.linalg.norm(g)), 1e-6)) for b, g in zip(before, gaps, strict=True)]
        return np.stack([points[a] + _TEETH_EDGE * s * g for (a, _), s, g in zip(_LIPS, share, gaps, strict=True)])

    def _warped(self, still: Pixels, to: Points, points: Points) -> tuple[Pixels, Pixels]:
        """The still picture and its alpha, warped so that `self._from` moves to `to` (n, 2)."""
        height, width = self._portrait.alpha.shape
        spline = _Spline(to, self._from - to)
        place = _field(spline, (0, 0), (width, height), _COARSE)
        reach = 0.12 * np.ptp(points, axis=0)
        x0, y0 = np.maximum(np.floor(points.min(axis=0) - reach).astype(int), 0)
        x1, y1 = np.minimum(np.ceil(points.max(axis=0) + reach).astype(int), (width, height))
        place[y0:y1, x0:x1] = _field(spline, (int(x0), int(y0)), (int(x1 - x0), int(y1 - y0)), _FINE)
        place += np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.float32)
        x, y = cv2.split(place)  # two maps: OpenCV 5.0.0 reads beyond an empty second map and reports no error
        picture = cv2.remap(still, x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
        alpha = cv2.remap(self._portrait.alpha, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.clip(picture, 0, 255).astype(np.float32), np.asarray(alpha, np.float32)

    def _draw_mouth(self, picture: Pixels, points: Points) -> None:
        """Paint the mouth dark where its lips have parted, and teeth under the upper lip if the picture shows none."""
        lips = points[INNER_LIP]
        gap = float(np.linalg.norm(lips[2] - lips[6])) / self._pose.scale
        parted = float(np.clip((gap - max(self._opening, 1.5)) / 4.0, 0, 1))
        lower = np.stack([lips[0], lips[7], lips[6], lips[5], lips[4]])
        if self._shows_teeth:
            edge = lips[:5].copy()
            edge[1:4] = self._moved_teeth(points)
            edge[[0, 4]] = 0.75 * edge[[0, 4]] + 0.25 * edge[[1, 3]]
            _fill(picture, np.concatenate([edge, lower[3:0:-1]]), _DARK, parted)
            return
        _fill(picture, np.concatenate([lips[:5], lower[3:0:-1]]), _DARK, parted)
        edge = lips[:5] + (lower - lips[:5]) * np.array([0.0, 0.3, 0.38, 0.3, 0.0])[:, None]
        _fill(picture, np.concatenate([lips[:5], edge[3:0:-1]]), _TEETH, 0.75 * parted)


def with_lids(portrait: Portrait, blink: float) -> Pixels:
    """The still picture with its eyes closed by `blink`, 0 to 1: each column of pixels is stretched and squeezed."""
    if blink <= 0:
        return portrait.picture
    picture = portrait.picture.copy()
    for eye, brow in ((LEFT_EYE, LEFT_BROW), (RIGHT_EYE, RIGHT_BROW)):
        lids, over = portrait.points[eye], portrait.points[brow]
        columns = np.arange(int(np.ceil(lids[0, 0])), int(np.floor(lids[3, 0])) + 1)
        upper = np.interp(columns, lids[:4, 0], lids[:4, 1])
        lower = np.interp(columns, lids[[0, 5, 4, 3], 0], lids[[0, 5, 4, 3], 1])
        top = upper - _LID_ABOVE * (upper - np.interp(columns, over[:, 0], over[:, 1]))
        bottom = lower + _LID_BELOW * np.ptp(lids[:, 0])
        gap = lower - upper
        shut = np.stack([top, upper + _UPPER_LID * blink * gap, lower - _LOWER_LID * blink * gap, bottom])
        rows = np.arange(int(top.min()), int(bottom.max()) + 2)
        from_rows = [np.interp(rows, shut[:, i], (top[i], upper[i], lower[i], bottom[i])) for i in range(len(columns))]
        outside = (rows[:, None] < top) | (rows[:, None] > bottom)
        down = np.where(outside, rows[:, None], np.stack(from_rows, axis=1)).astype(np.float32)
        across = np.broadcast_to(columns.astype(np.float32), down.shape).copy()
        moved = cv2.remap(portrait.picture, across, down, cv2.INTER_LINEAR)
        picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = moved
    return picture


class _Spline:
    """A thin-plate spline from points (n, 2) of the plane to vectors (n, 2)."""

    def __init__(self, at: Points, values: Points) -> None:
        count = len(at)
        affine = np.column_stack([np.ones(count), at])
        system = np.zeros((count + 3, count + 3))
        system[:count, :count] = _bend(at, at) + _STIFFNESS * np.eye(count)
        system[:count, count:], system[count:, :count] = affine, affine.T
        self._at = at
        self._weights = np.linalg.solve(system, np.concatenate([values, np.zeros((3, 2))]))

    def __call__(self, points: Points) -> Points:
        """Vectors (m, 2) at points (m, 2)."""
        found: Points = _bend(points, self._at) @ self._weights[:-3]
        found += np.column_stack([np.ones(len(points)), points]) @ self._weights[-3:]
        return found


def _bend(a: Points, b: Points) -> Points:
    """r^2 log r^2 of all distances r between two sets of points, (len(a), len(b))."""
    squares = ((a[:, None, 0] - b[None, :, 0]) ** 2 + (a[:, None, 1] - b[None, :, 1]) ** 2).astype(np.float32)
    return np.asarray(squares * np.log(squares + np.float32(1e-9)), np.float64)


def _field(spline: _Spline, origin: tuple[int, int], size: tuple[int, int], step: int) -> Pixels:
    """The vectors of a spline over a rectangle of size (width, height), float32 (height, width, 2)."""
    columns, rows = -(-size[0] // step), -(-size[1] // step)
    across, down = np.meshgrid(np.arange(columns), np.arange(rows))
    at = np.asarray((np.column_stack([across.ravel(), down.ravel()]) + 0.5) * step - 0.5 + origin, np.float64)
    vectors = spline(at).reshape(rows, columns, 2)
    whole = cv2.resize(vectors.astype(np.float32), (columns * step, rows * step), interpolation=cv2.INTER_CUBIC)
    return np.asarray(whole[: size[1], : size[0]], np.float32)


def _between(points: Points, share: float) -> Points:
    """Points (3, 2) at a share of the way from the upper to the lower inner lip."""
    return np.stack([points[a] + share * (points[b] - points[a]) for a, b in _LIPS])


def _fill(picture: Pixels, polygon: Points, colour: NDArray[np.float32], strength: float) -> None:
    """Lay a colour over a polygon (n, 2) with soft edges, in place."""
    x0, y0 = np.maximum(np.floor(polygon.min(axis=0)).astype(int) - 4, 0)
    x1, y1 = np.minimum(np.ceil(polygon.max(axis=0)).astype(int) + 5, (picture.shape[1], picture.shape[0]))
    if strength <= 0 or x1 <= x0 or y1 <= y0:
        return
    hard = np.zeros((int(y1 - y0), int(x1 - x0)), np.uint8)
    cv2.fillPoly(hard, [np.round((polygon - (x0, y0)) * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    mask = cv2.GaussianBlur(hard, (0, 0), 1.0).astype(np.float32)[:, :, None] * np.float32(strength / 255)
    region = picture[y0:y1, x0:x1]
    region += mask * (colour - region)
