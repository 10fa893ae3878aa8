"""Photographs of people who never lived, for the tests of the laboratory: drawn faces with flawless annotation."""

from __future__ import annotations

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import NEUTRAL, Photograph
from streamdeid.aam.train import sample_of
from tests.drawn_faces import pose_at, room, scene, some_identity, with_mouth


def photograph(model: AppearanceModel, seed: int, *, group: str = "drawn", expression: str = NEUTRAL) -> Photograph:
    """The photograph of the person with this seed; another expression has the mouth open."""
    shape, texture = model.decode(some_identity(model, seed))
    if expression != NEUTRAL:
        shape = with_mouth(shape, 0.6)
    drawn = scene(model, shape, texture, pose_at(model), behind=room(seed=seed))
    person = f"{group}/{seed:03d}"
    return Photograph(person, expression, drawn.rgb, drawn.face, sample_of(drawn.rgb, drawn.face, person))


def photographs(
    model: AppearanceModel, seeds: range, *, group: str = "drawn", expression: str = NEUTRAL
) -> list[Photograph]:
    """One photograph of each."""
    return [photograph(model, seed, group=group, expression=expression) for seed in seeds]
