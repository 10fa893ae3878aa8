"""The neutral face of a person, estimated while the person is seen (docs/methods.md 4.0 step 1).

Of the frames seen so far the best ones are kept: those with a closed mouth, a frontal head, and eyes, mouth and brows
as they usually are. The neutral face is the median over them. Once it is shown it follows newer estimates slowly, so
that nothing jumps. Its shape follows more slowly the longer it has been known, because every movement of it is missing
from the expressions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.aam.mouth_corners import corner_height
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import (
    LEFT_BROW,
    LEFT_EYE_CORNERS,
    LOWER_LIDS,
    MOUTH_CORNERS,
    RIGHT_BROW,
    RIGHT_EYE_CORNERS,
    UPPER_LIDS,
)
from streamdeid.core.kernel_cache import kernel

_KEPT = 24
"""Frames over which the median is taken."""
_MOUTH_SPREAD = 0.06
"""Spread of the mouth's opening over ordinary footage, share of the face's width."""
_SPREADS = np.array([0.02, 0.02, 0.02, 0.025])
"""The same of the opening of the eyes, the width of the mouth, the height of its corners and that of the brows, about
what is usual. Without the last three, a person who began to smile with a closed mouth soon counted as being at rest,
and the new face frowned when the smile ended: over 14 clips the correlation of a smile's corners with what is rendered
of it was .935 in the mean (lp_d14 .58) and is .98, that of the mouth's width .950 (lp_d3 .66) and .99. Twice as much,
or two thirds of it, gives the same within .01. Chosen on ten of the clips; glasses, grimaces, interview_cap and
speaker_soft chose nothing."""
_RECENT, _ONE_IN = 500, 3
"""Number of frames from which the usual values are known, and of how many frames one is used once there are so many.
That is a minute at 25 a second, and a person who smiles for less than half of it does not usually smile."""
_OPEN, _MORE = 0.8, 1.15
"""Quantile of the openings of the eyes that counts as open, and how many times that of the face at rest it must be
before it is believed. A person who squints for most of a shot counts as at rest while squinting, and half open eyes
would be rendered wide open (lp_d3, which chose this: 1.4 to 1.6). Of 14 people in 13 other clips eight stayed at 1 from
the first second on, five reached 1.02 to 1.19, one 1.39 for a moment, before mouth and brows counted."""
_WIDEST = 2.0
"""The largest such factor that is believed."""
_HOLD = 0.12
"""Seconds for which a neutral stays as it is."""
_STEP = 0.25, 0.05, 0.01, 0.02, 0.02
"""The least that a shown neutral moves at a time: root mean square of its texture in grey levels (what rounding to
whole ones hides), of its points in pixels of the model's frame, log darkness of hair, how wide eyes open, and the turn
of the head in radians. Each move computes all that is derived from the neutral anew, which costs more than rendering a
face does. Before, steps were .03 to .2 grey levels, eight a second, on nine tenths of the frames of webcam_near_far,
night_turning and glasses, .15 to .5 on those of grimaces."""
_MOST_STEPS = 2.0
"""Largest number of such steps that it moves at once, after it stood still for long."""
_BLEMISH = 3.0
"""Weight of a blemish of 1, beside a wide open mouth (5), closed eyes (3) or a head turned by 23 degrees (1)."""
_SETTLE = 2.0, 10.0
"""Least and most seconds in which a shown neutral follows a better estimate. Its shape takes as long as it has been
known, within these bounds, so it moves like a mean over all that was seen. With 2 throughout, corners of the mouth
correlate by .97 in the mean instead of .98. All else, and whatever was learnt while the neutral was not asked for,
takes the first."""
_CALMER = 1.0
"""Decrease of the mean unrest of those frames at which what was known before counts for nothing: such as a head that
turned to the camera by 23 degrees, or a cup that was put down."""


@dataclass(frozen=True)
class Neutral:
    """The face of a person at rest, in the model's frame."""

    shape: Points = field(repr=False)
    """float64 (81, 2)."""
    small_texture: Pixels = field(repr=False)
    """float32 (f, 3): RGB in the small frame of light."""
    hair: float | None = None
    """Natural log of the brightness of hair over that of skin; None where none was seen."""
    open: float = 1.0
    """How many times as wide as in the shape the eyes are when they are open, 1 and more."""
    yaw: float = 0.0
    """How far the head was turned where the texture was seen, radians, positive when the face looks to the picture's
    left. The far side of the face was not seen then."""


@dataclass(frozen=True)
class _Candidate:
    unrest: float
    """`_unrest` of the shape, plus the weight of a face that is not seen whole and sharp."""
    ways: Points
    """`_ways` of the shape."""
    shape: Points = field(repr=False)
    small_texture: Pixels = field(repr=False)
    texture: Pixels | None = field(repr=False)
    hair: float | None
    yaw: float


