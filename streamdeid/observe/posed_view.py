"""Reads where the head of a track is from five points: a posed face is rendered from that.

A detector reports any face in its view, so a pose counts only where it belongs to this track. It must continue the last
poses, and two networks must have agreed on a face in most of the last sightings. A posed face on a sleeve, or on a
neighbour's face, would be worse than a redaction.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face
from streamdeid.observe.keypoint_pose import (
    KeypointPose,
    MeanHead,
    PoseFilter,
    points_of_landmarks,
    points_of_mesh,
    pose_of_keypoints,
)
from streamdeid.tracking.kalman import QUICKEST

SIGHTINGS, _AGREED = 5, 3
"""Number of the last sightings that count, and how many of them must agree before a face is shown ..."""
_SPARSE, _SPARSE_SIGHTINGS, _SPARSE_AGREED = 0.09, 3, 2
"""... and, where frames are so many seconds apart or more, how many count and how many must agree. Two looks a tenth of
a second apart say more than two of one moment, and five would take a second of a camera with five frames a second."""
_SIZE_STEP, _PLACE_STEP, _YAW_STEP = 1.4, 0.6, 0.7
"""Largest ratio of sizes, distance in widths, and turn in radians, from one sighting to the next of one head. The
distance is what remains after the motion of the detector's box is taken off. A person who walks by a camera of five
frames a second goes farther than a width from one frame to the next, and is still the same person: of 1,310 steps in
six clips at that rate 124 are that far, and 5 after the motion of the box is taken off; of 8,340 at their own rate 161
and 27. Of the box's motion no more counts than a face can go (`kalman.QUICKEST`): where the box jumped, too, from a
face into the hair above, no face went there ..."""
_LEAST_STEP = 0.04
"""... in this time at least, seconds: times can repeat, or step back."""
_ASIDE = 0.45
"""Largest distance of the middle of a face by points from that of the detector's box, shares of the box's sides."""
_WIDER = 1.8
"""Longer side of that box over the mean side of the face by points, up to which both are of one face. Of 3,868 posed
faces in ten clips 42 were above (in half of the clips 99 of 100 are below 1.75). Most often these were points in a
person's collar or hair, and what was rendered over both places went across a neighbour."""
_ABOVE = 0.16
"""Largest distance of that middle above the box's middle, as the head stands, share of the box's sides: points that lie
higher are in the hair of somebody who bows, and the face is below them. Of 1,068 faces in 14 clips that look less than
50 degrees aside ten are above, all of one boy whose points jump between his face and his hair, and two of 12 pixels; of
the others 99 in 100 are below 0.11."""
HELD = 3
"""Number of frames in a row for which a head keeps its pose although no points show it."""
_PRESENCE = 0.8
"""Presence of a face from which its own mesh or landmarks tell the pose, where no keypoints were asked for."""
_MOST_YAW, _MOST_NOD = math.radians(85), math.radians(35)
"""Largest turn and bend at which a posed face is shown. Beyond them the points that the second network reads are not
reliable. Tilt has no limit: the points of tilted heads are read from straightened views (`detection/upright_view.py`).
Without a third network (`--survey 0`) they are not, and most are read as of heads that tilt less."""
_COMES_BACK = math.radians(5)
"""How much less a head must be turned before its face is shown again: no flicker about a limit."""
_FAR_YAW, _FAR_TILT, _FARTHER = math.radians(50), math.radians(15), 0.15
"""Turn and tilt from which the points are less reliable, and by how much the place of the face is then grown, share of
its sides."""


