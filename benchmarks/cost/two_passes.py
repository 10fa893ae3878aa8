"""What do two passes in segments cost, and how much faster are two processes? Are the results the same?

    python -m benchmarks two_passes --videos FOLDER [--minutes 60] [--workers 2] [--kills 0] [--place FOLDER]

A recording of two to six people at 720p with cuts (`review/long_recording.py`) is filtered with decisions by
look-ahead, with decisions over the whole file in one process, and in several. Told are wall and CPU seconds and the
peak of the memory of one process, the ratios, people and levels, whether both outputs of the second kind are the same
bits, and whether frames and times are the recording's. With --kills so many of the processes are killed at seeded
moments, spread over the time, while the recording is filtered once more: the output must be the same then, or, where
the same segment was hit twice, the run must fail closed (code 4) and leave nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.command_line import parser_of
from benchmarks.processes import COMMAND, children_of
from benchmarks.review.long_recording import KEY, RATE, make_short, repeat
from streamdeid.core.process_usage import usage_of
from streamdeid.errors import ExitCode
from streamdeid.video.files.seeking import frame_times
from streamdeid.video.files.source import FileSource

_POLL = 0.25


@dataclass(frozen=True)
class Filtered:
    """One run."""

    wall: float
    cpu: float
    peak_mib: float
    """Of the largest of its processes."""
    sha256: str
    report: dict[str, Any]


def filtered(
    recording: Path, place: Path, name: str, words: Sequence[str], kills: int = 0, apart: float = 0.0
) -> Filtered | None:
    """Run the command line. kills: so many of its processes are killed on the way, about `apart` seconds apart.
    None: it failed closed and left nothing."""
    output, report = place / f"{name}.mp4", place / f"{name}.json"
    output.unlink(missing_ok=True)
    key = place / "key"
    key.write_bytes(KEY)
    key.chmod(0o600)
    command = [
        *COMMAND, "filter", str(recording), str(output), "--overwrite", "--quiet", "--key-file", str(key),
        "--report", str(report), *words,
    ]  # fmt: skip
    before, begun = os.times(), time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    peak, rng, left = 0.0, random.Random(7), kills
    due = begun + rng.uniform(0.2, 1.0) * apart
    over = threading.Event()
    while process.poll() is None:
        running = [process.pid, *children_of(process.pid)]
        peak = max(peak, *(usage_of(one)[1] / 2**20 for one in running))
        if left and len(running) > 1 and time.perf_counter() > due:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(running[1:]), signal.SIGKILL)
                left -= 1
            due = time.perf_counter() + rng.uniform(0.6, 1.4) * apart
        over.wait(_POLL)
    after = os.times()
    if kills and process.returncode == ExitCode.FAILED_CLOSED and not output.exists():
        return None
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}")
    cpu = sum(getattr(after, one) - getattr(before, one) for one in ("children_user", "children_system"))
    told = json.loads(report.read_text())["files"][0]
    return Filtered(
        time.perf_counter() - begun, cpu, peak, hashlib.sha256(output.read_bytes()).hexdigest(), told | {"left": left}
    )


def _whole(run: Filtered | None) -> Filtered:
    assert run is not None  # only a run that was hurt fails closed
    return run


def same_times(recording: Path, output: Path) -> bool:
    """Whether all frames are there, each at its time to a millisecond."""
    one = frame_times(recording, FileSource(recording).info.time_base)[0]
    other = frame_times(output, FileSource(output).info.time_base)[0]
    return len(one) == len(other) and all(abs(a - b) <= Fraction(1, 1000) for a, b in zip(one, other, strict=True))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when results differ that should not."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--videos", type=Path, required=True, help="folder with clips of heads and their boxes")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--place", type=Path, help="folder in which everything is kept")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        place = arguments.place or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        short = make_short(arguments.videos, place / "short.mp4")
        frames = len(frame_times(short, FileSource(short).info.time_base)[0])
        recording = place / "recording.mp4"
        repeat(short, recording, max(1, round(60 * arguments.minutes * RATE / frames)), Fraction(frames, RATE))
        whole, many = ("--decisions", "whole-file"), ("--workers", str(arguments.workers))
        ahead, one, several = (
            _whole(filtered(recording, place, name, words))
            for name, words in (("ahead", ()), ("one", whole), ("many", (*whole, *many)))
        )
        runs = {"look-ahead": ahead, "whole file": one, f"whole file, {arguments.workers} workers": several}
        if arguments.kills:
            apart = several.wall / (arguments.kills + 1)
            killed = filtered(recording, place, "killed", (*whole, *many), arguments.kills, apart)
            if killed is None:
                print("killed: one segment twice, so the run failed closed and left nothing\n")
            else:
                runs["the same, killed"] = killed
        print("| run | wall s | CPU s | CPU ms per frame | peak MiB of a process | people | levels |")
        print("|---|---|---|---|---|---|---|")
        for name, run in runs.items():
            told = run.report
            print(
                f"| {name} | {run.wall:.1f} | {run.cpu:.1f} | {1000 * run.cpu / told['frames']:.1f} | "
                f"{run.peak_mib:.0f} | {told['people']} | {told['levels']} |"
            )
        print(f"\nfaster with {arguments.workers} workers: {one.wall / several.wall:.2f} times")
        print(
            f"busy processors: {ahead.cpu / ahead.wall:.2f}, {one.cpu / one.wall:.2f}, {several.cpu / several.wall:.2f}"
        )
        print(f"CPU of two passes over one: {one.cpu / ahead.cpu:.3f}; of several workers: {several.cpu / one.cpu:.3f}")
        wrong = [name for name, run in runs.items() if run is not ahead and run.sha256 != one.sha256]
        if arguments.kills and killed is not None:
            print(f"killed: {arguments.kills - killed.report['left']} processes")
        exact = same_times(recording, place / "many.mp4")
        print(f"other bits: {', '.join(wrong) or 'none'}; frames and times exact: {'yes' if exact else 'NO'}")
        return int(bool(wrong) or not exact)
