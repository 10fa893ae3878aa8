"""Figures 5, 8 and 9 of P2 and what was tried for its Fisherface: tables, verdicts and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.fisherface import Fisherface, fit_fisherface
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.papers.expression_splits import NO_SHRINKAGE, SHRINKAGES, ChosenSpaces, ExpressionPeople, Split
from streamdeid.lab.plots import histogram_plot, line_plot
from streamdeid.lab.tables import Cell, ClaimVerdict, Table, percent

SEEN_BAR, UNSEEN_BAR = 1.0, 0.86
"""P2 figure 9: expression accuracy on seen faces, and the mean on unseen ones."""

_HALF_GAP, _VARIANCES = 4.2, (0.004, 0.011)
"""P2 figure 5: neutral faces lie at 4.2, smiling ones at -4.2, with these variances."""
_FEWER = (20, 40, 80)
"""Components of the trials with fewer dimensions."""
_FEWER_SHRINKAGE = 0.05
_SLACK = 1e-12
"""Shares of a set whose size k divides may be 1/k exactly."""
_WAYS = ("equation 2", "least change")
CONTROL = ("seen", "k-Same-Select")
_SHOWN = (1, 2, 5, 10, 20)
"""k in the table of figure 9: the intensity is set, so little depends on k."""


@dataclass(frozen=True)
class SplitFigures:
    """What one split gave. Keys are (probes, way); values one for each k."""

    vectors: Vectors
    """All pictures in the gallery's face space (n, c)."""
    smiling: NDArray[np.bool_]
    split: Split
    chosen: ChosenSpaces
    risk: dict[tuple[str, str], list[float]]
    right: dict[tuple[str, str], list[float]]
    """Share of published pictures that show the expression of the photograph."""
    kept: dict[tuple[str, str], list[float]]
    """Share of published pictures that show the expression measured in the photograph."""


@dataclass(frozen=True)
class FigurePart:
    """Tables, verdicts and plots of one figure."""

    tables: tuple[Table, ...]
    verdicts: tuple[ClaimVerdict, ...]
    plots: tuple[str, ...] = ()


def figure_5(measured: Sequence[SplitFigures], out: Path) -> FigurePart:
    """Projections of the gallery on the Fisherface, in half gaps, beside those of people outside it."""
    rows: list[tuple[Cell, ...]] = [("P2", "gallery", -1.0, 1.0, *(variance / _HALF_GAP**2 for variance in _VARIANCES))]
    series: dict[str, NDArray[np.float64]] = {}
    tight = 0.0
    for name in ("no shrinkage", "chosen"):
        faces = [_unshrunk(each) if name == "no shrinkage" else each.chosen.face for each in measured]
        for which in ("gallery", "unseen"):
            values, smiles = _projections(measured, faces, which)
            moments = [float(values[smiles == s].mean()) for s in (False, True)]
            spread = [_within_splits(measured, faces, which, smile) for smile in (False, True)]
            rows.append((name, which, *moments, *spread))
            series[f"{name}, {which}"] = values
            if (name, which) == ("no shrinkage", "gallery"):
                tight = max(spread)
    plot = "p2-figure-5-fisherface.png"
    histogram_plot(out / plot, "Intensity of neutral (-1) and smiling (+1) faces (P2 figure 5)", "half gaps", series)
    limit = max(_VARIANCES) / _HALF_GAP**2
    verdict = ClaimVerdict(
        "figure 5: without shrinkage gallery faces pile up at their means",
        f"variance at most {limit:.2g} of the squared half gap",
        f"{tight:.2g}",
        tight <= limit,
    )
    columns = ("Fisherface", "faces", "mean of neutral", "of smiling", "variance of neutral", "of smiling")
    note = (
        "In half gaps between the class means of the gallery; P2's are turned so that smiling is positive. Variances "
        f"are means over {len(measured)} splits. A variance that is tiny in the gallery and large outside is data "
        "piling: the small figures of P2 measure over-fitting, not a good classifier."
    )
    return FigurePart((Table("Fisherface projections (P2 figure 5)", columns, tuple(rows), note),), (verdict,), (plot,))


