"""Whether published faces show the gender and age group of the people behind them, wanted (`--preserve`) or not.

The judge is the rule by which the stream itself estimates attributes, fitted to the donors (`surrogates.attributes`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.surrogates.attributes import Discriminant, age_group

_COLUMNS = {"gender": "face_gender", "age": "face_age"}
"""Columns of `info.csv` by attribute."""


@dataclass(frozen=True)
class AttributeAgreement:
    """How often the class of a vector is the label of the person."""

    faces: int
    """Vectors of labelled people."""
    agreement: float
    """nan without any."""
    chance: float
    """What it would be if the same classes were dealt out to the people at random."""


def label_of(row: Mapping[str, str], attribute: str) -> str:
    """The class of a person under "gender" or "age" from a row of `info.csv`; empty where it is not stated."""
    text = row.get(_COLUMNS[attribute], "").strip()
    if attribute == "gender":
        return text
    try:
        return age_group(int(float(text)))
    except (ValueError, OverflowError):
        return ""


def attribute_agreement(vectors: Points, labels: Sequence[str], rule: Discriminant) -> AttributeAgreement:
    """Compare the class of each vector (n, d) with the label of its person; nan vectors and empty labels do not count.

    Chance is Σ over classes of (share of the label) x (share of the estimate): a published face that knows nothing of
    the person agrees so often on average, whatever the shares are.
    """
    known = np.isfinite(vectors).all(axis=1) & np.array([bool(label) for label in labels], np.bool_)
    count = int(known.sum())
    if not count:
        return AttributeAgreement(0, math.nan, math.nan)
    wanted = [label for label, used in zip(labels, known.tolist(), strict=True) if used]
    found = [rule.estimate(vector) for vector in vectors[known]]
    of_people, of_faces = Counter(wanted), Counter(found)
    chance = sum(of_people[name] * of_faces[name] for name in of_people) / count**2
    return AttributeAgreement(count, float(np.mean([a == b for a, b in zip(wanted, found, strict=True)])), chance)
