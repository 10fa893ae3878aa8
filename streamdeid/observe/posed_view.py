"""Where the head of a track is, as far as five points tell: what a posed face is rendered from.

A detector answers for whoever is in its view, so a pose counts only where it is this track's: it goes on from the last
ones, and two networks agreed on a face in most of the last sightings. A face on a sleeve, or a neighbour's, would be
worse than a redaction.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from streamdeid.core.faces import Face
from streamdeid.observe.keypoint_pose import Box, KeypointPose, MeanHead, PoseFilter, points_of_mesh, pose_of_keypoints

_SIGHTINGS, _AGREED = 5, 3
"""Of so many sightings so many must agree before a face is shown."""
_SIZE_STEP, _PLACE_STEP, _YAW_STEP = 1.4, 0.6, 0.7
"""Ratio of sizes, distance in widths, and turn in radians, from one sighting to the next up to which it is one
head's."""
_PRESENCE = 0.8
"""Of a mesh, from which its own points tell the pose where no others were asked for."""
_MOST_YAW, _MOST_NOD = math.radians(85), math.radians(35)
"""Turn and bend up to which a posed face is shown: beyond, the original's outline would be another one."""


@dataclass(frozen=True)
class PosedView:
    """A head's pose in one frame."""

    pose: KeypointPose
    """Steadied."""
    box: Box
    """The face from hairline to chin, pixels."""
    sighted: Box
    """Where the detector saw the face: what is rendered has to cover that, too."""
    agreed: bool
    """Whether most of the last sightings agreed that there is a face, and where."""

    @property
    def turned_away(self) -> bool:
        """Whether it looks too far aside, up or down for a face to be shown."""
        return not (abs(self.pose.yaw) <= _MOST_YAW and abs(self.pose.nod) <= _MOST_NOD)


@dataclass
class PosedReader:
    """Reads the poses of one tracklet."""

    head: MeanHead
    _steady: PoseFilter = field(default_factory=PoseFilter)
    _last: KeypointPose | None = None
    _agreed: deque[bool] = field(default_factory=lambda: deque(maxlen=_SIGHTINGS))

    def __call__(self, face: Face, time: float) -> PosedView | None:
        """The pose of a face at a time in seconds; None where no points show one, or others than the last ones did."""
        found = self._read(face)
        if found is None:
            self._agreed.append(False)
            return None
        pose, box = found
        last, self._last = self._last, pose
        goes_on = last is None or _one_head(last, pose)
        self._agreed.append(goes_on and face.confirmed)
        if not goes_on:
            self._steady = PoseFilter()
            return None
        return PosedView(self._steady(pose, time), box, face.box, sum(self._agreed) >= _AGREED)

    def _read(self, face: Face) -> tuple[KeypointPose, Box] | None:
        if face.keypoints is not None:
            points, box = face.keypoints.points, face.keypoints.box
        elif face.mesh is not None and face.presence >= _PRESENCE and face.outline is not None:
            points, box = points_of_mesh(face.mesh), face.outline
        else:
            return None
        pose = pose_of_keypoints(np.asarray(points, np.float64), box, self.head)
        return None if pose is None else (pose, box)


def _one_head(last: KeypointPose, pose: KeypointPose) -> bool:
    """Whether two poses, one sighting apart, can be of one head."""
    ratio = max(last.size / pose.size, pose.size / last.size)
    apart = math.hypot(pose.x - last.x, pose.y - last.y) / min(last.size, pose.size)
    return ratio <= _SIZE_STEP and apart <= _PLACE_STEP and abs(pose.yaw - last.yaw) <= _YAW_STEP
