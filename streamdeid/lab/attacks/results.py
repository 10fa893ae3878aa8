"""Tables of what the attacks found, methods side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.lab.attacks.campaign import MethodFindings
from streamdeid.lab.attacks.linkage import ahead, scores, unlinkability
from streamdeid.lab.attacks.open_set import FALSE_ACCEPTS, summary
from streamdeid.lab.attacks.scoring import interval, scored
from streamdeid.lab.identification import Interval, bootstrap
from streamdeid.lab.tables import Table, limits

UNALTERED, UNRELATED = "unaltered", "unrelated draw"


def ranks_table(title: str, found: Mapping[str, MethodFindings], rank: int, rng: np.random.Generator) -> Table:
    """One row for each attack, one column for each method; "-" where the attack does not apply."""
    names = sorted(dict.fromkeys(attack for one in found.values() for attack in one.scores), key=_in_order)
    rows = []
    for attack in names:
        cells = [
            limits(interval(one.scores[attack], rank, rng)) if attack in one.scores else None for one in found.values()
        ]
        rows.append((attack, *cells))
    return Table(title, ("attack", *found), tuple(rows))


def verification_table(found: Mapping[str, MethodFindings], rng: np.random.Generator) -> Table:
    """TAR at each false-accept rate, and EER, for each method and metric of A1."""
    rows = []
    for name, one in found.items():
        for metric, trials in one.verification.items():
            rates, equal = summary(trials, rng)
            rows.append((name, metric, *(limits(rate) for rate in rates), limits(equal)))
    columns = ("method", "metric", *(f"TAR at FAR {far:g}" for far in FALSE_ACCEPTS), "EER")
    note = "Impostors are people who are not in the gallery. An EER of 50 % says nothing about anybody."
    return Table("A1 as verification, open set", columns, tuple(rows), note)


def link_rank_1(distances: list[Vectors], rng: np.random.Generator) -> Interval:
    """Rank-1 of finding the person of one session in the other, over trials of distances (n, n)."""
    return interval([scored(one, rng) for one in distances], 1, rng)


def link_area(distances: list[Vectors], rng: np.random.Generator) -> Interval:
    """Area under the ROC curve, over trials of distances (n, n)."""
    return bootstrap(np.stack([ahead(one) for one in distances], axis=1), rng)


def linkage_table(found: Mapping[str, MethodFindings], rng: np.random.Generator) -> Table:
    """A9 for each method: rank-1, AUC, D_sys and what D_sys is when labels are shuffled."""
    rows = []
    for name, one in found.items():
        for kind, distances in one.links.items():
            shuffled = [trial[:, rng.permutation(len(trial))] for trial in distances]
            area = link_area(distances, rng)
            rows.append(
                (
                    name,
                    kind,
                    limits(link_rank_1(distances, rng)),
                    f"{area.value:.3f} ({area.low:.3f}-{area.high:.3f})",
                    round(_d_sys(distances), 3),
                    round(_d_sys(shuffled), 3),
                )
            )
    return Table(
        "A9 linkage of two sessions",
        ("method", "second session", "rank-1", "AUC", "D_sys", "D_sys, labels shuffled"),
        tuple(rows),
        "D_sys (Gomez-Barrero et al. 2018): 0 = unlinkable, 1 = fully linkable; shuffled labels show chance alone.",
    )


def sessions_table(found: Mapping[str, MethodFindings]) -> Table:
    """How many different surrogates sessions had, and for how many people they failed closed."""
    rows = tuple((name, len(one.distinct), min(one.distinct), max(one.failed)) for name, one in found.items())
    columns = ("method", "sessions", "fewest different surrogates", "most people refused")
    return Table("Sessions", columns, rows)


def _d_sys(distances: list[Vectors]) -> float:
    mated, other = zip(*(scores(one) for one in distances), strict=True)
    return unlinkability(np.concatenate(mated), np.concatenate(other))


def _in_order(attack: str) -> tuple[str, bool]:
    """A1 to A8, then Bayes; within an attack as found, key holders last."""
    return attack.split()[0], "right" in attack
