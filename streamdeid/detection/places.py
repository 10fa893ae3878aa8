"""Places where faces may be: what the detector remembers of each place from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamdeid.core.arrays import Box, Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import AS_LARGE, NO_FACE, Keypoints
from streamdeid.detection.candidates import Candidate, middle_in
from streamdeid.detection.five_points import apart, as_detected, moved_along
from streamdeid.detection.landmarks import fills, outline_of
from streamdeid.detection.quarter_turns import turn_of
from streamdeid.detection.region import LandmarkRegion
from streamdeid.detection.tiles import Tile, still_in
from streamdeid.detection.upright_view import upright_turn

WAITED_FOR = 8
"""Frames for which a lost face is looked for in each frame; after that, only when its tile's turn comes."""
_SEARCHED = (1, 2, 5, 8)
"""Frames since a lost face was last seen, at which the second network searches for it. It finds 1 of 2 (crowds) to 9 of
10 at the first try, 1 of 8 at the second and 1 of 20 at each later one."""
_REFUSED, _RETRIED = 3, 4
"""Landmarks are asked for at so many first sightings in a row if none are found, later at every so many. Of the first
three calls 1 of 4 finds landmarks, of later ones 1 of 20."""
_LOOKS = 4
"""Second looks after which a place is known well enough to be looked at seldom ..."""
_OFTEN, _SELDOM = 3, 12
"""... and the frames between two looks, before and after that; sooner when the score has risen by `_RISEN`."""
_TRIED = (1, 4)
"""Looks of the third network after which a head that it denies is looked at in all turns."""
_RISEN = 0.15
_SOON = 2
"""Frames between the first close looks, so that a place seen for only a few frames is looked at closely, too."""
_UNLIKELY = 0.3
"""Evidence below which a place is taken for no face, not reported, and not searched for in each frame."""
_DOUBTFUL, _DOUBTFUL_PAUSE = 0.45, 4
"""Evidence below which a place, once well known, is searched only after this many frames: it is hardly ever a face."""
_LIKELY = 0.4
"""Evidence from which landmarks are asked for."""
_SETTLED = 0.6
"""Evidence from which a face with landmarks is not looked at again."""
_UNCHECKED = 10
"""Frames after which the detector checks a face that is followed by its landmarks: they can slide onto a wall ..."""
_DOUBTED = 16
"""... and how often it may see no face there before they are no longer followed."""
_AGED, _TOLD = 3, 8
"""Frames after which points are asked for anew if no mesh is trusted, and for which they are used."""
_POINTS = 0.5
"""Score from which points, and the box about them, are believed: the bar of the second network's own library."""
_TRUSTED = 0.8
"""Presence from which a mesh is trusted: by itself if it lies in the middle of its box, otherwise if points agree."""
_APART, _VERIFIED = 0.16, 12
"""Mean distance of five points of a mesh from those of the place, shares of the face's width, up to which both are
of one face (docs/methods.md 8.2), and frames for which that is believed."""
_THIRD = 0.5
"""Weight of the third network's opinion; the evidence of the two other networks has the rest."""
_TWICE, _BELIEVED = 2, 0.5
"""Number of the third network's opinions that can lower the belief in a place; belief below which they refute it."""
_OPINED = (0.4, 1.15, 1.8), (0.0, 0.5, 1.0)
"""The third network's opinions, over its bar, and their values as evidence, 0 to 1: sure of no face, undecided, sure of
a face. Of the faces of 14 clips three of four are above the last, of places without a face nine of ten below 1."""