def _width(shape: Points) -> float:
    """Width of the face of a shape (81, 2), pixels of the model's frame."""
    return float(np.linalg.norm(shape[16] - shape[0])) or 1.0


def _eyes(shape: Points) -> float:
    """Mean opening of the eyes of a shape (81, 2), a share of the face's width."""
    return float(np.linalg.norm(shape[UPPER_LIDS] - shape[LOWER_LIDS], axis=1).mean()) / _width(shape)


def _ways(shape: Points) -> Points:
    """The measures in which people at rest differ, float64 (4,), shares of the width of the face of a shape (81, 2):
    opening of the eyes, width of the mouth, height of its corners over the middle of the lips, height of the brows over
    the eyes."""
    left, right = (shape[i] for i in MOUTH_CORNERS)
    mouth = float(np.linalg.norm(right - left))
    eyes = (shape[LEFT_EYE_CORNERS[0], 1] + shape[RIGHT_EYE_CORNERS[1], 1]) / 2
    brows = eyes - (shape[LEFT_BROW, 1].mean() + shape[RIGHT_BROW, 1].mean()) / 2
    width = _width(shape)
    return np.array([_eyes(shape), mouth / width, corner_height(shape) * mouth / width, brows / width])


def _unrest(shape: Points, yaw: float, pitch: float) -> float:
    """A measure of unrest: small for a closed mouth and a frontal head, of a shape (81, 2) and its head's turn,
    radians."""
    mouth = float(np.linalg.norm(shape[62] - shape[66])) / _width(shape)
    return mouth / _MOUTH_SPREAD + abs(yaw) / 0.4 + abs(pitch) / 0.5


def _between(old: Neutral, new: Neutral, of_shape: float, share: float) -> Neutral:
    """The face that lies a share of the way from old to new; its shape goes by another share (`of_shape`)."""
    if old.hair is None or new.hair is None:  # a head that the picture cuts keeps its hair
        hair = new.hair if old.hair is None else old.hair
    else:
        hair = old.hair + share * (new.hair - old.hair)
    texture = old.small_texture + np.float32(share) * (new.small_texture - old.small_texture)
    wide = old.open + share * (new.open - old.open)
    yaw = old.yaw + share * (new.yaw - old.yaw)
    return Neutral(old.shape + of_shape * (new.shape - old.shape), texture, hair, wide, yaw)


