"""How well a model reconstructs faces that it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.procrustes import align
from streamdeid.aam.train import Sample, texture_of_sample


@dataclass(frozen=True)
class ReconstructionError:
    """Root mean square errors over faces."""

    shape: float
    """Pixels of the model's frame, over all vertices."""
    texture: float
    """Grey levels, over pixels and channels, of textures without hair and in even light."""
    raw: float
    """The same for the mean face: the error of no components at all."""


def reconstruction_error(model: AppearanceModel, samples: Sequence[Sample]) -> ReconstructionError:
    """Errors of annotated photographs projected onto a model and back."""
    shapes, textures, raw = [], [], []
    for given in samples:
        aligned = align(given.points, model.mean_shape)(given.points)
        texture = texture_of_sample(given, model.mean_shape, model.table)
        shape, rebuilt = model.decode(model.identity(given.points, texture))
        even = model.normalised(texture)
        shapes.append(((shape - aligned) ** 2).sum(axis=1).mean())
        textures.append(((rebuilt - even) ** 2).mean())
        raw.append(((model.mean_texture - even) ** 2).mean())
    root = (float(np.sqrt(np.mean(errors))) for errors in (shapes, textures, raw))
    return ReconstructionError(*root)
