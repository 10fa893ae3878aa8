"""Cropped faces of people with two expressions: what P1 and P4 recognise and classify.

"Cropped face images showing only the region inside the outline of the AAM-fitted shape" (Meng and Sun 2014 section
IV.B; Meng et al. 2014 section V.B). Here each is drawn by the model's own warp, shape and texture together, upright in
the model's frame, whether it is a photograph or decoded from parameters. Grey, at half the frame's size. The opening
of the mouth is left black in both: the model has no teeth. Each face is scaled to the model's own mean colour, as the
model does with what it learns: a decoded face has no skin tone by which to be told apart or recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import Photograph
from streamdeid.aam.piecewise_affine import render
from streamdeid.aam.procrustes import align
from streamdeid.aam.synthesise import extended
from streamdeid.aam.train import texture_of_sample
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA
from streamdeid.errors import InputError

LEAST_PEOPLE = 10


@dataclass(frozen=True)
class Faces:
    """One face of each of n people, row for row."""

    vectors: Points
    """Identity vectors of the model, float64 (n, d)."""
    shapes: Points
    """float64 (n, 81, 2), aligned to the mean shape, pixels of the model's frame."""
    textures: Pixels
    """float32 (n, pixels, 3), RGB as photographed."""
    crops: Pixels
    """Cropped faces, float32 (n, c)."""


@dataclass(frozen=True)
class TwoExpressions:
    """n people, each neutral and smiling. In `vectors`, `crops` and `owners` all neutral faces come first."""

    people: NDArray[np.str_]
    """Their names, (n,)."""
    neutral: Faces
    smiling: Faces

    @property
    def vectors(self) -> Points:
        """Identity vectors of all faces, float64 (2n, d)."""
        return np.concatenate([self.neutral.vectors, self.smiling.vectors])

    @property
    def crops(self) -> Pixels:
        """All cropped faces, float32 (2n, c)."""
        return np.concatenate([self.neutral.crops, self.smiling.crops])

    @property
    def owners(self) -> NDArray[np.str_]:
        """Whose each face is, (2n,)."""
        return np.concatenate([self.people, self.people])

    @property
    def smiles(self) -> NDArray[np.bool_]:
        """Which faces are smiling, (2n,)."""
        return np.repeat(np.array([False, True]), len(self.people))


def two_expressions(
    photographs: Sequence[Photograph], model: AppearanceModel, most: int | None = None
) -> TwoExpressions:
    """The first `most` people who have a neutral and a smiling photograph.

    Raises InputError when they are fewer than `LEAST_PEOPLE`.
    """
    neutral, smiling = (
        {each.person: each for each in photographs if each.expression == expression}
        for expression in ("neutral", "smiling")
    )
    people = sorted(neutral.keys() & smiling.keys())[:most]
    if len(people) < LEAST_PEOPLE:
        raise InputError(f"{len(people)} people with a neutral and a smiling photograph are too few: {LEAST_PEOPLE}")
    return TwoExpressions(
        np.array(people),
        _faces([neutral[person] for person in people], model),
        _faces([smiling[person] for person in people], model),
    )


def crop(model: AppearanceModel, shape: Points, texture: Pixels) -> Pixels:
    """The cropped face, float32 (c,), of a shape (81, 2) in the model's frame and a texture (n, 3) in RGB."""
    level = model.mean_texture.mean(axis=0)
    grey = (texture * (level / np.maximum(texture.mean(axis=0), 1.0))) @ LUMA
    width, height = model.frame_size
    picture = np.zeros((height, width, 1), np.float32)
    covered = np.zeros((height, width), np.uint8)
    drawn = extended(grey[:, None].astype(np.float32), model.table)
    render(drawn, model.mean_shape, shape, model.triangles, picture, covered)
    half = cv2.resize(picture, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    return np.asarray(half, np.float32).ravel()


def decoded_crops(model: AppearanceModel, vectors: Points) -> Pixels:
    """Cropped faces, float32 (n, c), of identity vectors (n, d); equal vectors give equal crops and are drawn once."""
    drawn: dict[bytes, Pixels] = {}
    for vector in vectors:
        if vector.tobytes() not in drawn:
            drawn[vector.tobytes()] = crop(model, *model.decode(vector))
    return np.stack([drawn[vector.tobytes()] for vector in vectors])


def training_shares(people: int, runs: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """For each run the 70 % of the people, bool (people,), who train face space and classifier (P1 IV.B, P4 V.B)."""
    return [rng.permutation(people) < round(0.7 * people) for _ in range(runs)]


def _faces(photographs: Sequence[Photograph], model: AppearanceModel) -> Faces:
    samples = [each.sample for each in photographs]
    shapes = np.stack([align(each.points, model.mean_shape)(each.points) for each in samples])
    textures = np.stack([texture_of_sample(each, model.mean_shape, model.table) for each in samples])
    both = list(zip(shapes, textures, strict=True))
    vectors = np.stack([model.identity(shape, texture) for shape, texture in both])
    return Faces(vectors, shapes, textures, np.stack([crop(model, shape, texture) for shape, texture in both]))
