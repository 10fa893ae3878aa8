"""Keeps soft redactions steady: an ellipse that was larger in the frame before shrinks in steps.

What tells the place of a head that shows no face changes from frame to frame: points on half a face, the detector's
box, a patch, motion between sightings. An ellipse about it that doubles and halves catches the eye more than a large
one. So it is never smaller than it has to be, and grows at once, but shrinks over some frames. (To let it move in steps
as well, it would have to be larger still: that covered more beside heads, and balls changed no less.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from streamdeid.protect.fading import LONGEST
from streamdeid.protect.levels import Level
from streamdeid.protect.plan import Plan
from streamdeid.protect.soft_head import Head

_KEPT, _EACH = 0.65, 1 / 25
"""Share of what an ellipse was larger that is left after so many seconds, and at most from one frame to the next."""
PAUSE = Fraction(1, 4)
"""Seconds after which nothing of a head's last redaction belongs to the next one."""
_JUMP = 0.75
"""Distance of the middles, half axes, from which the head is elsewhere, and another one."""
_LARGEST = 1.4
"""How many times as large as necessary an ellipse may stay."""


class SteadyHeads:
    """Remembers the ellipses of a stream's last soft redactions: in as many frames as fade, so that an edit of a
    recording changes no other frames (`fading.LONGEST`)."""

    def __init__(self) -> None:
        self._needed: dict[int, deque[tuple[Fraction, Head]]] = {}
        """By number of the track: times, seconds, and the ellipses that had to be covered, the newest last."""

    def __call__(self, plans: Sequence[Plan], time: Fraction) -> list[Plan]:
        """The plans of the next frame, those of soft redactions with ellipses that go on from the last frames'. time:
        seconds. A place that a reviewer drew stays as it was drawn."""
        steadied, before, self._needed = [], self._needed, {}
        for plan in plans:
            if plan.level is Level.SOFT and not plan.track.by_hand:
                last = before.get(plan.track.number)
                if last is None or not 0 < time - last[-1][0] < PAUSE:
                    last = deque(maxlen=LONGEST)
                frames = range(len(last), 0, -1)
                left = [_KEPT ** max(float(time - then) / _EACH, n) for n, (then, _) in zip(frames, last, strict=True)]
                steady = shrinking(plan.head, [(head, share) for (_, head), share in zip(last, left, strict=True)])
                last.append((time, plan.head))
                self._needed[plan.track.number] = last
                plan = replace(plan, steady=steady)
            steadied.append(plan)
        return steadied


def shrinking(now: Head, before: Sequence[tuple[Head, float]]) -> Head:
    """The ellipse `now`, enlarged as far as earlier ones were larger, each by the share, 0 to 1, that is left of it.
    Earlier ones that were elsewhere do not count. Raises FailedClosed where any is none."""
    for head in (now, *(head for head, _ in before)):
        head.check()
    axes = np.array([now.across, now.down])
    x, y, across, down, left = np.array([(h.x, h.y, h.across, h.down, left) for h, left in before]).reshape(-1, 5).T
    larger = np.clip(np.column_stack([across, down]) / axes, 1.0, _LARGEST) - 1.0
    left = np.where(now.radii(x, y) < _JUMP, left, 0.0)
    wide, high = (axes * (1.0 + (left[:, None] * larger).max(axis=0, initial=0.0))).tolist()
    return replace(now, across=wide, down=high)
