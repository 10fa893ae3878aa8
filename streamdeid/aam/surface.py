"""The surface of the mean face in the model's frame: the direction each pixel of a texture faces, and its slope.

It comes from the landmarker's mean mesh over the training photographs. The light on a face depends on its normals.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import scaled_table, triangulate
from streamdeid.aam.smooth_step import smooth_step
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import FOREHEAD, JAW

OVAL = np.array(
    [10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152,
     148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109]
)  # fmt: skip
"""The landmarker's own outline of a face, vertices of its mesh in turn."""
_JOINT = 0.08
"""Width of the rim over which the mesh fades into its continuation, share of the frame's width."""
_STEEPEST = 1.2
_MOST_SLIDE = 12.0
"""Most pixels of the model's frame by which a point comes nearer or goes away."""
_NOSE = slice(27, 36)


def surface_normals(mean_mesh: Points, size: tuple[int, int]) -> Pixels:
    """Unit normals float32 (h, w, 3) towards the camera of a mean mesh (468, 3) in a frame of size (width, height).

    Their components are right, down and forwards; beyond the mesh's outline they are those of a smooth continuation."""
    width, height = size
    flat = np.ascontiguousarray(mean_mesh[:, :2])
    table = scaled_table(flat, triangulate(flat, OVAL), size, width)
    depth = np.full((height, width), np.nan, np.float32)
    corners = mean_mesh[:, 2][table.triangles[table.triangle]]
    depth[table.rows, table.columns] = np.einsum("nk,nk->n", table.weights, corners)
    inside: NDArray[np.bool_] = np.isfinite(depth)
    rows, columns = np.mgrid[0:height, 0:width]
    u, v = (columns - width / 2) / (width / 2), (rows - height / 2) / (height / 2)
    terms = np.dstack([np.ones_like(u), u, v, u * u, u * v, v * v, u**4, v**4, u * u * v * v])
    bowl = terms @ np.linalg.lstsq(terms[inside], depth[inside], rcond=None)[0]
    filled = np.where(inside, depth, bowl).astype(np.float32)
    t = smooth_step(cv2.distanceTransform(inside.astype(np.uint8), cv2.DIST_L2, 5) / (_JOINT * width))
    smooth, fine = (cv2.GaussianBlur(filled, (0, 0), share * width) for share in (0.06, 0.02))
    down, across = np.gradient(smooth * (1 - t) + fine * t)
    normals = np.dstack([across, down, np.ones_like(across)])
    return np.asarray(normals / np.linalg.norm(normals, axis=2, keepdims=True), np.float32)


def vertex_slopes(normals: Pixels, mean_shape: Points) -> Points:
    """How much farther from the camera the surface gets per pixel right and down at each vertex, float64 (81, 2): a
    point that slides over it comes nearer or goes away. 0 on the nose, whose points move with it, and the outline."""
    height, width = normals.shape[:2]
    limits = zip(mean_shape.T, (width, height), strict=True)
    x, y = (np.clip(line.round().astype(int), 4, limit - 5) for line, limit in limits)
    at = normals[y, x].astype(np.float64)
    slopes: Points = np.clip(at[:, :2] / at[:, 2:], -_STEEPEST, _STEEPEST)
    for still in (JAW, _NOSE, FOREHEAD):
        slopes[still] = 0
    return slopes


def slid_depth(depth: Points, moved: Points, slopes: Points) -> Points:
    """Depth (81,) of points after they moved (81, 2) over a surface with slopes (81, 2); depth (81,): theirs before. A
    point that slides over the surface of a face comes nearer or goes away."""
    slid: Points = depth + np.clip((moved * slopes).sum(axis=1), -_MOST_SLIDE, _MOST_SLIDE)
    return slid
