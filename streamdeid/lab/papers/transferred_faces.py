"""k-Same-furthest-FET on photographs: P4's process flow (Meng et al. 2014, figure 2; docs/methods.md 1.9).

The new identity comes from k-Same-furthest on neutral faces; the difference of the person's smiling and neutral face is
moved onto it by `k_same.furthest_fet`. The person's neutral face is given, or retrieved from the neutral
faces of everybody by AAM-based Eigenfaces, as the paper assumes; a wrong one is used all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Pixels, Points
from streamdeid.k_same.furthest_fet import transfer_shape, transfer_texture
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.papers.cropped_faces import Faces, TwoExpressions, crop


@dataclass(frozen=True)
class Outputs:
    """De-identified faces as their reader sees them."""

    vectors: Points
    """As the model measures the drawn faces, float64 (n, d)."""
    crops: Pixels
    """float32 (n, c)."""


def transferred(
    model: AppearanceModel,
    faces: TwoExpressions,
    rows: NDArray[np.int_],
    neutrals: NDArray[np.int_],
    identities: Points,
) -> Outputs:
    """The smiles of people `rows` (m,) against the neutral faces of people `neutrals` (m,), on identities (m, d)."""
    vectors, crops = [], []
    for row, neutral, identity in zip(rows, neutrals, identities, strict=True):
        shape = transfer_shape(
            model, faces.smiling.shapes[row], faces.neutral.shapes[neutral], model.decode(identity)[0]
        )
        texture = transfer_texture(model, faces.smiling.textures[row], faces.neutral.textures[neutral], identity)
        vectors.append(model.identity(shape, texture))
        crops.append(crop(model, shape, texture))
    return Outputs(np.stack(vectors), np.stack(crops))


def retrieved(space: Eigenfaces, faces: TwoExpressions) -> NDArray[np.int_]:
    """For everybody's smiling face the person (row) whose neutral face is nearest in an AAM face space: int (n,)."""
    return np.asarray(space.distances(faces.smiling.vectors, faces.neutral.vectors).argmin(axis=1))


def with_weaker_smiles(
    model: AppearanceModel, faces: TwoExpressions, rng: np.random.Generator, least: float = 0.2
) -> TwoExpressions:
    """The same people, each smiling with a share of the smile drawn evenly from `least` to 1.

    Shape and texture are mixed with the person's own neutral face, point for point and pixel for pixel.
    """
    shares = rng.uniform(least, 1.0, len(faces.people))
    neutral, smiling = faces.neutral, faces.smiling
    shapes = neutral.shapes + shares[:, None, None] * (smiling.shapes - neutral.shapes)
    part = shares.astype(np.float32)[:, None, None]
    textures = neutral.textures + part * (smiling.textures - neutral.textures)
    both = list(zip(shapes, textures, strict=True))
    vectors = np.stack([model.identity(shape, texture) for shape, texture in both])
    crops = np.stack([crop(model, shape, texture) for shape, texture in both])
    return replace(faces, smiling=Faces(vectors, shapes, textures, crops))
