"""Poses for faces in frames that tell no pose themselves: each is held from the frames around.

Points are found in some frames and not in others. A face that turned into a redaction in each frame without points
would attract attention and help nobody. So a pose is held where the detector, or the tracker, still has its place:

* Between two frames that tell the pose, on the way from one pose to the other, if they are at most half a second apart.
* Before the first frame that tells it, as far as the frames to come are known (on a live stream, none are unless
  `--lookahead` is given), where the face is seen: not where a second look only says that there may be one, unless it
  is shown since a loss. Where this person appears from behind another one, the other one's face is left alone.
* For three frames after the last frame that tells it, and for 0.3 s where it is known that the face is not seen again.
* Where the points jump elsewhere and are back within half a second (into the hair of a person who laughs), on the
  straight way from where they left to where they are back.
* Where the points make the head far larger than it is in the second before and after, as if they told no pose.
* In frames in which the detector does not see the face, up to three before and after one in which it does, if there is
  look-ahead and no other face is seen where it may be.

A face begins, or comes back after a redaction, where most of the next frames tell its pose: a face that appears for a
moment between two redactions is worse than none.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeGuard

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame
from streamdeid.observe.posed_view import HELD, SIGHTINGS, PosedView, enough
from streamdeid.protect.levels import FACES, Level
from streamdeid.protect.pending import PendingFrame, SeenTrack, Waiting
from streamdeid.protect.plan import Plan

_BRIDGED = Fraction(1, 2)
"""Longest time in seconds between two views of a face that the detector sees, over which its pose goes from one to the
other; also the longest time before the first view for which the face has its pose."""
_LEFT = Fraction(4, 25)
"""Seconds for which a place is still covered after the face jumped away from it."""
_BESIDE = 0.3
"""How far ears and hair reach beside a face, share of its width: no posed face of a lost person lies there."""
_USUAL, _SIZES, _LARGER = 1.0 + 1e-6, 5, 1.4
"""How much larger than usual a head may be, by the middle one of at least so many poses in so many seconds before and
after (1e-6 allows for rounding of times): no head grows so much in a moment. Of a face in a hand or below a helmet,
networks see now the face and now the whole head, with points in hair and hand. Of 6,605 faces of four clips 51 were
larger; all that were looked at were wrong, as a face twice as large as a boy's head on his chest (cctv_classroom)."""
_BEFORE = Fraction(3, 10)
"""Seconds over which a face has a pose from farther away: the next pose where it showed none for longer, or where the
detector does not see it yet; and its last pose at the end of a track."""


