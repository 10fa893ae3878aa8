"""Chapter: what redacted heads tell, alone and with their surroundings: soft, blurred, in pixels or colours, solid.

The question about the soft redaction is what it adds to the surroundings, which are published in any case. Two controls
tell what these alone give: a solid head with the same outline and feather, and the same after the attacker has filled
it from its rim, which makes it easier to learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.photographs import NEUTRAL, Photograph
from streamdeid.core.arrays import Vectors
from streamdeid.lab.identification import Interval, bootstrap, identified
from streamdeid.lab.picture_attacks.laboratory import Subjects, described
from streamdeid.lab.picture_attacks.picture_sets import PictureSet
from streamdeid.lab.picture_attacks.redacted_heads import (
    BLUR,
    FILLED,
    KINDS,
    SOFT,
    SOLID,
    head_chip,
    head_in,
    heads_alone,
    redacted_heads,
)
from streamdeid.lab.picture_attacks.redaction_inversion import AXES, RedactedPairs, named_in_folds, named_in_samples
from streamdeid.lab.picture_attacks.scores import KnownFaces, distances
from streamdeid.lab.recognisers import NamedRecogniser
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, limits, percent

SLUG = "redacted-heads"
_SIDE = 16
"""Side in pixels of the small pictures that are learnt from and asked for."""
_FACE, _HEAD, _AROUND = 0.8, 1.0, 2.2
"""What they reach to, half axes: the face that is asked for, a head alone, a head with its surroundings."""
_RUNS, _SAMPLES = 3, 6
"""Divisions of the donors into fifths, and draws from them: what a single learner finds varies by three points."""
_POINTS = 0.03
"""So much more than the surroundings alone the soft redaction may tell (issue 11)."""
_SEED = 611
NAIVE, SAME, OTHER, UNSEEN, PARROT = (
    "recogniser", "learnt, the same photograph", "learnt, another photograph", "learnt, unseen people", "parrot",
)  # fmt: skip
ATTACKS = (NAIVE, SAME, OTHER, UNSEEN, PARROT)

_TEXT = """\
Rank-1 with 95 % limits over people. Every kind has one outline and feather, so that only what lies inside differs. \
Alone: everything beside the ellipse is grey. Recogniser: {name} on the pictures of {unseen} unseen people, against \
{gallery} people, their very photographs among them. Learnt: from other people the attacker learns how a face goes \
with what is published (ridge regression between pictures of {side} x {side} colours, mean of {axes} principal axes), \
and asks which known face fits. The same photograph, and another one (smiling published, neutral known): {donors} \
donors, a fifth left out at a time, chance {one_donor}. Unseen people: learnt from donors, a sixth left out at random, \
{unseen} people, chance {one_unseen}. Parrot: {name}, {donors} donors, one photograph published, another one redacted \
in the same way, both ways round. What the soft redaction shows without its tone follows from its surroundings."""

Report = Callable[[float, str], None]
Hits = dict[str, Vectors]
"""By attack, share of the tries (people,) in which each person was named, in the order of the people."""


@dataclass(frozen=True)
class _Group:
    """Photographs of different people, and the faces in them as the learner asks for them."""

    photographs: tuple[Photograph, ...]
    faces: Vectors
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, photographs: Sequence[Photograph], numbers: dict[str, int]) -> _Group:
        faces = np.stack([head_chip(p.image, head_in(p), _FACE, _SIDE) for p in photographs])
        return cls(tuple(photographs), faces, np.array([numbers[p.person] for p in photographs]))

    def pairs(self, given: PictureSet, reach: float) -> RedactedPairs:
        """With small pictures of what is published of them."""
        seen = [head_chip(q, head_in(p), reach, _SIDE) for q, p in zip(given.pictures, self.photographs, strict=True)]
        return RedactedPairs(np.stack(seen), self.faces, self.numbers)


def redactions_chapter(
    recogniser: NamedRecogniser, known: KnownFaces, subjects: Subjects, progress: Report
) -> Chapter | None:
    """The chapter, under a recogniser and the unaltered faces that it knows; None without two photographs of donors."""
    neutral = {p.person: p for p in subjects.neutral_donors}
    smiling = {p.person: p for p in subjects.donors if p.expression != NEUTRAL}
    both = sorted(neutral.keys() & smiling.keys())
    if len(both) < 5:
        return None
    numbers = {person: i for i, person in enumerate([*both, *(p.person for p in subjects.unseen)])}
    groups = [
        _Group.of([neutral[person] for person in both], numbers),
        _Group.of([smiling[person] for person in both], numbers),
        _Group.of(subjects.unseen, numbers),
    ]
    found: dict[str, Hits] = {}
    for place, kind in enumerate(KINDS):
        progress(place / len(KINDS), f"redacted heads: {kind}")
        whole = [redacted_heads(group.photographs, kind) for group in groups]
        for name, sets, reach in (
            (_alone(kind), [heads_alone(each) for each in whole], _HEAD),
            (_surrounded(kind), whole, _AROUND),
        ):
            found[name] = _attacked(recogniser, known, groups, sets, reach)
    return _chapter(recogniser.name, found, len(known.people), (len(both), len(subjects.unseen)))


def _alone(kind: str) -> str:
    return f"{kind}, alone"


def _surrounded(kind: str) -> str:
    return f"{kind}, with surroundings"


def _attacked(
    recogniser: NamedRecogniser, known: KnownFaces, groups: Sequence[_Group], sets: Sequence[PictureSet], reach: float
) -> Hits:
    """All attacks on one kind of picture: of donors neutral and smiling, and of unseen people. reach: that of the small
    pictures."""
    neutral, smiling, unseen = (group.pairs(given, reach) for group, given in zip(groups, sets, strict=True))
    learnt = RedactedPairs(*(np.concatenate(parts) for parts in zip(*map(_parts, (neutral, smiling)), strict=True)))
    ours, theirs, probes = (described(recogniser, given) for given in sets)
    people = np.array(sets[0].people)
    apart = distances(theirs, ours)
    return {
        NAIVE: identified(distances(probes, known.vectors), np.array(sets[2].people), np.array(known.people)) * 1.0,
        SAME: np.mean([named_in_folds(learnt, neutral, neutral, axes, _RUNS) for axes in AXES], axis=0),
        OTHER: np.mean([named_in_folds(learnt, smiling, neutral, axes, _RUNS) for axes in AXES], axis=0),
        UNSEEN: np.mean([named_in_samples(learnt, unseen, unseen, axes, _SAMPLES) for axes in AXES], axis=0),
        PARROT: np.mean([identified(each, people, people) for each in (apart, apart.T)], axis=0),
    }


def _parts(pairs: RedactedPairs) -> tuple[Vectors, Vectors, NDArray[np.int64]]:
    return pairs.seen, pairs.faces, pairs.people


def _chapter(name: str, found: dict[str, Hits], gallery: int, counts: tuple[int, int]) -> Chapter:
    rng = np.random.default_rng(_SEED)
    donors, unseen = counts
    shares = {row: {attack: bootstrap(hits[attack], rng) for attack in ATTACKS} for row, hits in found.items()}
    rows = tuple((row, *(limits(shares[row][attack]) for attack in ATTACKS)) for row in found)
    text = _TEXT.format(
        name=name,
        gallery=gallery,
        donors=donors,
        unseen=unseen,
        side=_SIDE,
        axes=" and ".join(map(str, AXES)),
        one_donor=percent(1 / donors),
        one_unseen=percent(1 / unseen),
    )
    table = Table(name, ("heads", *ATTACKS), rows)
    return Chapter(SLUG, "Redacted heads without a face", text, (table,), tuple(_verdicts(found, shares, rng)))


def _verdicts(
    found: dict[str, Hits], shares: dict[str, dict[str, Interval]], rng: np.random.Generator
) -> list[ClaimVerdict]:
    verdicts = []
    for attack in ATTACKS:
        control = max((_surrounded(SOLID), _surrounded(FILLED)), key=lambda row: shares[row][attack].value)
        more = found[_surrounded(SOFT)][attack] - found[control][attack]
        low, high = _limits_of_mean(more, rng)
        verdicts.append(
            ClaimVerdict(
                f"{SOFT} with surroundings tells at most 3 points more than the surroundings alone: {attack}",
                f"at most {100 * _POINTS:.1f} points above {control} ({percent(shares[control][attack].value)})",
                f"{100 * more.mean():+.1f} points ({low:+.1f} to {high:+.1f})",
                bool(more.mean() <= _POINTS),
            )
        )
    blurred, solid = (shares[_alone(kind)][SAME] for kind in (BLUR, SOLID))
    verdicts.append(
        ClaimVerdict(
            "control: the learnt inversion finds people behind a blur, and nobody behind a solid head alone",
            "blur above solid, limits apart",
            f"{limits(blurred)} and {limits(solid)}",
            blurred.low > solid.value,
        )
    )
    return verdicts


def _limits_of_mean(values: Vectors, rng: np.random.Generator) -> tuple[float, float]:
    """95 % limits, in points, of a mean over people by resampling them."""
    drawn = values[rng.integers(len(values), size=(2000, len(values)))].mean(axis=1)
    low, high = np.percentile(100 * drawn, [2.5, 97.5])
    return float(low), float(high)
