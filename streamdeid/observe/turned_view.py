"""Measures a turned head: its pose as a solid, and a dozen numbers for what eyes and mouth do.

A face at rest that was learnt from frontal frames fits no turned mesh, and the far side of a turned mesh is guessed. So
no movement is carried over point by point. Openings are absolute, since closed is the same for everybody. Other places
count by how far they are from where they were over the last seconds, since what stays is no expression but the person's
own face.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.smooth_step import smooth_step
from streamdeid.aam.solid_face import SolidFace
from streamdeid.core.arrays import Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face
from streamdeid.core.ibug68 import MIRROR, NOSE_BRIDGE
from streamdeid.observe.rest import smile_in
from streamdeid.observe.smoothing import FaceSmoother

_FLAT, _SOLID = np.deg2rad(25.0), np.deg2rad(38.0)
"""Yaw up to which a face is rendered flat, and from which it is rendered solid (docs/methods.md 6.3: below 25 degrees
the flat rendering is as good, from 38 on the solid one is clearly better)."""
_MEASURED = np.deg2rad(18.0)
"""Yaw from which a head is measured as a turned one: early enough for its smoothing to have settled before it
matters."""
_NEAR_ONLY = np.deg2rad(15.0), np.deg2rad(35.0)
"""Yaw over which the weight of the far side in the measures fades."""
_SECONDS = 2.0
"""Time constant with which the places at rest follow the present ones, seconds."""
_CLOSED = 1.5
"""Pixels of the model's frame between the inner lips of a closed mouth."""
_WIDEST = 0.8
_OVAL = 0.87
"""Height of an open mouth half-way to its corners, over that in the middle."""
_MOUTH_WIDTH = 70.0
"""Width of a usual mouth, pixels of the model's frame. The mouth's opening is multiplied by it, so that it is smoothed
like the measures in pixels."""
_UNIT_SMILE = 10.0
"""Pixels as which a whole smile counts, so that it is smoothed like the measures in pixels."""
_MOST_WIDER, _MOST_RAISED = 9.0, 8.0
"""Largest values of `Gesture.wider` and `Gesture.raised`, pixels of the model's frame."""
_NO_SMILE, _WHOLE_SMILE = 0.4, 0.8
"""Amount of a smile (`aam.smile`) from which a smile counts, and from which it counts in full. Faces at rest have 0.0
with a spread of 0.3, smiling ones 1.0 with 0.5. The amount is absolute, since a person who smiles throughout must be
seen smiling."""
_WIDEST_EYE = 1.25
_OPEN_EYE = 0.2
"""Height over width of an eye that is known to be open."""
_RISE, _FALL = 0.3, 2.0
"""Seconds in which the usual opening of the eyes follows a wider and a narrower one."""

_GAPS = np.array([[61, 67], [62, 66], [63, 65]])
_INNER_CORNERS = [60, 64]
_UPPER_LIP, _NOSE_BASE = 62, 33
_LIDS = np.array([[[37, 41], [38, 40]], [[43, 47], [44, 46]]])
_EYE_CORNERS = np.array([[36, 39], [42, 45]])
_BROWS = np.array([[17, 18, 19, 20, 21], [22, 23, 24, 25, 26]])


@dataclass(frozen=True)
class Gesture:
    """What the eyes and the mouth of a turned head do, in pixels of the model's frame. Pairs are image-left first."""

    gape: float
    """Height of the mouth's opening over its width."""
    upper: float
    """How much of that height comes from the upper lip going up."""
    smile: float
    """How much of a smile there is, 0 to 1."""
    wider: float
    """How far the corners of the mouth are pulled outwards, beyond their places at rest and in a smile."""
    lids: tuple[float, float]
    """Opening of the eyes over their usual one."""
    raised: tuple[float, float]
    """How far up the brows are."""


@dataclass(frozen=True)
class TurnedView:
    """A head that is turned, in one frame."""

    pose: HeadPose
    """The smoothed pose of the solid face."""
    gesture: Gesture
    mesh: Points = field(repr=False)
    """float64 (468, 3): the landmarker's, as it was given."""
    own: Points = field(repr=False)
    """float64 (81, 2): landmarks and forehead points with the pose undone, in the model's frame."""

    frame_width: float
    """Width of the model's frame, pixels."""

    @property
    def width(self) -> float:
        """Width that the face would have if it looked into the camera, pixels of the picture."""
        return self.pose.scale * self.frame_width

    @property
    def share(self) -> float:
        """How solid the face is rendered: 0 flat, 1 solid, rising smoothly between 25 and 38 degrees of yaw."""
        return _rise(abs(self.pose.yaw), _FLAT, _SOLID)


