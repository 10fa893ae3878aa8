"""The pose of a head from a detector's five keypoints, for faces that have no landmarks (docs/methods.md 8.1).

The mean head is seen in weak perspective: place, size, turn, nod and roll are six numbers. What the five points of a
head have in common with the mean head's is the pose. The rest, a person's own proportions, is thrown away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.positive_system import solved
from streamdeid.core.arrays import Box, Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.ibug68 import LEFT_EYE, MOUTH_CORNERS, NOSE_TIP, NOSTRILS, RIGHT_EYE
from streamdeid.core.kernel_cache import kernel
from streamdeid.observe.smoothing import OneEuro

KEYPOINT_VERTICES = (33, 133), (362, 263), (4, 49, 279), (61,), (291,)
"""Vertices of the landmarker's mesh whose means are the keypoints: corners of the eyes, tip and wings of the nose,
corners of the mouth. On 205 good meshes of six clips the network's nose lay 36 pixels of the model's frame in front of
the others; the tip alone lies at 59, this mean at 41. The other keypoints agree to 5."""
FITS = 0.07
"""Largest root mean square distance of the points from the mean head's, share of the face's width, at which they are
taken for a head's."""
_SPREAD = np.array([0.035, 0.035, 0.045, 0.045, 0.045])
"""Usual error of the eyes, the nose and the corners of the mouth, shares of the face's width."""
_TAIL = 2.0
"""Number of spreads from which a point counts clearly less."""
_SIDE = 1.16
"""Mean side of the detector's box over the width of the face."""
_USUAL = np.array([0.0, 0.0, 0.05, 0.0])
"""Expected values: log of the size over that of the box, yaw, nod and roll (radians)."""
_RANGE = np.array([0.14, 1.0, 0.4, 0.9])
"""How far these values usually are from the expected ones. A narrower nod (0.28) halves nods of 25 degrees and more,
and on 273 meshes of eleven clips nod was read no better with it."""
_STARTS = np.array([0.0, -0.9, 0.9])
"""Yaws from which the search begins."""
_ROUNDS = 12
_CLOSE = 1e-5
"""Movement of a parameter below which the search ends; it ends at the latest after `_ROUNDS` rounds."""
_YAW, _NOD = 1.7, 1.2
"""Largest yaw and nod, radians: beyond them no face is visible."""
_UNITS = np.array([12.0, 12.0, 5.0, 5.0, 5.0, 5.0])
"""Factors by which the filter multiplies places (widths), log size and angles (radians). A speed of 1 is then one that
does not come from noise alone: from frame to frame places of heads at rest change by 0.026, log sizes by 0.035 and yaws
by 0.08 (medians of 690 pairs in four clips)."""
_PAUSE = 0.5
"""Seconds without a pose after which the filter begins anew."""


@dataclass(frozen=True)
class KeypointPose:
    """The pose of a head in the picture. Angles are those of `HeadPose`."""

    x: float
    """Place of the middle of the mean head's five points, x and y, pixels."""
    y: float
    size: float
    """Width that the face would have if it looked into the camera, pixels."""
    yaw: float
    """Radians, positive when the face looks to the picture's left."""
    nod: float
    """Radians, positive when the face looks up."""
    roll: float
    """Turn in the picture, radians from -pi to pi, clockwise on the screen."""
    residual: float = 0.0
    """Root mean square distance of the keypoints from the mean head's, share of the size."""

    @property
    def tilt(self) -> float:
        """How far the head is turned in the picture from the nearest quarter turn, radians from -pi / 4 to pi / 4."""
        return math.remainder(self.roll, math.pi / 2)

    @property
    def rotation(self) -> Points:
        """float64 (3, 3): roll after nod after yaw."""
        (cy, sy), (cn, sn), (cr, sr) = ((np.cos(a), np.sin(a)) for a in (self.yaw, self.nod, self.roll))
        swing = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
        tilt = np.array([[1, 0, 0], [0, cn, sn], [0, -sn, cn]])
        turn = np.array([[cr, -sr, 0], [sr, cr, 0], [0, 0, 1]])
        whole: Points = turn @ tilt @ swing
        return whole

    def carried(self, camera: CameraMotion) -> KeypointPose:
        """The same head after the camera moved."""
        x, y = camera(np.array([self.x, self.y])).tolist()
        return replace(self, x=x, y=y, size=self.size * camera.scale, roll=_wrapped(self.roll + camera.angle))

    def head_pose(self, head: MeanHead) -> HeadPose:
        """The same pose as a view of the model's frame."""
        scale, rotation = self.size / head.width, self.rotation
        middle = scale * (rotation @ head.middle)
        return HeadPose(scale, rotation, np.array([self.x, self.y]) - middle[:2])


