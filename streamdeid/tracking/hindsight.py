"""What is covered in a frame, known with the frames that followed it.

The main loop publishes a frame some frames after it was tracked (none, on a live stream). What those frames showed is
used here, and never takes a cover away from a track that was known to be a face:

* a track is shown from the moment on at which its sightings make it evident that it is a face, and for a second before;
* a track that starts is followed backwards: its patch (`tracking.patches`) as far as it is found again, then a little
  further its motion, run back in time; as long as it lies in the picture, and not beyond the last scene cut;
* a lost face is followed by its patch, too; where that fails, a gap after which the face was found again is bridged
  from both sides, and otherwise the last place and the one it went to stay covered, growing with the uncertainty.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.faces import Track
from streamdeid.tracking import kalman
from streamdeid.tracking.evident import evident
from streamdeid.tracking.patches import Small, found_again, small

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]

_PAST = 1
"""Seconds of the past in which sightings count as evidence."""
_MOTION = 8
"""Sightings after the start from which the motion before it is derived."""
_WALKS_ON = 0.4
"""Seconds for which somebody whose patch is lost is taken to walk on, by a face's size at most. People stop as often,
so both places are covered."""
_WITHIN = 0.8
"""Share of a lost face's last place that a seen face must hold to cover it as well."""
_BEYOND = Fraction(1, 5)
"""Seconds for which a place is covered before the first frame in which its patch was found."""
_SLACK, _SLACK_PER_SECOND, _SLACK_LIMIT = 0.1, 0.4, 0.4
"""Growth of a box without a sighting, on each side: shares of its sides, and of the seconds to the nearer sighting."""


@dataclass(frozen=True)
class _Sighting:
    """A track's face in one frame."""

    time: Fraction
    box: Floats
    evidence: float
    score: float

    @property
    def side(self) -> float:
        return float((self.box[2:] - self.box[:2]).min())


@dataclass
class _Known:
    """What is known of a track."""

    start: Fraction
    scene: int
    sightings: deque[_Sighting] = field(default_factory=deque)
    face: bool = False
    """Whether it is evidently a face; stays so."""
    place: Floats | None = None
    """Where it was last found, by a sighting or by its patch, in a frame that was shown; None before the first."""
    seen: Fraction = Fraction(0)
    """When its face was last seen in a frame that was shown."""
    lost: Fraction | None = None
    """When its patch was last found; None while it is."""
    rate: Floats = field(default_factory=lambda: np.zeros(2))
    """Pixels per second at which it went then."""
    trail: dict[Fraction, Floats] | None = None
    """Where its patch was found in frames before its start; None until it was looked for."""


@dataclass(frozen=True)
class _Picture:
    """A frame that waits to be shown."""

    time: Fraction
    scene: int
    small: Small


