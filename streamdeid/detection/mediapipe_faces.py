"""Faces of a frame: full-range detector on the whole picture, landmarks on our own regions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.colour import rectangle_to_rgb
from streamdeid.detection.ibug68_from_mesh import forehead_from_mesh, ibug68_from_mesh, iris_from_mesh
from streamdeid.detection.mediapipe_graphs import DetectionGraph, LandmarkGraph, Region
from streamdeid.faces import Face, Points
from streamdeid.frames import Frame, Planes
from streamdeid.ibug68 import LANDMARKS

_DETECTION_SIZE = 384
"""Longer side, pixels, of the copy that the detector sees: twice its 192-pixel input."""
_LANDMARK_SIZE = 256
"""Side, pixels, that a region is reduced to before the landmark model (its input is 192)."""
_MARGIN = 1.5
"""Side of a landmark region over the longer side of the face in it (mediapipe's own figure)."""


class MediapipeFaces:
    """The default detector: a function of a frame, with the regions of the last frame as its only state.

    threshold: detector score below which boxes are dropped, 0 to 1.
    sure: score from which a box is a face even when the landmark model sees none in it (then without landmarks).
    presence: landmark model's score from which a box is a face.
    """

    def __init__(self, threshold: float = 0.3, sure: float = 0.6, presence: float = 0.5) -> None:
        self._detect = DetectionGraph(threshold)
        self._landmarks = LandmarkGraph()
        self._sure = sure
        self._presence = presence
        self._last: list[Region] = []

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """Faces of an upright frame, boxes and points in its pixels."""
        width, height = frame.planes.size
        scale = min(1.0, _DETECTION_SIZE / max(width, height))
        boxes, keypoints, scores = self._detect(rectangle_to_rgb(frame.planes, 0, 0, width, height, scale))
        faces: list[Face] = []
        regions: list[Region] = []
        for box, points, score in zip(boxes / scale, keypoints / scale, scores, strict=True):
            region = self._start(box, points)
            mesh, presence = self._mesh(frame.planes, region)
            if mesh is not None and presence >= self._presence:
                better = _region_of_mesh(mesh)
                if _differ(region, better):
                    again, presence_again = self._mesh(frame.planes, better)
                    if again is not None and presence_again >= self._presence:
                        mesh, presence, better = again, presence_again, _region_of_mesh(again)
                regions.append(better)
                faces.append(_face_of_mesh(box, float(score), mesh, presence))
            elif score >= self._sure:
                faces.append(Face(_box(box), float(score), presence=presence))
        self._last = regions
        return faces

    def forget(self) -> None:
        """Forget the last frame, before a picture that has nothing to do with it."""
        self._last = []

    def close(self) -> None:
        """Stop the graphs."""
        self._detect.close()
        self._landmarks.close()

    def _start(self, box: NDArray[np.float64], keypoints: Points) -> Region:
        """The region to look into: that of the last frame if it still fits (steadier points), else the detector's."""
        region = _region_of_box(box, keypoints)
        for last in self._last:
            if not _differ(last, region, 0.2, 0.35):
                return last
        return region

    def _mesh(self, planes: Planes, region: Region) -> tuple[Points | None, float]:
        """Mesh (478, 3) in pixels of the frame, and presence. Only the region's rectangle is converted to RGB."""
        width, height = planes.size
        reach = region.side * (abs(math.cos(region.angle)) + abs(math.sin(region.angle))) / 2
        x0, y0 = (max(0, int(c - reach)) & ~1 for c in region.centre)
        x1, y1 = (min(limit, int(c + reach) + 1) for c, limit in zip(region.centre, (width, height), strict=True))
        if x1 - x0 < 4 or y1 - y0 < 4:
            return None, 0.0
        scale = min(1.0, _LANDMARK_SIZE / region.side)
        rgb = rectangle_to_rgb(planes, x0, y0, x1, y1, scale)
        sx, sy = rgb.shape[1] / (x1 - x0), rgb.shape[0] / (y1 - y0)
        inside = Region(((region.centre[0] - x0) * sx, (region.centre[1] - y0) * sy), region.side * sx, region.angle)
        mesh, presence = self._landmarks(rgb, inside)
        return (None if mesh is None else mesh / (sx, sy, sx) + (x0, y0, 0)), presence


def _box(box: NDArray[np.float64]) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = (float(v) for v in box)
    return x0, y0, x1, y1


def _face_of_mesh(box: NDArray[np.float64], score: float, mesh: Points, presence: float) -> Face:
    points = np.concatenate([ibug68_from_mesh(mesh), forehead_from_mesh(mesh)])
    landmarks, forehead, outline = points[:LANDMARKS, :2], points[LANDMARKS:, :2], points[:, :2]
    whole = np.concatenate([np.minimum(box[:2], outline.min(axis=0)), np.maximum(box[2:], outline.max(axis=0))])
    return Face(_box(whole), score, landmarks, forehead, iris_from_mesh(mesh)[:, :, :2], presence, points[:, 2])


def _region_of_box(box: NDArray[np.float64], keypoints: Points) -> Region:
    x0, y0, x1, y1 = (float(v) for v in box)
    dx, dy = keypoints[1] - keypoints[0]
    return Region(((x0 + x1) / 2, (y0 + y1) / 2), _MARGIN * max(x1 - x0, y1 - y0), math.atan2(float(dy), float(dx)))


def _region_of_mesh(mesh: Points) -> Region:
    dx, dy, _ = mesh[263] - mesh[33]  # outer eye corners
    angle = math.atan2(float(dy), float(dx))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    level = mesh[:468, :2] @ turn
    low, high = level.min(axis=0), level.max(axis=0)
    x, y = turn @ ((low + high) / 2)
    return Region((float(x), float(y)), _MARGIN * float((high - low).max()), angle)


def _differ(a: Region, b: Region, shift: float = 0.08, turn: float = 0.15) -> bool:
    """Whether two regions differ by more than a share of their side, or by more than an angle (radians)."""
    moved = math.hypot(a.centre[0] - b.centre[0], a.centre[1] - b.centre[1])
    angle = abs(math.remainder(a.angle - b.angle, 2 * math.pi))
    return moved > shift * b.side or abs(a.side - b.side) > 1.5 * shift * b.side or angle > turn