@dataclass(frozen=True)
class Going:
    """A tracklet in the frame that is decided, and in the frames that wait after it."""

    frame: Frame
    tracklet: int
    later: Waiting
    tracks: Sequence[Track]
    """All tracks of that frame."""
    known: bool
    """Whether the person is known, so that an ambiguous frame shows no face."""
    largest: float = math.inf
    """Size, pixels, up to which a pose can be the head's (`_LARGER`)."""

    def seen(self, track: int, one: PendingFrame[Any]) -> SeenTrack | None:
        """What a later frame knows of a track, as long as it is the same tracklet; else None."""
        found = one.seen.get(track)
        return found if found is not None and found.tracklet == self.tracklet else None

    def until(self, track: int) -> Fraction:
        """Time in seconds when the face is last seen in the frames that are known, without looking again."""
        for one in reversed(self.later):  # frames wait in order of their times
            seen = self.seen(track, one) if one.observed(track) else None
            if seen is not None and (seen.measured or seen.posed):
                return max(self.frame.time, one.frame.time)
        return self.frame.time

    def unclear(self, track: int) -> Fraction:
        """Time in seconds until which the track stays ambiguous without a break, as far as that is known."""
        until = self.frame.time
        for one in self.later:
            seen = self.seen(track, one)
            if seen is None or not seen.ambiguous:
                break
            until = one.frame.time
        return until

    def agreed(self, track: int, view: PosedView | None, first: int = 0) -> bool:
        """Whether two networks agree on the face of a view, in the frames up to it or the few after it; False without a
        view. first: index in `later` of the first frame after that of the view."""
        if view is None or view.agreed:
            return view is not None
        coming = (self.seen(track, one) for one in self.later[first : first + SIGHTINGS])
        return any(seen is not None and seen.posed is not None and seen.posed.agreed for seen in coming)

    def lasts(self, track: int, first: int = 0) -> bool:
        """Whether most of the next frames tell the pose of a face; all of them, where few are known or none."""
        coming = [self.seen(track, one) for one in self.later[first : first + SIGHTINGS]]
        told = [seen is not None and _told(seen.posed) for seen in coming]
        step = float(self.later[0].frame.time - self.frame.time) if self.later else 0.0
        return all(told) or enough(told, step)

    def coming(self, track: int, *, begins: bool) -> tuple[Frame, PosedView] | None:
        """The first waiting frame that tells a pose at which the face can be shown, with that pose; None without one.
        begins: only a frame from which on the pose lasts."""
        for place, frame, view, ambiguous in self._told(track):
            if (self.known and ambiguous) or view.turned_away:
                continue
            if self.agreed(track, view, place) and (not begins or self.lasts(track, place)):
                return frame, view
        return None

    def _told(self, track: int) -> Iterator[tuple[int, Frame, PosedView, bool]]:
        """The poses that points tell in the waiting frames: how many frames later, the frame, the view as it would lie
        in this frame if only the camera moved since, and whether it is unclear there who the track shows."""
        camera: CameraMotion | None = None
        for place, one in enumerate(self.later, start=1):
            if one.camera is not None:
                camera = one.camera.after(camera)
            seen = self.seen(track, one)
            if seen is not None and seen.posed is not None and not seen.posed.held:
                view = seen.posed if camera is None else seen.posed.carried(camera.inverse())
                if view.pose.size <= self.largest:
                    yield place, one.frame, view, seen.ambiguous

    def sizes(self, track: int) -> list[float]:
        """The sizes of the head in the waiting frames that its size counts in, pixels, as they would be in this one."""
        told = self._told(track)
        return [view.pose.size for _, frame, view, _ in told if float(frame.time - self.frame.time) <= _USUAL]

    def detour(
        self, track: int, view: PosedView | None, left: tuple[Fraction, PosedView]
    ) -> tuple[Fraction, PosedView] | None:
        """Where and when the points of a face are back after they jumped away from a view that was shown: seconds and
        view.

        view: of this frame, if there is one. left: time and view of what was shown last. None where the points did not
        jump, or are not back within half a second with two networks agreeing.
        """
        then, last = left
        later = ((place, frame.time, told) for place, frame, told, _ in self._told(track))
        coming = later if view is None else itertools.chain([(0, self.frame.time, view)], later)
        first = next(coming, None)
        if first is None or first[2].chain is last.chain or last.reaches(first[2]):
            return None
        for place, time, back in coming:
            if then < time <= then + _BRIDGED and last.reaches(back) and not back.turned_away:
                return (time, back) if self.agreed(track, back, place) else None
        return None

    def sighted(self, track: int) -> bool:
        """Whether the face is seen in one of the next `HELD` frames, also by looking again."""
        soon = [one for one in self.later[:HELD] if self.seen(track, one) is not None]
        return any(one.sees(track) for one in soon)

    def ends(self, track: int) -> bool:
        """Whether it is known that the face is not seen any more from `_BEFORE` seconds on."""
        after = [one for one in self.later if one.frame.time - self.frame.time >= _BEFORE]
        return bool(after) and not any(one.sees(track) for one in after)

    def free(self, view: PosedView, track: Track) -> PosedView | None:
        """The view, or None where it lies on another face that is seen: then the head passes behind that one."""
        left, top, right, bottom = view.box
        touched = any(left < x1 and x0 < right and top < y1 and y0 < bottom for x0, y0, x1, y1 in self._others(track))
        return None if touched else view

    def hidden(self, view: PosedView, track: Track) -> bool:
        """Whether the middle of a face that is not seen lies on one that is, or beside it, on ear or hair."""
        left, top, right, bottom = view.box
        x, y, wide = (left + right) / 2, (top + bottom) / 2, 1 + 2 * _BESIDE
        others = self._others(track)
        return any(abs(2 * x - x0 - x1) < wide * (x1 - x0) and y0 < y < y1 for x0, y0, x1, y1 in others)

    def _others(self, track: Track) -> Iterator[Box]:
        """The other faces of the frame, pixels."""
        return (one.face.outline or one.face.box for one in self.tracks if one.face and one.number != track.number)


