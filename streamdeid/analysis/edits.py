"""What somebody who looked at a recording changed: values that are listed, undone and written beside the recording.

Frames are counted from 0; `first` is the first that an edit is about, `last` the last (inclusive), None for the
recording's last frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamdeid.core.arrays import Box


@dataclass(frozen=True)
class Span:
    """Frames from `first` to `last`, both included; last None: to the end."""

    first: int
    last: int | None


@dataclass(frozen=True)
class ShowPerson:
    """Leave a person visible; where somebody else's place overlaps, both stay covered."""

    person: int
    span: Span


@dataclass(frozen=True)
class CoverPerson:
    """Cover a person again who is shown by an earlier edit."""

    person: int
    span: Span


@dataclass(frozen=True)
class CoverPlace:
    """Cover a place that a hand drew: one box for each frame of a row, followed by its patch or set as key frames."""

    number: int
    """Of the place, from 1; a later edit of the same number replaces it."""
    keys: Sequence[tuple[int, Box]]
    """Frames in which a hand set the box, rising, at least one."""
    first: int
    boxes: Sequence[Box]
    """By frame, from `first` on, x0, y0, x1, y1 in pixels; at least one."""


@dataclass(frozen=True)
class RemoveRedaction:
    """Take a false redaction away: that of a track, in some frames."""

    track: int
    span: Span


@dataclass(frozen=True)
class JoinPersons:
    """Two are one: whoever was `other` is `person` now."""

    person: int
    other: int


@dataclass(frozen=True)
class PartPerson:
    """One is two: from a frame on, the tracklets of `person` that begin there or later are a new person's."""

    person: int
    first: int
    new: int
    """Number of the new person, larger than any before."""


@dataclass(frozen=True)
class AnotherSurrogate:
    """Give a person another face."""

    person: int


@dataclass(frozen=True)
class CoverRegion:
    """Fill a fixed region over some frames, solidly."""

    box: Box
    span: Span


Edit = (
    ShowPerson | CoverPerson | CoverPlace | RemoveRedaction | JoinPersons | PartPerson | AnotherSurrogate | CoverRegion
)


@dataclass(frozen=True)
class Rendered:
    """An output that holds some of the edits."""

    output_sha256: str
    edits: tuple[Edit, ...]
    """Those that it holds, in their order."""
    seal: str = ""
    """Tells, to who has the run's key, that this was written with it: 64 hexadecimal digits; empty without a key."""


@dataclass(frozen=True)
class Edits:
    """All edits of one recording."""

    input_sha256: str
    frames: int
    """Of the recording."""
    done: tuple[Edit, ...] = ()
    """In effect, in the order in which they were made."""
    undone: tuple[Edit, ...] = ()
    """Undone ones that can be made again, the next first."""
    looked_at: tuple[str, ...] = ()
    """Doubts that were looked at, by their names."""
    reviewer: str = ""
    """Who, where that is to be told."""
    reviewed: str = ""
    """When, ISO 8601, where that is to be told."""
    rendered: Rendered | None = None
    places_sha256: str = ""
    """`Places.fingerprint` of the analysis that they were made on: in that of another run the numbers of tracks and
    persons mean others. Empty where a tool that wrote them did not know it."""
