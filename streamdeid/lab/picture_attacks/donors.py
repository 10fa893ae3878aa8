"""Chapter: is a published face taken for a donor of the gallery more often than an unaltered stranger is?

A surrogate is made from donors, so it might be recognised as one of them, and a filter must not put a donor's face on
somebody else. Strangers are unaltered photographs of other people: the unseen ones, who are all young adults of one
ethnicity, and the donors themselves, each against all other donors, who are as the gallery is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.lab.identification import Interval, threshold_at
from streamdeid.lab.picture_attacks.scores import KnownFaces, distances, share
from streamdeid.lab.tables import Chapter, ClaimVerdict, Table, limits

OWN_KIND, OTHER_KIND = "unaltered donors, each against the others", "unaltered unseen people"
_RATES = (1e-2, 1e-3)
_SEED = 265


def donors_chapter(
    name: str,
    probes: Mapping[str, tuple[Vectors, Sequence[str]]],
    donors: KnownFaces,
    strangers: KnownFaces,
    drawn: str,
) -> Chapter:
    """The chapter, under the recogniser called `name`.

    probes: vectors (n, d) and people by method; donors and strangers: unaltered photographs, one of each person;
    drawn: the method that the verdict is about.
    """
    rng = np.random.default_rng(_SEED)
    everybody = KnownFaces(np.concatenate([donors.vectors, strangers.vectors]), (*donors.people, *strangers.people))
    thresholds = [threshold_at(everybody.impostors(), far) for far in _RATES]
    among = distances(donors.vectors, donors.vectors)
    np.fill_diagonal(among, np.inf)
    measured = {OWN_KIND: (among, donors.people), OTHER_KIND: _to(strangers.vectors, strangers.people, donors)}
    measured |= {method: _to(rows, people, donors) for method, (rows, people) in probes.items()}
    found: dict[str, dict[str, list[Interval]]] = {}
    rows = []
    for label, (apart, people) in measured.items():
        compared = np.isfinite(apart)
        every = [_rate(apart, compared, people, at, rng) for at in thresholds]
        anyone = [share(np.asarray((apart <= at).any(axis=1)), np.array(people), rng) for at in thresholds]
        found[label] = {"a given donor": every, "some donor": anyone}
        rows.append((label, *(limits(each, 2) for each in every), *(limits(each) for each in anyone), str(len(apart))))
    columns = (
        "pictures",
        *(f"comparisons accepted at FAR {far:g}" for far in _RATES),
        *(f"taken for some donor at FAR {far:g}" for far in _RATES),
        "pictures compared",
    )
    text = (
        f"Published faces against the {len(donors.people)} donors' photographs ({name}). A comparison is of one "
        "picture with one donor; thresholds accept a hundredth and a thousandth of unaltered pairs of different people."
    )
    verdicts = []
    for kind in (OWN_KIND, OTHER_KIND):
        for what in ("a given donor", "some donor"):
            for far, ours, theirs in zip(_RATES, found[drawn][what], found[kind][what], strict=True):
                claim = f"{drawn} is taken for {what} at FAR {far:g} no more often than {kind} are"
                verdicts.append(
                    ClaimVerdict(claim, f"at most {limits(theirs, 2)}", limits(ours, 2), ours.value <= theirs.value)
                )
    return Chapter(
        "donors", "Published faces and the donors", text, (Table(name, columns, tuple(rows)),), tuple(verdicts)
    )


def _to(rows: Vectors, people: Sequence[str], donors: KnownFaces) -> tuple[Vectors, Sequence[str]]:
    usable = np.asarray(np.isfinite(rows).all(axis=1))
    return distances(rows[usable], donors.vectors), [
        person for person, is_one in zip(people, usable, strict=True) if is_one
    ]


def _rate(
    apart: Vectors, compared: NDArray[np.bool_], people: Sequence[str], threshold: float, rng: np.random.Generator
) -> Interval:
    """Share of comparisons accepted, with limits over the people in the pictures."""
    rows, columns = np.nonzero(compared)
    return share(apart[rows, columns] <= threshold, np.array(people)[rows], rng)
