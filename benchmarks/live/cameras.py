"""Several cameras in one `streamdeid serve`: pictures lost, added latency, processors used (`cost --cameras`).

Each camera is a GStreamer server of its own that plays the clip of `live/clip.py` (640x480, 15 a second, two drawn
people) and takes what the service publishes; they all count from the same moment. A receiver at each output notes which
time codes come; one at the first camera says which are due, and from there the latency of the first output is taken:
a receiver for every camera would need a tenth of a processor that the service then lacks.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.live.clip import write_live_clip
from benchmarks.live.receivers import Receiver, numbered
from benchmarks.live.runs import FilterRun
from benchmarks.live.servers import GstServer
from benchmarks.processes import COMMAND
from streamdeid.surrogates.models import load_models

_START = 90.0
"""Seconds in which the first filtered picture of every camera has to come."""
_COUNTED = ("filtered", "dropped", "withheld", "restarts")
_WARM_UP = 15.0
"""Seconds after the last camera's first picture that are not counted: all of them started at once."""


@dataclass(frozen=True)
class Watched:
    """What came of it, over the minutes that were counted."""

    cameras: int
    minutes: float
    filtered: int
    """Pictures, all cameras."""
    dropped: int
    """Left out unfiltered, by the service's own count."""
    withheld: int
    restarts: int
    missing: int
    """Pictures that were due and came out nowhere, of all cameras."""
    added: tuple[float, float, float]
    """Added latency of the first camera, ms: middle, 95th percentile, most."""
    processors: float
    """That the service with all its children kept busy."""
    busy: float
    """Share of the machine's processors that anything kept busy, servers and receivers included."""
    resident: float
    """MiB of all its processes; what they share counts for each."""


class _ServiceRun(FilterRun):
    """`streamdeid serve`, whose state is asked for over HTTP."""

    def __init__(self, file: Path, port: int) -> None:
        super().__init__("", "")
        self._arguments = [*COMMAND, "serve", str(file)]
        self._cameras = f"http://127.0.0.1:{port}/api/cameras"

    def counts(self) -> dict[str, int]:
        """The counters of all cameras together. Raises OSError when it does not answer."""
        with urllib.request.urlopen(self._cameras, timeout=5.0) as answer:
            cameras: list[dict[str, Any]] = json.load(answer)["cameras"]
        return {name: sum(camera[name] for camera in cameras) for name in _COUNTED}


def watch_cameras(directory: Path, cameras: int, minutes: float, tell: Callable[[str], None]) -> Watched:
    """Run it. Raises RuntimeError when a camera gives no picture or the service dies."""
    clip = write_live_clip(directory / "camera.mp4", load_models(None), marked=None)
    epoch = time.monotonic()
    with contextlib.ExitStack() as all_ends:
        servers = [all_ends.enter_context(GstServer(cam=clip.path, epoch=epoch)) for _ in range(cameras)]
        plain = all_ends.enter_context(Receiver(servers[0].url("/cam")))
        file, port = directory / "cameras.toml", _free_port()
        file.write_text(_cameras_file(servers, port), encoding="utf-8")
        run = all_ends.enter_context(_ServiceRun(file, port))
        outputs = [all_ends.enter_context(Receiver(server.url("/out"))) for server in servers]
        end = time.monotonic() + _START
        for number, output in enumerate(outputs):
            if output.wait(lambda one: one.code is not None, max(0.0, end - time.monotonic())) is None:
                raise RuntimeError(f"camera {number}: no filtered picture within {_START:.0f} s: {run.complaint()}")
        time.sleep(_WARM_UP)
        counts, used, busy, since = run.counts(), run.usage(), _busy(), time.monotonic()
        for minute in range(1, int(np.ceil(minutes)) + 1):
            time.sleep(max(0.0, since + 60 * min(minute, minutes) - time.monotonic()))
            if not run.alive():
                raise RuntimeError(f"the service ended: {run.complaint().strip()}")
            tell(f"minute {minute}: {run.counts()}")
        until, counts_after, used_after = time.monotonic(), run.counts(), run.usage()
        busy = (_busy() - busy) / (until - since) / (os.cpu_count() or 1)
        time.sleep(1.0)
        due = {n: at for n, at in numbered(plain.seen(since), clip, epoch).items() if since <= at <= until}
        came = [numbered(output.seen(since), clip, epoch) for output in outputs]
    added = [came[0][n] - at for n, at in due.items() if n in came[0]] or [float("nan")]
    middle, high, most = (1000 * float(value) for value in np.percentile(added, [50, 95, 100]))
    spent = used_after.filter_cpu + used_after.other_cpu - used.filter_cpu - used.other_cpu
    return Watched(
        cameras=cameras,
        minutes=(until - since) / 60,
        missing=sum(n not in one for one in came for n in due),
        added=(middle, high, most),
        processors=spent / (until - since),
        busy=busy,
        resident=used_after.resident,
        **{name: counts_after[name] - counts[name] for name in _COUNTED},
    )


def _cameras_file(servers: list[GstServer], port: int) -> str:
    lines = ["[http]", f'listen = "127.0.0.1:{port}"']
    for number, server in enumerate(servers):
        source, output = server.url("/cam"), server.url("/rec")
        lines += ["[[camera]]", f'name = "camera{number}"', f'source = "{source}"', f'output = "{output}"']
    return "\n".join(lines) + "\n"


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _busy() -> float:
    """Seconds that all processors together were busy since the machine started."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # without idle and waiting for a disk
