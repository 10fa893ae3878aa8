"""What is known about a recording after filtering: the faces found in each frame and the decisions about them.

`--analysis` keeps these records. They hold no pictures and no identity vectors. Reviewing, editing and rendering parts
of a recording again all use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face

VERSION = 4
"""Version of these records and of the files that are written. Version 1 had no keypoints, no surveys and no sides;
version 2 had no faces that were found by looking again; in version 3 tracks did not follow a moving camera."""


@dataclass(frozen=True)
class RecordedDecision:
    """How one place of a frame was protected."""

    track: int
    """Number of the track, from 1; 0 for a place that belongs to no track (a fixed region)."""
    tracklet: int
    """Number of the tracklet, from 1; 0 before the track began (a place that the look-ahead redacts)."""
    person: int
    """Number of the person, as far as it was known when the frame was rendered; 0 if it was not known."""
    level: str
    """Protection level (`core.frames.Redaction.level`); "shown" for a face left as it is."""
    cause: str
    """Why the place did not get a better level (`protect.levels.Cause`); empty where there is no such cause."""
    box: Box
    """x0, y0, x1, y1 in pixels: all changed pixels lie in this box."""
    place: Box
    """Box of the track (`core.faces.Track.box`)."""
    face: int | None
    """Index of the face in the frame's `found`; None where the face was lost."""
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
    """All faces that the detector found, in its order, also candidates that no decision refers to."""
    decisions: Sequence[RecordedDecision]


@dataclass(frozen=True)
class ChosenSurrogate:
    """The choice of a surrogate: with the key the surrogate can be made again; without the key this tells nothing."""

    label: str
    """Class that was preserved, such as "female"; empty if none was."""
    attempt: int
    """Number of the proposal that was taken, from 0 (`surrogates.choice`)."""
    tracklet: int = 0
    """Tracklet that the surrogate was proposed for, before its person was known; 0 if it was proposed for a person."""


@dataclass(frozen=True)
class Side:
    """A file that the analysis is about."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class AnalysisHeader:
    """The recording, the settings and the models of an analysis; all of this is known before the first frame."""

    input: Side
    width: int
    height: int
    rate: Fraction
    """Average frames per second."""
    settings: Mapping[str, str | float | int | bool | Sequence[str] | None]
    """The settings that the analysis depends on, by name; they are compared as a whole."""
    model_sha256: str
    gallery_sha256: str


@dataclass(frozen=True)
class AnalysisEnd:
    """The part of an analysis that is known only after the last frame."""

    surrogates: Mapping[int, ChosenSurrogate]
    """The surrogate of each person, by the person's number."""
    output: Side | None
    """The published file; None where nothing was published."""
    key_check: str
    """16 hexadecimal digits by which the holder of a key can check whether it is the one that was used; empty if the
    key was not kept."""
    seal: str = ""
    """64 hexadecimal digits by which the holder of the key can check that nothing in the file was changed; empty
    without a key."""
    provisional: Mapping[int, ChosenSurrogate] = field(default_factory=dict)
    """Provisional surrogates, by tracklet: what was shown while the person was not yet known."""


@dataclass(frozen=True)
class Analysis:
    """A whole analysis."""

    header: AnalysisHeader
    frames: Sequence[FrameRecord]
    """The frames; this sequence may read each one from the file when it is asked for."""
    end: AnalysisEnd
    version: int = VERSION
    """Version of the file that the analysis was read from."""
