"""Whether a track still shows the same face: its look is compared with its looks before.

Geometry (boxes that overlap, a jump, a loss) can only say that somebody else *may* have taken a track's place. Whether
this has happened is decided by the look of the face: the texture under its landmarks, high-passed
(`identity.face_look`). From one frame to the next the looks of one face correlate at .97 to .985 in the median, and
above .74 to .84 in 95 of 100 frames. The looks of two people stay under .61 to .69 in 99 of 100 pairs; .82 was the most
(docs/methods.md 6.1, 25 people).

* A track learns its look in frames without doubt. It keeps one template every 0.2 s, the last ten of them, and the
  newest look. During a doubt the templates are frozen, so that another face cannot replace them slowly.
* A doubt begins with a doubt of geometry, with a longer loss, or when the head is not where the patch of the last frame
  is found again (a cut that nobody noticed). Where no patch tells, it begins when the face looks unlike itself from one
  frame to the next. Where the patch tells, another look only means that the mesh lies differently: in the dark, on
  small or on turned faces the mesh jumps about on one face.
* A doubt is cleared when the face looks like itself, and less like anybody who was near since the doubt began. A weaker
  likeness is enough where the patch was found in every frame of the doubt.
* In a crowd, a face that was never seen without doubt is known once it looks the same in five consecutive frames.
* When a face does not look like itself in five frames without geometric doubt, somebody else may be there: the
  tracklet is broken.
* When a doubt is cleared, it is undone in those of its frames in which it was groundless. These are the frames from
  which patches lead, frame by frame, to a frame in which the face was known, before the doubt or at its end. If nobody
  was near all the time, they are also the frames in which the face looked like itself (`_LIKELY`: without that bar a
  stranger got one frame). Where somebody is near, patches lead only as long as the face looks half like itself, and
  less like anybody else. Where somebody is near and the patch was found again in every frame of the doubt, even if less
  alike (a head that turns quickly), and the face was never more like somebody near (or half like itself, where their
  looks are not known), it is undone in all of them. Of 7,321 pairs of different heads laid on each other's place, from
  one frame to the next, 59 are found again so (nine clips), of 8,383 pairs of one head all but 35.
* The doubt in the frame that breaks a tracklet is undone once the next frame goes on from it. If nobody else was in the
  picture, it is also undone in the frames from which patches lead to that frame: they belong to the new tracklet.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame
from streamdeid.identity.face_look import Look
from streamdeid.tracking.association import iou
from streamdeid.tracking.kalman import QUICKEST
from streamdeid.tracking.patches import Small, matched, small, too_small

_ALIKE = 0.75
"""Correlation from which a face looks like itself: under the 5th percentile of one face, above the 99th of two."""
_ALIKE_LOST = 0.8
"""The same after a loss: the last look may be seconds old, and anybody may have come."""
_ALIKE_ALONE = 0.65
"""The same when nobody is near, and nothing but geometry is in doubt; also where somebody is near and the patch was
found again in every frame of the doubt."""
_LIKELY = 0.6
"""Correlation below which a face looks unlike itself."""
_MARGIN = 0.2
"""By how much more a face must look like itself than like anybody near, in Fisher's z (the inverse hyperbolic tangent
of a correlation, in which one step means as much anywhere): 0.1 of correlation at `_ALIKE`. In compressed pictures
everybody looks alike: the same face correlates at .90 and another at .80 to .83 (crowd_1080p at crf 35)."""
_APART = 0.1
"""The same in correlation, for a face that was never seen without doubt."""
_REACH = 1.0
"""Gap between two faces, in widths of the larger one, up to which one may have taken the other's place; how far a face
can have moved since the frame before is added."""
_LONGEST_LOSS = 0.25
"""Seconds without the face after which somebody else may have taken its place unnoticed."""
_EVERY, _KEPT = 0.2, 10
"""Seconds between two templates, and how many are kept."""
_TRIES = 5
"""Frames without geometric doubt in which the face must fail to look like itself until the tracklet is broken."""
_SAME_PLACE, _ONE_MIDDLE, _ALONE = 0.3, 0.3, 0.6
"""`_SAME_PLACE`: IoU of a face and the place where its patch was found again, up to which the head is not where the
face is. An exception is made for boxes whose middles are at most a share of the smaller one's side apart:
`_ONE_MIDDLE`, or `_ALONE` where nobody is near. Boxes about one head are up to 2.3 times as large in one frame as in
the next, and two heads in one place hide each other."""
_FOLLOWED = 0.85
"""Correlation of a patch from one frame to the next from which both show one head, whatever the mesh on it says. In
subway_cctv_three, where a mesh jumped on its face, it was 0.93 in the median, and above this bound in 47 of 54 frames.
For two drawn people in one place it is 0.75. Of 7,321 pairs of different heads, laid on each other's place from one
frame to the next, none reached this bound, 5 reached .8 and 59 .75 (nine clips; .84 was the most)."""
_UNLIKE = 0.5
"""Correlation under which a face is not believed to be the one that patches lead to, where somebody is near."""
_MOST_WAITING = 4096
"""Most frames of a doubt that are kept: more than ever wait to be shown (10 s at 240 a second), as it may last days."""


class BreakCause(enum.Enum):
    """Why a tracklet was broken."""

    CROSSING = "crossing"
    """Somebody was near."""
    LOST = "lost"
    """The face was lost for longer than `_LONGEST_LOSS`."""
    CHANGED = "changed"
    """The face looked unlike itself from one frame to the next, or the head was elsewhere."""
    UNKNOWN = "unknown look"
    """Ambiguous from the start, or too small for a look: there is nothing to compare it with."""


@dataclass(frozen=True)
class Break:
    """The end of a tracklet in the middle of a track."""

    cause: BreakCause
    likely: bool
    """Whether the same person most likely goes on: nobody was near, and nothing but geometry was in doubt."""


@dataclass(frozen=True)
class LooksVerdict:
    """What the looks tell about the tracks of a frame."""

    tracks: list[Track]
    """The given tracks; those that are still in doubt are ambiguous."""
    broken: dict[int, Break]
    """By number of the track."""
    groundless: dict[int, list[int]]
    """Earlier frames, by their index, in which the doubt of a track had no ground."""
    leading: dict[int, list[int]]
    """Earlier frames of a broken track from which patches lead to this frame: they show the same person as it does."""


@dataclass
class _State:
    """What is known of one track."""

    seen: float
    """When its face was last seen, seconds."""
    kept: deque[tuple[float, Look]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """Templates and their times."""
    latest: Look | None = None
    box: Floats | None = None
    """Where the face was in the last frame, if it was seen there."""
    pending: bool = False
    """Whether a doubt is still to be cleared."""
    tries: int = 0
    running: int = 0
    """Consecutive frames in which a face that was never seen without doubt looked the same."""
    cause: BreakCause = BreakCause.CROSSING
    changed: bool = False
    lost: bool = False
    alone: bool = True
    """Whether nobody was near since the doubt began."""
    rivals: set[int] = field(default_factory=set)
    """Tracks within reach since the doubt began; without a doubt, those within reach in the last frame."""
    followed: bool = False
    """Whether the patch of the last frame's face was found where the face is now."""
    unbroken: bool = False
    """Whether `followed` held in every frame since one in which the face was known."""
    episode: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    """Frames of the doubt in which the face looked like itself, or was not seen."""
    found: bool = False
    """Whether the patch of the last frame's face was found again where the face is now, if only as `tracking.patches`
    finds lost ones (0.75)."""
    through: bool = True
    """Whether `found` held in every frame of the doubt, and the face could be itself in all of them (`_itself`)."""
    during: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    """All frames of the doubt."""
    led: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    """Frames of the doubt that patches led to from a frame in which the face was known."""
    leading: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    """Frames of the doubt from which patches lead to the newest frame."""
    company: int = -1
    """The last frame in which another face was seen anywhere in the picture."""
    blind: bool = False
    """Whether a frame since the face was last known gave neither a patch nor a look."""

    def best(self, look: Look) -> float:
        """Correlation of a look with the most similar template; -1 without any template."""
        found = [float(look @ one) for _, one in self.kept]
        return max(found if self.latest is None else [*found, float(look @ self.latest)], default=-1.0)

    def forget_doubt(self) -> None:
        """Clear the frames of a doubt: there is none, or it is over."""
        for frames in (self.episode, self.led, self.leading, self.during):
            frames.clear()
        self.through = True

    def learn(self, look: Look | None, now: float) -> None:
        """Learn the look of a face that is not in doubt."""
        self.tries = 0
        if look is None:
            return
        self.latest = look
        if not self.kept or now - self.kept[-1][0] >= _EVERY:
            self.kept.append((now, look))


