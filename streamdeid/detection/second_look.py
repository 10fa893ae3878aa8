"""A second look at what may be a face: a second network says whether it sees a face there, too.

The detector's score does not tell a small or turned face from a rabbit, a fist or the back of a head. Two independent
networks err on different things: mediapipe's takes ears, fingers and lamps for faces, YuNet takes drawn animals and
hands for faces. So the evidence of a sighting is the mean of both scores. Where the mean decides nothing, mediapipe's
network is shown the place at two sizes, plain and mirrored. Its score is then replaced by the mean of it and of those
views' scores: true faces are seen in these views, too, and other things no longer.

This was measured on 2,664 sightings in 18 clips (at most 36 frames each). 1,115 of them touch no box of an independent
detector. The threshold was set so that 97 % of the sightings of 14 pixels and up on faces are kept. Then the mean of
both scores keeps 60 of the 1,115, the mean with the views 40, and mediapipe's score and views alone 974.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.asked_about import in_the_middle, surest_asked
from streamdeid.detection.networks import Detects, Networks
from streamdeid.detection.quarter_turns import turned
from streamdeid.detection.tiles import INPUT
from streamdeid.detection.upright_view import shown, stretched, view
from streamdeid.detection.yunet import YuNet

_FAINTEST = 0.05
"""Scores below this count as nothing seen."""
_GLANCE = ((32, 0, 0, False), (32, 96, 0, True), (48, 0, 96, True), (48, 96, 96, False))
"""Views of a glance, in one picture for one run of the network: width of the face, place of the view, mirrored."""
_GLANCE_SIDE = INPUT // 2
_OPEN = (0.4, 0.65)
"""If the mean of two networks lies between these, a glance follows: it can move such a mean to the other side of the
default threshold of 0.5. It hardly ever could move other means so far."""
_WIDTH, _SIDE = 64, 128
"""Width of the face, and side of the picture, that YuNet sees: with more around the face it sees fewer faces (92, 85,
82 % of the true sightings at 20 false ones with the face 1/2, 0.3 and 1/4 of the side)."""
FOLLOWED = 0.5
"""Score from which YuNet alone finds a face that the detector had found and lost: the library's own bar."""


@dataclass(frozen=True)
class Look:
    """The result of a second look at a sighting."""

    evidence: float
    """How sure it is, 0 to 1, that the sighting is a face."""
    keypoints: Keypoints | None
    """What YuNet saw there, in pixels of the frame; None where it saw nothing."""


class SecondLook:
    """Looks a second time at places of a picture. Holds running networks."""

    def __init__(self, networks: Networks, yunet: YuNet, glances: bool = True) -> None:
        """glances: whether mediapipe's network looks again where both scores decide nothing; with a third network
        (`close_look`) this is not needed."""
        self._yunet = yunet
        self._detect = networks.detector(_FAINTEST) if glances else None

    def look(self, planes: Planes, box: Box, score: float, others: Sequence[Box] = (), turn: float = 0) -> Look:
        """How sure it is that what the detector saw with this score is a face. box in pixels, with an area; turn: the
        quarter turns anticlockwise after which the head in it stands upright (`upright_turn`).

        others: boxes of faces that are known. When YuNet sees one of these, that says nothing about this box: without
        the rule, a candidate on a person's hair got the evidence of the face below it.
        """
        keypoints = self.keypoints(planes, box, others, turn)
        seen = likeness(keypoints)
        sure = (score + seen) / 2
        if self._detect is not None and _OPEN[0] <= sure < _OPEN[1]:
            glanced = _glance(self._detect, planes, box, turn)
            return Look(((score + glanced) / 2 + seen) / 2, keypoints)
        return Look(sure, keypoints)

    def close(self) -> None:
        """Stop the networks."""
        if self._detect is not None:
            self._detect.close()

    def near(self, planes: Planes, box: Box, others: Sequence[Box] = (), turn: float = 0) -> Keypoints | None:
        """The face near the box that YuNet is sure of, as `keypoints`; None if its score is below `FOLLOWED`."""
        found = self.keypoints(planes, box, others, turn)
        return found if found is not None and found.score >= FOLLOWED else None

    def keypoints(self, planes: Planes, box: Box, others: Sequence[Box] = (), turn: float = 0) -> Keypoints | None:
        """The face near the box and of about its size with YuNet's highest score, in pixels of the frame; or None.

        box in pixels, with an area; others and turn: as in `look`.

        At the picture's border YuNet is run twice. If the picture is mirrored beyond the border, YuNet is surest that
        there is a face, but takes half a face and its mirror image for one face, whose middle is the border: of 334
        faces of all clips, cut by 15 or 30 % at the left or right, its points were wrong at 44 to 64 %. If the border's
        pixels are repeated, its points are wrong at 1 to 7 %, but from a cut of 45 % on it sees fewer of the faces.
        """
        mirrored = self._surest(planes, box, others, turn, cv2.BORDER_REFLECT)
        if shown(planes.size, box, _SIDE / _WIDTH) == 1:
            return mirrored
        plain = self._surest(planes, box, others, turn, cv2.BORDER_REPLICATE)
        if mirrored is None or plain is None:
            return mirrored or plain
        return replace(plain if plain.score >= FOLLOWED else mirrored, score=max(plain.score, mirrored.score))

    def _surest(self, planes: Planes, box: Box, others: Sequence[Box], turn: float, outside: int) -> Keypoints | None:
        """As `keypoints`, in one run; outside: what is seen outside the picture, as for `view`."""
        found = self._yunet(stretched(view(planes, box, _WIDTH, _SIDE, outside, turn)))
        return surest_asked(found, box, others, _WIDTH, _SIDE, turn)

    def turns(self, planes: Planes, box: Box, turns: Sequence[int]) -> list[int]:
        """Those of the given quarter turns anticlockwise after which YuNet sees a face in a box, the highest score
        first. All turns are in one small picture: three cost about one and a half times as much as `keypoints`."""
        if not turns:
            return []
        width, side = 3 * _WIDTH // 4, 3 * _SIDE // 4
        seen = stretched(view(planes, box, width, side))
        found = self._yunet(np.ascontiguousarray(np.hstack([turned(seen, turn) for turn in turns])))
        sure, surest = found.scores >= FOLLOWED, {}
        for number, turn in enumerate(turns):
            seen_so = sure & in_the_middle(found, np.array([number + 0.5, 0.5]) * side, width)
            surest[turn] = float(found.scores[seen_so].max(initial=0.0))
        return sorted((turn for turn in turns if surest[turn] > 0), key=lambda turn: -surest[turn])


def likeness(keypoints: Keypoints | None) -> float:
    """How much a place looks like a face, 0 to 1, without the detector's score. keypoints: what YuNet saw there."""
    return 0.0 if keypoints is None else keypoints.score


def _glance(detect: Detects, planes: Planes, box: Box, turn: float) -> float:
    """Mean, over the views of a glance, of the best score of a face in the middle of the view; 0 for none."""
    picture = np.empty((INPUT, INPUT, 3), np.uint8)
    for width, x, y, mirrored in _GLANCE:
        seen = view(planes, box, width, _GLANCE_SIDE, turn=turn)
        picture[y : y + _GLANCE_SIDE, x : x + _GLANCE_SIDE] = seen[:, ::-1] if mirrored else seen
    boxes, _, scores = detect(picture)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    best = []
    for width, x, y, _ in _GLANCE:
        near = np.abs(centres - (x + _GLANCE_SIDE / 2, y + _GLANCE_SIDE / 2)).max(axis=1) < width / 2
        best.append(float(scores[near].max()) if near.any() else 0.0)
    return float(np.mean(best))
