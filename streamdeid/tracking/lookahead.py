"""What is covered in a frame, known with the frames that followed it.

The main loop publishes a frame some frames after it was tracked (none, on a live stream). What those frames showed is
used here:

* a track is shown from the moment on at which its sightings make it evident that it is a face, and for a second before;
  it stays one until it ends. Only where few sightings made it one, those that follow can speak against it: somebody
  else's face had passed there;
* a track that starts is followed backwards: its patch (`tracking.patches`) as far as it is found again, then a little
  further its motion, run back in time; as long as it lies in the picture, and not beyond the last scene cut;
* a lost face is followed by its patch, too. Where that fails, a gap after which the face was found again is bridged
  from both sides: by the next sighting's patch, followed backwards, and by motion between the places known. A face that
  is not found again is covered where it went for 0.4 s after it was last seen, longer while somebody hides it, and not
  outside the picture.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.faces import Track
from streamdeid.core.frames import Plane
from streamdeid.tracking.association import iou
from streamdeid.tracking.evident import evident, refuted
from streamdeid.tracking.lost_faces import (
    MOTION,
    Place,
    between,
    bounded,
    moved,
    predicted,
    rate_of,
    slack,
    trail,
    union,
)
from streamdeid.tracking.patches import Small, found_again, small

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]

_AROUND = 1.0 + 1e-6
"""Seconds before and after a frame in which sightings count as evidence (and what sums of times may be off)."""
_PLENTY = 5
"""Sightings within a second before after which a face is evident without looking ahead, and sure ones after which it
stays one: turned away, for example."""
_BEYOND = 0.2 + 1e-6
"""Seconds for which a place is covered before the first frame in which its patch was found."""
_LET_GO = 0.4 + 1e-6
"""Seconds for which a face is covered that neither the detector nor its patch finds, now or later. Of 112 such covers
on eight clips five held a face that nothing else covered (docs/methods.md 6.2), and those that last longer are the
largest."""
_SLID = 0.1
"""IoU with a face that is seen from which a patch that is followed backwards has slid onto it. What is found ends in a
sighting, so neighbours may touch; where it slid, the place is bridged by motion."""
_OTHER = 0.02
"""IoU with a face that is seen, from which a patch is taken to have slid onto it."""


@dataclass(frozen=True)
class _Sighting:
    """A track's face in one frame."""

    index: int
    place: Place
    evidence: float


@dataclass
class _Known:
    """What is known of a track."""

    start: int
    """Number of the frame that it starts in."""
    scene: int
    sightings: deque[_Sighting] = field(default_factory=deque)
    """From a second before the frame shown last to the newest frame."""
    face: bool = False
    """Whether it is evidently a face."""
    sure: int = 0
    """Its sightings that by themselves were."""
    path: deque[Place] = field(default_factory=lambda: deque(maxlen=MOTION))
    """Its last places in frames that were shown, by sightings and patches."""
    seen: float = 0.0
    """When its face was last seen in a frame that was shown."""
    lost: bool = False
    """Whether its patch was lost since."""
    trail: dict[float, Floats] | None = None
    """Where its patch was found in frames before its start; None until it was looked for."""
    again: int = 0
    """Number of the frame of the sighting after a gap ..."""
    back: dict[float, Floats] = field(default_factory=dict)
    """... and where its patch was found before that, within the gap."""


@dataclass(frozen=True)
class Noted:
    """What the look-ahead keeps of a frame, with the frame while that waits."""

    index: int
    time: float
    scene: int
    small: Small


