"""A8 on real frames: does a mean over many published frames come nearer to the person than one frame does?

Frames are brought into the model's frame by the landmarks found in them, with the head's turn undone, and averaged:
expressions and noise average out, an identity would stay (docs/methods.md 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import spread
from streamdeid.aam.pose import pose_of
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.lab.identification import identified
from streamdeid.observe.observation import reduced_face

Recogniser = Callable[[NDArray[np.uint8], Points], Points]
"""RGB picture and its 68 landmarks in, a vector (d,) out; the nearer two vectors, the likelier one person. A row of nan
stands for a picture that it cannot use."""

COUNTS = (1, 10, 100, 1000)
_STEPS = {1: 10, 10: 5}
"""A mean of 1 takes every 10th frame and one of 10 every 5th, so that trials differ; larger ones take every frame."""
_MOST = 10
"""Means of one count and person at most."""
_ROOM = 0.15
"""Grey border around the averaged face that a recogniser is shown, share of its width."""
_GREY = 128.0
WHOLE = 0
"""Stands for all frames of a person where a count is asked for."""


@dataclass(frozen=True)
class Aligned:
    """A face brought into the model's frame: frontal vertices (81, 2) and texture (n, 3)."""

    shape: Points
    texture: Pixels


@dataclass
class _Sum:
    shape: Points
    texture: Pixels
    frames: int = 0

    def add(self, face: Aligned) -> None:
        self.shape += face.shape
        self.texture += face.texture
        self.frames += 1

    def mean(self) -> Aligned:
        return Aligned(self.shape / self.frames, self.texture / np.float32(self.frames))


def points_of(face: Face) -> Points:
    """The mesh's vertices (81, 2) of a face with landmarks, in pixels of its picture."""
    assert face.landmarks is not None and face.forehead is not None
    return np.concatenate([face.landmarks, face.forehead])


def aligned(planes: Planes, points: Points, model: AppearanceModel) -> Aligned:
    """The face at mesh points (81, 2) of a picture."""
    image, into = reduced_face(planes, points, 1.2 * model.frame_size[0])
    frontal = pose_of(points, model).to_frame(points, model.depth)
    return Aligned(frontal, model.texture_of(image, into(points)))


@dataclass
class Averages:
    """Means over a person's frames as they come, each of `COUNTS` again and again, and one over all of them.

    Of a mean only what `describe` makes of it is kept: vectors (d,) by the recogniser's name.
    """

    describe: Callable[[Aligned], Mapping[str, Points]]
    frames: int = 0
    _means: dict[int, list[Mapping[str, Points]]] = field(default_factory=lambda: {count: [] for count in COUNTS})
    _open: dict[int, _Sum] = field(default_factory=dict)
    _whole: tuple[int, list[Mapping[str, Points]]] = (0, [])

    def add(self, face: Aligned) -> None:
        """One frame more."""
        for count in (*COUNTS, WHOLE):
            if self.frames % _STEPS.get(count, 1) or len(self._means.get(count, ())) >= _MOST:
                continue
            total = self._open.setdefault(count, _Sum(np.zeros_like(face.shape), np.zeros_like(face.texture)))
            total.add(face)
            if total.frames == count:
                self._means[count].append(self.describe(self._open.pop(count).mean()))
        self.frames += 1

    def of(self, count: int) -> list[Mapping[str, Points]]:
        """What was made of the means over `count` frames, or of the one over all frames, for `WHOLE`."""
        if count == WHOLE and self._whole[0] != self.frames:  # it is asked for often, and describing may take a network
            self._whole = self.frames, [self.describe(self._open[WHOLE].mean())]
        return self._whole[1] if count == WHOLE else self._means[count]


@dataclass(frozen=True)
class Nearness:
    """How near the means over some number of frames come to their own person, by person in the gallery's order."""

    hits: NDArray[np.float64]
    """Share of the means that name their person, float64 (people,); nan without such means."""
    ranks: NDArray[np.float64]
    """Mean rank of the own person, 1 the nearest."""
    relative: NDArray[np.float64]
    """Own distance over the median distance to the others, mean over the means: below 1 tells something."""


def nearness(probes: Mapping[str, list[Points]], gallery: Mapping[str, Points]) -> Nearness:
    """Match vectors (d,) of each person with one vector (d,) for each person of the gallery, by Euclid's distance."""
    names = list(gallery)
    rows = np.full((3, len(names)), np.nan)
    theirs = np.stack(list(gallery.values()))
    for own, name in enumerate(names):
        vectors = probes.get(name, [])
        if not vectors or len(names) < 2:
            continue
        distances = np.linalg.norm(np.stack(vectors)[:, None] - theirs, axis=2)
        others = np.delete(distances, own, axis=1)
        rows[0, own] = identified(distances, [name] * len(vectors), names).mean()
        rows[1, own] = 1 + (others <= distances[:, [own]]).sum(axis=1).mean()
        rows[2, own] = (distances[:, own] / np.median(others, axis=1)).mean()
    return Nearness(*rows)


def identity(face: Aligned, model: AppearanceModel) -> Points:
    """Identity vector (d,) of a mean."""
    return model.identity(face.shape, face.texture)


def recognised(face: Aligned, model: AppearanceModel, recogniser: Recogniser) -> Points:
    """What a recogniser says, a vector (d,), of a mean drawn in the model's frame on grey."""
    room = int(_ROOM * model.frame_size[0])
    picture = np.pad(
        spread(face.texture, model.table, 128.0), ((room, room), (room, room), (0, 0)), constant_values=128
    )
    image = np.clip(picture + 0.5, 0, 255).astype(np.uint8)
    return np.asarray(recogniser(image, model.mean_shape[:LANDMARKS] + room), np.float64)
