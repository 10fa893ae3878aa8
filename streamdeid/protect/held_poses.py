"""The pose of a face in frames that tell none themselves: held from the frames around them.

Points come and go; a face that goes with them, to a redaction and back, draws the eye, and tells nobody anything. So a
pose is held where the detector, or whoever follows the head, still has its place:

* between two frames that tell it, on the way from one to the other, if they are not more than half a second apart;
* before the first one that tells it, as far as frames are known that come (none, on a live stream), but not on the face
  of somebody from behind whom it comes;
* after the last one for three frames, and until the track ends if that is soon;
* of a face that the detector does not see within three frames of one in which it does, if there is look-ahead.

A face begins where most of the next frames tell its pose: one for a moment between two redactions is worse than none.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeGuard

from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame
from streamdeid.observe.posed_view import HELD, PosedView
from streamdeid.protect.levels import FACES, Level
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Plan

_BRIDGED = Fraction(1, 2)
"""Seconds between two views of a face that is seen, over which it keeps a pose on the way from one to the other."""
_BEFORE = Fraction(3, 10)
"""Seconds before the first view, and after the last one of a track that ends, for which a face that is seen has that
pose. With `HELD` it is as long as `_BRIDGED` at 15 frames a second and more, so that what is left of a longer gap is
no redaction of a few frames."""
_LASTING, _SOON = 3, 5
"""Of how many frames to come how many have to tell a pose before a face begins."""


class HeldPoses:
    """The views that the faces of a stream are shown at, and were shown at lately."""

    def __init__(self) -> None:
        self._views: dict[int, tuple[int, Fraction, PosedView]] = {}
        """By track that was shown lately: number and time in seconds of the frame, and the view."""
        self._sights: dict[int, int] = {}
        """By track: number of the last frame in which the detector saw a face that was shown, if it was just before."""

    def decided(self, plans: Sequence[Plan], pending: PendingFrame[Any]) -> None:
        """Note the views of a frame's faces that are shown, of those whose own points tell them in that very frame, or
        that were looked at again there."""
        frame = pending.frame
        self._views = {number: view for number, view in self._views.items() if frame.time - view[1] <= _BRIDGED}
        for one in plans:
            seen = pending.seen.get(one.track.number)
            view = None if seen is None else seen.posed
            told = view is not None and (not view.held or (one.track.face is not None and one.track.face.again))
            if one.level in FACES and told and view is not None and (one.level is Level.OWN_FACE or one.posed is view):
                self._views[one.track.number] = frame.index, frame.time, view
            if one.level in FACES and one.track.face is not None:
                self._sights[one.track.number] = frame.index
        self._sights = {number: index for number, index in self._sights.items() if frame.index - index <= HELD}

    def of_seen(
        self,
        track: Track,
        view: PosedView | None,
        pending: PendingFrame[Any],
        later: Waiting,
        *,
        away: bool,
        known: bool = True,
    ) -> PosedView | None:
        """What a face is posed at that the detector sees in a frame; None where it shows none.

        view: of this frame, if one may be shown. away: whether this frame tells that the head is turned too far. known:
        whether its tracklet is somebody, whose face no frame in doubt shows."""
        assert track.face is not None
        before = self._views.get(track.number)
        if view is not None and (before is not None or track.face.again or _lasting(track.number, later)):
            return view
        time = pending.frame.time
        coming = _coming(track.number, later, known, begins=before is None)
        if before is None or before[2].turned_away:
            early = coming is not None and coming[0].time - time <= _BEFORE and not away
            return _free(coming[1].moved(track.face.box), track, pending) if coming is not None and early else None
        index, then, last = before
        if coming is not None and coming[0].time - then <= _BRIDGED:
            share = (time - then) / (coming[0].time - then)
            return last.towards(coming[1], float(share)).moved(track.face.box)
        if away:
            return None
        if pending.frame.index - index <= HELD or (_ends(track.number, time, later) and time - then <= _BEFORE):
            return last.moved(track.face.box)
        if coming is not None and coming[0].time - time <= _BEFORE:
            return coming[1].moved(track.face.box)
        return None

    def of_lost(
        self, track: Track, pending: PendingFrame[Any], later: Waiting, *, known: bool = True
    ) -> PosedView | None:
        """What a face is posed at that the detector does not see, over all of the place where it may be; None where it
        is better redacted. known: as in `of_seen`."""
        if not later:
            return None  # nobody knows yet where it went
        before, frame = self._views.get(track.number), pending.frame
        near = frame.index - self._sights.get(track.number, -1 - HELD) <= HELD
        if before is not None and near:
            return before[2].moved(track.box)
        coming = _coming(track.number, later, known, begins=before is None)
        if coming is None or not (near or _sighted(track.number, later[:HELD])):
            return None
        soon = coming[0].index - frame.index <= HELD or coming[0].time - frame.time <= _BEFORE
        return _free(coming[1].moved(track.box), track, pending) if soon else None


def agreed(track: int, view: PosedView | None, later: Waiting) -> bool:
    """Whether two networks agree on the face of a track, by the frames before this one or the few after it."""
    if view is None or view.agreed:
        return view is not None
    coming = (one.seen.get(track) for one in later[:_SOON])
    return any(seen is not None and seen.posed is not None and seen.posed.agreed for seen in coming)


def _told(view: PosedView | None) -> TypeGuard[PosedView]:
    """Whether a frame's own points tell a pose that two networks agree on."""
    return view is not None and view.agreed and not view.held


def _lasting(track: int, later: Waiting) -> bool:
    """Whether most of the next frames tell the pose of a face; where nothing is known of what comes they do."""
    coming = [one.seen.get(track) for one in later[:_SOON]]
    told = sum(seen is not None and _told(seen.posed) for seen in coming)
    return told >= min(_LASTING, len(coming))


def _coming(track: int, later: Waiting, known: bool, *, begins: bool) -> tuple[Frame, PosedView] | None:
    """The next of the frames that wait which tells a pose at which a face is shown, with that pose. known: frames in
    doubt tell none. begins: only one from which on it lasts."""
    for place, one in enumerate(later):
        seen = one.seen.get(track)
        view = None if seen is None or (known and seen.ambiguous) else seen.posed
        if view is None or view.held or view.turned_away:
            continue
        after = later[place + 1 :]
        if agreed(track, view, after) and (not begins or _lasting(track, after)):
            return one.frame, view
    return None


def _free(view: PosedView, track: Track, pending: PendingFrame[Any]) -> PosedView | None:
    """A view of a face that does not begin on another one: somebody comes out from behind a head."""
    x, y = (view.box[0] + view.box[2]) / 2, (view.box[1] + view.box[3]) / 2
    others = (one.face.outline or one.face.box for one in pending.tracks if one.face and one.number != track.number)
    return None if any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in others) else view


def _sighted(track: int, frames: Waiting) -> bool:
    """Whether the detector sees the face of a track in one of some frames."""
    return any(one.number == track and one.face is not None for frame in frames for one in frame.tracks)


def _ends(track: int, time: Fraction, later: Waiting) -> bool:
    """Whether a track is known to end soon after a time, seconds."""
    return bool(later) and later[-1].frame.time - time >= _BEFORE and track not in later[-1].seen
