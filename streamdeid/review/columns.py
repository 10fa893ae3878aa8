"""A recording's redactions and sightings as columns, for searching the whole recording at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.analysis.columns import AnalysisColumns
from streamdeid.core.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class Covered:
    """Redactions of tracks, and faces of tracks that were left as they are, sorted by frame, (n,) or (n, 4)."""

    frame: Ints
    track: Ints
    person: Ints
    face: Ints
    """Row of `Found`; -1 where the face was lost."""
    box: Floats
    """Box of the changed pixels: x0, y0, x1, y1 in pixels."""
    place: Floats
    """Box of the track, in pixels."""


@dataclass(frozen=True)
class Found:
    """All faces that the detector found, sorted by frame, (m,) or (m, 4)."""

    frame: Ints
    box: Floats
    """x0, y0, x1, y1 in pixels."""
    evidence: Floats
    presence: Floats
    """The landmarker's confidence; 0 without landmarks."""
    taken: Flags
    """Whether a decision refers to the face."""


@dataclass(frozen=True)
class Columns:
    """The columns of a recording."""

    size: tuple[int, int]
    """Width and height in pixels."""
    rate: float
    """Frames per second."""
    scene: Ints
    """Number of the scene of each frame."""
    covered: Covered
    starts: Ints
    """int64 (frames + 1,): first row of each frame in `covered`, and the end of the last frame's rows."""
    found: Found

    @staticmethod
    def of(columns: AnalysisColumns, size: tuple[int, int], rate: float) -> Columns:
        """Make the columns of an analysis. size: width and height in pixels. rate: frames per second."""
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
        """The rows of a frame in `covered`."""
        return slice(int(self.starts[frame]), int(self.starts[frame + 1]))
