"""Cameras, servers and networks that die, hang, change and return: does the filtered stream return, and stay clean?

    python -m benchmarks live_faults [--rounds 20] [--seed 1] [--only KIND] [--keep DIR] [--json]

One `streamdeid filter rtsp://... rtsp://...` lives through all rounds. In each, one of: the camera's server killed and
started again, stopped (SIGSTOP) and continued, or started again with another picture size; the publisher's server
killed and started again, or stopped and continued; the network cut (the camera's server has a network namespace of its
own; without root that kind is left out, and it says so). Half of the outages are shorter than the deadlines of 3 s.

Bars: within 5 s of the return the final receiver has a picture that the camera sent after it, each time; while the
camera is away nothing but the last picture, for at most 2 s, and placeholders; no watermark of a face in anything that
was published; processes, threads and descriptors as before the first round after the last, and memory within 5 MiB of
what it was after a quarter of the rounds; SIGTERM ends it within 5 s with nothing left behind. Exit code 1 when one is
missed.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.live.clip import OTHER_SIZE, SIZE, write_live_clip
from benchmarks.live.marks import Search, search
from benchmarks.live.rounds import KINDS, RECOVERY_BAR, Round, plan, play, stage_of
from benchmarks.live.runs import Ended, FilterRun, Usage
from benchmarks.live.servers import Namespace, gst_missing, namespaces_missing
from streamdeid.surrogates.models import load_models

MEMORY_BAR = 5.0
"""MiB that the memory may grow by over the later three quarters of the rounds."""
LAST_BAR = 5.0
"""Seconds in which SIGTERM has to end it."""
_START, _WARM_UP = 60.0, 15.0
"""Seconds in which the first filtered picture has to come, and until the use of resources is first taken."""
_CALM = 6.0
"""Seconds after the last round until it is taken again."""


@dataclass(frozen=True)
class Outcome:
    """What came of all rounds."""

    rounds: list[Round]
    usages: list[Usage]
    """Before the first round and after each."""
    search: Search
    ended: Ended
    status: dict[str, object]
    """The last one that the filter told."""

    @property
    def problems(self) -> list[str]:
        """Bars that were missed."""
        found = [
            f"round {number + 1}, {one.kind}, away for {one.outage:.1f} s: {problem}"
            for number, one in enumerate(self.rounds)
            for problem in one.problems
        ]
        first, last = self.usages[0], self.usages[-1]
        for name in ("processes", "threads", "descriptors"):
            before, after = getattr(first, name), getattr(last, name)
            if after > before:
                found.append(f"{name}: {before} before the first round, {after} after the last")
        if self.grown > MEMORY_BAR:
            found.append(f"memory grew by {self.grown:.1f} MiB after the first quarter of the rounds")
        if self.search.found:
            pictures = len(self.search.found)
            found.append(f"a watermark got through in {pictures} pictures, from {self.search.found[0]} on")
        end = self.ended
        if end.code != 143 or end.seconds > LAST_BAR or end.left:
            found.append(f"SIGTERM: exit code {end.code} after {end.seconds:.1f} s, {end.left} processes left")
        return found

    @property
    def sent(self) -> int:
        """Pictures that the filter says it has sent."""
        sink = self.status["sink"]
        return int(sink["written"]) if isinstance(sink, dict) else 0

    @property
    def grown(self) -> float:
        """MiB by which memory grew from the first quarter of the rounds to the last."""
        memory = [usage.resident for usage in self.usages]
        return memory[-1] - max(memory[: len(memory) // 4 + 1])


def run(directory: Path, kinds: list[str], rounds: int, seed: int, keep: Path | None, progress: bool) -> Outcome:
    """Play all rounds. Raises RuntimeError when no filtered picture comes or the filter dies."""
    rng = np.random.default_rng((seed, 7))
    models = load_models(None)
    clips = [
        write_live_clip(directory / f"camera{number}.mp4", models, size=size, marked=number + 1)
        for number, size in enumerate((SIZE, OTHER_SIZE))
    ]
    done: list[Round] = []
    with contextlib.ExitStack() as safe:
        network = safe.enter_context(Namespace()) if "network cut" in kinds else None
        stage = stage_of(directory, clips, network, time.monotonic())
        safe.enter_context(stage.camera)
        safe.enter_context(stage.server)
        filter_run = safe.enter_context(FilterRun(stage.camera.url("/cam"), stage.server.url("/rec")))
        safe.enter_context(stage.receiver)
        if stage.receiver.wait(lambda one: one.code is not None, _START) is None:
            raise RuntimeError(f"no filtered picture within {_START:.0f} s: {filter_run.complaint().strip()}")
        time.sleep(_WARM_UP)
        usages = [filter_run.usage()]
        for number, (kind, outage) in enumerate(plan(kinds, rounds, seed)):
            done.append(play(stage, kind, outage))
            time.sleep(float(rng.uniform(1.0, 4.0)) + (_CALM if number == rounds - 1 else 0.0))
            usages.append(filter_run.usage())
            if progress:
                _tell(number, done[-1], usages[-1])
            if not filter_run.alive():
                raise RuntimeError(f"the filter ended in round {number + 1}: {filter_run.complaint().strip()}")
        status, ended = filter_run.status(), filter_run.end()
    return Outcome(done, usages, search(directory / "published.h264", clips, keep), ended, status)


def _tell(number: int, one: Round, usage: Usage) -> None:
    recovery = "never" if one.recovery is None else f"after {one.recovery:.2f} s"
    print(
        f"{number + 1:3d} {one.kind}, away {one.outage:.1f} s: fresh {recovery}, repeated {one.repeated:.1f} s, "
        f"{one.placeholders} placeholders; {usage.processes} processes, {usage.threads} threads, "
        f"{usage.descriptors} descriptors, "
        f"{usage.filter_resident:.0f} + {usage.resident - usage.filter_resident:.0f} MiB {'; '.join(one.problems)}",
        file=sys.stderr,
        flush=True,
    )


def _table(outcome: Outcome) -> str:
    rows = []
    for kind in KINDS:
        rounds = [one for one in outcome.rounds if one.kind == kind]
        times = [one.recovery for one in rounds if one.recovery is not None]
        if rounds:
            spread = f"{np.median(times):.2f} / {max(times):.2f}" if times else "-"
            late = sum(one.recovery is None or one.recovery > RECOVERY_BAR for one in rounds)
            repeated, placeholders = max(one.repeated for one in rounds), sum(one.placeholders for one in rounds)
            rows.append(
                (kind, len(rounds), spread, late, f"{repeated:.1f}", placeholders, sum(one.strangers for one in rounds))
            )
    header = ["fault", "rounds", "s to a fresh picture, middle / most", "late", "repeated s", "placeholders", "others"]
    first, last = asdict(outcome.usages[0]), asdict(outcome.usages[-1])
    names = ("processes", "threads", "descriptors", "filter_resident", "resident")
    used = [(name.replace("_", " "), first[name], last[name]) for name in names]
    found = outcome.search
    return "\n\n".join(
        (
            markdown(header, rows),
            markdown(["", "before", "after"], used),
            f"memory since the first quarter: {outcome.grown:+.1f} MiB",
            f"{found.pictures} of {outcome.sent} pictures published could be decoded; strongest watermark "
            f"{found.strongest:.2f} (unfiltered {found.unfiltered:.2f}, chance {found.chance:.2f}, counted from "
            f"{found.threshold:.2f})",
            f"SIGTERM: exit code {outcome.ended.code} after {outcome.ended.seconds:.1f} s",
        )
    )


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=KINDS, metavar="KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="save published pictures that hold a watermark")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    missing = gst_missing()
    if missing or given.rounds < 1:
        parser.error(missing or "at least one round")
    kinds = [given.only] if given.only else list(KINDS)
    if "network cut" in kinds and (missing := namespaces_missing()):
        print(f"network cut is left out: {missing}", file=sys.stderr)
        kinds.remove("network cut")
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as directory:
        found = run(Path(directory), kinds, given.rounds, given.seed, given.keep, not given.json)
    print(as_json({**asdict(found), "problems": found.problems}) if given.json else _table(found))
    if not given.json:
        print("\n" + ("\n".join(found.problems) or "every bar is met"))
    return 1 if found.problems else 0
