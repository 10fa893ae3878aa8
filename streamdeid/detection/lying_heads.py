"""Heads on their side and upside down: how it is told that one is, and where others are looked for because of it.

A detector, a second and a third network see faces only when these stand about upright in their picture, so a head that
lies is seen in turned pictures (`quarter_turns`). There are three of those to one that is upright, and in each of them
the networks see faces where there are none: so all three have to agree, and turned pictures are looked at seldom,
until somebody was seen in one. Then there may be others: patients in beds, or all people of a camera that hangs upside
down.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.candidates import SAME_FACE, Candidate, overlap
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.five_points import as_detected
from streamdeid.detection.matching import SURE
from streamdeid.detection.places import WAITED_FOR, Place
from streamdeid.detection.quarter_turns import TURNS, UPSIDE_DOWN
from streamdeid.detection.second_look import SecondLook

_CLEAR = 0.45
"""Score from which something in a turned picture is looked at closely: what is fainter is hardly ever a head there, and
one that the detector sees upright, too, is tried in all turns anyway."""
_LYING = 1.6
"""The third network's opinion from which a head lies on its side: of labelled heads in turned pictures nearly all have
1.7 and more, of a jacket's print, hands and a bicycle's lamp most 1.2 to 1.5."""
_CLEARER = 0.3
"""By how much the third network is then surer of a head on its side than of one that stands."""
_SEEN, _MUCH_CLEARER = 0.75, 1.0
"""For a head upside down, as long as no more people are seen so than stand: score of the second network, and by how
much the third one is surer than of one that stands. Of 49 looks at true heads that it believes 46 and 47 have more; a
drawn rabbit had 0.69 and a jacket's print once 0.8 (cartoon_no_faces and friends2, the only ones of 32 clips in which
anything was taken for one). Where more hang than stand it is the camera."""
_BESIDE = 2.0
"""The third network's opinion of such a head beside somebody who stands, or did so in the last frames: that print had
up to 1.9, of true ones nearly half of the looks have more."""
_SIGHTINGS = 3
"""Frames in which somebody was seen so from which others are looked for: what is taken for a head for a moment costs
nothing."""
_TIMES, _LEAST, _MOST = 10, Fraction(10), Fraction(600)
"""How long others are looked for as somebody was seen: so many times as long as they were seen, but no shorter and no
longer than so many seconds."""
_STEP = Fraction(1)
"""Seconds from one frame to the next that count as seen at most."""


@dataclass
class _Remembered:
    """Who was seen in a turn."""

    until: Fraction
    """When that is forgotten, seconds."""
    sightings: int = 0
    """Frames in which somebody was."""
    seconds: Fraction = Fraction(0)
    """For how long."""


class LyingHeads:
    """Tells whether heads lie, and remembers how those lay that were seen."""

    def __init__(self, look: SecondLook, close_look: CloseLook | None) -> None:
        """close_look: None where there is no third network; then nobody lies."""
        self._look, self._close_look = look, close_look
        self._remembered: dict[int, _Remembered] = {}
        """By turn."""
        self._last: Fraction | None = None

    def forget(self) -> None:
        """The next frame has nothing to do with the last."""
        self._remembered, self._last = {}, None

    def begins(self, planes: Planes, candidate: Candidate, others: Sequence[Box], places: Sequence[Place]) -> bool:
        """Whether somebody new lies where the detector saw something in a turned picture. others, places: as for
        `found`."""
        lately = [place for place in places if place.region is not None or place.missed <= WAITED_FOR]
        shared = overlap(np.array([candidate.box]), np.array([one.raw for one in lately]).reshape(-1, 4))[0]
        if candidate.score < _CLEAR or shared.max(initial=0.0) >= SAME_FACE:
            return False  # who is known there is tried in all turns by and by
        return self.found(planes, candidate.box, candidate.turn, others, places) is not None

    def found(
        self,
        planes: Planes,
        box: Box,
        turn: int,
        others: Sequence[Box],
        places: Iterable[Place],
        own: Place | None = None,
    ) -> Keypoints | None:
        """What the second network sees in a box, pixels, after so many quarter turns, if the third one sees a face
        there, too: in one of three turns the two others see one in much that is none.

        others: boxes of other faces that are known. places: all that are known of the frame; own: the one that is asked
        about, if it is known.
        """
        found = self._look.near(planes, box, others, turn)
        if found is None or self._close_look is None:
            return None
        least, clearer, bar = self._bars(turn, places, own)
        if found.score < least:
            return None
        there = as_detected(found.box)
        said = self._close_look(planes, there, turn)
        if said is None or said < bar:
            return None
        upright = self._close_look(planes, there) if turn else None
        return found if upright is None or said >= upright + clearer else None

    def _bars(self, turn: int, places: Iterable[Place], own: Place | None) -> tuple[float, float, float]:
        """What a head in this turn needs: the second network's score, by how much the third one is surer of it than of
        one that stands, and that one's opinion."""
        lately = (place for place in places if place is not own and place.missed <= WAITED_FOR)
        sure = [place for place in lately if place.believed >= SURE]
        stand = sum(not place.turn for place in sure)
        hang = sum(place.turn == place.lies == UPSIDE_DOWN for place in sure)
        if turn != UPSIDE_DOWN or hang > stand:
            return 0.0, _CLEARER, _LYING
        return _SEEN, _MUCH_CLEARER, _BESIDE if stand else _LYING

    def noted(self, places: Iterable[Place], time: Fraction) -> Collection[int]:
        """The turns in which people are looked for as often as upright, 0 among them, after a frame of a time in
        seconds, with the places that are known in it."""
        step = Fraction(0) if self._last is None else min(max(time - self._last, Fraction(0)), _STEP)
        if self._last is not None and time < self._last:  # a clock that went back
            for one in self._remembered.values():
                one.until += time - self._last
        self._last = time
        for turn in {place.turn for place in places if _lies(place)}:
            one = self._remembered.setdefault(turn, _Remembered(time))
            one.sightings, one.seconds = one.sightings + 1, one.seconds + step
            one.until = max(one.until, time + min(max(_TIMES * one.seconds, _LEAST), _MOST))
        self._remembered = {turn: one for turn, one in self._remembered.items() if one.until > time}
        usual = {turn for turn, one in self._remembered.items() if one.sightings >= _SIGHTINGS}
        return [0, *(turn for turn in TURNS if turn in usual)]


def _lies(place: Place) -> bool:
    """Whether somebody is seen in a place who lies as all networks saw it."""
    sure = place.believed >= SURE and place.possible and not place.second
    return sure and not place.missed and place.turn == place.lies > 0
