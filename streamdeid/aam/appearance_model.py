"""The Active Appearance Model: mean shape and texture, their bases and variances, and the mesh (P3; P4 section 2).

Shape and texture stay separate (P4 requires it). The model's frame is a picture of `frame_size` pixels in which the
mean shape lies; a shape is expressed in it after alignment. A texture is one RGB colour for each pixel of the frame
inside the mesh, with each channel scaled to the training set's mean: brightness and skin tone are no part of an
identity (this is the papers' "brightness component set to zero", made exact and extended to colour).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.albedo import Albedo, zones_inside
from streamdeid.aam.clean_texture import even_light, hair_zone, matt_zone, without_hair
from streamdeid.aam.contact_line import ContactLine
from streamdeid.aam.piecewise_affine import WarpTable, sample, scaled_table, warp_table
from streamdeid.aam.procrustes import align
from streamdeid.aam.surface import surface_normals
from streamdeid.aam.synthesise import extended
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.arrays_file import Arrays, let_go, read_arrays, write_arrays
from streamdeid.core.face_mesh import MESH
from streamdeid.core.ibug68 import LIP_TRIANGLES, MOUTH, MOUTH_TRIANGLES, OUTER_LIP, POINTS, RIGID
from streamdeid.errors import ModelError

FORMAT = 2

_ROWS, _COLUMNS = 8, 8192
"""Rows or columns of the texture's basis that are widened to float32 at a time, 4 MB: the whole would be 53 MB, for one
or two products a person. The sums are those of the whole, bit for bit: no sum is divided."""


@dataclass(frozen=True)
class AppearanceModel:
    """A trained model. v = 81 mesh vertices, s shape and t texture components, n pixels inside the mesh."""

    frame_size: tuple[int, int]
    """(width, height) of the model's frame in pixels."""
    mean_shape: Points
    """float64 (v, 2), pixels of the frame."""
    depth: Points
    """float64 (v,): mean depth of the vertices, pixels of the frame, away from the camera."""
    triangles: NDArray[np.int32]
    """int32 (m, 3); the opening of the mouth is a hole."""
    shape_basis: Points
    """float64 (s, 2v), orthonormal rows; x and y of each vertex in turn."""
    shape_variances: Points
    """float64 (s,), square pixels of the frame."""
    mean_texture: Pixels
    """float32 (n, 3), RGB 0-255."""
    texture_basis: NDArray[np.float16]
    """float16 (t, 3n), rows of unit length."""
    texture_variances: Points
    """float64 (t,), square grey levels summed over the texture."""
    iris: Points
    """float64 (2, 3): centre x, y and radius of the mean iris in each eye, pixels of the frame."""
    fit_mean: Pixels
    """float32 (f,): mean grey texture of the fit's small frame, zero mean and unit norm."""
    fit_basis: Pixels
    """float32 (c, f), orthonormal rows, orthogonal to the mean and to a constant."""
    fit_variances: Points
    """float64 (c,)."""
    fit_width: int
    """Width of the fit's frame in pixels; it is the model's frame scaled down."""
    mean_mesh: Points
    """float64 (468, 3): mean of the landmarker's mesh, its own mirror image: x and y in pixels of the frame; z in
    pixels of the frame, away from the camera, from the vertices' mean depth, as `depth` is."""
    smile: Points
    """float64 (v, 2): mean displacement from a face at rest to the same person's smile, pixels of the frame; 0 where
    the training set has no smiles."""
    smile_weights: Points
    """float64 (v, 2): weights of `aam.smile.amount`, a share of the mean smile for each pixel of the frame."""
    smile_folds: Pixels
    """float32 (f, 3): natural log of the change of skin colour by the mean smile, in the fit's frame: shadows beside
    the nose and under the cheeks, light on them; 0 where the training set has no smiles."""
    studio: NDArray[np.float16]
    """float16 (h, w, 3): natural log of the light that the training photographs were taken in (`aam.albedo`)."""
    sha256: str = ""

    @cached_property
    def table(self) -> WarpTable:
        """Warp table of the model's frame."""
        return warp_table(self.mean_shape, self.triangles, self.frame_size)

    @cached_property
    def fit_table(self) -> WarpTable:
        """Warp table of the fit's frame: the model's frame scaled to `fit_width`."""
        return scaled_table(self.mean_shape, self.triangles, self.frame_size, self.fit_width)

    @cached_property
    def closed_triangles(self) -> NDArray[np.int32]:
        """The mesh with the opening of the mouth closed, int32 (k, 3), for rendering: no triangle lies across the
        opening where the outer lips are edges of the mesh."""
        within = np.isin(self.triangles, np.arange(MOUTH.start, MOUTH.stop)).all(axis=1)
        lips = self.triangles[within]
        edges = {frozenset(edge) for t in lips.tolist() for edge in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))}
        rim = [*range(OUTER_LIP.start, OUTER_LIP.stop), OUTER_LIP.start]
        if all(frozenset(edge) in edges for edge in pairwise(rim)):
            lips = LIP_TRIANGLES
        return np.concatenate([MOUTH_TRIANGLES, lips, self.triangles[~within]])

    @cached_property
    def rigid_inverse(self) -> tuple[Points, Points]:
        """The constants from which the pose of a head is computed (`rigid_inverse`)."""
        return rigid_inverse(self.mean_shape, self.depth)

    @cached_property
    def shape_weight(self) -> float:
        """Texture units for one unit of shape: sqrt(sum of texture variances / sum of shape variances) (Cootes)."""
        return float(np.sqrt(self.texture_variances.sum() / self.shape_variances.sum()))

    @cached_property
    def variances(self) -> Points:
        """float64 (s + t,): variances of the entries of an identity vector, in its weighted units."""
        return np.concatenate([self.shape_weight**2 * self.shape_variances, self.texture_variances])

    @cached_property
    def contact_line(self) -> ContactLine:
        """The line along which lips meet."""
        return ContactLine.of(self.albedo.zones, self.mean_shape)

    @cached_property
    def albedo(self) -> Albedo:
        """The albedo, which turns a decoded texture into even skin."""
        zones = zones_inside(self.mean_shape, self.table)
        return Albedo(zones, self.studio.astype(np.float32), extended(self.mean_texture, self.table))

    @cached_property
    def normals(self) -> Pixels:
        """The direction that each pixel of a texture faces, float32 (h, w, 3) (`aam.surface`)."""
        return surface_normals(self.mean_mesh, self.frame_size)

    @cached_property
    def _hair_zone(self) -> Pixels:
        return hair_zone(self.mean_shape, self.table)

    @cached_property
    def _matt_zone(self) -> Pixels:
        return matt_zone(self.mean_shape, self.table)

    def identity(self, shape: Points, texture: Pixels) -> Points:
        """Identity vector `y`, float64 (s + t,), of a neutral shape (v, 2) in any frame and its texture (n, 3)."""
        aligned = align(shape, self.mean_shape)(shape)
        b = self.shape_basis @ (aligned - self.mean_shape).ravel()
        away = (self.normalised(texture) - self.mean_texture).ravel()
        rows = (self.texture_basis[i : i + _ROWS] for i in range(0, len(self.texture_basis), _ROWS))
        c = np.concatenate([_widened(some) @ away for some in rows])
        let_go(self.texture_basis)
        return np.concatenate([self.shape_weight * b, c.astype(np.float64)])

    def decode(self, identity: Points) -> tuple[Points, Pixels]:
        """Shape float64 (v, 2) and texture float32 (n, 3) of an identity vector (s + t,)."""
        s = len(self.shape_variances)
        shape = self.mean_shape + (identity[:s] / self.shape_weight @ self.shape_basis).reshape(-1, 2)
        weights = identity[s:].astype(np.float32)
        away = np.zeros(self.mean_texture.size, np.float32)
        if weights.any():  # each part of a stream decodes the mean face, and the basis takes 0.2 s to read
            for i in range(0, len(away), _COLUMNS):
                away[i : i + _COLUMNS] = weights @ _widened(self.texture_basis[:, i : i + _COLUMNS])
            let_go(self.texture_basis)
        return shape, np.clip(self.mean_texture + away.reshape(-1, 3), 0, 255)

    def normalised(self, texture: Pixels) -> Pixels:
        """The texture (n, 3) without hair, in even light, each channel scaled to the training mean."""
        texture = without_hair(texture, self.mean_texture, self._hair_zone, self.table)
        level = self.mean_texture.mean(axis=0)
        texture = texture * (level / np.maximum(texture.mean(axis=0), 1.0))
        texture = even_light(texture, self.mean_texture, self._matt_zone, self.table)
        scaled: Pixels = (texture * (level / np.maximum(texture.mean(axis=0), 1.0))).astype(np.float32)
        return scaled

    def texture_of(self, image: NDArray[np.uint8], points: Points) -> Pixels:
        """Texture (n, 3) under the mesh at points (v, 2) of an RGB image (h, w, 3)."""
        return sample(image, points, self.table)


