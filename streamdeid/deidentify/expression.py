"""Expression of a frame laid onto a surrogate's neutral shape (P4 repaired: METHODS 1.9, 2.4 and 4.0).

Everything happens in the model's frame, in Cartesian coordinates (no truncation by PCA, or mouths go stiff).
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.piecewise_affine import Points
from streamdeid.ibug68 import (
    LEFT_EYE,
    LEFT_EYE_CORNERS,
    MOUTH,
    MOUTH_CORNERS,
    OUTLINE,
    RIGHT_EYE,
    RIGHT_EYE_CORNERS,
    RIGID,
)

_PARTS = ((LEFT_EYE, LEFT_EYE_CORNERS), (RIGHT_EYE, RIGHT_EYE_CORNERS), (MOUTH, MOUTH_CORNERS))
_LIP_PAIRS = ((13, 19), (14, 18), (15, 17))
"""Upper and lower inner lip, from the left, numbers within the mouth."""
_OVER = {13: [1, 2], 14: [3], 15: [4, 5], 17: [7, 8], 18: [9], 19: [10, 11]}
"""Points of the outer lip beside each."""
_NARROWEST = 0.12
"""Opening over width that an eye at rest has at least: below, it was never seen open."""
_MOST_TURN = 0.5
"""Largest turn, pixels for a pixel of depth (about radians), taken out of a surrogate."""
_RISE, _REST = 1.5, -0.045
"""How much of the gaze's rise and fall is drawn for each that the landmarker reads, and the height of an iris at rest,
eye widths below the line of the corners. It reads of eyes whose gaze is known (drawn ones) 0.3 to 0.6 of the rise and
fall, so that 1.5 exaggerates none. Chosen on expressions_gaze; medians of three clips at rest: -.03, -.04, -.06."""
_OUTWARDS = 9.0
"""Pixels of the model's frame by which the surrogate may widen the person's outline."""


def transfer_expression(shape: Points, neutral: Points, surrogate: Points) -> Points:
    """The surrogate's shape with the person's expression, (81, 2).

    shape, neutral: the person in this frame and at rest; surrogate: the new face at rest; all (81, 2) in the model's
    frame. P4 equation (1) moves every point; within eyes and mouth the change is then laid anew about the line of their
    corners, and their openings follow the person's. Contours stay the surrogate's: those of lids and lips name people.
    """
    moved = surrogate + shape - neutral
    for part, (a, b) in _PARTS:
        levels = [_level(face[part], face[a], face[b]) for face in (shape, neutral, surrogate)]
        ratio = _width(surrogate, a, b) / max(_width(neutral, a, b), 1e-6)
        laid = levels[2] + ratio * (levels[0] - levels[1])
        opened = _open_lips if part is MOUTH else _open_lids
        opened(laid, ratio, *levels)
        moved[part] = _tilted(laid, moved[a], moved[b])
    moved[OUTLINE] = _outline(shape, neutral, surrogate)
    return moved


def _level(points: Points, a: Points, b: Points) -> Points:
    """Points (n, 2) from the middle between two corners, turned so that these lie level."""
    along = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
    level: Points = (points - (a + b) / 2) @ np.array([[along[0], -along[1]], [along[1], along[0]]])
    return level


def _tilted(points: Points, a: Points, b: Points) -> Points:
    """Inverse of `_level`."""
    along = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
    tilted: Points = points @ np.array([[along[0], along[1]], [-along[1], along[0]]]) + (a + b) / 2
    return tilted


def _open_lids(laid: Points, ratio: float, shape: Points, neutral: Points, surrogate: Points) -> None:
    """Open an eye (6, 2), in place: closing is relative, so that shut eyes are shut; opening wider is absolute, or a
    narrow eye's twitch would be a stare."""
    for upper, lower in ((1, 5), (2, 4)):
        now, rest, own = (float(eye[lower, 1] - eye[upper, 1]) for eye in (shape, neutral, surrogate))
        closed = max(own, 0.0) * min(max(now, 0.0) / max(rest, _NARROWEST * float(np.ptp(neutral[:, 0]))), 1.0)
        laid[upper, 1] = laid[lower, 1] - closed - ratio * max(now - rest, 0.0)


def _open_lips(laid: Points, ratio: float, shape: Points, neutral: Points, surrogate: Points) -> None:
    """Open a mouth (20, 2), in place, exactly as wide as the person's: a surrogate at rest is shut. Lips keep their
    thickness."""
    for upper, lower in _LIP_PAIRS:
        middle = (laid[upper, 1] + laid[lower, 1]) / 2
        half = ratio * max(float(shape[lower, 1] - shape[upper, 1]), 0.0) / 2
        for inner, at in ((upper, middle - half), (lower, middle + half)):
            laid[_OVER[inner], 1] += at - laid[inner, 1]
            laid[inner, 1] = at