@dataclass(frozen=True)
class PosedView:
    """A head's pose in one frame."""

    pose: KeypointPose
    """The pose after the filter has steadied it."""
    box: Box
    """The face from hairline to chin, pixels."""
    sighted: Box
    """Where the detector saw the face, pixels: what is rendered has to cover that box, too."""
    agreed: bool
    """Whether most of the last sightings agreed that there is a face, and where."""
    back: bool = False
    """Whether the head was turned away in the last sighting."""
    held: bool = False
    """Whether the pose comes from a few frames before, because no points of this frame tell it."""
    chain: object | None = field(default=None, compare=False, repr=False)
    """Views with the same object here continue each other; the reader starts a new object where points jump."""
    besides: tuple[Box, ...] = ()
    """Other places that have to be covered, pixels: where the face was a moment ago, or where its points say that it is
    when that is not believed."""

    def carried(self, camera: CameraMotion) -> PosedView:
        """The same head after the camera moved."""
        pose, box, sighted = self.pose.carried(camera), camera.box(self.box), camera.box(self.sighted)
        return replace(self, pose=pose, box=box, sighted=sighted, besides=tuple(map(camera.box, self.besides)))

    def moved(self, box: Box) -> PosedView:
        """The same head at the box, pixels, where the detector sees the face now, or where the tracker expects it."""
        before, now = np.reshape(self.sighted, (2, 2)), np.reshape(box, (2, 2))
        shift = now.mean(axis=0) - before.mean(axis=0)
        x0, y0, x1, y1 = (float(v) for v in np.array(self.box) + np.tile(shift, 2))
        pose = replace(self.pose, x=self.pose.x + float(shift[0]), y=self.pose.y + float(shift[1]))
        return replace(self, pose=pose, box=(x0, y0, x1, y1), sighted=box)

    def towards(self, view: PosedView, share: float) -> PosedView:
        """The same head in its place, turned and sized by a share, 0 to 1, of the way to a later view of it."""
        pose, to = self.pose, view.pose
        size = pose.size * (to.size / pose.size) ** share
        yaw, nod = (a + share * (b - a) for a, b in ((pose.yaw, to.yaw), (pose.nod, to.nod)))
        turn = math.remainder(to.roll - pose.roll, 2 * math.pi)
        between = replace(pose, size=size, yaw=yaw, nod=nod, roll=math.remainder(pose.roll + share * turn, 2 * math.pi))
        growth = size / pose.size - 1
        return replace(self, pose=between, box=grown_box(self.box, growth))

    def between(self, view: PosedView, share: float, sighted: Box, told: PosedView | None) -> PosedView:
        """The same head a share, 0 to 1, of the way to a later view of it, in place too. sighted: where the detector
        sees the face. told: what its own points tell. Both places are covered as well."""
        here, there = np.array(self.box), np.array(view.box)
        x0, y0, x1, y1 = (float(v) for v in here + share * (there - here))
        pose, to, turned = self.pose, view.pose, self.towards(view, share).pose
        x, y = pose.x + share * (to.x - pose.x), pose.y + share * (to.y - pose.y)
        besides = () if told is None else (told.box,)
        return replace(self, pose=replace(turned, x=x, y=y), box=(x0, y0, x1, y1), sighted=sighted, besides=besides)

    def reaches(self, view: PosedView, seconds: float = 0.0) -> bool:
        """Whether another view shows the head where this one does, however it is turned, or no farther away than a head
        goes in the seconds between them."""
        pose, there = self.pose, view.pose
        apart = math.hypot(there.x - pose.x, there.y - pose.y) / min(pose.size, there.size)
        return _as_large(pose, there) and apart <= max(_PLACE_STEP, QUICKEST * seconds)

    @property
    def turned_away(self) -> bool:
        """Whether the head looks too far aside, up or down for a face to be shown. A head that was turned away has to
        come back further than the limit."""
        less, pose = _COMES_BACK * self.back, self.pose
        turns = (pose.yaw, _MOST_YAW), (pose.nod, _MOST_NOD)
        return not all(abs(turn) <= most - less for turn, most in turns)

    @property
    def places(self) -> tuple[Box, ...]:
        """All places that have to be covered, pixels: of the face by points, by the detector, and where it may be
        besides. They are grown where the pose is less sure."""
        far = abs(self.pose.yaw) > _FAR_YAW or abs(self.pose.tilt) > _FAR_TILT
        all_of_them = self.box, self.sighted, *self.besides
        return tuple(grown_box(box, _FARTHER) for box in all_of_them) if far else all_of_them


