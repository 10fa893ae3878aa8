"""P2, "k-SameClass-Eigen" (Meng and Shenoy), repeated on the London photographs.

Figure 5 is the projection of the gallery on the Fisherface, 8 the recognition of seen (a) and unseen (b) probes, 9
the expression measured in what is published. Binghamton is replaced by people with a neutral and a smiling picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Ints, Vectors
from streamdeid.k_same.class_eigen import k_same_class_eigen
from streamdeid.k_same.select import k_same_select
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.papers.expression_splits import (
    ChosenSpaces,
    ExpressionPeople,
    Split,
    best,
    choose,
    people_with_both,
    split,
)
from streamdeid.lab.papers.guessing import guessed
from streamdeid.lab.papers.registered_faces import P2_CHIN, P2_INNER, P2_WHOLE, registered_faces
from streamdeid.lab.papers.same_class_figures import (
    CONTROL,
    SplitFigures,
    figure_5,
    figure_8,
    figure_9,
    risk_by_frame,
    trials,
)
from streamdeid.lab.tables import Chapter

PROBES = 20
"""Seen, and unseen, probes of a split."""
SPLITS = 10
LEVELS = tuple(range(1, 21))
"""P2's k."""
FRAMES = {"inner face": P2_INNER, "to the chin": P2_CHIN, "whole face": P2_WHOLE}

_SEED = 22


def reproduce(
    photographs: Callable[[str], list[Photograph]],
    out: Path,
    *,
    labels: Mapping[str, Mapping[str, str]],
    quick: bool,
    progress: Callable[[float, str], None],
) -> Chapter:
    """The chapter of P2. `photographs` gives a set by its name under faces/; plots are written into `out`.

    labels: those of London, by `photographs.read_labels`. quick: two splits and five k. `progress` is told the share
    done, 0 to 1, and what is being done. Raises InputError when there are too few people, OutputError for the plots.
    """
    progress(0.0, "P2: registering faces")
    people = people_with_both(photographs("london"), labels)
    images = {
        name: registered_faces(people.photographs, frame).reshape(len(people.photographs), -1)
        for name, frame in FRAMES.items()
    }
    rng = np.random.default_rng(_SEED)
    splits = [split(people, rng) for _ in range(2 if quick else SPLITS)]
    classes = min(int((people.smiling[s.gallery]).sum()) for s in splits)
    levels = tuple(k for k in ((1, 2, 5, 10, 20) if quick else LEVELS) if k <= classes)
    few = tuple(k for k in (2, 5, 10, 20) if k <= classes)
    measured: list[SplitFigures] = []
    by_frame: dict[str, list[SplitFigures]] = {name: [] for name in FRAMES}
    for i, one in enumerate(splits):
        progress(0.1 + 0.8 * i / len(splits), f"P2: split {i + 1} of {len(splits)}")
        candidates = {name: choose(name, rows, people, one.gallery, rng) for name, rows in images.items()}
        chosen = best(list(candidates.values()))
        seed = int(rng.integers(2**32))
        measured.append(_measure(images[chosen.frame], people, one, chosen, levels, np.random.default_rng(seed)))
        for name, rows in images.items():
            found = _measure(rows, people, one, candidates[name], few, np.random.default_rng(seed))
            by_frame[name].append(found)
    progress(0.9, "P2: shrinkage and dimensions")
    parts = [
        figure_5(measured, out),
        figure_8(measured, levels, out),
        risk_by_frame(by_frame, few),
        figure_9(measured, levels, out),
        trials(images, people, splits, [each.chosen for each in measured]),
    ]
    progress(1.0, "P2")
    return Chapter(
        "same-class",
        "P2: k-SameClass-Eigen (Meng and Shenoy)",
        _text(people, splits),
        tuple(table for part in parts for table in part.tables),
        tuple(verdict for part in parts for verdict in part.verdicts),
        tuple(plot for part in parts for plot in part.plots),
    )


@dataclass(frozen=True)
class _Probes:
    rows: Ints
    own: Ints
    """Column of the gallery whose return counts as recognition."""


