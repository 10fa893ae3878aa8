"""Constant-velocity Kalman filter on boxes, for all tracks at once.

A box is four independent signals: centre x, centre y, log width, log height. Each is a value and a rate, driven by
white-noise acceleration (Bar-Shalom, Li, Kirubarajan 2001, "Estimation with Applications to Tracking", section 6.2.2),
so a 2 x 2 covariance per signal is exact and nothing larger is ever inverted. Time steps are real seconds: two steps
of a and b seconds give the covariance of one step of a + b, which makes variable frame rates right.

Noise is in units of the face's own size (square root of the box area), so one set of numbers serves every distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Floats, Rows

# Per signal (cx, cy, log w, log h); the first two in face sizes, the last two in natural-log units.
_MEASURED = np.array([0.04, 0.04, 0.06, 0.06])
"""Standard deviation of a detector's box."""
_FIRST_RATE = np.array([2.0, 2.0, 0.3, 0.3])
"""Standard deviation per second of the unknown rate of a new track: people walk past at a few faces a second."""
_ACCELERATION = np.array([6.0, 6.0, 0.2, 0.2])
"""Spectral density of the acceleration, units² per s³: one lost second adds 1.4 faces of standard deviation."""
_FASTEST = np.array([8.0, 8.0, 1.5, 1.5])
"""Limit of the rates per second, so that one wild box cannot throw a prediction across the picture."""

_LOG_SIZE = (0.0, float(np.log(1e6)))
"""Box sides are kept between 1 and 1e6 pixels: logarithms and areas stay finite."""

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
    measured = _signals(boxes)
    mean = np.stack([measured, np.zeros_like(measured)], axis=-1)
    unit = _units(mean)
    covariance = np.zeros((len(boxes), 4, 2, 2))
    covariance[..., 0, 0] = (_MEASURED * unit) ** 2
    covariance[..., 1, 1] = (_FIRST_RATE * unit) ** 2
    return Motion(mean, covariance)


def predict(motion: Motion, seconds: float) -> Motion:
    """State after `seconds` (0 or more) without a detection; the covariance never shrinks on the values."""
    unit = _units(motion.mean)
    density = _ACCELERATION * unit**2
    p00, p01, p11 = _entries(motion)
    covariance = np.empty_like(motion.covariance)
    covariance[..., 0, 0] = p00 + 2 * seconds * p01 + seconds**2 * p11 + density * seconds**3 / 3
    covariance[..., 0, 1] = covariance[..., 1, 0] = p01 + seconds * p11 + density * seconds**2 / 2
    covariance[..., 1, 1] = p11 + density * seconds
    mean = motion.mean.copy()
    mean[..., 0] += seconds * mean[..., 1]
    return Motion(_bounded(mean), covariance)


def correct(motion: Motion, rows: Rows, boxes: Floats) -> Motion:
    """State after the boxes float64 (k, 4) were seen for the rows intp (k,), which must differ."""
    part = motion.take(rows)
    p00, p01, p11 = _entries(part)
    noise = (_MEASURED * _units(part.mean)) ** 2
    total = p00 + noise
    innovation = _signals(boxes) - part.mean[..., 0]
    mean, covariance = motion.mean.copy(), motion.covariance.copy()
    mean[rows, :, 0] += p00 / total * innovation
    mean[rows, :, 1] += p01 / total * innovation
    covariance[rows, :, 0, 0] = p00 * noise / total
    covariance[rows, :, 0, 1] = covariance[rows, :, 1, 0] = p01 * noise / total
    # Cauchy-Schwarz keeps this positive; the floor is for rounding only.
    covariance[rows, :, 1, 1] = np.maximum(p11 - p01**2 / total, 1e-12)
    return Motion(_bounded(mean), covariance)


def boxes_of(motion: Motion) -> Floats:
    """The boxes, float64 (n, 4) x0, y0, x1, y1 in pixels."""
    return _corners(motion.mean[:, :2, 0], np.exp(motion.mean[:, 2:, 0]) / 2)


def spread_of(motion: Motion) -> Floats:
    """Standard deviation of the sides' places along x and y, float64 (n, 2), pixels: centre and size together."""
    sides = np.exp(motion.mean[:, 2:, 0])
    variance = motion.covariance[:, :2, 0, 0] + (sides / 2) ** 2 * motion.covariance[:, 2:, 0, 0]
    return np.asarray(np.sqrt(variance), dtype=np.float64)


def grown(motion: Motion) -> Floats:
    """The boxes grown by their uncertainty (`GROWTH`, at most `GROWTH_LIMIT`), float64 (n, 4), pixels."""
    sides = np.exp(motion.mean[:, 2:, 0])
    return _corners(motion.mean[:, :2, 0], sides / 2 + np.minimum(GROWTH * spread_of(motion), GROWTH_LIMIT * sides))


def _corners(centres: Floats, halves: Floats) -> Floats:
    return np.concatenate([centres - halves, centres + halves], axis=1)


def _signals(boxes: Floats) -> Floats:
    sides = np.clip(boxes[:, 2:] - boxes[:, :2], *np.exp(_LOG_SIZE))
    return np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, np.log(sides)], axis=1)


def _units(mean: Floats) -> Floats:
    """What one unit of noise is for each signal, (n, 4): the face's size in pixels twice, then 1 twice."""
    units = np.ones((len(mean), 4))
    units[:, :2] = np.exp((mean[:, 2, 0] + mean[:, 3, 0]) / 2)[:, None]
    return units


def _entries(motion: Motion) -> tuple[Floats, Floats, Floats]:
    p = motion.covariance
    return p[..., 0, 0], p[..., 0, 1], p[..., 1, 1]


def _bounded(mean: Floats) -> Floats:
    mean[:, 2:, 0] = np.clip(mean[:, 2:, 0], *_LOG_SIZE)
    limit = _FASTEST * _units(mean)
    mean[..., 1] = np.clip(mean[..., 1], -limit, limit)
    return mean
