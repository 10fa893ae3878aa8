"""Keeps soft redactions steady: an ellipse shrinks, and goes from where it was in the frame before, in steps.

What tells the place of a head that shows no face changes from frame to frame: points on half a face, the detector's
box, a patch, motion between sightings. An ellipse about it that doubles and halves, and jumps to and fro, catches the
eye more than a large one. So it goes to its new place and size in steps. It only grows by that: all of the ellipse that
has to be covered lies inside the one that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from streamdeid.protect.levels import Level
from streamdeid.protect.plan import Plan
from streamdeid.protect.soft_head import Head

_KEPT, _EACH = 0.7, 1 / 25
"""Share of the difference from the ellipse of the frame before that is left after so many seconds."""
_LONGEST = 0.25
"""Seconds between two frames from which an ellipse tells nothing of the next one."""
_JUMP = 0.75
"""Distance of the middles, half axes, from which the head is elsewhere: between two places nothing is to be covered."""
_LARGEST, _ASIDE = 1.3, 0.15
"""How many times as large as necessary an ellipse may stay; and how far from where the head is now its middle may stay,
half axes: its axes grow by as much."""


class SteadyHeads:
    """Remembers the ellipses of the soft redactions in the last frame of a stream."""

    def __init__(self) -> None:
        self._last: dict[int, Head] = {}
        """By number of the track."""
        self._time: Fraction | None = None

    def __call__(self, plans: Sequence[Plan], time: Fraction) -> list[Plan]:
        """The plans of the next frame, those of soft redactions with ellipses that go on from the last frame's. time:
        seconds. A place that a reviewer drew stays as it was drawn."""
        step = None if self._time is None else float(time - self._time)
        last = self._last if step is not None and 0 < step < _LONGEST else {}
        steadied, self._last, self._time = [], {}, time
        for plan in plans:
            if plan.level is Level.SOFT and not plan.track.by_hand:
                before, head = last.get(plan.track.number), plan.head
                if before is not None and step is not None:
                    head = towards(before, head, float(_KEPT ** (step / _EACH)))
                self._last[plan.track.number] = head
                plan = replace(plan, steady=head)
            steadied.append(plan)
        return steadied


def towards(before: Head, now: Head, left: float) -> Head:
    """An ellipse that contains the one of `now` and has gone from the one of `before` towards it, so that a share
    `left`, 0 to 1, of the difference is left. It is the one of `now` where that is elsewhere."""
    before.check()
    now.check()
    away = np.array([before.x - now.x, before.y - now.y])
    c, s = np.cos(now.angle), np.sin(now.angle)
    axes = np.array([now.across, now.down])
    moved = float(np.hypot(*(np.array([[c, s], [-s, c]]) @ away / axes)))
    if moved >= _JUMP:
        return now
    shrinking = axes + left * (np.array([before.across, before.down]) - axes)
    stays = min(left, _ASIDE / max(moved, _ASIDE))
    across, down = np.maximum(axes * (1 + stays * moved), np.minimum(shrinking, _LARGEST * axes)).tolist()
    x, y = (np.array([now.x, now.y]) + stays * away).tolist()
    return Head(x, y, across, down, now.angle)
