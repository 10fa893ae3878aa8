"""The neutral face of a person, estimated while they are seen (docs/methods.md 4.0 step 1).

Among the frames seen so far those with a closed mouth, open eyes and a frontal head are kept; the neutral face is the
median over them, drawn slowly towards newer estimates once it has been shown, so that nothing jumps.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from operator import is_

import numpy as np

from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.core.ibug68 import LOWER_LIDS, UPPER_LIDS
from streamdeid.core.kernel_cache import kernel

_KEPT = 24
"""Frames over which the median is taken."""
_MOUTH_SPREAD, _EYE_SPREAD = 0.06, 0.02
"""Spread of the openings over ordinary footage, shares of the face width."""
_RECENT = 500
"""Frames from which the usual opening of the eyes is known."""
_OPEN, _MORE = 0.8, 1.15
"""Quantile of the openings of the eyes that counts as open, and how many times that of the face at rest it has to be
before it is believed: who squints for most of a shot is at rest squinting, and half open eyes would be drawn wide open
(lp_d3, which chose this: 1.4 to 1.6). Of 14 people in 13 other clips eight stay at 1 from the first second on, five
reach 1.02 to 1.19, one 1.39 for a moment."""
_WIDEST = 2.0
"""The most that is believed."""
_HOLD = 0.12
"""Seconds for which a neutral stays as it is."""
_STEP = 0.25, 0.05, 0.01, 0.02
"""The least that a shown neutral moves at a time: root mean square of its texture in grey levels (what rounding to
whole ones hides), of its points in pixels of the model's frame, log darkness of hair, and how wide eyes open. All that
is derived from it is computed anew then, which costs more than drawing a face does. Steps were .03 to .2 grey levels,
eight a second, on nine tenths of the frames of webcam_near_far, night_turning and glasses, .15 to .5 on those of
grimaces."""
_MOST_STEPS = 2.0
"""How many of them it moves at once, at most, after it stood still for long."""
_BLEMISH = 3.0
"""What a blemish of 1 counts beside a wide open mouth (5), closed eyes (3) or a head turned by 23 degrees (1)."""
_SETTLE = 2.0
"""Seconds in which a shown neutral follows a better estimate."""


@dataclass(frozen=True)
class Neutral:
    """A person at rest, in the model's frame."""

    shape: Points = field(repr=False)
    """float64 (81, 2)."""
    small_texture: Pixels = field(repr=False)
    """float32 (f, 3): RGB in the small frame of light."""
    hair: float | None = None
    """Natural log of the brightness of hair over that of skin; None where none was seen."""
    open: float = 1.0
    """How much wider than in the shape eyes are when they are open, 1 and more."""


@dataclass(frozen=True)
class _Measures:
    mouth: float
    eyes: float
    turn: float

    @classmethod
    def of(cls, shape: Points, yaw: float, pitch: float) -> _Measures:
        """Openings as shares of the face's width, and head turn, of a shape (81, 2)."""
        width = float(np.linalg.norm(shape[16] - shape[0])) or 1.0
        mouth = float(np.linalg.norm(shape[62] - shape[66])) / width
        eyes = float(np.linalg.norm(shape[UPPER_LIDS] - shape[LOWER_LIDS], axis=1).mean()) / width
        return cls(mouth, eyes, abs(yaw) / 0.4 + abs(pitch) / 0.5)

    def restlessness(self, eyes_at_rest: float) -> float:
        """Small for a closed mouth, eyes as open as usual (a stare is no rest: the brows go up with it), and a frontal
        head."""
        eyes = abs(self.eyes - min(eyes_at_rest, 1.0)) / _EYE_SPREAD
        return self.mouth / _MOUTH_SPREAD + eyes + self.turn


@dataclass(frozen=True)
class _Candidate:
    measures: _Measures
    blemish: float
    shape: Points = field(repr=False)
    small_texture: Pixels = field(repr=False)
    texture: Pixels | None = field(repr=False)
    hair: float | None


def _between(old: Neutral, new: Neutral, share: float) -> Neutral:
    """The face that lies a share of the way from old to new."""
    hair = new.hair if old.hair is None or new.hair is None else old.hair + share * (new.hair - old.hair)
    texture = old.small_texture + np.float32(share) * (new.small_texture - old.small_texture)
    wide = old.open + share * (new.open - old.open)
    return Neutral(old.shape + share * (new.shape - old.shape), texture, hair, wide)


