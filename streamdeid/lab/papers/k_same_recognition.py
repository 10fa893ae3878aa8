"""k-Same-Pixel and k-Same-Eigen under the three attacks (P5 section 5.4, figure 7b; docs/methods.md 1.5).

Everything happens in the coordinates of the set's own face space with all components: an isometry, which means,
principal components and nearest neighbours do not notice, and sixteen times fewer numbers than pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.eigen import k_same_eigen
from streamdeid.k_same.m import k_same_m_groups
from streamdeid.k_same.pixel import k_same_pixel
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.papers.guessing import guessed
from streamdeid.lab.plots import line_plot
from streamdeid.lab.tables import Cell, ClaimVerdict, Table, percent, within

LEVELS = (2, 3, 5, 10, 50, 100)
"""P5's k."""
METHODS: dict[str, Callable[..., Vectors]] = {"k-Same-Pixel": k_same_pixel, "k-Same-Eigen": k_same_eigen}

_SHARE = 0.95
"""Of the variance in the components with which both find neighbours and k-Same-Eigen averages; P5 gives no number."""
_SEED = 54
_AT_TWO, _AT_HUNDRED = -0.016, {"k-Same-Pixel": -0.63, "k-Same-Eigen": -0.81}
"""P5: recognised less 1/k, over 1/k, at k = 2 and at k = 100."""
_DIFFERENCE = 0.0017
_WORK_K = 10


@dataclass(frozen=True)
class Runs:
    """Chances of an attacker to name a face: of each method and k, each run."""

    naive: dict[tuple[str, int], list[float]]
    reverse: dict[tuple[str, int], list[float]]
    parrot: dict[tuple[str, int], list[float]]


def k_same_recognition(
    images: Vectors, out: Path, *, runs: int, all_attacks: int, report: Callable[[float, str], None]
) -> tuple[tuple[Table, ...], tuple[ClaimVerdict, ...], tuple[str, ...]]:
    """Tables, verdicts and plots for a person-specific set of images (n, pixels).

    The naive attack is made in all `runs`, each with triggers in another order, the other two in the first
    `all_attacks`, because the parrot's face space has to be trained each time.
    """
    report(0.0, "k-Same")
    faces = Eigenfaces.train(images).project(images)
    levels = [k for k in LEVELS if 2 * k <= len(faces)]
    found = _attack(faces, levels, runs, all_attacks, report)
    plot = "p5-figure-7b-k-same.png"
    x = [float(k) for k in levels]
    series = {name: (x, [100 * _mean(found.naive[name, k]) for k in levels]) for name in METHODS}
    series["1/k"] = (x, [100 / k for k in levels])
    line_plot(out / plot, "Naive recognition of k-Same (P5 figure 7b)", "k", "recognised, %", series, log_x=True)
    table, verdicts = _figures(found, levels, len(faces))
    work, linear = _work(faces)
    return (table, work), (*verdicts, linear), (plot,)


def _attack(
    faces: Vectors, levels: list[int], runs: int, all_attacks: int, report: Callable[[float, str], None]
) -> Runs:
    space = Eigenfaces.train(faces)
    shares = np.cumsum(space.variances) / space.variances.sum()
    components = int(np.searchsorted(shares, _SHARE)) + 1
    found = Runs({}, {}, {})
    own = np.arange(len(faces))
    for run in range(runs):
        for k in levels:
            report(run / runs, f"k-Same, run {run + 1} of {runs}, k = {k}")
            for name, method in METHODS.items():
                # The same order of triggers for both, as P5 compares them on the same data.
                outputs = method(faces, k, np.random.default_rng([_SEED, run, k]), components=components)
                _add(found.naive, name, k, guessed(space.distances(outputs, faces), own))
                if run < all_attacks:
                    _add(found.reverse, name, k, guessed(space.distances(faces, outputs), own))
                    _add(found.parrot, name, k, guessed(Eigenfaces.train(outputs).distances(outputs, outputs), own))
    return found


def _add(to: dict[tuple[str, int], list[float]], name: str, k: int, chances: Vectors) -> None:
    to.setdefault((name, k), []).append(float(chances.mean()))


