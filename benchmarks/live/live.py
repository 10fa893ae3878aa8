"""A camera over RTSP, filtered, published over RTSP: frames lost, added latency, cost.

    python -m benchmarks live [--minutes 5] [--lookahead 0] [--json]

GStreamer's RTSP server plays a clip of two drawn people at 640x480 and 15 frames a second as a camera would (encoded
beforehand: it costs next to nothing) and takes what `streamdeid filter rtsp://... rtsp://... --json` publishes. Two
receivers of the same kind on one clock read the time code in each picture, one from the camera, one from the filtered
stream. The added latency of a picture is the time between the two.

Bars: no frame dropped by the filter or missing at the receiver, added latency at most 150 ms in the middle and 250 ms
at the 95th percentile, both beyond the look-ahead that was asked for (--lookahead). Exit code 1 when one is missed. It
counts from `--warm-up` seconds after the first filtered picture. (That nothing of a face gets through is for
`live_faults`: a watermark in a face makes it a poor fit.)
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.live.clip import write_live_clip
from benchmarks.live.receivers import Receiver, numbered
from benchmarks.live.runs import FilterRun, Usage
from benchmarks.live.servers import GstServer, gst_missing
from streamdeid.core.process_usage import own_usage, usage_of
from streamdeid.surrogates.models import load_models

MEDIAN_BAR, HIGH_BAR = 0.150, 0.250
"""Added latency in seconds, middle and 95th percentile."""
_START = 60.0
"""Seconds in which the first filtered picture has to come."""


@dataclass(frozen=True)
class Outcome:
    """What came of a run; times in milliseconds."""

    minutes: float
    sent: int
    """Pictures that the camera sent, by the plain receiver."""
    filtered: int
    dropped: int
    """By the filter's own count: unfiltered frames left out."""
    unsent: int
    """By its own count: filtered frames left out."""
    withheld: int
    stood_in: int
    """Repeated frames and placeholders."""
    missing: int
    """Time codes that the plain receiver saw and the one of the filtered stream did not."""
    start: float
    """Seconds from the command to the first filtered picture at the receiver."""
    camera: tuple[float, float, float]
    """From the moment a picture was due to its arrival at the plain receiver: middle, 95th percentile, most."""
    added: tuple[float, float, float]
    """Added latency."""
    cpu_filter: float
    """CPU time for a frame, filter."""
    cpu_encoder: float
    """CPU time for a frame, its child process: encoder and sender."""
    resident: float
    """MiB at the end, both."""
    covers: dict[str, int]
    others: float
    """Processors that were busy with what is no part of the benchmark; far above 0, its times are those of a machine
    with fewer processors."""
    lookahead: float = 0.0
    """Seconds, which every picture waits."""

    @property
    def problems(self) -> list[str]:
        """The bars that were missed."""
        found = []
        if self.dropped or self.unsent or self.missing or self.withheld:
            found.append(
                f"frames lost: {self.dropped} dropped, {self.unsent} unsent, {self.withheld} withheld, "
                f"{self.missing} missing at the receiver"
            )
        for added, bar, where in zip(self.added[:2], (MEDIAN_BAR, HIGH_BAR), ("in the middle", "at 95 %"), strict=True):
            most = 1000 * (bar + self.lookahead)
            if added > most:
                found.append(f"added latency {added:.0f} ms {where}, more than {most:.0f}")
        return found


