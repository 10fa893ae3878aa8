"""Constant-velocity Kalman filter on boxes, for all tracks at once.

A box is four independent signals: centre x, centre y, log width, log height. Each is a value and a rate, driven by
white-noise acceleration (Bar-Shalom, Li, Kirubarajan 2001, "Estimation with Applications to Tracking", section 6.2.2),
so a 2 x 2 covariance per signal is exact and nothing larger is ever inverted. Time steps are real seconds: two steps
of a and b seconds give the covariance of one step of a + b, so variable frame rates are handled correctly.

Noise is in units of the face's size (square root of the box area), so one set of numbers serves every distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Floats, Rows
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.kernel_cache import kernel

# Per signal (cx, cy, log w, log h); the first two in face sizes, the last two in natural-log units.
_MEASURED = np.array([0.04, 0.04, 0.06, 0.06])
"""Standard deviation of a detector's box."""
_FIRST_RATE = np.array([2.0, 2.0, 0.3, 0.3])
"""Standard deviation per second of the unknown rate of a new track: people walk past at a few faces a second."""
_ACCELERATION = np.array([6.0, 6.0, 0.2, 0.2])
"""Spectral density of the acceleration, units² per s³: one lost second adds 1.4 faces of standard deviation."""
QUICKEST = 8.0
"""Most of its own sizes that a face moves in a second; other files use it, too, for how far a face can have gone."""
_FASTEST = np.array([QUICKEST, QUICKEST, 1.5, 1.5])
"""Limit of the rates per second, so that one wild box cannot throw a prediction across the picture."""

_LEAST_SIDE, _MOST_SIDE = 1.0, 1e6
"""Limits of the sides of boxes, pixels: logarithms and areas stay finite."""

GROWTH = 3.0
"""A lost box grows on each side by this many standard deviations (99.7 % per axis) ..."""
GROWTH_LIMIT = 1.0
"""... but by no more than this many of its own sides, so it is never more than three times as wide or high."""


@dataclass(frozen=True)
class Motion:
    """Filter state of n boxes.

    mean: float64 (n, 4, 2), value and rate per second of centre x, centre y (pixels), log width, log height;
    covariance: float64 (n, 4, 2, 2), the same units.
    """

    mean: Floats
    covariance: Floats

    def __len__(self) -> int:
        return len(self.mean)

    def take(self, rows: Rows) -> Motion:
        """The state of the given rows, intp (k,)."""
        return Motion(self.mean[rows], self.covariance[rows])


def nothing() -> Motion:
    """The state of no box."""
    return Motion(np.zeros((0, 4, 2)), np.zeros((0, 4, 2, 2)))


def join(first: Motion, second: Motion) -> Motion:
    """The rows of `first` followed by those of `second`."""
    return Motion(np.concatenate([first.mean, second.mean]), np.concatenate([first.covariance, second.covariance]))


def begin(boxes: Floats) -> Motion:
    """State of boxes seen once, at rest but free to move. boxes: float64 (n, 4) x0, y0, x1, y1, finite."""
    motion = Motion(np.empty((len(boxes), 4, 2)), np.empty((len(boxes), 4, 2, 2)))
    _begin(motion.mean, motion.covariance, boxes)
    return motion


def predict(motion: Motion, seconds: float) -> Motion:
    """State after `seconds` (0 or more) without a detection; the uncertainty of the values never shrinks."""
    after = Motion(motion.mean.copy(), motion.covariance.copy())
    _predict(after.mean, after.covariance, seconds)
    return after


def correct(motion: Motion, rows: Rows, boxes: Floats) -> Motion:
    """State after the boxes float64 (k, 4) were seen for the rows intp (k,), which must differ."""
    after = Motion(motion.mean.copy(), motion.covariance.copy())
    _correct(after.mean, after.covariance, rows, boxes)
    return after


def moved(motion: Motion, camera: CameraMotion) -> Motion:
    """State after the camera moved everything; a face's velocity relative to the standing background stays."""
    mean = motion.mean.copy()
    mean[:, :2, 0] = camera(mean[:, :2, 0])
    mean[:, 2:, 0] += np.log(camera.scale)
    return Motion(mean, motion.covariance)


def seen_at(boxes: Floats, times: Floats) -> Motion:
    """State of one box after it was seen in one or more places, float64 (n, 4), at times (n,), seconds. Times rise, or
    fall for a motion that runs backwards."""
    motion = begin(boxes[:1])
    _see(motion.mean, motion.covariance, boxes, times)
    return motion


def boxes_of(motion: Motion) -> Floats:
    """The boxes, float64 (n, 4) x0, y0, x1, y1 in pixels."""
    return _corners(motion.mean[:, :2, 0], np.exp(motion.mean[:, 2:, 0]) / 2)


