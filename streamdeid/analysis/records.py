"""What is known of a recording after it was filtered: what was found in each frame and what was decided of it.

This is what `--analysis` keeps: no pictures and no identity vectors. Review, edits and rendering parts of a recording
again work on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face

VERSION = 4
"""Of what is kept, and of the files that are written. Version 1 had no keypoints, no surveys and no sides, version 2 no
faces that were found by looking again; tracks of version 3 did not go along with a camera that moves."""


@dataclass(frozen=True)
class RecordedDecision:
    """How one place of a frame was protected."""

    track: int
    """Number of the track, from 1; 0 for a place that is no track's (a fixed region)."""
    tracklet: int
    """Number of the tracklet, from 1; 0 where the track was not there yet (a place that the look-ahead covers)."""
    person: int
    """Who it is, as far as that was known when it was rendered; 0 for nobody."""
    level: str
    """Protection level (`core.frames.Redaction.level`); "shown" for a face left as it is."""
    cause: str
    """Why no better level (`protect.levels.Cause`); empty where there is none."""
    box: Box
    """x0, y0, x1, y1 in pixels: what was changed lies in here."""
    place: Box
    """Box of the track (`core.faces.Track.box`)."""
    face: int | None
    """Which of the frame's `found` it is; None where the face was lost."""
    missed: int
    ambiguous: bool
    near: bool
    """As in `core.faces.Track`."""
    sides: tuple[float, float] | None = None
    """As in `core.faces.Track`: how large a lost face was."""
    cut: bool = False
    """As in `core.faces.Track`."""


@dataclass(frozen=True)
class FrameRecord:
    """One frame of the recording."""

    time: Fraction
    """Presentation time in seconds, exact."""
    scene: int
    """Number of its scene, from 0: it rises by one at each cut."""
    found: Sequence[Face]
    """All that the detector found, in its order, with candidates that nothing came of."""
    decisions: Sequence[RecordedDecision]


@dataclass(frozen=True)
class ChosenSurrogate:
    """Which surrogate a person got: with the key it can be made again, without it this says nothing."""

    label: str
    """Class that was preserved, such as "female"; empty without."""
    attempt: int
    """Number of the proposal that was taken, from 0 (`surrogates.choice`)."""
    tracklet: int = 0
    """That it was proposed for, before it was known who it shows; 0 for one that was proposed for a person."""


@dataclass(frozen=True)
class Side:
    """A file that the analysis is about."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class AnalysisHeader:
    """What a recording was analysed with. Known before its first frame."""

    input: Side
    width: int
    height: int
    rate: Fraction
    """Average frames per second."""
    settings: Mapping[str, str | float | int | bool | Sequence[str] | None]
    """What the analysis depends on, by name; compared as a whole."""
    model_sha256: str
    gallery_sha256: str


@dataclass(frozen=True)
class AnalysisEnd:
    """What is known when the last frame is done."""

    surrogates: Mapping[int, ChosenSurrogate]
    """By person."""
    output: Side | None
    """What was published; None where nothing was."""
    key_check: str
    """Tells, to who has it, whether a key is the one that was used: 16 hexadecimal digits; empty for a key that was
    forgotten."""
    seal: str = ""
    """Tells, to who has the key, that nothing of the file was changed: 64 hexadecimal digits; empty without a key."""
    provisional: Mapping[int, ChosenSurrogate] = field(default_factory=dict)
    """By tracklet: what was shown while it was not known who it is."""


@dataclass(frozen=True)
class Analysis:
    """A whole analysis."""

    header: AnalysisHeader
    frames: Sequence[FrameRecord]
    """May read them from the file as they are asked for."""
    end: AnalysisEnd
    version: int = VERSION
    """Of the file that it was read from."""
