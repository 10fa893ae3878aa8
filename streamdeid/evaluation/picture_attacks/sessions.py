"""Chapter: attacks that use published pictures on both sides: reverse, parrot with a wrong key, linkage (A2, A3, A9).

Reverse: the attacker holds the originals and looks for each among the published faces. Parrot: he publishes his own
photographs of the same people with the same program and a key of his own, and matches published to published. Linkage:
two sessions with different keys; can the same person be told in both? All are closed sets of the same people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.deidentify.surrogates import DRAWN
from streamdeid.evaluation.identification import Interval, identified
from streamdeid.evaluation.picture_attacks.laboratory import BLACK_HULL, PAPER
from streamdeid.evaluation.picture_attacks.picture_sets import PictureSet
from streamdeid.evaluation.picture_attacks.scores import Known, Vectors, distances, share
from streamdeid.evaluation.tables import Chapter, Table, Verdict, limits, percent

_SEED = 159
_BROKEN = 0.99
"""P5's masks are matched by parrot recognition at least so often."""
_BROKEN_MASKS = ("pixelate", "bar", "t-mask")

Described = tuple[PictureSet, Vectors]
"""A set of pictures, and what a recogniser makes of it."""


def sessions_chapter(
    name: str, attacked: Mapping[str, Described], attackers: Mapping[str, Described], known: Known
) -> Chapter:
    """The chapter, under the recogniser called `name`.

    attacked: published sets by method; attackers: the same people published with other keys, session by session;
    known: unaltered photographs of these people only.
    """
    rng = np.random.default_rng(_SEED)
    chance = 1 / len(known.people)
    rows, found = [], {}
    for method, theirs in attackers.items():
        ours = attacked[method]
        reverse, parrot = [], []
        for session in sorted(set(theirs[0].sessions)):
            here, there = _of_session(ours, session), _of_session(theirs, session)
            reverse.append(_hits(known.vectors, known.people, *here))
            parrot.append(_hits(*here, *there))
        found[method] = (_share(reverse, rng), _share(parrot, rng))
        rows.append((method, *(limits(each) for each in found[method]), str(len(parrot))))
    pictures, floor = attacked[BLACK_HULL]
    surroundings = [
        _share([_hits(vectors, names, floor, pictures.people)], rng)
        for vectors, names in ((known.vectors, known.people), (floor, pictures.people))
    ]
    rows.append((f"control: {BLACK_HULL}", *(limits(each) for each in surroundings), "the same picture"))
    text = (
        f"Closed sets of the same {len(known.people)} people ({name}); chance {percent(chance)}. The surroundings are "
        "the same on both sides, since each person has one photograph; the black hull on both sides is the same "
        "picture twice. A mask has no key, so there the attacker does exactly what the filter did. For a keyed method "
        "the second column is linkage of two sessions as well: published against published, another key."
    )
    table = Table(name, ("method", "reverse rank-1", "parrot, another key: rank-1", "pairs of sessions"), tuple(rows))
    return Chapter("sessions", "Reverse, parrot and linkage on pictures", text, (table,), _verdicts(found, chance))


Hits = tuple[NDArray[np.bool_], NDArray[np.str_]]


def _of_session(given: Described, session: int) -> tuple[Vectors, list[str]]:
    """Vectors and people of one session, those that the recogniser could use."""
    pictures, vectors = given
    rows = np.flatnonzero((np.array(pictures.sessions) == session) & np.isfinite(vectors).all(axis=1))
    return vectors[rows], [pictures.people[row] for row in rows]


def _hits(probes: Vectors, names: Sequence[str], gallery: Vectors, people: Sequence[str]) -> Hits:
    return identified(distances(probes, gallery), np.array(names), np.array(people)), np.array(names)


def _share(hits: Sequence[Hits], rng: np.random.Generator) -> Interval:
    return share(np.concatenate([hit for hit, _ in hits]), np.concatenate([who for _, who in hits]), rng)


def _verdicts(found: Mapping[str, tuple[Interval, Interval]], chance: float) -> tuple[Verdict, ...]:
    verdicts = [
        Verdict(
            f"{mask} is broken by parrot recognition on pictures",
            f"at least {percent(_BROKEN, 0)}",
            limits(found[mask][1]),
            found[mask][1].value >= _BROKEN,
        )
        for mask in _BROKEN_MASKS
        if mask in found
    ]
    if DRAWN in found:
        reverse, linked = found[DRAWN]
        verdicts += [
            Verdict(f"{DRAWN}: {what}", f"lower limit at most {percent(2 * chance)}, chance / (1 - q)", limits(here),
                    here.low <= 2 * chance)
            for what, here in (("reverse recognition at chance", reverse), ("two keys are not linked", linked))
        ]  # fmt: skip
    if PAPER in found:
        verdicts.append(
            Verdict(
                f"{PAPER}: a parrot finds people by it",
                f"lower limit above {percent(3 * chance)} (three times chance)",
                limits(found[PAPER][1]),
                found[PAPER][1].low > 3 * chance,
            )
        )
    return tuple(verdicts)
