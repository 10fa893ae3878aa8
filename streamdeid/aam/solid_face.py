"""The face as a solid: the landmarker's mean mesh, moved as a shape differs from the mean (methods.md 6.3 item 4).

The appearance mesh has 81 vertices and no thickness where it matters: turned beyond some 30 degrees its nose has no
profile and hides nothing. The landmarker's mesh has 468 vertices with depth. Both are tied together twice: `solid`
moves the mean mesh by a thin-plate spline over the 81 points, and `flattened` puts its vertices where the flat mesh of
the 81 points renders them. Between the two a face changes from flat to solid with no seam.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Points
from streamdeid.core.mesh_triangles import LIP_RING, RIGID_VERTICES

_UNIT = 100.0
"""Pixels of the model's frame that the splines are computed in."""
_STIFF = 1e-3
"""Smoothing of the splines."""
_GAPE = 30.0
"""Pixels by which the mean's lips, which touch, are moved apart where the spline is computed, so that a movement of the
lower lip does not move the upper one. It fades over `_GAPE_FADES` pixels below the lips."""
_GAPE_FADES = 60.0
_UPPER_LIP, _LOWER_LIP = np.array([61, 62, 63]), np.array([65, 66, 67])
_UPPER_RIM, _LOWER_RIM = LIP_RING[1:10], LIP_RING[11:]


class SolidFace:
    """The mean mesh in a model's frame, and the splines that move it. v = 81 points, m = 468 vertices of the mesh."""

    def __init__(self, mean_mesh: Points, mean_shape: Points, depth: Points, triangles: NDArray[np.int32]) -> None:
        """mean_mesh (m, 3): the landmarker's mean mesh, over the mean shape (v, 2) with its depth (v,). triangles int32
        (t, 3): the appearance mesh with a closed mouth."""
        self._mean_shape, self._depth = mean_shape, depth
        self.mesh = mean_mesh
        """float64 (m, 3): x and y are the places of the vertices in a texture, too."""
        sites, places = _gaping(mean_shape, self.mesh[:, :2])
        self._spread = _spline(sites, places)
        self._corners, self._weights = _located(self.mesh[:, :2], mean_shape, triangles)

    def solid(self, shape: Points, depth: Points) -> Points:
        """The mesh (m, 3) of a shape (v, 2) at depths (v,), in the model's frame."""
        moved = np.column_stack([shape - self._mean_shape, depth - self._depth])
        return self.mesh + self._spread @ moved

    def flattened(self, points: Points) -> Points:
        """Places of the vertices, (m, 2), where the flat appearance mesh at points (v, 2) renders them."""
        placed: Points = np.einsum("mk,mkd->md", self._weights, points[self._corners])
        return placed

    def pose(self, mesh: Points) -> HeadPose:
        """Pose of the landmarker's mesh (m, 3) in a picture: similarity of the vertices that expressions move least
        (Procrustes in three dimensions). Raises LinAlgError for a mesh that has no pose."""
        a0, b0 = self.mesh[RIGID_VERTICES].mean(axis=0), mesh[RIGID_VERTICES].mean(axis=0)
        a, b = self.mesh[RIGID_VERTICES] - a0, mesh[RIGID_VERTICES] - b0
        u, s, vt = np.linalg.svd(b.T @ a)
        kept = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
        rotation = (u * kept) @ vt
        scale = float((s * kept).sum() / (a**2).sum())
        return HeadPose(scale, rotation, b0[:2] - scale * (a0 @ rotation.T)[:2])

    def undone(self, points: Points, pose: HeadPose, mesh: Points) -> Points:
        """Points (n, 3) of a picture with a pose undone, in the model's frame. mesh (m, 3): that of the same face; its
        rigid vertices tell where the picture's depth is zero."""
        middle = self.mesh[RIGID_VERTICES].mean(axis=0)
        back: Points = (points - mesh[RIGID_VERTICES].mean(axis=0)) @ pose.rotation / pose.scale + middle
        return back


def seen(solid: Points, pose: HeadPose) -> Points:
    """A solid (m, 3) of the model's frame as a pose shows it: x, y and depth in pixels of the picture, (m, 3)."""
    view: Points = pose.scale * (solid @ pose.rotation.T)
    view[:, :2] += pose.shift
    return view


def _gaping(mean_shape: Points, vertices: Points) -> tuple[Points, Points]:
    """Landmarks (v, 2) and vertices (m, 2) of the mean with its mouth opened."""
    lips = mean_shape[60:65]
    half, middle = float(lips[4, 0] - lips[0, 0]) / 2, float(lips[[0, 4], 0].mean())

    def opened(places: Points, lower: NDArray[np.intp], upper: NDArray[np.intp]) -> Points:
        line = np.interp(places[:, 0], lips[:, 0], lips[:, 1])
        below = places[:, 1] > line + 0.5
        below[lower], below[upper] = True, False
        amount = np.clip(1 - ((places[:, 0] - middle) / (1.05 * half)) ** 2, 0, 1)
        out = places.copy()
        out[:, 1] += _GAPE * below * amount * np.exp(-np.maximum(places[:, 1] - line, 0) / _GAPE_FADES)
        return out

    return opened(mean_shape, _LOWER_LIP, _UPPER_LIP), opened(vertices, _LOWER_RIM, _UPPER_RIM)


def _spline(sites: Points, places: Points) -> Points:
    """Thin-plate spline as a linear operator (m, n): values at sites (n, 2) to values at places (m, 2)."""

    def bend(a: Points, b: Points) -> Points:
        squares = ((a[:, None] - b[None]) ** 2).sum(axis=2) / _UNIT**2
        bent: Points = 0.5 * squares * np.log(np.maximum(squares, 1e-12))
        return bent

    n = len(sites)
    plane = np.column_stack([np.ones(n), sites / _UNIT])
    system = np.block([[bend(sites, sites) + _STIFF * np.eye(n), plane], [plane.T, np.zeros((3, 3))]])
    coefficients = np.linalg.solve(system, np.vstack([np.eye(n), np.zeros((3, n))]))
    operator = np.asarray(
        np.column_stack([bend(places, sites), np.ones(len(places)), places / _UNIT]) @ coefficients, np.float64
    )
    return operator


def _located(places: Points, points: Points, triangles: NDArray[np.int32]) -> tuple[NDArray[np.int32], Points]:
    """For each place (m, 2) the triangle (3,) of a mesh over points (v, 2) that holds it, or is nearest, and its
    barycentric coordinates there."""
    corners = points[triangles]
    area = _cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    kept = np.nonzero(np.abs(area) > 1e-6)[0]  # closed lips have triangles of no area
    (a, b, c), area = corners[kept].swapaxes(0, 1), area[kept]
    offset = places[:, None] - a[None]
    wb, wc = _cross(offset, c - a) / area, _cross(b - a, offset) / area
    weights = np.stack([1 - wb - wc, wb, wc], axis=2)
    best = weights.min(axis=2).argmax(axis=1)
    rows = np.arange(len(places))
    return triangles[kept[best]], weights[rows, best]


def _cross(a: Points, b: Points) -> Points:
    product: Points = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product
