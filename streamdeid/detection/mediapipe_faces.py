"""Faces of a frame: full-range detector on tiles, second looks in doubt, landmarks on our own regions.

A face with landmarks is followed by them from frame to frame; the detector only has to find it once. A face without
(small, turned away) is searched for in each frame, in the tile that saw it. Everything else is searched in turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame, Planes
from streamdeid.detection import yunet
from streamdeid.detection.candidates import Candidate, joined, overlap, part_of
from streamdeid.detection.landmarks import Landmarks, face_of, outline_of, region_of_box
from streamdeid.detection.networks import Networks
from streamdeid.detection.places import Place, matched, remembered, without_twins
from streamdeid.detection.second_look import SecondLook
from streamdeid.detection.tiles import INPUT, Rounds, Tile, least_face, tiles_of

_WHOLE_SIZE = 384
"""Longer side, pixels, of the copy of the whole picture that the detector sees: twice its 192-pixel input."""
_FAINT = 0.6
"""Share of the threshold from which a score makes a candidate."""
_SURE = 0.5
"""Evidence from which a face is larger than its parts: nose and mouth look like a face in a fine tile."""
_PLAIN = 24.0
"""Width in the network's pixels from which a face that faces the camera is seen in the whole picture."""
_SAME_FACE = 0.25
"""IoU from which what was lost was found on a face that is seen."""
_PRESENT, _LIKE_A_FACE = 0.9, 0.3
"""Presence, and second look, that keep landmarks on a face that the detector does not see (turned away)."""


