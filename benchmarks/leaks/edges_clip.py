"""Clips of a quick synthetic head for `edges`: drawn with an open shutter, with and without a pattern on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import render
from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import MOUTH
from streamdeid.render.new_face import NewFace
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.bodies import Body, background, draw_behind, looks

SIZE, RATE, WIDTH = (640, 360), 25, 100.0
STILL, MOVING = 16, 30
"""Frames: at rest until the person is known, then in motion."""
SUB_FRAMES = 12
STRENGTH = 50.0
QUICKEST = np.radians(400.0)

Motion = Callable[[float], dict[str, float]]
"""Pose at a time in seconds since the motion began: yaw, pitch, roll (radians), x, y (face widths)."""


def swing(angle: str, amplitude: float, rate: float = QUICKEST) -> Motion:
    """To and fro by an angle, at most so many radians a second."""
    return lambda t: {angle: amplitude * float(np.sin(rate / amplitude * t))}


def shaken(t: float) -> dict[str, float]:
    """Shaken along a slope, by up to a quarter of the face's width a frame."""
    reach = 0.3 * float(np.sin(0.25 * RATE / 0.3 * t))
    return {"x": 0.9 * reach, "y": 0.4 * reach}


def darting(t: float) -> dict[str, float]:
    """Two widths to either side and back, by up to a whole width a frame."""
    return {"x": 2.0 * float(np.sin(0.5 * RATE * t))}


MOTIONS: dict[str, Motion] = {
    "still": lambda t: {},
    "yaw 400/s": swing("yaw", 0.7),
    "pitch 400/s": swing("pitch", 0.4),
    "roll 400/s": swing("roll", 0.6),
    "shaken, 1/4 width": shaken,
    "darting, 1 width": darting,
    "scene cut": lambda t: {"x": -1.8, "y": 0.1},
}


@dataclass(frozen=True)
class Shot:
    """One frame of the drawn clip."""

    planes: tuple[Planes, Planes]
    """As it is, and with the pattern."""
    points: Points
    """float64 (81, 2): the mesh in the middle of the exposure, pixels."""
    lips: NDArray[np.bool_]
    """(h, w): the mouth, whose inside may be copied."""


class Stage:
    """Draws the clips."""

    def __init__(self, seed: int = 3) -> None:
        models = load_models(None)
        self.fitting, rng = models.fitting, np.random.default_rng(seed)
        self._wall = background(*SIZE, rng)
        self._other_wall = np.ascontiguousarray(255 - 0.8 * self._wall[:, ::-1])
        spread = 0.6 * np.sqrt(self.fitting.model.variances)
        faces = [NewFace.photographed(spread * rng.standard_normal(len(spread)), self.fitting) for _ in range(2)]
        self._people = [(face, looks(number, rng)) for number, face in enumerate(faces)]
        height, width = self._people[0][0].picture.shape[:2]
        noise = rng.choice([-1.0, 1.0], (height // 6, width // 6)).astype(np.float32)
        noise = np.asarray(cv2.resize(noise, (width, height), interpolation=cv2.INTER_NEAREST), np.float32)
        self._pattern = STRENGTH * (noise - cv2.GaussianBlur(noise, (0, 0), 8.0))[:, :, None]

    def clip(self, motion: Motion, cut: bool = False) -> Iterator[Shot]:
        """The frames: still first. cut: the motion is another person somewhere else."""
        for index in range(STILL + MOVING):
            begun = index - STILL
            if begun < 0:
                yield self._shot(motion if not cut else MOTIONS["still"], 0, None)
            else:
                yield self._shot(motion, int(cut), begun / RATE)

    def _shot(self, motion: Motion, person: int, start: float | None) -> Shot:
        face, body = self._people[person]
        wall = self._other_wall if person else self._wall
        moments = [0.0] * 2 if start is None else [start + (i + 0.5) / SUB_FRAMES / RATE for i in range(SUB_FRAMES)]
        total = [np.zeros((SIZE[1], SIZE[0], 3), np.float32) for _ in range(2)]
        for moment in moments:
            pose = self._pose(motion(moment))
            for picture, drawn in zip(total, self._drawn(pose, face, body, wall), strict=True):
                picture += drawn / len(moments)
        middle = self._pose(motion(0.0 if start is None else start + 0.5 / RATE))
        points = middle.to_image(face.shape, self.fitting.model.depth)
        lips = cv2.dilate(filled(points[MOUTH], hull=True), np.ones((5, 5), np.uint8)) > 0
        planes = [planes_from_rgb(np.clip(picture + 0.5, 0, 255).astype(np.uint8)) for picture in total]
        return Shot((planes[0], planes[1]), points, lips)

    def _drawn(self, pose: HeadPose, face: NewFace, body: Body, wall: Pixels) -> Iterator[Pixels]:
        model = self.fitting.model
        behind = wall.copy()
        points = pose.to_image(face.shape, model.depth)
        draw_behind(behind, body, pose, face, model, points.mean(axis=0))
        for sign in (0.0, 1.0):
            picture = behind.copy()
            texture = np.ascontiguousarray(face.picture * 0.7 + 30 + sign * self._pattern, np.float32)
            covered = np.zeros(picture.shape[:2], np.uint8)
            render(texture, model.mean_shape, points, model.closed_triangles, picture, covered)
            yield picture

    def _pose(self, given: dict[str, float]) -> HeadPose:
        yaw, pitch, roll = (given.get(name, 0.0) for name in ("yaw", "pitch", "roll"))
        swing = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
        tilt = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
        turn = np.array([[np.cos(roll), -np.sin(roll), 0], [np.sin(roll), np.cos(roll), 0], [0, 0, 1]])
        rotation = turn @ tilt @ swing
        model = self.fitting.model
        scale = WIDTH / model.frame_size[0]
        middle = model.mean_shape.mean(axis=0) @ rotation[:2, :2].T + (model.depth.mean() + 60) * rotation[:2, 2]
        place = np.array([SIZE[0] / 2, 0.45 * SIZE[1]]) + WIDTH * np.array([given.get("x", 0.0), given.get("y", 0.0)])
        return HeadPose(scale, rotation, place - scale * middle)


def filled(polygon: Points, hull: bool = False) -> NDArray[np.uint8]:
    """Mask uint8 (h, w), 1 inside a polygon (n, 2), or inside its convex hull."""
    mask = np.zeros((SIZE[1], SIZE[0]), np.uint8)
    corners = np.round(polygon * 16).astype(np.int32)
    cv2.fillPoly(mask, [cv2.convexHull(corners) if hull else corners], (1,), cv2.LINE_8, 4)
    return mask
