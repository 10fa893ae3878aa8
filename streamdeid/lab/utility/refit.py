"""Published pictures measured again, from their pixels alone: detected, landmarked, and projected on the model.

What an onlooker gets is the picture, so nothing that the filter knows of a face is used here (docs/methods.md 5.2,
A13).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import Detect, Photograph, identity_of
from streamdeid.aam.train import sample_of
from streamdeid.core.arrays import Flags, Points
from streamdeid.core.faces import Face
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.lab.published_pictures import Publisher, even_planes, whole_rgb

Tick = Callable[[], None]


@dataclass(frozen=True)
class RefitFaces:
    """What was found again in e pictures each of n people; nan where no face with landmarks was found."""

    vectors: Points
    """float64 (n, e, d): identity vectors of the pictures, expression included."""
    landmarks: Points
    """float64 (n, e, 68, 2) in pixels."""
    shown: Flags
    """bool (n, e): the picture was published with a face as the method shows it, not with a cover in its stead."""
    detected: Flags
    """bool (n, e): the detector found a face at the old place in what was shown."""

    @property
    def share_detected(self) -> float:
        """Share of the shown pictures in which a face was detected; nan when none was shown."""
        return float(self.detected[self.shown].mean()) if self.shown.any() else float("nan")


def refit_originals(
    people: Sequence[Sequence[Photograph]], model: AppearanceModel, detect: Detect, tick: Tick
) -> RefitFaces:
    """The unaltered pictures measured again: the control of everything that is said of published ones.

    They go through the same 4:2:0 planes. people: as many pictures of each. `tick` is called after each person.
    """
    return _measured(people, lambda _, own: [whole_rgb(even_planes(each.image)) for each in own], model, detect, tick)


def refit_published(
    publisher: Publisher,
    people: Sequence[Sequence[Photograph]],
    model: AppearanceModel,
    detect: Detect,
    tick: Tick,
    *,
    neutral_times: int = 1,
) -> RefitFaces:
    """The pictures published, person by person, and measured again.

    The first picture of each person is the neutral one. It is published `neutral_times` times before the others, so
    that the person's neutral face is known as well as in a stream that has shown him at rest for so many frames.
    """

    def published(number: int, own: Sequence[Photograph]) -> Sequence[NDArray[np.uint8] | None]:
        pictures = publisher.publish(number, [*[own[0]] * (neutral_times - 1), *own])
        return pictures[neutral_times - 1 :]

    return _measured(people, published, model, detect, tick)


def _measured(
    people: Sequence[Sequence[Photograph]],
    published: Callable[[int, Sequence[Photograph]], Sequence[NDArray[np.uint8] | None]],
    model: AppearanceModel,
    detect: Detect,
    tick: Tick,
) -> RefitFaces:
    each = len(people[0]) if people else 0
    vectors = np.full((len(people), each, len(model.variances)), np.nan)
    landmarks = np.full((len(people), each, LANDMARKS, 2), np.nan)
    shown, detected = np.zeros((2, len(people), each), np.bool_)
    for row, own in enumerate(people):
        for column, (picture, before) in enumerate(zip(published(row + 1, own), own, strict=True)):
            if picture is None:
                continue
            shown[row, column] = True
            faces = [face for face in detect(picture) if _at_the_place_of(face, before.face)]
            detected[row, column] = bool(faces)
            marked = [face for face in faces if face.landmarks is not None]
            if marked:
                face = max(marked, key=lambda found: found.score)
                sample = sample_of(picture, face, before.person)
                again = Photograph(before.person, before.expression, picture, face, sample)
                vectors[row, column] = identity_of(again, model)
                landmarks[row, column] = sample.points[:LANDMARKS]
        tick()
    return RefitFaces(vectors, landmarks, shown, detected)


def _at_the_place_of(found: Face, old: Face) -> bool:
    """Whether the middle of a detection lies in the old face's box: hair and collars are no faces found again."""
    x, y = (found.box[0] + found.box[2]) / 2, (found.box[1] + found.box[3]) / 2
    return old.box[0] <= x <= old.box[2] and old.box[1] <= y <= old.box[3]
