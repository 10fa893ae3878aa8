"""Faces and tracks: the values that detection and tracking return."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.convex import convex

SURE = 0.5
"""Evidence, and presence where there are landmarks, from which a sighting is confirmed. From that evidence on a track
is redacted as a face; the animal with the highest evidence stays below it (`detection.second_look`)."""


NO_FACE = 1.2
"""Mean of the better two of four `Face.surveyed` in a row below which there is no face. Of 77 tracks that show faces,
by eye, in 13 clips, every one had more than 1.37 once (1.6 in the clips by which this was chosen). Of 5 tracks without
a face two always had less than 1.2 (docs/methods.md 8.3)."""

AS_LARGE = 0.75
"""Least mean side of a mesh over that of the face by another network's points (`Keypoints.side_of`), from which both
can be of one face, besides the distance of the points. A mesh half as large as the face lay on the eyes and the nose of
a woman who laughed in profile, near enough to the five points, and left her mouth and forehead open (0.53 to 0.68,
stage_and_audience). Of 433 other agreements in 20 clips three were below, two of them as flat a mesh on the upper half
of a face."""


@dataclass(frozen=True)
class Keypoints:
    """A face as a detector with five points sees it, in pixels of the upright frame."""

    box: tuple[float, float, float, float]
    """x0, y0, x1, y1: from hairline to chin and from cheek to cheek, tighter than `Face.box`."""
    points: Points
    """float64 (5, 2): the eyes, the one further left in an upright picture first, tip of the nose, corners of the mouth
    in the same order."""
    score: float
    """Score of that detector, 0 to 1."""

    def side_of(self, points: Points) -> float:
        """The mean side of the box about some points (n, 2), pixels, over that of this face's box."""
        x0, y0, x1, y1 = self.box
        area = max(x1 - x0, 1e-9) * max(y1 - y0, 1e-9)
        return float(np.sqrt(np.ptp(points[:, :2], axis=0).prod() / area))


@dataclass(frozen=True)
class Face:
    """A face that the detector found in one frame, in pixels of the upright frame (x right, y down)."""

    box: tuple[float, float, float, float]
    """x0, y0, x1, y1 in pixels; may reach beyond the frame."""
    score: float
    """Detector's score, 0 to 1."""
    landmarks: Points | None = None
    """The 68 iBUG points, float64 (68, 2), or None when the landmarker found no face in the box."""
    forehead: Points | None = None
    """Forehead points from temple to temple, float64 (13, 2); there whenever `landmarks` is."""
    iris: Points | None = None
    """For each eye (image-left first) centre and four rim points (right, top, left, bottom), float64 (2, 5, 2)."""
    presence: float = 0.0
    """The landmarker's own confidence that this is a face, 0 to 1."""
    depth: Points | None = None
    """Depth of landmarks and forehead points in pixels, away from the camera, float64 (81,); training uses it."""
    evidence: float = 1.0
    """How sure it is, 0 to 1, that this is a face at all; 1 for a detector that does not tell."""
    mesh: Points | None = None
    """The landmarker's whole mesh, float64 (468, 3): x and y in pixels of the frame, z in pixels away from the camera,
    from an origin of the landmarker's own. Training and the outline of a turned head use it; a detector may leave it
    out."""

    keypoints: Keypoints | None = None
    """Keypoints that another network found here, in this frame, or in one a few frames before and moved along since;
    None where it saw no face, or was not asked."""
    surveyed: float | None = None
    """Verdict of a third network on this place in this very frame: its score over the bar, so 1 and more for a face.
    The network surveys the whole picture now and then, and looks closely at doubtful places. None where not asked."""
    again: bool = False
    """Whether the face was found when a waiting frame was searched again, where its track was expected."""

    @cached_property
    def silhouette(self) -> Points | None:
        """Convex hull float64 (n, 2), pixels, of the landmarker's whole mesh of the face. On the far side of a turned
        head it lies beyond the landmarks of the jaw. None without a mesh."""
        if self.mesh is None or not np.isfinite(self.mesh[:, :2]).all():
            return None
        return convex(self.mesh[:, :2])

    @cached_property
    def outline(self) -> tuple[float, float, float, float] | None:
        """Box of the face from hairline to chin, pixels: by landmarks that the landmarker is sure of, or by keypoints.
        None where there are neither."""
        if self.landmarks is not None and self.forehead is not None and self.presence >= SURE:
            points = np.concatenate([self.landmarks, self.forehead])
            x0, y0, x1, y1 = (float(v) for v in (*points.min(axis=0), *points.max(axis=0)))
            return x0, y0, x1, y1
        return None if self.keypoints is None else self.keypoints.box

    @property
    def confirmed(self) -> bool:
        """Whether this is surely a face: only such faces can be rivals of another one, or become a person."""
        return self.evidence >= SURE and (self.landmarks is None or self.presence >= SURE)

    @property
    def width(self) -> float:
        """Box width in pixels."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        """Box height in pixels."""
        return self.box[3] - self.box[1]


@dataclass(frozen=True)
class Track:
    """One followed person in one frame.

    `face` is None while the detector has lost the person; `box` is then the predicted place.
    """

    number: int
    """Number of the track, from 1, never reused; below 0 for a place that a reviewer drew. `person` may join several
    tracks of one person (re-entry)."""
    box: tuple[float, float, float, float]
    """Filtered (or, while lost, predicted) box in pixels, grown by its uncertainty while lost."""
    face: Face | None
    missed: int
    """Frames since the detector last saw the person; 0 when it does now."""
    ambiguous: bool
    """True while association is ambiguous (people crossing): no own face may be shown, but one of before that fades."""
    near: bool = False
    """Whether another track, which was once surely a face, is or may be within half a face of this one."""
    sides: tuple[float, float] | None = None
    """Usual width and height, pixels, of the box of a face that is lost; None where it is not lost, or they are not
    known."""
    cut: bool = False
    """Whether the place of a lost face would be larger if it were not limited to the size of a head and a quarter of
    the picture."""

    @property
    def by_hand(self) -> bool:
        """Whether this is a place that a reviewer drew: a face that no detector knows of."""
        return self.number < 0

    @property
    def sighted(self) -> Face | None:
        """The face where it is seen; None where it is lost, or a second search tells only that it may be there."""
        return None if self.face is None or (self.face.again and self.face.keypoints is None) else self.face