class LookAhead:
    """Chooses the tracks that are covered. `note` sees each frame first, `shown` is asked when it is rendered."""

    def __init__(self, threshold: float, size: tuple[int, int] | None = None) -> None:
        """threshold: evidence from which a track is a face, 0 to 1. size: width and height of the frames, if known."""
        self._threshold = threshold
        self._size = size
        self._known: dict[int, _Known] = {}
        self._scene = self._index = 0
        self._clock = 0.0
        self._time: Fraction | None = None
        self._shown: Noted | None = None

    def cut(self) -> None:
        """The next frame noted is the first of a new scene."""
        self._scene += 1

    def note(self, tracks: Sequence[Track], time: Fraction, levels: Sequence[Plane]) -> Noted:
        """Note the tracks of a frame, levels its `luma_pyramid`; frames come in order, each before it is shown. What
        this gives back is handed to `shown`.

        time: seconds; one that repeats or steps back counts as no time at all.
        """
        self._clock += 0.0 if self._time is None else max(float(time - self._time), 0.0)
        self._time = time
        self._index += 1
        for track in tracks:
            known = self._known.setdefault(track.number, _Known(self._index, self._scene))
            if track.face is not None:
                place = Place(self._clock, np.array(track.face.box, dtype=np.float64))
                known.sightings.append(_Sighting(self._index, place, track.face.evidence))
                known.sure += track.face.evidence >= self._threshold
                recent = [one for one in known.sightings if one.place.time >= self._clock - _AROUND]
                known.face = known.face or (len(recent) >= _PLENTY and self._evident(recent))
        return Noted(self._index, self._clock, self._scene, small(levels))

    def shown(self, tracks: Sequence[Track], now: Noted, later: Sequence[Noted]) -> list[Track]:
        """The tracks to cover in the next frame to be shown, whose own these are: those that are faces, and to come.

        now, later: what was noted of that frame, and of those that wait after it.
        """
        for known in self._known.values():
            while known.sightings and known.sightings[0].place.time < now.time - _AROUND:
                known.sightings.popleft()
            around = [one for one in known.sightings if one.place.time <= now.time + _AROUND]
            known.face = self._evident(around) or (known.face and not (known.sure < _PLENTY and self._refuted(around)))
        faces = {track.number: np.array(track.face.box, dtype=np.float64) for track in tracks if track.face is not None}
        placed = [self._placed(track, now, later, faces) for track in tracks if self._known[track.number].face]
        covered = [track for track in placed if track is not None]
        present = {track.number for track in tracks}
        for number, known in self._known.items():
            if number not in present and known.start > now.index and known.scene == now.scene and known.face:
                box = self._before(known, now, later)
                if box is not None:
                    covered.append(Track(number, box, face=None, missed=1, ambiguous=False))
        self._known = {n: k for n, k in self._known.items() if n in present or k.start > now.index}
        self._shown = now
        return covered

    def _evident(self, seen: Sequence[_Sighting]) -> bool:
        return evident(np.array([one.evidence for one in seen], dtype=np.float64), self._threshold)

    def _refuted(self, seen: Sequence[_Sighting]) -> bool:
        return refuted(np.array([one.evidence for one in seen], dtype=np.float64), self._threshold)

    def _placed(self, track: Track, now: Noted, later: Sequence[Noted], faces: dict[int, Floats]) -> Track | None:
        """A track with its place in this frame; a lost one has it by its patch, two sightings, or its motion.

        None for one that was lost for long, or that left the picture.
        """
        known = self._known[track.number]
        if track.face is not None:
            known.path.append(Place(now.time, faces[track.number]))
            known.seen, known.lost = now.time, False
            return track
        if not known.path:  # lost before it was known to be a face
            return track
        others = [box for number, box in faces.items() if number != track.number]
        found = self._followed(known, now, others)
        after = list(itertools.islice((one for one in known.sightings if one.index > now.index), MOTION))
        if found is not None:
            known.path.append(Place(now.time, found))
            box = slack(found, now.time - known.seen)
            if after:
                box = bounded(union(box, self._bridged(known, now, later, after)), found)
            return replace(track, box=_corners(box))
        known.lost = True
        if after:
            return replace(track, box=_corners(self._bridged(known, now, later, after)))
        expected = moved(known.path, now.time)
        hidden = bool(others) and float(iou(expected[None], np.array(others)).max()) > _OTHER
        gone = now.time - known.path[-1].time > _LET_GO and not hidden
        if gone or self._outside(expected):
            return None
        return replace(track, box=_corners(predicted(known.path, now.time)))

    def _bridged(self, known: _Known, now: Noted, later: Sequence[Noted], after: Sequence[_Sighting]) -> Floats:
        """Where a lost face is that was seen again: by its patch backwards from there, or between the places known."""
        next_one = after[0]
        if known.again != next_one.index:
            known.again = next_one.index
            known.back = self._backwards((now, *later), next_one.index, [one.place for one in after])
        places = [one.place for one in after]
        if now.time in known.back:
            return slack(known.back[now.time], next_one.place.time - now.time)
        nearest = min(known.back, default=None)
        if nearest is not None:  # where the patch was last found is nearer than the sighting
            places = [Place(nearest, known.back[nearest])]
        return between(list(known.path), places, now.time)

    def _backwards(self, waiting: Sequence[Noted], start: int, places: Sequence[Place]) -> dict[float, Floats]:
        """By time, where the patch of the first of some places, seen in the frame `start`, was in those waiting."""
        frames = [one for one in waiting if one.index <= start]
        frames.reverse()
        found: dict[float, Floats] = {}
        steps = trail([one.small for one in frames], [one.time for one in frames], places)
        for frame, box in zip(frames[1:], steps, strict=False):
            seen = [s.place.box for other in self._known.values() for s in other.sightings if s.index == frame.index]
            if seen and float(iou(box[None], np.array(seen)).max()) > _SLID:
                break  # it slid onto somebody else's face
            found[frame.time] = box
        return found

    def _outside(self, box: Floats) -> bool:
        return self._size is not None and bool((box[2:] <= 0).any() or (box[:2] >= self._size).any())

    def _followed(self, known: _Known, now: Noted, others: Sequence[Floats]) -> Floats | None:
        """Where a lost face's patch is now; None where it is not found, or slid onto somebody else's face."""
        if known.lost or self._shown is None or self._shown.scene != now.scene:
            return None
        shift = rate_of(known.path) * (now.time - self._shown.time)
        found = found_again(self._shown.small, now.small, known.path[-1].box, shift)
        if found is not None and others and float(iou(found[None], np.array(others)).max()) > _OTHER:
            return None
        return found

    def _before(self, known: _Known, now: Noted, later: Sequence[Noted]) -> Box | None:
        """Where a track was before it started; None outside the picture, and before the patch was anywhere."""
        places = [one.place for one in itertools.islice(known.sightings, MOTION)]
        if not places:
            return None
        if known.trail is None:
            known.trail = self._backwards((now, *later), known.start, places)
        if now.time in known.trail:
            return _corners(slack(known.trail[now.time], places[0].time - now.time))
        first = min(known.trail, default=places[0].time)
        if first - now.time > _BEYOND:
            return None
        start = known.trail.get(first, places[0].box)
        box = union(moved(places[::-1], now.time), start)
        box = bounded(slack(box, places[0].time - now.time, start[2:] - start[:2]), start)
        if self._outside(box):
            return None  # it came in here
        return _corners(box)


def _corners(box: Floats) -> Box:
    x0, y0, x1, y1 = (float(value) for value in box)
    return x0, y0, x1, y1
