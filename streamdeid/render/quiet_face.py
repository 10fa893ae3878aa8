"""The quiet face: a person's own surrogate, posed rigidly and drawn softly into a soft redaction (docs/methods.md 6.2).

For faces that are known but turned far, small, blurred, partly hidden or poorly fitted. Only position, size and turn of
the head are the person's: the geometry of landmarks alone names people. Brightness and colour come from the soft
redaction that is published already, so that no pixel of the original enters; there is no expression, and the eyes look
where the head does.
"""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Pixels, Points, sample
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.synthesise import Patch, render_patch
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.observe.observation import SMALL_WIDTH, Observation, reduced_face
from streamdeid.render.blend import Blend, composed, feathered, no_membrane
from streamdeid.render.eyes import narrowed, render_eye
from streamdeid.render.face import far_first
from streamdeid.render.light import LightFrame, static_light
from streamdeid.render.lit_face import at_eye, lit_eye, lit_texture
from streamdeid.render.new_face import NewFace

_MOST_TURN = np.deg2rad(60.0)
"""Turn of the head from which it is shown turned by no more: beyond, the mesh of a flat face crumples."""
_FEATHER = 0.25
"""Feather inside the hull, share of the model's width in the picture."""
_MARGIN = 2.0
"""Pixels beyond the mesh that are drawn into: what is softened goes over into them."""
_SMALLEST = 12.0
"""Width in pixels below which no face can be drawn."""
_SHARPEST = 140
"""Width in pixels to which the texture is reduced at least: a quiet face is soft."""
_SOFTNESS = 0.006
"""Blur of what is drawn, standard deviation over the model's width: its features are not to be sharper than the field
around them lets expect."""


def render_quiet_face(out: Planes, seen: Observation, face: NewFace, fitting: FitModel, light: LightFrame) -> bool:
    """Render a surrogate at rest into a picture, in place, where `soft_redaction` has just redacted the head.

    Of what was seen only the pose is used, and of the picture only what is published. False, and nothing drawn, when
    the face is smaller than 12 pixels, lies outside the picture, is seen from behind, or its pixels are no numbers.
    """
    model = fitting.model
    pose = _bounded(seen.pose, model)
    if pose is None:
        return False
    width = pose.scale * model.frame_size[0]
    points = pose.to_image(face.shape, model.depth)
    if width < _SMALLEST or not _in_picture(points, out.size):
        return False
    field = _published_light(out, points, face, fitting, light)
    size = _texture_size(width, model.frame_size)
    texture = lit_texture(face.picture, field, out.colour, size)
    frame_points = (model.mean_shape + 0.5) * (np.array(size) / model.frame_size) - 0.5
    triangles = far_first(model.closed_triangles, face.shape, model.depth, pose)
    patch = render_patch(texture, frame_points, points, triangles, out.size, _MARGIN)
    if patch is None:
        return False
    _render_eyes(patch, out, points, pose, face, field, model)
    _soften(patch, out, _SOFTNESS * width)
    alpha = feathered(patch.covered, _FEATHER * width / 2)
    return composed(patch, Blend(alpha, no_membrane()), out)


def _bounded(pose: HeadPose, model: AppearanceModel) -> HeadPose | None:
    """The pose, turned back to at most `_MOST_TURN` about the middle of the face; None for what is no head's view."""
    rotation = pose.rotation
    if not (np.isfinite(rotation).all() and np.isfinite(pose.shift).all() and np.isfinite(pose.scale)):
        return None
    if pose.scale <= 0 or rotation[2, 2] <= 0:
        return None
    turn = float(np.arccos(np.clip(rotation[2, 2], -1, 1)))
    if turn <= _MOST_TURN:
        return pose
    middle, depth = model.mean_shape.mean(axis=0)[None], model.depth.mean(keepdims=True)
    back = _turned(rotation[:, 2], turn - _MOST_TURN) @ rotation
    there = HeadPose(pose.scale, back, np.zeros(2))
    return HeadPose(pose.scale, back, (pose.to_image(middle, depth) - there.to_image(middle, depth))[0])


def _turned(direction: Points, angle: float) -> Points:
    """Rotation (3, 3) that takes a direction (3,) towards the camera's by an angle (Rodrigues)."""
    axis = np.cross(direction, (0.0, 0.0, 1.0))
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation: Points = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return rotation


def _in_picture(points: Points, size: tuple[int, int]) -> bool:
    """Whether any of the face can lie in a picture."""
    return bool((points.max(axis=0) > 0).all() and (points.min(axis=0) < size).all())


def _published_light(out: Planes, points: Points, face: NewFace, fitting: FitModel, light: LightFrame) -> Pixels:
    """Field float32 (h, w, 3), natural log of a gain, that gives the surrogate the light of the soft field under it."""
    reduced, into = reduced_face(out, points, SMALL_WIDTH)
    return static_light(light, sample(reduced, into(points), fitting.table), face).field


def _texture_size(width: float, frame: tuple[int, int]) -> tuple[int, int]:
    """Width and height of the texture for a face of that width: as fine as the picture can show, or softer."""
    share = min(1.0, min(width, _SHARPEST) / frame[0])
    return max(8, round(share * frame[0])), max(8, round(share * frame[1]))


def _soften(patch: Patch, out: Planes, sigma: float) -> None:
    """Blur the luma of a patch, in place. Beside the mesh it goes over into the picture, not into nothing."""
    width, height = patch.size
    under = out.y[patch.y0 : patch.y0 + height, patch.x0 : patch.x0 + width]
    whole = np.where(patch.covered_luma > 0, patch.y, under.astype(np.float32))
    patch.y[:] = cv2.GaussianBlur(whole, (0, 0), max(sigma, 0.3))


def _render_eyes(
    patch: Patch, out: Planes, points: Points, pose: HeadPose, face: NewFace, field: Pixels, model: AppearanceModel
) -> None:
    """Open eyes between the surrogate's lids, looking straight ahead."""
    for i, lids in enumerate((LEFT_EYE, RIGHT_EYE)):
        x, y, radius = (float(v) for v in model.iris[i])
        middle = np.array([x, y]) + (face.shape - model.mean_shape)[lids].mean(axis=0)
        iris = pose.to_image(middle[None], model.depth[lids].mean(keepdims=True))[0]
        colours = lit_eye(face, i, at_eye(field, i, model), out.colour)
        render_eye(patch, points[lids], iris, radius * pose.scale, colours, narrowed(pose.yaw))
