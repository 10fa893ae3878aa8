"""Keeps soft redactions steady: an ellipse that was larger in the frame before shrinks in steps.

What tells the place of a head that shows no face changes from frame to frame: points on half a face, the detector's
box, a patch, motion between sightings. An ellipse about it that doubles and halves catches the eye more than a large
one. So it is never smaller than it has to be, and grows at once, but shrinks over some frames. (To let it move in steps
as well, it would have to be larger still: that covered more beside heads, and balls changed no less.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from streamdeid.protect.levels import Level
from streamdeid.protect.plan import Plan
from streamdeid.protect.soft_head import Head

_KEPT, _EACH = 0.65, 1 / 25
"""Share of what is too large that is left after so many seconds, and at most from one frame to the next."""
_NOTHING = 0.02
"""Share of the half axes that may be too large and is dropped: eight frames later nothing tells how large an ellipse
was, and an edit of a recording changes no more of it than fades (`fading.LONGEST`)."""
_LONGEST = 0.25
"""Seconds between two frames from which an ellipse tells nothing of the next one."""
_JUMP = 0.75
"""Distance of the middles, half axes, from which the head is elsewhere, and another one."""
_LARGEST = 1.4
"""How many times as large as necessary an ellipse may stay."""


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
                    head = shrinking(before, head, float(_KEPT ** max(step / _EACH, 1.0)))
                self._last[plan.track.number] = head
                plan = replace(plan, steady=head)
            steadied.append(plan)
        return steadied


def shrinking(before: Head, now: Head, left: float) -> Head:
    """The ellipse of `now`, larger where that of `before` was, by a share `left`, 0 to 1, of the difference; as it is
    where that was elsewhere. Raises FailedClosed where either is none."""
    before.check()
    now.check()
    if now.radii(np.array([before.x]), np.array([before.y])).item() >= _JUMP:
        return now
    axes = np.array([now.across, now.down])
    larger = np.clip(np.array([before.across, before.down]) / axes, 1.0, _LARGEST) - 1.0
    more = left * larger
    across, down = (axes * (1.0 + np.where(more < _NOTHING, 0.0, more))).tolist()
    return replace(now, across=across, down=down)
