"""Stretches: the frames over which a track is covered without a break, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamdeid.core.arrays import Box, Flags, Floats, Ints
from streamdeid.core.faces import SURE
from streamdeid.review.columns import Columns

_LIKE_A_FACE = 0.4, 0.8
"""Evidence at which a sighting says nothing for a face, and at which it says all."""
_PLENTY = 5
"""Sightings from which their number says no more for a face."""


@dataclass(frozen=True)
class Stretch:
    """A track in consecutive frames of one scene."""

    track: int
    frames: Ints
    """int64 (n,), one by one."""
    places: Floats
    """float64 (n, 4): box of the track, pixels."""
    boxes: Floats
    """float64 (n, 4): what was changed."""
    seen: Flags
    """(n,): whether the detector saw the face in the frame."""
    evidence: Floats
    """(n,), of a face that was seen, else 0."""
    presence: Floats
    """(n,), the landmarker's, 0 without landmarks."""
    persons: Ints
    """(n,), 0 for nobody."""

    @property
    def first(self) -> int:
        """First frame."""
        return int(self.frames[0])

    @property
    def last(self) -> int:
        """Last frame."""
        return int(self.frames[-1])

    @cached_property
    def side(self) -> float:
        """Usual length of the places' shorter side in frames in which the face was seen, pixels."""
        rows = self.seen if self.seen.any() else np.ones_like(self.seen)
        return float(np.median(sides(self.places[rows])))

    @cached_property
    def person(self) -> int:
        """The last person that it was, 0 for nobody."""
        known = self.persons[self.persons > 0]
        return int(known[-1]) if len(known) else 0

    @cached_property
    def likeness(self) -> float:
        """How like a face it is, 0 to 1: how sure its better sightings are, whether it has landmarks, how many."""
        if not self.seen.any():
            return 0.0
        better = np.sort(self.evidence[self.seen])[int(self.seen.sum()) // 2 :]
        low, high = _LIKE_A_FACE
        sure = float(np.clip((better.mean() - low) / (high - low), 0, 1))
        landmarks = float((self.presence[self.seen] >= SURE).mean())
        often = min(float(self.seen.sum()) / _PLENTY, 1.0) * float(self.seen.mean()) ** 0.5
        return float((0.6 * sure + 0.4 * landmarks) * (0.4 + 0.6 * often))


def stretches(columns: Columns) -> list[Stretch]:
    """All stretches, by track and time."""
    rows = columns.covered
    order = np.lexsort((rows.frame, rows.track))
    track, frame = rows.track[order], rows.frame[order]
    scene = columns.scene[frame]
    breaks = (np.diff(track) != 0) | (np.diff(frame) != 1) | (np.diff(scene) != 0)
    found = columns.found
    seen = rows.face >= 0
    face = np.where(seen, rows.face, 0)
    evidence, presence = (
        np.where(seen, values[face], 0.0) if len(values) else np.zeros(len(seen))
        for values in (found.evidence, found.presence)
    )
    return [
        Stretch(
            int(rows.track[part[0]]),
            rows.frame[part],
            rows.place[part],
            rows.box[part],
            seen[part],
            evidence[part],
            presence[part],
            rows.person[part],
        )
        for part in np.split(order, np.flatnonzero(breaks) + 1)
        if len(part)
    ]


def sides(boxes: Floats) -> Floats:
    """The shorter side of boxes (n, 4), (n,)."""
    return np.asarray(np.minimum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]), dtype=np.float64)


def centres(boxes: Floats) -> Floats:
    """The middles of boxes (n, 4), (n, 2)."""
    return np.asarray((boxes[:, :2] + boxes[:, 2:]) / 2, dtype=np.float64)


def around(boxes: Floats) -> Box:
    """The box around one or more boxes (n, 4)."""
    return corners(np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)]))


def corners(box: Floats) -> Box:
    """A box (4,) as a tuple."""
    x0, y0, x1, y1 = (float(value) for value in box)
    return x0, y0, x1, y1
