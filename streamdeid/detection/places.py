"""Where faces may be: what the detector remembers of a place from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from streamdeid.core.faces import Points
from streamdeid.detection.candidates import Candidate, overlap
from streamdeid.detection.region import Region

Box = tuple[float, float, float, float]

_SAME_PLACE = 0.25
"""IoU from which a candidate is what was here in the last frames."""
_FORGOTTEN = 50
"""Frames after which a place where nothing is seen any more is forgotten."""
_WAITED_FOR = 8
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
_RISEN = 0.15
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


@dataclass
class Place:
    """One place where a face is, or may be."""

    box: Box
    """Last box, pixels."""
    score: float
    tile: int
    """Number of the tile that sees it best."""
    evidence: float = 0.0
    """How sure it is that this is a face, 0 to 1: mean over the last `_LOOKS` looks (`second_look`)."""
    least: float = _UNLIKELY
    """Evidence below which it is told to nobody, if that is lower than usual."""
    mesh: tuple[Points, float] | None = None
    """This frame's mesh (478, 3) and its presence; None where the landmark model saw none."""
    region: Region | None = None
    """Where the landmark model finds the face in the next frame; None while there are no landmarks."""
    missed: int = 0
    """Frames since something was seen here."""
    _unseen: int = 0
    _looks: int = 0
    _since_look: int = 0
    _score_then: float = 0.0
    _doubts: int = 0
    _without: int = 0
    _offset: Points = field(default_factory=lambda: np.zeros((2, 2)))

    @property
    def possible(self) -> bool:
        """Whether it may be a face: only such places are told to anybody."""
        return self.evidence >= min(_UNLIKELY, self.least)

    @property
    def wanted(self) -> bool:
        """Whether the detector has to look here in the next frame."""
        if self.region is not None:
            return self._unseen >= _UNCHECKED
        if self.missed > _WAITED_FOR:
            return False
        doubted = self._looks >= _LOOKS and self.evidence < _DOUBTFUL
        return self.possible and (not doubted or self.missed >= _DOUBTFUL_PAUSE)

    def landmarks_due(self) -> bool:
        """Whether this sighting of a place without landmarks is worth asking for them."""
        if self.evidence < min(_LIKELY, self.least):
            return False
        self._without += 1
        return self._without <= _REFUSED or self._without % _RETRIED == 0

    def meshed(self, mesh: Points, presence: float, region: Region) -> None:
        """The landmark model sees it: a mesh (478, 3), and where to look in the next frame."""
        self.mesh, self.region, self._without = (mesh, presence), region, 0

    def next_frame(self) -> None:
        """A frame has passed."""
        self.mesh = None
        self.missed += 1
        self._unseen += 1
        self._since_look += 1

    def sighted(self, candidate: Candidate) -> None:
        """The detector saw it in this frame."""
        if self.region is None and self.missed > _WAITED_FOR:
            self._looks = self._without = 0  # perhaps something else
        self.score, self.tile, self.missed, self._doubts = candidate.score, candidate.tile, 0, 0
        self.box, self._unseen = candidate.box, 0

    @property
    def lost(self) -> bool:
        """Whether what was here a few frames ago, and likely is a face, is to be searched for by the second network."""
        return self.region is None and self.missed in _SEARCHED and self.evidence >= min(_DOUBTFUL, self.least)

    def followed(self, box: Box) -> None:
        """The second network alone sees it here: what that says of the evidence is known from its looks."""
        self.box, self.missed = box, 0

    def look_due(self) -> bool:
        """Whether this sighting deserves a second look."""
        if self.region is not None and self.evidence >= _SETTLED:
            return False
        pause = _OFTEN if self._looks < _LOOKS else _SELDOM
        return self._looks == 0 or self._since_look >= pause or self.score > self._score_then + _RISEN

    def looked(self, seen: float) -> None:
        """Note the evidence of this sighting, after a second look."""
        # Who turns to the camera is judged by that; a lucky look is soon outvoted, since looks are frequent again.
        if seen > self.evidence + _RISEN:
            self._looks = self._without = 0
        self._looks += 1
        self.evidence += (seen - self.evidence) / min(self._looks, _LOOKS)
        self._since_look, self._score_then = 0, self.score

    def anchored(self, outline: Points) -> None:
        """Note where the detector's box lies about the landmarks' own, float64 (2, 2) corners."""
        corners = np.reshape(self.box, (2, 2))
        self._offset = (corners - outline) / np.maximum(outline[1] - outline[0], 1.0)

    def moved(self, outline: Points) -> None:
        """The landmarks' box is here in this frame: the detector's would lie about it as it did when it was seen."""
        corners = outline + self._offset * (outline[1] - outline[0])
        (x0, y0), (x1, y1) = corners
        self.box, self.missed = (float(x0), float(y0), float(x1), float(y1)), 0

    def confirmed(self) -> None:
        """Somebody else than the detector is sure that the landmarks are still on a face."""
        self._doubts = self._unseen = 0

    def doubted(self) -> bool:
        """The detector looked and saw no face. True when that happened too often to follow the landmarks further."""
        self._doubts += 1
        return self._doubts >= _DOUBTED


def matched(places: Sequence[Place], candidates: Sequence[Candidate]) -> dict[int, int]:
    """Which candidate belongs to which place: rows of `places` by rows of `candidates`, the nearest first."""
    if not places or not candidates:
        return {}
    shared = overlap(np.array([one.box for one in candidates]), np.array([place.box for place in places]))
    found: dict[int, int] = {}
    taken: set[int] = set()
    for row, column in zip(*np.unravel_index(np.argsort(-shared, axis=None), shared.shape), strict=True):
        if shared[row, column] < _SAME_PLACE:
            break
        if int(row) not in found and int(column) not in taken:
            found[int(row)] = int(column)
            taken.add(int(column))
    return found


def remembered(places: Iterable[Place]) -> list[Place]:
    """The places that are kept for the next frame."""
    return [place for place in places if place.missed <= _FORGOTTEN]


def without_twins(places: Sequence[Place]) -> list[Place]:
    """Two places whose landmarks were followed onto one face are one: the better seen is kept."""
    kept: list[Place] = []
    for place in sorted(places, key=lambda one: (one.region is None, -one.evidence, -one.score)):
        if place.region is None or not any(
            other.region is not None and _one(place.region, other.region) for other in kept
        ):
            kept.append(place)
    return kept


def _one(a: Region, b: Region) -> bool:
    side = min(a.side, b.side)
    apart = math.hypot(a.centre[0] - b.centre[0], a.centre[1] - b.centre[1])
    return apart < 0.15 * side and abs(a.side - b.side) < 0.3 * side
