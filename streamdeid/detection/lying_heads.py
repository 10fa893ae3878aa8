"""Tells whether a head tilts, lies or is upside down, and in which turned pictures to look for more that lie.

The detector and the second and third networks see faces only where the faces stand about upright in the picture. So a
head that lies is seen in turned pictures (`quarter_turns`). There are three turned pictures for one upright picture,
and in each of them the networks see faces where there are none. So all three networks have to agree, and turned
pictures are searched seldom, until a person is seen in one. Then there may be others: patients in beds, or all people
before a camera that hangs upside down. A head that tilts is seen by the detector as it is, and by the other networks
when it is straightened (`upright_view`); the same rule holds for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Keypoints
from streamdeid.core.frames import Planes
from streamdeid.detection.candidates import Candidate, shows_one_of
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.five_points import as_detected
from streamdeid.detection.matching import SURE
from streamdeid.detection.places import WAITED_FOR, Place
from streamdeid.detection.quarter_turns import TURNS, UPSIDE_DOWN
from streamdeid.detection.second_look import SecondLook, likeness
from streamdeid.detection.upright_view import upright_turn

_CLEAR = 0.45
"""Score from which a candidate in a turned picture is looked at closely. A fainter candidate is hardly ever a head
there, and a head that the detector also sees upright is tried in all turns anyway."""
_LYING = 1.6
"""The third network's opinion from which a head lies on its side. Nearly all labelled heads in turned pictures have 1.7
and more; most looks at a jacket's print, hands and a bicycle's lamp have 1.2 to 1.5."""
_CLEARER = 0.3
"""By how much the third network then has to be surer of a head on its side than of an upright head."""
_SEEN, _MUCH_CLEARER = 0.75, 1.0
"""The least score of the second network for a head upside down, and by how much the third network has to be surer of it
than of an upright head. Both hold unless more people are seen upside down than upright: then the camera hangs so. Of 49
looks at true heads that the third network believes, 46 and 47 have more. A drawn rabbit had 0.69 and a jacket's print
once 0.8 (cartoon_no_faces and friends2, the only ones of 32 clips in which anything was taken for such a head)."""
_BESIDE = 2.0
"""The least opinion of the third network for such a head while another person is upright, or was in the last frames.
That print had up to 1.9; nearly half of the looks at true heads have more."""
_SEVERAL = 2
"""Opinions of the third network from which its belief in a face is relied on for points."""
_SIGHTINGS = 3
"""Frames in which a lying head was seen, from which others are looked for in that turn. So an object that is taken for
a head for a moment costs nothing."""
_TIMES, _LEAST, _MOST = 10, Fraction(10), Fraction(600)
"""How long others are looked for in a turn: so many times as long as heads were seen in it, but at least and at most so
many seconds."""
_STEP = Fraction(1)
"""The most seconds from one frame to the next that count as seen."""


@dataclass
class _Remembered:
    """When and how long heads were seen in a turn."""

    until: Fraction
    """Time at which the turn is forgotten, seconds."""
    sightings: int = 0
    """Frames in which a head was seen."""
    seconds: Fraction = Fraction(0)
    """How long heads were seen."""


class LyingHeads:
    """Tells whether heads tilt or lie, and remembers in which turns lying heads were seen."""

    def __init__(self, look: SecondLook, close_look: CloseLook | None) -> None:
        """close_look: None where there is no third network; then no head counts as lying."""
        self._look, self._close_look = look, close_look
        self._remembered: dict[int, _Remembered] = {}
        """By turn."""
        self._last: Fraction | None = None

    def forget(self) -> None:
        """Forget all turns: the next frame has nothing to do with the last."""
        self._remembered, self._last = {}, None

    def begins(self, planes: Planes, candidate: Candidate, others: Sequence[Box], places: Sequence[Place]) -> bool:
        """Whether a new person lies where the detector saw a candidate in a turned picture. others, places: as for
        `found`."""
        lately = [place for place in places if place.region is not None or place.missed <= WAITED_FOR]
        if candidate.score < _CLEAR or shows_one_of(candidate.box, [one.raw for one in lately]):
            return False  # a known place is tried in all turns anyway, in time
        return self.found(planes, candidate.box, candidate.turn, others, places) is not None

    def found(
        self,
        planes: Planes,
        box: Box,
        turn: float,
        others: Sequence[Box],
        places: Iterable[Place],
        own: Place | None = None,
    ) -> Keypoints | None:
        """The face that the second network sees in a turned box; None unless the third network sees a face there, too.

        In one of the three turned pictures the other two networks see a face in many things that are none. box: pixels;
        turn: quarter turns (`upright_turn`). others: boxes of other known faces. places: all known places of the frame;
        own: the place of this box, if it is known.
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

    def _bars(self, turn: float, places: Iterable[Place], own: Place | None) -> tuple[float, float, float]:
        """What a head in this turn needs at least: the second network's score, by how much the third network is surer
        of it than of an upright head, and the third network's opinion."""
        lately = (place for place in places if place is not own and place.missed <= WAITED_FOR)
        sure = [place for place in lately if place.believed >= SURE]
        stand = sum(not place.turn for place in sure)
        hang = sum(place.turn == place.lies == UPSIDE_DOWN for place in sure)
        if round(turn) % 4 != UPSIDE_DOWN or hang > stand:
            return 0.0, _CLEARER, _LYING
        return _SEEN, _MUCH_CLEARER, _BESIDE if stand else _LYING

    def other_turns(self, planes: Planes, place: Place, turns: Sequence[int]) -> Iterator[float]:
        """Turns in which the head of a place in doubt may be seen, the likeliest first: straightened, if the detector
        saw it tilted, then those of the given quarter turns in which the second network sees one."""
        tilted = upright_turn(place.roll, place.turn)
        if turns and tilted not in (place.turn, place.upright):
            yield tilted
        yield from self._look.turns(planes, place.raw, turns)

    def likelier(
        self, planes: Planes, place: Place, found: Keypoints | None, others: Sequence[Box], upright: bool
    ) -> Keypoints | None:
        """The likelier keypoints of a place: those found in its turn, or in another one. Corrects the place's turn.

        Where an upright tile sees a head that should lie (upright), those of an upright head are compared: a profile's
        mesh can lean like a lying head's. If they are likelier, the place's turn is 0. Where the detector sees a face
        tilted that the third network is sure of, those of the straightened head are compared: else points of many
        tilted heads are read as of upright ones, and a face was rendered beside the head. The place is not looked at
        straightened because of that: a jacket's print that was believed for a moment was believed for long.
        """
        if place.turn and upright:
            standing = self._look.keypoints(planes, place.raw, others)
            if likeness(standing) > likeness(found):
                found, place.turn, place.lies = standing, 0, 0
        tilted = upright_turn(place.roll, place.turn)
        if place.believed >= SURE and place.opinions >= _SEVERAL and tilted not in (place.turn, place.upright):
            straight = self._look.keypoints(planes, place.raw, others, tilted)
            if likeness(straight) > likeness(found):
                found = straight
        return found

    def noted(self, places: Iterable[Place], time: Fraction) -> Collection[int]:
        """The turns in which people are now looked for as often as upright, 0 among them. places: the known places of a
        frame; time: of this frame, seconds."""
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
    """Whether a head is seen in a place and lies as all networks saw it."""
    sure = place.believed >= SURE and place.possible and not place.second
    return sure and not place.missed and place.turn == place.lies > 0
