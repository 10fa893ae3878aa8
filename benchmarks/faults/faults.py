"""Faults thrown at the whole filter: does one pixel of a face get through, and does every run end as documented?

    python -m benchmarks faults [--count 500] [--seed 1] [--only KIND] [--keep DIR] [--json]

Each run draws a clip of people of the model who walk, a watermark in the pixels of every face, and one fault from its
seed, and sends the clip through `streamdeid filter` (the real command, in this process, with a detector that knows the
truth until the fault strikes) or, where the fault needs no file, now and then through `streamdeid.Filter`. Then:
no watermark in any picture that came out; the documented exit code and one line for the user; an output file exactly
when the code is 0, with as many frames as went in; nothing else left on disk, no thread left behind.

What counts as a watermark is calibrated in the same run: found in every face of clips that a blind detector let
through, never found where other patterns are.

Exit code 1 when any run failed. `--only KIND --seed S --count 1` repeats a run of the list; `--keep` saves the pictures
that a failed run let out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.faults import elsewhere, injected
from benchmarks.faults.clip import walk
from benchmarks.faults.injected import Fault, Rng
from benchmarks.faults.runs import calibrate, through_command, through_library
from streamdeid.surrogates.models import Models, load_models

KINDS: dict[str, Callable[[Rng], Fault]] = {
    "nothing": injected.nothing,
    "raises": injected.raises,
    "hangs": injected.hangs,
    "no number": injected.no_number,
    "misplaced": injected.misplaced,
    "many": injected.many,
    "nonsense": injected.nonsense,
    "landmarker": injected.landmarker,
    "fit": elsewhere.fit_diverges,
    "memory": elsewhere.memory,
    "corrupt": elsewhere.corrupt,
    "repeated": elsewhere.repeated,
    "resized": elsewhere.resized,
    "out of order": elsewhere.out_of_order,
    "output": elsewhere.output,
}
_METHODS = ("k-diff-furthest", "k-same-furthest", "k-same-m", "blackout", "blur", "pixelate")
"""Bar, T, threshold and noise keep most of a face by design."""
_SYNTHETIC_ONLY = ("landmarker", "fit", "memory")
_LONGEST = 60.0
"""Seconds in which every run has to be over."""
_FROM_LIBRARY = 0.2
"""Share of the runs that go through `Filter`, of those that can."""


@dataclass(frozen=True)
class Verdict:
    """One run, judged."""

    kind: str
    seed: int
    words: str
    code: int
    pictures: int
    strongest: float
    """Highest correlation with a watermark in any picture; -1 without pictures."""
    seconds: float
    problems: tuple[str, ...]


def threshold_between(found: float, other: float) -> float:
    """The correlation from which a watermark counts as found: a third of the way up from chance."""
    return other + (found - other) / 3


def judge(
    kind: str,
    seed: int,
    models: Models,
    threshold: float,
    keep: Path | None = None,
    methods: Sequence[str] = _METHODS,
) -> Verdict:
    """Run one fault and check what came of it. methods: to choose from, where the fault does not need a certain one."""
    rng = np.random.default_rng((seed, list(KINDS).index(kind)))
    fault = KINDS[kind](rng)
    method = str(rng.choice(_METHODS[:3] if kind in _SYNTHETIC_ONLY else methods))
    clip = walk(models, seed, fault.frames)
    begun = time.perf_counter()
    if fault.library and rng.random() < _FROM_LIBRARY:
        how = "Filter"
        outcome = through_library(clip, models, fault, method)
    else:
        how = "filter"
        outcome = through_command(clip, models, fault.detector, fault, method)
    seconds = time.perf_counter() - begun
    problems = list(outcome.problems)
    if outcome.code not in fault.codes:
        problems.append(f"exit code {outcome.code}, not {sorted(fault.codes)}: {outcome.complaint}")
    if outcome.code == 0 and fault.extra is not None and len(outcome.pictures) != fault.frames + fault.extra:
        problems.append(f"{len(outcome.pictures)} frames out of {fault.frames + fault.extra}")
    if seconds > _LONGEST:
        problems.append(f"took {seconds:.0f} s")
    scores = [max(mark.strongest(picture) for mark in clip.watermarks) for picture in outcome.pictures]
    survived = [index for index, score in enumerate(scores) if score >= threshold]
    if survived:
        problems.append(f"a watermark survived in {len(survived)} pictures, from {survived[0]} on")
    if keep is not None and problems:
        _save(keep / f"{kind}_{seed}.png", outcome.pictures, survived)
    words = f"{how} --method {method}: {fault.words}"
    return Verdict(kind, seed, words, outcome.code, len(scores), max(scores, default=-1.0), seconds, tuple(problems))


def _save(path: Path, pictures: list[NDArray[np.uint8]], survived: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shown = [pictures[index] for index in (survived or range(len(pictures)))[:6]]
    if shown:
        cv2.imwrite(str(path), np.hstack(shown))


def plan(count: int, seed: int, only: str | None) -> Iterator[tuple[str, int]]:
    """Kind and seed of every run: the kinds in turn."""
    kinds = [only] if only else list(KINDS)
    for number in range(count):
        yield kinds[number % len(kinds)], seed + number


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=KINDS, metavar="KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="save what failed runs let out")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    cv2.setNumThreads(1)
    begun = time.process_time()
    models = load_models(None)
    found, other = calibrate(models, given.seed)
    threshold = threshold_between(found, other)
    verdicts = [
        judge(kind, seed, models, threshold, given.keep) for kind, seed in plan(given.count, given.seed, given.only)
    ]
    failed = [verdict for verdict in verdicts if verdict.problems]
    calibration = {"unfiltered": found, "other patterns": other, "threshold": threshold}
    if given.json:
        print(as_json({"calibration": calibration, "runs": [asdict(verdict) for verdict in verdicts]}))
        return 1 if failed else 0
    print(", ".join(f"{name} {value:.2f}" for name, value in calibration.items()) + "\n")
    rows = []
    for kind in dict.fromkeys(verdict.kind for verdict in verdicts):
        runs = [verdict for verdict in verdicts if verdict.kind == kind]
        codes = ", ".join(f"{code}: {count}" for code, count in sorted(Counter(v.code for v in runs).items()))
        pictures, worst = sum(v.pictures for v in runs), max(v.strongest for v in runs)
        wrong = sum(bool(v.problems) for v in runs)
        rows.append((kind, len(runs), codes, pictures, f"{worst:.2f}", f"{max(v.seconds for v in runs):.1f}", wrong))
    print(markdown(["fault", "runs", "exit codes", "pictures out", "strongest", "longest s", "failed"], rows))
    for verdict in failed:
        print(f"\n--only '{verdict.kind}' --seed {verdict.seed} --count 1\n  {verdict.words}")
        print("\n".join(f"  {problem}" for problem in verdict.problems))
    print(f"\n{len(verdicts)} faults, {len(failed)} failed, {time.process_time() - begun:.0f} s of CPU")
    return 1 if failed or not found > threshold > other else 0
