"""A folder of recordings, workers killed at any moment and the run killed too: is every file whole, once, and the same?

    python -m benchmarks archive [--files 12] [--kills 20] [--runs 4] [--workers 2] [--videos FOLDER]

Drawn clips of two people (with --videos, the folder's own) are filtered with one worker and with several, in turn: wall
and CPU seconds, and whether all outputs are the same bits. Then the folder is filtered with its processes killed at
seeded moments, `--kills` in all, and the run itself `--runs` times, each time started again. At the end every output
must have the calm run's bits; nothing half written may be left, and what was whole and noted before a run must not have
been touched by it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command_line import parser_of
from benchmarks.processes import COMMAND, children_of
from streamdeid.aam.fit import FitModel
from streamdeid.core.process_usage import cpu_seconds
from streamdeid.errors import ExitCode
from streamdeid.runs.parts import write_drawing
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people


def drawn(place: Path, files: int) -> None:
    """Write so many clips of one to three seconds."""
    models = load_models(None)
    fitting: FitModel = models.fitting
    for number in range(files):
        people = synthetic_people(
            fitting, models.gallery, people=2, seconds=1 + number % 3, size=(320, 240), rate=15, seed=number
        )
        write_drawing(place / f"{number:02d}.mp4", (one.frame.planes for one in people), 15)


def words(given: Path, out: Path, key: Path, workers: int) -> list[str]:
    return [*COMMAND, "filter", str(given), str(out), "--key-file", str(key), "--quiet", "--workers", str(workers)]


def calm(given: Path, out: Path, key: Path, workers: int) -> tuple[float, float]:
    """Filter a folder; wall and CPU seconds."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    code = subprocess.run(words(given, out, key, workers), check=False).returncode
    if code:
        raise SystemExit(f"the calm run ended with {code}")
    return time.perf_counter() - wall, cpu_seconds() - cpu


def outputs(out: Path) -> dict[str, tuple[int, bytes]]:
    """Time of writing and content of all outputs."""
    return {
        path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in out.glob("*.mp4") if path.name[0] != "."
    }


def troubled(given: Path, out: Path, key: Path, workers: int, kills: int, runs: int, least: float) -> tuple[int, int]:
    """Filter a folder with processes killed, and the run; how many processes were killed, and outputs done again that
    were whole and noted. least: seconds between two kills."""
    rng, killed, again = random.Random(11), 0, 0
    for number in range(runs + 1):
        before = outputs(out) if out.exists() else {}
        noted = (out / ".streamdeid-journal.jsonl").read_text() if before else ""
        run = subprocess.Popen(words(given, out, key, workers), stderr=subprocess.DEVNULL, start_new_session=True)
        until = time.monotonic() + rng.uniform(4, 12) if number < runs else float("inf")
        due = time.monotonic() + rng.uniform(least, 3 * least)
        while run.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
            if killed < kills and time.monotonic() > due:
                due = time.monotonic() + rng.uniform(least, 3 * least)
                for one in rng.sample(found, 1) if (found := children_of(run.pid)) else []:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)
                        killed += 1
        if run.poll() is None:
            run.kill()
        run.wait()
        time.sleep(2)  # the processes of a run that was killed end by themselves
        after = outputs(out)
        again += sum(f'"{name}"' in noted and after.get(name, (0,))[0] != known[0] for name, known in before.items())
    return killed, again


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when a file is lost, done twice, half written or another one than in a calm run."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--videos", type=Path)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        given, key = arguments.videos or place / "in", place / "key"
        key.write_bytes(bytes(range(32)))
        key.chmod(0o600)
        if arguments.videos is None:
            given.mkdir()
            drawn(given, arguments.files)
        one, several = (calm(given, place / f"calm{n}", key, n) for n in (1, arguments.workers))
        expected, other = outputs(place / "calm1"), outputs(place / f"calm{arguments.workers}")
        same = _contents(expected) == _contents(other)
        print(f"{len(expected)} files; the same bits with any number of workers: {'yes' if same else 'NO'}")
        for number, (wall, cpu) in ((1, one), (arguments.workers, several)):
            print(f"{number} at a time: {wall:.1f} s, CPU {cpu:.1f} s, {one[0] / wall:.2f} times as fast")
        out = place / "troubled"
        killed, again = troubled(given, out, key, arguments.workers, arguments.kills, arguments.runs, 1.0)
        code = subprocess.run(words(given, out, key, arguments.workers), check=False).returncode
        found = _contents(outputs(out))
        wrong = [name for name, data in _contents(expected).items() if found.get(name) != data]
        left = [path.name for path in out.iterdir() if path.name[0] == "." and "journal" not in path.name]
        print(f"{killed} processes and {arguments.runs} runs killed; last exit code {code}")
        print(f"{len(found)} of {len(expected)} files whole; wrong or lost: {', '.join(wrong) or 'none'}; ", end="")
        print(f"done twice: {again}; left over: {', '.join(left) or 'nothing'}")
        return int(not same or bool(wrong) or bool(left) or again > 0 or code != ExitCode.DONE)


def _contents(found: dict[str, tuple[int, bytes]]) -> dict[str, bytes]:
    return {name: data for name, (_, data) in found.items()}
