"""A close look: the third network judges one place by itself, whatever its size and light.

The survey shows that network the whole picture twice a second. The network cannot judge faces that are very large,
small or dark there. When it sees one place by itself, at a fixed size and with stretched contrast, it tells a face from
a fist, a sleeve or a coat of arms better than the two other networks together (docs/methods.md 8.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.asked_about import surest_asked
from streamdeid.detection.centerface import CenterFace
from streamdeid.detection.survey import DARK, contrast
from streamdeid.detection.upright_view import shown, stretched, view

_WIDTH, _SIDE = 24, 96
"""Width of the face, and side of the picture, pixels. With the face at 40 of 128 or 64 of 192 the network tells whole
faces from other things no better, and takes 1.5 and 3 times as long."""
_FINE_WIDTH, _FINE_SIDE, _LESS = 40, 128, 0.5
"""The same of a second view, where the first leaves a doubt: it shows half a face behind a pillar, a shelf or a door,
of which the first shows 12 pixels. And by how much less its opinion counts. Of 45 photographed heads of 40 pixels with
the left half, the lower half or the upper two fifths of the face hidden the first view alone believes (1.2) 13, 20 and
10, both 27, 26 and 20. Of all places that the detector saw in the labelled frames of 32 clips both believe 328 instead
of 326 of 341 faces, 23 of 53 other heads instead of 22 and 2 of 120 others instead of 1 (the choosing half), and no
place more of the 303 of the confirming half. If the second opinion counted by 0.3 more, a lion on a coat of arms was
covered (crowd_1080p; 0.7 by the first view, 1.77)."""
_PLAIN, _CERTAIN = 0.1, 1.8
"""Opinions of the first view up to which, and from which, there is no doubt. Below the first the second view believed
none of the 74 places that the detector saw in the labelled frames of 32 clips (38 of 243 doubts of the choosing half,
36 of 120 of the confirming half), and 3 of 463 looks at half-hidden photographed heads."""
BAR = 0.35
"""Score from which there is a face; the figures are of the first view alone. Of 69 tracks that are faces by eye, looked
at every tenth frame in 14 clips, 68 have a mean above it (the lowest 0.37; the other track is half dissolved into the
next scene). Of 15 tracks that are not faces none has (the highest 0.32). A single look scores above it at 686 of 701
faces, at 7 of 70 places without a face that had a redaction, and at 5 of 108 of all that the two other networks
told."""
_INNER = 1 / 3
"""A face in the box has its middle in the middle part of the box: half side of that part, share of the box's side."""
_SHOWN = 0.38
"""Share of the view that has to be picture for the network to say that there is no face. In 106 frames of all clips,
six variants each, 519 labelled faces fill more of the picture, or lie more across its border. 39 of them were denied
when what is inside was mirrored outside (16 of 338 in the clips that chose this; else a profile as high as the
picture). Of 1,481 places without a face none shows so little. A box that lies in a corner of the picture, all inside,
shows 0.39, and is judged as before."""
_OF_ANOTHER, _LARGER, _ONE_MIDDLE = 0.35, 2.2, 0.15
"""What is seen this near to the middle of another face belongs to that face, share of the longer side of its box; how
many times as large as the box asked about the other face may be; and from which distance of their middles, share of the
asked box's side, it is another place. In subway_cctv_three, which chose this, the face in front of a hidden man kept a
redaction over both; in the 32 clips of `recall` as many faces are open as before."""


