"""What a cold start costs: seconds from a new process to the first filtered picture, by stage.

    python -m benchmarks cold_start [--runs 5] [--json]

Every run is a fresh process that makes a `Filter` and gives it a picture of 640x480 with one drawn face. It uses a copy
of the package, whose caches can be emptied, filled by `streamdeid warmup`, and mounted read-only, its home too (as
root, in a mount namespace of its own; left out elsewhere). States:

    warm             after a warm-up
    read-only        after a warm-up, when nothing can be written
    other processor  the same, on another processor than the warm-up's (`NUMBA_CPU_NAME`)
    bytecode         no kernels, and no place to keep them, but Python's bytecode, as after `pip install`
    empty            neither

Medians of seconds, wall and CPU of all threads; the later picture is the mean of 50, all the same. All files are in
the system's page cache, which they are not right after a machine was switched on.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import streamdeid
from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.shipped_models import shipped
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people

SIZE = (640, 480)
ONE_START = """
import json, sys, time
LATER = 50
spent = {}
def lap(name, wall, cpu):
    before = spent.get(name, (0.0, 0.0))
    spent[name] = before[0] + wall, before[1] + cpu
def timed(name, call):
    def measured(*given, **named):
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return call(*given, **named)
        finally:
            lap(name, time.perf_counter() - wall, time.process_time() - cpu)
    return measured
begun = float(sys.argv[2])
lap("interpreter", time.time() - begun, time.process_time())
import_wall, import_cpu = time.perf_counter(), time.process_time()
import numpy as np
from streamdeid.runs import parts as assemble
from streamdeid.runs import pictures as library
from streamdeid.runs import session
from streamdeid import Filter
from streamdeid.core.kernel_cache import caches
lap("import", time.perf_counter() - import_wall, time.process_time() - import_cpu)
session.load_models = timed("models", session.load_models)
library.default_detector = timed("detector", library.default_detector)
assemble.self_test = timed("self-test", assemble.self_test)
picture = np.load(sys.argv[1])
with Filter() as filter:
    filter(picture)
    whole = time.time() - begun, time.process_time()
    rest = [w - sum(stage[i] for stage in spent.values()) for i, w in enumerate(whole)]
    lap("surrogates and first picture", *rest)
    lap("to the first picture", *whole)
    timed("second picture", filter)(picture)
    later = timed("later picture", filter)
    for _ in range(LATER):
        later(picture)
from streamdeid.report.redaction_report import peak_memory_mib
spent["later picture"] = tuple(seconds / LATER for seconds in spent["later picture"])
spent["peak memory, MiB"] = (peak_memory_mib(),) * 2
spent["kernels compiled"] = (float(sum(each.compiled for each in caches())),) * 2
print(json.dumps(spent))
"""
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


@dataclass(frozen=True)
class Place:
    """A directory with a copy of the package, a home, bytecode and a picture."""

    root: Path

    def environment(self, **more: str) -> dict[str, str]:
        """What a process with this copy sees of the outside."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON", "XDG_"))}
        home, site, pyc = (str(self.root / name) for name in ("home", "site", "pyc"))
        return kept | {"HOME": home, "PYTHONPATH": site, "PYTHONPYCACHEPREFIX": pyc, "OPENBLAS_NUM_THREADS": "1"} | more

    def start(self, head: list[str], environment: dict[str, str]) -> dict[str, tuple[float, float]]:
        """One fresh process; (wall, CPU) seconds by stage. Raises RuntimeError when it fails."""
        command = [*head, sys.executable, "-c", ONE_START, str(self.root / "picture.npy"), str(time.time())]
        done = subprocess.run(command, env=environment, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["a start failed"])[-1])
        found: dict[str, tuple[float, float]] = json.loads(done.stdout)
        return found


def lay_out(root: Path) -> Place:
    """Copy the package without its caches, and draw the picture."""
    without = shutil.ignore_patterns("__pycache__", "models")
    shutil.copytree(Path(streamdeid.__file__).parent, root / "site" / "streamdeid", ignore=without)
    shutil.copytree(shipped(), root / "site" / "streamdeid" / "models")
    (root / "home").mkdir()
    models = load_models(None)
    drawn = next(iter(synthetic_people(models.fitting, models.gallery, people=1, seconds=0.04, size=SIZE)))
    np.save(root / "picture.npy", np.ascontiguousarray(rectangle_to_rgb(drawn.frame.planes, 0, 0, *SIZE)[:, :, ::-1]))
    return Place(root)


def measure(runs: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Medians by state and stage. Raises RuntimeError when a start fails."""
    with tempfile.TemporaryDirectory() as directory:
        place = lay_out(Path(directory))
        found = {}

        def state(name: str, head: list[str], **more: str) -> None:
            starts = [place.start(head, place.environment(**more)) for _ in range(runs)]
            found[name] = {stage: (_median(starts, stage, 0), _median(starts, stage, 1)) for stage in starts[0]}

        _warm_up(place)
        state("warm", [])
        mount = ["unshare", "--mount", "sh", "-c", READ_ONLY, directory]
        if shutil.which("unshare") and not subprocess.run([*mount, "true"], check=False).returncode:
            state("read-only", mount)
            state("other processor", mount, NUMBA_CPU_NAME="haswell" if os.uname().machine == "x86_64" else "generic")
            for kernel in Path(directory).rglob("*.kernel"):
                kernel.unlink()
            state("bytecode", mount)
            state("empty", mount, PYTHONPYCACHEPREFIX=os.devnull)
    return found


def warm_starts(runs: int) -> dict[str, tuple[float, float]]:
    """Medians after a warm-up, (wall, CPU) seconds by stage. Raises RuntimeError when a start fails."""
    with tempfile.TemporaryDirectory() as directory:
        place = lay_out(Path(directory))
        _warm_up(place)
        starts = [place.start([], place.environment()) for _ in range(runs)]
    return {stage: (_median(starts, stage, 0), _median(starts, stage, 1)) for stage in starts[0]}


def _warm_up(place: Place) -> None:
    command = [sys.executable, "-c", "from streamdeid.cli.main import run; run()", "warmup", "--quiet"]
    subprocess.run(command, env=place.environment(), cwd=place.root, check=True)


def _median(starts: list[dict[str, tuple[float, float]]], stage: str, which: int) -> float:
    return statistics.median(start[stage][which] for start in starts)


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--runs", type=int, default=5, help="starts in each state (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    found = measure(given.runs)
    if given.json:
        print(as_json(found))
        return 0
    stages = list(next(iter(found.values())))
    rows = [
        [
            stage,
            *(f"{a:.3g}" if a == b else f"{a:.3f} / {b:.3f}" for a, b in (state[stage] for state in found.values())),
        ]
        for stage in stages
    ]
    print(markdown(["seconds, wall / CPU", *found], rows))
    return 0
