"""Finds the faces of a frame by the full-range detector on tiles, second looks, surveys and landmarks, one per head.

A face with landmarks is followed by them from frame to frame; the detector has to find it only once. A face without
landmarks (small, turned away) is searched for in each frame, in the tile that saw it. All other tiles are searched in
turn. The landmark model runs on regions of this project's own choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Face, Keypoints
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.shipped_models import CENTERFACE, YUNET, network
from streamdeid.detection.candidates import Candidate, in_tile, joined, part_of, seen_before, shows_one_of
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.far_steps import FarSteps
from streamdeid.detection.five_points import as_detected
from streamdeid.detection.landmarks import Landmarks, region_of_box
from streamdeid.detection.looked_again import look_again
from streamdeid.detection.lying_heads import LyingHeads
from streamdeid.detection.matching import (
    SURE,
    faces_of,
    inside,
    matched,
    one_to_a_head,
    place_at,
    remembered,
    without_twins,
)
from streamdeid.detection.networks import Networks
from streamdeid.detection.places import Place
from streamdeid.detection.quarter_turns import TURNS, aside, boxes_turned_back, turned, turned_back
from streamdeid.detection.region import LandmarkRegion
from streamdeid.detection.second_look import Look, SecondLook, likeness
from streamdeid.detection.survey import Survey
from streamdeid.detection.survey_beside import SurveyBeside, There, Told, found_now
from streamdeid.detection.tiles import INPUT, Rounds, Tile, close_tiles, least_face, tile_for, tiles_of, with_turned
from streamdeid.detection.turned_survey import SeenAside
from streamdeid.detection.upright_view import upright_turn
from streamdeid.detection.yunet import YuNet

_WHOLE_SIZE = 384
"""Longer side, pixels, of the copy of the whole picture that the detector sees: twice its 192-pixel input."""
_FAINT = 0.6
"""Share of the threshold from which a score makes a candidate."""
_ALONE = 0.65
"""Evidence by a survey from which no other network is asked: it alone makes a face evident (`tracking.evident`)."""
_PLAIN = 24.0
"""Width in the network's pixels from which a face that faces the camera is seen in the whole picture."""
_ASKEW = math.radians(60)
"""Difference in roll between a mesh and a place, radians, from which the mesh is not of that head: in the
pictures that are searched a head is found up to 45 degrees aside."""
_TILTED = 2
"""Frames after the loss of a face in which it is looked for in other turns: heads tilt until no network sees them."""
_PRESENT, _LIKE_A_FACE = 0.9, 0.3
"""The presence, or second look, from which landmarks stay on a face that the detector does not see (turned away)."""


