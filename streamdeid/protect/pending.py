"""A frame that waits to be rendered: one value that carries everything known about it.

`observe` fills it, and later frames may still clear a doubt about it. `settle` adds who is shown; `decide` and `render`
use that. Nothing else stores what is to be decided about the frame. Only the look-ahead keeps a small copy of its
picture, in which it follows heads.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame
from streamdeid.observe.observation import Observation
from streamdeid.observe.opening import Opening
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect.levels import Cause
from streamdeid.tracking.noted import Noted

if TYPE_CHECKING:
    from streamdeid.protect.standing import Standing

Origin = TypeVar("Origin")


@dataclass(frozen=True)
class Measured:
    """What is measured of a face in one frame."""

    seen: Observation
    severities: Mapping[Cause, float]
    """How far each rule's signal goes (`levels`)."""
    opening: Opening | None
    """Where something before the face may stay visible; None where nothing may."""


@dataclass
class SeenTrack:
    """What is known of one track in a frame."""

    tracklet: int
    ambiguous: bool
    """Whether it is unclear who the track shows, as far as is known by now: a later frame may clear that up."""
    measured: Measured | None = None
    """None where no face could be measured."""
    posed: PosedView | None = None
    """The pose of the head; None where nothing tells it."""


@dataclass(eq=False)
class PendingFrame(Generic[Origin]):
    """A frame that was analysed and waits to be rendered, with all that is known of it."""

    frame: Frame
    tracks: Sequence[Track]
    """As the tracker gave them."""
    origin: Origin
    """What the source of the frame knows about it, such as when it came from the camera."""
    found: Sequence[Face] = ()
    """All faces that the detector found."""
    room: int = sys.maxsize
    """How many more tracklets may get a provisional face in this frame: few where time is short."""
    camera: CameraMotion | None = None
    """How the camera moved since the frame before; None where it did not move, or where that cannot be told."""
    scene: int = 0
    """Number of its scene: another one after each cut, 0 where cuts are not told."""
    regions: list[Box] = field(default_factory=list)
    """Boxes, pixels, that are filled after it is rendered."""
    noted: Noted | None = None
    """What the look-ahead needs of the frame."""
    covered: Sequence[Track] | None = None
    """The tracks that are protected, with what was found when the frame was looked at again; None while that is not
    settled, and where nothing settles it."""
    seen: dict[int, SeenTrack] = field(default_factory=dict)
    """By track."""
    certain: dict[int, tuple[Face, int]] = field(default_factory=dict)
    """By track: a face that was recognised beyond doubt, and the number of its person on the whitelist."""
    left: set[int] = field(default_factory=set)
    """Tracks that stay unprotected; known once the frame is settled."""
    standings: Mapping[int, Standing] = field(default_factory=dict)
    """By track that is due: what is settled about it, for `decide`."""

    @property
    def known(self) -> Sequence[Track]:
        """The tracks of the frame, as far as is known by now."""
        return self.tracks if self.covered is None else self.covered

    def observed(self, track: int) -> bool:
        """Whether the detector saw the face of a track in this frame, without looking again."""
        return _sees(self.tracks, track)

    def sees(self, track: int) -> bool:
        """Whether the face of a track is seen in this frame, as far as is known by now, also by looking again."""
        return _sees(self.known, track)

    def ambiguous(self, track: int) -> bool:
        """Whether it is unclear who a track shows, as far as is known by now; True for an unknown track."""
        seen = self.seen.get(track)
        return seen is None or seen.ambiguous

    def tracklet(self, track: int) -> int:
        """The tracklet of a track; 0 when the track is not in this frame."""
        seen = self.seen.get(track)
        return 0 if seen is None else seen.tracklet


def _sees(tracks: Sequence[Track], number: int) -> bool:
    return any(one.number == number and one.face is not None for one in tracks)


Waiting = Sequence[PendingFrame[Any]]
"""Frames that wait, the oldest first."""
