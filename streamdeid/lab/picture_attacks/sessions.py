"""Chapter: attacks that use published pictures on one side or both: reverse, parrot, linkage (A2, A3, A9).

Reverse: the attacker holds the originals and looks for each among the published faces. Parrot: he publishes his own
photographs of the same people with the same program and a key of his own, and matches published to published; with a
keyed method that is the linking of two sessions as well. His photographs are others than those that were filtered:
what one picture has in common with itself would be recognised under any mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.lab.identification import Interval, identified
from streamdeid.lab.picture_attacks.laboratory import BLACK_HULL, PAPER
from streamdeid.lab.picture_attacks.picture_sets import PictureSet
from streamdeid.lab.picture_attacks.scores import KnownFaces, distances, share
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, limits, percent
from streamdeid.surrogates.choice import SAMPLED

_SEED = 159
PARROT = "parrot, or two keys linked: rank-1"
"""Heading of the second attack."""

Described = tuple[PictureSet, Vectors]
"""A set of pictures, and what a recogniser makes of it."""
Hits = tuple[NDArray[np.bool_], NDArray[np.str_]]


def sessions_chapter(
    name: str,
    attacked: Mapping[str, Described],
    known: KnownFaces,
    pairs: Mapping[str, tuple[Described, Described]],
    q: float,
) -> Chapter:
    """The chapter, under the recogniser called `name`.

    attacked: published sets by method, session by session; known: unaltered photographs of these people only; pairs:
    by method, photographs published with one key and other photographs of the same people with another.
    """
    rng = np.random.default_rng(_SEED)
    reverse: dict[str, Interval] = {}
    for method, ours in attacked.items():
        sessions: list[int | None] = [*sorted(set(ours[0].sessions))] or [None]
        reverse[method] = _share([_hits(known.vectors, known.people, *_usable(ours, one)) for one in sessions], rng)
    parrot = {method: _share([_hits(*_usable(a), *_usable(b))], rng) for method, (a, b) in pairs.items()}
    rows = tuple(
        (method, *(limits(side[method]) if method in side else None for side in (reverse, parrot)))
        for method in dict.fromkeys((*reverse, *parrot))
    )
    people = len(set(next(iter(pairs.values()))[0][0].people)) if pairs else 0
    chance = 1 / len(known.people)
    text = (
        f"Closed sets ({name}). Reverse: {len(known.people)} people whom the model never saw, chance "
        f"{percent(chance)}; the very photographs. Parrot: "
    )
    text += (
        f"{people} donors, chance {percent(1 / people)}; smiling photographs filtered, neutral ones filtered by the "
        "attacker. Clothes, hair and camera are the same in both, and the black hull's row is what they give. A mask "
        "has no key, so there the attacker does exactly what the filter did."
        if people
        else "not run: it needs two photographs of each donor."
    )
    table = Table(name, ("pictures", "reverse: rank-1", PARROT), rows)
    verdicts = _reverse_verdicts(reverse, chance, q) + (_parrot_verdicts(parrot, 1 / people, q) if people else [])
    return Chapter("sessions", "Reverse, parrot and linkage on pictures", text, (table,), tuple(verdicts))


def _usable(given: Described, session: int | None = None) -> tuple[Vectors, list[str]]:
    """Vectors and people of one session, or of all pictures; those that the recogniser could use."""
    pictures, vectors = given
    rows = np.isfinite(vectors).all(axis=1)
    if session is not None:
        rows &= np.array(pictures.sessions) == session
    return vectors[rows], [pictures.people[row] for row in np.flatnonzero(rows)]


def _hits(probes: Vectors, names: Sequence[str], gallery: Vectors, people: Sequence[str]) -> Hits:
    return identified(distances(probes, gallery), np.array(names), np.array(people)), np.array(names)


def _share(hits: Sequence[Hits], rng: np.random.Generator) -> Interval:
    return share(np.concatenate([hit for hit, _ in hits]), np.concatenate([who for _, who in hits]), rng)


def _reverse_verdicts(found: Mapping[str, Interval], chance: float, q: float) -> list[ClaimVerdict]:
    if SAMPLED not in found:
        return []
    ours = found[SAMPLED]
    return [
        ClaimVerdict(f"{SAMPLED}: reverse recognition gains no more than P's promise allows",
                f"lower limit at most {percent(chance / (1 - q))}, chance / (1 - q)", limits(ours),
                ours.low <= chance / (1 - q))
    ]  # fmt: skip


def _parrot_verdicts(found: Mapping[str, Interval], chance: float, q: float) -> list[ClaimVerdict]:
    verdicts = []
    if SAMPLED in found:
        ours = found[SAMPLED]
        verdicts = [
            ClaimVerdict(f"{SAMPLED}: two keys are linked no more often than P's promise allows",
                    f"lower limit at most {percent(chance / (1 - q))}, chance / (1 - q)", limits(ours),
                    ours.low <= chance / (1 - q)),
            ClaimVerdict(f"{SAMPLED}: two keys are not linked", f"limits around chance ({percent(chance)})",
                    limits(ours), ours.low <= chance <= ours.high),
        ]  # fmt: skip
        if BLACK_HULL in found:
            hull = found[BLACK_HULL]
            verdicts.append(
                ClaimVerdict(f"{SAMPLED}: two keys are linked no better than black hulls are",
                        f"at most {percent(hull.value)}", limits(ours), ours.value <= hull.value)
            )  # fmt: skip
    if PAPER in found:
        paper = found[PAPER]
        verdicts.append(
            ClaimVerdict(f"{PAPER}: a parrot finds people by it",
                    f"lower limit above {percent(3 * chance)} (three times chance)", limits(paper),
                    paper.low > 3 * chance)
        )  # fmt: skip
    return verdicts
