"""The rule for gender, learnt from photographs as several cameras would have shown them.

A rule fitted to the studio photographs alone would be sure of itself, and wrong about half of the men whom surveillance
cameras show. So each photograph is used in many variations (`aam.variations`), the shape counts a quarter, since
landmarks of small faces are not exact, and a person who is not clearly of one class is of neither: `attributes.EITHER`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.surrogates.attributes import EITHER, Discriminant, as_filmed, fit_discriminant
from streamdeid.surrogates.gallery import GenderRule

SHRINKAGE = 0.3
"""Shrinkage of the covariance within the classes. The figures are the area under the curve (the share of pairs of a man
and a woman of whom the man has the greater odds). LFPW's test set, 198 people, filmed four times at 24 to 120 pixels
(`aam.variations.filmed`), told by the texture alone: .86 .88 .88 .88 with .03, .1, .3 and .6. Canada (40) .99 with all,
IMM (37) .97. 53 people in 18 clips as the filter measures them: .70 .89 .93 .95."""
OF_SHAPE, SHAPE_SHRINKAGE = 0.25, 0.1
"""Share of a rule of the shape alone that is added to one of the texture, and its shrinkage. Half of LFPW: .919 .926
.926 .923 with none of it, .25, .35 and .5; the other half .841 .865 .872 .878; Canada .995 .996 .995 .994, IMM .970
.974 .973 .968, the clips .930 .947 .935 .927. In one rule of both with .03, and without filmed pictures, it was .85 for
LFPW, .98, .91 and .77: that put 15 of 33 men of the clips among the women."""


def can_learn(labels: Sequence[str]) -> bool:
    """Whether a rule can be learnt from people with these labels: two classes or more, and two people or more in each,
    so that whoever is left out, all classes are left."""
    counts = Counter(label for label in labels if label)
    return len(counts) > 1 and min(counts.values()) > 1


def learn_gender(people: Sequence[Vectors], labels: Sequence[str], shape: int = 0) -> GenderRule | None:
    """The rule from identities (v_i, d) of the variations of each person, and the people's labels, empty where not
    stated. shape: number of entries, the first of d, that tell the shape.

    Returns None where there is none to learn (`can_learn`).
    """
    if not can_learn(labels):
        return None
    names = tuple(sorted({label for label in labels if label}))
    seen = []
    for number, own in enumerate(people):
        others = [i for i in range(len(people)) if i != number]
        rule = as_filmed(_fitted([people[i] for i in others], [labels[i] for i in others], shape))
        found = [rule.estimate(y) for y in own]
        seen.append([found.count(name) / len(found) for name in (*names, EITHER)])
    rule = _fitted(people, labels, shape)
    return GenderRule(np.array(names), rule.weights, rule.offsets, np.array(seen))


def _fitted(people: Sequence[Vectors], labels: Sequence[str], shape: int) -> Discriminant:
    rows = [label for own, label in zip(people, labels, strict=True) for _ in own]
    vectors = np.concatenate(list(people))
    rule = fit_discriminant(vectors[:, shape:], rows, SHRINKAGE)
    if shape == 0:
        return rule
    of_shape = fit_discriminant(vectors[:, :shape], rows, SHAPE_SHRINKAGE)
    weights = np.column_stack([OF_SHAPE * of_shape.weights, rule.weights])
    return replace(rule, weights=weights, offsets=rule.offsets + OF_SHAPE * of_shape.offsets)


def rightness(rule: GenderRule, labels: Sequence[str], of: str = "") -> tuple[float, float, float]:
    """Shares of labelled people left out whom the rule puts into their class, into neither, and into another. of: only
    people of this class."""
    right, known = 0.0, [i for i, label in enumerate(labels) if label and of in ("", label)]
    for i in known:
        right += float(rule.seen[i, rule.names.tolist().index(labels[i])])
    neither = float(rule.seen[known, -1].mean())
    right /= len(known)
    return right, neither, 1 - right - neither
