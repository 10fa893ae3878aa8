"""The look-ahead's record of a track: where its face was seen, how surely, and the third network's opinions."""

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
"""Number of the third network's opinions whose better half tells whether there is a face (`NO_FACE`)."""
_FEWER = {1: 0.3, 2: 0.5, 3: 0.9}
"""By number of opinions, if they are fewer: mean of the better half below which there is no face. Of 701 single looks
at faces one is below the first."""
_MANY, _SELDOM = 6, 0.8
"""Number of last opinions, and their mean below which there is no face in spite of one lucky opinion before, if the two
other networks were never certain. Of 107 tracks of heads in eight clips, labelled by eye, no track meets both
conditions; a glove on a handlebar (mean 0.69, once 2.0) and a jacket (0.73) do, both in one of the clips that chose
this; no other clip had such a track."""
CERTAIN = 0.7
"""Evidence of the two other networks that one or two opinions cannot outweigh: a face of 170 pixels, half dissolved
into the next scene, had 0.78, and 0.2 of the third network's bar (subway_cctv_three)."""
USUAL, _RANK = 7, 2
"""A lost face gets the usual size of so many sightings: the largest but so many. The detector's box is up to twice as
large as the face for a frame or two, and smaller for longer where something hides a part of the face. With the largest
box ever, or the next one to come, redactions lay over two heads (subway_cctv_three)."""


@dataclass(frozen=True)
class Sighting:
    """A track's face in one frame."""

    index: int
    place: LostPlace
    evidence: float
    surveyed: float | None = None
    """The third network's opinion of it; None where there is none."""


@dataclass
class KnownTrack:
    """The record of one track."""

    start: int
    """Number of the frame in which the track starts."""
    scene: int
    sightings: deque[Sighting] = field(default_factory=deque)
    """Sightings from a second before the frame shown last to the newest frame."""
    face: bool = False
    """Whether the track is or was evidently a face."""
    gone: bool = False
    """Whether, around the frame shown last, all three networks see no face in it."""
    sure: int = 0
    """Number of its sightings with enough evidence alone."""
    surest: float = 0.0
    """Highest evidence of its sightings."""
    opinions: deque[float] = field(default_factory=lambda: deque(maxlen=_MANY))
    """The third network's last opinions ..."""
    best: float | None = None
    """... and the highest mean ever of the better half of `_OPINIONS` in a row. None before there are so many."""
    last_sides: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=USUAL))
    """Sides of its last faces in frames that are settled, pixels."""
    beside: set[int] = field(default_factory=set)
    """Tracks on or near whose faces its own face was seen; two networks were sure of those faces."""
    unlooked: int = -1
    """The last frame in which no look was taken at its expected place, since a look in the frame before saw nothing."""
    path: deque[LostPlace] = field(default_factory=lambda: deque(maxlen=MOTION))
    """Its last places in frames that were shown, by sightings and patches."""
    seen: float = 0.0
    """Time when its face was last seen in a frame that was shown."""
    lost: bool = False
    """Whether its patch was lost since then."""
    held: bool = False
    """Whether, in the frame shown last, the patch led from one sighting to the next."""
    perhaps: int = 0
    """Frames for which its place keeps a redaction, since a look saw something there."""
    covered: int = -1
    """The last frame in which its place was protected after it was looked at again, whether it was seen or not."""
    nothing: int = 0
    """Frames since a look at its place saw nothing, including that frame; 0 where the last look saw something."""
    trail: dict[float, Floats] | None = None
    """By time: where its patch was found before the next sighting; None until it was searched for ..."""
    trail_of: int = 0
    """... and the number of that sighting's frame."""
    again: int = 0
    """Number of the frame of the first sighting after a gap ..."""
    back: dict[float, Floats] = field(default_factory=dict)
    """... and, by time, where its patch was found before that sighting, within the gap."""

    def away(self, time: float) -> float:
        """Seconds from a time to the nearest sighting."""
        return min((abs(one.place.time - time) for one in self.sightings), default=math.inf)

    def to_come(self, index: int, most: int = MOTION) -> list[Sighting]:
        """The first sightings after a frame, `most` of them at most; by default as many as a motion is derived from."""
        return list(islice((one for one in self.sightings if one.index > index), most))

    def sides_to_come(self, index: int) -> tuple[float, float]:
        """Usual sides of its first faces after a frame, pixels; there must be at least one."""
        return usual([one.place.sides for one in self.to_come(index, USUAL)])

    def sighted(self, place: LostPlace, again: bool = False) -> None:
        """Note a face in a frame that is shown. again: whether it was found by looking at that frame again."""
        self.path.append(place)
        self.seen, self.lost = place.time, False
        # A second look can see a larger person, so its sides count only if none are known: places need a size.
        if not again or not self.last_sides:
            self.last_sides.append(place.sides)

    @property
    def sides(self) -> tuple[float, float]:
        """Usual sides of its last faces in frames that are settled, pixels; there must be at least one."""
        return usual(self.last_sides)

    def opined(self, opinion: float) -> None:
        """Note an opinion of the third network."""
        self.opinions.append(opinion)
        if len(self.opinions) >= _OPINIONS:
            self.best = max(self.best or 0.0, self.liked)

    @property
    def liked(self) -> float:
        """Mean of the better half of the third network's last opinions; 0 where there are none. The better half is used
        because a box sometimes slips off a face, and faces turn away."""
        return _better_half(list(self.opinions)[-_OPINIONS:])

    @property
    def shows(self) -> bool:
        """Whether the track is protected as a face."""
        return self.face and not self.gone

    def gone_from(self, around: Sequence[Sighting]) -> bool:
        """Whether the third network sees no face, or no face any more, in these sightings: it slid to a wall, say."""
        said = [one.surveyed for one in around if one.surveyed is not None]
        return len(said) >= _OPINIONS and _better_half(said) < _FEWER[1]

    @property
    def never(self) -> bool:
        """Whether the third network judged the track, and its opinions show no face."""
        if len(self.opinions) == _MANY and sum(self.opinions) < _SELDOM * _MANY and self.surest < CERTAIN:
            return True
        if self.best is not None:
            return self.best < NO_FACE
        count = len(self.opinions)
        return count > 0 and self.liked < _FEWER[count] and (count > 2 or self.surest < CERTAIN)


def usual(sides: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The usual sides of some faces, from the sides (width, height) of each."""
    rank = min(_RANK, (len(sides) - 1) // 2)
    across, down = (sorted(one, reverse=True)[rank] for one in zip(*sides, strict=True))
    return across, down


def _better_half(values: Sequence[float]) -> float:
    """Mean of the better half of some values; 0 for no values."""
    better = sorted(values)[len(values) // 2 :]
    return sum(better) / max(len(better), 1)
