"""Soft redaction: replaces a head by a soft, faceless field of colour where no face can be shown (methods.md 6.2).

The field is harmonic. Along the rim of an ellipse about the head it takes the three lowest angular frequencies of what
is published just outside it, so that it has no visible edge. In its middle it is lifted to one quantised tone of the
head. Nothing else of the inside enters, so there is nothing to invert: seven numbers for each plane come from pixels
that are published anyway, and two coarse numbers, about one bit together, come from the face. A grain as of a camera
lies over the field.

Where other people near by are redacted, their heads are left out of the rim. So their own pixels do not pass through
it, and one field does not smear into the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Floats
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel
from streamdeid.errors import FailedClosed
from streamdeid.protect.soft_field import WAVES, paint_field
from streamdeid.protect.soft_head import FEATHER, Head, head_of
from streamdeid.render.soft_tone import in_light, tone_of, tone_step

__all__ = ["Head", "SoftMemory", "head_of", "soft_redaction"]


_ANGLES = 48
_NEAR = 6
"""Number of places looked at for each angle, from the middle of the feather to half of its width beyond it: what is
published there is the original, or mostly the original."""
_FAR = (1.8, 2.3, 3.0)
"""Places, half axes, that count where nothing nearer is visible (because of a border, or of other heads)."""
_FAR_WEIGHT = 0.05
_UNSEEN = 0.1
"""Weight of the rim's mean at angles at which nothing is visible: without it the waves would swing there."""
_GREY = 128.0
_TONE_RADII = np.array([0.15, 0.4, 0.6])
_NEWEST = 0.15
"""Weight of the newest frame in the running means."""
_CHANGED = 40.0
"""Change of the rim in grey levels at which the newest frame counts alone: such a change is a cut, not noise."""
_TOWARDS = 0.2
"""Share of the way to a new step that the tone goes in each frame."""
_FADES = 0.6
"""Share of the hint of a tone that is left a frame later where it is not hinted at any more (half of a head that stands
still, and less where it has moved): one that is lost for a frame or two does not go from dark to light and back."""


@dataclass
class SoftMemory:
    """What the soft redaction remembers of a track from frame to frame, so that it does not flicker."""

    waves: Floats | None = None
    """Running mean of the rim's waves, float64 (7, 3): constant, then cosine and sine of each frequency, in Y, U, V."""
    middle: Floats | None = None
    """Running mean of the head's colour, float64 (3,). Only its quantised step is ever published."""
    step: Floats | None = None
    """The quantised step of the tone, float64 (2,): of luma, and of chroma along the axis of skin."""
    shown: Floats | None = None
    """The tone that is shown, on its way to the middle of its step, float64 (2,): luma, and chroma along the axis."""
    hint: float = 0.0
    """How much of that tone is shown, 0 to 1; the rest is the rim's mean."""
    head: Head | None = None
    """Where the head was last."""
    frames: int = 0
    """Number of frames so far: each frame has another grain."""
    time: Fraction | None = None
    """When the head was redacted last, seconds (`soft_redactions`)."""

    def check(self) -> None:
        """Raise FailedClosed when any of the colours is not finite."""
        for part in (self.waves, self.middle, self.shown):
            if part is not None and not np.isfinite(part).all():
                raise FailedClosed("the colours about a head are not finite")


def soft_redaction(
    out: Planes,
    original: Planes,
    head: Head,
    memory: SoftMemory,
    others: Sequence[Head] = (),
    closer: Sequence[Head] = (),
    *,
    tone: bool = True,
) -> Box | None:
    """Redact a head in place. Returns the box of luma pixels that may have changed; None when it lies outside the
    picture.

    out: the picture as it is published so far. original: the same picture before any change. Of its pixels inside the
    ellipse only the quantised tone is taken; outside the ellipse, only pixels that also lie outside of the `others` are
    taken. others: all other heads of this frame that are redacted or show a rendered face. closer: the same heads, but
    of a rendered face only what is rendered of it; they are used where the `others` leave nothing visible about the
    head. tone: whether the head's own colour is hinted at; where it was hinted at in the frames before, that fades.
    Raises FailedClosed when anything is not finite or the ellipse is none.
    """
    for each in (head, *others, *closer):
        each.check()
    memory.check()
    box = head.window(out.size)
    if box is None:
        return None
    weight = moved = _newest(memory, head)
    others, closer = ([one for one in some if head.near(one, _FAR[-1] * head.reach)] for some in (others, closer))
    rim = _waves(*_seen_rim(original, head, others))
    if rim is None and closer:
        rim = _waves(*_seen_rim(original, head, closer))
    if rim is not None:
        memory.waves, weight = _averaged(memory.waves, rim, weight)
    if tone:
        _remember_tone(memory, _middle(original, head, others), weight)
    memory.hint = 1.0 if tone else memory.hint * _FADES * (1 - moved)
    memory.check()
    rim_mean = memory.waves[0] if memory.waves is not None else np.full(3, _GREY)
    middle = rim_mean
    if memory.shown is not None:
        middle = rim_mean + memory.hint * (in_light(memory.shown, rim_mean) - rim_mean)
    waves = memory.waves if memory.waves is not None else np.vstack([middle, np.zeros((2 * WAVES, 3))])
    lift = middle - waves[0]
    memory.head = head
    memory.frames += 1
    paint_field(out, head, box, (waves, lift), memory.frames)
    x0, y0, x1, y1 = box
    return float(x0), float(y0), float(x1), float(y1)