class TurnedReader:
    """Measures the turned head of one track from frame to frame."""

    def __init__(self, solid: SolidFace, model: AppearanceModel) -> None:
        """solid: the solid face of the model."""
        self._solid, self._model = solid, model
        self._last: float | None = None
        self._smooth = FaceSmoother()
        self._slow = np.zeros(0)
        self._usual = np.zeros(0)

    def carried(self, camera: CameraMotion) -> None:
        """Account for a motion of the camera before the next frame."""
        self._smooth.carried(camera)

    def __call__(self, face: Face, raw_points: Points, time: float, fresh: bool) -> TurnedView | None:
        """The view of a face at a time in seconds; None without a finite mesh, or for a face that is hardly turned.
        raw_points (81, 2): its landmarks and forehead points. fresh: nothing of the frames before counts."""
        mesh = face.mesh
        if mesh is None or face.depth is None or not np.isfinite(mesh).all():
            self._last = None
            return None
        raw = self._solid.pose(mesh)
        if abs(raw.yaw) < _MEASURED or raw.rotation[2, 2] <= 0 or raw.scale <= 0:
            self._last = None
            return None
        undone = self._solid.undone(np.column_stack([raw_points, face.depth]), raw, mesh)
        smile, rested = self._smile(undone, raw.yaw)
        places, usual = _places(rested), _eye_openings(undone)
        if fresh or self._last is None:
            self._smooth = FaceSmoother()
            self._slow, self._usual = places, np.maximum(usual, _OPEN_EYE)
        else:
            step = max(time - self._last, 0.0)
            self._slow = self._slow + (1 - np.exp(-step / _SECONDS)) * (places - self._slow)
            pace = np.where(usual > self._usual, _RISE, _FALL)
            self._usual = self._usual + (1 - np.exp(-step / pace)) * (usual - self._usual)
        self._last = time
        near = 0.5 + 0.5 * np.sign(raw.yaw) * np.array([-1.0, 1.0]) * _rise(abs(raw.yaw), *_NEAR_ONLY)
        gesture = _gesture(undone, smile, places - self._slow, usual / self._usual, near)
        pose, numbers = self._smooth(raw, gesture.reshape(-1, 2), time)
        return TurnedView(pose, _bounded(numbers.ravel()), mesh, undone[:, :2], float(self._model.frame_size[0]))

    def _smile(self, undone: Points, yaw: float) -> tuple[float, Points]:
        """Amount of the smile in points (81, 3) with the pose undone, and the points without it. The far side is
        replaced by the mirrored near one, since its place was guessed."""
        model, whole = self._model, undone.copy()
        mirrored = undone[MIRROR, 0]
        far = (model.mean_shape[:, 0] - model.mean_shape[_NOSE_BASE, 0]) * np.sign(yaw) < 0
        whole[far] = undone[MIRROR][far]
        whole[far, 0] = 2 * undone[NOSE_BRIDGE, 0].mean() - mirrored[far]
        found = smile_in(whole[:, :2], model)
        whole[:, :2] -= np.clip(found, 0, 1) * model.smile
        return found, whole


def _rise(value: float, start: float, end: float) -> float:
    return float(smooth_step((value - start) / (end - start)))


def _places(undone: Points) -> Points:
    """The places that count by their deviation from rest (5,): half widths of the mouth and heights of the brows over
    the eyes, each image-left first, and height of the upper lip over the base of the nose, upwards."""
    brows = undone[_EYE_CORNERS][:, :, 1].mean(axis=1) - undone[_BROWS][:, :, 1].mean(axis=1)
    return np.concatenate([_half_widths(undone), brows, [undone[_NOSE_BASE, 1] - undone[_UPPER_LIP, 1]]])


def _half_widths(undone: Points) -> Points:
    """Distances (2,) of the corners of the mouth from its middle."""
    away = undone[_INNER_CORNERS][:, [0, 2]] - undone[_UPPER_LIP, [0, 2]]
    return np.asarray(np.linalg.norm(away, axis=1))


def _eye_openings(undone: Points) -> Points:
    """Height over width of the eyes (2,)."""
    lids = undone[_LIDS]
    height = np.linalg.norm(lids[:, :, 1] - lids[:, :, 0], axis=2).mean(axis=1)
    corners = undone[_EYE_CORNERS]
    openings: Points = height / np.maximum(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1), 1e-6)
    return openings


def _gesture(undone: Points, smile: float, moved: Points, opened: Points, near: Points) -> Points:
    """The numbers of a gesture (8,): gape, upper, smile, wider, both lids, both brows. near (2,): weight of each side.

    moved (5,): `_places` less those at rest; opened (2,): openings of the eyes over the usual ones.
    """
    lips = undone[_GAPS]
    gaps = np.linalg.norm((lips[:, 1] - lips[:, 0])[:, 1:], axis=1)
    gape = 0.5 * gaps[1] + 0.5 * float(near @ gaps[[0, 2]]) / _OVAL
    lids, brows = _far_as_near(opened, near), _far_as_near(moved[2:4], near)
    half = float(near @ _half_widths(undone))
    opening = _MOUTH_WIDTH * max(gape - _CLOSED, 0) / max(2 * half, 1e-6)
    mouth = opening, moved[4], _UNIT_SMILE * _rise(smile, _NO_SMILE, _WHOLE_SMILE), near @ moved[:2]
    return np.array([*mouth, *lids, *brows])


def _far_as_near(pair: Points, near: Points) -> Points:
    """A pair (2,) in which the far side does what the near one does, the more the less it is visible. near (2,): the
    weight of each side."""
    own = 1 - np.abs(2 * near - 1)  # 1 seen from the front, 0 where nothing is known of the far one
    return np.where(near >= 0.5, pair, own * pair + (1 - own) * float(near @ pair))


def _bounded(numbers: Points) -> Gesture:
    gape, upper, smile, wider = (float(v) for v in numbers[:4])
    (left, right), brows = np.clip(numbers[4:6], 0, _WIDEST_EYE), np.clip(numbers[6:], -_MOST_RAISED, _MOST_RAISED)
    gape = float(np.clip(gape / _MOUTH_WIDTH, 0, _WIDEST))
    return Gesture(
        gape,
        float(np.clip(upper, 0, 0.35 * gape * _MOUTH_WIDTH)),
        float(np.clip(smile / _UNIT_SMILE, 0, 1)),
        float(np.clip(wider, -_MOST_WIDER, _MOST_WIDER)),
        (float(left), float(right)),
        (float(brows[0]), float(brows[1])),
    )