class NeutralEstimator:
    """Estimates the neutral face of one person from the frames that it collects."""

    def __init__(self) -> None:
        self._kept: list[_Candidate] = []
        self._recent: Points = np.empty((_RECENT, len(_SPREADS)))
        self._seen = self._noted = 0
        self._usually: Points = np.zeros(len(_SPREADS))
        """Median of the measures in `_recent`."""
        self._shown: Neutral | None = None
        self._known_since = self._shown_at = 0.0
        self._calm = 0.0
        """Mean unrest of the frames of the aim, when what is shown began to be known."""
        self._aim: Neutral | None = None
        self._aimed_at: list[_Candidate] = []
        self._looked_at = 0.0
        self._steps: Points = np.zeros(2)
        """How far the shape, and all else, of what is shown are from the aim, in the least steps."""

    def wants(self, shape: Points, yaw: float, pitch: float) -> bool:
        """Whether a frame with this shape (81, 2) would be kept (its full texture is then worth sampling)."""
        if len(self._kept) < _KEPT:
            return True
        worst = self._kept[-1]
        new, old = self._restlessness([(_unrest(shape, yaw, pitch), _ways(shape)), (worst.unrest, worst.ways)])
        return bool(new < old)

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
        darkness of the hair if seen. blemish: 0 for a face that is seen whole and sharp; other faces are used as long
        as there are no better ones."""
        ways = _ways(shape)
        if self._seen < _RECENT or self._seen % _ONE_IN == 0:
            self._recent[self._noted % _RECENT] = ways
            self._noted += 1
            self._usually = np.median(self._recent[: self._noted], axis=0)
        self._seen += 1
        unrest = _unrest(shape, yaw, pitch) + _BLEMISH * blemish
        kept = [*self._kept, _Candidate(unrest, ways, shape, small_texture, texture, hair, yaw)]
        order = np.argsort(self._restlessness([(c.unrest, c.ways) for c in kept]), kind="stable")
        self._kept = [kept[i] for i in order[:_KEPT]]

    def _restlessness(self, candidates: list[tuple[float, Points]]) -> Points:
        """Restlessness of candidates (n,): small for a closed mouth, a frontal head, and eyes, mouth and brows as usual
        (a stare is no rest: the brows go up with it). candidates: unrest and ways of each."""
        ways = np.stack([ways for _, ways in candidates])
        away = np.abs(ways - self._usually) / _SPREADS
        restlessness: Points = np.array([unrest for unrest, _ in candidates]) + away.sum(axis=1)
        return restlessness

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
        """The neutral face to use at a time (seconds, not decreasing). It stays the same object for at least `_HOLD`
        seconds and until it moves by a visible step, so that what is derived from it can be kept."""
        if self._shown is not None and time - self._looked_at < _HOLD:
            return self._shown
        unseen, self._looked_at, aim = time - self._looked_at, time, self._aimed()
        if self._shown is None:
            self._shown, self._shown_at, self._known_since, self._calm = aim, time, time, self._unrest_aimed_at()
            return aim
        if self._unrest_aimed_at() < self._calm - _CALMER:
            self._known_since, self._calm = time, self._unrest_aimed_at()
        settle = np.array([np.clip(time - self._known_since, *_SETTLE), _SETTLE[0]])
        shares = np.minimum(1.0, (time - self._shown_at) / settle)
        if (shares * self._steps).max() >= 1:
            # While it was not asked for, it may have gone far.
            most = np.maximum(unseen / _SETTLE[0], _MOST_STEPS / np.maximum(self._steps, 1e-9))
            self._shown, self._shown_at = _between(self._shown, aim, *np.minimum(shares, most).tolist()), time
            self._steps = _steps(self._shown, aim)
        return self._shown

    def _unrest_aimed_at(self) -> float:
        """Mean unrest of the frames that the aim is the median of."""
        return float(np.mean([c.unrest for c in self._aimed_at]))

    def _aimed(self) -> Neutral:
        """The neutral face to aim at: the median over the best of the frames kept."""
        best = self._best()
        same = {id(c) for c in best} == {id(c) for c in self._aimed_at}
        aim = self._aim
        if aim is None or not same:
            hair, yaw = _usual([c.hair for c in best]), float(np.median([c.yaw for c in best]))
            aim = Neutral(self.shape(), median([c.small_texture for c in best]), hair, yaw=yaw)
        aim = replace(aim, open=self._open(aim.shape))
        if self._aim is None or not same or aim.open != self._aim.open:
            self._aim, self._aimed_at = aim, best
            self._steps = np.zeros(2) if self._shown is None else _steps(self._shown, aim)
        return self._aim

    def _open(self, shape: Points) -> float:
        """How many times as wide as in a shape (81, 2) the eyes are when they are open."""
        usual = float(np.quantile(self._recent[: self._noted, 0], _OPEN))
        return float(np.clip(usual / max(_eyes(shape), 1e-6) / _MORE, 1.0, _WIDEST))

    def forget_textures(self) -> None:
        """Drop the full textures, which are large, once the identity is known; `texture` cannot be used after that."""
        self._kept = [replace(c, texture=None) if c.texture is not None else c for c in self._kept]

    def texture(self) -> Pixels:
        """Median full texture (n, 3) over the kept frames, for the identity vector."""
        best = [c.texture for c in self._best() if c.texture is not None]
        median: Pixels = np.median(best, axis=0).astype(np.float32)
        return median


def _steps(old: Neutral, new: Neutral) -> Points:
    """How far two neutrals are apart in shape, and in all else, (2,), in the least steps that are made."""
    hair = 0.0 if new.hair is None else np.inf if old.hair is None else abs(new.hair - old.hair)
    texture = float(np.sqrt(np.square(new.small_texture - old.small_texture).mean()))
    shape = float(np.sqrt(np.square(new.shape - old.shape).sum(axis=1).mean()))
    moved = texture, shape, hair, abs(new.open - old.open), abs(new.yaw - old.yaw)
    in_steps = [each / step for each, step in zip(moved, _STEP, strict=True)]
    return np.array([in_steps.pop(1), max(in_steps)])


def median(textures: list[Pixels]) -> Pixels:
    """Median float32 (f, 3) over textures (f, 3)."""
    stacked = np.stack(textures)
    out = np.empty(stacked[0].size, np.float32)
    _median(stacked.reshape(len(textures), -1), out)
    return out.reshape(stacked.shape[1:])


@kernel
def _median(values, out):  # type: ignore[no-untyped-def]
    """Median over the rows (n, m) for each of the columns (m,). There are few rows: neighbours are exchanged until all
    are in order, in several columns at a time, for which the processor has instructions."""
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
    """Median of the values that are not None, when at least half are; else None."""
    seen = [value for value in values if value is not None]
    return float(np.median(seen)) if 2 * len(seen) >= len(values) else None
