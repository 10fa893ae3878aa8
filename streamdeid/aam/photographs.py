"""Annotated photographs of people, for measuring; they are read where they lie and never copied.

A set is a directory like those `streamdeid train` reads. It has sub-directories, one of them `neutral`, with a file of
the same name for the same person in each; or it is flat, with one photograph per person, which all count as neutral.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.train import Sample, identity_of_sample, sample_of
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face
from streamdeid.errors import InputError

Detect = Callable[[NDArray[np.uint8]], Sequence[Face]]

NEUTRAL = "neutral"
LABELS = "info.csv"
_PICTURES = {".jpg", ".jpeg", ".png"}


@dataclass(frozen=True)
class Photograph:
    """One photograph of one person, with the face that the run-time landmarker found in it."""

    person: str
    """Set and file stem, such as "london/001": the same for all photographs of a person."""
    expression: str
    """Name of the sub-directory; "neutral" in a flat set."""
    image: NDArray[np.uint8]
    """RGB, uint8 (h, w, 3)."""
    face: Face
    sample: Sample


def read_photographs(
    directory: Path, detect: Detect, report: Callable[[str], None] | None = None, *, most: int | None = None
) -> list[Photograph]:
    """All photographs of a set in which a face is found, neutral ones first, by name; `most` persons at most.

    Where several faces are found the one with the best score is taken. `report` is told each file's name before it is
    read. Raises InputError for a directory without pictures, or a picture that cannot be read.
    """
    found = []
    for expression, path in listed(directory, most=most):
        if report is not None:
            report(path.name)
        photograph = read_photograph(path, f"{directory.name}/{path.stem}", expression, detect)
        if photograph is not None:
            found.append(photograph)
    return found


def listed(directory: Path, *, most: int | None = None) -> list[tuple[str, Path]]:
    """Expression and path of each picture of a set, neutral ones first, by name; `most` persons at most.

    Raises InputError when there is none.
    """
    if not directory.is_dir():
        raise InputError(f"{directory} is not a directory of photographs")
    neutral = directory / NEUTRAL if (directory / NEUTRAL).is_dir() else directory
    others = [] if neutral == directory else sorted(d for d in directory.iterdir() if d.is_dir() and d != neutral)
    groups = [(NEUTRAL, pictures_in(neutral)), *((folder.name, pictures_in(folder)) for folder in others)]
    people = sorted({path.stem for _, paths in groups for path in paths})[:most]
    if not people:
        raise InputError(f"{directory} holds no photographs")
    return [(expression, path) for expression, paths in groups for path in paths if path.stem in people]


def read_photograph(path: Path, person: str, expression: str, detect: Detect) -> Photograph | None:
    """One photograph; None when no face with landmarks is found. Raises InputError when it cannot be read."""
    picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if picture is None:
        raise InputError(f"{path} is not a picture that can be read")
    return photograph_of(np.ascontiguousarray(picture[:, :, ::-1]), person, expression, detect)


def photograph_of(image: NDArray[np.uint8], person: str, expression: str, detect: Detect) -> Photograph | None:
    """A picture in memory, RGB uint8 (h, w, 3), as a photograph; None when no face with landmarks is found."""
    faces = [face for face in detect(image) if face.landmarks is not None]
    if not faces:
        return None
    # Hair and collars sometimes pass for a second, weaker face.
    face = max(faces, key=lambda each: each.score)
    return Photograph(person, expression, image, face, sample_of(image, face, person))


def reduced(photograph: Photograph, width: float) -> Photograph:
    """The photograph, area-reduced so that its face is `width` pixels wide; unchanged where the face is no wider."""
    sample = photograph.sample
    scale = width / float(np.ptp(sample.points[:, 0]))
    if scale >= 1:
        return photograph
    image = np.asarray(cv2.resize(photograph.image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    ratio = np.array([image.shape[1] / photograph.image.shape[1], image.shape[0] / photograph.image.shape[0]])

    def moved(points: Points) -> Points:
        there: Points = (points + 0.5) * ratio - 0.5
        return there

    def framed(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        x0, y0, x1, y1 = box
        return x0 * ratio[0], y0 * ratio[1], x1 * ratio[0], y1 * ratio[1]

    face, seen = photograph.face, photograph.face.keypoints
    assert face.landmarks is not None and face.forehead is not None and face.iris is not None
    assert face.depth is not None and face.mesh is not None
    smaller = replace(
        face,
        box=framed(face.box),
        landmarks=moved(face.landmarks),
        forehead=moved(face.forehead),
        iris=moved(face.iris),
        depth=face.depth * scale,
        mesh=np.column_stack([moved(face.mesh[:, :2]), face.mesh[:, 2] * scale]),
        # Keypoints left at their old places would make the face doubtful, and it would be redacted.
        keypoints=None if seen is None else replace(seen, box=framed(seen.box), points=moved(seen.points)),
    )
    return replace(photograph, image=image, face=smaller, sample=sample_of(image, smaller, photograph.person))


def identity_of(photograph: Photograph, model: AppearanceModel) -> Points:
    """Identity vector, float64 (d,), of a photograph."""
    return identity_of_sample(photograph.sample, model)


def read_labels(directory: Path) -> dict[str, dict[str, str]]:
    """Columns of `info.csv` by person ("london/001"); empty without such a file."""
    return {f"{directory.name}/{stem}": row for stem, row in label_rows(directory).items()}


def label_rows(directory: Path) -> dict[str, dict[str, str]]:
    """Columns of `info.csv` by file stem ("001"); empty without such a file."""
    table = directory / LABELS
    if not table.is_file():
        return {}
    with table.open(newline="", encoding="utf-8") as file:
        return {row["face_id"]: dict(row) for row in csv.DictReader(file)}


def pictures_in(directory: Path) -> list[Path]:
    """The pictures of a directory, by name."""
    return sorted(path for path in directory.iterdir() if path.suffix.lower() in _PICTURES)
