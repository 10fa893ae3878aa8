"""Where faces may be: what the detector remembers of a place from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamdeid.core.arrays import Box, Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import NO_FACE, Keypoints
from streamdeid.detection.candidates import Candidate, middle_in
from streamdeid.detection.five_points import apart, as_detected, moved_points
from streamdeid.detection.landmarks import outline_of
from streamdeid.detection.quarter_turns import turn_of
from streamdeid.detection.region import LandmarkRegion
from streamdeid.detection.tiles import Tile, still_in

WAITED_FOR = 8
"""Frames for which a face that was lost is looked for in each frame; after that, when its tile's turn comes."""
_SEARCHED = (1, 2, 5, 8)
"""Frames after it was last seen in which the second network searches for a lost face. It finds 1 of 2 (crowds) to 9 of
10 at the first try, 1 of 8 at the second and 1 of 20 at each later one."""
_REFUSED, _RETRIED = 3, 4
"""Sightings in a row in which the landmark model may see no face, and those after which it is asked again from then on:
of the first three calls 1 of 4 tells anything, of later ones 1 of 20."""
_LOOKS = 4
"""Second looks after which a place is known well enough to be looked at seldom ..."""
_OFTEN, _SELDOM = 3, 12
"""... and the frames between two looks, before and after that; sooner when the score has risen by this much."""
_TRIED = (1, 4)
"""Looks of the third network after which a head that it denies is looked at in all turns."""
_RISEN = 0.15
_SOON = 2
"""Frames between the first close looks: what is seen for a few frames only is to be known, too."""
_UNLIKELY = 0.3
"""Evidence below which a place is taken for no face, told to nobody, and not searched for in each frame."""
_DOUBTFUL, _DOUBTFUL_PAUSE = 0.45, 4
"""Below this evidence such a place is searched in every so many frames only: it is hardly ever a face."""
_LIKELY = 0.4
"""Evidence from which landmarks are asked for."""
_SETTLED = 0.6
"""Evidence from which a face with landmarks is not looked at again."""
_UNCHECKED = 10
"""Frames after which the detector is asked about a face that its landmarks follow: they can slide onto a wall ..."""
_DOUBTED = 16
"""... and times it may see none there before they are no longer followed."""
_AGED, _TOLD = 3, 8
"""Frames after which points are asked for anew where the mesh is not believed, and for which they are told."""
_POINTS = 0.5
"""Score from which the second network's points, and the box about them, are believed: the library's own bar."""
_TRUSTED = 0.8
"""Presence from which a mesh that lies in the middle of its box needs no points beside it."""
_BESIDE, _LEAST_SHARE = 0.2, 0.7
"""How far the middle of a mesh may then lie from that of the box, shares of its own extent, and the share of the box's
sides that it has at least. Meshes in boxes of 1.9 times the face are right, too: those the points tell."""
_APART, _VERIFIED = 0.16, 12
"""Mean distance of five points of a mesh from the second network's, shares of the face's width, up to which both are
of one face (docs/methods.md 8.2), and frames for which that is believed."""
_GROWN = 1.5
"""How much larger or smaller a mesh may have become for points to go along with it: one that collapses is no face's."""
_THIRD = 0.5
"""Weight of what the third network says beside the two others."""
_TWICE, _BELIEVED = 2, 0.5
"""Opinions of the third network from which they count against what the two others say, and belief below which a place
is refuted by them."""
_OPINED = (0.4, 1.15, 1.8), (0.0, 0.5, 1.0)
"""The third network's opinions, over its bar, and what they count as, 0 to 1: sure of no face, undecided, and sure of
one. Of the faces of 14 clips three of four are above the last, of places without a face nine of ten below 1."""