def _widened(basis: NDArray[np.float16]) -> Pixels:
    """A piece (r, c) of a basis as float32 (r, c): OpenCV converts it in the processor, four times as fast as NumPy."""
    return np.asarray(cv2.convertFp16(basis.view(np.int16)), np.float32)


def rigid_inverse(shape: Points, depth: Points) -> tuple[Points, Points]:
    """Middle (3,) of the points of a neutral shape (81, 2) with depth (81,) that expressions move least, and the
    pseudo-inverse (3, n) of their places about this middle."""
    solid = np.column_stack([shape, depth])[RIGID]
    origin = solid.mean(axis=0)
    return origin, np.linalg.pinv(solid - origin)


def save_model(path: Path, model: AppearanceModel) -> str:
    """Write a model file; returns its content's SHA-256."""
    return write_arrays(path, {**{name: getattr(model, name) for name in _ARRAYS}, **_scalars(model)})


def load_model(path: Path) -> AppearanceModel:
    """Read and check a model file. Raises ModelError when it is missing, damaged or not such a model."""
    arrays, sha256 = read_arrays(path)
    missing = [name for name in (*_ARRAYS, "format", "frame_size", "fit_width") if name not in arrays]
    if missing:
        raise ModelError(f"{path} is not an appearance model: it lacks {missing[0]}")
    if int(arrays["format"]) != FORMAT:
        raise ModelError(f"{path} has model format {int(arrays['format'])}; this version reads {FORMAT}")
    for name, (dtype, dimensions) in _ARRAYS.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != dimensions:
            raise ModelError(f"{path}: {name} has the wrong type or shape")
    _check_sizes(path, arrays)
    width, height = (int(x) for x in arrays["frame_size"])
    model = AppearanceModel(
        (width, height), fit_width=int(arrays["fit_width"]), sha256=sha256, **{name: arrays[name] for name in _ARRAYS}
    )
    for table, texture in ((model.table, model.mean_texture), (model.fit_table, model.fit_mean)):
        if len(table.rows) != len(texture):
            raise ModelError(f"{path}: its mesh covers {len(table.rows)} pixels, its texture has {len(texture)}")
    return model


