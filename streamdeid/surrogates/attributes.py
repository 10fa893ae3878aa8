"""Attributes that a surrogate may share with the person (`--preserve`), and the leakage that this costs.

If the donors are restricted to the person's class, the surrogate tells that class. The leakage of a class is −log2 of
its share of the people: a shown surrogate can tell so many bits more than the guarantee's own log2(1 / (1 − q)). It is
at most `worst`, for the rarest class, and on average `mean` ≤ log2(number of classes). The people are the donors, as a
rule that has not seen them judges their gender.

Gender has a third class, `EITHER`, for people whose gender the rule is not sure of. Their surrogates are made of the
donors nearest to the border between the two genders, and look like both.

A person's class is estimated from y by linear discriminant analysis on the donors. The within-class covariance is
shrunk to a multiple of the identity, (1 − γ) S_W + γ tr(S_W) / d · I, because with about as many donors as dimensions
S_W itself is singular (docs/methods.md 1.10). The estimate can be wrong; a wrong class costs likeness, not privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.errors import SettingsError
from streamdeid.k_same.fisherface import shrunken_scatter
from streamdeid.surrogates.gallery import UNKNOWN_AGE, Gallery

GENDER = "gender"
ATTRIBUTES = (GENDER, "age")
AGE_GROUPS = ((0, "under 25"), (25, "25-34"), (35, "35 and over"))
"""Lower bound in years and name of each age group."""

EITHER = "either"
"""The class of people whose gender the rule is not sure of."""
GENDER_SURE = 1.0
"""Log odds from which the rule is sure of a gender."""
ELSEWHERE = {"male": 0.9}
"""What is added to the score of a class of this name for people before other cameras than the studio's, of which even
the variations know too little: stubble is blurred, and all skin is smoother. Without it men are taken for women twice
as often as women for men. Both numbers were chosen on half of LFPW's test set, where they let about as many women pass
for men (9 %) as men for women (6 %); 65 and 76 % are told right. In the other half 61 % of either are told right, 7 and
10 % wrong; of Canada's women 56 and 3, men 100 and 0; of IMM's women 64 and 11, men 90 and 0 (`benchmarks genders`). Of
33 men in 18 clips 21 are told right and 3 wrong, of 20 women 16 and none; the clips were looked at when the rule was
made (`gender_rule`). The rule before told 8 of these men right and 15 wrong, 16 of the women right and none wrong, and
87 % of Canada's women right: portraits of women are told less well now, men before cameras much better."""
BETWEEN = 0.43
"""Share of the donors, those nearest to the border, half of each class, from whom faces that pass for both genders are
made: 44 of London's 102. Of the faces made of them the rule is sure of two in three, and those are left out."""

_SHRINKAGE = 0.3


@dataclass(frozen=True)
class Leakage:
    """What preserving attributes costs, in bits."""

    by_class: dict[str, float]
    """−log2 of each class's share of the people."""
    mean: float
    """Average over the people (the entropy of the classes)."""

    @property
    def worst(self) -> float:
        """The leakage of the rarest class."""
        return max(self.by_class.values())


@dataclass(frozen=True)
class Discriminant:
    """A linear rule that assigns a class to an identity vector."""

    names: tuple[str, ...]
    weights: Vectors
    """float64 (classes, d)."""
    offsets: Vector
    """float64 (classes,)."""
    sure: float = 0.0
    """Log odds of the most likely class over the next from which the rule is sure of it; 0: it is always sure."""
    elsewhere: Vector | None = field(default=None, repr=False)
    """float64 (classes,): what `estimate` adds to the scores of people who are seen by other cameras; None: nothing. It
    is not added for faces that are drawn (`odds`, `unsure`, `between`)."""

    def estimate(self, y: Vector) -> str:
        """The most likely class of y (d,), all classes taken as equally frequent beforehand; `EITHER` when unsure."""
        scores = self.weights @ y + self.offsets + (0 if self.elsewhere is None else self.elsewhere)
        return EITHER if _lead(scores) < self.sure else self.names[int(np.argmax(scores))]

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes that `estimate` can return."""
        return (*self.names, EITHER) if self.sure else self.names

    def odds(self, identities: Vectors) -> Vector:
        """Log odds of the most likely class of each row (n, d) over the next, float64 (n,)."""
        return _lead(identities @ self.weights.T + self.offsets)

    def unsure(self, identities: Vectors) -> NDArray[np.bool_]:
        """Which of the rows (n, d) are `EITHER`: bool (n,)."""
        return self.odds(identities) < self.sure

    def between(self, identities: Vectors, labels: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows (n, d) lie nearest to the border: bool (n,). They are `BETWEEN` of all rows together, and as many
        of one class as of another."""
        nearest = np.zeros(len(identities), np.bool_)
        odds, own = self.odds(identities), np.array(labels)
        for name in self.names:
            rows = np.flatnonzero(own == name)
            nearest[rows[np.argsort(odds[rows], kind="stable")[: round(BETWEEN * len(own) / len(self.names))]]] = True
        return nearest


def _lead(scores: Vectors) -> Vector:
    """By how much the highest of scores (..., classes) is above the next, float64 (...,)."""
    ordered = np.sort(scores, axis=-1)
    return np.asarray(ordered[..., -1] - ordered[..., -2], np.float64)


def donor_labels(gallery: Gallery, attribute: str) -> list[str]:
    """The class of each donor under one attribute; empty where it is not stated. Raises SettingsError if unknown."""
    if attribute == "gender":
        return [str(label) for label in gallery.gender]
    if attribute == "age":
        return [age_group(int(age)) for age in gallery.age]
    raise SettingsError(f"cannot preserve {attribute!r}: choose from {', '.join(ATTRIBUTES)}")


