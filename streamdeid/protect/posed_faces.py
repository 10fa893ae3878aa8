"""Posed faces of a stream: what is remembered of each from frame to frame, and how one is rendered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.smooth_step import smooth_step
from streamdeid.core.arrays import Box, Points
from streamdeid.core.convex import convex, grown
from streamdeid.core.frames import Planes
from streamdeid.errors import FailedClosed
from streamdeid.observe.posed_view import PosedView, grown_box
from streamdeid.observe.turned_view import Gesture
from streamdeid.protect.fading import Replaced
from streamdeid.protect.levels import FACES, Cause, Level, as_rendered, astray
from streamdeid.protect.pending import Measured, PendingFrame, SeenTrack, Waiting
from streamdeid.protect.plan import Plan
from streamdeid.render.background import Background
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face, rim_of
from streamdeid.render.posed_region import bounds_of, face_ellipse

_ENOUGH = 8
"""Sightings to come that a track found by looking again must have before its person is decided; before, it shows only a
provisional face."""
_BEYOND = 0.06
"""How far a surrogate's own outline may lie beyond the mean head's, as a share of the width."""
_CORNERS = math.radians(56), math.radians(62)
"""Yaw over which the corners of the mouth come to tell nothing: from 60 degrees on the landmarks of drawn faces at rest
smile. How far a mouth is open is still told."""
_WIDEST = 0.5
"""How far a mouth is opened at most, height over width: at .8 a chin goes 17 % of the width beyond where it is looked
for by what is rendered beside it, at .5 9 %, and the region's rim is 8."""
_DOUBTED = Cause.ASTRAY, Cause.UNSTEADY, Cause.SMALL
"""What must not speak against the landmarks; the cause of a level is only the worst that does. The frontal model fits
no head that is turned so far, and all of them are partly hidden."""
_HEAD = 0.5
"""Share of its sides by which the box of a face that was found is grown: by ears and hair, and for a box that lies
badly."""
_CELL = 2.0
"""Width of a cell of chroma, pixels."""


class PosedFaces:
    """Renders posed faces; holds what is remembered of each tracklet that is shown."""

    def __init__(self, fitting: FitModel, light: LightFrame) -> None:
        self._frame = PosedFrame.of(fitting, light)
        self._memories: dict[int, PosedMemory] = {}
        self._heads: dict[int, Points] = {}
        """By track: what is replaced of the heads of one frame, where a posed face lies near."""
        self._boxes: dict[int, Box] = {}
        """By track: a box that holds what is replaced of the heads of one frame."""
        self._replaced: dict[int, Replaced] = {}
        """By track: where the posed face of this frame left nothing of the original."""
        self._background = Background()
        self._followed: set[int] = set()
        """Tracks that had a plan in the last frame."""
        self._posed: set[int] = set()
        """Tracklets that showed a posed face in this frame."""

    def begin(self, plans: Sequence[Plan], pending: PendingFrame[Any]) -> None:
        """Begin a frame: keep what is remembered of its tracklets, and drop all else.

        Of the background about heads that had no plan in the frame before nothing is known: they may have been there
        unseen, and what was published of them is not to be shown again."""
        frame, tracklets = pending.frame, [plan.tracklet for plan in plans]
        self._background.begin(frame.planes, frame.time, scene=pending.scene, moved=pending.camera is not None)
        self._heads, self._boxes, self._replaced = {}, {}, {}
        self._memories = {number: self._memories.get(number) or PosedMemory() for number in tracklets}
        for number in self._memories.keys() - self._posed:
            self._memories[number].rest()
        self._posed = set()
        for plan in plans:
            if plan.track.number not in self._followed:
                self._background.forget(self._covers(plan))
        self._followed = {plan.track.number for plan in plans}

    def render(self, out: Planes, lit: Planes, plan: Plan, face: NewFace, plans: Sequence[Plan]) -> bool:
        """Render the posed face of one of the plans, in place; return False, with nothing done, where it cannot be
        rendered.

        lit: the picture that its light is taken from; where that is `out`, no hair is told, either.
        """
        assert plan.posed is not None
        others = [other for other in plans if other.track is not plan.track and other.level in FACES]

        def near(corners: Points) -> list[Points]:
            return [self._barred(other) for other in others if _touches(self._bounds(other), corners)]

        memory = self._memories[plan.tracklet]
        hair = None if lit is out or plan.followed is None else plan.followed.hair.mean
        head = replace(_head(plan.posed), gesture=memory.gesture(_told(plan)), hair=hair)
        region = render_posed_face(
            out, lit, head, face, self._frame, memory, near, None if lit is out else self._background
        )
        if region is not None:
            self._replaced[plan.track.number] = Replaced(region)
            self._posed.add(plan.tracklet)
        return region is not None

    def end(self, out: Planes, pending: PendingFrame[Any], plans: Sequence[Plan]) -> None:
        """End a frame that is published as `out` but for its regions, with what the plans show. No face that was found,
        shown or not, is background."""
        found = (grown_box(face.box, _HEAD) for face in pending.found)
        self._background.note(out, (*map(self._covers, plans), *found, *pending.regions))

    def replaced(self, track: int) -> Replaced | None:
        """Where nothing of the original is left of a track's head that was posed in this frame; None for another."""
        return self._replaced.get(track)

    def _barred(self, plan: Plan) -> Points:
        """What is replaced of a head that shows a face, or of the redaction in its stead: convex, (n, 2). Nothing is
        taken from there, since its pixels may still be the original's."""
        barred = self._heads.get(plan.track.number)
        if barred is None:
            head, around = plan.head, np.linspace(0, 2 * np.pi, 24, endpoint=False)
            least = np.concatenate([plan.rim, head.places(np.array([head.reach]), around)[0]])
            parts = [grown(convex(least), _CELL)]
            if plan.posed is not None and plan.level is Level.POSED:
                parts.append(grown(_head(plan.posed).region(self._frame), _CELL + _around(plan.posed)))
            barred = self._heads[plan.track.number] = convex(np.concatenate(parts))
        return barred

    def _covers(self, plan: Plan) -> Box:
        """`_bounds`; everything for a head whose place is not finite."""
        try:
            return self._bounds(plan)
        except FailedClosed:
            return -math.inf, -math.inf, math.inf, math.inf

    def _bounds(self, plan: Plan) -> Box:
        """A box that holds `_barred`, and is quicker to make."""
        bounds = self._boxes.get(plan.track.number)
        if bounds is None:
            parts, reach = [plan.rim, np.reshape(plan.head.box, (2, 2))], _CELL
            if plan.posed is not None and plan.level is Level.POSED:
                parts.append(np.reshape(_head(plan.posed).bounds(self._frame), (2, 2)))
                reach += _around(plan.posed)
            bounds = self._boxes[plan.track.number] = bounds_of(np.concatenate(parts), reach)
        return bounds


