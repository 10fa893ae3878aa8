"""The region that a posed face replaces: nothing of the original stays in it (docs/methods.md 8.2).

It is convex. It holds the mean head at the pose, from the hairline to the chin and over the profile, the surrogate's
own outline, and the ellipse of the face in its detection's box, all grown by a margin. If the pose is read wrongly,
parts of the face lie beside the head that is rendered; the ellipse and the margin are there for that. The code that
decides whether a posed face may be shown asks `holds` (the cover rule).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.core.arrays import Box, Points
from streamdeid.core.convex import ABOUT, ROUND, convex, grown
from streamdeid.observe.keypoint_pose import KeypointPose, MeanHead

HAIRLINE = np.array(
    [[18, -4, 56], [40, -26, 30], [68, -38, 10], [99.5, -42, 2], [131, -38, 10], [159, -26, 30], [181, -4, 56]]
)  # fmt: skip
"""Where the mean head's hair begins, pixels of the model's frame and depth. The landmarker's mesh ends half-way up the
forehead. In faces the height from brows to hair equals that from there to the nose, and from the nose to the chin."""
_MARGINS = [23.0, 28.0, 40.0], [0.2, 0.1, 0.08]
"""Widths of a face in pixels, and how far the region reaches beyond the face at each, as shares of the width."""
_HAIR_MARGIN = 0.04
"""How far the region reaches beyond the hairline, as a share of the width; a larger reach takes the hair away."""
_LEAST = 1.5
"""Least reach beyond the face, in pixels."""
_RIM = np.linspace(0, 2 * np.pi, 32, endpoint=False)
_EPSILON = 1e-3
"""Pixels by which a point on the line may lie outside of it by rounding."""


@dataclass(frozen=True)
class HeadOutline:
    """The mean head: the landmarker's mesh, and where its hair begins."""

    head: MeanHead
    points: Points
    """float64 (n, 3): pixels of the model's frame, and depth."""
    reach: float
    """Distance of the farthest of them from the middle of the keypoints, in widths of the model's frame."""

    @classmethod
    def of(cls, fitting: FitModel) -> HeadOutline:
        """The outline of a model's head."""
        head, points = MeanHead.of(fitting), np.concatenate([fitting.solid.mesh, HAIRLINE])
        return cls(head, points, float(np.linalg.norm(points - head.middle, axis=1).max()) / head.width)


def face_ellipse(box: Box) -> Points:
    """The rim float64 (32, 2), pixels, of the ellipse of the face in a box that reaches from hairline to chin."""
    middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
    half = np.array([box[2] - box[0], box[3] - box[1]]) / 2
    rim: Points = middle + half * np.column_stack([np.cos(_RIM), np.sin(_RIM)])
    return rim


def posed_region(pose: KeypointPose, outline: HeadOutline, others: Sequence[Points] = ()) -> Points:
    """The region, float64 (n, 2): the corners of a convex polygon in pixels, in turn.

    others: points (m, 2) in the picture that the region must hold with the same margin: ellipses, the surrogate's mesh.
    """
    head = seen_by(outline.points, pose.head_pose(outline.head))[:, :2]
    hull = convex(np.concatenate([head[: -len(HAIRLINE)], *others]))
    reach = margin_of(pose.size)
    hair = head[-len(HAIRLINE) :, None] + _HAIR_MARGIN * pose.size * ROUND
    return convex(np.concatenate([grown(hull, reach), hair.reshape(-1, 2)]))


def region_bounds(pose: KeypointPose, outline: HeadOutline, others: Sequence[Points] = ()) -> Box:
    """A box, pixels, that holds `posed_region` however the head is turned: twenty times as quick to make."""
    radius, reach = outline.reach * pose.size, max(margin_of(pose.size), _HAIR_MARGIN * pose.size)
    circle = np.array([[pose.x - radius, pose.y - radius], [pose.x + radius, pose.y + radius]])
    return bounds_of(np.concatenate([circle, *others]), reach)


def margin_of(size: float) -> float:
    """How far the region of a face of so many pixels' width reaches beyond the face, pixels."""
    return max(_LEAST, float(np.interp(size, *_MARGINS)) * size)


def bounds_of(points: Points, reach: float) -> Box:
    """A box that holds the points (n, 2) `grown` by a reach, pixels, and what `convex` makes of them."""
    (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    reach = ABOUT * reach + _EPSILON
    return x0 - reach, y0 - reach, x1 + reach, y1 + reach


def holds(region: Points, points: Points) -> bool:
    """Whether a region (n, 2) of `posed_region` contains all points (m, 2), for example those of `face_ellipse`."""
    return bool(holding(region, points).all())


def holding(region: Points, points: Points) -> NDArray[np.bool_]:
    """Which of the points (m, 2) a convex region (n, 2) contains, (m,)."""
    along = np.roll(region, -1, axis=0) - region
    away = points[:, None] - region
    side = along[:, 0] * away[:, :, 1] - along[:, 1] * away[:, :, 0]
    x, y = region.T
    turns = np.sign(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))
    inside: NDArray[np.bool_] = (turns * side >= -_EPSILON * np.linalg.norm(along, axis=1)).all(axis=1)
    return inside