def spread_of(motion: Motion) -> Floats:
    """Standard deviation of the boxes' edges along x and y, float64 (n, 2), pixels: centre and size together."""
    sides = np.exp(motion.mean[:, 2:, 0])
    variance = motion.covariance[:, :2, 0, 0] + (sides / 2) ** 2 * motion.covariance[:, 2:, 0, 0]
    return np.asarray(np.sqrt(variance), dtype=np.float64)


def grown(motion: Motion) -> Floats:
    """The boxes grown by their uncertainty (`GROWTH`, at most `GROWTH_LIMIT`), float64 (n, 4), pixels."""
    sides = np.exp(motion.mean[:, 2:, 0])
    return _corners(motion.mean[:, :2, 0], sides / 2 + np.minimum(GROWTH * spread_of(motion), GROWTH_LIMIT * sides))


def _corners(centres: Floats, halves: Floats) -> Floats:
    return np.concatenate([centres - halves, centres + halves], axis=1)


@kernel
def _begin(mean: Floats, covariance: Floats, boxes: Floats) -> None:
    """Fill the state of boxes (n, 4) that are seen for the first time. Twin of all kernels:
    tests/tracking/test_kalman.py."""
    covariance[:] = 0
    for row in range(len(boxes)):
        _signals(boxes[row], mean[row, :, 0])
        mean[row, :, 1] = 0
        for signal in range(4):
            unit = _unit(mean[row], signal)
            covariance[row, signal, 0, 0] = (_MEASURED[signal] * unit) ** 2
            covariance[row, signal, 1, 1] = (_FIRST_RATE[signal] * unit) ** 2


@kernel
def _predict(mean: Floats, covariance: Floats, seconds: float) -> None:
    """Predict the states of all boxes after so many seconds, in place."""
    for row in range(len(mean)):
        size = _unit(mean[row], 0)
        for signal in range(4):
            unit = size if signal < 2 else 1.0
            density = _ACCELERATION[signal] * unit**2
            p = covariance[row, signal]
            p00, p01, p11 = p[0, 0], p[0, 1], p[1, 1]
            p[0, 0] = p00 + 2 * seconds * p01 + seconds**2 * p11 + density * seconds**3 / 3
            p[0, 1] = p[1, 0] = p01 + seconds * p11 + density * seconds**2 / 2
            p[1, 1] = p11 + density * seconds
            mean[row, signal, 0] += seconds * mean[row, signal, 1]
        _bound(mean[row])


@kernel
def _correct(mean: Floats, covariance: Floats, rows: Rows, boxes: Floats) -> None:
    """Correct the states of some rows (k,) by boxes (k, 4), in place."""
    there = np.empty(4)
    for number in range(len(rows)):
        row = rows[number]
        size = _unit(mean[row], 0)
        _signals(boxes[number], there)
        for signal in range(4):
            unit = size if signal < 2 else 1.0
            noise = (_MEASURED[signal] * unit) ** 2
            p = covariance[row, signal]
            p00, p01, p11 = p[0, 0], p[0, 1], p[1, 1]
            total = p00 + noise
            innovation = there[signal] - mean[row, signal, 0]
            mean[row, signal, 0] += p00 / total * innovation
            mean[row, signal, 1] += p01 / total * innovation
            p[0, 0] = p00 * noise / total
            p[0, 1] = p[1, 0] = p01 * noise / total
            # Cauchy-Schwarz keeps this positive; the floor is for rounding only.
            p[1, 1] = max(p11 - p01**2 / total, 1e-12)
        _bound(mean[row])


@kernel
def _see(mean: Floats, covariance: Floats, boxes: Floats, times: Floats) -> None:
    """Predict and correct the state of one box, begun at the first of its places, through all others, in place."""
    only = np.zeros(1, np.intp)
    for number in range(1, len(boxes)):
        _predict(mean, covariance, abs(times[number] - times[number - 1]))
        _correct(mean, covariance, only, boxes[number : number + 1])


@kernel
def _signals(box: Floats, out: Floats) -> None:
    """Centre and log sides of a box (4,), into (4,)."""
    for axis in range(2):
        side = min(max(box[axis + 2] - box[axis], _LEAST_SIDE), _MOST_SIDE)
        out[axis], out[axis + 2] = (box[axis] + box[axis + 2]) / 2, np.log(side)


@kernel
def _unit(mean: Floats, signal: int) -> float:
    """One unit of noise for a signal of a state (4, 2): the face's size in pixels for the first two signals, else 1."""
    return float(np.exp((mean[2, 0] + mean[3, 0]) / 2)) if signal < 2 else 1.0


@kernel
def _bound(mean: Floats) -> None:
    """Limit the sides and rates of a state (4, 2), in place."""
    for signal in range(2, 4):
        mean[signal, 0] = min(max(mean[signal, 0], np.log(_LEAST_SIDE)), np.log(_MOST_SIDE))
    for signal in range(4):
        limit = _FASTEST[signal] * _unit(mean, signal)
        mean[signal, 1] = min(max(mean[signal, 1], -limit), limit)
