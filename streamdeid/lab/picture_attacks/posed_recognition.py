"""Chapter: who is recognised by a posed face, as small as the faces are that are shown by one.

The bar is a black hull of the very region that the posed face replaces, at the same size: hair, ears, neck and clothes
beyond it are published in either, and the posed face itself may tell next to nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph
from streamdeid.lab.picture_attacks.laboratory import Subjects, described, known_to
from streamdeid.lab.picture_attacks.other_photographs import OTHERS, PhotographedPeople
from streamdeid.lab.picture_attacks.posed_faces import (
    WIDTHS,
    PosedSets,
    black_region_at,
    posed_at,
    posed_sets,
    small,
    unaltered_at,
)
from streamdeid.lab.picture_attacks.recognition import beside
from streamdeid.lab.picture_attacks.scores import COLUMNS, Score, score
from streamdeid.lab.recognisers import NamedRecogniser
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, limits, percent
from streamdeid.surrogates.gallery import Gallery

SLUG = "posed-faces"
_SEED = 826
_KNOWN = 0.5
"""Share of the small unaltered photographs that a recogniser must name, or a verdict of that size says nothing."""
_TEXT = """\
Photographs turned small, so that their faces are {widths} px wide, and published with the surrogate as a posed face. \
The attacker's gallery ({gallery} people, chance {chance}) is turned small alike, and thresholds come from it; \
recognisers are given the landmarks of the original. Without a note the very photograph that was filtered lies in the \
gallery. The control is a black hull of the region that the posed face replaced, picture by picture.{others}"""
_OTHERS = """ "{others}": {pictures} photographs of {people} people, each against another one of the person, among \
{gallery} people."""

Scores = dict[str, Score]
Report = Callable[[float, str], None]


@dataclass(frozen=True)
class _Side:
    """Photographs that are filtered, and the gallery that they are looked for in."""

    note: str
    filtered: tuple[Photograph, ...]
    known: tuple[Photograph, ...]


def posed_chapter(
    recognisers: Sequence[NamedRecogniser],
    subjects: Subjects,
    people: PhotographedPeople,
    fitting: FitModel,
    gallery: Gallery,
    keys: Sequence[bytes],
    progress: Report,
) -> Chapter:
    """The chapter: unseen people by the same photograph and, where there are `people`, by another one of theirs."""
    sides = [_Side("", subjects.unseen, subjects.known)]
    if people.filtered:
        sides.append(_Side(OTHERS, people.filtered, (*people.held, *subjects.neutral_donors)))
    found: dict[str, Scores] = {}
    refused: list[str] = []
    for place, side in enumerate(sides):
        for number, width in enumerate(WIDTHS):
            progress((place + number / len(WIDTHS)) / len(sides), f"posed faces: {width:g} px {side.note}".rstrip())
            sets = posed_sets(side.filtered, width, fitting, gallery, keys)
            known = small(side.known, width)
            if sets.posed.refused:
                refused.append(f"{sets.posed.name}: {sets.posed.refused}")
            for recogniser in recognisers:
                title = f"{recogniser.name}: {side.note}" if side.note else recogniser.name
                found.setdefault(title, {}).update(_scored(recogniser, sets, known))
    return _chapter(found, sides, refused)


def _scored(recogniser: NamedRecogniser, sets: PosedSets, known: Sequence[Photograph]) -> Scores:
    """The score of each set; a set none of whose pictures the recogniser can use names nobody."""
    rng = np.random.default_rng(_SEED)
    held = known_to(recogniser, known)
    return {
        name: score(described(recogniser, given), given.people, held, rng)
        for name, given in sets.named.items()
        if given.pictures
    }


def _chapter(found: Mapping[str, Scores], sides: Sequence[_Side], refused: Sequence[str]) -> Chapter:
    first, others = sides[0], ""
    for side in sides[1:]:
        others = _OTHERS.format(
            others=side.note,
            pictures=len(side.filtered),
            people=len({p.person for p in side.filtered}),
            gallery=len(side.known),
        )
    text = _TEXT.format(
        widths=", ".join(f"{width:g}" for width in WIDTHS),
        gallery=len(first.known),
        chance=percent(1 / len(first.known)),
        others=others,
    )
    if refused:
        text += f"\n\nPictures that were not published (failed closed): {', '.join(refused)}."
    tables = tuple(_table(title, scores) for title, scores in found.items())
    verdicts = tuple(v for title, scores in found.items() for v in _verdicts(title, scores))
    return Chapter(SLUG, "Posed faces", text, tables, verdicts)


def _table(title: str, scores: Scores) -> Table:
    ours = [posed_at(width) for width in WIDTHS]
    rows = tuple((name if name in ours else f"control: {name}", *one.cells()) for name, one in scores.items())
    return Table(title, ("pictures", *COLUMNS), rows)


def _verdicts(title: str, scores: Scores) -> list[ClaimVerdict]:
    """For each size: within two points of the black hull, where the recogniser knows anybody at that size."""
    verdicts = []
    for width in WIDTHS:
        unaltered = scores[unaltered_at(width)].rank_1
        ours = scores.get(posed_at(width))
        if ours is None:
            verdicts.append(ClaimVerdict(f"{title}: {posed_at(width)}", "measured", "nothing was published", False))
        elif unaltered.value < _KNOWN:
            claim = f"{title}: {unaltered_at(width)} is named, or the size says nothing"
            expected = f"rank-1 at least {percent(_KNOWN)}"
            verdicts.append(ClaimVerdict(claim, expected, limits(unaltered), False))
        else:
            floor = black_region_at(width)
            verdicts += beside(title, (posed_at(width), ours), (floor, scores[floor]), "TAR at FAR 1e-2")
    return verdicts