@dataclass(frozen=True)
class MeanHead:
    """The places of the keypoints on the mean head."""

    keypoints: Points
    """float64 (5, 3): keypoints relative to their middle, in widths of the model's frame; the third is depth."""
    middle: Points
    """float64 (3,): the middle of the keypoints, pixels of the model's frame."""
    width: float
    """Width of the model's frame, pixels."""

    @classmethod
    def of(cls, fitting: FitModel) -> MeanHead:
        """The mean head of a model."""
        places = np.array([fitting.solid.mesh[list(some)].mean(axis=0) for some in KEYPOINT_VERTICES])
        width, middle = float(fitting.model.frame_size[0]), places.mean(axis=0)
        return cls((places - middle) / width, middle, width)


def points_of_mesh(mesh: Points) -> Points:
    """The keypoints (5, 2) of the landmarker's mesh, float64 (468, 3), pixels."""
    points: Points = np.array([mesh[list(some), :2].mean(axis=0) for some in KEYPOINT_VERTICES])
    return points


def points_of_landmarks(landmarks: Points) -> Points:
    """The keypoints (5, 2) of the 68 iBUG points, float64 (68, 2), pixels."""
    nose = landmarks[[NOSE_TIP, NOSTRILS.start, NOSTRILS.stop - 1]].mean(axis=0)
    eyes = landmarks[LEFT_EYE].mean(axis=0), landmarks[RIGHT_EYE].mean(axis=0)
    points: Points = np.array([*eyes, nose, *landmarks[list(MOUTH_CORNERS)]])
    return points


def pose_of_keypoints(keypoints: Points, box: Box, head: MeanHead) -> KeypointPose | None:
    """The pose of a head by its keypoints; None where they are not a head's.

    keypoints float64 (5, 2): the person's right eye (on the left of the picture), left eye, tip of the nose, right and
    left corner of the mouth, pixels. box: of the same detection, x0, y0, x1, y1 in pixels. The most probable pose is
    taken: the errors of points follow a law with long tails, size, yaw, nod and roll the normal one.
    """
    side = ((box[2] - box[0]) + (box[3] - box[1])) / 2
    if keypoints.shape != (5, 2) or not np.isfinite(keypoints).all() or not 0 < side < np.inf:
        return None
    unit, middle = side / _SIDE, keypoints.mean(axis=0)
    turn = turns_of(keypoints)
    upright = _turned((keypoints - middle) / unit, -turn)
    residual, *found = _most_probable(upright, head.keypoints, _STARTS, _SPREAD, _USUAL, _RANGE)
    if not residual <= FITS:
        return None
    log, yaw, nod, roll, *away = found
    x, y = (middle + unit * _turned(np.array([away]), turn)[0]).tolist()
    return KeypointPose(x, y, math.exp(log) * unit, yaw, nod, _wrapped(roll + turn * math.pi / 2), residual)


def turns_of(keypoints: Points) -> int:
    """The number of quarter turns of a head, clockwise on the screen, 0 to 3, by its keypoints (5, 2): the turn that
    brings its mouth nearest to below its eyes."""
    x, y = (keypoints[3:].mean(axis=0) - keypoints[:2].mean(axis=0)).tolist()
    return round(math.atan2(-x, y) / (math.pi / 2)) % 4


