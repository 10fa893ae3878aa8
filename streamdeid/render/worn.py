"""Things that a person wears before the face, from frame to frame: how sure each is, and its colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Flags, Pixels, Points

LEAST_WIDTH = 20.0
"""Width of a face in pixels from which anything worn is looked for. Of 1,375 bare faces of 31 clips seven look as if
behind dark glasses, six of them narrower than this: bowed heads, whose hair lies where eyes are expected."""
NEWEST = 0.15
"""Weight of the newest frame in the running means."""
HALF_SEEN = 0.5
"""How well a place must be seen to tell anything."""
RED = 0.02
"""Least redness of skin: its share of the sum of RGB above a third. A picture without colours has no skin that is so
red."""
_SHOWN = 0.35, 0.3
"""Running mean from which a worn thing is rendered, and the range over which it becomes full."""


@dataclass(frozen=True)
class Worn:
    """The running means of one worn thing."""

    share: float = 0.0
    """Running mean of how sure it is that the thing is worn, 0 to 1."""
    colour: Points | None = None
    """float64 (3,): running mean of its RGB; None if none was seen."""
    begun: bool = False
    """Whether any frame was counted yet."""

    def after(self, told: float, colour: Points, width: float, fresh: bool, newest: float = NEWEST) -> Worn:
        """The running means after the next frame, which counts with the weight `newest`.

        told: how sure it is that the thing is worn, 0 to 1; width: of the face in pixels; colour (3,): of the thing.
        fresh: nothing that was seen before counts.
        """
        told = told if width >= LEAST_WIDTH and told > 0 else 0.0
        if fresh or not self.begun:
            return Worn(told, colour if told > 0 else None, True)
        before = colour if self.colour is None else self.colour
        mean = before + newest * (colour - before) if told > 0 else self.colour
        return Worn(self.share + newest * (told - self.share), mean, True)

    @property
    def shown(self) -> float:
        """The opacity with which the thing is rendered, 0 to 1."""
        return 0.0 if self.colour is None else float(np.clip((self.share - _SHOWN[0]) / _SHOWN[1], 0, 1))


def rise(value: float, between: tuple[float, float]) -> float:
    """A linear step between two values, 0 before and 1 behind them; the first may be the larger one."""
    return float(np.clip((value - between[0]) / (between[1] - between[0]), 0, 1))


def ranked(values: Pixels, share: float = 0.5) -> float:
    """The value of float32 (n,) below which a share of the values lies, n at least 1.

    NumPy's own quantiles take ten times as long.
    """
    place = int(share * (len(values) - 1))
    return float(np.partition(values, place)[place])


def middle(values: Pixels, where: Flags, fewest: int) -> float:
    """The median of some of the values (n,); 0 where these are too few."""
    return ranked(values[where]) if np.count_nonzero(where) >= fewest else 0.0