def figure_8(measured: Sequence[SplitFigures], levels: Sequence[int], out: Path) -> FigurePart:
    """Recognition risk over k, of seen (a) and unseen (b) probes."""
    columns = [*(("seen", way) for way in _WAYS), CONTROL, *(("unseen", way) for way in _WAYS)]
    risks = {column: _over_splits([each.risk[column] for each in measured]) for column in columns}
    rows: list[tuple[Cell, ...]] = [
        (k, percent(1 / k), *(_range(risks[column][:, i]) for column in columns)) for i, k in enumerate(levels)
    ]
    names = ("k", "1/k", *(f"{probes}, {way}" for probes, way in columns))
    note = "Mean (smallest to largest) over the splits. Verdicts use the mean, for the control the largest."
    plots, verdicts = [], []
    for figure, probes in (("8a", "seen"), ("8b", "unseen")):
        plots.append(f"p2-figure-{figure}-{probes}.png")
        x = [float(k) for k in levels]
        series = {way: (x, (100 * risks[probes, way].mean(axis=0)).tolist()) for p, way in columns if p == probes}
        series["1/k"] = (x, [100 / k for k in levels])
        line_plot(out / plots[-1], f"Recognition of {probes} probes (P2 figure {figure})", "k", "recognised, %", series)
        for way in _WAYS:
            verdicts += _risk_verdicts(f"figure {figure}, {probes}, {way}", risks[probes, way].mean(axis=0), levels)
    verdicts.append(_risk_verdicts("control, k-Same-Select", risks[CONTROL].max(axis=0), levels)[1])
    return FigurePart(
        (Table("Recognition risk (P2 figure 8)", names, tuple(rows), note),), tuple(verdicts), tuple(plots)
    )


def risk_by_frame(by_frame: Mapping[str, Sequence[SplitFigures]], levels: Sequence[int]) -> FigurePart:
    """Recognition and expression in every frame that was tried, each with its own choice of shrinkage."""
    rows: list[tuple[Cell, ...]] = []
    for frame, measured in by_frame.items():
        unseen = np.array([_accuracy(each, "unseen") for each in measured])
        for probes in ("seen", "unseen"):
            risks = _over_splits([each.risk[probes, _WAYS[0]] for each in measured])
            rows.append((frame, probes, *(_range(column) for column in risks.T), _range(unseen)))
    names = ("frame", "probes", *(f"k = {k}" for k in levels), "Fisherface, unseen people")
    note = "Equation 2; mean (smallest to largest) over the splits; every frame has its own choice of shrinkage."
    return FigurePart((Table("Recognition risk by frame", names, tuple(rows), note),), ())


def _risk_verdicts(name: str, risk: NDArray[np.float64], levels: Sequence[int]) -> list[ClaimVerdict]:
    above = [k for k, value in zip(levels, risk, strict=True) if value > 1 / k + _SLACK]
    shown = "none above" if not above else "above at k = " + ", ".join(str(k) for k in above)
    first = min(len(levels) - 1, 1)
    change = f"{percent(float(risk[first]))} at k = {levels[first]}, {percent(float(risk[-1]))} at k = {levels[-1]}"
    return [
        ClaimVerdict(f"{name}: falls with k", "less at the largest k", change, bool(risk[-1] < risk[first])),
        ClaimVerdict(f"{name}: tends to stay below 1/k", "at most 1/k at every k", shown, not above),
    ]


def figure_9(measured: Sequence[SplitFigures], levels: Sequence[int], out: Path) -> FigurePart:
    """Expression accuracy in what is published, over k, and that of the Fisherface on photographs."""
    columns = [(probes, way) for probes in ("seen", "unseen") for way in _WAYS]
    right = {column: _over_splits([each.right[column] for each in measured]) for column in columns}
    kept = _over_splits([each.kept["unseen", _WAYS[0]] for each in measured])
    rows: list[tuple[Cell, ...]] = [
        (k, *(_range(right[column][:, i]) for column in columns), _range(kept[:, i]))
        for i, k in enumerate(levels)
        if k in _SHOWN
    ]
    plot = "p2-figure-9-expression.png"
    x = [float(k) for k in levels]
    series = {f"{p}, {way}": (x, (100 * right[p, way].mean(axis=0)).tolist()) for p, way in columns}
    line_plot(out / plot, "Expression seen in published faces (P2 figure 9)", "k", "right, %", series)
    seen = np.array([_accuracy(each, "gallery") for each in measured])
    unseen = np.array([_accuracy(each, "unseen") for each in measured])
    verdicts = [
        _bar("Fisherface on all gallery photographs", SEEN_BAR, seen),
        _bar("Fisherface on all photographs of unseen people", UNSEEN_BAR, unseen),
        *(
            _bar(f"figure 9, {probes}, {way}: mean over k", bar, right[probes, way])
            for probes, bar in (("seen", SEEN_BAR), ("unseen", UNSEEN_BAR))
            for way in _WAYS
        ),
    ]
    names = ("k", *(f"{probes}, {way}" for probes, way in columns), "unseen, as measured in the photograph")
    note = "Mean (smallest to largest) over the splits. P2: 100 % seen; 80 to 95 %, mean 86 %, unseen."
    return FigurePart((Table("Expression accuracy (P2 figure 9)", names, tuple(rows), note),), tuple(verdicts), (plot,))


