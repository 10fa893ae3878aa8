"""A plain 68-point active appearance model, for repeating the papers' experiments (P3 section IV.A; methods.md 1.11).

Unlike the shipped model nothing is cleaned: no mirrored pictures, no hair taken out, no light evened, no brightness
normalised. Shape and texture are independent (Matthews and Baker 2004), each with a fixed number of components; a face
is the vector of both, in that order, unweighted. The units are pixels of the model's frame for shape and grey levels
from 0 to 1 for texture.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.pca import Components, principal_components
from streamdeid.aam.piecewise_affine import WarpTable, render, sample, spread, triangulate, warp_table
from streamdeid.aam.procrustes import align, generalised_procrustes
from streamdeid.core.arrays import Picture, Points, Vectors
from streamdeid.errors import InputError

LANDMARKS = 68
OUTLINE = np.concatenate([np.arange(0, 17), np.arange(26, 16, -1)])
"""The closed outline of the face: the jaw from left to right, the brows back."""

_MARGIN = 3.0
"""Pixels between the mean shape and the border of the frame."""
_COLOURED = 3.0
"""Mean difference between the channels, in levels, above which a picture counts as coloured."""


@dataclass(frozen=True)
class AnnotatedFace:
    """A picture and its 68 points."""

    name: str
    image: Picture
    """RGB, uint8 (h, w, 3)."""
    points: Points
    """float64 (68, 2), x and y in pixels; 0 is the middle of the first pixel."""


@dataclass(frozen=True)
class PlainModel:
    """Mean and components of shape and of texture."""

    mean_shape: Points
    """float64 (68, 2), pixels of the frame."""
    table: WarpTable
    shape: Components
    """Of aligned points less the mean shape, (136,), in pixels of the frame."""
    texture: Components
    """Of the RGB pixels inside the outline, (3 pixels,), 0 to 1."""

    def parameters(self, face: AnnotatedFace) -> Vectors:
        """Shape parameters, then texture parameters, of one picture: float64 (s + t,)."""
        shape = align(face.points, self.mean_shape)(face.points) - self.mean_shape
        texture = _texture(face, self.mean_shape, self.table)
        return np.concatenate(
            [
                self.shape.basis @ (shape.ravel() - self.shape.mean),
                self.texture.basis @ (texture - self.texture.mean),
            ]
        )

    def decode(self, parameters: Vectors, background: int = 255) -> Picture:
        """The face with these parameters (s + t,), as an RGB picture of the frame, uint8 (h, w, 3), on plain grey."""
        split = len(self.shape.basis)
        moved = self.shape.mean + parameters[:split] @ self.shape.basis
        pixels = self.texture.mean + parameters[split:] @ self.texture.basis
        texture = spread((pixels.reshape(-1, 3) * 255.0).astype(np.float32), self.table)
        width, height = self.table.size
        out = np.full((height, width, 3), background, np.float32)
        points = self.mean_shape + moved.reshape(-1, 2)
        # Bilinear reading at the rim of the texture would mix in the nothing around it.
        texture = _extended(texture, self.table)
        render(texture, self.mean_shape, points, self.table.triangles, out, np.zeros((height, width), np.uint8))
        return np.asarray(np.clip(np.rint(out), 0, 255), np.uint8)

    def grey(self, face: AnnotatedFace) -> float:
        """Mean grey level of a picture inside the outline, 0 to 1."""
        return float(_texture(face, self.mean_shape, self.table).mean())


def train(
    faces: Iterable[AnnotatedFace], *, shape_components: int = 9, texture_components: int = 50, width: int = 100
) -> PlainModel:
    """Train on pictures, read once and not kept; the frame is `width` pixels wide.

    Raises InputError when there are fewer pictures, or pictures more alike, than the components need.
    """
    # Textures can only be sampled when the mean shape is known, so the pictures are first reduced to the frame's size.
    small = [_reduced(face, width) for face in faces]
    if len(small) <= max(shape_components, texture_components):
        raise InputError(
            f"{len(small)} pictures are too few for {shape_components} and {texture_components} components"
        )
    mean, aligned = generalised_procrustes(np.stack([face.points for face in small]))
    low, high = mean.min(axis=0), mean.max(axis=0)
    scale = (width - 1 - 2 * _MARGIN) / float(high[0] - low[0])
    size = width, int(np.ceil((high[1] - low[1]) * scale + 1 + 2 * _MARGIN))
    place = _MARGIN - low * scale
    mean_shape = mean * scale + place
    moved = aligned * scale + place - mean_shape
    table = warp_table(mean_shape, triangulate(mean_shape, OUTLINE), size)
    textures = np.stack([_texture(face, mean_shape, table) for face in small])
    shape = principal_components(moved.reshape(len(small), -1), most=shape_components)
    texture = principal_components(textures, most=texture_components)
    if len(shape.basis) < shape_components or len(texture.basis) < texture_components:
        raise InputError(
            f"{len(small)} pictures are too alike for {shape_components} + {texture_components} components"
        )
    return PlainModel(mean_shape, table, shape, texture)


def read_points(path: Path) -> Points:
    """The 68 points of a `.pts` file, float64 (68, 2), counted from 0. Raises InputError.

    The 300-W files count pixels from 1. (Measured on LFPW: against a landmarker made symmetric by mirroring, which can
    have no bias to the left or right, their points lie 0.8 px to the right.)
    """
    try:
        body = path.read_text(encoding="ascii").split("{")[1].split("}")[0]
        points = np.array([[float(value) for value in line.split()] for line in body.strip().splitlines()])
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{path} is not a file of points") from error
    if points.shape != (LANDMARKS, 2) or not np.isfinite(points).all():
        raise InputError(f"{path} does not hold {LANDMARKS} points")
    return points - 1.0


def read_face(picture: Path) -> AnnotatedFace:
    """A picture with the `.pts` file beside it. Raises InputError."""
    image = cv2.imread(str(picture), cv2.IMREAD_COLOR)
    if image is None:
        raise InputError(f"{picture} is not a picture that can be read")
    name = f"{picture.parent.name}/{picture.stem}"
    return AnnotatedFace(name, np.ascontiguousarray(image[:, :, ::-1]), read_points(picture.with_suffix(".pts")))


def usable(face: AnnotatedFace) -> bool:
    """Whether all points lie in the picture and it is in colour: P3 trained on 24-bit colour pictures."""
    height, width = face.image.shape[:2]
    inside = (face.points >= -0.5).all() and (face.points <= (width - 0.5, height - 0.5)).all()
    red, green, blue = (face.image[:, :, channel] for channel in range(3))
    colour = np.maximum(np.maximum(red, green), blue) - np.minimum(np.minimum(red, green), blue)
    # Grey pictures stored as colour come back from JPEG with differences of a level or less.
    return bool(inside and colour.mean() > _COLOURED)


def _reduced(face: AnnotatedFace, width: int) -> AnnotatedFace:
    """The picture area-reduced so that the face is about `width` wide, lest sampling alias; never enlarged."""
    factor = width / float(np.ptp(face.points[:, 0]))
    if factor >= 1.0:
        return face
    height, across = face.image.shape[:2]
    size = max(1, round(across * factor)), max(1, round(height * factor))
    image = np.asarray(cv2.resize(face.image, size, interpolation=cv2.INTER_AREA), np.uint8)
    ratio = np.array([size[0] / across, size[1] / height])
    return AnnotatedFace(face.name, image, (face.points + 0.5) * ratio - 0.5)


def _texture(face: AnnotatedFace, mean_shape: Points, table: WarpTable) -> Vectors:
    small = _reduced(face, table.size[0])
    pixels = sample(small.image, small.points, table)
    return np.asarray(pixels.ravel() / 255.0, dtype=np.float64)


def _extended(texture: NDArray[np.float32], table: WarpTable) -> NDArray[np.float32]:
    inside = np.zeros(texture.shape[:2], np.uint8)
    inside[table.rows, table.columns] = 1
    near = cv2.blur(texture, (5, 5))
    share = cv2.blur(inside.astype(np.float32), (5, 5))[:, :, None]
    return np.asarray(np.where(inside[:, :, None] > 0, texture, near / np.maximum(share, 1e-6)), np.float32)
