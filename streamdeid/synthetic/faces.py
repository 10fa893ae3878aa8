"""One synthetic face in one frame: texture, eyes and the inside of the mouth, rendered into the planes."""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.synthesise import Patch, render_patch, to_yuv
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import yuv_from_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import INNER_LIP, LEFT_EYE, RIGHT_EYE
from streamdeid.render.blend import Blend, composed, feathered, no_membrane
from streamdeid.render.eyes import EyeColours, render_eye
from streamdeid.render.new_face import NewFace

_FEATHER = 0.06
"""Share of the face's width over which it fades into the head."""
_SIDE_LIGHT = 0.28
"""How much darker a cheek becomes that is turned away from the lamp, for a turn of one radian."""
_CLOSED = 0.07
"""Opening over width of closed lips."""
_DARK, _TEETH = np.array([34.0, 124.0, 142.0], np.float32), np.array([142.0, 121.0, 132.0], np.float32)
"""YUV of the mouth's inside and of teeth."""


def draw_talking_face(
    planes: Planes, face: NewFace, points: Points, iris: Points, pose: HeadPose, model: AppearanceModel
) -> None:
    """Render a face with its mesh at points (81, 2) and its irises at (2, 2), in pixels of the picture, in place."""
    across = np.linspace(-1, 1, face.picture.shape[1], dtype=np.float32)
    lit = face.picture * (1 - _SIDE_LIGHT * np.float32(pose.yaw) * across)[None, :, None]
    matrix, offset = yuv_from_rgb(planes.colour)
    texture = to_yuv(np.clip(lit, 0, 255), matrix, offset)
    patch = render_patch(texture, model.mean_shape, points, model.closed_triangles, planes.size, 3.0)
    if patch is None:
        return
    for lids, centre, mean, own in zip((LEFT_EYE, RIGHT_EYE), iris, model.iris, face.eyes, strict=True):
        sclera, colour, pupil = to_yuv(np.stack([own.sclera, own.iris, own.pupil])[None], matrix, offset)[0]
        render_eye(patch, points[lids], centre, float(mean[2]) * pose.scale, EyeColours(sclera, colour, pupil))
    _draw_inside(patch, points[INNER_LIP] - (patch.x0, patch.y0))
    composed(patch, Blend(feathered(patch.covered, _FEATHER * float(np.ptp(points[:, 0])) / 2), no_membrane()), planes)


def _draw_inside(patch: Patch, lips: Points) -> None:
    """Paint a dark inside behind the inner lips (8, 2), and upper teeth; nothing while the lips are closed."""
    opening = float(np.linalg.norm(lips[2] - lips[6])) / max(float(np.linalg.norm(lips[4] - lips[0])), 1e-6)
    strength = np.float32(np.clip((opening - _CLOSED) / _CLOSED, 0, 1))
    upper, lower = lips[:5], np.stack([lips[0], lips[7], lips[6], lips[5], lips[4]])
    edge = upper + (lower - upper) * np.array([0.0, 0.42, 0.45, 0.42, 0.0])[:, None]
    teeth = np.concatenate([upper, edge[::-1]])
    for polygon, colour in ((lips, _DARK), (teeth, _TEETH)):
        mask = strength * _mask(polygon, patch.y.shape)
        patch.y[:] += mask * (colour[0] - patch.y)
        half = strength * _mask((polygon - 0.5) / 2, patch.covered.shape)[:, :, None]
        patch.uv[:] += half * (colour[1:] - patch.uv)


def _mask(polygon: Points, shape: tuple[int, ...]) -> Pixels:
    hard = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(hard, [np.round(polygon * 16).astype(np.int32)], (255,), cv2.LINE_8, 4)
    return np.asarray(cv2.GaussianBlur(hard, (0, 0), 0.7).astype(np.float32) / 255, np.float32)
