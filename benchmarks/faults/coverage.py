"""How much of the program do the tests run? By room, in lines and branches, against the least that each has to have.

    python -m benchmarks coverage [--workers 2] [--json] [PYTEST ARGUMENT ...]

The suite runs under coverage.py, child processes included, which takes one and a half times its time: that is why it
is a command of its own. Exit 1 where a room has less than `LEAST`, chosen two points below what was measured. Kernels
are compiled, so nobody sees them run, and are left out. Tests that fail under coverage.py are told and do not count:
those of what lies beside a child process see coverage.py there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of, positive

ROOT = Path(__file__).resolve().parents[2]
LEAST: dict[str, tuple[float, float]] = {
    "aam": (96, 92),
    "analysis": (96, 94),
    "cli": (84, 74),
    "core": (94, 88),
    "detection": (95, 93),
    "identity": (97, 96),
    "k_same": (98, 98),
    "lab": (96, 91),
    "observe": (97, 95),
    "protect": (97, 95),
    "render": (97, 90),
    "report": (95, 94),
    "review": (96, 93),
    "runs": (89, 82),
    "service": (93, 86),
    "streamdeid": (96, 98),
    "surrogates": (97, 94),
    "synthetic": (97, 92),
    "tracking": (97, 95),
    "video": (90, 81),
}
"""Per cent of lines and of branches that the tests of a room run at least."""
_SETTINGS = """[run]
branch = true
source_pkgs = streamdeid
parallel = true
patch = subprocess
data_file = {data}
[report]
exclude_also =
    if TYPE_CHECKING:
    @(overload|kernel|reordering_kernel)
    \\.\\.\\.$
"""


@dataclass
class Covered:
    """Lines and branches of a room, and how many of both were run."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    @property
    def shares(self) -> tuple[float, float]:
        """Per cent of lines and of branches; 100 of none."""
        return _share(self.lines_run, self.lines), _share(self.branches_run, self.branches)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite and print the table."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--workers", type=positive, default=2)
    parser.add_argument("--json", action="store_true")
    given, tests = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        settings = Path(directory) / "settings"
        settings.write_text(_SETTINGS.format(data=Path(directory) / "data"), encoding="utf-8")
        done = _coverage(settings, "run", "-m", "pytest", "-q", "-n", str(given.workers), *tests)
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        found = Path(directory) / "found.json"
        _coverage(settings, "combine", "--quiet").check_returncode()
        _coverage(settings, "json", "--quiet", "--ignore-errors", "-o", str(found)).check_returncode()
        rooms = by_room(json.loads(found.read_text(encoding="utf-8")))
    if given.json:
        print(as_json({room: one.shares for room, one in rooms.items()}))
    else:
        print(markdown(["room", "lines", "run, %", "branches", "run, %"], [_row(*one) for one in rooms.items()]))
    short = too_little(rooms)
    for line in (*failed, *short):
        print(line, file=sys.stderr)
    return 1 if short else 0


def by_room(found: dict[str, dict[str, dict[str, dict[str, int]]]]) -> dict[str, Covered]:
    """The rooms of coverage.py's JSON report, by name; files outside of any are `streamdeid`'s own. Copies of the
    program that tests install elsewhere do not count."""
    rooms: dict[str, Covered] = defaultdict(Covered)
    for file, told in found["files"].items():
        path = ROOT / file
        if not path.is_relative_to(ROOT / "streamdeid"):
            continue
        inside = path.relative_to(ROOT / "streamdeid").parts
        room, counts = rooms[inside[0] if len(inside) > 1 else "streamdeid"], told["summary"]
        room.lines += counts["num_statements"]
        room.lines_run += counts["covered_lines"]
        room.branches += counts["num_branches"]
        room.branches_run += counts["covered_branches"]
    return dict(sorted(rooms.items()))


def too_little(rooms: dict[str, Covered], least: dict[str, tuple[float, float]] | None = None) -> list[str]:
    """What is below the least, in words; a room that has no least yet is told, too."""
    asked = LEAST if least is None else least
    lines = [f"{room} has no least share" for room in rooms if room not in asked]
    for room, one in rooms.items():
        for what, share, bar in zip(("lines", "branches"), one.shares, asked.get(room, (0.0, 0.0)), strict=True):
            if share < bar:
                lines.append(f"{room}: {share:.1f} % of the {what} are run, {bar:.0f} are needed")
    return lines


def _share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def _row(room: str, one: Covered) -> list[object]:
    lines, branches = one.shares
    return [room, one.lines, f"{lines:.1f}", one.branches, f"{branches:.1f}"]


def _coverage(settings: Path, word: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coverage", word, f"--rcfile={settings}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
