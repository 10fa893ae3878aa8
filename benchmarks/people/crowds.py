"""Crowds with known truth: does everybody keep one surrogate, and does nobody ever get another's?

    python -m benchmarks crowds [--quick] [--store]

Five people cross, leave and come back, or hide behind bars, at 30, 15 and 6 frames per second, with faces 24 to 150
pixels wide; one detection of ten is missing, boxes and landmarks err. `simulated`: the filter's own tracker and check
of identities, with simulated detections and identity vectors. `drawn`: pictures through the whole `ReplaceFaces`, with
a detector that knows the places; there identities are the surrogates' own bytes. Look-ahead 1 s is a file, 0 is live.

switches: CLEAR-MOT's, of what is published. handed over: faces in frames shown with a surrogate that was another's.
surplus: surrogates beyond one for each person. shown: share of the visible faces that were shown with a surrogate; the
others were redacted softly. IDF1: Ristani's, where these count as missed; and of the shown ones alone.

--store writes crowds.csv beside this file, which tests/benchmarks/test_crowds.py holds the quick runs against. Exit
code 1 when anybody was handed over.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import cv2

from benchmarks.clips import markdown
from benchmarks.command_line import parser_of
from benchmarks.people.crowd_runs import Run, simulated
from benchmarks.people.crowds_drawn import drawn
from benchmarks.people.identity_metrics import NOTHING, Identities
from streamdeid.surrogates.models import Models, load_models
from streamdeid.synthetic.crowds import KINDS

TABLE = Path(__file__).with_name("crowds.csv")
_RATES = (30, 15, 6)
_WIDTHS = (24.0, 48.0, 90.0, 150.0)
_SEEDS = 5


@dataclass(frozen=True)
class Row:
    """Some runs together."""

    runs: str
    """`quick` or `full`."""
    level: str
    """`simulated` or `drawn`."""
    kind: str
    rate: str
    lookahead: float
    clips: int
    faces: int
    shown: float
    switches: int
    handovers: int
    surplus: int
    idf1: float
    idf1_of_shown: float


def groups(quick: bool) -> Iterator[tuple[str, str, str, float, list[Run]]]:
    """Level, kind, rate, look-ahead and runs of each row of the table."""
    for kind in KINDS:
        if quick:
            for ahead in (1.0, 0.0):
                runs = [Run(kind, rate, width, ahead, 1, 6.0) for rate in (15, 6) for width in (48.0, 90.0)]
                yield "simulated", kind, "15, 6", ahead, runs
            continue
        for rate in _RATES:
            for ahead in (1.0, 0.0):
                yield (
                    "simulated",
                    kind,
                    str(rate),
                    ahead,
                    [Run(kind, rate, width, ahead, seed) for width in _WIDTHS for seed in range(_SEEDS)],
                )
        for ahead in (1.0, 0.0):
            places = ((30, 70.0, 0), (15, 40.0, 1), (15, 110.0, 2), (6, 70.0, 3))
            yield (
                "drawn",
                kind,
                "30, 15, 6",
                ahead,
                [Run(kind, rate, width, ahead, seed, 5.0) for rate, width, seed in places],
            )
    if quick:
        yield "drawn", "crossing", "15", 1.0, [Run("crossing", 15, 60.0, 1.0, 4, 3.0)]


def row(quick: bool, level: str, kind: str, rate: str, ahead: float, runs: list[Run], models: Models) -> Row:
    """Do the runs of a row."""
    total: Identities = NOTHING
    for run in runs:
        if level == "drawn":
            total += drawn(run, models.fitting, models.gallery)
        else:
            total += simulated(run, models.gallery.identities)
    return Row(
        "quick" if quick else "full",
        level,
        kind,
        rate,
        ahead,
        len(runs),
        total.faces,
        round(total.shown / max(total.faces, 1), 4),
        total.switches,
        total.handovers,
        total.surplus,
        round(total.idf1, 4),
        round(total.idf1_of_shown, 4),
    )


def stored() -> list[Row]:
    """The rows of the stored table."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        kinds = {"int": int, "float": float, "str": str}
        return [Row(**{f.name: kinds[str(f.type)](line[f.name]) for f in fields(Row)}) for line in csv.DictReader(file)]


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--quick", action="store_true", help="only the runs that the tests repeat")
    parser.add_argument("--store", action="store_true", help="write the table (quick and full runs)")
    given = parser.parse_args(argv)
    cv2.setNumThreads(1)
    models = load_models(None)
    rows = []
    for quick in (True, False):
        if quick == given.quick or given.store:
            for group in groups(quick):
                rows.append(row(quick, *group, models))
                print(markdown([f.name for f in fields(Row)], [astuple(rows[-1])]).splitlines()[-1], flush=True)
    print("\n" + markdown([f.name for f in fields(Row)], [astuple(each) for each in rows]))
    if given.store:
        with TABLE.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([f.name for f in fields(Row)])
            writer.writerows(astuple(each) for each in rows)
    bad = [each for each in rows if each.handovers]
    return 1 if bad else 0
