"""Chapter: what published pictures tell about gender and skin tone, and what the surroundings tell (A11).

Gender: a linear discriminant on a recogniser's vectors, learnt from unaltered donors, asked about published faces of
unseen people. Skin: the mean colour inside the hull, correlated with the original's over people; the recipe takes tone
from the skin around the face, so some of it is carried by design. Age is not asked: the unseen people whose ages are
known are nearly all of one age.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.lab.picture_attacks.picture_sets import PictureSet, hull
from streamdeid.lab.picture_attacks.scores import share
from streamdeid.lab.tables import Chapter, Table, limits, percent
from streamdeid.surrogates.attributes import fit_discriminant

_SEED = 897


def soft_biometrics_chapter(
    name: str,
    vectors: Mapping[str, Vectors],
    sets: Mapping[str, PictureSet],
    donors: tuple[Vectors, Sequence[str]],
    gender: Mapping[str, str],
) -> Chapter:
    """The chapter, under the recogniser called `name`.

    vectors (n, d) of each set; donors: unaltered vectors and people; gender by person, for donors and unseen people.
    """
    rng = np.random.default_rng(_SEED)
    rule = fit_discriminant(donors[0], [gender.get(person, "") for person in donors[1]])
    rows = []
    for label, rows_of in vectors.items():
        people = np.array(sets[label].people)
        asked = np.isfinite(rows_of).all(axis=1) & np.array([bool(gender.get(str(person))) for person in people])
        if not asked.any():
            continue
        right = np.array(
            [rule.estimate(v) == gender[str(p)] for v, p in zip(rows_of[asked], people[asked], strict=True)]
        )
        counts = Counter(gender[str(person)] for person in people[asked])
        prior = max(counts.values()) / sum(counts.values())
        tone = [f"{r:.2f}" if np.isfinite(r) else None for r in _tone_correlation(sets[label])]
        rows.append((label, limits(share(right, people[asked], rng)), percent(prior), *tone))
    text = (
        "Gender: share estimated rightly, beside the share of the more frequent one. Skin: Pearson correlation over "
        "people of the mean inside the hull, original against published: lightness L, and a and b of CIELAB. The "
        "rows of surroundings show what hair, ears, neck and clothes tell anyway."
    )
    table = Table(name, ("pictures", "gender", "more frequent", "L", "a", "b"), tuple(rows))
    return Chapter("soft-biometrics", "Gender and skin tone", text, (table,), ())


def _tone_correlation(given: PictureSet) -> tuple[float, float, float]:
    """Correlations of the mean colour inside the hull; nan where one side does not vary."""
    before: list[Vectors] = []
    after: list[Vectors] = []
    for picture, source in zip(given.pictures, given.sources, strict=True):
        for image, into in ((source.image, before), (picture, after)):
            lab = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2LAB)
            into.append(lab[hull(source, (image.shape[0], image.shape[1]))].mean(axis=0))
    a, b = np.array(before), np.array(after)
    spread = a.std(axis=0) * b.std(axis=0)
    together = ((a - a.mean(axis=0)) * (b - b.mean(axis=0))).mean(axis=0)
    r = np.where(spread > 1e-9, together / np.maximum(spread, 1e-9), np.nan)
    return float(r[0]), float(r[1]), float(r[2])