def _around(posed: PosedView) -> float:
    """How far beyond its least region, pixels, a posed face may be rendered."""
    return rim_of(posed.pose.size) + _BEYOND * posed.pose.size


def _touches(box: Box, corners: Points) -> bool:
    """Whether a box meets the rectangle between two corners (2, 2)."""
    (left, top), (right, bottom) = corners
    return bool(box[0] <= right and left <= box[2] and box[1] <= bottom and top <= box[3])


def _head(posed: PosedView) -> PosedHead:
    """The head that is shown at a view."""
    face_at, *more = (face_ellipse(box) for box in posed.places)
    return PosedHead(posed.pose, face_at, sighted=np.concatenate(more))


def _told(plan: Plan) -> Gesture | None:
    """The gesture of a head that is turned too far for an own face, and whose landmarks are believed all the same."""
    found = plan.measured
    if plan.cause is not Cause.TURNED or found is None or found.opening is not None or found.seen.turned is None:
        return None
    severe, view = as_rendered(found.severities, found.seen), found.seen.turned
    told = view.gesture
    doubted = not all(severe.get(cause, 0.0) <= 1 for cause in _DOUBTED)
    if doubted or not np.isfinite(np.hstack(astuple(told))).all():
        return None
    less = 1 - smooth_step((abs(view.pose.yaw) - _CORNERS[0]) / (_CORNERS[1] - _CORNERS[0]))
    shut = min(1.0, _WIDEST / max(told.gape, 1e-6))
    return replace(
        told, gape=shut * told.gape, upper=shut * told.upper, smile=less * told.smile, wider=less * told.wider
    )


def view_of(seen: SeenTrack, found: Measured | None) -> PosedView | None:
    """The pose of a head; None where nothing tells it. Where the landmarks are astray they tell no pose."""
    lost = found is not None and found.seen.apart is None and astray(found.seen) > 1
    return None if lost else seen.posed


def few(track: int, later: Waiting) -> bool:
    """Whether a track is seen in so few of the frames to come that it is too early to decide its person."""
    seen = (one.seen.get(track) for one in later if one.observed(track))
    return sum(one is not None and one.posed is not None for one in seen) < _ENOUGH
