"""The picture laboratory: what recognisers make of published faces of people whom the model never saw (methods.md 3.3).

Probes are faces of unseen people as the stream publishes them, under several keys; the gallery holds the unaltered
photographs of the same people and of the donors. In P5's manner the very photograph that was de-identified is in the
gallery: the worst case on purpose. Thresholds come from unaltered photographs of different people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import NEUTRAL, Photograph
from streamdeid.core.arrays import Vectors
from streamdeid.identity.face_recogniser import FaceRecogniser
from streamdeid.lab.picture_attacks.picture_sets import (
    PictureSet,
    black_hull,
    compressed,
    hull_only,
    originals,
    published,
    surroundings_only,
)
from streamdeid.lab.picture_attacks.scores import KnownFaces, Score, score
from streamdeid.lab.published_pictures import MEAN_FACE, NOTHING_CHANGED
from streamdeid.protect.mask_faces import MASKS
from streamdeid.surrogates.choice import METHODS, SAMPLED
from streamdeid.surrogates.gallery import Gallery

Progress = Callable[[float, str], None]

PAPER = "k-diff-furthest-paper"
BLACK_HULL, SURROUNDINGS = "black hull", "surroundings only"
JPEG_AGAIN, OTHER_PHOTOGRAPH = "unaltered, through JPEG again", "unaltered, another photograph (donors smiling)"
SHUFFLED = "k-diff-furthest-paper, labels shuffled"
HULL_ONLY = f"{SAMPLED}, hull only"
GENDERED = f"{SAMPLED}, gender preserved"
CONTROLS = (JPEG_AGAIN, OTHER_PHOTOGRAPH, SHUFFLED, NOTHING_CHANGED, MEAN_FACE, BLACK_HULL, SURROUNDINGS, HULL_ONLY)
_SHUFFLES = 50
_SEED = 314


@dataclass(frozen=True)
class Subjects:
    """Whose faces are attacked, and whom the attacker knows."""

    unseen: tuple[Photograph, ...]
    """One photograph of each person whom the model never saw."""
    donors: tuple[Photograph, ...]
    """The donors' photographs, all expressions."""

    @property
    def neutral_donors(self) -> tuple[Photograph, ...]:
        """One photograph of each donor."""
        return tuple(p for p in self.donors if p.expression == NEUTRAL)

    @property
    def known(self) -> tuple[Photograph, ...]:
        """The attacker's gallery."""
        return (*self.unseen, *self.neutral_donors)


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    people: int | None
    """At most so many people of each set; None: all."""
    keys: int
    """Sessions of the default method."""
    other_keys: int
    """Sessions of the papers' methods."""
    parrots: int
    """Donors whose photographs an attacker filters himself."""
    methods: tuple[str, ...] = (*METHODS, *MASKS)


FULL = Amount(None, 8, 4, 40)
QUICK = Amount(12, 2, 1, 8, (*METHODS, "pixelate", "bar", "blackout"))


def key_of(number: int) -> bytes:
    """A session's key; experiments repeat themselves."""
    return bytes([number + 1]) * 32


def picture_sets(
    subjects: Subjects, fitting: FitModel, gallery: Gallery, amount: Amount, progress: Progress
) -> dict[str, PictureSet]:
    """All sets of probes by name: controls first, then the methods."""
    sets = {
        JPEG_AGAIN: compressed(subjects.unseen, JPEG_AGAIN),
        BLACK_HULL: black_hull(subjects.unseen, BLACK_HULL),
        SURROUNDINGS: surroundings_only(subjects.unseen, SURROUNDINGS),
    }
    smiling = [p for p in subjects.donors if p.expression != NEUTRAL]
    if smiling:
        sets[OTHER_PHOTOGRAPH] = originals(smiling, OTHER_PHOTOGRAPH)
        for method in (SAMPLED, PAPER):
            name = from_another_photograph(method)
            sets[name] = replace(published(smiling, fitting, gallery, method, [key_of(0)]), name=name)
    wanted = {NOTHING_CHANGED: 1, MEAN_FACE: 1}
    wanted |= {name: 1 if name in MASKS else amount.other_keys for name in amount.methods}
    wanted[SAMPLED] = amount.keys
    for done, (name, keys) in enumerate(wanted.items()):

        def tell(text: str, done: int = done) -> None:
            progress(done / len(wanted), f"publishing: {text}")

        sets[name] = published(subjects.unseen, fitting, gallery, name, [key_of(i) for i in range(keys)], tell)
    sets[HULL_ONLY] = hull_only(sets[SAMPLED])
    sessions = [key_of(i) for i in range(amount.other_keys)]
    if knows_gender(gallery):
        sets[GENDERED] = gendered(subjects.unseen, fitting, gallery, sessions)
    order = [*(name for name in CONTROLS if name in sets), SAMPLED, GENDERED, *amount.methods, *sets]
    return {name: sets[name] for name in dict.fromkeys(order) if name in sets}


def knows_gender(gallery: Gallery) -> bool:
    """Whether gender can be preserved: the gallery has donors of at least two."""
    return len(set(gallery.gender.tolist()) - {""}) > 1


def gendered(
    photographs: Sequence[Photograph], fitting: FitModel, gallery: Gallery, keys: Sequence[bytes]
) -> PictureSet:
    """Photographs as the default method publishes them with the person's gender preserved, once per key."""
    return replace(published(photographs, fitting, gallery, SAMPLED, keys, preserve=("gender",)), name=GENDERED)


def from_another_photograph(method: str) -> str:
    """Name of the set of the donors' smiling photographs published by a method, against their neutral ones."""
    return f"{method}, from another photograph"


def described(recogniser: FaceRecogniser, given: PictureSet) -> Vectors:
    """Vectors (n, d) of a set of pictures."""
    return np.array([recogniser(*pair) for pair in zip(given.pictures, given.landmarks, strict=True)], np.float64)


def known_to(recogniser: FaceRecogniser, photographs: Sequence[Photograph]) -> KnownFaces:
    """The attacker's gallery as a recogniser sees it."""
    held = originals(photographs, "gallery")
    return KnownFaces(described(recogniser, held), tuple(held.people))


def scores(
    vectors: Mapping[str, Vectors], sets: Mapping[str, PictureSet], known: KnownFaces, *, shuffled: bool = True
) -> dict[str, Score]:
    """The score of each set under one recogniser; sets without a usable picture left out. shuffled: add the paper's
    method with shuffled labels, the control."""
    rng = np.random.default_rng(_SEED)
    found: dict[str, Score] = {}
    for name, rows in vectors.items():
        if not np.isfinite(rows).all(axis=1).any():
            continue
        found[name] = score(rows, sets[name].people, known, rng)
        if name == PAPER and shuffled:
            found[SHUFFLED] = _shuffled(rows, sets[name].people, known, rng)
    return found


def _shuffled(rows: Vectors, people: Sequence[str], known: KnownFaces, rng: np.random.Generator) -> Score:
    """Probes that tell much about people, under other people's names: whatever is found now is chance."""
    names = np.array(known.people)
    labels = [dict(zip(names, rng.permutation(names), strict=True)) for _ in range(_SHUFFLES)]
    wrong = [str(renamed[person]) for renamed in labels for person in people]
    return score(np.tile(rows, (_SHUFFLES, 1)), wrong, known, rng)
