"""Runs the attention face mesh (478 points) in LiteRT: a network for the whole face, and one for lips and eyes.

The model (Grishchenko et al. 2020, "Attention Mesh") finds 468 points. These points tell it where to cut lips and both
eyes out of one of its early layers. In those crops it finds the points of lips and eyes again, and the irises. Custom
operators of mediapipe do the cutting, and LiteRT does not know them. So the model is split in two here (`model_parts`),
and a kernel does the cutting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.face_mesh import MESH
from streamdeid.core.kernel_cache import kernel
from streamdeid.core.shipped_models import LANDMARKS, network
from streamdeid.detection.litert import Network, Unusable
from streamdeid.detection.model_parts import Model
from streamdeid.detection.region import LandmarkRegion
from streamdeid.detection.sampling import rotated

INPUT = 192
"""Side of the network's input, pixels."""
_STRIDE = 4
"""Pixels of the input in one pixel of the layer that is cut."""
_CROP = 16
"""Side of a crop, in pixels of that layer. The network gives points in a crop in pixels of the input, `_STRIDE` times
as many."""
_PICTURE, _LAYER, _MESH, _PRESENCE = 0, 35, 186, 710
"""Numbers of the tensors of the first part."""
_MATRICES = (192, 193, 194)
"""Operators that tell where crops lie: lips, left eye, right eye (the person's right and left)."""
_CROPS = (199, 200, 201)
_LIPS, _LEFT_EYE, _LEFT_IRIS, _RIGHT_EYE, _RIGHT_IRIS = 684, 687, 690, 693, 696
"""Numbers of the output tensors of the second part."""
_LIDS = (
    np.array([33, 7, 163, 144, 145, 153, 154, 155, 133, 246, 161, 160, 159, 158, 157, 173]),
    np.array([263, 249, 390, 373, 374, 380, 381, 382, 362, 466, 388, 387, 386, 385, 384, 398]),
)
"""The points of each eye whose mean depth is that of its iris (mediapipe's face_landmarks refinement)."""
_IRIS = 5
"""Points of an iris."""
POINTS = MESH + 2 * _IRIS
"""Points of the face and both irises: 478."""


@dataclass(frozen=True)
class _Feature:
    """How the crop of the lips or of an eye lies about its points."""

    points: NDArray[np.int64]
    """The points of the mesh that are found again, in the network's order."""
    left: int
    right: int
    """Two points whose connecting line is level in the crop."""
    reach: float
    """Side of the crop over the side of the points' box."""


class LandmarkNetwork:
    """Finds the mesh in one region of one picture. Has no memory of pictures; not for several threads at once."""

    def __init__(self, least: float = 0.0) -> None:
        """least: presence, 0 to 1, below which no mesh is returned.

        Raises Unusable where LiteRT is missing, and ModelError where the model is missing or has been changed.
        """
        model = Model(network(LANDMARKS))
        try:
            whole = model.part([_PICTURE], [_LAYER, _MESH, _PRESENCE])
            features = model.part(_CROPS, [_LIPS, _LEFT_EYE, _LEFT_IRIS, _RIGHT_EYE, _RIGHT_IRIS])
            self._features = [_feature(model.options(operator)) for operator in _MATRICES]
        except ValueError as error:
            raise Unusable("the landmark model is not the one that is known") from error
        self._whole, self._parts = Network(whole), Network(features)
        self._input = np.zeros((INPUT, INPUT, 3), np.float32)
        self._crops = np.zeros((len(_CROPS), _CROP, _CROP, 32), np.float32)
        self._least = 0.0
        # This call makes the kernels ready before the first frame.
        self(np.zeros((48, 64, 3), np.uint8), LandmarkRegion((32.0, 24.0), 48.0, 0.0))
        self._least = least

    def __call__(self, rgb: NDArray[np.uint8], region: LandmarkRegion) -> tuple[NDArray[np.float64] | None, float]:
        """Mesh of the face in a region of an RGB picture, uint8 (h, w, 3), at least two pixels wide and high.

        Returns points (478, 3) in pixels (x right, y down, z away from the camera), or None, and the presence score.
        """
        rotated(rgb, region, self._input)
        layer, points, flag = self._whole(self._input)
        presence = 1 / (1 + math.exp(-float(np.clip(flag, -100, 100)[0, 0, 0])))
        if presence < self._least:
            return None, presence
        mesh = np.empty((POINTS, 3))
        mesh[:MESH] = points.reshape(MESH, 3)
        self._refine(mesh, layer)
        return placed(mesh, region), presence

    def close(self) -> None:
        """Do nothing: the network is freed with the object."""

    def _refine(self, mesh: NDArray[np.float64], layer: NDArray[np.float32]) -> None:
        """Find lips, eyes and irises of a mesh (478, 3), in pixels of the input, again in their crops, in place."""
        maps = [crop_map(mesh, one.points, one.left, one.right, one.reach) for one in self._features]
        for crop, place in zip(self._crops, maps, strict=True):
            cut(layer, place, crop)
        lips, left, left_iris, right, right_iris = self._parts(*self._crops)
        irises = np.arange(MESH, MESH + 2 * _IRIS).reshape(2, _IRIS)
        points = [one.points for one in self._features]
        found = zip(
            (lips, left, left_iris, right, right_iris),
            (points[0], points[1], irises[0], points[2], irises[1]),
            (maps[0], maps[1], maps[1], maps[2], maps[2]),
            strict=True,
        )
        for values, rows, place in found:
            mesh[rows, :2] = values.reshape(-1, 2) @ place[:, :2].T + _STRIDE * place[:, 2]
        for rows, lids in zip(irises, _LIDS, strict=True):
            mesh[rows, 2] = mesh[lids, 2].mean()


