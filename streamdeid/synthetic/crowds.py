"""Crowds with known truth: people who walk through one another, leave and come back, and hide behind bars.

A crowd says only where people are and who hides whom. What a detector would find of them is sampled at random, and
pictures are made elsewhere. Lengths are in pixels of the picture. People walk up to about three of their face widths
per second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face

KINDS = ("crossing", "leaving", "bars")
"""People who cross; who cross, leave the picture and come back; and who cross behind a fence of wide bars."""
_HEIGHT = 1.3
"""Ratio of a face's height to its width."""
_LANE = 12.0
"""Length of the lane in face widths."""
_BESIDE = 0.35
"""Share of the lane at each end that lies outside the picture when people leave."""
_BARS, _BAR = 3, 1.3
"""Number of bars, and their width in face widths."""
HIDDEN = 0.5
"""Share of a face that may be hidden: above it no detector finds the face."""


@dataclass(frozen=True)
class Walker:
    """One person in one frame, inside the picture."""

    person: int
    centre: tuple[float, float]
    width: float
    hidden: float
    """Share of the face's box that nearer people and bars hide."""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Box of the face."""
        (x, y), half = self.centre, self.width / 2
        return x - half, y - _HEIGHT * half, x + half, y + _HEIGHT * half


@dataclass(frozen=True)
class Crowd:
    """The truth of a clip: where people and bars are."""

    frames: list[list[Walker]]
    """The people of each frame, farthest first."""
    bars: list[tuple[float, float]]
    """Left and right edges of the bars."""
    size: tuple[int, int]
    """Width and height of the picture."""


def crowd(
    kind: str, rng: np.random.Generator, *, rate: float, width: float, seconds: float = 8.0, people: int = 5
) -> Crowd:
    """A crowd with faces about `width` pixels wide, for some seconds at `rate` frames per second."""
    time = np.arange(round(seconds * rate)) / rate
    widths = width * rng.uniform(0.88, 1.12, people)
    lane = _LANE * width
    left, right = (_BESIDE * lane, (1 - _BESIDE) * lane) if kind == "leaving" else (-0.6 * width, lane + 0.6 * width)
    swing, period = rng.uniform(0.3, 0.5, people) * lane, rng.uniform(9.0, 16.0, people)
    phase = rng.uniform(0, 2 * np.pi, people)
    x = lane / 2 + swing * np.sin(2 * np.pi * time[:, None] / period + phase)
    x += 0.3 * width * np.sin(1.7 * time[:, None] + phase)
    bob = 0.08 * width * np.sin(6 * time[:, None] + phase)
    size = int(right - left) & ~1, int(3 * width) & ~1
    y = size[1] / 2 + rng.uniform(-0.35, 0.35, people) * width + bob
    bars: list[tuple[float, float]] = []
    if kind == "bars":
        places = (np.arange(_BARS) + 1) / (_BARS + 1) * size[0]
        bars = [(float(at - _BAR * width / 2), float(at + _BAR * width / 2)) for at in places]
    order = np.argsort(widths)
    frames = []
    for now in range(len(time)):
        everybody = [Walker(int(i), (float(x[now, i] - left), float(y[now, i])), float(widths[i]), 0.0) for i in order]
        frames.append([_hidden(one, everybody[k + 1 :], bars) for k, one in enumerate(everybody) if _inside(one, size)])
    return Crowd(frames, bars, size)


def detected(
    walker: Walker, shape: Points, rng: np.random.Generator, *, missed: float = 0.1, jitter: float = 0.03
) -> Face | None:
    """The face that a detector finds of a person, or None when it finds nothing.

    shape: float64 (n, 2), landmarks in face widths from the centre. missed: share of faces lost at random. jitter:
    error of the box's sides in face widths. Landmarks are off by 0.0025 face widths and a third of a pixel, like those
    of the clips. All these errors and losses grow with the share that is hidden.
    """
    if walker.hidden > HIDDEN or rng.random() < missed + (walker.hidden if walker.hidden > 0.6 * HIDDEN else 0):
        return None
    worse = 1 + 2 * walker.hidden
    x0, y0, x1, y1 = np.array(walker.box) + rng.normal(0, worse * jitter * walker.width, 4)
    error = worse * (0.0025 * walker.width + 0.35)
    points = shape * walker.width + walker.centre + rng.normal(0, error, 2) + rng.normal(0, error, shape.shape)
    return Face((float(x0), float(y0), float(x1), float(y1)), 0.9, points, presence=0.9)


def _inside(walker: Walker, size: tuple[int, int]) -> bool:
    return 0.2 * walker.width < walker.centre[0] < size[0] - 0.2 * walker.width


def _hidden(walker: Walker, nearer: list[Walker], bars: list[tuple[float, float]]) -> Walker:
    """The person with the hidden share of the face, counted on a grid of 20 x 20 points."""
    x0, y0, x1, y1 = walker.box
    x, y = np.meshgrid(np.linspace(x0, x1, 20), np.linspace(y0, y1, 20))
    covered = np.zeros(x.shape, np.bool_)
    for other in nearer:
        a, b, c, d = other.box
        covered |= (x > a) & (x < c) & (y > b) & (y < d)
    for low, high in bars:
        covered |= (x > low) & (x < high)
    return Walker(walker.person, walker.centre, walker.width, float(covered.mean()))
