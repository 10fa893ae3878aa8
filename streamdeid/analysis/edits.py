"""The edits that a reviewer made to a recording: values that can be listed, undone and written beside the recording.

Frames are counted from 0. `first` is the first frame that an edit is about, `last` is the last one (inclusive); None
means the recording's last frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamdeid.core.arrays import Box


@dataclass(frozen=True)
class Span:
    """Frames from `first` to `last`, both included; if `last` is None, to the end of the recording."""

    first: int
    last: int | None


@dataclass(frozen=True)
class ShowPerson:
    """Leave a person visible; where another person's place overlaps, both stay redacted."""

    person: int
    span: Span


@dataclass(frozen=True)
class CoverPerson:
    """Redact a person again whom an earlier edit left visible."""

    person: int
    span: Span


@dataclass(frozen=True)
class CoverPlace:
    """Redact a place drawn by hand: one box for each of several consecutive frames.

    The boxes of key frames are set by hand; the others come from following the patch in the box."""

    number: int
    """Number of the place, from 1; a later edit with the same number replaces this one."""
    keys: Sequence[tuple[int, Box]]
    """Key frames, in which the box was set by hand, with their boxes; at least one, frame numbers rising."""
    first: int
    boxes: Sequence[Box]
    """One box for each frame, from `first` on: x0, y0, x1, y1 in pixels; at least one."""


@dataclass(frozen=True)
class RemoveRedaction:
    """Remove the false redaction of a track in some frames."""

    track: int
    span: Span


@dataclass(frozen=True)
class JoinPersons:
    """Two persons are the same: `other` becomes `person`."""

    person: int
    other: int


@dataclass(frozen=True)
class PartPerson:
    """One person is really two: the tracklets of `person` that begin at frame `first` or later become a new person."""

    person: int
    first: int
    new: int
    """Number of the new person, larger than any number of a person before."""


@dataclass(frozen=True)
class AnotherSurrogate:
    """Give a person another surrogate."""

    person: int


@dataclass(frozen=True)
class CoverRegion:
    """Fill a fixed region with one colour in some frames."""

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
    """The edits that the output holds, in their order."""
    seal: str = ""
    """64 hexadecimal digits; the holder of the run's key can check by them that this was written with that key. Empty
    without a key."""


@dataclass(frozen=True)
class Edits:
    """All edits of one recording."""

    input_sha256: str
    frames: int
    """Number of frames of the recording."""
    done: tuple[Edit, ...] = ()
    """Edits in effect, in the order in which they were made."""
    undone: tuple[Edit, ...] = ()
    """Undone edits that can be made again, the next one first."""
    looked_at: tuple[str, ...] = ()
    """Names of the doubts that were looked at."""
    reviewer: str = ""
    """The reviewer's name, if it is to be kept."""
    reviewed: str = ""
    """Time of the review, ISO 8601, if it is to be kept."""
    rendered: Rendered | None = None
    places_sha256: str = ""
    """`Places.fingerprint` of the analysis that the edits were made on: in the analysis of another run the numbers of
    tracks and persons mean other ones. Empty if the tool that wrote the edits did not know it."""