class Looks:
    """Decides the doubts of one stream's tracks. patches: False ignores the pictures, for simulated crowds."""

    def __init__(self, patches: bool = True) -> None:
        self._patches = patches
        self._before: Small | None = None
        self._states: dict[int, _State] = {}
        self._time = 0.0

    def __call__(self, frame: Frame, tracks: Sequence[Track], looks: Mapping[int, Look | None]) -> LooksVerdict:
        """Judge the tracks of a frame, in order of the frames.

        looks: by number of the track, for faces that have a look; unit vectors (n,), whose product is their
        correlation.
        """
        now = float(frame.time)
        picture = small(frame.luma_levels) if self._patches else None
        self._states = {track.number: self._states.get(track.number) or _State(now) for track in tracks}
        verdict = LooksVerdict([], {}, {}, {})
        several = sum(track.face is not None for track in tracks) > 1
        within = _within_reach(tracks, _REACH + QUICKEST * max(now - self._time, 0.0))
        self._time = now
        for track in tracks:
            state = self._states[track.number]
            state.alone &= not track.near
            state.rivals |= within[track.number]
            state.company = frame.index if several else state.company
            if track.face is None:
                state.box, state.unbroken = None, False
                state.leading.clear()
                if track.ambiguous and not state.pending:
                    state.pending, state.cause = True, BreakCause.CROSSING
                if state.pending:
                    state.episode.append(frame.index)
                verdict.tracks.append(replace(track, ambiguous=state.pending))
                continue
            look = looks.get(track.number)
            gone, state.seen = now - state.seen > _LONGEST_LOSS, now
            changed = self._changed(state, track, look, picture, gone)
            state.box = np.array(track.face.box, dtype=np.float64)
            if not (track.ambiguous or state.pending or gone or changed):
                if state.leading and state.followed:  # a tracklet that began a frame ago goes on
                    verdict.groundless[track.number] = list(state.leading)
                state.learn(look, now)
                state.alone, state.changed, state.lost, state.unbroken = not track.near, False, False, True
                state.rivals = within[track.number]
                state.forget_doubt()
                verdict.tracks.append(track)
            else:
                state.changed |= changed
                state.lost |= gone
                state.unbroken &= state.followed
                if not state.followed:
                    state.leading.clear()
                verdict.tracks.append(self._doubted(frame.index, now, track, state, look, verdict))
        self._before = picture
        return verdict

    def _changed(self, state: _State, track: Track, look: Look | None, picture: Small | None, gone: bool) -> bool:
        """Whether the face differs from the last frame's, as far as pictures tell. gone: whether it was long lost."""
        assert track.face is not None
        state.followed = state.found = False
        if picture is not None and state.box is not None and self._before is not None:
            box = np.array(track.face.box, dtype=np.float64)
            if self._before.luma.shape == picture.luma.shape:
                alike = self._went_on(state.box, box, picture, _ONE_MIDDLE if track.near else _ALONE)
                if alike is None:
                    return True
                state.followed, state.found = alike >= _FOLLOWED, alike > 0
                if state.blind and look is not None and state.kept:  # somebody else may have come meanwhile
                    state.blind = False
                    return state.best(look) < _ALIKE
                state.blind |= look is None and alike == 0
                if state.followed and not track.ambiguous and not gone:
                    return False  # it is the same head; only the mesh lies differently
        if look is None or state.latest is None:
            return False
        if state.box is None and not gone:  # lost for a moment: no patch tells who took its place
            return state.best(look) < _ALIKE
        return float(look @ state.latest) < _LIKELY and state.best(look) < _ALIKE

    def _went_on(self, before: Floats, box: Floats, picture: Small, most: float) -> float | None:
        """Correlation of the patch of the last frame's face with the place where the face is now; None where the patch
        is not found there, 0 where it is too small. most: distance of the middles (`_ONE_MIDDLE`)."""
        assert self._before is not None
        if too_small(self._before, before):
            return 0.0
        shift = (box[:2] + box[2:] - before[:2] - before[2:]) / 2
        found = matched(self._before, picture, before, shift)
        return found[1] if found is not None and _one_place(found[0], box, most) else None

    def _doubted(
        self, index: int, now: float, track: Track, state: _State, look: Look | None, verdict: LooksVerdict
    ) -> Track:
        """Judge a face in doubt: the doubt is cleared, the tracklet is broken, or the doubt goes on."""
        if not state.kept and track.ambiguous:
            return self._unsettled(now, track, state, look)
        if not state.pending:
            state.cause = (
                BreakCause.CHANGED if state.changed else BreakCause.LOST if state.lost else BreakCause.CROSSING
            )
        state.pending = True
        own, rival = self._own_and_rival(track, state, look)
        slid = not state.alone and (own < _UNLIKE or not _beyond(own, rival))
        if slid:  # patches may have led onto a neighbour
            state.unbroken = False
            state.leading.clear()
        state.through &= state.found and not state.alone and self._itself(state, look, own, rival)
        near = _LIKELY if state.unbroken else _ALIKE_ALONE if state.through else _ALIKE
        least = _ALIKE_LOST if state.lost else near if state.changed or not state.alone else _ALIKE_ALONE
        if own >= least and _beyond(own, rival):
            return self._cleared(now, track, state, look, verdict)
        if not track.ambiguous:
            state.tries += 1
            if state.tries >= _TRIES or not state.kept:
                likely = state.alone and not state.changed
                verdict.broken[track.number] = Break(state.cause if state.kept else BreakCause.UNKNOWN, likely)
                leading = [] if state.unbroken else [one for one in state.leading if one > state.company]
                verdict.leading[track.number] = leading
                self._states[track.number] = fresh = _State(now, box=state.box)
                fresh.learn(look, now)
                fresh.leading.extend((*leading, index))
                return replace(track, ambiguous=True)
        if own >= _LIKELY:
            state.episode.append(index)
        state.during.append(index)
        if state.unbroken:
            state.led.append(index)
        if not slid:
            state.leading.append(index)
        return replace(track, ambiguous=True)

    def _unsettled(self, now: float, track: Track, state: _State, look: Look | None) -> Track:
        """Judge a face that was never seen without doubt: it is known once it looks the same in `_TRIES` frames."""
        state.pending, state.cause = True, BreakCause.UNKNOWN
        same = False
        if look is not None and state.latest is not None:
            others = [one.best(look) for number, one in self._states.items() if number != track.number]
            own = float(look @ state.latest)
            same = own >= _ALIKE and own >= max(others, default=-1.0) + _APART
        state.running = state.running + 1 if same else 0
        state.latest = look
        if state.running < _TRIES:
            return track
        state.pending, state.running = False, 0
        state.learn(look, now)
        return replace(track, ambiguous=False)

    def _own_and_rival(self, track: Track, state: _State, look: Look | None) -> tuple[float, float]:
        """Correlation of a face with itself, and with the most similar of the faces that were near; -1 without any."""
        if look is None or not state.kept:
            return -1.0, -1.0
        others = [] if state.alone else [one for number, one in self._states.items() if number in state.rivals]
        return state.best(look), max((one.best(look) for one in others), default=-1.0)

    def _itself(self, state: _State, look: Look | None, own: float, rival: float) -> bool:
        """Whether a face that somebody is near may be taken for itself, as long as its patch is found again: it looks
        more like itself than like any of them, half like itself where the looks of some are not known (any more), or
        has a patch that tells one head from another by itself."""
        if look is None:
            return state.followed
        others = [one for number, one in self._states.items() if number in state.rivals]
        known = len(others) == len(state.rivals) and all(one.kept for one in others)
        return own > rival and (known or own >= _UNLIKE)

    def _cleared(self, now: float, track: Track, state: _State, look: Look | None, verdict: LooksVerdict) -> Track:
        """Clear a doubt that had no ground, or is over."""
        state.pending, state.tries, state.lost, state.changed, state.unbroken = False, 0, False, False, True
        all_through = state.during if state.through else ()
        groundless = {*all_through, *state.led, *state.leading, *(state.episode if state.alone else ())}
        if groundless:
            verdict.groundless[track.number] = sorted(groundless)
            state.forget_doubt()
        if not track.ambiguous:
            state.learn(look, now)
        return replace(track, ambiguous=False)