_ARRAYS = {
    "mean_shape": (np.float64, 2),
    "depth": (np.float64, 1),
    "triangles": (np.int32, 2),
    "shape_basis": (np.float64, 2),
    "shape_variances": (np.float64, 1),
    "mean_texture": (np.float32, 2),
    "texture_basis": (np.float16, 2),
    "texture_variances": (np.float64, 1),
    "iris": (np.float64, 2),
    "fit_mean": (np.float32, 1),
    "fit_basis": (np.float32, 2),
    "fit_variances": (np.float64, 1),
    "mean_mesh": (np.float64, 2),
    "smile": (np.float64, 2),
    "smile_weights": (np.float64, 2),
    "smile_folds": (np.float32, 2),
    "studio": (np.float16, 3),
}


def _scalars(model: AppearanceModel) -> Arrays:
    return {
        "format": np.array(FORMAT),
        "frame_size": np.array(model.frame_size),
        "fit_width": np.array(model.fit_width),
    }


def _check_sizes(path: Path, arrays: Arrays) -> None:
    pixels, grey = len(arrays["mean_texture"]), len(arrays["fit_mean"])
    s, t, c = (len(arrays[name]) for name in ("shape_variances", "texture_variances", "fit_variances"))
    expected = {
        "mean_shape": (POINTS, 2),
        "depth": (POINTS,),
        "triangles": (len(arrays["triangles"]), 3),
        "shape_basis": (s, 2 * POINTS),
        "mean_texture": (pixels, 3),
        "texture_basis": (t, 3 * pixels),
        "iris": (2, 3),
        "fit_basis": (c, grey),
        "frame_size": (2,),
        "mean_mesh": (MESH, 3),
        "smile": (POINTS, 2),
        "smile_weights": (POINTS, 2),
        "smile_folds": (grey, 3),
        "studio": (int(arrays["frame_size"][1]), int(arrays["frame_size"][0]), 3),
    }
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ModelError(f"{path}: {name} has shape {arrays[name].shape}, expected {shape}")
    triangles = arrays["triangles"]
    if triangles.min() < 0 or triangles.max() >= POINTS:
        raise ModelError(f"{path}: triangles name vertices that do not exist")
