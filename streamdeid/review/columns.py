"""A recording's redactions and sightings as columns, for looking through all of it at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.analysis.columns import AnalysisColumns
from streamdeid.core.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class Covered:
    """Redactions of tracks, by frame, (n,) or (n, 4)."""

    frame: Ints
    track: Ints
    person: Ints
    face: Ints
    """Row of `Found`; -1 where the face was lost."""
    box: Floats
    """What was changed, x0, y0, x1, y1 in pixels."""
    place: Floats
    """Box of the track, in pixels."""


@dataclass(frozen=True)
class Found:
    """All that the detector found, by frame, (m,) or (m, 4)."""

    frame: Ints
    box: Floats
    """x0, y0, x1, y1 in pixels."""
    evidence: Floats
    presence: Floats
    """The landmarker's confidence; 0 without landmarks."""
    taken: Flags
    """Whether a redaction is for it."""


@dataclass(frozen=True)
class Columns:
    """A recording."""

    size: tuple[int, int]
    """Width and height in pixels."""
    rate: float
    """Frames per second."""
    scene: Ints
    """By frame."""
    covered: Covered
    starts: Ints
    """int64 (frames + 1,): where the redactions of each frame begin, and where the last one's end."""
    found: Found

    @staticmethod
    def of(columns: AnalysisColumns, size: tuple[int, int], rate: float) -> Columns:
        """The columns of an analysis. size: width and height in pixels. rate: frames per second."""
        found, rows = columns.found, columns.decisions
        own = rows.track > 0
        frame = rows.frame[own].astype(np.int64)
        return Columns(
            size=size,
            rate=rate,
            scene=columns.scene.astype(np.int64),
            covered=Covered(
                frame=frame,
                track=rows.track[own].astype(np.int64),
                person=rows.person[own].astype(np.int64),
                face=rows.face[own].astype(np.int64),
                box=rows.box[own].astype(np.float64),
                place=rows.place[own].astype(np.float64),
            ),
            starts=np.searchsorted(frame, np.arange(len(columns.scene) + 1)).astype(np.int64),
            found=Found(
                frame=found.frame.astype(np.int64),
                box=found.box.astype(np.float64),
                evidence=found.evidence.astype(np.float64),
                presence=np.where(found.landmarks, found.presence, 0.0).astype(np.float64),
                taken=found.decided,
            ),
        )

    def rows(self, frame: int) -> slice:
        """Where the redactions of a frame are among the covered ones."""
        return slice(int(self.starts[frame]), int(self.starts[frame + 1]))