def facing(surrogate: Points, neutral: Points, depth: Points) -> Points:
    """The surrogate's shape (81, 2) turned to look where the person at rest looks.

    A frontal face with a low nose and one that nods differ in the same way: by an offset proportional to the depth
    (81,) of each point. That part of the difference is pose, not identity, and stays the person's (METHODS 2.4). It is
    found as head pose is (`aam.pose`): on the points that expressions move least, those of the outline included, which
    stay the person's own.
    """
    inner = np.ones(len(neutral), np.bool_)
    inner[OUTLINE] = False
    z = (depth - depth[inner].mean()) * inner
    offset = (surrogate - neutral) * inner[:, None]
    apparent = _apparent_turn(offset, neutral, depth)
    # What a turn of the inner points alone looks like, with the outline held: the response to be inverted.
    across, down = (_apparent_turn(np.outer(z, axis), neutral, depth) for axis in np.eye(2))
    turn = np.linalg.solve(np.column_stack([across, down]), apparent)
    turned: Points = surrogate - np.outer(depth - depth[inner].mean(), np.clip(turn, -_MOST_TURN, _MOST_TURN))
    return turned


def _apparent_turn(offset: Points, shape: Points, depth: Points) -> Points:
    """Turn (2,) in x and y, per pixel of depth, that an offset (81, 2) of a shape (81, 2) is taken for, besides a
    shift, a scaling and a roll; least squares over the rigid points."""
    (x, y), z = shape[RIGID].T - shape[RIGID].mean(axis=0)[:, None], depth[RIGID] - depth[RIGID].mean()
    one, none = np.ones(len(z)), np.zeros(len(z))
    rows_x = np.column_stack([one, none, x, -y, z, none])
    rows_y = np.column_stack([none, one, y, x, none, z])
    found, *_ = np.linalg.lstsq(np.vstack([rows_x, rows_y]), offset[RIGID].T.ravel(), rcond=None)
    turn: Points = found[4:]
    return turn


def lay(points: Points, corners: tuple[Points, Points], onto: tuple[Points, Points], ratio: float) -> Points:
    """Points (n, 2) turned with the line of their corners onto another pair, scaled by `ratio` about the middle."""
    (a, b), (c, d) = corners, onto
    turn = np.arctan2(*(d - c)[::-1]) - np.arctan2(*(b - a)[::-1])
    rotation = ratio * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    laid: Points = (points - (a + b) / 2) @ rotation.T + (c + d) / 2
    return laid


def eye_maps(shape: Points, laid: Points) -> list[tuple[Points, Points]]:
    """For each eye the linear part (2, 2) and shift (2,) that take an iris of the person's eye into the new one.

    Corners lie on corners; heights over the line between them grow by `_RISE` about where an eye at rest looks.
    """
    maps: list[tuple[Points, Points]] = []
    for a, b in (LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS):
        old, new = shape[b] - shape[a], laid[b] - laid[a]
        factor = complex(*new) / complex(*old)
        width = float(np.hypot(*old))
        down = np.array([-old[1], old[0]]) / width
        similar = np.array([[factor.real, -factor.imag], [factor.imag, factor.real]])
        linear = np.asarray(similar @ (np.eye(2) + (_RISE - 1) * np.outer(down, down)), np.float64)
        rest = (shape[a] + shape[b]) / 2 + _REST * width * down
        shift = similar @ (rest - shape[a]) + laid[a] - linear @ rest
        maps.append((linear, shift))
    return maps


def _width(shape: Points, a: int, b: int) -> float:
    return float(np.linalg.norm(shape[b] - shape[a]))


def _outline(shape: Points, neutral: Points, surrogate: Points) -> Points:
    """The person's own outline, pushed outwards where the surrogate's is wider: nothing of the person's jaw stays
    visible beside a narrower new one. The outline itself is given away by any cover (the black-hull control)."""
    ring = neutral[OUTLINE]
    along = np.roll(ring, -1, axis=0) - np.roll(ring, 1, axis=0)
    normal = np.column_stack([along[:, 1], -along[:, 0]])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
    normal *= np.sign(((ring - ring.mean(axis=0)) * normal).sum())
    push = np.clip(((surrogate[OUTLINE] - ring) * normal).sum(axis=1, keepdims=True), 0, _OUTWARDS)
    pushed: Points = shape[OUTLINE] + push * normal
    return pushed
