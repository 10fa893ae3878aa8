"""Geometry of faces, free of place, size and head pose: openings, widths, gaze; and which face is where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Floats
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import (
    LANDMARKS,
    LEFT_BROW,
    LEFT_EYE,
    MIRROR,
    MOUTH_CORNERS,
    RIGHT_BROW,
    RIGHT_EYE,
    RIGID,
)

FEATURES = ("mouth opening", "mouth width", "eye opening", "brow height")
GAZE = ("gaze across", "gaze up and down")
LEAST_OVERLAP = 0.3
"""Intersection over union from which two faces are at the same place."""
_EYES = (LEFT_EYE, RIGHT_EYE)
_SHUT = 0.12
"""Opening over width of an eye below which its iris says nothing of the gaze."""
_SOLID = RIGID[RIGID < LANDMARKS]
"""Landmarks that expressions move least; the pose is taken from them alone."""


def head_rotation(landmarks: Floats, model: AppearanceModel, frame_size: tuple[int, int]) -> Floats:
    """Rotation (3, 3) of the head by cv2.solvePnP: the generic 3D face is the model's mean shape with its mean depth,
    the camera a guess (focal length of the longer side, principal point in the middle)."""
    solid = np.column_stack([model.mean_shape, model.depth])[_SOLID]
    solid = solid - solid.mean(axis=0)
    width, height = frame_size
    camera = np.array([[max(frame_size), 0, width / 2], [0, max(frame_size), height / 2], [0, 0, 1.0]])
    lens = np.zeros(4)
    _, turn, shift = cv2.solvePnP(solid, landmarks[_SOLID], camera, lens, flags=cv2.SOLVEPNP_SQPNP)
    turn, _ = cv2.solvePnPRefineLM(solid, landmarks[_SOLID], camera, lens, turn, shift)
    rotation: Floats = np.asarray(cv2.Rodrigues(turn)[0], np.float64)
    return rotation


def angle_between(a: Floats, b: Floats) -> float:
    """Angle in degrees of the rotation from a to b, both (3, 3)."""
    return float(np.degrees(np.arccos(np.clip((np.trace(a @ b.T) - 1) / 2, -1, 1))))


def yaw_pitch_roll(rotation: Floats) -> Floats:
    """Angles (3,) of a head rotation in degrees."""
    yaw = np.arcsin(np.clip(rotation[0, 2], -1, 1))
    pitch = np.arctan2(-rotation[1, 2], rotation[2, 2])
    roll = np.arctan2(rotation[1, 0], rotation[0, 0])
    return np.degrees([yaw, pitch, roll])


def frontal(landmarks: Floats, rotation: Floats, model: AppearanceModel) -> Floats:
    """Landmarks (68, 2) seen from the front and made upright: the turn is undone with the mean face's depth."""
    linear, depth = rotation[:2, :2], model.depth[:LANDMARKS] - model.depth[_SOLID].mean()
    solid = model.mean_shape[_SOLID] - model.mean_shape[_SOLID].mean(axis=0)
    expected = solid @ linear.T + np.outer(depth[_SOLID], rotation[:2, 2])
    seen = landmarks - landmarks[_SOLID].mean(axis=0)
    scale = float((expected * seen[_SOLID]).sum() / (expected**2).sum())
    u, s, vt = np.linalg.svd(linear)
    flat = (seen / scale - np.outer(depth, rotation[:2, 2])) @ (vt.T @ np.diag(1 / np.maximum(s, 0.2)) @ u.T).T
    return upright(flat)


def upright(points: Floats) -> Floats:
    """Points (68, 2) shifted, turned and scaled so that the outer eye corners lie at (-0.5, 0) and (0.5, 0)."""
    across = points[45] - points[36]
    turn = np.array([[across[0], across[1]], [-across[1], across[0]]]) / float(across @ across)
    turned: Floats = (points - (points[36] + points[45]) / 2) @ turn.T
    return turned


def mirrored(planes: Planes) -> Planes:
    """The picture in a mirror, without its last column where the width is odd."""
    width = planes.size[0] & ~1
    y, u, v = planes.y[:, :width], planes.u[:, : width // 2], planes.v[:, : width // 2]
    y, u, v = (np.ascontiguousarray(plane[:, ::-1]) for plane in (y, u, v))
    return Planes(y, u, v, planes.colour)


def unmirrored(face: Face, width: int) -> Face:
    """A face found in `mirrored` planes of a picture of this width, as if found in the picture itself."""
    right = (width & ~1) - 1
    box = right - face.box[2], face.box[1], right - face.box[0], face.box[3]
    if face.landmarks is None or face.iris is None:
        return replace(face, box=box, landmarks=None, iris=None)
    flip, shift = np.array([-1.0, 1.0]), np.array([float(right), 0.0])
    landmarks = face.landmarks[MIRROR[:LANDMARKS]] * flip + shift
    return replace(face, box=box, landmarks=landmarks, iris=face.iris[::-1] * flip + shift)


def features(points: Floats) -> Floats:
    """FEATURES (4,) of upright points (68, 2), in units of the distance between the outer eye corners."""
    opening = np.linalg.norm(points[[61, 62, 63]] - points[[67, 66, 65]], axis=1).mean()
    width = np.linalg.norm(points[MOUTH_CORNERS[1]] - points[MOUTH_CORNERS[0]])
    eyes = np.linalg.norm(points[[37, 38, 43, 44]] - points[[41, 40, 47, 46]], axis=1).mean()
    brows = np.mean(
        [
            points[[36, 39]][:, 1].mean() - points[LEFT_BROW][:, 1].mean(),
            points[[42, 45]][:, 1].mean() - points[RIGHT_BROW][:, 1].mean(),
        ]
    )
    return np.array([opening, width, eyes, brows])


def gaze(face: Face) -> Floats:
    """GAZE (2,): iris centres' offset from the middle of their eye's corners, in eye widths, mean of both eyes.
    NaN where an eye is nearly shut or no iris is known."""
    assert face.landmarks is not None
    if face.iris is None:
        return np.full(2, np.nan)
    offsets = []
    for eye, iris in zip(_EYES, face.iris[:, 0], strict=True):
        lids = face.landmarks[eye]
        across = lids[3] - lids[0]
        opening = np.linalg.norm(lids[[1, 2]] - lids[[5, 4]], axis=1).mean() / np.linalg.norm(across)
        place = iris - (lids[0] + lids[3]) / 2
        down = np.array([-across[1], across[0]])
        offset = np.array([place @ across, place @ down]) / float(across @ across)
        offsets.append(offset if opening > _SHUT else np.full(2, np.nan))
    mean: Floats = np.mean(offsets, axis=0)
    return mean


def overlap(a: Face, b: Face) -> float:
    """Intersection over union of two faces' boxes."""
    width = min(a.box[2], b.box[2]) - max(a.box[0], b.box[0])
    height = min(a.box[3], b.box[3]) - max(a.box[1], b.box[1])
    shared = max(0.0, width) * max(0.0, height)
    return shared / (a.width * a.height + b.width * b.height - shared)


def counterpart(face: Face, candidates: Sequence[Face]) -> Face | None:
    """The face at the same place, or None."""
    best = max(candidates, key=lambda other: overlap(face, other), default=None)
    return best if best is not None and overlap(face, best) >= LEAST_OVERLAP else None
