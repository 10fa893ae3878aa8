"""Posed faces of a stream: what is remembered of each from frame to frame, and how one is rendered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.frames import Planes
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect.levels import FACES, Level, astray
from streamdeid.protect.pending import Measured, SeenTrack, Waiting
from streamdeid.protect.plan import Plan
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face, rim_of
from streamdeid.render.posed_region import convex, face_ellipse, grown

_ENOUGH = 8
"""Sightings to come that a track found by looking again must have before its person is decided; before, it shows only a
provisional face."""
_BEYOND = 0.06
"""How far a surrogate's own outline may lie beyond the mean head's, as a share of the width."""
_CELL = 2.0
"""Width of a cell of chroma, pixels."""


class PosedFaces:
    """Renders posed faces; holds what is remembered of each tracklet that is shown."""

    def __init__(self, fitting: FitModel, light: LightFrame) -> None:
        self._frame = PosedFrame.of(fitting, light)
        self._memories: dict[int, PosedMemory] = {}
        self._heads: dict[int, Points] = {}
        """By track: what is replaced of the heads of one frame."""

    def keep(self, tracklets: Iterable[int]) -> None:
        """Begin a frame: keep what is remembered of these tracklets, and drop all else."""
        self._heads = {}
        self._memories = {number: self._memories.get(number) or PosedMemory() for number in tracklets}

    def render(self, out: Planes, lit: Planes, plan: Plan, face: NewFace, plans: Sequence[Plan]) -> bool:
        """Render the posed face of one of the plans, in place; return False, with nothing done, where it cannot be
        rendered.

        lit: the picture that its light is taken from.
        """
        assert plan.posed is not None
        others = [self._barred(other) for other in plans if other.track is not plan.track and other.level in FACES]
        memory = self._memories[plan.tracklet]
        return render_posed_face(out, lit, _head(plan.posed), face, self._frame, memory, others) is not None

    def _barred(self, plan: Plan) -> Points:
        """What is replaced of a head that shows a face, or of the redaction in its stead: convex, (n, 2). Nothing is
        taken from there, since its pixels may still be the original's."""
        barred = self._heads.get(plan.track.number)
        if barred is None:
            head, around = plan.head, np.linspace(0, 2 * np.pi, 24, endpoint=False)
            parts = [plan.rim, head.places(np.array([head.reach]), around)[0]]
            if plan.posed is not None and plan.level is Level.POSED:
                size = plan.posed.pose.size
                parts.append(grown(_head(plan.posed).region(self._frame), rim_of(size) + _BEYOND * size))
            barred = self._heads[plan.track.number] = convex(grown(np.concatenate(parts), _CELL))
        return barred


def _head(posed: PosedView) -> PosedHead:
    """The head that is shown at a view."""
    face_at, *more = (face_ellipse(box) for box in posed.places)
    return PosedHead(posed.pose, face_at, sighted=np.concatenate(more))


def view_of(seen: SeenTrack, found: Measured | None) -> PosedView | None:
    """The pose of a head; None where nothing tells it. Where the landmarks are astray they tell no pose."""
    lost = found is not None and found.seen.apart is None and astray(found.seen) > 1
    return None if lost else seen.posed


def few(track: int, later: Waiting) -> bool:
    """Whether a track is seen in so few of the frames to come that it is too early to decide its person."""
    seen = (one.seen.get(track) for one in later if one.observed(track))
    return sum(one is not None and one.posed is not None for one in seen) < _ENOUGH