def placed(mesh: NDArray[np.float64], region: LandmarkRegion) -> NDArray[np.float64]:
    """A mesh (478, 3), given in pixels of the input, in pixels of the picture that the region was taken from."""
    scale = region.side / INPUT
    x, y = (mesh[:, :2].T - INPUT / 2) * scale
    across, along = math.sin(region.angle), math.cos(region.angle)
    left, top = region.centre
    return np.stack([left + along * x - across * y, top + across * x + along * y, mesh[:, 2] * scale], axis=1)


@kernel
def crop_map(
    mesh: NDArray[np.float64], points: NDArray[np.int64], left: int, right: int, reach: float
) -> NDArray[np.float64]:
    """The affine map (2, 3) from pixels of a crop to pixels of the layer, for a mesh (n, d) in pixels of the input.

    The crop is the box of some points of the mesh, level with the line from `left` to `right`, `reach` times as large.
    Twin: tests/network_twins.py.
    """
    angle = np.arctan2(mesh[right, 1] - mesh[left, 1], mesh[right, 0] - mesh[left, 0])
    across, along = np.sin(angle), np.cos(angle)
    u0 = v0 = np.inf
    u1 = v1 = -np.inf
    for k in points:
        u = (along * mesh[k, 0] + across * mesh[k, 1]) / _STRIDE
        v = (along * mesh[k, 1] - across * mesh[k, 0]) / _STRIDE
        u0, u1, v0, v1 = min(u0, u), max(u1, u), min(v0, v), max(v1, v)
    wide, high = reach * (u1 - u0) / _CROP, reach * (v1 - v0) / _CROP
    u, v = (u0 + u1) / 2 - wide * _CROP / 2, (v0 + v1) / 2 - high * _CROP / 2
    place = np.empty((2, 3))
    place[0, 0], place[0, 1], place[0, 2] = along * wide, -across * high, along * u - across * v
    place[1, 0], place[1, 1], place[1, 2] = across * wide, along * high, across * u + along * v
    return place


@kernel
def cut(layer: NDArray[np.float32], place: NDArray[np.float64], out: NDArray[np.float32]) -> None:
    """Fill `out`, a crop (16, 16, channels), from a layer (h, w, channels) by an affine map (2, 3) between pixels.

    Pixels outside the layer are 0. Twin: tests/network_twins.py.
    """
    height, width, channels = layer.shape
    for j in range(out.shape[0]):
        for i in range(out.shape[1]):
            x = place[0, 0] * (i + 0.5) + place[0, 1] * (j + 0.5) + place[0, 2] - 0.5
            y = place[1, 0] * (i + 0.5) + place[1, 1] * (j + 0.5) + place[1, 2] - 0.5
            if not (0 <= x <= width - 1 and 0 <= y <= height - 1):
                out[j, i] = 0
                continue
            x0, y0 = int(x), int(y)
            x1, y1 = min(x0 + 1, width - 1), min(y0 + 1, height - 1)
            fx, fy = np.float32(x - x0), np.float32(y - y0)
            p, q = (1 - fx) * (1 - fy), fx * (1 - fy)
            r, s = (1 - fx) * fy, fx * fy
            for c in range(channels):
                out[j, i, c] = layer[y0, x0, c] * p + layer[y0, x1, c] * q + layer[y1, x0, c] * r + layer[y1, x1, c] * s


def _feature(options: dict[str, object]) -> _Feature:
    """The feature that a `Landmarks2TransformMatrix` operator describes. Raises ValueError for unknown crops."""
    values = {name: np.asarray(value) for name, value in options.items()}
    sides = {int(values["output_width"]), int(values["output_height"])}
    if sides != {_CROP} or values["target_rotation_radians"] != 0 or values["scale_x"] != values["scale_y"]:
        raise ValueError("the landmark model's crops are other ones")
    return _Feature(
        values["subset_idxs"].astype(np.int64),
        int(values["left_rotation_idx"]),
        int(values["right_rotation_idx"]),
        float(values["scale_x"]),
    )
