"""Photographs of drawn people, each neutral and smiling, and their cropped faces: none of them ever lived."""

from __future__ import annotations

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import Photograph
from streamdeid.aam.train import sample_of
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import MOUTH
from tests import drawn_faces


def smiling(shape: Points, strength: float = 1.0) -> Points:
    """The shape (81, 2) with the mouth wider, its corners raised; at strength 1 by a tenth of the face."""
    moved = shape.copy()
    mouth = moved[MOUTH]
    centre = mouth.mean(axis=0)
    half = float(np.ptp(mouth[:, 0])) / 2
    across = (mouth[:, 0] - centre[0]) / half
    mouth[:, 0] += strength * 9.0 * across
    mouth[:, 1] -= strength * 8.0 * across**2
    moved[MOUTH] = mouth
    return moved


def photographs(model: AppearanceModel, people: int, seed: int = 0) -> list[Photograph]:
    """Two pictures of each of so many people, "drawn/000" and so on, neutral ones first."""
    pose = drawn_faces.pose_at(model, width=180.0)
    rng = np.random.default_rng(seed)
    strengths = rng.uniform(0.6, 1.4, people)
    found = []
    for expression in ("neutral", "smiling"):
        for person in range(people):
            shape, texture = model.decode(drawn_faces.some_identity(model, seed * 1000 + person))
            if expression == "smiling":
                shape = smiling(shape, float(strengths[person]))
            seen = drawn_faces.scene(model, shape, texture, pose)
            name = f"drawn/{person:03d}"
            found.append(Photograph(name, expression, seen.rgb, seen.face, sample_of(seen.rgb, seen.face, name)))
    return found
