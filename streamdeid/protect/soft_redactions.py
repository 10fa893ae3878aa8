"""The soft redactions of one stream: what is remembered of each from frame to frame, and what each leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from streamdeid.core.frames import Planes
from streamdeid.protect.nearer_heads import left_as_it_is, nearer_heads
from streamdeid.protect.plan import Plan, Plans
from streamdeid.protect.soft_head import Head
from streamdeid.protect.soft_redaction import SoftMemory, soft_redaction
from streamdeid.protect.steady_heads import PAUSE, SteadyHeads

_AROUND = np.linspace(0, 2 * np.pi, 24, endpoint=False)


class SoftRedactions:
    """Redacts the heads of one stream softly."""

    def __init__(self, strict: bool) -> None:
        """strict: nothing of the colour of any head is hinted at, and no head in front is left as it is."""
        self._strict = strict
        self._steady = SteadyHeads()
        self._memories: dict[int, SoftMemory] = {}
        """By number of the track."""
        self._time = Fraction(0)
        self._painted: list[Head] = []
        """The ellipses of this frame in which nothing of the original is left."""

    def begin(self, plans: Sequence[Plan], time: Fraction) -> list[Plan]:
        """Begin a frame, at a time in seconds. Returns its plans with the heads that are to be redacted."""
        numbers = {plan.track.number for plan in plans}
        self._memories = {number: memory for number, memory in self._memories.items() if number in numbers}
        self._time, self._painted = time, []
        return self._steady(plans, time)

    def redact(self, out: Planes, original: Planes, plan: Plan, plans: Plans) -> None:
        """Redact the head of one of the plans, in place. Where the field of a larger one already lies over all of it,
        since its face turned out too small to be rendered, that stays: in the middle of it a second field would be seen
        as a ring (not with `strict`, where faces are rendered over these fields). Raises FailedClosed and what
        arithmetic raises where that cannot be computed."""
        head, seen, number = plan.head, plan.track.sighted is not None, plan.track.number
        if not self._strict and any(_holds(one, head) for one in self._painted):
            return
        memory = self._memories.setdefault(number, SoftMemory())
        if not seen and (memory.time is None or not 0 <= self._time - memory.time < PAUSE):  # it may be elsewhere
            memory = self._memories[number] = SoftMemory()
        memory.time = self._time
        others = [other for other in plans if other.track is not plan.track]
        heads, closer = [one.head for one in others], [one.rendered for one in others]
        nearer = [] if self._strict else nearer_heads(plan, plans)  # a posed face takes its light from what is left
        with left_as_it_is(out, head, nearer):
            soft_redaction(out, original, head, memory, heads, closer, tone=seen and not self._strict)
        if not nearer:
            self._painted.append(head)


def _holds(large: Head, small: Head) -> bool:
    """Whether all of an ellipse lies in another one, without their rims."""
    if large.area <= small.area or not large.near(small, 1.0):
        return False
    x, y = small.places(np.ones(1), _AROUND)[0].T
    return bool((large.radii(x, y) <= 1).all())