def _newest(memory: SoftMemory, head: Head) -> float:
    """Weight of this frame in the running means: the farther the head has moved, the less the last ones tell."""
    last = memory.head
    if last is None:
        return 1.0
    moved = np.hypot((head.x - last.x) / head.across, (head.y - last.y) / head.down)
    grown = abs(np.log(head.across / last.across)) + abs(np.log(head.down / last.down))
    return float(min(1.0, _NEWEST + moved + grown))


def _averaged(mean: Floats | None, newest: Floats, weight: float) -> tuple[Floats, float]:
    """The running mean with the newest waves in it, and the weight that they got."""
    if mean is None:
        return newest, 1.0
    change = float(np.sqrt(np.square(newest - mean).sum(axis=0).mean()))
    weight = min(1.0, weight + (change / _CHANGED) ** 2)
    return mean + weight * (newest - mean), weight


def _remember_tone(memory: SoftMemory, middle: Floats | None, weight: float) -> None:
    """Take the colour of the head into the memory, quantised with hysteresis."""
    if middle is None:
        return
    memory.middle = middle if memory.middle is None else memory.middle + weight * (middle - memory.middle)
    memory.step = tone_step(memory.middle, memory.step)
    wanted = tone_of(memory.step)
    last = wanted if memory.shown is None or weight >= 1 else memory.shown
    memory.shown = last + _TOWARDS * (wanted - last)


def _seen_rim(planes: Planes, head: Head, others: Sequence[Head]) -> tuple[Floats, Floats]:
    """Mean colours (48, 3) about the head by angle, and the weight (48,) of each: 0 where nothing is visible."""
    feather = head.reach - 1
    near, far = np.linspace(1 + feather / 2, 1 + 1.5 * feather, _NEAR), _FAR_RADII * head.reach / (1 + FEATHER)
    colours, seen = _colours(planes, head.places(np.concatenate([near, far]), _ANGLE), others)
    weights = _RIM_WEIGHTS[:, None] * seen
    total = weights.sum(axis=0)
    means = (colours * weights[:, :, None]).sum(axis=0) / np.maximum(total, 1e-12)[:, None]
    return means, total


def _waves(means: Floats, weights: Floats) -> Floats | None:
    """Waves (7, 3) of the rim by weighted least squares; None when nothing of the rim was seen."""
    if not (weights > 0).any():
        return None
    mean = weights @ means / weights.sum()
    unseen = _UNSEEN * (weights.max() - weights)
    square = _BASIS.T @ (_BASIS * (weights + unseen)[:, None])
    moment = _BASIS.T @ (means * weights[:, None] + mean * unseen[:, None])
    waves: Floats = np.linalg.solve(square, moment)
    return waves


def _middle(planes: Planes, head: Head, others: Sequence[Head]) -> Floats | None:
    """Median colour (3,) of the inside of the head, without places in other heads; None when no place is visible."""
    colours, seen = _colours(planes, head.places(_TONE_RADII, _ANGLE), others)
    if not seen.any():
        return None
    median: Floats = np.median(colours[seen], axis=0)
    return median


def _colours(planes: Planes, places: Floats, others: Sequence[Head]) -> tuple[Floats, NDArray[np.bool_]]:
    """Colours (..., 3) at places (..., 2), and whether each is in the picture and in no other head (...)."""
    width, height = planes.size
    flat = np.rint(np.clip(places.reshape(-1, 2), -2, (width + 1, height + 1))).astype(np.int64)
    forbidden = np.array([other.terms for other in others]).reshape(-1, 7)
    colours, seen = np.zeros((len(flat), 3)), np.zeros(len(flat), np.bool_)
    _look(planes.y, planes.u, planes.v, flat, forbidden, colours, seen)
    return colours.reshape(*places.shape[:-1], 3), seen.reshape(places.shape[:-1])


_ANGLE: Floats = (np.arange(_ANGLES) + 0.5) * 2 * np.pi / _ANGLES
_FAR_RADII = np.array(_FAR)
_RIM_WEIGHTS = np.array([1.0] * _NEAR + [_FAR_WEIGHT] * len(_FAR))
_BASIS = np.stack(
    [np.ones(_ANGLES)] + [wave(k * _ANGLE) for k in range(1, WAVES + 1) for wave in (np.cos, np.sin)], axis=1
)


@kernel
def _look(luma, u, v, places, forbidden, colours, seen):  # type: ignore[no-untyped-def]
    """Read pixels (n, 2) into colours (n, 3), and find which lie in the picture and in none of the forbidden heads,
    `Head.terms` (m, 7)."""
    height, width = luma.shape
    for i in range(len(places)):
        x, y = places[i]
        if x < 0 or y < 0 or x >= width or y >= height:
            continue
        free = True
        for j in range(len(forbidden)):
            dx, dy = x - forbidden[j, 0], y - forbidden[j, 1]
            p = forbidden[j, 2] * dx + forbidden[j, 3] * dy
            q = forbidden[j, 4] * dy - forbidden[j, 5] * dx
            if p * p + q * q < forbidden[j, 6]:
                free = False
                break
        seen[i] = free
        colours[i, 0] = luma[y, x]
        colours[i, 1] = u[y // 2, x // 2]
        colours[i, 2] = v[y // 2, x // 2]
