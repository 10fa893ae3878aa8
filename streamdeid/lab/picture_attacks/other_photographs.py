"""Chapter: published faces against other photographs of the same people, where the light is no help (methods.md 3.3).

Where the very photograph that was filtered lies in the gallery, its light, colours and expression are on both sides,
and a filter that keeps the light of the scene is punished for it whoever the face is. Two galleries take that away:

* the same photographs in another light (`relit`): needs no second photograph of anybody;
* other photographs of the same people, of another day, light and camera (`--people`): what somebody with a picture of
  the person from elsewhere can do.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import NEUTRAL, Detect, Photograph, read_photograph
from streamdeid.errors import InputError
from streamdeid.identity.picture_recognisers import DlibResnet
from streamdeid.lab.picture_attacks.laboratory import (
    BLACK_HULL,
    GENDERED,
    HULL_ONLY,
    JPEG_AGAIN,
    PAPER,
    gendered,
    knows_gender,
)
from streamdeid.lab.picture_attacks.picture_sets import PictureSet, black_hull, hull_only, originals, published
from streamdeid.lab.picture_attacks.recognition import beside_black_hull
from streamdeid.lab.picture_attacks.scores import COLUMNS, Score
from streamdeid.lab.published_pictures import MEAN_FACE
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, limits, percent
from streamdeid.surrogates.choice import SAMPLED
from streamdeid.surrogates.gallery import Gallery

UNALTERED = "unaltered"
COMPARED = (JPEG_AGAIN, UNALTERED, MEAN_FACE, BLACK_HULL, HULL_ONLY, SAMPLED, GENDERED, PAPER)
"""Sets of pictures that are compared; the first five are controls."""
_CONTROLS = COMPARED[:5]
RELIT, OTHERS = "the same photographs in another light", "other photographs of the same people"
"""The two galleries."""
_KNOWN_AGAIN = 0.9
"""Share of the unaltered pictures that a deep recogniser must name, or the comparison says nothing."""
_TEXT = """\
Who is named when the attacker does not hold the very photograph that was filtered. "{relit}": the gallery's \
photographs are lit anew (brightness, direction, colour and tone curve drawn at random for each), so that nothing is \
gained by a published face that keeps the light of its scene. {others} Thresholds come from different people in the \
same gallery; limits: 95 %, by resampling people."""
_OTHERS = """\
"{others}": {people} people whom the model never saw, {pictures} photographs filtered, against one other photograph of \
each and the donors, {gallery} people; chance is {chance}."""


@dataclass(frozen=True)
class PhotographedPeople:
    """Several photographs of each of some people whom the model never saw."""

    held: tuple[Photograph, ...] = ()
    """The one that the attacker holds, of each person."""
    filtered: tuple[Photograph, ...] = ()
    """The others."""


def people_rows(listed: Path) -> list[tuple[str, str]]:
    """Photograph and person of each row of a table with these two columns. Raises InputError."""
    try:
        with listed.open(newline="", encoding="utf-8") as file:
            rows = [(row.get("photograph") or "", row.get("person") or "") for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{listed} cannot be read as a table of people") from error
    if not rows or not all(photograph and person for photograph, person in rows):
        raise InputError(f"{listed} is no table with the columns photograph and person")
    return rows


def read_people(rows: Sequence[tuple[str, str]], directory: Path, detect: Detect) -> PhotographedPeople:
    """The photographs of such a table, paths under a directory: the first of each person is held, the others filtered.

    Photographs in which no face is found are left out, and people of whom only one is left. Raises InputError.
    """
    found: dict[str, list[Photograph]] = {}
    for path, person in rows:
        photograph = read_photograph(directory / path, f"people/{person}", NEUTRAL, detect)
        if photograph is not None:
            found.setdefault(photograph.person, []).append(photograph)
    several = [photographs for photographs in found.values() if len(photographs) > 1]
    return PhotographedPeople(
        tuple(p[0] for p in several), tuple(p for photographs in several for p in photographs[1:])
    )


def people_sets(
    people: PhotographedPeople, fitting: FitModel, gallery: Gallery, keys: Sequence[bytes]
) -> dict[str, PictureSet]:
    """Pictures by set of the photographs that are filtered; each of them is a stranger to the filter."""
    if not people.filtered:
        return {}
    sets = {
        UNALTERED: originals(people.filtered, UNALTERED),
        BLACK_HULL: black_hull(people.filtered),
        MEAN_FACE: published(people.filtered, fitting, gallery, MEAN_FACE, keys[:1]),
        SAMPLED: published(people.filtered, fitting, gallery, SAMPLED, keys),
        PAPER: published(people.filtered, fitting, gallery, PAPER, keys[:1]),
    }
    sets[HULL_ONLY] = hull_only(sets[SAMPLED])
    if knows_gender(gallery):
        sets[GENDERED] = gendered(people.filtered, fitting, gallery, keys)
    return {name: sets[name] for name in COMPARED if name in sets}


def other_photographs_chapter(
    relit: Mapping[str, Mapping[str, Score]],
    others: Mapping[str, Mapping[str, Score]],
    sets: Mapping[str, PictureSet],
    gallery: int,
    onnx: str | None,
) -> Chapter:
    """The chapter, from the scores by recogniser and set against either gallery; `others` empty where none were given.

    sets: `people_sets`; gallery: people in their gallery; onnx: name of the user's own recogniser.
    """
    told = "Other photographs were not given (`--people`)."
    if others:
        filtered = sets[UNALTERED]
        told = _OTHERS.format(
            others=OTHERS,
            people=len(set(filtered.people)),
            pictures=len(filtered.people),
            gallery=gallery,
            chance=percent(1 / gallery),
        )
    tables, verdicts = [], []
    for what, found in ((RELIT, relit), (OTHERS, others)):
        for name, scores in found.items():
            rows = tuple(
                (f"control: {each}" if each in _CONTROLS else each, *scores[each].cells())
                for each in COMPARED
                if each in scores
            )
            tables.append(Table(f"{name}: {what}", ("pictures", *COLUMNS), rows))
            if name in (DlibResnet.name, onnx):
                verdicts += _verdicts(f"{name}, {what}", scores)
    return Chapter(
        "other-photographs",
        "Other photographs, other light",
        _TEXT.format(relit=RELIT, others=told),
        tuple(tables),
        tuple(verdicts),
    )


def _verdicts(name: str, scores: Mapping[str, Score]) -> list[ClaimVerdict]:
    unaltered = next(scores[each].rank_1 for each in (UNALTERED, JPEG_AGAIN) if each in scores)
    found = [
        ClaimVerdict(
            f"control: {name}: unaltered faces are named",
            f"rank-1 at least {percent(_KNOWN_AGAIN)}",
            limits(unaltered),
            unaltered.value >= _KNOWN_AGAIN,
        )
    ]
    for method in (SAMPLED, GENDERED):
        if method in scores:
            found += beside_black_hull(name, method, scores, "true accepts at FAR 1e-2")
    return found