def _turned(points: Points, turn: int) -> Points:
    """Points (n, 2) about the origin after quarter turns, clockwise on the screen."""
    cosine, sine = ((1, 0), (0, 1), (-1, 0), (0, -1))[turn % 4]
    return points @ np.array([[cosine, sine], [-sine, cosine]], np.float64)


@dataclass
class PoseFilter:
    """Steadies the poses of one tracklet: One-Euro (2 Hz, 0.35; docs/methods.md 8.1)."""

    _smooth: OneEuro = field(default_factory=lambda: OneEuro(2.0, 0.35))
    _start: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Place and size at which the filter began: the origin and unit of places."""
    _last: tuple[float, float] | None = None
    """Time in seconds and roll of the last pose."""

    def carried(self, camera: CameraMotion) -> None:
        """Account for a motion of the camera before the next frame."""
        value = self._smooth.value
        if value is None or self._last is None:
            return
        x0, y0, unit = self._start
        x, y = value[:2] / _UNITS[:2] * unit + (x0, y0)
        place = (camera(np.array([x, y])) - (x, y)) / unit
        self._smooth.moved(_UNITS * np.array([*place, math.log(camera.scale), 0.0, 0.0, camera.angle]))
        self._last = self._last[0], self._last[1] + camera.angle

    def __call__(self, pose: KeypointPose, time: float) -> KeypointPose:
        """The steadied pose at a time in seconds; times do not decrease."""
        if self._last is None or time - self._last[0] > _PAUSE:
            self._smooth, self._start = OneEuro(2.0, 0.35), (pose.x, pose.y, pose.size)
            self._last = time, pose.roll
        x0, y0, unit = self._start
        roll = self._last[1] + _wrapped(pose.roll - self._last[1])
        place = (pose.x - x0) / unit, (pose.y - y0) / unit
        now = np.array([*place, np.log(pose.size / unit), pose.yaw, pose.nod, roll])
        x, y, log, yaw, nod, roll_now = (float(value) for value in self._smooth(_UNITS * now, time) / _UNITS)
        self._last = time, roll
        return KeypointPose(
            x0 + unit * x, y0 + unit * y, unit * math.exp(log), yaw, nod, _wrapped(roll_now), pose.residual
        )


def _wrapped(angle: float) -> float:
    """The same angle from -pi to pi."""
    return float(np.arctan2(np.sin(angle), np.cos(angle)))


@kernel
def _most_probable(seen, model, starts, spread, usual, width):  # type: ignore[no-untyped-def]
    """The best pose that the search finds from several yaws: how far the points are off (root mean square, in sizes of
    the head), log size, yaw, nod, roll and place."""
    best, least, squares = np.full(6, np.nan), np.inf, np.nan
    for k in range(len(starts)):
        found = np.empty(6)
        cost, off = _fitted(seen, model, starts[k], spread, usual, width, found)
        if cost < least:
            best, least, squares = found, cost, off
    residual = np.sqrt(squares / len(seen)) / np.exp(best[0])
    return residual, best[0], best[1], best[2], best[3], best[4], best[5]


@kernel
def _fitted(seen, model, yaw, spread, usual, width, found):  # type: ignore[no-untyped-def]
    """The most probable pose near a yaw, by Gauss-Newton with Marquardt's damping: log size, yaw, nod, roll and place
    (6,), written to `found`. The points seen (5, 2) and the model (5, 3) about its middle are both in widths. Returns
    what `_equations` tells there of cost and squares."""
    p, q = np.empty(6), np.empty(6)
    _started(seen, model, yaw, p)
    matrix, right, system, step = np.empty((6, 6)), np.empty(6), np.empty((6, 6)), np.empty(6)
    cost, squares = _equations(seen, model, p, spread, usual, width, matrix, right)
    damping = 1e-3
    for _ in range(_ROUNDS):
        system[:], step[:] = matrix, right
        for k in range(6):
            system[k, k] *= 1 + damping
        solved(system, step)
        far = 0.0
        for k in range(6):
            q[k] = p[k] - step[k]
        q[1], q[2] = min(max(q[1], -_YAW), _YAW), min(max(q[2], -_NOD), _NOD)
        for k in range(6):
            far = max(far, abs(q[k] - p[k]))
        now, off = _equations(seen, model, q, spread, usual, width, system, step)
        if not now <= cost:
            damping *= 10
            continue
        p[:], matrix[:], right[:] = q, system, step
        cost, squares = now, off
        damping *= 0.1
        if far < _CLOSE:
            break
    found[:] = p
    return cost, squares


@kernel
def _started(seen, model, yaw, p):  # type: ignore[no-untyped-def]
    """Start at the size, roll and place with which a model (5, 3), turned by a yaw, fits points (5, 2) best
    (Procrustes)."""
    real, imaginary, extent, x, y = 0.0, 0.0, 1e-12, 0.0, 0.0
    for i in range(len(seen)):
        u, v = np.cos(yaw) * model[i, 0] + np.sin(yaw) * model[i, 2], model[i, 1]
        real += u * seen[i, 0] + v * seen[i, 1]
        imaginary += u * seen[i, 1] - v * seen[i, 0]
        extent += u * u + v * v
        x, y = x + seen[i, 0] / len(seen), y + seen[i, 1] / len(seen)
    p[0] = np.log(max(np.hypot(real, imaginary) / extent, 1e-3))
    p[1], p[2], p[3], p[4], p[5] = yaw, 0.0, np.arctan2(imaginary, real), x, y


@kernel
def _equations(seen, model, p, spread, usual, width, matrix, right):  # type: ignore[no-untyped-def]
    """Normal equations (6, 6) and (6,) of a step from p; returns the cost of p, and the sum of squares of how far the
    points are off. A point that is d spreads off costs t^2 log(1 + (d / t)^2), t = `_TAIL`. Log size, yaw, nod and roll
    cost the squares of their distances from the usual values, in units of `width`."""
    size = np.exp(p[0])
    cy, sy, cn, sn, cr, sr = np.cos(p[1]), np.sin(p[1]), np.cos(p[2]), np.sin(p[2]), np.cos(p[3]), np.sin(p[3])
    matrix[:], right[:] = 0.0, 0.0
    cost, squares = 0.0, 0.0
    slope, off = np.zeros((2, 6)), np.empty(2)
    for i in range(len(seen)):
        across, ahead = cy * model[i, 0] + sy * model[i, 2], cy * model[i, 2] - sy * model[i, 0]
        down, inwards = cn * model[i, 1] + sn * ahead, cn * ahead - sn * model[i, 1]
        u, v = size * (cr * across - sr * down), size * (sr * across + cr * down)
        off[0], off[1] = u + p[4] - seen[i, 0], v + p[5] - seen[i, 1]
        # By log size, yaw (it turns across and ahead into one another), nod (down and inwards), roll and place.
        slope[0, 0], slope[1, 0] = u, v
        slope[0, 1], slope[1, 1] = size * (cr * ahead + sr * sn * across), size * (sr * ahead - cr * sn * across)
        slope[0, 2], slope[1, 2] = -size * sr * inwards, size * cr * inwards
        slope[0, 3], slope[1, 3] = -v, u
        slope[0, 4], slope[1, 5] = 1.0, 1.0
        square, variance = off[0] * off[0] + off[1] * off[1], spread[i] * spread[i]
        far = square / (variance * _TAIL * _TAIL)
        cost += _TAIL * _TAIL * np.log(1 + far)
        squares += square
        weight = 1 / ((1 + far) * variance)
        for k in range(6):
            right[k] += weight * (slope[0, k] * off[0] + slope[1, k] * off[1])
            for m in range(6):
                matrix[k, m] += weight * (slope[0, k] * slope[0, m] + slope[1, k] * slope[1, m])
    for k in range(4):
        away = (p[k] - usual[k]) / width[k]
        cost += away * away
        right[k] += away / width[k]
        matrix[k, k] += 1 / (width[k] * width[k])
    return cost, squares
