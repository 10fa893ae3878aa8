"""An analysis as columns, for looking through a whole recording at once: what was covered, and what was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.records import Analysis, Box

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    ambiguous: Flags


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
    found: Found

    def rows(self, frame: int) -> slice:
        """Where the redactions of a frame are among the covered ones."""
        low, high = np.searchsorted(self.covered.frame, [frame, frame + 1]).tolist()
        return slice(low, high)

    @staticmethod
    def of(analysis: Analysis) -> Columns:
        """The columns of an analysis."""
        scenes: list[int] = []
        faces: list[tuple[int, Box, float, float]] = []
        rows: list[tuple[int, int, int, int, bool]] = []
        boxes: list[Box] = []
        places: list[Box] = []
        for index, record in enumerate(analysis.frames):  # once: they may be read from a file
            scenes.append(record.scene)
            offset = len(faces)
            for face in record.found:
                presence = face.presence if face.landmarks is not None else 0.0
                faces.append((index, face.box, face.evidence, presence))
            for one in record.decisions:
                if one.track:
                    own = -1 if one.face is None else offset + one.face
                    rows.append((index, one.track, one.person, own, one.ambiguous))
                    boxes.append(one.box)
                    places.append(one.place)
        covered = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        taken = np.zeros(len(faces), dtype=np.bool_)
        taken[covered[3][covered[3] >= 0]] = True
        return Columns(
            size=(analysis.header.width, analysis.header.height),
            rate=float(analysis.header.rate),
            scene=np.array(scenes, dtype=np.int64),
            covered=Covered(
                frame=covered[0],
                track=covered[1],
                person=covered[2],
                face=covered[3],
                box=np.array(boxes, dtype=np.float64).reshape(-1, 4),
                place=np.array(places, dtype=np.float64).reshape(-1, 4),
                ambiguous=covered[4] > 0,
            ),
            found=Found(
                frame=np.array([one[0] for one in faces], dtype=np.int64),
                box=np.array([one[1] for one in faces], dtype=np.float64).reshape(-1, 4),
                evidence=np.array([one[2] for one in faces], dtype=np.float64),
                presence=np.array([one[3] for one in faces], dtype=np.float64),
                taken=taken,
            ),
        )
