"""Attributes that a surrogate may share with the person (`--preserve`), and what that costs.

Restricting the donors to the person's class tells the class. The price of a class is −log2 of its share of the
gallery: so many bits more than the guarantee's own log2(1 / (1 − q)) a shown surrogate can tell. It is at most
`worst`, for the rarest class, and on average over the gallery `mean` ≤ log2(number of classes).

A person's class is estimated from y by linear discriminant analysis on the donors, with the within-class covariance
shrunk to a multiple of the identity, (1 − γ) S_W + γ tr(S_W) / d · I: with about as many donors as dimensions S_W
itself is singular (METHODS 1.10). The estimate can be wrong; a wrong class costs likeness, not privacy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.deidentify.clusters import Vector, Vectors
from streamdeid.deidentify.fisherface import shrunken_scatter
from streamdeid.deidentify.gallery import UNKNOWN_AGE, Gallery
from streamdeid.errors import SettingsError

ATTRIBUTES = ("gender", "age")
AGE_GROUPS = ((0, "under 25"), (25, "25-34"), (35, "35 and over"))
"""Lower bound in years and name of each age group."""

_SHRINKAGE = 0.3


@dataclass(frozen=True)
class Price:
    """What preserving attributes costs, in bits."""

    by_class: dict[str, float]
    """−log2 of each class's share of the labelled donors."""
    mean: float
    """Average over the labelled donors (the entropy of the classes)."""

    @property
    def worst(self) -> float:
        """The price of the rarest class."""
        return max(self.by_class.values())


@dataclass(frozen=True)
class Discriminant:
    """A linear rule that assigns a class to an identity vector."""

    names: tuple[str, ...]
    weights: Vectors
    """float64 (classes, d)."""
    offsets: Vector
    """float64 (classes,)."""

    def estimate(self, y: Vector) -> str:
        """The most likely class of y (d,), all classes taken as equally frequent beforehand."""
        return self.names[int(np.argmax(self.weights @ y + self.offsets))]


def donor_labels(gallery: Gallery, attribute: str) -> list[str]:
    """The class of each donor under one attribute; empty where it is not stated. SettingsError if unknown."""
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


def donor_classes(gallery: Gallery, preserve: Sequence[str]) -> NDArray[np.str_]:
    """The combined class of each donor, text (n,), such as "female, 25-34"; empty if any part is not stated."""
    columns = [donor_labels(gallery, attribute) for attribute in preserve]
    rows = zip(*columns, strict=True) if columns else [("",)] * len(gallery.identities)
    return np.array([", ".join(row) if all(row) else "" for row in rows])


def price(classes: NDArray[np.str_]) -> Price:
    """The price of preserving these classes, text (n,); nothing when there is one class only or none."""
    counts = Counter(str(label) for label in classes if label)
    total = sum(counts.values())
    if not counts:
        return Price({"": 0.0}, 0.0)
    bits = {label: float(-np.log2(count / total)) for label, count in sorted(counts.items())}
    return Price(bits, sum(bits[label] * count / total for label, count in counts.items()))


def fit_discriminant(identities: Vectors, labels: Sequence[str]) -> Discriminant:
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
    weights = np.linalg.solve(shrunken_scatter(within, _SHRINKAGE), means.T).T
    return Discriminant(names, weights, -0.5 * (weights * means).sum(axis=1))


def leave_one_out_accuracy(identities: Vectors, labels: Sequence[str]) -> float:
    """Share of labelled rows whose class is estimated rightly by a rule fitted to all other rows."""
    hits = [
        fit_discriminant(np.delete(identities, row, axis=0), [*labels[:row], *labels[row + 1 :]]).estimate(y) == label
        for row, (y, label) in enumerate(zip(identities, labels, strict=True))
        if label
    ]
    return float(np.mean(hits))