class NeutralEstimator:
    """Collects frames of one person."""

    def __init__(self) -> None:
        self._kept: list[_Candidate] = []
        self._eyes: deque[float] = deque(maxlen=_RECENT)
        self._shown: Neutral | None = None
        self._shown_at = 0.0
        self._aim: Neutral | None = None
        self._aimed_at: list[_Candidate] = []
        self._looked_at = 0.0
        self._steps = 0.0
        """How far what is shown is from there, in the least steps."""

    def _eyes_at_rest(self) -> float:
        return float(np.median(self._eyes)) if self._eyes else np.inf

    def wants(self, shape: Points, yaw: float, pitch: float) -> bool:
        """Whether a frame with this shape (81, 2) would be kept (its full texture is then worth sampling)."""
        if len(self._kept) < _KEPT:
            return True
        at_rest = self._eyes_at_rest()
        return _Measures.of(shape, yaw, pitch).restlessness(at_rest) < self._kept[-1].measures.restlessness(at_rest)

    def observe(
        self,
        shape: Points,
        yaw: float,
        pitch: float,
        small_texture: Pixels,
        texture: Pixels | None,
        hair: float | None = None,
        blemish: float = 0.0,
    ) -> None:
        """Take in one frame: shape (81, 2), head turn (radians), small texture (f, 3), full texture (n, 3) if sampled,
        darkness of the hair if seen. blemish: 0 for a face that is seen whole and sharp; others are
        used as long as there are no better ones."""
        candidate = _Candidate(_Measures.of(shape, yaw, pitch), blemish, shape, small_texture, texture, hair)
        self._eyes.append(candidate.measures.eyes)
        at_rest = self._eyes_at_rest()
        order = sorted([*self._kept, candidate], key=lambda c: c.measures.restlessness(at_rest) + _BLEMISH * c.blemish)
        self._kept = order[:_KEPT]

    @property
    def ready(self) -> bool:
        """Whether there is any estimate."""
        return bool(self._kept)

    def shape(self) -> Points:
        """Median shape (81, 2) over the kept frames, for the identity vector."""
        median: Points = np.median([c.shape for c in self._best()], axis=0)
        return median

    def _best(self) -> list[_Candidate]:
        return self._kept[: max(1, (len(self._kept) + 1) // 2)]

    def neutral(self, time: float) -> Neutral:
        """The neutral face to use at a time (seconds, not decreasing). It is the same object until it moves by a step
        that could be seen, and for `_HOLD` seconds at least, so what is derived from it can be kept."""
        if self._shown is not None and time - self._looked_at < _HOLD:
            return self._shown
        unseen, self._looked_at, aim = time - self._looked_at, time, self._aimed()
        if self._shown is None:
            self._shown, self._shown_at = aim, time
            return aim
        share = min(1.0, (time - self._shown_at) / _SETTLE)
        if share * self._steps >= 1:
            most = max(unseen / _SETTLE, _MOST_STEPS / self._steps)  # while nobody looked it may have gone far
            self._shown, self._shown_at = _between(self._shown, aim, min(share, most)), time
            self._steps = _steps(self._shown, aim)
        return self._shown

    def _aimed(self) -> Neutral:
        """The median over the best of the frames kept."""
        best = self._best()
        same = len(best) == len(self._aimed_at) and all(map(is_, best, self._aimed_at))
        aim = self._aim
        if aim is None or not same:
            aim = Neutral(self.shape(), median([c.small_texture for c in best]), _usual([c.hair for c in best]))
        aim = replace(aim, open=self._open(aim.shape))
        if self._aim is None or not same or aim.open != self._aim.open:
            self._aim, self._aimed_at = aim, best
            self._steps = 0.0 if self._shown is None else _steps(self._shown, aim)
        return self._aim

    def _open(self, shape: Points) -> float:
        """How much wider than in a shape (81, 2) the eyes are when they are open."""
        usual = float(np.quantile(self._eyes, _OPEN)) / max(_Measures.of(shape, 0.0, 0.0).eyes, 1e-6)
        return float(np.clip(usual / _MORE, 1.0, _WIDEST))

    def forget_textures(self) -> None:
        """Let go of the full textures, which are large, once the identity is known; `texture` is of no use then."""
        self._kept = [replace(c, texture=None) if c.texture is not None else c for c in self._kept]

    def texture(self) -> Pixels:
        """Median full texture (n, 3) over the kept frames, for the identity vector."""
        best = [c.texture for c in self._best() if c.texture is not None]
        median: Pixels = np.median(best, axis=0).astype(np.float32)
        return median


def _steps(old: Neutral, new: Neutral) -> float:
    """How far two neutrals are apart, in the least steps that are made."""
    if (old.hair is None) != (new.hair is None):
        return np.inf
    hair = 0.0 if old.hair is None or new.hair is None else abs(new.hair - old.hair)
    texture = float(np.sqrt(np.square(new.small_texture - old.small_texture).mean()))
    shape = float(np.sqrt(np.square(new.shape - old.shape).sum(axis=1).mean()))
    lids = abs(new.open - old.open)
    return max(each / step for each, step in zip((texture, shape, hair, lids), _STEP, strict=True))


def median(textures: list[Pixels]) -> Pixels:
    """Median float32 (f, 3) over textures (f, 3)."""
    stacked = np.stack(textures)
    out = np.empty(stacked[0].size, np.float32)
    _median(stacked.reshape(len(textures), -1), out)
    return out.reshape(stacked.shape[1:])


@kernel
def _median(values, out):  # type: ignore[no-untyped-def]
    """Median over the rows (n, m) for each of the columns (m,). Rows are few: neighbours are exchanged until all are in
    order, in some columns side by side, for which the processor has instructions."""
    count, total = values.shape
    side = 64
    block = np.empty((count, side), np.float32)
    for first in range(0, total, side):
        wide = min(side, total - first)
        for k in range(count):
            block[k, :wide] = values[k, first : first + wide]
        for turn in range(count):
            for k in range(turn % 2, count - 1, 2):
                for x in range(side):
                    a, b = block[k, x], block[k + 1, x]
                    block[k, x], block[k + 1, x] = a if a < b else b, b if a < b else a
        for x in range(wide):
            out[first + x] = (block[(count - 1) // 2, x] + block[count // 2, x]) / np.float32(2)


def _usual(values: list[float | None]) -> float | None:
    """Median of the values there are, when at least half are there."""
    seen = [value for value in values if value is not None]
    return float(np.median(seen)) if 2 * len(seen) >= len(values) else None