@dataclass
class Place:
    """One place where a face is, or may be."""

    box: Box
    """Last box, pixels: corrected by a trusted mesh, or by points where another network saw any."""
    score: float
    tile: int
    """Number of the tile that sees it best."""
    turn: int = 0
    """Quarter turns anticlockwise after which the head stands upright (`quarter_turns`)."""
    lies: int = 0
    """The turn in which all networks saw a head that lies here (`lying_heads`); 0 where no head lies."""
    evidence: float = 0.0
    """How sure it is that this is a face, 0 to 1: mean over the last `_LOOKS` looks (`second_look`)."""
    least: float = _UNLIKELY
    """Evidence below which the place is not reported, if this is lower than `_UNLIKELY`."""
    roll: float = 0.0
    """The roll of the head by the detector's points or the mesh, whichever told it last, radians (`roll_of`)."""
    tilted: bool = False
    """Whether all networks saw a tilted head here, when it was straightened."""
    mesh: tuple[Points, float] | None = None
    """This frame's mesh (478, 3) and its presence; None where the landmark model saw none."""
    outline: Points | None = None
    """Corners (2, 2) of the box of that mesh's landmarks."""
    second: bool = False
    """Whether the place is a second sighting of the head of another face that is seen (`core.heads`)."""
    region: LandmarkRegion | None = None
    """Where the landmark model looks for the face in the next frame; None while there are no landmarks."""
    missed: int = 0
    """Frames since something was seen here."""
    raw: Box = (0.0, 0.0, 0.0, 0.0)
    """Last box as the detector gave it."""
    surveyed: float | None = None
    """The third network's highest opinion of the place in this frame."""
    _opinion: float | None = None
    """Mean of the third network's last `_LOOKS` opinions ..."""
    _opinions: int = 0
    """... and the number of all its opinions."""
    _asked: int = 0
    """Number of close looks; below, the frames since the last one."""
    _since_asked: int = 0
    _keypoints: Keypoints | None = None
    _key_raw: Box = (0.0, 0.0, 0.0, 0.0)
    _key_outline: Points | None = None
    _key_tile: int = -1
    _key_age: int = 0
    _verified: int = -1
    """Frames since the points last agreed with the mesh; below 0 if they do not agree."""
    _far: bool = False
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
    def upright(self) -> float:
        """Quarter turns anticlockwise, with a fraction, after which the head is shown to the other networks."""
        return upright_turn(self.roll, self.turn) if self.tilted else self.turn

    @property
    def keypoints(self) -> Keypoints | None:
        """The face that another network saw here lately, moved with the place; None where it saw no face."""
        if self._keypoints is None or self._key_age > _TOLD or self._keypoints.score < _POINTS:
            return None
        outlines = self._key_outline, self.outline
        return moved_along(self._keypoints, (self._key_raw, self.raw), outlines, self._key_tile == self.tile)

    @property
    def believed(self) -> float:
        """Belief in a face here, 0 to 1: the evidence together with the third network's opinions."""
        if self._opinion is None:
            return self.evidence
        both = (1 - _THIRD) * self.evidence + _THIRD * float(np.interp(self._opinion, *_OPINED))
        return both if self._opinions >= _TWICE else max(self.evidence, both)  # one opinion alone lowers nothing

    @property
    def possible(self) -> bool:
        """Whether this may be a face: only such places are reported."""
        return max(self.evidence, self.believed) >= min(_UNLIKELY, self.least)

    @property
    def wanted(self) -> bool:
        """Whether the detector has to look here in the next frame."""
        if self.region is not None:
            return self._far or self._unseen >= _UNCHECKED
        if self.second or self.refuted:
            return False
        if self.missed > WAITED_FOR:
            return False
        doubted = self._looks >= _LOOKS and self.evidence < _DOUBTFUL
        return self.possible and (not doubted or self.missed >= _DOUBTFUL_PAUSE)

    @property
    def refuted(self) -> bool:
        """Whether the third network saw no face here and the belief is low: such a place is looked at seldom."""
        return self._opinion is not None and self._opinion < NO_FACE and self.believed < _BELIEVED

    def landmarks_due(self) -> bool:
        """Whether landmarks are to be asked for at this sighting of a place without any; counts the sighting."""
        if self.refuted or self.believed < min(_LIKELY, self.least):
            return False
        self._without += 1
        return self._without <= _REFUSED or self._without % _RETRIED == 0

    def meshed(self, mesh: Points, presence: float, region: LandmarkRegion) -> None:
        """Note what the landmark model sees here: a mesh (478, 3), and where to look in the next frame."""
        self.mesh, self.region, self._without, self.outline = (mesh, presence), region, 0, outline_of(mesh)
        self.turn, self.roll = turn_of(region.angle), region.angle

    def next_frame(self, far: bool = False) -> None:
        """Start a new frame. far: so long after the last one that landmarks may have slid (`far_steps`)."""
        self._far = far
        if not self._key_age:  # of a neighbour's mesh the points just found are not moved with
            outline, found = self.outline, self._keypoints
            own = outline is not None and found is not None and middle_in(found.box, outline)
            self._key_outline = outline if own else None
        self.mesh = self.surveyed = self.outline = None
        self.missed += 1
        self._unseen += 1
        self._key_age += 1
        self._verified += self._verified >= 0
        self._since_look += 1
        self._since_asked += 1

    def sighted(self, candidate: Candidate) -> None:
        """Note that the detector saw the place in this frame."""
        if self.region is None and self.missed > WAITED_FOR:
            self._looks = self._without = self.lies = 0  # perhaps something else is here now
            self.tilted = False
            self._keypoints, self._opinion, self._opinions, self._asked = None, None, 0, 0
        self.score, self.tile, self.missed, self._doubts = candidate.score, candidate.tile, 0, 0
        self.raw, self._unseen, self.roll = candidate.box, 0, candidate.roll
        self._correct()

    @property
    def lost(self) -> bool:
        """Whether the other networks are to search for a likely face that was seen here a few frames ago."""
        return self.region is None and self.missed in _SEARCHED and self.evidence >= min(_DOUBTFUL, self.least)

    def followed(self, found: Keypoints) -> None:
        """Note that another network alone sees the face here; the evidence stays as the looks gave it."""
        self.raw, self.missed = as_detected(found.box), 0
        self.keyed(found)

    def keyed(self, found: Keypoints | None) -> None:
        """Note the face that the second or third network sees here now; None if there is none."""
        self._keypoints, self._key_raw, self._key_tile, self._key_age = found, self.raw, self.tile, 0
        self._key_outline = None
        self._verify()
        self._correct()

    def _verify(self) -> None:
        """Compare the points of this frame with its mesh."""
        found = self._keypoints
        if found is not None and found.score >= _POINTS and self.mesh is not None:
            agree = apart(self.mesh[0], found) <= _APART and found.side_of(self.mesh[0]) >= AS_LARGE
            self._verified = 0 if agree else -1

    @property
    def trusted(self) -> bool:
        """Whether this frame's mesh has a high presence and lies at the points, or else in the detector's box."""
        if self.mesh is None or self.outline is None or self.mesh[1] < _TRUSTED:
            return False
        lies = fills(self.outline, self.raw)
        if 0 <= self._verified <= (0 if self._far and not lies else _VERIFIED):  # they may have slid since
            return True
        told = self._key_age <= _TOLD and self._keypoints is not None and self._keypoints.score >= _POINTS
        return lies and not told

    @property
    def slid(self) -> bool:
        """Whether landmarks that were followed over a far step now lie beside what the detector sees here."""
        return self._far and self.mesh is not None and not self.trusted

    @property
    def doubtful(self) -> bool:
        """Whether a face may be here that no trusted mesh confirms, and that the third network has not denied."""
        if self.missed > WAITED_FOR or self.trusted or not self.possible or self.second:
            return False
        return self._opinion is None or self._opinion >= 1

    @property
    def face(self) -> Box | None:
        """The face's box from hairline to chin, by a trusted mesh or else by points; None where neither shows it."""
        if self.trusted and self.outline is not None:
            (x0, y0), (x1, y1) = self.outline.tolist()
            return x0, y0, x1, y1
        found = self.keypoints
        return None if found is None else found.box

    def keys_due(self) -> bool:
        """Whether other networks are to be asked for points, which show where the face is without a trusted mesh."""
        if self.trusted or self.second or self.refuted:
            return False  # a mesh that the points verified is no longer trusted after `_VERIFIED` frames
        aged = self._key_age >= (1 if self._far else _AGED) or self._key_tile != self.tile
        return aged and self.believed >= min(_UNLIKELY, self.least)

    def opined(self, opinion: float | None) -> None:
        """Note the third network's opinion of the place: 1 and more for a face; None where it cannot tell."""
        if opinion is not None:
            self.surveyed = opinion if self.surveyed is None else max(opinion, self.surveyed)
            self._opinions += 1
            last = opinion if self._opinion is None else self._opinion
            self._opinion = last + (opinion - last) / min(self._opinions, _LOOKS)

    @property
    def surely_seen(self) -> bool:
        """Whether the third network is sure of a face here: then its points are better than the second's."""
        return self._opinion is not None and self._opinion >= NO_FACE and self.believed >= _BELIEVED

    @property
    def opinions(self) -> int:
        """Number of the third network's opinions of what is here now; it restarts when that may have changed."""
        return self._opinions

    def close_look_due(self) -> bool:
        """Whether the third network is to look closely at this sighting: it has done so seldom yet, or the belief is
        still low."""
        if self.missed or self.second or self.evidence < min(_UNLIKELY, self.least):
            return False
        if self._asked < _LOOKS:
            return not self._asked or self._since_asked >= _SOON
        return self.believed < _SETTLED and self._since_asked >= _SELDOM

    def looked_closely(self, opinion: float | None) -> None:
        """Note the opinion of a close look: 1 and more for a face; None where it cannot tell."""
        self._asked, self._since_asked = self._asked + 1, 0
        self.opined(opinion)

    def found_by_survey(self, found: Keypoints) -> None:
        """Note a face that a survey sees here, unless points are known."""
        if self.keypoints is None:
            if self.missed:
                self.raw, self.missed = as_detected(found.box), 0
            self.keyed(found)

    def _correct(self) -> None:
        """Set the box by a trusted mesh or the last points, which keep their position in the detector's box; without
        both, it is the detector's box."""
        face = self.face
        if face is None:
            self.box = self.raw
            return
        x0, y0, x1, y1 = as_detected(face)
        if not self.trusted:  # points can lie beside the face, but the middle of the detector's box is on it
            half, x, y = (x1 - x0) / 2, (self.raw[0] + self.raw[2]) / 2, (self.raw[1] + self.raw[3]) / 2
            x0, y0, x1, y1 = min(x0, x - half), min(y0, y - half), max(x1, x + half), max(y1, y + half)
        self.box = x0, y0, x1, y1

    def turns_due(self) -> bool:
        """Whether the last look leaves a doubt, so that the head is to be tried in other turns."""
        if self._opinion is None:
            return self._looks == 1 and not self._since_look and not self._asked and self.evidence < _SETTLED
        denied = self._opinion < 1 and self.evidence >= self.least
        return denied and self._asked in _TRIED and not self._since_asked

    def turned(self, found: Keypoints, turn: float, tile: int) -> None:
        """Note that the second and the third network see a face here after `turn` quarter turns anticlockwise."""
        self.turn = self.lies = round(turn) % 4
        self.roll, self.tilted = turn * math.pi / 2, turn != round(turn)
        self.tile, self.missed, self.mesh, self.outline, self.region = tile, 0, None, None, None
        self.raw, self.evidence, self._looks = as_detected(found.box), (self.score + found.score) / 2, 1
        self._opinion, self._opinions, self._asked = None, 0, 0
        self.keyed(found)

    def look_due(self) -> bool:
        """Whether a second look at this sighting is due."""
        if self.region is not None and self.evidence >= _SETTLED:
            return False
        pause = _OFTEN if self._looks < _LOOKS and not self.refuted else _SELDOM
        return self._looks == 0 or self._since_look >= pause or self.score > self._score_then + _RISEN

    def looked(self, seen: float) -> None:
        """Note the evidence of this sighting, after a second look."""
        # A person who turns to the camera is judged anew; looks are frequent again, so one lucky look soon counts less.
        if seen > self.evidence + _RISEN:
            self._looks = self._without = 0
            self._opinions, self._asked = min(self._opinions, 1), 0
        self._looks += 1
        self.evidence += (seen - self.evidence) / min(self._looks, _LOOKS)
        self._since_look, self._score_then = 0, self.score

    def surely(self, seen: float) -> None:
        """Note a survey that found a face where the detector sees none now: one look, if it is for a face."""
        if seen > self.evidence:
            self._looks += 1
            self.evidence += (seen - self.evidence) / min(self._looks, _LOOKS)

    def anchored(self, outline: Points) -> None:
        """Note where the detector's box lies relative to the box of the landmarks, float64 (2, 2) corners."""
        corners = np.reshape(self.raw, (2, 2))
        self._offset = (corners - outline) / np.maximum(outline[1] - outline[0], 1.0)

    def based_on(self, box: Box) -> None:
        """Take another box as the detector's box of this place."""
        self.raw = box
        if self.outline is not None:
            self.anchored(self.outline)
            if not self._key_age:  # for a new person the points came before the mesh
                self._verify()
        self._correct()

    def moved(self, outline: Points) -> None:
        """Move the detector's box with the landmarks' box of this frame, to its place relative to that (`anchored`)."""
        corners = outline + self._offset * (outline[1] - outline[0])
        (x0, y0), (x1, y1) = corners
        self.raw, self.missed = (float(x0), float(y0), float(x1), float(y1)), 0
        self._correct()

    def carried(self, camera: CameraMotion, tiles: Sequence[Tile]) -> None:
        """Move the place as the camera moved, perhaps to another tile. Points move with the place's box, as they always
        do."""
        self.raw, self.box, self.roll = camera.box(self.raw), camera.box(self.box), self.roll + camera.angle
        self.tile = still_in(tiles, self.tile, self.raw, self.turn)
        if self.region is not None:
            self.region = self.region.moved(camera)

    def confirmed(self) -> None:
        """Note that the landmark model or the second network is sure that the landmarks are still on a face."""
        self._doubts = self._unseen = 0

    def doubted(self) -> bool:
        """Note that the detector looked and saw no face; True when this happened too often to follow the landmarks."""
        self._doubts += not self._far or self._unseen >= _UNCHECKED  # over a far step it looks where landmarks slid
        return self._doubts >= _DOUBTED