def age_group(age: int) -> str:
    """Name of the age group of somebody `age` years old; empty for an unknown age."""
    if age == UNKNOWN_AGE:
        return ""
    return [name for least, name in AGE_GROUPS if age >= least][-1]


def rule_for(gallery: Gallery, attribute: str) -> Discriminant:
    """The rule that estimates an attribute. Raises SettingsError where the gallery cannot tell it."""
    labels = donor_labels(gallery, attribute)
    if attribute != GENDER:
        return fit_discriminant(gallery.identities, labels)
    learnt = gallery.gender_rule
    if learnt is None:
        raise SettingsError("the donors of this gallery do not state two genders: none can be preserved")
    return as_filmed(Discriminant(tuple(learnt.names.tolist()), learnt.weights, learnt.offsets))


def as_filmed(rule: Discriminant) -> Discriminant:
    """A rule for gender, with what it takes to be sure of people before other cameras (`GENDER_SURE`, `ELSEWHERE`)."""
    return replace(rule, sure=GENDER_SURE, elsewhere=np.array([ELSEWHERE.get(name, 0.0) for name in rule.names]))


def possible_classes(rules: Sequence[Discriminant]) -> frozenset[str]:
    """The classes, such as "either, 25-34", that the rules of the preserved attributes make together; only "" without
    any."""
    labels = {""}
    for rule in rules:
        labels = {", ".join(filter(None, (label, name))) for label in labels for name in rule.classes}
    return frozenset(labels)


def shows_beard(label: str, preserve: Sequence[str]) -> bool:
    """Whether the dark around the mouth may be shown (`surrogate.Surrogate.beard`) in faces of a class."""
    return GENDER not in preserve or "male" in label.split(", ")


def donors_of_class(gallery: Gallery, preserve: Sequence[str], label: str, rules: Sequence[Discriminant]) -> Vectors:
    """Identities (m, d) of the donors of which surrogates of a class, such as "either, 25-34", are made."""
    kept = np.ones(len(gallery.identities), np.bool_)
    unsure = None
    stated = np.array(donor_labels(gallery, GENDER))
    for attribute, rule, name in zip(preserve, rules, label.split(", "), strict=True) if preserve else ():
        if name == EITHER:
            unsure = rule
        else:
            kept &= np.array([own == name for own in donor_labels(gallery, attribute)])
    donors = gallery.identities[kept]
    return donors if unsure is None else donors[unsure.between(donors, stated[kept].tolist())]


def class_leakage(gallery: Gallery, preserve: Sequence[str], rules: Sequence[Discriminant]) -> Leakage:
    """The leakage of preserving attributes, from the classes' shares among the donors who state all of them (see the
    module's docstring)."""
    shares: dict[str, float] = {}
    columns = [donor_labels(gallery, attribute) for attribute in preserve]
    for row, labels in enumerate(zip(*columns, strict=True)):
        if not all(labels):
            continue
        joint = {"": 1.0}
        for attribute, rule, own in zip(preserve, rules, labels, strict=True):
            seen = _seen(gallery, attribute, rule, row, own)
            joint = {
                ", ".join(filter(None, (label, name))): part * share
                for label, part in joint.items()
                for name, share in seen.items()
            }
        shares = {label: shares.get(label, 0.0) + joint.get(label, 0.0) for label in shares.keys() | joint.keys()}
    return leakage(shares)


def _seen(gallery: Gallery, attribute: str, rule: Discriminant, row: int, own: str) -> dict[str, float]:
    """The classes into which a donor of class `own` is put, with their shares."""
    if attribute == GENDER and gallery.gender_rule is not None:
        return dict(zip(rule.classes, gallery.gender_rule.seen[row].tolist(), strict=True))
    return {own: 1.0}


def leakage(shares: Mapping[str, float]) -> Leakage:
    """Leakage of preserving classes with these shares, in any unit; zero when there is only one class or none."""
    total = sum(shares.values())
    if not total:
        return Leakage({"": 0.0}, 0.0)
    bits = {label: float(-np.log2(share / total)) for label, share in sorted(shares.items()) if share}
    return Leakage(bits, sum(bits[label] * shares[label] / total for label in bits))


def fit_discriminant(identities: Vectors, labels: Sequence[str], shrinkage: float = _SHRINKAGE) -> Discriminant:
    """Shrunken linear discriminant analysis of identities (n, d); rows with an empty label do not count.

    Raises SettingsError when fewer than two classes are labelled.
    """
    known = np.array([bool(label) for label in labels])
    vectors, tags = identities[known], np.array([label for label in labels if label])
    names = tuple(sorted(set(tags.tolist())))
    if len(names) < 2:
        raise SettingsError("an attribute can be preserved only if the gallery has at least two classes of it")
    means = np.stack([vectors[tags == name].mean(axis=0) for name in names])
    within = vectors - means[np.searchsorted(np.array(names), tags)]
    weights = np.linalg.solve(shrunken_scatter(within, shrinkage), means.T).T
    return Discriminant(names, weights, -0.5 * (weights * means).sum(axis=1))


def leave_one_out_accuracy(identities: Vectors, labels: Sequence[str]) -> float:
    """Share of labelled rows whose class is estimated rightly by a rule that was fitted to all other rows."""
    hits = [
        fit_discriminant(np.delete(identities, row, axis=0), [*labels[:row], *labels[row + 1 :]]).estimate(y) == label
        for row, (y, label) in enumerate(zip(identities, labels, strict=True))
        if label
    ]
    return float(np.mean(hits))
