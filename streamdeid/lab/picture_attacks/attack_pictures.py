"""All attacks on published pictures, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import NEUTRAL, Detect, Photograph, reduced
from streamdeid.core.arrays import Vectors
from streamdeid.errors import FailedClosed
from streamdeid.lab.picture_attacks.donors import donors_chapter
from streamdeid.lab.picture_attacks.laboratory import (
    BLACK_HULL,
    FULL,
    GENDERED,
    OTHER_PHOTOGRAPH,
    QUICK,
    SURROUNDINGS,
    Amount,
    Progress,
    Subjects,
    described,
    gendered,
    key_of,
    known_to,
    picture_sets,
    scores,
)
from streamdeid.lab.picture_attacks.other_photographs import (
    COMPARED,
    PhotographedPeople,
    other_photographs_chapter,
    people_sets,
)
from streamdeid.lab.picture_attacks.picture_sets import PictureSet, black_hull, originals, published
from streamdeid.lab.picture_attacks.posed_recognition import posed_chapter
from streamdeid.lab.picture_attacks.recognition import recognition_chapter
from streamdeid.lab.picture_attacks.redactions import redactions_chapter
from streamdeid.lab.picture_attacks.refitted import refitted_chapter
from streamdeid.lab.picture_attacks.relit import relit
from streamdeid.lab.picture_attacks.scores import KnownFaces, Score
from streamdeid.lab.picture_attacks.sessions import Described, sessions_chapter
from streamdeid.lab.picture_attacks.soft_biometrics import soft_biometrics_chapter
from streamdeid.lab.published_pictures import MEAN_FACE
from streamdeid.lab.recognisers import NamedRecogniser, Refit, recognisers
from streamdeid.lab.tables import Chapter
from streamdeid.protect.mask_faces import MASKS
from streamdeid.surrogates.choice import SAMPLED, SurrogateSettings
from streamdeid.surrogates.gallery import Gallery

WIDTH = 300.0
"""Width in pixels to which faces are reduced: twice what the recognisers look at."""
_ATTACKERS_KEY = 100
"""Number of the attacker's key: no session under attack has it."""
_PUBLISHING, _RECOGNISING, _POSING, _OTHERS, _REDACTING = 0.2, 0.45, 0.6, 0.72, 0.8
"""Where publishing, recognising, posed faces, other photographs and redacted heads end in the whole."""

_WHITENED = f"{Refit.name}, whitened"

Read = Callable[[str], list[Photograph]]
Labels = Callable[[str], Mapping[str, Mapping[str, str]]]


@dataclass(frozen=True)
class _Measured:
    """Everything that the chapters look at; the mappings of a recogniser are under its name."""

    subjects: Subjects
    sets: Mapping[str, PictureSet]
    known: Mapping[str, KnownFaces]
    vectors: Mapping[str, Mapping[str, Vectors]]

    def probes(self, recogniser: str, names: Sequence[str]) -> dict[str, tuple[Vectors, Sequence[str]]]:
        """Vectors and people of some sets."""
        return {name: (self.vectors[recogniser][name], self.sets[name].people) for name in names if name in self.sets}


