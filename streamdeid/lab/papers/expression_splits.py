"""Gallery and unseen people of P2, and a Fisherface chosen without looking at the unseen (docs/methods.md 1.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.photographs import NEUTRAL, Photograph
from streamdeid.core.arrays import Ints, Vectors
from streamdeid.errors import InputError
from streamdeid.k_same.fisherface import Fisherface, fit_fisherface
from streamdeid.lab.eigenfaces import Eigenfaces

GALLERY_PEOPLE = 33
"""Women, and men, in P2's gallery; each with both expressions makes 132 pictures."""
GENDERS = ("female", "male")
SHRINKAGES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
"""γ tried (docs/methods.md 1.10)."""
NO_SHRINKAGE = 1e-6
"""As good as none: with none S_W is singular."""

_GALLERY_SHARE = 0.7
"""Of a gender at most, when there are fewer people than P2 had."""
_FOLDS = 5


@dataclass(frozen=True)
class ExpressionPeople:
    """Photographs of people with both expressions, two for each person."""

    photographs: tuple[Photograph, ...]
    smiling: NDArray[np.bool_]
    """bool (n,)."""
    person: Ints
    """int (n,)."""
    gender: NDArray[np.str_]
    """(n,)."""


@dataclass(frozen=True)
class Split:
    """One random choice of the gallery."""

    gallery: Ints
    unseen: Ints
    """All pictures of the people outside the gallery."""


@dataclass(frozen=True)
class ChosenSpaces:
    """A face space and a Fisherface trained on one gallery, and how they were chosen."""

    frame: str
    shrinkage: float
    apart: bool
    """Whether no gallery face is on the wrong side."""
    accuracy: float
    """On the left-out people of the gallery."""
    space: Eigenfaces
    face: Fisherface


def people_with_both(photographs: Sequence[Photograph], labels: Mapping[str, Mapping[str, str]]) -> ExpressionPeople:
    """Those people who have a gender in `labels` (`photographs.read_labels`), a neutral and a smiling picture.

    Raises InputError when that leaves fewer than ten women or ten men.
    """
    pictures = {(p.person, p.expression): p for p in photographs}
    names = sorted(
        name
        for name in {p.person for p in photographs}
        if labels.get(name, {}).get("face_gender") in GENDERS
        and (name, NEUTRAL) in pictures
        and (name, "smiling") in pictures
    )
    gender = np.array([labels[name]["face_gender"] for name in names for _ in range(2)], dtype=np.str_)
    for which in GENDERS:
        count = int((gender == which).sum()) // 2
        if count < 10:
            raise InputError(f"{count} {which} people with both expressions and a label: at least 10 are needed")
    chosen = tuple(pictures[name, expression] for name in names for expression in (NEUTRAL, "smiling"))
    return ExpressionPeople(
        chosen, np.arange(len(chosen)) % 2 == 1, np.arange(len(chosen), dtype=np.int64) // 2, gender
    )


def split(people: ExpressionPeople, rng: np.random.Generator) -> Split:
    """A gallery of 33 women and 33 men, or seven tenths of the smaller gender, with both pictures of each."""
    per_gender = {which: np.unique(people.person[people.gender == which]) for which in GENDERS}
    count = min(GALLERY_PEOPLE, round(_GALLERY_SHARE * min(len(each) for each in per_gender.values())))
    inside = np.concatenate([rng.permutation(each)[:count] for each in per_gender.values()])
    in_gallery = np.isin(people.person, inside)
    return Split(np.flatnonzero(in_gallery), np.flatnonzero(~in_gallery))


def choose(
    frame: str, images: Vectors, people: ExpressionPeople, gallery: Ints, rng: np.random.Generator
) -> ChosenSpaces:
    """Shrinkage by leaving a fifth of the gallery's people out in turn, then both spaces on all of the gallery.

    images: all pictures in one frame (n, pixels), of which only gallery rows are looked at. What is taken is `best`.
    """
    smiling, person = people.smiling[gallery], people.person[gallery]
    known_people = np.unique(person)
    folds = rng.permutation(len(known_people)) % _FOLDS
    fold = folds[np.searchsorted(known_people, person)]
    space = Eigenfaces.train(images[gallery])
    # Coordinates of the gallery are an isometry of its pictures: the folds learn nothing of those left out.
    vectors = space.project(images[gallery])
    right = _right_when_left_out(vectors, smiling, fold)
    tried = []
    for shrinkage in reversed(SHRINKAGES):
        face = fit_fisherface(vectors, smiling, shrinkage)
        apart = bool((face.positive(vectors) == smiling).all())
        tried.append(ChosenSpaces(frame, shrinkage, apart, right[shrinkage] / len(gallery), space, face))
    return best(tried)


def best(tried: Sequence[ChosenSpaces]) -> ChosenSpaces:
    """The most accurate on people left out, among those that leave no gallery face on the wrong side if there are any.

    P2 asks for 100 % on seen faces. Of equals the first is taken.
    """
    return max(tried, key=lambda each: (each.apart, each.accuracy))


def _right_when_left_out(vectors: Vectors, smiling: NDArray[np.bool_], fold: Ints) -> dict[float, int]:
    """How many faces each shrinkage classifies rightly while their fold is left out of training."""
    right = dict.fromkeys(SHRINKAGES, 0)
    for left_out in range(_FOLDS):
        inside = fold != left_out
        part = Eigenfaces.train(vectors[inside])
        known, new = part.project(vectors[inside]), part.project(vectors[~inside])
        for shrinkage in SHRINKAGES:
            face = fit_fisherface(known, smiling[inside], shrinkage)
            right[shrinkage] += int((face.positive(new) == smiling[~inside]).sum())
    return right
