"""What the look-ahead knows of a track: where its face was seen, how sure that was, and what the third network said."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from streamdeid.core.arrays import Floats
from streamdeid.core.faces import NO_FACE
from streamdeid.tracking.lost_faces import MOTION, LostPlace

_OPINIONS = 4
"""Opinions of the third network whose better half tells whether there is a face (`NO_FACE`)."""
_FEWER = {1: 0.3, 2: 0.5, 3: 0.9}
"""The same of fewer, below which there is none: of 701 single looks at faces one is below the first."""
_MANY, _SELDOM = 6, 0.8
"""Last opinions, and their mean below which a lucky one before is none, if the others were never certain. Of 107 tracks
of heads in eight clips, labelled by eye, no one's mean is below and the others never certain; a glove on a handlebar
(0.69 in the mean, 2.0 once) and a jacket (0.73) are, both in one of the clips that chose this; no other clip had such a
track."""
CERTAIN = 0.7
"""Evidence of the two others against which one or two say nothing: a face of 170 pixels, half dissolved into the next
scene, had 0.78, and 0.2 of the third network's bar (subway_cctv_three)."""
USUAL, _RANK = 7, 2
"""Sightings whose usual size a lost face has: the largest but so many, since the detector's box is up to twice the face
for a frame or two, and smaller for longer where something hides a part of it. With the largest one ever, or the next
one to come, redactions hung over two heads (subway_cctv_three)."""


@dataclass(frozen=True)
class Sighting:
    """A track's face in one frame."""

    index: int
    place: LostPlace
    evidence: float
    surveyed: float | None = None
    """What the third network said of it."""


@dataclass
class KnownTrack:
    """What is known of a track."""

    start: int
    """Number of the frame that it starts in."""
    scene: int
    sightings: deque[Sighting] = field(default_factory=deque)
    """From a second before the frame shown last to the newest frame."""
    face: bool = False
    """Whether it is evidently a face, or was."""
    gone: bool = False
    """Whether, about the frame shown last, all three networks see none in it."""
    sure: int = 0
    """Its sightings that by themselves were."""
    surest: float = 0.0
    """Evidence of the surest of them."""
    opinions: deque[float] = field(default_factory=lambda: deque(maxlen=_MANY))
    """What the third network said of it last ..."""
    best: float | None = None
    """... and the most that the mean of the better half of so many in a row was. None before there are as many."""
    last_sides: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=USUAL))
    """Sides of its last faces in frames that are settled, pixels."""
    beside: set[int] = field(default_factory=set)
    """Tracks whose faces, of which two networks were sure, its own was seen on or near."""
    unlooked: int = -1
    """The last frame in which nobody looked where it was expected, since nothing had been seen in the one before."""
    path: deque[LostPlace] = field(default_factory=lambda: deque(maxlen=MOTION))
    """Its last places in frames that were shown, by sightings and patches."""
    seen: float = 0.0
    """When its face was last seen in a frame that was shown."""
    lost: bool = False
    """Whether its patch was lost since."""
    held: bool = False
    """Whether, in the frame shown last, the patch led from a sight of it to the next one."""
    perhaps: int = 0
    """Frames for which its place stays covered, since a look saw something there."""
    nothing: int = 0
    """Frames since a look at its place saw nothing, that one included; 0 where it did not."""
    trail: dict[float, Floats] | None = None
    """Where its patch was found in frames before the first sighting to come; None until it was looked for ..."""
    trail_of: int = 0
    """... and the number of that sighting's frame."""
    again: int = 0
    """Number of the frame of the sighting after a gap ..."""
    back: dict[float, Floats] = field(default_factory=dict)
    """... and where its patch was found before that, within the gap."""

    def away(self, time: float) -> float:
        """Seconds from a time to the nearest sighting."""
        return min((abs(one.place.time - time) for one in self.sightings), default=math.inf)

    def to_come(self, index: int, most: int = MOTION) -> list[Sighting]:
        """The first sightings after a frame, as many as motion is read from, or so many."""
        return list(islice((one for one in self.sightings if one.index > index), most))

    def sides_to_come(self, index: int) -> tuple[float, float]:
        """Usual sides of its first faces after a frame, of which there is one at least, pixels."""
        return usual([one.place.sides for one in self.to_come(index, USUAL)])

    def sighted(self, place: LostPlace, again: bool = False) -> None:
        """Note a face in a frame that is shown. again: it was seen when that frame was looked at again."""
        self.path.append(place)
        self.seen, self.lost = place.time, False
        # A look can see somebody larger; but without any sides the places that follow were boxes of no size.
        if not again or not self.last_sides:
            self.last_sides.append(place.sides)

    @property
    def sides(self) -> tuple[float, float]:
        """Usual sides of its last faces in frames that are settled, of which there is one at least, pixels."""
        return usual(self.last_sides)

    def opined(self, opinion: float) -> None:
        """Note what the third network said of it."""
        self.opinions.append(opinion)
        if len(self.opinions) >= _OPINIONS:
            self.best = max(self.best or 0.0, self.liked)

    @property
    def liked(self) -> float:
        """Mean of the better half of what the third network said last; 0 where it said nothing. The better half, since
        a box slips off a face now and then, and faces turn away."""
        return _better_half(list(self.opinions)[-_OPINIONS:])

    @property
    def shows(self) -> bool:
        """Whether it is covered as a face."""
        return self.face and not self.gone

    def gone_from(self, around: Sequence[Sighting]) -> bool:
        """Whether the third network sees no face in some sightings of it, or no longer: it went over to a wall, say."""
        said = [one.surveyed for one in around if one.surveyed is not None]
        return len(said) >= _OPINIONS and _better_half(said) < _FEWER[1]

    @property
    def never(self) -> bool:
        """Whether the third network looked at it and never saw a face."""
        if len(self.opinions) == _MANY and sum(self.opinions) < _SELDOM * _MANY and self.surest < CERTAIN:
            return True
        if self.best is not None:
            return self.best < NO_FACE
        count = len(self.opinions)
        return count > 0 and self.liked < _FEWER[count] and (count > 2 or self.surest < CERTAIN)


def usual(sides: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The usual ones of some faces' sides."""
    rank = min(_RANK, (len(sides) - 1) // 2)
    across, down = (sorted(one, reverse=True)[rank] for one in zip(*sides, strict=True))
    return across, down


def _better_half(values: Sequence[float]) -> float:
    """Mean of the better half of some values; 0 for none."""
    better = sorted(values)[len(values) // 2 :]
    return sum(better) / max(len(better), 1)