@dataclass
class Place:
    """One place where a face is, or may be."""

    box: Box
    """Last box, pixels: as the second network's points correct it, where it saw any."""
    score: float
    tile: int
    """Number of the tile that sees it best."""
    turn: int = 0
    """Quarter turns against the clock after which the head stands upright (`quarter_turns`)."""
    lies: int = 0
    """The same as all networks saw a head that lies here (`lying_heads`); 0 where none does."""
    evidence: float = 0.0
    """How sure it is that this is a face, 0 to 1: mean over the last `_LOOKS` looks (`second_look`)."""
    least: float = _UNLIKELY
    """Evidence below which it is told to nobody, if that is lower than usual."""
    mesh: tuple[Points, float] | None = None
    """This frame's mesh (478, 3) and its presence; None where the landmark model saw none."""
    outline: Points | None = None
    """Corners (2, 2) of the box of that mesh's landmarks."""
    second: bool = False
    """Whether it lies on the head of a face that is seen, with no points of its own (`heads`)."""
    region: LandmarkRegion | None = None
    """Where the landmark model finds the face in the next frame; None while there are no landmarks."""
    missed: int = 0
    """Frames since something was seen here."""
    raw: Box = (0.0, 0.0, 0.0, 0.0)
    """Last box as the detector gave it."""
    surveyed: float | None = None
    """The most that the third network said of the place in this frame."""
    _opinion: float | None = None
    """Mean of the last `_LOOKS` things that it said ..."""
    _opinions: int = 0
    """... and how many it said in all."""
    _asked: int = 0
    """Close looks, and the frames since the last one."""
    _since_asked: int = 0
    _keypoints: Keypoints | None = None
    _key_raw: Box = (0.0, 0.0, 0.0, 0.0)
    _key_outline: Points | None = None
    _key_tile: int = -1
    _key_age: int = 0
    _verified: int = -1
    """Frames since the points last agreed with the mesh; below 0: they do not."""
    _unseen: int = 0
    _looks: int = 0
    _since_look: int = 0
    _score_then: float = 0.0
    _doubts: int = 0
    _without: int = 0
    _offset: Points = field(default_factory=lambda: np.zeros((2, 2)))

    def __post_init__(self) -> None:
        self.raw = self.box

    @property
    def keypoints(self) -> Keypoints | None:
        """What the second network saw here lately, moved along with the place; None where it saw no face."""
        if self._keypoints is None or self._key_age > _TOLD or self._keypoints.score < _POINTS:
            return None
        return self._moved_keypoints(self._keypoints)

    @property
    def believed(self) -> float:
        """The evidence, with what the third network says."""
        if self._opinion is None:
            return self.evidence
        both = (1 - _THIRD) * self.evidence + _THIRD * float(np.interp(self._opinion, *_OPINED))
        return both if self._opinions >= _TWICE else max(self.evidence, both)  # one alone takes nothing away

    @property
    def possible(self) -> bool:
        """Whether it may be a face: only such places are told to anybody."""
        return max(self.evidence, self.believed) >= min(_UNLIKELY, self.least)

    @property
    def wanted(self) -> bool:
        """Whether the detector has to look here in the next frame."""
        if self.region is not None:
            return self._unseen >= _UNCHECKED
        if self.second or self.refuted:
            return False
        if self.missed > WAITED_FOR:
            return False
        doubted = self._looks >= _LOOKS and self.evidence < _DOUBTFUL
        return self.possible and (not doubted or self.missed >= _DOUBTFUL_PAUSE)

    @property
    def refuted(self) -> bool:
        """Whether the third network saw no face here, and the others are not sure of one: it is looked at seldom."""
        return self._opinion is not None and self._opinion < NO_FACE and self.believed < _BELIEVED

    def landmarks_due(self) -> bool:
        """Whether this sighting of a place without landmarks is worth asking for them."""
        if self.refuted or self.believed < min(_LIKELY, self.least):
            return False
        self._without += 1
        return self._without <= _REFUSED or self._without % _RETRIED == 0

    def meshed(self, mesh: Points, presence: float, region: LandmarkRegion) -> None:
        """The landmark model sees it: a mesh (478, 3), and where to look in the next frame."""
        self.mesh, self.region, self._without, self.outline = (mesh, presence), region, 0, outline_of(mesh)
        self.turn = turn_of(region.angle)

    def next_frame(self) -> None:
        """A frame has passed."""
        if not self._key_age:
            self._key_outline = self._outline_of_points()
        self.mesh = self.surveyed = self.outline = None
        self.missed += 1
        self._unseen += 1
        self._key_age += 1
        self._verified += self._verified >= 0
        self._since_look += 1
        self._since_asked += 1

    def sighted(self, candidate: Candidate) -> None:
        """The detector saw it in this frame."""
        if self.region is None and self.missed > WAITED_FOR:
            self._looks = self._without = self.lies = 0  # perhaps something else
            self._keypoints, self._opinion, self._opinions, self._asked = None, None, 0, 0
        self.score, self.tile, self.missed, self._doubts = candidate.score, candidate.tile, 0, 0
        self.raw, self._unseen = candidate.box, 0
        self._correct()

    @property
    def lost(self) -> bool:
        """Whether what was here a few frames ago, and likely is a face, is to be searched for by the second network."""
        return self.region is None and self.missed in _SEARCHED and self.evidence >= min(_DOUBTFUL, self.least)

    def followed(self, found: Keypoints) -> None:
        """The second network alone sees it here: what that says of the evidence is known from its looks."""
        self.raw, self.missed = as_detected(found.box), 0
        self.keyed(found)

    def keyed(self, found: Keypoints | None) -> None:
        """Note what the second network sees here now."""
        self._keypoints, self._key_raw, self._key_tile, self._key_age = found, self.raw, self.tile, 0
        self._key_outline = None
        self._verify()
        self._correct()

    def _verify(self) -> None:
        """Compare the points of this frame with its mesh."""
        found = self._keypoints
        if found is not None and found.score >= _POINTS and self.mesh is not None:
            self._verified = 0 if apart(self.mesh[0], found) <= _APART else -1

    @property
    def trusted(self) -> bool:
        """Whether this frame's mesh is sure of itself and lies where the points say, or else the detector's box."""
        if self.mesh is None or self.outline is None or self.mesh[1] < _TRUSTED:
            return False
        if 0 <= self._verified <= _VERIFIED:
            return True
        if self._key_age <= _TOLD and self._keypoints is not None and self._keypoints.score >= _POINTS:
            return False
        low, high = np.array(self.raw[:2]), np.array(self.raw[2:])
        extent = np.maximum(self.outline[1] - self.outline[0], 1.0)
        beside = np.abs(self.outline.sum(axis=0) - low - high) / 2 / extent
        return bool(beside.max() < _BESIDE and (extent / np.maximum(high - low, 1.0)).min() > _LEAST_SHARE)

    @property
    def doubtful(self) -> bool:
        """Whether something may be here of which no mesh, and no survey yet, says what it is."""
        if self.missed > WAITED_FOR or self.trusted or not self.possible or self.second:
            return False
        return self._opinion is None or self._opinion >= 1

    @property
    def face(self) -> Box | None:
        """The face from hairline to chin, by a mesh that is trusted or by points; None where neither shows it."""
        if self.trusted and self.outline is not None:
            (x0, y0), (x1, y1) = self.outline.tolist()
            return x0, y0, x1, y1
        found = self.keypoints
        return None if found is None else found.box

    def keys_due(self) -> bool:
        """Whether points are to be asked for, which show where the face is when no mesh tells."""
        if self.trusted or self.second or self.refuted:
            return False  # asked again when what was verified has aged
        return self.believed >= min(_UNLIKELY, self.least) and (self._key_age >= _AGED or self._key_tile != self.tile)

    def opined(self, opinion: float | None) -> None:
        """Note what the third network says of the place: 1 and more for a face; None where it cannot tell."""
        if opinion is not None:
            self.surveyed = opinion if self.surveyed is None else max(opinion, self.surveyed)
            self._opinions += 1
            last = opinion if self._opinion is None else self._opinion
            self._opinion = last + (opinion - last) / min(self._opinions, _LOOKS)

    @property
    def opinions(self) -> int:
        """How often the third network said something of it since it is what it is."""
        return self._opinions

    def close_look_due(self) -> bool:
        """Whether the third network's word on this sighting is worth asking for: it has said little yet, or not all
        are sure."""
        if self.missed or self.second or self.evidence < min(_UNLIKELY, self.least):
            return False
        if self._asked < _LOOKS:
            return not self._asked or self._since_asked >= _SOON
        return self.believed < _SETTLED and self._since_asked >= _SELDOM

    def looked_closely(self, opinion: float | None) -> None:
        """Note what a close look said: 1 and more for a face; None where it cannot tell."""
        self._asked, self._since_asked = self._asked + 1, 0
        self.opined(opinion)

    def found_by_survey(self, found: Keypoints) -> None:
        """A survey sees a face here."""
        if self.keypoints is None:
            if self.missed:
                self.raw, self.missed = as_detected(found.box), 0
            self.keyed(found)

    def _correct(self) -> None:
        """The box, by a mesh that is trusted, or by the last points: as they lay in the detector's box, they lie
        now."""
        face = self.face
        if face is None:
            self.box = self.raw
            return
        x0, y0, x1, y1 = as_detected(face)
        if not self.trusted:  # points can lie beside the face: the middle of the detector's box is on it
            half, x, y = (x1 - x0) / 2, (self.raw[0] + self.raw[2]) / 2, (self.raw[1] + self.raw[3]) / 2
            x0, y0, x1, y1 = min(x0, x - half), min(y0, y - half), max(x1, x + half), max(y1, y + half)
        self.box = x0, y0, x1, y1

    def _outline_of_points(self) -> Points | None:
        """The box of this frame's mesh, if the points that were just found are in it: of a neighbour's they are not."""
        if self.outline is None or self._keypoints is None:
            return None
        return self.outline if middle_in(self._keypoints.box, self.outline) else None

    def _moved_keypoints(self, found: Keypoints) -> Keypoints:
        """Points moved and scaled as the mesh was since they were found, or the detector's box where no mesh goes
        along: that may be twice as large for one face in the next frame, and the points were, too."""
        if self._key_outline is not None and self.outline is not None:
            scale = _growth(self._key_outline, self.outline)
            moved = moved_points(found, self._key_outline, self.outline, scale)
            (x0, y0), (x1, y1) = np.reshape(self.raw, (2, 2))
            x, y = np.reshape(moved.box, (2, 2)).mean(axis=0)
            if 1 / _GROWN < scale < _GROWN and x0 <= x <= x1 and y0 <= y <= y1:
                return moved
        if self.raw == self._key_raw:
            return found
        before, now = np.reshape(self._key_raw, (2, 2)), np.reshape(self.raw, (2, 2))
        # Boxes of two tiles differ in size for one face.
        return moved_points(found, before, now, _growth(before, now) if self._key_tile == self.tile else 1.0)

    def turns_due(self) -> bool:
        """Whether the look that was just taken leaves a doubt, and the head is to be tried in other turns."""
        if self._opinion is None:
            return self._looks == 1 and not self._since_look and not self._asked and self.evidence < _SETTLED
        denied = self._opinion < 1 and self.evidence >= self.least
        return denied and self._asked in _TRIED and not self._since_asked

    def turned(self, found: Keypoints, turn: int, tile: int) -> None:
        """The second network sees a face here, and the third does, after so many quarter turns."""
        self.turn, self.tile, self.missed, self.mesh, self.outline, self.region = turn, tile, 0, None, None, None
        self.lies = turn
        self.raw, self.evidence, self._looks = as_detected(found.box), (self.score + found.score) / 2, 1
        self._opinion, self._opinions, self._asked = None, 0, 0
        self.keyed(found)

    def look_due(self) -> bool:
        """Whether this sighting deserves a second look."""
        if self.region is not None and self.evidence >= _SETTLED:
            return False
        pause = _OFTEN if self._looks < _LOOKS and not self.refuted else _SELDOM
        return self._looks == 0 or self._since_look >= pause or self.score > self._score_then + _RISEN

    def looked(self, seen: float) -> None:
        """Note the evidence of this sighting, after a second look."""
        # Who turns to the camera is judged by that; a lucky look is soon outvoted, since looks are frequent again.
        if seen > self.evidence + _RISEN:
            self._looks = self._without = 0
            self._opinions, self._asked = min(self._opinions, 1), 0
        self._looks += 1
        self.evidence += (seen - self.evidence) / min(self._looks, _LOOKS)
        self._since_look, self._score_then = 0, self.score

    def anchored(self, outline: Points) -> None:
        """Note where the detector's box lies about the landmarks' own, float64 (2, 2) corners."""
        corners = np.reshape(self.raw, (2, 2))
        self._offset = (corners - outline) / np.maximum(outline[1] - outline[0], 1.0)

    def based_on(self, box: Box) -> None:
        """The detector sees it by another box."""
        self.raw = box
        if self.outline is not None:
            self.anchored(self.outline)
            if not self._key_age:  # the points of somebody new were there before the mesh
                self._verify()
        self._correct()

    def moved(self, outline: Points) -> None:
        """The landmarks' box is here in this frame: the detector's would lie about it as it did when it was seen."""
        corners = outline + self._offset * (outline[1] - outline[0])
        (x0, y0), (x1, y1) = corners
        self.raw, self.missed = (float(x0), float(y0), float(x1), float(y1)), 0
        self._correct()

    def carried(self, camera: CameraMotion, tiles: Sequence[Tile]) -> None:
        """The camera moved: in the next frame the place lies elsewhere, perhaps in another tile. Points go along with
        its box, as ever."""
        self.raw, self.box = camera.box(self.raw), camera.box(self.box)
        self.tile = still_in(tiles, self.tile, self.raw, self.turn)
        if self.region is not None:
            self.region = self.region.moved(camera)

    def confirmed(self) -> None:
        """Somebody else than the detector is sure that the landmarks are still on a face."""
        self._doubts = self._unseen = 0

    def doubted(self) -> bool:
        """The detector looked and saw no face. True when that happened too often to follow the landmarks further."""
        self._doubts += 1
        return self._doubts >= _DOUBTED


def _growth(before: Points, now: Points) -> float:
    """Longer side of a box over that of one before, corners (2, 2) each."""
    return float((now[1] - now[0]).max() / max((before[1] - before[0]).max(), 1e-6))