def _figures(found: Runs, levels: list[int], people: int) -> tuple[Table, tuple[ClaimVerdict, ...]]:
    rows: list[tuple[Cell, ...]] = []
    verdicts = []
    for name in METHODS:
        over = []
        for k in levels:
            cells = []
            for attack in (found.naive, found.reverse, found.parrot):
                values = attack[name, k]
                cells.append(f"{percent(_mean(values), 2)} (at most {percent(max(values), 2)})")
                over.append(max(values) - 1 / k)
            mean = _mean(found.naive[name, k])
            less = f"{100 * (mean - 1 / k):+.2f}", f"{100 * (mean * k - 1):+.1f} %"
            rows.append((name, k, percent(1 / k, 2), *cells, *less))
        verdicts.append(
            ClaimVerdict(
                f"{name}: recognised at most 1/k by naive, reverse and parrot, every k and every run",
                "at most 0 points above 1/k",
                f"{100 * max(over):+.2f} points at worst",
                max(over) <= 1e-12,
            )
        )
        near = _mean(found.naive[name, 2]) * 2 - 1
        verdicts.append(_relative(f"{name}: naive, less 1/k over 1/k, k = 2", _AT_TWO, near, 0.03))
        if 100 in levels:
            far = _mean(found.naive[name, 100]) * 100 - 1
            verdicts.append(_relative(f"{name}: naive, less 1/k over 1/k, k = 100", _AT_HUNDRED[name], far, 0.25))
    pixel, eigen = METHODS
    apart = [abs(a - b) for k in levels for a, b in zip(found.naive[pixel, k], found.naive[eigen, k], strict=True)]
    verdicts.append(
        ClaimVerdict(
            "k-Same-Pixel and k-Same-Eigen differ little (naive, mean of all k and runs)",
            f"{_DIFFERENCE}, at most 0.005",
            f"{_mean(apart):.4f}",
            _mean(apart) <= 0.005,
        )
    )
    columns = ("method", "k", "1/k", "naive", "reverse", "parrot", "naive less 1/k, points", "over 1/k")
    counted = len(found.naive[pixel, levels[0]]), len(found.reverse[pixel, levels[0]])
    note = (
        f"{people} faces; {counted[0]} runs of the naive attack, {counted[1]} of the others. Shares are an attacker's "
        "who guesses among equally near faces: reverse and parrot meet k equal pictures, and with ties counted as "
        "missed they would always read 0."
    )
    return Table("k-Same against recognition (P5 figure 7b)", columns, tuple(rows), note), tuple(verdicts)


def _relative(claim: str, target: float, value: float, tolerance: float) -> ClaimVerdict:
    expected = f"{100 * target:+.1f} %, within {100 * tolerance:.0f} points"
    return ClaimVerdict(claim, expected, f"{100 * value:+.1f} %", within(value, target, tolerance))


def _work(faces: Vectors) -> tuple[Table, ClaimVerdict]:
    """P5 claims linear time. What grows is counted: a trigger is compared with every face that is still free."""
    sizes = [size for size in (len(faces) // 8, len(faces) // 4, len(faces) // 2, len(faces)) if size >= _WORK_K]
    compared = []
    for size in sizes:
        groups = k_same_m_groups(faces[:size], _WORK_K, np.random.default_rng(_SEED))
        done = np.concatenate([[0], np.cumsum([len(group) for group in groups])[:-1]])
        compared.append(int((size - done).sum()))
    power = float(np.polyfit(np.log(sizes), np.log(compared), 1)[0]) if len(sizes) > 1 else float("nan")
    note = "Without the face space, whose training grows faster still."
    table = Table(
        f"Work of k-Same, k = {_WORK_K}", ("faces", "comparisons"), tuple(zip(sizes, compared, strict=True)), note
    )
    expected = "comparisons grow with power 1, within 0.2"
    return table, ClaimVerdict("k-Same takes linear time", expected, f"power {power:.2f}", within(power, 1.0, 0.2))


def _mean(values: list[float]) -> float:
    return float(np.mean(values))
