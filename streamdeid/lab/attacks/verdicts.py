"""What the attacks must find: the paper's map falls, the drawn default stands, and the laboratory works."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from streamdeid.lab.attacks.campaign import MethodFindings
from streamdeid.lab.attacks.experiment import holds_key
from streamdeid.lab.attacks.results import UNALTERED, UNRELATED, link_area, link_rank_1
from streamdeid.lab.attacks.scoring import interval
from streamdeid.lab.identification import Interval
from streamdeid.lab.tables import ClaimVerdict, limits, percent
from streamdeid.surrogates.choice import SAMPLED

PAPER = "k-diff-furthest-paper"
BREAKS_THE_PAPER = {
    "whitened": "A1 naive, whitened",
    "null-space": "A5 null space, own pairs",
    "inversion": "A4 inversion, own pairs, whitened",
    "parrot": "A3 parrot, wrong key, whitened",
}
_MANY, _WELL = 10.0, 0.5


def verdicts(
    found: Mapping[str, MethodFindings], q: float, people: int, rng: np.random.Generator
) -> Iterator[ClaimVerdict]:
    """Controls first: when one of them is missed the others say nothing. q as the default method had it."""
    yield from _controls(found, people, rng)
    chance = 1.0 / people
    for name, attack in BREAKS_THE_PAPER.items():
        measured = interval(found[PAPER].scores[attack], 1, rng)
        yield ClaimVerdict(
            f"{PAPER} is re-identified by the {name} attack",
            f"rank-1, lower 95 % limit above {_MANY:g} times chance ({percent(_MANY * chance)})",
            limits(measured),
            measured.low > _MANY * chance,
        )
    yield _default_stands(found[SAMPLED], q, rng)
    for metric in ("Euclid", "whitened"):
        distances = found[SAMPLED].links[f"new key, {metric}"]
        rank = link_rank_1(distances, rng)
        yield ClaimVerdict(
            f"two sessions of {SAMPLED} with different keys are not linked, rank-1, {metric}",
            f"95 % interval contains chance ({percent(chance)})",
            limits(rank),
            rank.low <= chance <= rank.high,
        )
        yield ClaimVerdict(
            f"two sessions of {SAMPLED} with different keys are linked no more often than its promise allows, {metric}",
            f"rank-1, lower 95 % limit at most {1.0 / (1.0 - q):.2f} times chance ({percent(chance / (1.0 - q))})",
            limits(rank),
            rank.low <= chance / (1.0 - q),
        )
        area = link_area(distances, rng)
        yield ClaimVerdict(
            f"two sessions of {SAMPLED} with different keys are not linked, area under the curve, {metric}",
            "95 % interval contains 0.5",
            f"{area.value:.3f} ({area.low:.3f}-{area.high:.3f})",
            area.low <= 0.5 <= area.high,
        )
    least = min(found[SAMPLED].distinct)
    yield ClaimVerdict(
        f"{SAMPLED} gives {people} people of a session {people} different surrogates",
        f"{people} in every session",
        f"{least} at least, of {len(found[SAMPLED].distinct)} sessions",
        least == people,
    )


def _default_stands(default: MethodFindings, q: float, rng: np.random.Generator) -> ClaimVerdict:
    factor = 1.0 / (1.0 - q)
    measured: dict[str, tuple[Interval, float]] = {}
    for attack, trials in default.scores.items():
        if not holds_key(attack):
            measured[attack] = interval(trials, 1, rng), factor * trials[0].chance
    above = [attack for attack, (rate, bound) in measured.items() if rate.low > bound]
    worst = max(measured, key=lambda attack: measured[attack][0].low / measured[attack][1])
    said = f"{len(above)} above; nearest: {worst}, {limits(measured[worst][0])}"
    return ClaimVerdict(
        f"no attack that does not hold the key gains more on {SAMPLED} than its promise allows",
        f"rank-1, lower 95 % limit of each of {len(measured)} attacks at most {factor:.2f} times chance",
        said,
        not above,
    )


def _controls(found: Mapping[str, MethodFindings], people: int, rng: np.random.Generator) -> Iterator[ClaimVerdict]:
    chance = 1.0 / people
    naive = found[UNALTERED].scores["A1 naive, whitened"]
    recognised = interval(naive, 1, rng)
    yield ClaimVerdict(
        "control: unaltered second captures are recognised",
        f"rank-1, lower 95 % limit above {percent(_WELL)}",
        limits(recognised),
        recognised.low > _WELL,
    )
    links = found[UNALTERED].links["new key, whitened"]
    shuffled = link_rank_1([trial[:, rng.permutation(people)] for trial in links], rng)
    yield ClaimVerdict(
        "control: unaltered captures with shuffled labels are not recognised",
        f"rank-1, lower 95 % limit at most twice chance ({percent(2 * chance)})",
        limits(shuffled),
        shuffled.low <= 2 * chance,
    )
    rates = {attack: (interval(trials, 1, rng), trials[0].chance) for attack, trials in found[UNRELATED].scores.items()}
    worst = max(rates, key=lambda attack: rates[attack][0].low / rates[attack][1])
    yield ClaimVerdict(
        "control: no attack recognises people behind vectors drawn without regard to them",
        f"rank-1, lower 95 % limit of each of {len(rates)} attacks at most twice chance",
        f"highest: {worst}, {limits(rates[worst][0])}",
        rates[worst][0].low <= 2 * rates[worst][1],
    )
