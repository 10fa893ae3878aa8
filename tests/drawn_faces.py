"""Pictures of people who never lived: faces of the model drawn into a made-up room. No photographs in the suite."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import render, spread
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.procrustes import align
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import INNER_LIP, LANDMARKS, LEFT_EYE, OUTLINE, RIGHT_EYE

SIZE = (320, 320)
"""Width and height of the pictures."""


@dataclass(frozen=True)
class Scene:
    """A picture with one face in it, of which everything is known."""

    rgb: NDArray[np.uint8]
    planes: Planes
    points: Points
    """float64 (81, 2) in pixels of the picture."""
    face: Face


def rotation(yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0) -> Points:
    """Head rotation (3, 3) of `HeadPose`: roll after pitch after yaw, radians."""
    swing = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    tilt = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
    turn = np.array([[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
    whole: Points = turn @ tilt @ swing
    return whole


def pose_at(
    model: AppearanceModel, width: float = 150.0, centre: tuple[float, float] = (160.0, 165.0), **angles: float
) -> HeadPose:
    """A pose that shows the mean face about `width` pixels wide around `centre`."""
    scale = width / model.frame_size[0]
    turned = rotation(**angles)
    middle = model.mean_shape.mean(axis=0) @ turned[:2, :2].T + model.depth.mean() * turned[:2, 2]
    return HeadPose(scale, turned, np.asarray(centre) - scale * middle)


def some_identity(model: AppearanceModel, seed: int, spread_of: float = 0.7) -> Points:
    """A person drawn from the model's own distribution, as an identity vector (d,)."""
    return spread_of * np.random.default_rng(seed).standard_normal(len(model.variances)) * np.sqrt(model.variances)


def with_mouth(shape: Points, opening: float) -> Points:
    """The shape (81, 2) with its inner lips opened to a share of their width (0: pressed together)."""
    shape = shape.copy()
    lips = shape[INNER_LIP]
    upper, lower = lips[1:4], lips[[7, 6, 5]]
    middle = (upper + lower) / 2
    half = opening * float(np.linalg.norm(lips[4] - lips[0])) / 2 * np.array([0.8, 1.0, 0.8])[:, None] * (0.0, 1.0)
    shape[[61, 62, 63]], shape[[67, 66, 65]] = middle - half, middle + half
    drop = half.max() - float(np.abs(lower - upper).max()) / 2
    shape[55:60, 1] += max(drop, 0.0)
    shape[49:54, 1] -= max(drop, 0.0)
    shape[5:12, 1] += max(drop, 0.0)
    return shape


