"""Runs the landmark model on streamdeid's own regions of interest, and makes a face from a mesh."""

from __future__ import annotations

import math

import numpy as np

from streamdeid.core.arrays import Box, Points
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.face_mesh import MESH
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.core.ibug68_from_mesh import forehead_from_mesh, ibug68_from_mesh, iris_from_mesh
from streamdeid.detection.landmark_network import POINTS
from streamdeid.detection.networks import Networks
from streamdeid.detection.region import LandmarkRegion

_SIZE = 256
"""Side, pixels, that a region of a photograph is reduced to before the landmark model (whose input is 192)."""
_LARGEST = 320
"""Largest side, pixels, of a region in a stream. Larger regions are halved, at a fifth of the cost of any other
reduction. Halved regions have 0.83 to 1.67 pixels for one pixel of the input (a photograph: 1.33). Meshes lie within
0.25 % of the face's width of those with 256, and pictures are 47 to 50 dB alike (glasses, night_turning,
expressions_gaze, presenter_hevc_portrait)."""
_MARGIN = 1.5
"""Side of a landmark region over the longer side of the face in it (mediapipe's own figure)."""
_BESIDE, _LEAST_SHARE = 0.2, 0.7
"""For a mesh without points: the distance of its middle from that of the box, share of its own extent, at most; and its
extent, share of the box's, at least. Meshes in boxes of 1.9 times the face are right, too: points confirm those."""
_PRESENCE = 0.5
"""The landmark model's score from which its points are used."""


