"""How fast is the desk on half an hour of 720p: until the page is there, until a picture is, and its memory?

    python -m benchmarks desk_speed --videos FOLDER [--minutes 30] [--seeks 200] [--place FOLDER]

`streamdeid review` is started on a long recording (`long_recording`) and opened in Chromium. Told are the seconds from
the command to the address, and from the address to a page with a picture and the list; milliseconds of random seeks,
of the published picture and of the original, as a browser asks for them; of an edit; and the peak memory of the desk.
Needs Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.clips import markdown
from benchmarks.command_line import parser_of
from benchmarks.review.long_recording import LongRecording, long_recording
from tests.chromium import Chromium, eventually


class Asking:
    """Asks a desk as its page does, over one connection."""

    def __init__(self, address: str) -> None:
        self._token = address.partition("#token=")[2]
        self._connection = http.client.HTTPConnection("127.0.0.1", int(address.split(":")[2].split("/")[0]), timeout=60)

    def __call__(self, path: str, body: object = None) -> float:
        """Milliseconds that an answer takes. Raises RuntimeError for a refusal."""
        begun = time.perf_counter()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        self._connection.request("GET" if body is None else "POST", path, data, headers)
        answer = self._connection.getresponse()
        told = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {told[:200]!r}")
        return 1000 * (time.perf_counter() - begun)


def measured(long: LongRecording, seeks: int, place: Path) -> list[tuple[str, float]]:
    """What a desk on a recording takes."""
    command = [sys.executable, "-c", "from streamdeid.cli.main import run; run()", "review", str(long.recording)]
    begun = time.perf_counter()
    desk = subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True)
    assert desk.stdout is not None
    try:
        address = desk.stdout.readline().split(": ", 1)[1].strip()
        there = time.perf_counter()
        with Chromium(place) as chromium:
            started = time.perf_counter()
            chromium.open(address)
            eventually(lambda: chromium.run("return document.body && document.body.dataset.ready"), 60)
            ready = time.perf_counter()
        ask, rng = Asking(address), np.random.default_rng(1)
        frames = long.frames
        shown = [ask(f"/frame/{n}.jpg") for n in rng.integers(0, frames, seeks).tolist()]
        original = [ask(f"/original/{n}.jpg") for n in rng.integers(0, frames, seeks).tolist()]
        edits = [
            ask("/edit", {"do": "region", "box": [0, 0, 50, 50], "first": n, "last": n + 100})
            for n in rng.integers(0, frames - 101, 10).tolist()
        ]
        lines = Path(f"/proc/{desk.pid}/status").read_text(encoding="ascii").splitlines()
        memory = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    finally:
        desk.terminate()
        desk.wait(30)
    return [
        ("frames", frames),
        ("command to address, s", there - begun),
        ("address to page with picture and list, s", ready - started),
        ("command to page, without the browser's start, s", there - begun + ready - started),
        *(
            (f"published picture, ms, {name}", float(np.percentile(shown, q)))
            for name, q in (("median", 50), ("p95", 95))
        ),
        *((f"original, ms, {name}", float(np.percentile(original, q))) for name, q in (("median", 50), ("p95", 95))),
        ("edit, ms, slowest of ten", max(edits)),
        ("peak memory, MiB", memory),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print what it takes; 1 when a page takes 3 s, a published picture 300 ms at the 95th percentile, or 600 MiB."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--videos", type=Path, required=True, help="folder with clips of heads and their boxes")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seeks", type=int, default=200)
    parser.add_argument("--place", type=Path, help="folder in which the long recording is kept")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        kept = given.place or Path(temporary)
        kept.mkdir(parents=True, exist_ok=True)
        long = long_recording(given.videos, kept, given.minutes)
        edits = long.recording.with_suffix(".edits.json")
        edits.unlink(missing_ok=True)
        rows = measured(long, given.seeks, Path(temporary))
    print(markdown(("what", "found"), rows))
    found = dict(rows)
    return int(
        found["address to page with picture and list, s"] > 3
        or found["published picture, ms, p95"] > 300
        or found["peak memory, MiB"] > 600
    )