class MediapipeFaces:
    """The default detector: a function of a frame that remembers where faces were.

    threshold: evidence from which a candidate is a face, 0 to 1; fainter ones are handed on with their evidence
    (`tracking.evident` decides). min_face: width in pixels of the smallest face looked for; None: an 80th of the
    picture's longer side, 16 or more; inf: the whole picture only. interval: frames within which all of the picture is
    searched. survey: seconds between two looks of the third network at the whole picture; 0: none, and lying heads are
    not looked for. survey_side: longer side of the picture that the third network sees, pixels. beside: the survey runs
    in its own thread, so that its results come some frames later.
    """

    def __init__(
        self,
        threshold: float = 0.5,
        min_face: float | None = None,
        interval: int = 32,
        survey: float = 0.0,
        survey_side: int = 960,
        beside: bool = False,
    ) -> None:
        networks = Networks()
        third = network(CENTERFACE) if survey else None
        self._survey = None if third is None else Survey(third, survey, survey_side, beside)
        self._beside = SurveyBeside(self._survey) if beside and self._survey is not None else None
        self._close_look = None if third is None else CloseLook(third)
        self._detect = networks.detector(_FAINT * threshold)
        self._look = SecondLook(networks, YuNet(network(YUNET)), glances=self._close_look is None)
        self._quick = min_face != math.inf  # not for photographs, found as the training set was
        self._landmarks = Landmarks(networks, quick=self._quick)
        self._turns = (0, *TURNS) if self._quick and third is not None else ()
        self._lying = LyingHeads(self._look, self._close_look)
        self._threshold = threshold
        self._min_face, self._interval = min_face, interval
        self._far = FarSteps()
        self._size: tuple[int, int] | None = None
        self._tiles: tuple[Tile, ...] = ()
        self._rounds, self._close = Rounds((), interval), 0
        self._places: list[Place] = []

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """Faces of an upright frame, boxes and points in its pixels."""
        planes = frame.planes
        if planes.size != self._size:
            self._lay_out(planes.size)
        far = self._far(frame.time)
        for place in self._places:
            place.next_frame(far)
            if place.region is not None:
                self._follow(planes, place)
        self._places = without_twins(self._places)
        due = self._rounds.due({place.tile for place in self._places if place.wanted})
        seen = [one for number in due for one in self._search(planes, number)]
        candidates = [one for turn in (0, *TURNS) for one in joined([c for c in seen if c.turn == turn], self._tiles)]
        belongs = matched(self._places, candidates)
        self._check(planes, set(belongs.values()), due)
        known = {row: self._places[place] for row, place in belongs.items()}
        new = seen_before(self._close, seen, candidates)
        # Known faces come first, or a candidate on their hair gets their points.
        sure = {row for row, place in known.items() if place.evidence >= SURE}
        for row in sorted(known.keys() | new, key=lambda r: (r not in sure, candidates[r].turn, -candidates[r].area)):
            self._sight(planes, known.get(row), candidates[row])
        self._find_again(planes)
        self._look_over(frame)
        for place in self._places:
            if place.missed == 0 and place.keys_due():
                self._key(planes, place)
        one_to_a_head(self._places)
        self._look_closely(planes)
        if (survey := self._beside or self._survey) is not None:
            turns = self._lying.noted(self._places, frame.time)
            self._rounds.look_for(turns)
            survey.look_for(turns)
        faces, self._places = faces_of(self._places, planes.size), remembered(self._places)
        return faces

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        """What two networks see in a box of a frame, pixels, where the face of a track is expected (`looked_again`)."""
        # A head that lies now most often lay in that frame, too, but perhaps elsewhere: it may have moved.
        known = place_at(self._places, box)
        turns = 0.0 if known is None else known.upright, 0.0, *(float(place.turn) for place in self._places)
        found = look_again(self._look, self._close_look, frame.planes, box, others, turns)
        return found if found is not None and inside(found.box, frame.planes.size) else None

    def forget(self) -> None:
        """Forget the last frames, before a picture that has nothing to do with them."""
        self._places = []
        self._lying.forget()
        self.search_all()
        if self._beside is not None:
            self._beside.restart()

    def moved(self, motion: CameraMotion) -> None:
        """Move all places along with the camera, which moved before the next picture."""
        for place in self._places:
            place.carried(motion, self._tiles)
        if (survey := self._beside or self._survey) is not None:
            survey.moved(motion)
        self._rounds.moved(motion)

    def search_all(self) -> None:
        """Search all of the next picture, but not the survey's windows: a face missed there may never be found."""
        self._rounds.restart()
        self._survey_soon()

    def search_last(self) -> None:
        """Search all of a picture before a cut or an end, but turned tiles only in the usual turns."""
        self._rounds.last()
        self._survey_soon()

    def _survey_soon(self) -> None:
        if (survey := self._beside or self._survey) is not None:
            survey.soon()

    def close(self) -> None:
        """Stop the networks."""
        if self._beside is not None:
            self._beside.close()
        self._detect.close()
        self._look.close()
        self._landmarks.close()

    def _lay_out(self, size: tuple[int, int]) -> None:
        least = least_face(size) if self._min_face is None else self._min_face
        self._size, self._tiles = size, tiles_of(size, least)
        if self._turns:
            self._tiles = with_turned(self._tiles)
        self._rounds = Rounds(self._tiles, self._interval)
        self._close = len(self._tiles)  # tiles from here on only follow
        if self._survey is not None:
            (self._beside or self._survey).lay_out(size)
            if self._survey.finer and self._min_face is None:
                close = close_tiles(size, least)
                self._tiles += with_turned(close) if self._turns else close
        self._places = []

    def _follow(self, planes: Planes, place: Place) -> None:
        """Find the landmarks of a face where they were in the last frame; without any, the place has no region."""
        assert place.region is not None
        found = self._landmarks(planes, place.region)
        if found is None:
            place.region = None
            return
        place.meshed(*found)
        if place.turn != self._tiles[place.tile].turn:
            place.tile = tile_for(self._tiles, place.raw, place.turn)
        assert place.outline is not None
        place.moved(place.outline)

    def _check(self, planes: Planes, seen: set[int], due: Sequence[int]) -> None:
        """Drop landmarks where the detector has long seen no face, unless their presence or a second look is sure."""
        for row, place in enumerate(self._places):
            side = max(place.box[2] - place.box[0], place.box[3] - place.box[1])
            expected = place.tile in due or (0 in due and self._tiles[0].scale * side > _PLAIN)
            if place.mesh is None or row in seen or not expected or not place.doubted():
                continue
            if place.mesh[1] >= _PRESENT or self._like_a_face(planes, place):
                place.confirmed()
            else:
                place.region = place.mesh = place.outline = None

    def _like_a_face(self, planes: Planes, place: Place) -> bool:
        return likeness(self._look.keypoints(planes, place.raw, self._others(place), place.upright)) >= _LIKE_A_FACE

    def _key(self, planes: Planes, place: Place, seen: Look | None = None) -> None:
        """Note the keypoints of a place: the third network's, which are better, where it is sure of a face, or else the
        second's, perhaps of another turn. seen: what the second network saw there, if it was asked."""
        others, lies = self._others(place), place.turn
        found = None if lies else self._third(planes, place, others)
        if found is None:
            told = self._look.keypoints(planes, place.raw, others, place.upright) if seen is None else seen.keypoints
            found = self._lying.likelier(planes, place, told, others, not self._tiles[place.tile].turn)
            found = (self._third(planes, place, others) if lies else None) or found
        place.keyed(found)

    def _third(self, planes: Planes, place: Place, others: Sequence[Box]) -> Keypoints | None:
        """The third network's keypoints of a place, straightened, where it is sure of a face; None where it is not.
        others: as of `_others`."""
        close, turn = self._close_look if place.surely_seen else None, upright_turn(place.roll, place.turn)
        return None if close is None else close.keypoints(planes, place.raw, turn, others)

    def _others(self, place: Place) -> list[Box]:
        """Boxes of the faces that are surely seen in all places but this one."""
        return [as_detected(one.face) for one in self._sure() if one is not place and one.face is not None]

    def _find_again(self, planes: Planes) -> None:
        """Follow, by the other networks, the places that the detector lost, also where another face is seen now."""
        # Without those a sixth of the searches was saved, but two faces of 40 pixels and up in crowd_1080p were lost.
        for place in [place for place in self._places if place.lost]:
            seen = [one.box for one in self._places if one.missed == 0]
            others = self._others(place)
            found = self._third(planes, place, others)
            if found is None or shows_one_of(as_detected(found.box), seen):
                found = self._look.near(planes, place.raw, others, place.upright)
            if found is not None and not shows_one_of(as_detected(found.box), seen):
                place.followed(found)
            elif found is None and place.missed == _TILTED:
                self._try_turns(planes, place)

    def _look_over(self, frame: Frame) -> None:
        """Let the third network look at the whole picture, if a survey is due, and note what it found."""
        if self._survey is None:
            return
        calm = bool(self._places) and not any(place.doubtful for place in self._places)
        asked, here = (frame.planes, frame.time, calm), [There.of(place) for place in self._places]
        told = self._beside(*asked, here) if self._beside is not None else Told(self._survey(*asked), here)
        seen, late = told.seen, told.then is not here
        if isinstance(seen, SeenAside):
            return self._look_aside(frame.planes, seen, told.camera)
        if seen is None:
            return
        told = told._replace(then=[one for one in told.then if any(one.place is place for place in self._places)])
        hold = [one for one in told.then if one.holds]
        for one in hold:
            one.place.opined(seen.opinion(one.box))
        for found in seen.faces:
            box = as_detected(found.box)
            opinion = seen.opinion(box)
            evidence = seen.evidence(box, opinion)
            if late:
                found = found_now(self._look, frame.planes, found, told, self._seen_faces())
                box = as_detected(found.box)
            place = place_at(self._places, box)
            lost = place is not None and not late and place.missed > 0 and not place.turn
            # A face that is seen has a place, too: a faint one on it took its points, and the person was lost.
            lost = lost and not part_of(box, [one.box for one in self._sure()])
            if (place is None or lost) and evidence < _ALONE:
                second = self._look.keypoints(frame.planes, box, self._seen_faces())
                evidence = (evidence + likeness(second)) / 2
            if place is None:
                place = Place(box, found.score, tile_for(self._tiles, box), least=self._threshold)
                place.opined(opinion)
                place.evidence = evidence
                self._places.append(place)
            elif lost:
                place.opined(opinion)
                place.surely(evidence)
            elif late and not place.turn and all(one.place is not place for one in hold):  # a new place
                place.opined(opinion)
                place.evidence = max(place.evidence, evidence)
            if place.turn and not place.missed:
                continue
            place.found_by_survey(found)
            if place.mesh is None and place.landmarks_due():
                self._mesh(frame.planes, place, region_of_box(box, found.points))

    def _look_aside(self, planes: Planes, seen: SeenAside, camera: CameraMotion | None) -> None:
        """Note lying heads among the faces of a survey of a turned picture. camera: how it moved since that picture."""
        for found in seen.faces:
            box = as_detected(found.box if camera is None else camera.box(found.box))
            place = place_at(self._places, box)
            if place is None:
                known, others = part_of(box, [one.box for one in self._sure()]), self._seen_faces()
            else:
                known = place.missed < _TILTED if place.missed else place.turn == seen.turn or place.believed >= SURE
                others = self._others(place)
            lies = None if known else self._lying.found(planes, box, seen.turn, others, self._places, place)
            if lies is not None:
                if place is None:
                    self._places.append(place := Place(box, found.score, 0, least=self._threshold))
                self._turn(planes, place, lies, seen.turn)

    def _sure(self) -> list[Place]:
        """The places in which a face is surely seen."""
        return [one for one in self._places if one.missed == 0 and one.evidence >= SURE]

    def _seen_faces(self) -> list[Box]:
        """Boxes of the faces that are seen, as the detector would box them."""
        return [as_detected(one.face) for one in self._places if one.missed == 0 and one.face is not None]

    def _look_closely(self, planes: Planes) -> None:
        """Ask the third network about places of which it has said little or that are in doubt; try turns if due."""
        if self._close_look is not None:
            for place in self._places:
                if place.close_look_due():
                    place.looked_closely(self._close_look(planes, place.box, place.upright))
                if place.turns_due():
                    self._try_turns(planes, place)

    def _search(self, planes: Planes, number: int) -> list[Candidate]:
        """The candidates that the detector sees in a tile, by the tile's number."""
        tile = self._tiles[number]
        size = tile.x1 - tile.x0, tile.y1 - tile.y0
        scale = min(1.0, (_WHOLE_SIZE if number == 0 else INPUT) / max(size))
        rgb = rectangle_to_rgb(planes, tile.x0, tile.y0, tile.x1, tile.y1, scale, quick=self._quick)
        boxes, keypoints, scores = self._detect(turned(rgb, tile.turn))
        seen = float(rgb.shape[1]), float(rgb.shape[0])
        boxes, keypoints = boxes_turned_back(boxes, tile.turn, seen), turned_back(keypoints, tile.turn, seen)
        return in_tile(tile, number, boxes / scale, keypoints / scale, scores, planes.size)

    def _sight(self, planes: Planes, place: Place | None, candidate: Candidate) -> None:
        """Note a candidate in its place, or in a new one (None): ask for a second look and landmarks where due."""
        if place is None:
            if part_of(candidate.box, [one.box for one in self._sure()]):
                return
            if candidate.turn and not self._lying.begins(planes, candidate, self._seen_faces(), self._places):
                return
            turn = candidate.turn
            place = Place(candidate.box, candidate.score, candidate.tile, turn, turn, least=self._threshold)
            self._places.append(place)
        place.sighted(candidate)
        if place.second:  # each frame finds anew on whose head it lies; no more is asked
            return
        if place.look_due():
            seen = self._look.look(planes, candidate.box, candidate.score, self._others(place), place.upright)
            place.looked(seen.evidence)
            self._key(planes, place, seen)
            if place.turns_due():
                self._try_turns(planes, place)
        if place.slid or (place.mesh is None and place.landmarks_due()):
            known = None if place.slid else place.keypoints
            own = candidate.box, candidate.keypoints
            box, points = own if known is None else (as_detected(known.box), known.points)
            self._mesh(planes, place, region_of_box(box, points))
        if place.outline is not None:
            place.anchored(place.outline)

    def _try_turns(self, planes: Planes, place: Place) -> None:
        """See whether the head in a doubtful or lost place is seen straightened, or after other quarter turns."""
        for turn in self._lying.other_turns(planes, place, [one for one in self._turns if one != place.upright]):
            found = self._lying.found(planes, place.raw, turn, self._others(place), self._places, place)
            if found is not None:
                self._turn(planes, place, found, turn)
                return

    def _turn(self, planes: Planes, place: Place, found: Keypoints, turn: float) -> None:
        """Note that the head of a place is seen, with these keypoints, after so many quarter turns."""
        place.turned(found, turn, tile_for(self._tiles, as_detected(found.box), round(turn) % 4))
        self._mesh(planes, place, region_of_box(as_detected(found.box), found.points))

    def _mesh(self, planes: Planes, place: Place, region: LandmarkRegion) -> None:
        """Ask for landmarks in a region. Landmarks whose roll does not fit the place's turn are dropped."""
        found = self._landmarks(planes, region)
        if found is not None and aside(found[2].angle, place.turn) < _ASKEW:
            place.meshed(*found)
