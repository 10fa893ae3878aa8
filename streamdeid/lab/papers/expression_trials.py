"""The trials behind P4's figures 7 and 8: every method, every k, ten choices of who trains (Meng et al. 2014, V)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Points
from streamdeid.k_same.furthest import k_same_furthest
from streamdeid.k_same.select import k_same_select
from streamdeid.lab.identification import Interval, bootstrap
from streamdeid.lab.papers.cropped_faces import TwoExpressions, decoded_crops, training_shares
from streamdeid.lab.papers.smile_classifiers import IN_AAM, INTENSITY, RANK_1, Readers
from streamdeid.lab.papers.transferred_faces import Outputs, retrieved, transferred

Progress = Callable[[float, str], None]

ORIGINAL, SELECT, BELIEVED = "cropped originals", "k-Same-M-Select", "k-Same-M-Select, class by classifier"
FURTHEST, FET = "k-Same-furthest", "k-Same-furthest-FET"
RETRIEVED, WRONG, STRANGER = "retrieved neutral", "of these, the wrong ones", "a stranger's neutral for all"


@dataclass(frozen=True)
class TrialPlan:
    """What is tried."""

    sizes: tuple[int, ...]
    """Each k."""
    runs: int
    """Random choices of the people who train."""
    repair: int
    """The k at which the neutral face is retrieved as well; 0: never."""


@dataclass(frozen=True)
class Record:
    """What was found: measures by method and k; each float64 (people, runs), nan for those who were not a probe."""

    values: dict[tuple[str, int, str], Points]

    def rate(self, method: str, k: int, measure: str) -> Interval:
        """The mean and its limits."""
        return bootstrap(self.values[method, k, measure], np.random.default_rng(0))

    def mean(self, method: str, k: int, measure: str) -> float:
        """The mean."""
        return self.rate(method, k, measure).value

    def likeness(self, method: str, k: int) -> float:
        """Correlation of a person's intensity in the output with that in the original; mean over runs."""
        pairs = zip(self.values[method, k, INTENSITY].T, self.values[ORIGINAL, 0, INTENSITY].T, strict=True)
        return float(np.mean([_correlation(a[~np.isnan(a)], b[~np.isnan(a)]) for a, b in pairs]))

    def retained(self, method: str, k: int) -> float:
        """Mean rise over the mean neutral face (-1), as a share of the originals' rise."""
        return (self.mean(method, k, INTENSITY) + 1) / (self.mean(ORIGINAL, 0, INTENSITY) + 1)


def measured(
    model: AppearanceModel, faces: TwoExpressions, plan: TrialPlan, rng: np.random.Generator, progress: Progress
) -> tuple[Record, Interval]:
    """The record of all runs, and how often the nearest neutral face was the person's own.

    Rank-1 of faces that are no transfers is that of everybody, since the bound 1/k is one for whole groups; all other
    measures, and rank-1 of transfers, are those of the people who trained nothing. progress is told a share and a text.
    """
    n = len(faces.people)
    everybody = np.arange(n)
    columns: dict[tuple[str, int, str], list[Points]] = {}
    own: list[Points] = []

    def note(method: str, k: int, rows: NDArray[np.int_], measures: dict[str, Points]) -> None:
        for measure, values in measures.items():
            column = np.full(n, np.nan)
            column[rows] = values
            columns.setdefault((method, k, measure), []).append(column)

    def note_plain(method: str, k: int, vectors: Points, held: NDArray[np.int_], readers: Readers) -> None:
        note(method, k, everybody, {RANK_1: readers.recognised(everybody, vectors)})
        shown = Outputs(vectors[held], decoded_crops(model, vectors[held]))
        note(method, k, held, readers.judge(held, shown))

    def judged(rows: NDArray[np.int_], shown: Outputs, readers: Readers) -> dict[str, Points]:
        return {RANK_1: readers.recognised(rows, shown.vectors), **readers.judge(rows, shown)}

    for run, chosen in enumerate(training_shares(n, plan.runs, rng)):
        readers = Readers.train(faces, chosen, model.variances)
        held = np.flatnonzero(~chosen)
        found = readers.recognised(everybody, faces.smiling.vectors, originals=True)
        note(ORIGINAL, 0, everybody, {RANK_1: found})
        originals = Outputs(faces.smiling.vectors[held], faces.smiling.crops[held])
        note(ORIGINAL, 0, held, readers.judge(held, originals))
        neutral = retrieved(readers.space, faces)[held]
        own.append(np.full(n, np.nan))
        own[-1][held] = neutral == held
        believed = readers.classifiers[IN_AAM].intensity(faces.vectors) > 0
        for step, k in enumerate(plan.sizes):
            progress((run + step / len(plan.sizes)) / plan.runs, f"smiles, run {run + 1} of {plan.runs}, k = {k}")
            for method, labels in ((SELECT, faces.smiles), (BELIEVED, believed)):
                note_plain(method, k, k_same_select(faces.vectors, labels, k, rng)[n:], held, readers)
            identities = k_same_furthest(faces.neutral.vectors, k, rng)
            note_plain(FURTHEST, k, identities, held, readers)
            identities = identities[held]
            known = judged(held, transferred(model, faces, held, held, identities), readers)
            note(FET, k, held, known)
            if k != plan.repair:
                continue
            wrong = np.flatnonzero(neutral != held)
            mixed = {measure: values.copy() for measure, values in known.items()}
            if len(wrong):
                shown = transferred(model, faces, held[wrong], neutral[wrong], identities[wrong])
                for measure, values in judged(held[wrong], shown, readers).items():
                    mixed[measure][wrong] = values
            note(RETRIEVED, k, held, mixed)
            note(WRONG, k, held[wrong], {measure: values[wrong] for measure, values in mixed.items()})
            shown = transferred(model, faces, held, np.roll(held, 1), identities)
            note(STRANGER, k, held, judged(held, shown, readers))
    record = Record({key: np.column_stack(values) for key, values in columns.items()})
    return record, bootstrap(np.column_stack(own), rng)


def _correlation(a: Points, b: Points) -> float:
    """Pearson's; 0 where one side is constant and so tells nothing."""
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0