def _measure(
    images: Vectors,
    people: ExpressionPeople,
    one: Split,
    chosen: ChosenSpaces,
    levels: tuple[int, ...],
    rng: np.random.Generator,
) -> SplitFigures:
    """One split: who is recognised and which expression is seen in pictures as they would be published."""
    vectors = chosen.space.project(images)
    gallery, smiling = vectors[one.gallery], people.smiling[one.gallery]
    seen = rng.choice(len(one.gallery), min(PROBES, len(one.gallery)), replace=False)
    unseen = rng.choice(one.unseen, min(PROBES, len(one.unseen)), replace=False)
    nearest = chosen.space.distances(images[unseen], images[one.gallery]).argmin(axis=1)
    probes = {"seen": _Probes(one.gallery[seen], seen), "unseen": _Probes(unseen, nearest)}
    risk: dict[tuple[str, str], list[float]] = {}
    right: dict[tuple[str, str], list[float]] = {}
    kept: dict[tuple[str, str], list[float]] = {}
    for k in levels:
        for name, some in probes.items():
            before = chosen.face.positive(vectors[some.rows])
            for way, along in (("equation 2", chosen.face.expression_index()), ("least change", None)):
                outputs = k_same_class_eigen(vectors[some.rows], gallery, smiling, k, chosen.face, along=along)
                shown = published(outputs, chosen.space)
                distances = chosen.space.distances(shown, images[one.gallery])
                after = chosen.face.positive(chosen.space.project(shown))
                risk.setdefault((name, way), []).append(float(guessed(distances, some.own).mean()))
                right.setdefault((name, way), []).append(float((after == people.smiling[some.rows]).mean()))
                kept.setdefault((name, way), []).append(float((after == before).mean()))
        # The control: the same classes, but faces are taken out of the gallery once used, and no intensity is set.
        alone = gallery if k == 1 else k_same_select(gallery, smiling, k, rng)
        distances = chosen.space.distances(published(alone, chosen.space), images[one.gallery])
        risk.setdefault(CONTROL, []).append(float(guessed(distances, np.arange(len(gallery))).mean()))
    return SplitFigures(vectors, people.smiling, one, chosen, risk, right, kept)


def published(vectors: Vectors, space: Eigenfaces) -> NDArray[np.float64]:
    """Vectors (n, c) as pictures (n, pixels) of whole grey levels 0 to 255: what leaves, and what is attacked."""
    return np.asarray(np.clip(np.rint(space.restore(vectors)), 0.0, 255.0), dtype=np.float64)


def _text(people: ExpressionPeople, splits: list[Split]) -> str:
    gallery, unseen = len(splits[0].gallery), len(splits[0].unseen)
    return f"""\
Grey faces of 95 x 95 pixels of {len(people.photographs) // 2} people of the London set, neutral and smiling, in place
of Binghamton. Of each of {len(splits)} random splits, {gallery} pictures ({gallery // 4} women and {gallery // 4} men,
both expressions) are the gallery that trains face space and Fisherface, and {unseen} are of people outside it;
{min(PROBES, gallery)} seen and {min(PROBES, unseen)} unseen pictures are the probes. Both spaces keep all components
with an eigenvalue above zero. How much shrinkage, and how much of the head is in the frame, is chosen in each split by
cross-validation on people of its gallery, among what leaves no gallery face on the wrong side; the unseen take no part.

Pictures are recognised as they would be published, in whole grey levels from 0 to 255. "Equation 2" moves the
expression index only, as printed; "least change" moves along the Fisherface. A seen probe counts as recognised when
its own picture is the nearest of the gallery, an unseen one when that gallery face is returned which is nearest to
the probe itself. Pictures that are equally near are guessed among. k-Same-Select is a control on the whole gallery:
faces leave it once used, and no intensity is set. k-SameClass-Eigen leaves them in, so every probe is the middle of its
own neighbours and tends to be the one nearest to their mean; its 1/k is no theorem.
"""
