"""The chapter on telling published faces apart (P3, section IV and Table I)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.lab.tables import Cell, Chapter, ClaimVerdict, Table
from streamdeid.lab.utility.distinguishability import TABLE_I, PairDistances, SessionCrowd, drawn_people, surrogates_of
from streamdeid.lab.utility.results import ORIGINALS, Results
from streamdeid.surrogates.choice import METHODS, SAMPLED
from streamdeid.surrogates.gallery import Gallery

_CANADA, _LONDON = "canada", "london"
_CROWD = 200
_CROWD_SEED = 200


def distinguishability_chapter(
    results: Results, identities: Points, gallery: Gallery, variances: Points, keys: Sequence[bytes]
) -> Chapter:
    """Distances among surrogates against distances among the originals; 200 people in one session.

    identities: float64 (n, d) of the Canada originals as annotated; variances (d,): the model's; keys: of sessions.
    """
    originals = PairDistances.of(identities)
    vectors = [_row("originals", originals, originals)]
    least: list[float] = []
    for key in keys:
        found = PairDistances.of(surrogates_of(identities, gallery, variances, SAMPLED, key).vectors)
        least.append(found.least / originals.least)
        if key == keys[0]:
            vectors.append(_row(SAMPLED, found, originals))
    for method in METHODS:
        if method != SAMPLED:
            found = PairDistances.of(surrogates_of(identities, gallery, variances, method, keys[0]).vectors)
            vectors.append(_row(method, found, originals))
    rendered: list[tuple[Cell, ...]] = []
    worth: list[float] = []
    for people in (_CANADA, _LONDON):
        again = {name: results.refits[people, name].vectors[:, 0] for name in (ORIGINALS, *METHODS)}
        for name, faces in again.items():
            # Quick runs publish fewer people with some methods: the same people are to be compared.
            both = np.isfinite(again[ORIGINALS]).all(axis=1) & np.isfinite(faces).all(axis=1)
            found, reference = PairDistances.of(faces[both]), PairDistances.of(again[ORIGINALS][both])
            rendered.append((people, *_row(name, found, reference)))
            if (people, name) == (_CANADA, SAMPLED):
                worth = [found.least, reference.least]
    crowds = {method: _crowd(gallery, variances, method, keys[0]) for method in METHODS}
    figures = ("faces", "least", "largest", "mean", "std", "least x", "largest x", "mean x", "std x")
    paper = PairDistances(40, *TABLE_I["original faces"])
    printed = [_row(name, PairDistances(40, *numbers), paper) for name, numbers in TABLE_I.items()]
    tables = (
        Table("Canada, vectors of one session", ("way", *figures), tuple(vectors), _RATIOS),
        Table("Published neutral pictures, measured again", ("people", "way", *figures), tuple(rendered), _RATIOS),
        Table("For comparison: Table I of P3, 40 people, k = 5", ("way", *figures), tuple(printed)),
        Table(
            f"{_CROWD} drawn people in one session",
            ("way", "given a surrogate", "refused", "different surrogates", "separation relaxed", "least distance"),
            tuple(_crowd_row(method, crowd) for method, crowd in crowds.items()),
        ),
    )
    verdicts = _verdicts(least, worth, crowds[SAMPLED])
    return Chapter("utility-distinguishability", "Can published people be told apart?", _TEXT, tables, verdicts)


def _verdicts(least: Sequence[float], worth: Sequence[float], crowd: SessionCrowd) -> tuple[ClaimVerdict, ...]:
    """least: with each key, the least distance among surrogates as a multiple of the originals'. worth: the least
    distance among rendered surrogates and among the originals, measured again."""
    return (
        ClaimVerdict(
            f"{SAMPLED}: the most alike of the surrogates differ as much as the most alike of the originals (vectors)",
            f"at least 1.00 times the originals' least distance with each of {len(least)} keys",
            f"{min(least):.2f} to {max(least):.2f} times",
            min(least) >= 1.0,
        ),
        ClaimVerdict(
            f"{SAMPLED}: the same on rendered pictures, measured again",
            f"at least {worth[1]:.0f}",
            f"{worth[0]:.0f}",
            worth[0] >= worth[1],
        ),
        ClaimVerdict(
            f"{_CROWD} people get {_CROWD} surrogates",
            f"{_CROWD} different ones, none refused",
            f"{crowd.distinct} different ones, {crowd.refused} refused, separation relaxed {crowd.relaxed} times",
            crowd.distinct == _CROWD and crowd.refused == 0,
        ),
    )


_RATIOS = 'Columns with "x": as multiples of the same figure of the originals.'
_TEXT = (
    "Distances of all pairs of faces in the identity space, as in P3's Table I: of the vectors that the filter draws, "
    "and of published neutral pictures after they were detected and measured again. The standard deviation leaves out "
    "distances of zero, as the paper's does: k-Same methods give several people one face on purpose. In pictures even "
    "those differ, by what is kept of each person: outline, light and head pose. The first bar is met by design as "
    "long as the separation is not relaxed: a session keeps surrogates at least as far apart as the 5 % most alike "
    "donors are, and the people of Canada, all young and white, are more alike than those. What pictures keep of it is "
    "measured. The drawn people of the last table are Gaussian, with mean and covariance of the donors."
)


def _row(name: str, found: PairDistances, originals: PairDistances) -> tuple[Cell, ...]:
    return (name, found.faces, *found.figures, *found.ratios(originals))


def _crowd(gallery: Gallery, variances: Points, method: str, key: bytes) -> SessionCrowd:
    people = drawn_people(gallery.identities, _CROWD, np.random.default_rng(_CROWD_SEED))
    return surrogates_of(people, gallery, variances, method, key)


def _crowd_row(method: str, crowd: SessionCrowd) -> tuple[Cell, ...]:
    given = int(np.isfinite(crowd.vectors).all(axis=1).sum())
    return (method, given, crowd.refused, crowd.distinct, crowd.relaxed, PairDistances.of(crowd.vectors).least)