@dataclass
class PosedReader:
    """Reads the poses of one tracklet."""

    head: MeanHead
    _steady: PoseFilter = field(default_factory=PoseFilter)
    _last: tuple[KeypointPose, Box, float] | None = None
    """The last pose that points told, the detector's box of that sighting, and its time, seconds."""
    _shown: PosedView | None = None
    """The last view ..."""
    _held: int = 0
    """... and the number of sightings since."""
    _agreed: deque[bool] = field(default_factory=lambda: deque(maxlen=SIGHTINGS))
    _chain: object = field(default_factory=object)
    _time: float = -math.inf
    """Time of the last sighting, seconds ..."""
    _step: float = math.inf
    """... and the least time between two sightings so far."""

    def __call__(self, face: Face, time: float) -> PosedView | None:
        """The pose of a face at a time in seconds; None where no points show one, or where they do not continue the
        last ones."""
        self._step, self._time = min(self._step, time - self._time), time
        found = self._read(face)
        if found is None:
            self._agreed.append(False)
            return self._hold(face)
        pose, box = found
        last, self._last = self._last, (pose, face.box, time)
        goes_on = last is None or _one_head(last, self._last)
        self._agreed.append(goes_on and face.confirmed)
        if not goes_on:
            self._steady, self._shown, self._chain = PoseFilter(), None, object()
            return None
        self._held = 0
        away = self._shown is not None and self._shown.turned_away
        self._shown = PosedView(self._steady(pose, time), box, face.box, self._agree, away, chain=self._chain)
        return self._shown

    def carried(self, camera: CameraMotion) -> None:
        """Account for a motion of the camera before the next frame."""
        self._steady.carried(camera)
        if self._last is not None:
            pose, box, time = self._last
            self._last = pose.carried(camera), camera.box(box), time
        if self._shown is not None:
            self._shown = self._shown.carried(camera)

    @property
    def _agree(self) -> bool:
        return enough([*reversed(self._agreed)], self._step)

    def _hold(self, face: Face) -> PosedView | None:
        """The last view, moved along with the detector's box: no points were seen in this frame."""
        self._held += 1
        if self._shown is None or self._held > HELD:
            return None
        return replace(self._shown.moved(face.box), agreed=self._agree, held=True)

    def _read(self, face: Face) -> tuple[KeypointPose, Box] | None:
        if face.keypoints is not None:
            points, box = face.keypoints.points, face.keypoints.box
        elif face.mesh is not None and face.presence >= _PRESENCE and face.outline is not None:
            points, box = points_of_mesh(face.mesh), face.outline
        elif face.landmarks is not None and face.presence >= _PRESENCE and face.outline is not None:
            points, box = points_of_landmarks(face.landmarks), face.outline  # of a detector without a mesh
        else:
            return None
        if not _inside(box, face.box):
            return None  # a neighbour's
        pose = pose_of_keypoints(np.asarray(points, np.float64), box, self.head)
        return None if pose is None or _in_hair(pose, box, face.box) else (pose, box)


def enough(told: Sequence[bool], step: float) -> bool:
    """Whether enough sightings tell a face for it to be shown: `SIGHTINGS` of them at the most, the nearest first.
    step: seconds from one to the next."""
    sparse = step >= _SPARSE and sum(told[:_SPARSE_SIGHTINGS]) >= _SPARSE_AGREED
    return sparse or sum(told) >= _AGREED


def grown_box(box: Box, share: float) -> Box:
    """A box with its sides grown by a share of them, about its middle."""
    dx, dy = share * (box[2] - box[0]) / 2, share * (box[3] - box[1]) / 2
    return box[0] - dx, box[1] - dy, box[2] + dx, box[3] + dy


def _inside(face: Box, sighted: Box) -> bool:
    """Whether a face by points is the one that the detector saw in a box: its middle is near that of the box, and the
    box is not much larger than the face."""
    sides = sighted[2] - sighted[0], sighted[3] - sighted[1]
    away = [abs(face[k] + face[k + 2] - sighted[k] - sighted[k + 2]) / 2 for k in (0, 1)]
    near = all(far <= _ASIDE * side for far, side in zip(away, sides, strict=True))
    return near and max(sides) <= _WIDER * (face[2] - face[0] + face[3] - face[1]) / 2


def _in_hair(pose: KeypointPose, face: Box, sighted: Box) -> bool:
    """Whether a face by points lies so high in the box in which the detector saw one that its points are in the hair.

    In boxes of heads that look far aside faces often lie as high."""
    x, y = (face[k] + face[k + 2] - sighted[k] - sighted[k + 2] for k in (0, 1))
    above = (x * math.sin(pose.roll) - y * math.cos(pose.roll)) / 2
    side = max(sighted[2] - sighted[0], sighted[3] - sighted[1])
    return abs(pose.yaw) < _FAR_YAW and above > _ABOVE * side


def _one_head(last: tuple[KeypointPose, Box, float], now: tuple[KeypointPose, Box, float]) -> bool:
    """Whether two poses, one sighting apart, each with the detector's box and its time, can be of one head."""
    (before, place, then), (pose, box, time) = last, now
    width = min(before.size, pose.size)
    x, y = np.reshape(box, (2, 2)).mean(axis=0) - np.reshape(place, (2, 2)).mean(axis=0)
    share = min(1.0, QUICKEST * width * max(time - then, _LEAST_STEP) / max(math.hypot(x, y), 1e-9))
    apart = math.hypot(pose.x - before.x - share * x, pose.y - before.y - share * y) / width
    return _as_large(before, pose) and apart <= _PLACE_STEP and abs(pose.yaw - before.yaw) <= _YAW_STEP


def _as_large(one: KeypointPose, other: KeypointPose) -> bool:
    return max(one.size / other.size, other.size / one.size) <= _SIZE_STEP
