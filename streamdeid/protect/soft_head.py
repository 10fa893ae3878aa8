"""The ellipse about a head that a soft redaction covers wholly, and the soft rim around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamdeid.aam.smooth_step import smooth_step
from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Track
from streamdeid.core.ibug68 import LEFT_EYE, OUTLINE, RIGHT_EYE
from streamdeid.errors import FailedClosed

FEATHER = 0.3
"""Width of the soft rim outside the ellipse, share of its half axes."""
_LEAST_FEATHER = 3.0
"""The least width of the soft rim in pixels: chroma is half as fine as luma."""
_MESH_MARGIN = 1.1
"""Factor by which a face's mesh is grown before the ellipse is laid about it. The cheek of a turned head reaches up to
.11 of the width beyond the mesh, and the ellipse reaches beyond the points that it contains."""
_BOX_AXES = (0.68, 0.78)
"""Half axes of the ellipse about a box that reaches from brows to chin and from temple to temple, shares of its sides.
Forehead, ears and chin are then inside, and also the chin of a profile, which lies in a corner of the box."""
_BOX_RAISED = 0.1
"""How far the middle of the head lies above the middle of such a box, share of the box's height."""
_NEAR = 0.2
"""Share of the box's side: a head that ends within that distance of the picture's border is taken to be cut by it."""
_BEYOND = 0.4
"""How much farther such a head is then redacted, as if it went on beyond the border, share of the box's side."""
_CUT_GROWTH = (1.15, 1.1)
"""Growth of the ellipse across and down where the border cuts a face and there is no mesh. The detector's boxes of such
faces are too small (115 x 170 pixels of 187 x 266, docs/methods.md 6.2)."""
_LARGEST = 1e6
"""Longest half axis in pixels: beyond it the kernel's numbers could not tell a pixel from the next one."""
_RIM = 24
"""Number of points that stand for the rim of an ellipse."""


