"""Chapter: the parameter-space attacks on what a landmarker and the model find in the published pictures (A13).

The attacker has only the pictures. He detects, landmarks and projects them again, and then compares, inverts or
projects out as in parameter space (A1, A4, A5, A7). What drawing and refitting lose is the margin between this table
and the one of the parameters themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.lab.attacks import metrics
from streamdeid.lab.attacks.inversion import inverted, shifts_of
from streamdeid.lab.attacks.null_space import projected, residual
from streamdeid.lab.attacks.people import Population
from streamdeid.lab.identification import Interval, identified
from streamdeid.lab.picture_attacks.laboratory import PAPER
from streamdeid.lab.picture_attacks.scores import KnownFaces, share
from streamdeid.lab.published_pictures import MEAN_FACE
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, limits, percent
from streamdeid.surrogates.choice import SAMPLED
from streamdeid.surrogates.fixed_map import k_diff_map

_SEED = 535


def refitted_chapter(
    probes: Mapping[str, tuple[Vectors, Sequence[str]]], known: KnownFaces, donors: Vectors, k: int, q: float
) -> Chapter:
    """The chapter. probes: refitted vectors (n, d), nan where no face was found, and people, by set; known: the
    attacker's refitted unaltered photographs; donors (m, d): the reference gallery, which he has too."""
    rng = np.random.default_rng(_SEED)
    attacks = _attacks(donors, k, rng)
    gallery = np.array(known.people)
    chance = 1 / len(known.people)
    rows, found = [], {}
    for name, (vectors, people) in probes.items():
        usable = np.asarray(np.isfinite(vectors).all(axis=1))
        names = np.array(people)[usable]
        if not usable.any():
            continue
        found[name] = {
            attack: share(identified(measure(vectors[usable], known.vectors), names, gallery), names, rng)
            for attack, measure in attacks.items()
        }
        rows.append((name, *(limits(each) for each in found[name].values()), f"{usable.sum()} of {len(usable)}"))
    text = (
        f"Rank-1 among {len(known.people)} people, chance {percent(chance)}. The attacker knows the gallery, the "
        "algorithm and the model, not the key: inversion and null space use pairs of his own run. Shares are of the "
        "faces found again. The same photograph is on both sides, so outline, placing, pose and light are the same: "
        "one mean face for everybody shows what they alone give away."
    )
    table = Table("Refitted vectors", ("pictures", *attacks, "faces found again"), tuple(rows))
    return Chapter("refitted", "Refitting the published pictures", text, (table,), _verdicts(found, chance, q))


def _attacks(donors: Vectors, k: int, rng: np.random.Generator) -> dict[str, metrics.Metric]:
    population = Population.of(donors)
    own = k_diff_map(donors, k, rng)
    shifts = population.whitened(shifts_of(own) + population.mean)

    def inversion(probes: Vectors, gallery: Vectors) -> Vectors:
        return inverted(population.whitened(probes), population.whitened(gallery), shifts)

    def through(attack: Callable[..., Vectors]) -> metrics.Metric:
        return lambda probes, gallery: attack(probes, gallery, own, population)

    return {
        "Euclid": metrics.euclid,
        "whitened": metrics.whitened(population),
        "cosine": metrics.cosine(population),
        "inversion, whitened": inversion,
        "null space": through(projected),
        "residual": through(residual),
    }


def _verdicts(found: Mapping[str, Mapping[str, Interval]], chance: float, q: float) -> tuple[ClaimVerdict, ...]:
    verdicts = [
        ClaimVerdict(
            f"{PAPER}, refitted: {attack} re-identifies",
            f"lower limit above {percent(3 * chance)} (three times chance)",
            limits(found[PAPER][attack]),
            found[PAPER][attack].low > 3 * chance,
        )
        for attack in ("whitened", "null space", "inversion, whitened")
        if PAPER in found
    ]
    for attack, ours in found.get(SAMPLED, {}).items():
        verdicts.append(
            ClaimVerdict(
                f"{SAMPLED}, refitted: {attack} gains no more than P's promise allows",
                f"lower limit at most {percent(chance / (1 - q))}, chance / (1 - q)",
                limits(ours),
                ours.low <= chance / (1 - q),
            )
        )
        if MEAN_FACE in found:
            bland = found[MEAN_FACE][attack]
            verdicts.append(
                ClaimVerdict(
                    f"{SAMPLED}, refitted: {attack} names no more people than if all had one mean face",
                    f"at most {percent(bland.value)}",
                    limits(ours),
                    ours.value <= bland.value,
                )
            )
    return tuple(verdicts)