def trials(
    images: Mapping[str, Vectors], people: ExpressionPeople, splits: Sequence[Split], chosen: Sequence[ChosenSpaces]
) -> FigurePart:
    """Accuracy on gallery and unseen people with every frame, shrinkage and number of components that was tried."""
    settings = [(None, NO_SHRINKAGE), *((None, s) for s in SHRINKAGES), *((c, _FEWER_SHRINKAGE) for c in _FEWER)]
    rows: list[tuple[Cell, ...]] = []
    for frame, pixels in images.items():
        found: dict[tuple[int | None, float], list[tuple[float, float]]] = {setting: [] for setting in settings}
        for one in splits:
            space = Eigenfaces.train(pixels[one.gallery])
            vectors = space.project(pixels)
            for components, shrinkage in settings:
                part = vectors[:, :components]
                face = fit_fisherface(part[one.gallery], people.smiling[one.gallery], shrinkage)
                hits = face.positive(part) == people.smiling
                found[components, shrinkage].append((float(hits[one.gallery].mean()), float(hits[one.unseen].mean())))
        for (components, shrinkage), pairs in found.items():
            times = sum(components is None and c.frame == frame and c.shrinkage == shrinkage for c in chosen)
            seen, unseen = np.array(pairs).T
            kept = "all" if components is None else components
            rows.append(
                (frame, kept, "none" if shrinkage == NO_SHRINKAGE else shrinkage, _range(seen), _range(unseen), times)
            )
    columns = ("frame", "components", "shrinkage", "gallery", "unseen people", "times chosen")
    note = (
        f"Mean (smallest to largest) over {len(splits)} splits, all photographs. The verdicts use what cross-"
        "validation chose, not the best of these rows."
    )
    return FigurePart((Table("What was tried for the Fisherface", columns, tuple(rows), note),), ())


def _unshrunk(each: SplitFigures) -> Fisherface:
    gallery = each.split.gallery
    return fit_fisherface(each.vectors[gallery], each.smiling[gallery], NO_SHRINKAGE)


def _projections(
    measured: Sequence[SplitFigures], faces: Sequence[Fisherface], which: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    rows = [each.split.gallery if which == "gallery" else each.split.unseen for each in measured]
    values = [f.intensity(each.vectors[r]) for each, f, r in zip(measured, faces, rows, strict=True)]
    return np.concatenate(values), np.concatenate([each.smiling[r] for each, r in zip(measured, rows, strict=True)])


def _within_splits(measured: Sequence[SplitFigures], faces: Sequence[Fisherface], which: str, smile: bool) -> float:
    """Mean over splits of the variance inside a class."""
    variances = []
    for each, face in zip(measured, faces, strict=True):
        values, smiles = _projections([each], [face], which)
        variances.append(float(values[smiles == smile].var(ddof=1)))
    return float(np.mean(variances))


def _accuracy(each: SplitFigures, which: str) -> float:
    values, smiles = _projections([each], [each.chosen.face], which)
    return float(((values > 0.0) == smiles).mean())


def _over_splits(values: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """(splits, levels)."""
    return np.array(values, dtype=np.float64)


def _range(values: NDArray[np.float64]) -> str:
    return f"{percent(float(values.mean()))} ({100 * values.min():.1f} to {100 * values.max():.1f})"


def _bar(claim: str, bar: float, values: NDArray[np.float64]) -> ClaimVerdict:
    mean = float(values.mean())
    expected = percent(bar) if bar == 1.0 else f"at least {percent(bar)} in the mean"
    return ClaimVerdict(claim, expected, _range(values), mean >= bar - 1e-12)