@dataclass(frozen=True)
class Head:
    """An ellipse about a head, in pixels: nothing of the original is left inside it."""

    x: float
    y: float
    across: float
    """Half axis that is horizontal in an upright head."""
    down: float
    """The other half axis."""
    angle: float = 0.0
    """Turn in the picture, radians, clockwise on the screen."""

    @property
    def reach(self) -> float:
        """Radius, in half axes, at which the soft rim ends."""
        return 1 + max(FEATHER, _LEAST_FEATHER / min(self.across, self.down))

    @property
    def box(self) -> Box:
        """The upright box, in pixels, about everything that is changed: x0, y0, x1, y1."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        dx, dy = np.hypot(self.across * c, self.down * s), np.hypot(self.across * s, self.down * c)
        half = self.reach * np.array([dx, dy])
        return float(self.x - half[0]), float(self.y - half[1]), float(self.x + half[0]), float(self.y + half[1])

    def check(self) -> None:
        """Raise FailedClosed when this is no finite ellipse with an extent."""
        if not all(map(math.isfinite, (self.x, self.y, self.across, self.down, self.angle))):
            raise FailedClosed("a head's place is not finite")
        if min(self.across, self.down) <= 0 or max(self.across, self.down) > _LARGEST:
            raise FailedClosed("a head has no extent, or no end")

    def places(self, radii: Points, angles: Points) -> Points:
        """Places float64 (r, a, 2) in the picture at radii (r,) in half axes and angles (a,) in radians."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        p = self.across * radii[:, None] * np.cos(angles)
        q = self.down * radii[:, None] * np.sin(angles)
        return np.stack([self.x + c * p - s * q, self.y + s * p + c * q], axis=2)

    def radii(self, x: Points, y: Points) -> Points:
        """Distance of places (n,) from the middle, in half axes: below 1 inside the ellipse."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        u = (c * (x - self.x) + s * (y - self.y)) / self.across
        v = (c * (y - self.y) - s * (x - self.x)) / self.down
        distance: Points = np.hypot(u, v)
        return distance

    @property
    def area(self) -> float:
        """Area of the ellipse in square pixels."""
        return math.pi * self.across * self.down

    def near(self, other: Head, radius: float) -> bool:
        """Whether another head may touch anything within a radius, in half axes, of this one."""
        reach = radius * max(self.across, self.down) + other.reach * max(other.across, other.down) + 4
        return math.hypot(other.x - self.x, other.y - self.y) < reach

    def weights(self, x: Points, y: Points) -> Points:
        """How much of the redaction of the head is seen at places (n,): 1 inside, falling to 0 across the rim."""
        weight: Points = smooth_step((self.reach**2 - self.radii(x, y) ** 2) / (self.reach**2 - 1))
        return weight

    @property
    def terms(self) -> tuple[float, float, float, float, float, float, float]:
        """Numbers by which a kernel finds the pixels of the ellipse and its rim: the middle x and y, four terms of the
        distance in half axes, and the square of a limit. A pixel at a smaller distance lies in the ellipse or its rim,
        or shares a chroma sample with one that does. For a place (dx, dy) from the middle the distance is the length of
        (t2 dx + t3 dy, t4 dy - t5 dx)."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        limit = self.reach + 2 / min(self.across, self.down)
        return (self.x, self.y, c / self.across, s / self.across, c / self.down, s / self.down, limit * limit)

    def window(self, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
        """Pixels x0, y0, x1, y1 of a picture (width, height) that the ellipse and its rim may touch; None when there
        are none. The window begins at even pixels, and ends at even ones or at the border."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        half = self.reach * np.hypot([self.across * c, self.down * c], [self.down * s, self.across * s])
        middle, limit = np.array([self.x, self.y]), np.array(size)
        low = np.clip(np.floor(middle - half), 0, limit).astype(int) & ~1
        high = np.minimum((np.clip(np.ceil(middle + half) + 1, 0, limit).astype(int) + 1) & ~1, limit)
        return None if (high <= low).any() else (int(low[0]), int(low[1]), int(high[0]), int(high[1]))


def head_of(box: Box, points: Points | None, size: tuple[int, int]) -> Head:
    """The ellipse about the head whose face lies in a box, in a picture of size (width, height).

    box: the detector's or a predicted one, pixels, brows to chin. points (81, 2): landmarks and forehead points, or
    None. The whole face lies inside the ellipse: the mesh where it is known, otherwise the box grown by forehead, ears
    and chin. A head that comes near the picture's border is taken to go on beyond it. Raises FailedClosed when anything
    is not finite.
    """
    x0, y0, x1, y1 = box
    if not np.isfinite(box).all() or (points is not None and not np.isfinite(points).all()):
        raise FailedClosed("a face's place is not finite")
    width, height = max(x1 - x0, 1.0), max(y1 - y0, 1.0)
    middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
    round_about = np.linspace(0, 2 * np.pi, _RIM, endpoint=False)
    circle = np.column_stack([np.cos(round_about), np.sin(round_about)])
    angle = 0.0
    if points is None:
        half, raised = np.array(_BOX_AXES) * (width, height), np.array([0.0, _BOX_RAISED * height])
        contained = middle - raised + circle * half
        cut = _beyond(contained, (width, height), size)
        if cut.any():
            contained = middle - raised + circle * half * _CUT_GROWTH
    else:
        angle, contained = _roll(points), points[OUTLINE]
        contained = contained.mean(axis=0) + _MESH_MARGIN * (contained - contained.mean(axis=0))
        if _around(contained, angle).radii(*middle[:, None]).item() > 1:
            # Landmarks that lie beside the box are astray, and the box may be right.
            contained = np.concatenate([contained, middle + circle * (0.5 * width, 0.5 * height)])
        cut = _beyond(contained, tuple(np.ptp(points, axis=0)), size)
    shifts = [cut * (0, 0), cut * (1, 0), cut * (0, 1), cut]
    return _around(np.concatenate([contained + shift for shift in shifts]), angle)


def lost_face(track: Track) -> Box:
    """The box of a lost face, pixels, without a margin for the head: the place where the face may be includes that
    margin."""
    if track.sides is None:
        return track.box
    x0, y0, x1, y1 = track.box
    rooms = zip(track.sides, (x1 - x0, y1 - y0), _BOX_AXES, strict=True)
    half = [max(side, room / (2 * axis)) / 2 for side, room, axis in rooms]
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return x - half[0], y - half[1], x + half[0], y + half[1]


def _beyond(points: Points, sides: tuple[float, float], size: tuple[int, int]) -> Points:
    """How far (2,) a head with these points (n, 2) is taken to go on beyond the borders that it comes near; 0 where it
    comes near none."""
    low, high = points.min(axis=0), points.max(axis=0)
    near = _NEAR * np.array(sides)
    before = (low < near) & (high > -near)
    after = (high > np.array(size) - near) & (low < np.array(size) + near)
    # A head near two opposite borders fills the picture: its own extent already reaches beyond both.
    shift: Points = _BEYOND * np.array(sides) * (after.astype(float) - before.astype(float))
    return shift


def _roll(points: Points) -> float:
    """Turn of a face in the picture, radians, by the line between its eyes."""
    x, y = points[RIGHT_EYE].mean(axis=0) - points[LEFT_EYE].mean(axis=0)
    return float(np.arctan2(y, x))


def _around(points: Points, angle: float) -> Head:
    """The ellipse at an angle that contains all points (n, 2), its axes in proportion to their extent."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    level = points @ turn
    low, high = level.min(axis=0), level.max(axis=0)
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1.0)
    across, down = half * np.hypot(*((level - middle) / half).T).max()
    x, y = turn @ middle
    return Head(float(x), float(y), float(across), float(down), angle)