class Hindsight:
    """Chooses the tracks that are covered. `note` sees each frame first, `shown` is asked when it is published."""

    def __init__(self, threshold: float, size: tuple[int, int] | None = None) -> None:
        """threshold: evidence from which a track is a face, 0 to 1. size: width and height of the frames, if known."""
        self._threshold = threshold
        self._size = size
        self._known: dict[int, _Known] = {}
        self._scene = 0
        self._waiting: deque[_Picture] = deque()
        self._shown: _Picture | None = None

    def cut(self) -> None:
        """The next frame noted is the first of a new scene."""
        self._scene += 1

    def note(self, tracks: Sequence[Track], time: Fraction, luma: NDArray[np.uint8]) -> None:
        """Note the tracks of a frame, luma uint8 (h, w); frames come in order, each before it is shown."""
        self._waiting.append(_Picture(time, self._scene, small(luma)))
        for track in tracks:
            known = self._known.setdefault(track.number, _Known(time, self._scene))
            if track.face is not None:
                box = np.array(track.face.box, dtype=np.float64)
                known.sightings.append(_Sighting(time, box, track.face.evidence, track.face.score))

    def shown(self, tracks: Sequence[Track], time: Fraction) -> list[Track]:
        """The tracks to cover in the frame at `time`, seconds: those of it that are faces, and those to come."""
        now = self._waiting.popleft()
        present = {track.number for track in tracks}
        for known in self._known.values():
            while known.sightings and known.sightings[0].time < time - _PAST:
                known.sightings.popleft()
            known.face = known.face or self._evident(known)
        covered = [self._placed(track, now) for track in tracks if self._known[track.number].face]
        faces = [np.array(track.face.box, dtype=np.float64) for track in covered if track.face is not None]
        covered = [track for track in covered if track.face is not None or not self._behind(track, faces)]
        for number, known in self._known.items():
            if number not in present and known.start > time and known.scene == now.scene and known.face:
                box = self._before(known, now)
                if box is not None:
                    covered.append(Track(number, box, face=None, missed=1, doubtful=False))
        self._known = {n: k for n, k in self._known.items() if n in present or k.start > time}
        self._shown = now
        return covered

    def _evident(self, known: _Known) -> bool:
        seen = known.sightings
        columns = np.array([(one.evidence, one.score, one.side) for one in seen], dtype=np.float64).reshape(-1, 3)
        return evident(columns[:, 0], columns[:, 1], columns[:, 2], self._threshold)

    def _placed(self, track: Track, now: _Picture) -> Track:
        """A track with its place in this frame; a lost one has it by its patch, two sightings, or its motion."""
        known, time = self._known[track.number], now.time
        if track.face is not None:
            known.place, known.lost = np.array(track.face.box, dtype=np.float64), None
            known.seen = time
            return track
        if known.place is None:  # never shown with its face
            return track
        since = max(float(time - known.seen), 0.0)
        seen = known.sightings
        later = next((place for place, one in enumerate(seen) if one.time > time), len(seen))
        past = list(itertools.islice(seen, max(0, later - _MOTION), later))
        rate = _motion(past).mean[0, :2, 1] if past else np.zeros(2)
        if known.lost is None and self._shown is not None and self._shown.scene == now.scene:
            step = max(float(time - self._shown.time), 0.0)
            found = found_again(self._shown.small, now.small, known.place, rate * step)
            if found is not None:
                known.place = found
                return replace(track, box=_slack(found, since))
            known.lost, known.rate = self._shown.time, rate
        if past and later < len(seen):
            return replace(track, box=self._between(seen, later, time))
        gone = since if known.lost is None else max(float(time - known.lost), 0.0)
        sides = known.place[2:] - known.place[:2]
        walked = np.clip(known.rate * min(gone, _WALKS_ON), -sides, sides)
        return replace(track, box=_slack(_union(known.place, known.place + np.tile(walked, 2)), since, sides))

    def _behind(self, track: Track, faces: Sequence[Floats]) -> bool:
        """Whether the last place of a lost track lies within a face that is seen now: its cover covers both."""
        place = self._known[track.number].place
        if place is None:
            return False
        area = float((place[2:] - place[:2]).prod())
        shares = [
            np.maximum(np.minimum(place[2:], box[2:]) - np.maximum(place[:2], box[:2]), 0).prod() for box in faces
        ]
        return bool(max(shares, default=0.0) >= _WITHIN * area)

    def _between(self, seen: deque[_Sighting], later: int, time: Fraction) -> Box:
        """A place between the sightings `later` - 1 and `later`."""
        before, after = seen[later - 1], seen[later]
        share = float((time - before.time) / (after.time - before.time))
        straight = (1 - share) * before.box + share * after.box
        # People turn round as often as they walk on, so the motion of the nearer side counts too.
        if share < 0.5:
            side = list(itertools.islice(seen, max(0, later - _MOTION), later))
        else:
            side = list(itertools.islice(seen, later, later + _MOTION))[::-1]
        nearer = float(abs(time - side[-1].time))
        moved = kalman.boxes_of(kalman.predict(_motion(side), nearer))[0]
        return _slack(_union(straight, moved), nearer, straight[2:] - straight[:2])

    def _before(self, known: _Known, now: _Picture) -> Box | None:
        """Where a track was before it started; None outside the picture, and before the patch was anywhere."""
        seen = list(itertools.islice(known.sightings, _MOTION))
        if not seen:
            return None
        seconds = float(known.start - now.time)
        if known.trail is None:
            known.trail = self._trail(known, seen, now)
        if now.time in known.trail:
            return _slack(known.trail[now.time], seconds)
        first = min(known.trail, default=known.start)
        if first - now.time > _BEYOND:
            return None
        start = known.trail.get(first, seen[0].box)
        motion = kalman.predict(_motion(seen[::-1]), seconds)
        x, y = motion.mean[0, :2, 0]
        if self._size is not None and not (0 <= x <= self._size[0] and 0 <= y <= self._size[1]):
            return None  # it came in here: its middle was outside
        return _slack(_union(kalman.boxes_of(motion)[0], start), seconds, start[2:] - start[:2])

    def _trail(self, known: _Known, seen: list[_Sighting], now: _Picture) -> dict[Fraction, Floats]:
        """The places of a track's patch in the frames before its start, from there back to `now` or its first loss."""
        pictures = [one for one in (now, *self._waiting) if one.scene == known.scene and one.time <= known.start]
        place, trail = seen[0].box, dict[Fraction, Floats]()
        rate = _motion(seen[::-1]).mean[0, :2, 1]  # of a motion that runs backwards
        for after, before in itertools.pairwise(reversed(pictures)):
            found = found_again(after.small, before.small, place, rate * max(float(after.time - before.time), 0.0))
            if found is None:
                break
            place = trail[before.time] = found
        return trail


def _motion(seen: Sequence[_Sighting]) -> kalman.Motion:
    """The motion after one or more sightings, forwards or backwards in time."""
    motion = kalman.begin(seen[0].box[None])
    for last, one in itertools.pairwise(seen):
        motion = kalman.predict(motion, float(abs(one.time - last.time)))
        motion = kalman.correct(motion, np.zeros(1, dtype=np.intp), one.box[None])
    return motion


def _slack(box: Floats, seconds: float, sides: Floats | None = None) -> Box:
    """A box that was seen so many seconds ago, or will be, with what it may be off; sides (2,): the face's, if larger
    boxes hold it."""
    slack = min(_SLACK + _SLACK_PER_SECOND * seconds, _SLACK_LIMIT) * (box[2:] - box[:2] if sides is None else sides)
    return _corners(np.concatenate([box[:2] - slack, box[2:] + slack]))


def _union(a: Floats, b: Floats) -> Floats:
    return np.concatenate([np.minimum(a[:2], b[:2]), np.maximum(a[2:], b[2:])])


def _corners(box: Floats) -> Box:
    x0, y0, x1, y1 = (float(value) for value in box)
    return x0, y0, x1, y1