def measure(directory: Path, minutes: float, warm_up: float, progress: bool, lookahead: float = 0.0) -> Outcome:
    """Run it. Raises RuntimeError when no filtered picture comes or the filter dies."""
    clip = write_live_clip(directory / "camera.mp4", load_models(None), marked=None)
    epoch = time.monotonic()
    with GstServer(cam=clip.path, epoch=epoch) as server, Receiver(server.url("/cam")) as plain:
        begun = time.monotonic()
        run = FilterRun(server.url("/cam"), server.url("/rec"), ("--lookahead", f"{lookahead:g}"))
        with run, Receiver(server.url("/out")) as filtered:
            first = filtered.wait(lambda one: one.code is not None, _START)
            if first is None:
                raise RuntimeError(f"no filtered picture within {_START:.0f} s: {run.complaint().strip()}")
            _rest(warm_up, run)
            before, used, since = run.status(), run.usage(), time.monotonic()
            busy, own = _busy(), _own(server.pid)
            for minute in range(int(minutes)):
                _rest(60.0, run)
                if progress:
                    print(f"minute {minute + 1}: {run.status()['filtered']} filtered", file=sys.stderr, flush=True)
            _rest(60.0 * (minutes % 1), run)
            until = time.monotonic()
            after, used_after = run.status(), run.usage()
            spent = used_after.filter_cpu + used_after.other_cpu - used.filter_cpu - used.other_cpu
            others = _busy() - busy - spent - (_own(server.pid) - own)
            time.sleep(1.0)
            run.end()
            sent = numbered(plain.seen(since), clip, epoch)
            came = numbered(filtered.seen(since), clip, epoch)
    due = {number: at for number, at in sent.items() if since <= at <= until}
    return Outcome(
        minutes=(until - since) / 60,
        sent=len(due),
        filtered=after["filtered"] - before["filtered"],
        dropped=after["source"]["dropped"] - before["source"]["dropped"],
        unsent=after["sink"]["unsent"] - before["sink"]["unsent"],
        withheld=after["withheld"] - before["withheld"],
        stood_in=sum(after[name] - before[name] for name in ("repeated", "placeholders")),
        missing=sum(number not in came for number in due),
        start=first.at - begun,
        camera=_spread([at - epoch - number / clip.rate for number, at in due.items()]),
        added=_spread([came[number] - at for number, at in due.items() if number in came]),
        **_cost(used, used_after, after["filtered"] - before["filtered"]),
        covers=after["faces"],
        others=others / (until - since),
        lookahead=lookahead,
    )


def _rest(seconds: float, run: FilterRun) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not run.alive():
            raise RuntimeError(f"the filter ended: {run.complaint().strip()}")
        time.sleep(min(1.0, max(0.0, end - time.monotonic())))


def _busy() -> float:
    """Seconds that all processors together were busy since the machine started."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # without idle and waiting for a disk


def _own(server: int) -> float:
    """CPU seconds of this process and the server."""
    return own_usage()[0] + usage_of(server)[0]


def _cost(before: Usage, after: Usage, frames: int) -> dict[str, float]:
    each = 1000 / max(1, frames)
    return {
        "cpu_filter": each * (after.filter_cpu - before.filter_cpu),
        "cpu_encoder": each * (after.other_cpu - before.other_cpu),
        "resident": after.resident,
    }


def _spread(seconds: list[float]) -> tuple[float, float, float]:
    if not seconds:
        return (float("nan"),) * 3
    middle, high, most = 1000 * np.percentile(seconds, [50, 95, 100])
    return float(middle), float(high), float(most)


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--warm-up", type=float, default=10.0, metavar="S")
    parser.add_argument("--lookahead", type=float, default=0.0, metavar="S", help="the filter's")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    missing = gst_missing()
    if missing:
        parser.error(missing)
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as directory:
        found = measure(Path(directory), given.minutes, given.warm_up, not given.json, given.lookahead)
    if given.json:
        print(as_json({**asdict(found), "problems": found.problems}))
    else:
        rows = [(name.replace("_", " "), _words(value)) for name, value in asdict(found).items()]
        print(markdown(["", "value"], rows))
        print("\n" + ("\n".join(found.problems) or "every bar is met"))
    return 1 if found.problems else 0


def _words(value: object) -> object:
    if isinstance(value, tuple):
        return " / ".join(f"{one:.0f}" for one in value) + " ms (middle, 95 %, most)"
    return ", ".join(f"{count} {name}" for name, count in value.items()) if isinstance(value, dict) else value