def attack_pictures(
    photographs: Read,
    labels: Labels,
    fitting: FitModel,
    gallery: Gallery,
    detect: Detect,
    *,
    unseen: str = "canada",
    donors: str = "london",
    people: PhotographedPeople | None = None,
    onnx: Path | None = None,
    quick: bool = False,
    progress: Progress,
) -> list[Chapter]:
    """The chapters: recognition, posed faces, other photographs, redacted heads, sessions, refitting, donors, soft
    biometrics.

    photographs and labels read a set by name; `unseen` names the set of people whom the model never saw, `donors` the
    set that it was trained on. people: of whom there are several photographs. onnx: a recogniser of the user's. quick:
    fewer people, keys and methods.
    Raises InputError for an ONNX file that cannot be used, FailedClosed when nothing was published.
    """
    amount = QUICK if quick else FULL
    subjects = Subjects(_reduced(photographs(unseen), amount.people), _reduced(photographs(donors), amount.people))
    held = originals(subjects.known, "gallery")
    attackers, missing = recognisers((held.pictures, held.landmarks), fitting.model, detect, onnx)
    sets = picture_sets(subjects, fitting, gallery, amount, lambda done, text: progress(_PUBLISHING * done, text))
    if not sets[SAMPLED].pictures:
        raise FailedClosed("the default method published none of the photographs: nothing can be measured")
    measured = _measure(attackers, subjects, sets, np.sqrt(fitting.model.variances), progress)
    by_recogniser = {name: scores(rows, sets, measured.known[name]) for name, rows in measured.vectors.items()}
    others = _fewer(people or PhotographedPeople(), amount.people)
    posed = _posed(attackers, subjects, others, fitting, gallery, amount, progress)
    progress(_POSING, "publishing: other photographs")
    filtered = people_sets(others, fitting, gallery, [key_of(i) for i in range(amount.other_keys)])
    strongest = attackers[-1]  # the user's own, else dlib's, else the refitted model
    synthetic = [name for name in (*amount.methods, MEAN_FACE) if name not in MASKS]
    settings = SurrogateSettings()
    return [
        recognition_chapter(
            by_recogniser, sets, len(subjects.known), tuple(missing), strongest.name if onnx is not None else None
        ),
        posed,
        _other_photographs(attackers, measured, others, filtered, onnx, progress),
        *_redactions(strongest, measured, progress),
        _sessions(strongest, measured, fitting, gallery, amount, progress),
        refitted_chapter(
            measured.probes(Refit.name, [name for name in sets if name not in (OTHER_PHOTOGRAPH, SURROUNDINGS)]),
            measured.known[Refit.name],
            gallery.identities,
            settings.k,
            settings.q,
        ),
        _donors(strongest.name, measured, synthetic),
        *_soft_biometrics(strongest, measured, {**labels(unseen), **labels(donors)}),
    ]


def _reduced(photographs: Sequence[Photograph], people: int | None) -> tuple[Photograph, ...]:
    kept = sorted({photograph.person for photograph in photographs})[:people]
    return tuple(reduced(photograph, WIDTH) for photograph in photographs if photograph.person in kept)


def _fewer(people: PhotographedPeople, most: int | None) -> PhotographedPeople:
    kept = {photograph.person for photograph in people.held[:most]}
    held, filtered = ([p for p in side if p.person in kept] for side in (people.held, people.filtered))
    return PhotographedPeople(_reduced(held, None), _reduced(filtered, None))


def _measure(
    attackers: Sequence[NamedRecogniser],
    subjects: Subjects,
    sets: Mapping[str, PictureSet],
    spread: Vectors,
    progress: Progress,
) -> _Measured:
    """What every attacker makes of everything; the refitted model a second time, whitened by its spread (d,)."""
    known: dict[str, KnownFaces] = {}
    vectors: dict[str, dict[str, Vectors]] = {}
    for place, attacker in enumerate(attackers):
        known[attacker.name] = known_to(attacker, subjects.known)
        vectors[attacker.name] = rows = {}
        for number, (name, given) in enumerate(sets.items()):
            done = (place + number / len(sets)) / len(attackers)
            progress(_PUBLISHING + (_RECOGNISING - _PUBLISHING) * done, f"{attacker.name}: {name}")
            rows[name] = described(attacker, given)
        if attacker.name == Refit.name:
            known[_WHITENED] = KnownFaces(known[Refit.name].vectors / spread, known[Refit.name].people)
            vectors[_WHITENED] = {name: vector / spread for name, vector in rows.items()}
    return _Measured(subjects, sets, known, vectors)


def _posed(
    attackers: Sequence[NamedRecogniser],
    subjects: Subjects,
    people: PhotographedPeople,
    fitting: FitModel,
    gallery: Gallery,
    amount: Amount,
    progress: Progress,
) -> Chapter:
    def tell(share: float, text: str) -> None:
        progress(_RECOGNISING + (_POSING - _RECOGNISING) * share, text)

    keys = [key_of(i) for i in range(amount.other_keys)]
    return posed_chapter(attackers, subjects, people, fitting, gallery, keys, tell)


