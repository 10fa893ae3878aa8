"""Posed faces of a stream: whether a head may be shown by one, and what is remembered of it from frame to frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Planes
from streamdeid.observe.posed_view import HELD, PosedView
from streamdeid.protect.levels import FACES, Level, astray
from streamdeid.protect.pending import Measured, PendingFrame, SeenTrack, Waiting
from streamdeid.protect.plan import Plan
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_region import face_ellipse

_BRIDGED = 8
"""Frames between two views of a face that is seen, over which it keeps a pose on the way from one to the other."""
_LASTING = 3
"""Of the `_SOON` frames to come, how many have to tell a pose before a face begins."""
_ENOUGH = 8
"""Sightings to come of a track that was found by looking again, from which it is decided who that is; before, only a
provisional face is shown."""
_SOON = 5
"""Frames after which a face that begins is still the one that begins now."""


class PosedFaces:
    """Renders posed faces; holds what is remembered of each tracklet that is shown."""

    def __init__(self, fitting: FitModel, light: LightFrame) -> None:
        self._frame = PosedFrame.of(fitting, light)
        self._memories: dict[int, PosedMemory] = {}
        self._views: dict[int, tuple[int, PosedView]] = {}
        """By track that was shown lately: the number of the frame, and the view."""

    def keep(self, tracklets: Iterable[int]) -> None:
        """Remember these, and no others."""
        self._memories = {number: self._memories.get(number) or PosedMemory() for number in tracklets}

    def decided(self, plans: Sequence[Plan], pending: PendingFrame[Any]) -> None:
        """Note the views of a frame's faces that are shown and whose own points tell them in that very frame."""
        index = pending.frame.index
        self._views = {number: view for number, view in self._views.items() if index - view[0] < _BRIDGED}
        for one in plans:
            view = pending.seen[one.track.number].posed if one.level in FACES else None
            if _told(view) and (one.level is Level.OWN_FACE or one.posed is view):
                self._views[one.track.number] = index, view

    def held(self, track: Track, index: int, later: Waiting, *, away: bool) -> PosedView | None:
        """The pose that a face was shown at a few frames before a frame of this number, which tells none itself, where
        the detector sees it now: one frame without points is no reason for a redaction between two faces. Where frames
        to come tell a pose again, it is on the way to that. None where there is none.

        away: whether this frame tells that the head is turned too far; then only if it comes back in a moment."""
        then, last = self._views.get(track.number, (index, None))
        if last is None or track.face is None or last.turned_away:
            return None
        coming = list(later)[: max(_BRIDGED - (index - then), 0)]
        for ahead, frame in enumerate(coming, start=1):
            seen = frame.seen.get(track.number)
            view = None if seen is None else seen.posed
            if _told(view) and not view.turned_away:
                return last.towards(view, (index - then) / (index + ahead - then)).moved(track.face.box)
        return last.moved(track.face.box) if index - then <= HELD and not away else None

    def begins(self, track: int, later: Waiting) -> bool:
        """Whether a face that was not shown lately is seen for long enough to be shown: one for a moment between two
        redactions is worse than none. Where nothing is known of what comes it begins at once."""
        if track in self._views:
            return True
        coming = [one.seen.get(track) for one in list(later)[:_SOON]]
        told = sum(seen is not None and _told(seen.posed) for seen in coming)
        return told >= min(_LASTING, len(coming))

    def between(self, track: Track, index: int, later: Waiting) -> PosedView | None:
        """The pose of a lost face in a frame of this number between two sights of it that are a few frames apart; None
        elsewhere."""
        then, last = self._views.get(track.number, (index, None))
        if last is None or index - then > HELD:
            return None
        coming = [one.seen.get(track.number) for one in list(later)[: HELD - (index - then) + 1]]
        if not any(seen is not None and seen.posed is not None and seen.posed.agreed for seen in coming):
            return None
        x0, y0, x1, y1 = track.box
        wide, high = ((b - a) / 2 for a, b in zip(last.sighted[:2], last.sighted[2:], strict=True))
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        return last.moved((x - wide, y - high, x + wide, y + high))

    def render(self, out: Planes, lit: Planes, plan: Plan, face: NewFace, plans: Sequence[Plan]) -> bool:
        """Render the posed face of one of the plans, in place; False, and nothing done, where it cannot be.

        lit: the picture that its light is taken from.
        """
        assert plan.posed is not None
        face_at, sighted = (face_ellipse(box) for box in plan.posed.places)
        head = PosedHead(plan.posed.pose, face_at, sighted=sighted)
        # Nothing is taken from another head that shows a face: it may be the original's still.
        others = [_rim(other) for other in plans if other.track is not plan.track and other.level in FACES]
        memory = self._memories[plan.tracklet]
        return render_posed_face(out, lit, head, face, self._frame, memory, others) is not None


def view_of(seen: SeenTrack, found: Measured | None) -> PosedView | None:
    """The pose of a head; None where nothing tells it: what landmarks that are astray say of it is worth nothing."""
    lost = found is not None and found.seen.apart is None and astray(found.seen) > 1
    return None if lost else seen.posed


def agreed(track: int, view: PosedView | None, later: Waiting) -> bool:
    """Whether two networks agree on the face of a track, by the frames before this one or the few after it."""
    if view is None or view.agreed:
        return view is not None
    coming = (one.seen.get(track) for one in list(later)[:_SOON])
    return any(seen is not None and seen.posed is not None and seen.posed.agreed for seen in coming)


def few(track: int, later: Waiting) -> bool:
    """Whether a track is seen in so few of the frames to come that who it is would be decided too early."""
    seen = (one.seen.get(track) for one in later)
    return sum(one is not None and one.posed is not None for one in seen) < _ENOUGH


def _told(view: PosedView | None) -> TypeGuard[PosedView]:
    """Whether a frame's own points tell a pose that two networks agree on."""
    return view is not None and view.agreed and not view.held


def _rim(plan: Plan) -> Points:
    """The rim (n, 2) of the face that one of the plans shows, pixels."""
    if plan.posed is not None and plan.level is Level.POSED:
        return face_ellipse(plan.posed.box)
    face = plan.track.face
    return face_ellipse(plan.track.box if face is None else face.outline or face.box)
