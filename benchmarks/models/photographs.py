"""Photographs of faces with their annotation, for the benchmarks of the model and its fit."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.train import Sample, annotate
from streamdeid.cli.train import photographs
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.errors import InputError

SHARE = 0.2
"""Share of the people that is held out."""


@dataclass(frozen=True)
class Split:
    """People on either side of one split."""

    training: list[Sample]
    """All photographs of those who may be learnt from."""
    unseen: list[Sample]
    """Neutral photographs of the others."""
    people: tuple[int, int]


class Annotator:
    """The run-time landmarker on single photographs."""

    def __init__(self) -> None:
        self._detect = MediapipeFaces()

    def __call__(self, image: NDArray[np.uint8]) -> Sequence[Face]:
        """The best face of an RGB picture; hair and collars sometimes pass for a second, weaker one."""
        self._detect.forget()
        found = [
            face for face in self._detect(Frame(planes_from_rgb(image), Fraction(0), 0)) if face.landmarks is not None
        ]
        return sorted(found, key=lambda face: -face.score)[:1]


def annotated(paths: Sequence[Path], annotator: Annotator) -> dict[Path, Sample]:
    """Samples of those photographs in which a face is found."""
    found = {}
    for path in paths:
        with contextlib.suppress(InputError):
            found[path] = annotate(path, annotator)
    return found


def held_out(directory: Path, seed: int, annotator: Annotator) -> Split:
    """Split a training set by person, once, with a seed."""
    neutral, others = photographs(directory)
    names = sorted(path.stem for path in neutral)
    unseen = set(np.random.default_rng(seed).permutation(names)[: max(1, round(SHARE * len(names)))])
    samples = annotated([*neutral, *others], annotator)
    training = [sample for path, sample in samples.items() if path.stem not in unseen]
    kept_aside = [samples[path] for path in neutral if path.stem in unseen and path in samples]
    return Split(training, kept_aside, (len(names) - len(unseen), len(kept_aside)))


def resized(given: Sample, width: float) -> Sample:
    """The sample with a face `width` pixels wide (smaller pictures are left alone)."""
    scale = min(1.0, width / float(np.ptp(given.points[:, 0])))
    image = np.asarray(cv2.resize(given.image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    ratio = np.array([image.shape[1] / given.image.shape[1], image.shape[0] / given.image.shape[0]])
    points = (given.points + 0.5) * ratio - 0.5
    mesh = np.column_stack([(given.mesh[:, :2] + 0.5) * ratio - 0.5, given.mesh[:, 2] * scale])
    return replace(given, image=image, points=points, depth=given.depth * scale, iris=given.iris * scale, mesh=mesh)
