"""Head pose: the mean face, with its mean depth, seen under scaled orthography.

A turned face is brought into the model's frame by undoing this view with the *mean* depth. After the exchange it is put
back by the same view, so that errors of the depth cancel: a published point is the original's place plus the
foreshortened difference between the surrogate and the person.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel, rigid_inverse
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import RIGID


@dataclass(frozen=True)
class HeadPose:
    """View of the model's frame (plus depth) into an image."""

    scale: float
    """Pixels of the image for one pixel of the frame."""
    rotation: Points
    """float64 (3, 3): rows are the image's x, y and viewing direction."""
    shift: Points
    """float64 (2,): image of the frame's origin."""

    @cached_property
    def yaw(self) -> float:
        """Turn about the vertical, radians, positive when the face looks to the picture's left."""
        return float(np.arcsin(np.clip(self.rotation[0, 2], -1, 1)))

    @cached_property
    def pitch(self) -> float:
        """Nod, radians, positive when the face looks up."""
        return float(np.arcsin(np.clip(self.rotation[1, 2], -1, 1)))

    @property
    def roll(self) -> float:
        """Turn in the picture, radians, clockwise on the screen."""
        return float(np.arctan2(self.rotation[1, 0], self.rotation[0, 0]))

    def to_image(self, points: Points, depth: Points) -> Points:
        """Points (n, 2) of the frame at depths (n,) as points (n, 2) of the image."""
        seen: Points = (
            self.scale * (points @ self.rotation[:2, :2].T + np.outer(depth, self.rotation[:2, 2])) + self.shift
        )
        return seen

    def to_frame(self, points: Points, depth: Points) -> Points:
        """Inverse of `to_image`. Near a profile view the foreshortened direction is divided by a tenth, not by zero."""
        flat = (points - self.shift) / self.scale - np.outer(depth, self.rotation[:2, 2])
        u, s, vt = np.linalg.svd(self.rotation[:2, :2])
        inverse = vt.T @ np.diag(1 / np.maximum(s, 0.1)) @ u.T
        back: Points = flat @ inverse.T
        return back


def estimate_pose(points: Points, shape: Points, depth: Points) -> HeadPose:
    """Pose of image points (81, 2) for a face with a neutral shape (81, 2) and depth (81,) in the frame.

    Least squares over the points that expressions move least; the nearest scaled rotation is taken by SVD.
    """
    return _posed(points, *rigid_inverse(shape, depth))


def _posed(points: Points, origin: Points, inverse: Points) -> HeadPose:
    seen = points[RIGID]
    centre = seen.mean(axis=0)
    affine = inverse @ (seen - centre)
    u, s, vt = np.linalg.svd(affine.T, full_matrices=False)
    rows = u @ vt
    scale = float(s.mean())
    (ax, ay, az), (bx, by, bz) = rows.tolist()
    rotation = np.array([*rows, (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)])
    return HeadPose(scale, rotation, centre - scale * rows @ origin)


def pose_of(points: Points, model: AppearanceModel) -> HeadPose:
    """Pose of image points (81, 2) for the model's mean face."""
    return _posed(points, *model.rigid_inverse)