class Landmarks:
    """Finds the mesh of a face, float64 (478, 3) in pixels, and its presence score. Holds a running network."""

    def __init__(self, networks: Networks, *, quick: bool = False) -> None:
        """quick: reduce large faces by halving, which is faster; for streams."""
        self._find = networks.mesh(_PRESENCE)
        self._quick = quick
        ibug68_from_mesh(np.zeros((POINTS, 3)))  # makes its kernel ready before the first frame, which has a deadline

    def __call__(self, planes: Planes, region: LandmarkRegion) -> tuple[Points, float, LandmarkRegion] | None:
        """The mesh in a region, its presence, and the region to look into next; None when there is no face.

        Where the region does not fit the mesh well, the model looks once more, in a region that does.
        """
        mesh, presence = self._mesh(planes, region)
        if mesh is None or presence < _PRESENCE:
            return None
        better = _region_of_mesh(mesh)
        if _differ(region, better):
            again, presence_again = self._mesh(planes, better)
            if again is not None and presence_again >= _PRESENCE:
                return again, presence_again, _region_of_mesh(again)
        return mesh, presence, better

    def close(self) -> None:
        """Stop the model."""
        self._find.close()

    def _mesh(self, planes: Planes, region: LandmarkRegion) -> tuple[Points | None, float]:
        """Mesh (478, 3) in pixels of the frame, and presence. Only the region's rectangle is converted to RGB."""
        halvings = max(0, math.ceil(math.log2(max(region.side, 1.0) / _LARGEST))) if self._quick else 0
        scale = 0.5**halvings if self._quick else min(1.0, _SIZE / region.side)
        unit = 2 << max(0, halvings - 1)  # so many pixels can be halved without remainder, or have one chroma pixel
        reach = region.side * (abs(math.cos(region.angle)) + abs(math.sin(region.angle))) / 2
        x0, y0 = (max(0, int(c - reach)) // unit * unit for c in region.centre)
        x1, y1 = (
            min(limit // unit * unit if halvings else limit, (int(c + reach) // unit + 1) * unit)
            for c, limit in zip(region.centre, planes.size, strict=True)
        )
        if x1 - x0 < 4 or y1 - y0 < 4:
            return None, 0.0
        rgb = rectangle_to_rgb(planes, x0, y0, x1, y1, scale, quick=self._quick)
        sx, sy = rgb.shape[1] / (x1 - x0), rgb.shape[0] / (y1 - y0)
        # The middle of the first reduced pixel lies between the middles of several pixels. This offset was ignored
        # for the photographs that the models in models/ were trained on, and half a pixel is enough to give a person
        # another surrogate under the same key. So halved regions are shifted as much as regions of 256 pixels were.
        rest = (0.5 / scale - 0.5 / min(1.0, _SIZE / region.side)) * self._quick
        x, y = x0 + rest, y0 + rest
        inside = LandmarkRegion(
            ((region.centre[0] - x) * sx, (region.centre[1] - y) * sy), region.side * sx, region.angle
        )
        mesh, presence = self._find(rgb, inside)
        return (None if mesh is None else mesh / (sx, sy, sx) + (x, y, 0)), presence


def region_of_box(box: Box, keypoints: Points | None = None) -> LandmarkRegion:
    """The region in which to look for the face in a detector's box. keypoints: float64 (n, 2), eyes first; for roll."""
    x0, y0, x1, y1 = box
    angle = 0.0
    if keypoints is not None:
        dx, dy = keypoints[1] - keypoints[0]
        angle = math.atan2(float(dy), float(dx))
    return LandmarkRegion(((x0 + x1) / 2, (y0 + y1) / 2), _MARGIN * max(x1 - x0, y1 - y0), angle)


def outline_of(mesh: Points) -> Points:
    """Corners, float64 (2, 2), of the box of landmarks and forehead points of a mesh (478, 3)."""
    points = np.concatenate([ibug68_from_mesh(mesh), forehead_from_mesh(mesh)])[:, :2]
    return np.stack([points.min(axis=0), points.max(axis=0)])


def fills(outline: Points, box: Box) -> bool:
    """Whether the box of a mesh (`outline_of`) lies in the middle of a detector's box, pixels, and is large enough."""
    low, high = np.array(box[:2]), np.array(box[2:])
    extent = np.maximum(outline[1] - outline[0], 1.0)
    beside = np.abs(outline.sum(axis=0) - low - high) / 2 / extent
    return bool(beside.max() < _BESIDE and (extent / np.maximum(high - low, 1.0)).min() > _LEAST_SHARE)


def face_of(box: Box, score: float, evidence: float, mesh: Points | None, presence: float) -> Face:
    """A face made from a detector's box and a mesh (478, 3); the face's box holds all points."""
    if mesh is None:
        return Face(box, score, evidence=evidence)
    points = np.concatenate([ibug68_from_mesh(mesh), forehead_from_mesh(mesh)])
    landmarks, forehead, outline = points[:LANDMARKS, :2], points[LANDMARKS:, :2], points[:, :2]
    low, high = np.minimum(box[:2], outline.min(axis=0)), np.maximum(box[2:], outline.max(axis=0))
    whole = float(low[0]), float(low[1]), float(high[0]), float(high[1])
    iris = iris_from_mesh(mesh)[:, :, :2]
    skin = mesh[:MESH].copy()  # without the irises; a copy, so that the landmarker's array can be freed
    return Face(whole, score, landmarks, forehead, iris, presence, points[:, 2], evidence, skin)


def _region_of_mesh(mesh: Points) -> LandmarkRegion:
    dx, dy, _ = mesh[263] - mesh[33]  # outer eye corners
    angle = math.atan2(float(dy), float(dx))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    level = mesh[:MESH, :2] @ turn
    low, high = level.min(axis=0), level.max(axis=0)
    x, y = turn @ ((low + high) / 2)
    return LandmarkRegion((float(x), float(y)), _MARGIN * float((high - low).max()), angle)


def _differ(a: LandmarkRegion, b: LandmarkRegion, shift: float = 0.08, turn: float = 0.15) -> bool:
    """Whether two regions differ by more than a share of their side, or by more than an angle (radians)."""
    moved = math.hypot(a.centre[0] - b.centre[0], a.centre[1] - b.centre[1])
    angle = abs(math.remainder(a.angle - b.angle, 2 * math.pi))
    return moved > shift * b.side or abs(a.side - b.side) > 1.5 * shift * b.side or angle > turn