class MediapipeFaces:
    """The default detector: a function of a frame that remembers where faces were.

    threshold: evidence from which something is a face, 0 to 1; fainter things are handed on with their evidence
    (`tracking.evident` decides). min_face: width in pixels of the smallest face looked for; None: an 80th of the
    picture's longer side, 16 or more; inf: the whole picture only. interval: frames within which all of the picture is
    searched.
    """

    def __init__(self, threshold: float = 0.5, min_face: float | None = None, interval: int = 32) -> None:
        networks = Networks()
        self._detect = networks.detector(_FAINT * threshold)
        self._look = SecondLook(networks, yunet.load())
        self._quick = min_face != math.inf  # photographs are few, and what was trained on them is to be found again
        self._landmarks = Landmarks(networks, quick=self._quick)
        self._threshold = threshold
        self._min_face, self._interval = min_face, interval
        self._size: tuple[int, int] | None = None
        self._tiles: tuple[Tile, ...] = ()
        self._rounds = Rounds((), interval)
        self._places: list[Place] = []

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """Faces of an upright frame, boxes and points in its pixels."""
        planes = frame.planes
        if planes.size != self._size:
            self._lay_out(planes.size)
        for place in self._places:
            place.next_frame()
            if place.region is not None:
                self._follow(planes, place)
        self._places = without_twins(self._places)
        due = self._rounds.due({place.tile for place in self._places if place.wanted})
        candidates = joined([one for number in due for one in self._search(planes, number)], self._tiles)
        belongs = matched(self._places, candidates)
        self._check(planes, set(belongs.values()), due)
        known = {row: self._places[place] for row, place in belongs.items()}
        for row in sorted(range(len(candidates)), key=lambda row: -_area(candidates[row].box)):
            self._sight(planes, known.get(row), candidates[row])
        self._find_again(planes)
        shown = [place for place in self._places if place.missed == 0 and place.possible]
        faces = [face_of(one.box, one.score, one.evidence, *(one.mesh or (None, 0.0))) for one in shown]
        self._places = remembered(self._places)
        return [face for face in faces if _inside(face.box, planes.size)]

    def forget(self) -> None:
        """Forget the last frames, before a picture that has nothing to do with them."""
        self._places = []
        self._rounds.restart()

    def close(self) -> None:
        """Stop the networks."""
        self._detect.close()
        self._look.close()
        self._landmarks.close()

    def _lay_out(self, size: tuple[int, int]) -> None:
        least = least_face(size) if self._min_face is None else self._min_face
        self._size, self._tiles = size, tiles_of(size, least)
        self._rounds = Rounds(self._tiles, self._interval)
        self._places = []

    def _follow(self, planes: Planes, place: Place) -> None:
        """Find a face's landmarks where they were in the last frame."""
        assert place.region is not None
        found = self._landmarks(planes, place.region)
        if found is None:
            place.region = None
            return
        place.meshed(*found)
        place.moved(outline_of(found[0]))

    def _check(self, planes: Planes, seen: set[int], due: Sequence[int]) -> None:
        """Give up landmarks where the detector looked and saw no face for long, unless they or a look are sure."""
        for row, place in enumerate(self._places):
            expected = place.tile in due or (0 in due and self._tiles[0].scale * _width(place.box) > _PLAIN)
            if place.mesh is None or row in seen or not expected or not place.doubted():
                continue
            if place.mesh[1] >= _PRESENT or self._look.likeness(planes, place.box) >= _LIKE_A_FACE:
                place.confirmed()
            else:
                place.region = place.mesh = None

    def _find_again(self, planes: Planes) -> None:
        """Follow the places that the detector lost, by the second network."""
        # Also where another face is seen now: to leave those out spared a sixth of the searches, and in crowd_1080p two
        # faces of 40 pixels and up who were found beside it.
        for place in [place for place in self._places if place.lost]:
            box = self._look.near(planes, place.box)
            others = [one.box for one in self._places if one.missed == 0]
            if (
                box is not None
                and overlap(np.array([box]), np.array(others).reshape(-1, 4)).max(initial=0.0) < _SAME_FACE
            ):
                place.followed(box)

    def _search(self, planes: Planes, number: int) -> list[Candidate]:
        """What the detector sees in a tile."""
        tile = self._tiles[number]
        size = tile.x1 - tile.x0, tile.y1 - tile.y0
        scale = min(1.0, (_WHOLE_SIZE if number == 0 else INPUT) / max(size))
        rgb = rectangle_to_rgb(planes, tile.x0, tile.y0, tile.x1, tile.y1, scale, quick=self._quick)
        boxes, keypoints, scores = self._detect(rgb)
        corner = np.array([tile.x0, tile.y0])
        found = []
        for box, points, score in zip(boxes / scale, keypoints / scale, scores, strict=True):
            x0, y0, x1, y1 = (float(value) for value in box + np.tile(corner, 2))
            if x1 - x0 >= 1 and y1 - y0 >= 1:
                cut = tile.cuts((x0, y0, x1, y1), planes.size)
                found.append(Candidate((x0, y0, x1, y1), points + corner, float(score), number, cut))
        return found

    def _sight(self, planes: Planes, place: Place | None, candidate: Candidate) -> None:
        """The detector saw something, where a place is known or not: how sure is it, and are there landmarks?"""
        if place is None:
            if part_of(candidate.box, [one.box for one in self._places if one.missed == 0 and one.evidence >= _SURE]):
                return
            place = Place(candidate.box, candidate.score, candidate.tile, least=self._threshold)
            self._places.append(place)
        place.sighted(candidate)
        if place.look_due():
            place.looked(self._look.evidence(planes, candidate.box, candidate.score))
        if place.mesh is None and place.landmarks_due():
            found = self._landmarks(planes, region_of_box(candidate.box, candidate.keypoints))
            if found is not None:
                place.meshed(*found)
        if place.mesh is not None:
            place.anchored(outline_of(place.mesh[0]))


def _inside(box: tuple[float, float, float, float], size: tuple[int, int]) -> bool:
    """Whether a box touches the picture; landmarks of somebody who walks out leave it."""
    return box[2] > 0 and box[3] > 0 and box[0] < size[0] and box[1] < size[1]


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _width(box: tuple[float, float, float, float]) -> float:
    return max(box[2] - box[0], box[3] - box[1])