def room(size: tuple[int, int] = SIZE, seed: int = 0) -> Pixels:
    """A background, RGB float32 (h, w, 3): soft shapes and some grain."""
    width, height = size
    rng = np.random.default_rng(seed)
    soft = cv2.resize(
        rng.uniform(40, 200, (6, 7, 3)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC
    )
    return np.clip(soft + rng.normal(0, 3, soft.shape).astype(np.float32), 0, 255)


def scene(
    model: AppearanceModel,
    shape: Points,
    texture: Pixels,
    pose: HeadPose,
    size: tuple[int, int] = SIZE,
    behind: Pixels | None = None,
) -> Scene:
    """Draw texture (n, 3) on shape (81, 2), both of the model's frame, into a room. Teeth show in an open mouth."""
    points = pose.to_image(shape, model.depth)
    picture = np.ascontiguousarray(room(size) if behind is None else behind.copy(), np.float32)
    lips = np.round(points[INNER_LIP] * 16).astype(np.int32)
    cv2.fillPoly(picture, [lips], (60, 25, 25), cv2.LINE_8, 4)
    teeth = points[INNER_LIP].copy()
    teeth[[5, 6, 7]] = (teeth[[5, 6, 7]] + teeth[[3, 2, 1]]) / 2
    cv2.fillPoly(picture, [np.round(teeth * 16).astype(np.int32)], (215, 210, 200), cv2.LINE_8, 4)
    covered = np.zeros((size[1], size[0]), np.uint8)
    render(extended(texture, model.table), model.mean_shape, points, model.triangles, picture, covered)
    rgb = np.clip(picture + 0.5, 0, 255).astype(np.uint8)
    face = replace(face_at(points, model, pose.scale), mesh=mesh_at(shape, model, pose))
    return Scene(rgb, planes_from_rgb(rgb), points, face)


def mesh_at(shape: Points, model: AppearanceModel, pose: HeadPose) -> Points:
    """What a flawless landmarker sees, float64 (468, 3), of a shape (81, 2) in a pose: the mean mesh, each point moved
    in the model's frame as the vertices about it are."""
    mesh = model.mean_mesh
    apart = np.square(mesh[:, None, :2] - model.mean_shape).sum(axis=2)
    weights = 1 / (apart + 4.0) ** 2
    moved = mesh[:, :2] + weights @ (shape - model.mean_shape) / weights.sum(axis=1, keepdims=True)
    turned = np.column_stack([moved, mesh[:, 2]]) @ pose.rotation.T * pose.scale
    return np.column_stack([pose.to_image(moved, mesh[:, 2]), turned[:, 2]])


def face_at(points: Points, model: AppearanceModel, scale: float) -> Face:
    """What a flawless detector says of a face at points (81, 2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    iris = np.empty((2, 5, 2))
    for i, eye in enumerate((LEFT_EYE, RIGHT_EYE)):
        radius = float(model.iris[i, 2]) * scale
        iris[i] = points[eye].mean(axis=0) + radius * np.array([[0, 0], [1, 0], [0, -1], [-1, 0], [0, 1]])
    box = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    depth = model.depth * scale
    to_image = align(model.mean_shape, points)
    mesh = np.column_stack([to_image(model.mean_mesh[:, :2]), model.mean_mesh[:, 2] * scale])
    return Face(box, 0.9, points[:LANDMARKS].copy(), points[LANDMARKS:].copy(), iris, 1.0, depth, mesh=mesh)


def soft_of(texture: Pixels, model: AppearanceModel, sigma: float) -> Pixels:
    """Texture (n, 3) blurred inside the mesh, sigma in pixels of the model's frame."""
    mask = spread(np.ones((len(texture), 1), np.float32), model.table)
    blurred = [
        cv2.GaussianBlur(p, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT) for p in (spread(texture, model.table), mask)
    ]
    smooth: Pixels = (blurred[0] / (blurred[1][:, :, None] + 1e-3))[model.table.rows, model.table.columns]
    return smooth


def noise_of_same_light(
    texture: Pixels, model: AppearanceModel, sigma: float, seed: int = 5, grain: float = 30.0
) -> Pixels:
    """Texture (n, 3) of noise whose blur is that of the given texture: same light, no detail of the person."""
    rng = np.random.default_rng(seed)
    noise = soft_of(texture, model, sigma) + rng.normal(0, grain, texture.shape).astype(np.float32)
    for _ in range(4):
        noise = noise + soft_of(texture, model, sigma) - soft_of(noise, model, sigma)
    return np.clip(noise, 0, 255).astype(np.float32)


def inside_hull(points: Points, size: tuple[int, int] = SIZE, shrink: float = 0.0) -> NDArray[np.bool_]:
    """Mask (h, w) of the outline of points (81, 2), eroded by `shrink` pixels (dilated where negative)."""
    mask: NDArray[Any] = np.zeros((size[1], size[0]), np.uint8)
    cv2.fillPoly(mask, [np.round(points[OUTLINE] * 16).astype(np.int32)], 1, cv2.LINE_8, 4)
    return _shrunk(mask, shrink)


def inside_lips(points: Points, size: tuple[int, int] = SIZE, shrink: float = 0.0) -> NDArray[np.bool_]:
    """Mask (h, w) of the inner lips of points (81, 2), eroded (dilated where negative)."""
    mask: NDArray[Any] = np.zeros((size[1], size[0]), np.uint8)
    cv2.fillPoly(mask, [np.round(points[INNER_LIP] * 16).astype(np.int32)], 1, cv2.LINE_8, 4)
    return _shrunk(mask, shrink)


def _shrunk(mask: NDArray[Any], pixels: float) -> NDArray[np.bool_]:
    if pixels > 0:
        return np.asarray(cv2.distanceTransform(mask, cv2.DIST_L2, 5) > pixels)
    if pixels < 0:
        return np.asarray(cv2.distanceTransform(1 - mask, cv2.DIST_L2, 5) < -pixels)
    return np.asarray(mask > 0)