class HeldPoses:
    """Remembers at which views the faces of a stream were shown lately, and chooses the next ones from that."""

    def __init__(self) -> None:
        self._views: dict[int, tuple[int, Fraction, PosedView]] = {}
        """By tracklet that was shown lately: number and time in seconds of the frame, and the view."""
        self._last: dict[int, tuple[Fraction, PosedView]] = {}
        """By tracklet that showed a face in the last frame: the time of that frame in seconds, and the view."""
        self._left: dict[int, tuple[Fraction, Box]] = {}
        """By tracklet whose face jumped lately: when, and the place that it left."""
        self._shown: set[int] = set()
        """Tracklets that showed a face in the last frame."""
        self._sights: dict[int, tuple[int, Fraction]] = {}
        """By tracklet: number and time of the last frame in which the detector saw a face that was shown."""
        self._begun: set[int] = set()
        """Tracklets that show a face since a loss in which it began, and have told no pose since."""
        self._posed: set[int] = set()
        """Tracklets of the last frame that have shown a posed face in any frame."""
        self._sizes: dict[int, list[tuple[Fraction, float]]] = {}
        """By tracklet: times, seconds, and sizes of the poses that points told lately, shown or not."""

    def carried(self, camera: CameraMotion) -> None:
        """Move all that is remembered with the camera, which moved before the frame that is decided next."""
        self._views = {n: (index, time, view.carried(camera)) for n, (index, time, view) in self._views.items()}
        self._last = {n: (time, view.carried(camera)) for n, (time, view) in self._last.items()}
        self._left = {n: (time, camera.box(box)) for n, (time, box) in self._left.items()}
        self._sizes = {n: [(time, size * camera.scale) for time, size in told] for n, told in self._sizes.items()}

    def decided(self, plans: Sequence[Plan], pending: PendingFrame[Any]) -> None:
        """Note the views at which a frame's faces are shown. Poses are held only from views that the frame's own points
        tell, or that were found when it was looked at again."""
        frame = pending.frame
        self._note_sizes(plans, pending)
        last: dict[int, tuple[Fraction, PosedView]] = {}
        left: dict[int, tuple[Fraction, Box]] = {}
        for one in plans:
            if one.level not in FACES:
                continue
            face, seen = one.track.face, pending.seen.get(one.track.number)
            view = None if seen is None else seen.posed
            again = face is not None and face.again
            told = view is not None and (one.posed is None or one.posed.pose is view.pose)
            if view is not None and told and (again or not view.held):
                self._views[one.tracklet] = frame.index, frame.time, view
            shown = one.posed or view
            if shown is not None:
                last[one.tracklet] = frame.time, shown
                if (place := self._left_at(one.tracklet, shown, frame.time)) is not None:
                    left[one.tracklet] = place
            if face is not None:
                self._sights[one.tracklet] = frame.index, frame.time
        self._begun = {
            one.tracklet
            for one in plans
            if one.level is Level.POSED
            and one.tracklet not in self._views
            and (one.track.face is None or one.tracklet in self._begun)
        }
        self._last, self._left = last, left
        self._views = {number: view for number, view in self._views.items() if frame.time - view[1] <= _BRIDGED}
        self._shown = {one.tracklet for one in plans if one.level in FACES}
        self._posed |= {one.tracklet for one in plans if one.level is Level.POSED}
        self._posed &= {one.tracklet for one in plans}
        self._sights = {number: sight for number, sight in self._sights.items() if frame.index - sight[0] <= HELD}

    def _note_sizes(self, plans: Sequence[Plan], pending: PendingFrame[Any]) -> None:
        """Note the sizes of the heads of a frame."""
        now, before = pending.frame.time, self._sizes
        self._sizes = {one.tracklet: before.get(one.tracklet, []) for one in plans}
        for one in plans:
            seen = pending.seen.get(one.track.number)
            if seen is not None and seen.posed is not None and not seen.posed.held:
                self._sizes[one.tracklet].append((now, seen.posed.pose.size))
        self._sizes = {tracklet: self._lately(tracklet, now) for tracklet in self._sizes}

    def _lately(self, tracklet: int, now: Fraction) -> list[tuple[Fraction, float]]:
        """Times, seconds, and sizes of a tracklet's head that count at a time."""
        return [one for one in self._sizes.get(tracklet, []) if float(now - one[0]) <= _USUAL]

    def _limited(self, track: Track, view: PosedView | None, going: Going) -> Going:
        """The tracklet with the size up to which a pose can be its head's. view: this frame's, if any."""
        sizes = [size for _, size in self._lately(going.tracklet, going.frame.time)]
        sizes += [view.pose.size] if view is not None and not view.held else []
        sizes += going.sizes(track.number)
        return replace(going, largest=_LARGER * statistics.median(sizes)) if len(sizes) >= _SIZES else going

    def was_posed(self, tracklet: int) -> bool:
        """Whether a tracklet has shown a posed face before, so that the light on it is known."""
        return tracklet in self._posed

    def of_seen(self, track: Track, view: PosedView | None, going: Going, *, away: bool) -> PosedView | None:
        """The view at which a face that the detector sees is posed in a frame; None where it shows no face.

        view: of this frame, if one may be shown. away: whether this frame tells that the head is turned too far. Where
        the face jumped a moment ago, the place that it left is covered as well.
        """
        going = self._limited(track, view, going)
        wrong = view if view is not None and view.pose.size > going.largest else None
        found = self._of_seen(track, None if wrong is not None else view, going, away)
        if found is not None and wrong is not None:
            found = replace(found, besides=(*found.besides, wrong.box))
        begins = track.sighted is None and going.tracklet not in self._shown
        if found is not None and begins and going.hidden(found, track):
            found = None
        left = None if found is None else self._left_at(going.tracklet, found, going.frame.time)
        return found if found is None or left is None else replace(found, besides=(*found.besides, left[1]))

    def _left_at(self, tracklet: int, view: PosedView, time: Fraction) -> tuple[Fraction, Box] | None:
        """When a face that is now shown at a view jumped, now or a moment ago, and from where; None where it did
        not."""
        last, left = self._last.get(tracklet), self._left.get(tracklet)
        if last is not None and not last[1].reaches(view, float(time - last[0])):
            return time, last[1].box
        return left if left is not None and 0 <= time - left[0] <= _LEFT else None

    def _of_seen(self, track: Track, view: PosedView | None, going: Going, away: bool) -> PosedView | None:
        assert track.face is not None
        before = self._views.get(going.tracklet)
        back = None if before is None else going.detour(track.number, view, before[1:])
        if before is not None and back is not None:
            share = (going.frame.time - before[1]) / (back[0] - before[1])
            return before[2].between(back[1], float(share), track.face.box, view)
        if view is not None and (going.tracklet in self._shown or going.lasts(track.number)):
            return view
        time, box = going.frame.time, track.face.box
        coming = going.coming(track.number, begins=going.tracklet not in self._shown)
        if before is None or before[2].turned_away:
            # Of 97 first poses at places where a second look only says that there may be a face (eight clips) some 30
            # were on a lit shop, a coat, the back of a head or a neighbour.
            # Where a loss showed one all the same, it would only flash.
            begun = going.tracklet in self._begun
            seen = begun or not track.face.again or track.face.keypoints is not None
            early = seen and coming is not None and coming[0].time - time <= _BRIDGED and not away
            return going.free(coming[1].moved(box), track) if coming is not None and early else None
        index, then, last = before
        if coming is not None and then < coming[0].time <= then + _BRIDGED:
            share = (time - then) / (coming[0].time - then)
            return last.towards(coming[1], float(share)).moved(box)
        if away:
            return None
        if going.frame.index - index <= HELD or (going.ends(track.number) and time - then <= _BEFORE):
            return last.moved(box)
        if coming is not None and coming[0].time - time <= _BEFORE:
            return coming[1].moved(box)
        return None

    def of_lost(self, track: Track, going: Going) -> PosedView | None:
        """The view at which a face that the detector does not see is posed, so that all of the place where it may be is
        covered; None where a redaction is better."""
        if not going.later:
            return None  # it is not known yet where the face went
        held = self._of_lost(track, self._limited(track, None, going))
        return None if held is None or going.hidden(held, track) else going.free(held, track)

    def _of_lost(self, track: Track, going: Going) -> PosedView | None:
        before, frame = self._views.get(going.tracklet), going.frame
        sight = self._sights.get(going.tracklet)
        near = sight is not None and frame.index - sight[0] <= HELD and frame.time - sight[1] <= _BEFORE
        if before is not None and near and going.tracklet in self._shown:
            return before[2].moved(track.box)
        coming = going.coming(track.number, begins=going.tracklet not in self._shown)
        if coming is None or coming[0].time - frame.time > _BEFORE or not (near or going.sighted(track.number)):
            return None
        return coming[1].moved(track.box)


def _told(view: PosedView | None) -> TypeGuard[PosedView]:
    """Whether a frame's own points tell a pose that two networks agree on."""
    return view is not None and view.agreed and not view.held
