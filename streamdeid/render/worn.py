"""What somebody wears before the face, from frame to frame: how sure that is, and its colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Flags, Pixels, Points

LEAST_WIDTH = 20.0
"""Width of a face in pixels from which it is told. Of 1,375 bare faces of 31 clips seven look as if behind dark
glasses, six of them narrower: bowed heads, whose hair lies where eyes are thought to be."""
NEWEST = 0.15
"""What the newest frame counts in the running means."""
HALF_SEEN = 0.5
"""How well a place must be seen to tell anything of it."""
RED = 0.02
"""How red skin is at least, share of the sum of RGB above a third; a picture without colours shows none that is."""
_SHOWN = 0.35, 0.3
"""Running mean from which it is drawn, and over what it comes in full."""


@dataclass(frozen=True)
class Worn:
    """Running means."""

    share: float = 0.0
    """Of how sure it is that it is worn, 0 to 1."""
    colour: Points | None = None
    """float64 (3,): of its RGB."""
    begun: bool = False
    """Whether anything was seen yet."""

    def after(self, told: float, colour: Points, width: float, fresh: bool, newest: float = NEWEST) -> Worn:
        """With what is seen next, which counts so much (newest): how sure it is, 0 to 1, on a face so many pixels wide,
        and its colour (3,). fresh: nothing of what was seen before counts."""
        told = told if width >= LEAST_WIDTH and told > 0 else 0.0
        if fresh or not self.begun:
            return Worn(told, colour if told > 0 else None, True)
        before = colour if self.colour is None else self.colour
        mean = before + newest * (colour - before) if told > 0 else self.colour
        return Worn(self.share + newest * (told - self.share), mean, True)

    @property
    def shown(self) -> float:
        """How much of it is drawn, 0 to 1."""
        return 0.0 if self.colour is None else float(np.clip((self.share - _SHOWN[0]) / _SHOWN[1], 0, 1))


def rise(value: float, between: tuple[float, float]) -> float:
    """0 before, 1 behind, and linear between two values, of which the first may be the larger."""
    return float(np.clip((value - between[0]) / (between[1] - between[0]), 0, 1))


def ranked(values: Pixels, share: float = 0.5) -> float:
    """The value float32 (n,) below which that share of the values lies, n at least 1: NumPy's own quantiles take ten
    times as long."""
    place = int(share * (len(values) - 1))
    return float(np.partition(values, place)[place])


def middle(values: Pixels, where: Flags, fewest: int) -> float:
    """The middle one of some of the values (n,), 0 where these are too few."""
    return ranked(values[where]) if np.count_nonzero(where) >= fewest else 0.0
