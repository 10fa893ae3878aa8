"""Running a command and asking the kernel what it cost."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COMMAND = (sys.executable, "-c", "from streamdeid.cli.main import run; raise SystemExit(run())")
"""`streamdeid`, whether or not it is installed as a script."""


@dataclass(frozen=True)
class Ran:
    """A command that ended."""

    exit_code: int
    cpu_seconds: float
    """User and system time of the process, all its threads."""
    peak_mib: float
    """Largest resident set, and no less than what this process has when it starts the command (Linux)."""
    output: str
    """Standard output."""
    complaint: str
    """Last line of standard error."""


_OF_VERSION = """
import importlib, sys
here, tree, module, *words = sys.argv[1:]
sys.path.insert(0, here)
import benchmarks  # this one, whatever the other version has
sys.path.insert(0, tree)
raise SystemExit(importlib.import_module(module).main(words))
"""


def of_version(tree: Path, module: str, *words: str | Path) -> list[str]:
    """The command that runs `main(words)` of a module of this `benchmarks` with the `streamdeid` of another tree, which
    has to have what the module imports of it."""
    here = Path(__file__).resolve().parent.parent
    return [sys.executable, "-c", _OF_VERSION, str(here), str(tree.resolve()), module, *map(str, words)]


def with_repository() -> str:
    """A PYTHONPATH by which a process finds this repository first."""
    return os.pathsep.join(filter(None, [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")]))


def children_of(process: int) -> list[int]:
    """Processes that a process started and that run (Linux)."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def ran(command: Sequence[str | Path]) -> Ran:
    """Run a command to its end, with the repository on its path."""
    # One BLAS thread, as the command line sets it for itself: more of them only spin.
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": with_repository()}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=err, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # or Popen warns that it was never waited for
        out.seek(0)
        err.seek(0)
        lines = err.read().decode(errors="replace").strip().splitlines()
        text = out.read().decode(errors="replace")
    return Ran(
        process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text, lines[-1] if lines else ""
    )
