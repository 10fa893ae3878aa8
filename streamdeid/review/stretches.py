"""Stretches: runs of consecutive frames in which a track is redacted, and what is known about each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamdeid.core.arrays import Box, Flags, Floats, Ints
from streamdeid.core.faces import SURE
from streamdeid.review.columns import Columns

_LIKE_A_FACE = 0.4, 0.8
"""Mean evidence that counts as no sign of a face, and mean evidence that counts fully."""
_PLENTY = 5
"""Number of sightings from which more of them do not make a face more likely."""


@dataclass(frozen=True)
class Stretch:
    """A redacted track in consecutive frames of one scene."""

    track: int
    frames: Ints
    """int64 (n,): consecutive frame numbers."""
    places: Floats
    """float64 (n, 4): box of the track, pixels."""
    boxes: Floats
    """float64 (n, 4): box of the changed pixels."""
    seen: Flags
    """(n,): whether the detector saw the face in the frame."""
    evidence: Floats
    """(n,): evidence of a face that was seen, else 0."""
    presence: Floats
    """(n,): presence by the landmarker, 0 without landmarks."""
    persons: Ints
    """(n,): person, 0 if not known."""

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
        """Median of the places' shorter side in pixels, in frames in which the face was seen, if there are any."""
        rows = self.seen if self.seen.any() else np.ones_like(self.seen)
        return float(np.median(sides(self.places[rows])))

    @cached_property
    def person(self) -> int:
        """The last known person of the stretch, 0 if none was known."""
        known = self.persons[self.persons > 0]
        return int(known[-1]) if len(known) else 0

    @cached_property
    def likeness(self) -> float:
        """How much it looks like a face, 0 to 1: by the better half's evidence, the landmarks, and how often seen."""
        if not self.seen.any():
            return 0.0
        better = np.sort(self.evidence[self.seen])[int(self.seen.sum()) // 2 :]
        low, high = _LIKE_A_FACE
        sure = float(np.clip((better.mean() - low) / (high - low), 0, 1))
        landmarks = float((self.presence[self.seen] >= SURE).mean())
        often = min(float(self.seen.sum()) / _PLENTY, 1.0) * float(self.seen.mean()) ** 0.5
        return float((0.6 * sure + 0.4 * landmarks) * (0.4 + 0.6 * often))


def stretches(columns: Columns) -> list[Stretch]:
    """All stretches, sorted by track and time."""
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
    """The shorter sides (n,) of boxes (n, 4)."""
    return np.asarray(np.minimum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]), dtype=np.float64)


def centres(boxes: Floats) -> Floats:
    """The centres (n, 2) of boxes (n, 4)."""
    return np.asarray((boxes[:, :2] + boxes[:, 2:]) / 2, dtype=np.float64)


def around(boxes: Floats) -> Box:
    """The smallest box around one or more boxes (n, 4)."""
    return corners(np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)]))


def corners(box: Floats) -> Box:
    """A box (4,) as a tuple."""
    x0, y0, x1, y1 = (float(value) for value in box)
    return x0, y0, x1, y1
