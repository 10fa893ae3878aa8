"""Does `--profile edge` keep what it promises on one core and 512 MiB, for long?

    python -m benchmarks edge_box VIDEO ... [--minutes 2] [--unbroken] [--as-sent] [--profile NAME|none] [--core 0]
        [--python P]

`streamdeid filter --realtime --loop` as a user starts it, in a control group with one core, 512 MiB and no swap
(benchmarks/live/box.py: root, version 1), from a file that is replayed as a camera to rotating files. VIDEO is made
one of 480 lines and 15 frames a second first, and played to and fro for a minute, again and again, or, with
--unbroken, for as long as the run takes: a clip that begins anew is a new connection. --as-sent leaves size and
rate as they are, as a larger camera's. --profile none: the defaults, to compare. --python: the interpreter of another
installation, whose files nobody else has in memory, so that they are charged to the box.

Printed for each: frames that came, were more than wanted, were dropped after the first 20 s, were withheld; CPU per
filtered frame; share of the core; added latency, half and 95 %; memory, and how it grew from the first fifth of the
time (after the start) to the last, for a day.

Bars: no frame dropped or withheld after the first 20 s; no process killed for memory; not more than 512 MiB after a
day at the pace at which memory grew, where a run is 10 minutes or longer. Exit code 1 when one is missed.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, Any

from benchmarks.clips import as_json, encode, markdown
from benchmarks.command_line import parser_of
from benchmarks.cost.clips import to_and_fro
from benchmarks.live.box import Box, Used
from benchmarks.live.small_clips import RATE, small_size
from benchmarks.processes import COMMAND
from streamdeid.core.status import LATENCY_BOUNDS
from streamdeid.service.camera_report import quantile
from streamdeid.video.files.source import FileSource

MEBIBYTES = 512
_START = 20.0
"""Seconds after which a run is no longer starting: models are loaded, the first person has a face."""
_CLIP = 60.0
"""Seconds of a clip before it begins anew."""
_SPARE = 30.0
"""Seconds by which an unbroken one is longer than the run."""
_LONG = 600.0
"""Seconds from which growth says something."""
_DAY = 86_400.0
_EVERY = 5.0
"""Seconds between readings."""


@dataclass
class Run:
    """A run in the box: what it told and used, in the order of time."""

    moments: list[tuple[float, dict[str, Any], Used]] = field(default_factory=list)
    """Seconds since the start, the state (`LiveStatus`) and what the box used."""
    code: int = 0

    def row(self, name: str) -> dict[str, object]:
        """A line of the table."""
        begun, (end, last, used) = self._first(), self.moments[-1]
        since, first, before = begun
        frames = last["filtered"] - first["filtered"]
        counts = [now - then for now, then in zip(last["latency"], first["latency"], strict=True)]
        half, most = quantile(counts, 0.5), quantile(counts, 0.95)
        cpu = used.cpu_seconds - before.cpu_seconds
        return {
            "clip": name,
            "minutes": round((end - since) / 60, 1),
            "size": "x".join(map(str, last["size"] or ())),
            "came": last["source"]["frames"] - first["source"]["frames"],
            "more than wanted": last["source"]["spared"] - first["source"]["spared"],
            "filtered": frames,
            "dropped": last["source"]["dropped"] - first["source"]["dropped"],
            "withheld": last["withheld"] - first["withheld"],
            "CPU ms per frame": 1000 * cpu / max(frames, 1),
            "share of the core": f"{100 * cpu / (end - since):.0f} %",
            "latency ms": f"{1000 * (half or 0):.0f}, {1000 * (most or 0):.0f}",
            "own MiB, most": max(one.own_mib for _, _, one in self.moments),
            "charged MiB, most": used.most_mib,
            "limit met": used.full,
            "killed": used.killed,
            "MiB more in a day": self.growth(),
        }

    def growth(self) -> float:
        """Mebibytes a day, from the middle of the first fifth after the start to that of the last; NaN: too short."""
        late = [(at, used.own_mib) for at, _, used in self.moments if at >= 2 * _START]
        fifth = len(late) // 5
        if fifth < 2:
            return math.nan
        (early, then), (later, now) = (
            (median(at for at, _ in part), median(mib for _, mib in part)) for part in (late[:fifth], late[-fifth:])
        )
        return (now - then) / (later - early) * _DAY

    def problems(self, name: str) -> list[str]:
        """The bars that were missed."""
        row, end = self.row(name), self.moments[-1][0]
        found = [f"{name}: {row[what]} {what}" for what in ("dropped", "withheld", "killed") if row[what]]
        growth, own = self.growth(), self.moments[-1][2].own_mib
        if end >= _LONG and own + growth > MEBIBYTES:
            found.append(f"{name}: {own:.0f} MiB, and {growth:.0f} more in a day")
        return found + [f"{name}: exit code {self.code}"] * (self.code != -1)

    def _first(self) -> tuple[float, dict[str, Any], Used]:
        return next((one for one in self.moments if one[0] >= _START), self.moments[0])


def run_in_box(clip: Path, out: Path, options: Sequence[str], seconds: float, core: int, python: str) -> Run:
    """Run the command for so long; code -1: until it was told to end, and it did so in order. Raises OSError."""
    command = [python, *COMMAND[1:], "filter", "--realtime", "--loop", str(clip), str(out / "out-%Y%m%d-%H%M%S.mkv")]
    command += ["--rotate", "60", "--keep-files", "2", "--json", *options]
    run, told = Run(), {}  # type: tuple[Run, dict[str, Any]]
    with Box(MEBIBYTES, core) as box:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=box.enter)
        assert process.stdout is not None
        reader = threading.Thread(target=_listen, args=(process.stdout, told), daemon=True)
        reader.start()
        begun = time.monotonic()
        while process.poll() is None and time.monotonic() - begun < seconds:
            time.sleep(_EVERY)
            if told:
                run.moments.append((time.monotonic() - begun, dict(told), box.used()))
        process.terminate()
        run.code = process.wait()
        reader.join()
        process.stdout.close()
    run.code = -1 if run.code == 143 else run.code
    return run


def _listen(lines: IO[str], told: dict[str, Any]) -> None:
    for line in lines:
        told.update(json.loads(line))


def camera_clip(video: Path, directory: Path, as_sent: bool, seconds: float = _CLIP) -> Path:
    """So much of the clip, to and fro."""
    info = FileSource(video).info
    rate = info.average_rate if as_sent else RATE
    size = None if as_sent else small_size(info.width, info.height)
    path = directory / f"{video.stem}.mp4"
    encode(to_and_fro(video, round(seconds * rate), size), path, rate)
    return path


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", type=Path, nargs="+", metavar="VIDEO")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--unbroken", action="store_true", help="a clip as long as the run, which never begins anew")
    parser.add_argument("--as-sent", action="store_true", help="leave size and rate of the clips as they are")
    parser.add_argument("--profile", default="edge", metavar="NAME", help="none: the defaults (%(default)s)")
    parser.add_argument("--core", type=int, default=0, help="number of the processor (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="interpreter of another installation")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    options = [] if given.profile == "none" else ["--profile", given.profile]
    rows, missed = [], []
    for video in given.videos:
        with tempfile.TemporaryDirectory() as folder:
            longest = 60 * given.minutes + _SPARE if given.unbroken else _CLIP
            clip = camera_clip(video, Path(folder), given.as_sent, longest)
            try:
                run = run_in_box(clip, Path(folder), options, 60 * given.minutes, given.core, given.python)
            except OSError as error:
                parser.error(f"there is no box to be had: {error}")
        if not run.moments:
            parser.error(f"{video.name}: it ended with exit code {run.code} before it told anything")
        rows.append(run.row(video.stem))
        missed += run.problems(video.stem)
    if given.json:
        print(as_json({"rows": rows, "problems": missed, "bounds": LATENCY_BOUNDS}))
    else:
        print(markdown(list(rows[0]), [list(row.values()) for row in rows]))
        print("\n" + ("\n".join(missed) or "every bar is met"))
    return 1 if missed else 0
