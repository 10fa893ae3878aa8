"""Decides which tracks are protected in a frame, with the help of the frames that followed it.

The main loop publishes a frame some frames after it was tracked (on a live stream none, unless `--lookahead` says how
many). Those frames are used here:

* A track is protected from the moment when its sightings make it evidently a face, and for a second before. It stays a
  face until it ends. Only a track with few sure sightings can be refuted by later ones (then another person's face had
  passed there). It is also not protected while all three networks see no face for a second before and after.
* A track that starts is followed backwards: by its patch (`tracking.patches`) as far as this is found again, then a
  little further by its motion, run back in time, while it lies in the picture, and not beyond the last scene cut.
* A track that the third network judged and never took for a face is none, however sure the other networks are.
* Without look-ahead, a track that might be a face is protected for its first two frames in any case.
* A lost face is followed by its patch, too. Where that fails, a gap before the face is found again is bridged from both
  sides: by the next sighting's patch, followed backwards, and by motion between the known places.
* A face that is not found again is protected where it went: in recordings while its patch is found, but for 0.4 s
  after it was last seen at most, and for 0.2 s after the patch is lost (0.4 s at the picture's border). Live it is
  protected until 0.4 s after its patch was last found, and longer while another face hides it. Outside the picture it
  is not. A track that was hardly ever a face is protected only for 0.1 s after its last sighting, if three were sure.
* In recordings the place of a lost or coming face is looked at again (`detection.looked_again`) in the frame that is to
  be protected. A face seen there is a sighting like any other. Where none is seen, the place keeps a redaction only
  within a tenth of a second of a sighting, or if its patch was followed from one sighting to the next; and beside the
  picture's border, where it had one in the frame before and the face is seen within a quarter of a second.
* One head has one redaction. A lost face whose place lies on the head of a seen face counts as that face, unless both
  were once seen side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from streamdeid.core.arrays import Box, Floats, Plane
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import NO_FACE, Face, Track
from streamdeid.core.heads import on_head
from streamdeid.tracking.association import iou
from streamdeid.tracking.evident import evident, refuted
from streamdeid.tracking.known_track import CERTAIN, KnownTrack, Sighting
from streamdeid.tracking.lost_faces import (
    Bounded,
    LostPlace,
    at_border,
    between,
    bounded,
    corners,
    face_in,
    moved,
    near,
    outside,
    predicted,
    rate_of,
    slack,
    trail,
    union,
    within,
)
from streamdeid.tracking.noted import Noted, followed
from streamdeid.tracking.patches import small

_AROUND = 1.0 + 1e-6
"""Seconds before and after a frame in which sightings count as evidence (1e-6 allows for rounding of times)."""
_PLENTY = 5
"""Sightings within the last second from which a face can be evident without look-ahead; and sure sightings from which a
face stays one, for example when it turns away."""
_BEYOND = 0.2 + 1e-6
"""Seconds for which a place is protected before the first frame in which its patch was found."""
_LET_GO = 0.4 + 1e-6
"""Seconds for which a face is protected that neither the detector nor its patch finds, now or later. Of 112 such
redactions on eight clips five held a face that no other one held (docs/methods.md 6.2), and those that last longer are
the largest."""
_TURNED_AWAY = 0.2 + 1e-6
"""The same where it is known that the face is not seen again within the look-ahead: of 23 such redactions in labelled
frames one held a face that no other one held, 0.07 seconds after its last sighting (docs/methods.md 6.2)."""
_FOUND_LATE = 0.5 + 1e-6
"""Most seconds before its first sighting for which a track that was hardly a face is protected, however far back its
patch is found."""
_SEVERAL, _SURER = 3, 0.15
"""Sure sightings that a face needs to stay protected after the last one; and by how much the surest has to be above the
threshold where the third network did not see the face: as for a single sighting (`evident`)."""
_LARGEST, _QUARTER = 1.6, 0.25
"""A place without a sighting has at most so many times the sides of its face, and takes at most this share of the
picture, unless the face was that large."""
_CLOSE_BY = 0.1 + 1e-6
"""Seconds from the nearest sighting for which a face is protected, whatever a look finds."""
_BESIDE = 0.25
"""Distance from the border, share of a place's longer side, up to which a face that comes in may be half outside: a
profile was open for two frames (stage_and_audience). In seven other clips this protects one place more."""
_UNSEEN, _PERHAPS = 2, 2
"""After a look that saw nothing, one in so many frames is looked at; after one that saw something, a place stays
protected for so many frames: a redaction that comes and goes is worse than one that stays a moment longer."""
_YOUNG = 2
"""Frames for which a new track is protected without look-ahead, whatever it turns out to be."""
_BRIDGED = 0.25 + 1e-6
"""Seconds between two sightings up to which a gap is bridged for any track; longer gaps only for a sure face."""
_SLID = 0.1
"""IoU with a seen face from which a patch that is followed backwards has slid onto it. The patch starts from a
sighting, so neighbours may touch; where it slid, the place is bridged by motion."""
_OTHER = 0.02
"""IoU with a seen face from which a patch that is followed forwards has slid onto it."""

Look = Callable[[int, Box, Sequence[Box]], Face | None]
"""Looks for a face, given the track's number, the box in which its face is expected, and the boxes of other seen faces,
all in pixels of a frame (`protocols.LooksAgain`)."""


class LookAhead:
    """Chooses the tracks that are protected. Call `note` for each frame first, then `shown` once for each, in order."""

    def __init__(self, threshold: float, size: tuple[int, int] | None = None) -> None:
        """threshold: evidence from which a track is a face, 0 to 1. size: width and height of the frames, if known."""
        self._threshold = threshold
        self._size = size
        self._known: dict[int, KnownTrack] = {}
        self._scene = self._index = 0
        self._offset: Floats | None = None
        self._clock = 0.0
        self._time: Fraction | None = None
        self._shown: Noted | None = None
        self.unlooked: list[Track] = []
        """Tracks that a look saw in the last frame shown, with none taken in the frame before (as `Noted.steady`)."""
        self._heads: dict[int, Floats] = {}
        """By track: faces that were seen in the frame before, in the same pixels."""

    def note(
        self,
        tracks: Sequence[Track],
        time: Fraction,
        levels: Sequence[Plane],
        scene: int,
        camera: CameraMotion | None = None,
    ) -> Noted:
        """Note the tracks of a frame; frames come in order, each before it is shown. Pass the result to `shown`.

        levels: the frame's `luma_pyramid`. time: seconds; a time that does not go on counts as no step at all. camera:
        how it moved since the frame before. scene: its number, another one after each cut.
        """
        if scene != self._scene:
            self._scene, self._offset = scene, None
        if camera is not None:
            middle = np.array(levels[0].shape[::-1]) / 2
            self._offset = camera(middle) - middle + (0.0 if self._offset is None else self._offset)
        self._clock += 0.0 if self._time is None else max(float(time - self._time), 0.0)
        self._time = time
        self._index += 1
        noted = Noted(self._index, self._clock, self._scene, small(levels), self._offset)
        for track in tracks:
            known = self._known.setdefault(track.number, KnownTrack(self._index, self._scene))
            if track.face is not None:
                place = LostPlace(self._clock, noted.steady(np.array(track.face.box, dtype=np.float64)))
                surveyed = track.face.surveyed
                known.sightings.append(Sighting(self._index, place, track.face.evidence, surveyed))
                known.sure += track.face.evidence >= self._threshold
                known.surest = max(known.surest, track.face.evidence)
                if surveyed is not None:
                    known.opined(surveyed)
                recent = [one for one in known.sightings if one.place.time >= self._clock - _AROUND]
                known.face = known.face or (len(recent) >= _PLENTY and self._evident(known, recent))
        self._note_pairs(tracks)
        return noted

    def shown(
        self, tracks: Sequence[Track], now: Noted, later: Sequence[Noted], look: Look | None = None
    ) -> list[Track]:
        """The tracks to protect in the next frame: the frame's own tracks that are faces, and faces that come later.

        tracks: the frame's own tracks. now, later: the results of `note` for this frame, and for the frames that wait
        after it. look: looks for a track's face in this frame; None where no look is possible.
        """
        for known in self._known.values():
            known.beside &= self._known.keys()
            while known.sightings and known.sightings[0].place.time < now.time - _AROUND:
                known.sightings.popleft()
            around = [one for one in known.sightings if one.place.time <= now.time + _AROUND]
            against = self._refuted(around)
            known.face = self._evident(known, around) or (
                known.face and not (known.sure < _PLENTY and against) and not known.never
            )
            known.gone = against and known.gone_from(around)
        faces = {track.number: np.array(track.face.box, dtype=np.float64) for track in tracks if track.face is not None}
        shown = [
            track for track in tracks if self._known[track.number].shows or (not later and self._young(track, now))
        ]
        placed = [self._placed(track, now, later, faces) for track in shown]
        heads = _heads([one for one in tracks if self._known[one.number].shows])
        lost = [one for one in placed if one is not None and not one.face and not self._on_a_head(one, heads)]
        covered = [one for one in placed if one is not None and one.face]
        present = {track.number for track in tracks}
        for number, known in self._known.items():
            if number not in present and known.start > now.index and known.scene == now.scene and known.shows:
                found = self._before(known, now, later)
                if found is not None:
                    (box, cut), sides = found
                    early = Track(number, box, None, missed=1, ambiguous=False, sides=sides, cut=cut)
                    if not self._on_a_head(early, heads):
                        lost.append(early)
        self._known = {n: k for n, k in self._known.items() if n in present or k.start > now.index}
        self._shown = now
        return covered + (lost if look is None else self._looked(lost, now, look, faces, heads))

    def _looked(
        self, lost: Sequence[Track], now: Noted, look: Look, faces: dict[int, Floats], heads: dict[int, Floats]
    ) -> list[Track]:
        """The lost faces that are to be protected, after a look at the places where they are expected."""
        self.unlooked.clear()
        covered, seen_here = [], {n: box for n, box in faces.items() if self._known[n].shows}
        for track in lost:
            known = self._known[track.number]
            others = [corners(box) for n, box in seen_here.items() if n != track.number]
            known.nothing = known.nothing + 1 if 0 < known.nothing < _UNSEEN else 0
            found = None if known.nothing else look(track.number, face_in(track), others)
            if found is not None and found.keypoints is not None:
                seen = replace(track, box=found.box, face=found, missed=0, sides=None, cut=False)
                if not self._on_a_head(replace(seen, face=None), heads):
                    seen_here[track.number] = np.array(found.box, dtype=np.float64)
                    steady = replace(track, box=corners(now.steady(np.array(track.box))))
                    if known.unlooked == now.index - 1 and not self._on_a_head(steady, self._heads):
                        self.unlooked.append(steady)
                    known.sighted(LostPlace(now.time, now.steady(seen_here[track.number])), again=True)
                    covered.append(seen)
            elif found is not None or known.held or known.away(now.time) <= _CLOSE_BY or self._half(known, track, now):
                covered.append(replace(track, face=found))
            elif known.perhaps:
                covered.append(track)
            known.perhaps = _PERHAPS if found is not None else max(0, known.perhaps - 1)
            known.unlooked = now.index if known.nothing == _UNSEEN else known.unlooked
            known.nothing = known.nothing or int(found is None)
        self._heads = {number: now.steady(box) for number, box in heads.items()}
        for track in covered:
            self._known[track.number].covered = now.index
        return covered

    def _half(self, known: KnownTrack, lost: Track, now: Noted) -> bool:
        """Whether a lost face may be half outside the picture: half a face tells networks little."""
        soon = any(one.place.time - now.time <= _BRIDGED for one in known.to_come(now.index, 1))
        return at_border(lost.box, self._size, _BESIDE if soon and known.covered == now.index - 1 else 0.0)

    def _young(self, track: Track, now: Noted) -> bool:
        """Whether a track has just begun, with enough evidence in this frame to be a face if more such sightings come.
        Without look-ahead it is protected until this is known."""
        known = self._known[track.number]
        begun = now.index - known.start < _YOUNG and not known.never
        return begun and track.face is not None and track.face.evidence >= self._threshold

    def _evident(self, known: KnownTrack, seen: Sequence[Sighting]) -> bool:
        return not known.never and evident(np.array([one.evidence for one in seen], np.float64), self._threshold)

    def _note_pairs(self, tracks: Sequence[Track]) -> None:
        """Note for each seen face the sure faces on or near which it is seen: the detector can take hair for a face."""
        seen = _heads(tracks)
        sure = [one.number for one in tracks if one.number in seen and one.face is not None and one.face.confirmed]
        if sure:
            close = near(np.array(list(seen.values())), np.array([seen[number] for number in sure]))
            for number, row in zip(seen, close, strict=True):
                self._known[number].beside.update(n for n, yes in zip(sure, row, strict=True) if yes and n != number)

    def _on_a_head(self, lost: Track, heads: dict[int, Floats]) -> bool:
        """Whether a lost face's place lies on the head of a seen face beside which it was never seen."""
        beside = self._known[lost.number].beside
        others = [head for n, head in heads.items() if n != lost.number and n not in beside]
        return bool(others) and bool(on_head(np.array(lost.box), np.array(others)).any())

    def _refuted(self, seen: Sequence[Sighting]) -> bool:
        return refuted(np.array([one.evidence for one in seen], dtype=np.float64), self._threshold)

    def _placed(self, track: Track, now: Noted, later: Sequence[Noted], faces: dict[int, Floats]) -> Track | None:
        """A track with its place in this frame; a lost track gets it from its patch, two sightings, or its motion.

        None for a track that was lost for too long, or that left the picture.
        """
        known = self._known[track.number]
        known.held = False
        if track.face is not None:
            known.sighted(LostPlace(now.time, now.steady(faces[track.number])))
            return track
        if not known.path:  # lost before it was known to be a face: its next sighting tells where it was
            early = self._before(known, now, later)
            return None if early is None else _at(track, *early)
        others = [now.steady(box) for number, box in faces.items() if number != track.number]
        found = self._followed(known, now, others)
        after = known.to_come(now.index)
        known.held = found is not None and bool(after)
        if found is not None:
            known.path.append(LostPlace(now.time, found))
            wide = Bounded(slack(found, now.time - known.seen))
            if after:
                bridged = self._bridged(known, now, later, after)
                wide = bounded(union(wide.box, bridged.box), found, bridged.cut)
            elif not self._stays(known, now) or (later and now.time - known.seen > _LET_GO):
                return None
            return _at(track, self._limited(known.sides, wide, now), known.sides)
        known.lost = True
        if after and (self._goes_on(known) or after[0].place.time - known.seen <= _BRIDGED):
            return _at(track, self._limited(known.sides, self._bridged(known, now, later, after), now), known.sides)
        if after or not self._stays(known, now):
            return None
        expected = moved(known.path, now.time)
        hidden = not later and bool(others) and float(iou(expected[None], np.array(others)).max()) > _OTHER
        here = now.here(expected)
        leaves = at_border(corners(here), self._size)  # half a face is hard to see: it need not have turned away
        gone = now.time - known.path[-1].time > (_TURNED_AWAY if later and not leaves else _LET_GO) and not hidden
        if gone or outside(here, self._size):
            return None
        return _at(track, self._limited(known.sides, predicted(known.path, now.time), now), known.sides)

    def _stays(self, known: KnownTrack, now: Noted) -> bool:
        """Whether a face that is not seen again stays protected; for `_CLOSE_BY` it only needs some sure sightings."""
        return self._goes_on(known) or (known.sure >= _SEVERAL and now.time - known.seen <= _CLOSE_BY)

    def _goes_on(self, known: KnownTrack) -> bool:
        """Whether a face that is not seen again was sure enough to stay protected."""
        liked = max(known.best or 0.0, known.liked) >= NO_FACE
        return known.sure >= _SEVERAL and (liked or known.surest >= self._threshold + _SURER)

    def _limited(self, sides: tuple[float, float], wide: Bounded, now: Noted) -> tuple[Box, bool]:
        """A box in this picture, at most as large as the head of a face with these sides, and as a quarter of the
        picture or, if that is larger, the face; and whether a part of it was cut off, here or before."""
        most = _LARGEST * np.array(sides)
        if self._size is not None:
            share = float(most.prod()) / (_QUARTER * self._size[0] * self._size[1])
            most = np.maximum(most / np.sqrt(max(share, 1.0)), sides)
        held = within(wide.box, most, wide.cut)
        return corners(now.here(held.box)), held.cut

    def _bridged(self, known: KnownTrack, now: Noted, later: Sequence[Noted], after: Sequence[Sighting]) -> Bounded:
        """The place of a lost face before it is seen again: by its patch, followed back, or between known places."""
        next_one = after[0]
        if known.again != next_one.index:
            known.again = next_one.index
            known.back = self._backwards((now, *later), next_one.index, [one.place for one in after])
        places = [one.place for one in after]
        if now.time in known.back:
            return Bounded(slack(known.back[now.time], next_one.place.time - now.time))
        nearest = min(known.back, default=None)
        if nearest is not None:  # where the patch was last found is nearer than the sighting
            places = [LostPlace(nearest, known.back[nearest])]
        return between(list(known.path), places, now.time)

    def _backwards(self, waiting: Sequence[Noted], start: int, places: Sequence[LostPlace]) -> dict[float, Floats]:
        """By time: where the patch of the first of these places, seen in the frame `start`, was in waiting frames."""
        frames = [one for one in waiting if one.index <= start]
        frames.reverse()
        found: dict[float, Floats] = {}
        for frame, box in zip(frames[1:], trail(frames, places), strict=False):
            seen = [s.place.box for other in self._known.values() for s in other.sightings if s.index == frame.index]
            if seen and float(iou(box[None], np.array(seen)).max()) > _SLID:
                break  # it slid onto another face
            found[frame.time] = box
        return found

    def _followed(self, known: KnownTrack, now: Noted, others: Sequence[Floats]) -> Floats | None:
        """Where a lost face's patch is now; None where it is not found, or slid onto another face."""
        if known.lost or self._shown is None or self._shown.scene != now.scene:
            return None
        shift = rate_of(known.path) * (now.time - self._shown.time)
        found = followed(self._shown, now, known.path[-1].box, shift)
        if found is not None and others and float(iou(found[None], np.array(others)).max()) > _OTHER:
            return None
        return found

    def _before(
        self, known: KnownTrack, now: Noted, later: Sequence[Noted]
    ) -> tuple[tuple[Box, bool], tuple[float, float]] | None:
        """Where a track was before its first sighting in a shown frame, as `_limited`, and the usual sides of its first
        faces, pixels; None outside the picture, and too long before its patch was found."""
        # Only sightings after this frame count: earlier ones were too faint to be shown.
        after = known.to_come(now.index)
        if not after:
            return None
        places, sides = [one.place for one in after], known.sides_to_come(now.index)
        if known.trail is None or known.trail_of != after[0].index:
            known.trail, known.trail_of = self._backwards((now, *later), after[0].index, places), after[0].index
        sure = known.surest >= CERTAIN or self._goes_on(known)
        if places[0].time - now.time > _FOUND_LATE and not sure:
            return None
        if now.time in known.trail:
            return self._limited(sides, Bounded(slack(known.trail[now.time], places[0].time - now.time)), now), sides
        first = min(known.trail, default=places[0].time)
        if first - now.time > _BEYOND:
            return None
        start = known.trail.get(first, places[0].box)
        box = union(moved(places[::-1], now.time), start)
        wide = bounded(slack(box, places[0].time - now.time, start[2:] - start[:2]), start)
        if outside(now.here(wide.box), self._size):
            return None  # it entered the picture here
        return self._limited(sides, wide, now), sides


def _at(track: Track, place: tuple[Box, bool], sides: tuple[float, float] | None) -> Track:
    """A lost track at its place: a box, and whether it was cut. sides: of its face, pixels."""
    box, cut = place
    return replace(track, box=box, sides=sides, cut=cut)


def _heads(tracks: Sequence[Track]) -> dict[int, Floats]:
    """By track: box of the face from hairline to chin, (4,), for the tracks whose face has one."""
    seen = {one.number: one.face.outline for one in tracks if one.face is not None}
    return {number: np.array(box) for number, box in seen.items() if box is not None}