def _other_photographs(
    attackers: Sequence[NamedRecogniser],
    measured: _Measured,
    people: PhotographedPeople,
    filtered: Mapping[str, PictureSet],
    onnx: Path | None,
    progress: Progress,
) -> Chapter:
    lit = relit(measured.subjects.known)
    known = (*people.held, *measured.subjects.neutral_donors)
    by_light: dict[str, dict[str, Score]] = {}
    by_photograph: dict[str, dict[str, Score]] = {}
    for place, attacker in enumerate(attackers):
        progress(_POSING + (_OTHERS - _POSING) * place / len(attackers), f"{attacker.name}: other photographs")
        same = {name: measured.vectors[attacker.name][name] for name in COMPARED if name in measured.sets}
        by_light[attacker.name] = scores(same, measured.sets, known_to(attacker, lit), shuffled=False)
        if filtered:
            rows = {name: described(attacker, given) for name, given in filtered.items()}
            by_photograph[attacker.name] = scores(rows, filtered, known_to(attacker, known), shuffled=False)
    strongest = attackers[-1].name if onnx is not None else None
    return other_photographs_chapter(by_light, by_photograph, filtered, len(known), strongest)


def _redactions(recogniser: NamedRecogniser, measured: _Measured, progress: Progress) -> list[Chapter]:
    def tell(share: float, text: str) -> None:
        progress(_OTHERS + (_REDACTING - _OTHERS) * share, text)

    chapter = redactions_chapter(recogniser, measured.known[recogniser.name], measured.subjects, tell)
    return [] if chapter is None else [chapter]


def _sessions(
    recogniser: NamedRecogniser,
    measured: _Measured,
    fitting: FitModel,
    gallery: Gallery,
    amount: Amount,
    progress: Progress,
) -> Chapter:
    donors = measured.subjects.donors
    both = {p.person for p in donors if p.expression != NEUTRAL} & {p.person for p in measured.subjects.neutral_donors}
    people = sorted(both)[: amount.parrots]
    neutral = [p for p in donors if p.person in people and p.expression == NEUTRAL]
    smiling = [p for p in donors if p.person in people and p.expression != NEUTRAL]
    pairs: dict[str, tuple[Described, Described]] = {}
    methods = (*amount.methods, MEAN_FACE)
    for number, method in enumerate(methods if people else ()):
        progress(_REDACTING + (1 - _REDACTING) * number / len(methods), f"the attacker's own key: {method}")
        here = published(smiling, fitting, gallery, method, [key_of(0)])
        there = published(neutral, fitting, gallery, method, [key_of(_ATTACKERS_KEY)])
        pairs[method] = (here, described(recogniser, here)), (there, described(recogniser, there))
    if people and GENDERED in measured.sets:
        here = gendered(smiling, fitting, gallery, [key_of(0)])
        there = gendered(neutral, fitting, gallery, [key_of(_ATTACKERS_KEY)])
        pairs[GENDERED] = (here, described(recogniser, here)), (there, described(recogniser, there))
    if people:
        hulls = black_hull(smiling), black_hull(neutral)
        pairs[BLACK_HULL] = (hulls[0], described(recogniser, hulls[0])), (hulls[1], described(recogniser, hulls[1]))
    names = [name for name in (*methods, GENDERED, BLACK_HULL) if name in measured.sets]
    ours = {name: (measured.sets[name], measured.vectors[recogniser.name][name]) for name in names}
    known, unseen = measured.known[recogniser.name], len(measured.subjects.unseen)
    return sessions_chapter(
        recogniser.name, ours, KnownFaces(known.vectors[:unseen], known.people[:unseen]), pairs, SurrogateSettings().q
    )


def _donors(name: str, measured: _Measured, synthetic: Sequence[str]) -> Chapter:
    known, count = measured.known[name], len(measured.subjects.unseen)
    return donors_chapter(
        name,
        measured.probes(name, synthetic),
        KnownFaces(known.vectors[count:], known.people[count:]),
        KnownFaces(known.vectors[:count], known.people[:count]),
        SAMPLED,
    )


def _soft_biometrics(
    recogniser: NamedRecogniser, measured: _Measured, labels: Mapping[str, Mapping[str, str]]
) -> list[Chapter]:
    gender = {person: row["face_gender"] for person, row in labels.items() if row.get("face_gender")}
    if len({gender.get(p.person) for p in measured.subjects.donors} - {None}) < 2:
        return []
    learnt = originals(measured.subjects.donors, "donors")
    unseen = {photograph.person for photograph in measured.subjects.unseen}
    asked = {n: v for n, v in measured.vectors[recogniser.name].items() if set(measured.sets[n].people) <= unseen}
    return [
        soft_biometrics_chapter(
            recogniser.name, asked, measured.sets, (described(recogniser, learnt), learnt.people), gender
        )
    ]
