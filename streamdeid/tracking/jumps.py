"""Has another face taken a track's place between two frames? A face that jumps and changes may be another one.

Somebody who comes out from behind another appears about half a face beside the one who is now hidden. If both were
never found in one frame, place and motion see one face that jumped a little. What tells them apart is that the
landmarks' figure differs too, place, size and tilt aside: from one frame to the next the figure of one face changed by
less than `SAME` in 99 of 100 frames of the clips with one person, and those of two people differ by more in 998 of 1000
pairs of people of all clips.
"""

from __future__ import annotations

import numpy as np

from streamdeid.tracking.association import Flags, Floats, Shapes

PLACE = 0.2
"""Distance from the predicted place, in face sizes, from which a face has jumped. Lone heads reached 0.13."""
SAME = 0.05
"""Difference of two figures up to which they are one face; 1 is as far as the landmarks lie from their centre."""
OTHER = 0.1
"""Difference from which they may be two wherever they are. Lone heads reached 0.083; three of four pairs of people
differ by more. Of faces 24 pixels wide the landmarks themselves are about that unsure: those often count as another's.
"""


def jumped(before: Shapes, after: Shapes) -> Flags:
    """Which of n tracks, predicted at `before`, may show another face at `after`; bool (n,).

    Where one side has no landmarks, place alone decides.
    """
    sizes = np.sqrt((before.boxes[:, 2:] - before.boxes[:, :2]).prod(axis=1))
    middles = [(shapes.boxes[:, :2] + shapes.boxes[:, 2:]) / 2 for shapes in (before, after)]
    far = np.linalg.norm(middles[0] - middles[1], axis=1) > PLACE * sizes
    differs = np.where(far, np.inf, 0.0)
    known = ~np.isnan(before.landmarks[:, 0, 0]) & ~np.isnan(after.landmarks[:, 0, 0])
    differs[known] = figure_distance(before.landmarks[known], after.landmarks[known])
    return np.asarray((far & (differs > SAME)) | (differs > OTHER), dtype=np.bool_)


def figure_distance(a: Floats, b: Floats) -> Floats:
    """Root mean square distance of points (n, 68, 2) laid onto each other by shift, scale and turn, in units of their
    root mean square distance from their centre; (n,)."""
    one, other = _figure(a), _figure(b)
    turn = (one.conj() * other).sum(axis=1)
    turn = turn / np.maximum(np.abs(turn), 1e-12)
    return np.asarray(np.sqrt((np.abs(one * turn[:, None] - other) ** 2).mean(axis=1)), dtype=np.float64)


def _figure(points: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.complex128]]:
    """Points (n, 68, 2) as complex numbers (n, 68) about 0, of mean square 1."""
    flat = points[..., 0] + 1j * points[..., 1]
    flat = flat - flat.mean(axis=1, keepdims=True)
    # At least a pixel: degenerate landmarks must not divide by zero.
    return np.asarray(flat / np.sqrt(np.maximum((np.abs(flat) ** 2).mean(axis=1, keepdims=True), 1)))