def _beyond(own: float, rival: float) -> bool:
    """Whether a face looks clearly more like itself than like another one, by correlations with both."""
    one, other = np.arctanh(np.clip((own, rival), -0.999, 0.999))
    return bool(one >= other + _MARGIN)


def _within_reach(tracks: Sequence[Track], reach: float) -> dict[int, set[int]]:
    """By track: the others that are no further from it than `reach` widths of the larger face."""
    if not tracks:
        return {}
    boxes = np.array([track.box for track in tracks], np.float64)
    widths = np.sqrt(np.maximum((boxes[:, 2:] - boxes[:, :2]).prod(axis=1), 0))
    apart = np.maximum(boxes[:, None, :2] - boxes[None, :, 2:], boxes[None, :, :2] - boxes[:, None, 2:])
    gaps = np.linalg.norm(np.maximum(apart, 0), axis=2)
    close = ~(gaps > reach * np.maximum(widths[:, None], widths))  # a box that is nan may be anywhere
    numbers = [track.number for track in tracks]
    return {
        n: {m for m, yes in zip(numbers, row, strict=True) if yes and m != n}
        for n, row in zip(numbers, close, strict=True)
    }


def _one_place(a: Floats, b: Floats, most: float) -> bool:
    """Whether two boxes (4,), pixels, lie on one head; one of them is where a head's patch was found. most: largest
    distance of their middles, as a share of the smaller one's side."""
    least = float(np.sqrt(min((box[2:] - box[:2]).prod() for box in (a, b))))
    apart = float(np.linalg.norm(a[:2] + a[2:] - b[:2] - b[2:])) / 2
    return apart <= most * least or float(iou(a[None], b[None])[0]) > _SAME_PLACE
