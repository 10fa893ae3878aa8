"""Running a command and asking the kernel what it cost."""

from __future__ import annotations

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


def ran(command: Sequence[str | Path]) -> Ran:
    """Run a command to its end, with the repository on its path."""
    root = Path(__file__).parent.parent
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    # One BLAS thread, as the command line sets it for itself: more of them only spin.
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
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