class CloseLook:
    """Looks at single places in a picture. Holds two running networks; one call at a time."""

    def __init__(self, weights: bytes) -> None:
        self._network = CenterFace(weights, (_SIDE, _SIDE))
        self._fine = CenterFace(weights, (_FINE_SIDE, _FINE_SIDE))

    def __call__(
        self, planes: Planes, box: Box, turn: float = 0, anyway: bool = False, others: Sequence[Box] = ()
    ) -> float | None:
        """Score of a face in a box (pixels of the frame, with an area) divided by `BAR`: below 1 there is no face.

        None instead of a value below 1 where it is too dark, or where too much of the view lies outside the picture
        (anyway: only where it is too dark). turn: the quarter turns anticlockwise, perhaps with a fraction, after which
        the head in the box stands upright (`upright_turn`). others: boxes of other faces, pixels; what is seen in their
        middles does not count.
        """
        said, seen = _best(self._network, _WIDTH, planes, box, turn, others)
        if _PLAIN <= said < _CERTAIN:
            said = max(said, _best(self._fine, _FINE_WIDTH, planes, box, turn, others)[0] - _LESS)
        own = slice((_SIDE - _WIDTH) // 2, (_SIDE + _WIDTH) // 2)
        little = not anyway and shown(planes.size, box, _SIDE / _WIDTH) < _SHOWN
        return None if said < 1 and (little or contrast(seen[own, own, 1]) < DARK) else said

    def keypoints(self, planes: Planes, box: Box, turn: float = 0, others: Sequence[Box] = ()) -> Keypoints | None:
        """The face that the finer view shows where it is asked about, in pixels of the frame, if its score reaches the
        bar. Its score is given as 0.5 at the bar and 1 from twice the bar on, like the second network's.

        box: pixels, with an area. turn: as above. others: boxes of other faces, pixels.
        """
        seen = stretched(view(planes, box, _FINE_WIDTH, _FINE_SIDE, cv2.BORDER_REPLICATE, turn))
        found = surest_asked(self._fine(seen, BAR).faces, box, others, _FINE_WIDTH, _FINE_SIDE, turn)
        return None if found is None else replace(found, score=min(found.score / BAR / 2, 1.0))


def _best(
    network: CenterFace, width: int, planes: Planes, box: Box, turn: float, others: Sequence[Box]
) -> tuple[float, NDArray[np.uint8]]:
    """The highest score over `BAR` of a face in the middle of a view of a box in which that is `width` pixels wide, and
    the view before its contrast is stretched."""
    # Border pixels are repeated outside: when the inside was mirrored there, a face with two noses was denied.
    side = network.size[0]
    seen = view(planes, box, width, side, cv2.BORDER_REPLICATE, turn)
    told = network(stretched(seen), 1.0)
    cells = len(told.scores)
    half = _INNER * width * cells / side + 0.5
    inner = slice(math.floor(cells / 2 - half), math.ceil(cells / 2 + half))
    if others:
        told = replace(told, scores=np.where(_of_others(box, others, cells, turn, side / width), 0, told.scores))
    return told.best(inner, inner, width) / BAR, seen


def _of_others(box: Box, others: Sequence[Box], cells: int, turn: float, times: float) -> NDArray[np.bool_]:
    """Which cells of a view of a box lie in the middle of another face, (cells, cells): rows, columns. turn: as for the
    view, which is `times` as large as the box."""
    x0, y0, x1, y1 = box
    own = max(x1 - x0, y1 - y0)
    at = ((np.arange(cells) + 0.5) / cells - 0.5) * times * own
    cos, sin = math.cos(turn * math.pi / 2), math.sin(turn * math.pi / 2)
    x, y = cos * at - sin * at[:, None] + (x0 + x1) / 2, sin * at + cos * at[:, None] + (y0 + y1) / 2
    theirs = np.zeros((cells, cells), np.bool_)
    for left, top, right, bottom in others:
        side, middle = max(right - left, bottom - top), ((left + right) / 2, (top + bottom) / 2)
        apart = math.hypot(middle[0] - (x0 + x1) / 2, middle[1] - (y0 + y1) / 2)
        if side <= _LARGER * own and apart >= _ONE_MIDDLE * own:
            theirs |= np.hypot(x - middle[0], y - middle[1]) < _OF_ANOTHER * side
    return theirs
