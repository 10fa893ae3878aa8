"""Does the suite notice when the program is wrong? Faults put into its source one at a time, and the tests run.

    python -m benchmarks mutations [--rooms protect identity surrogates detection] [--count 30] [--seed 0] [--workers 2]
        [--json]

Each mutation changes one place, drawn by the seed: a comparison is turned round, `and` and `or` change places, a `not`
goes, a sum becomes a difference, a number is made half as large again. The tests of its room run (`tests/ROOM`, the
first failure ends them); where those pass, three files of `tests/runs` that filter drawn people. A mutation that all
pass has survived: it changes nothing, or nobody would notice. Everything happens in a copy of the files that git knows.

Numbers are exact counts; with --count 30 a share is known to about a sixth. A mutation takes 20 to 90 s.
"""

from __future__ import annotations

import ast
import itertools
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of, positive

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("protect", "identity", "surrogates", "detection")
_SECOND = ("tests/runs/test_assemble.py", "tests/runs/test_filter_library.py", "tests/runs/test_step.py")
_TURNED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
_NO_SUM = {ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr}
_DEADLINE = 1200.0
"""Seconds from which the tests count as having noticed: a mutation may never end."""


@dataclass(frozen=True)
class Mutation:
    """One place of a file that is changed."""

    path: str
    line: int
    start: int
    """Bytes of the file before it."""
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Change the file below a root."""
        self._put(root, self.old, self.new)

    def undo(self, root: Path) -> None:
        """Take it back."""
        self._put(root, self.new, self.old)

    def _put(self, root: Path, there: str, instead: str) -> None:
        data = (root / self.path).read_bytes()
        after = data[self.start + len(there.encode()) :]
        (root / self.path).write_bytes(data[: self.start] + instead.encode() + after)


def mutations(source: str, path: str) -> Iterator[Mutation]:
    """Every mutation of the functions and constants of a module. Annotations and strings stay as they are."""
    data = source.encode()
    starts = [0, *itertools.accumulate(map(len, data.splitlines(keepends=True)))]

    def text(node: ast.expr) -> str:
        assert node.end_lineno is not None and node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return data[starts[node.lineno - 1] + node.col_offset : end].decode()

    for node in _mutable(ast.parse(source)):
        new = _changed(node, text)
        if new is not None:
            yield Mutation(path, node.lineno, starts[node.lineno - 1] + node.col_offset, text(node), new)


def _mutable(tree: ast.AST) -> Iterator[ast.expr]:
    """Expressions that are computed: no annotations, no decorators, no strings that hold some."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST) and not isinstance(one, ast.JoinedStr):
                if isinstance(one, ast.expr):
                    yield one
                yield from _mutable(one)


def _changed(node: ast.expr, text: Callable[[ast.expr], str]) -> str | None:
    """What an expression becomes; None where it stays."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
        return f"{text(node.left)} {_TURNED[type(node.ops[0])]} {text(node.comparators[0])}"
    if isinstance(node, ast.BoolOp):
        return f" {'or' if isinstance(node.op, ast.And) else 'and'} ".join(f"({text(value)})" for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"bool({text(node.operand)})"
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and not {type(node.left), type(node.right)} & _NO_SUM
    ):
        return f"{text(node.left)} - {text(node.right)}"
    if isinstance(node, ast.Constant) and type(node.value) is float and node.value not in (0.0, 1.0):
        return repr(1.5 * node.value)
    return None


def drawn(root: Path, rooms: Sequence[str], count: int, seed: int) -> list[Mutation]:
    """So many mutations of some rooms, as many of each as near as can be. Raises ValueError for a room that is none."""
    source, found = random.Random(seed), []
    for row, room in enumerate(rooms):
        paths = sorted((root / "streamdeid" / room).rglob("*.py"))
        if not paths:
            raise ValueError(f"there is no room {room!r}")
        here = [one for path in paths for one in mutations(path.read_text("utf-8"), str(path.relative_to(root)))]
        found += source.sample(here, min(len(here), count // len(rooms) + (row < count % len(rooms))))
    return found


def noticed(root: Path, mutation: Mutation, workers: int) -> str:
    """Which tests notice it: the first that fails, or "" where none does."""
    room = Path(mutation.path).parts[1]
    mutation.apply(root)
    try:
        for places in ((f"tests/{room}",), _SECOND):
            failed = _failed(root, places, workers)
            if failed:
                return failed
        return ""
    finally:
        mutation.undo(root)


def _failed(root: Path, places: Sequence[str], workers: int) -> str:
    """The first test of some places that fails; "" where all pass."""
    beside = ["-n", str(workers)] if workers > 1 else []
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *beside, *places]
    try:
        done = subprocess.run(pytest, cwd=root, capture_output=True, text=True, check=False, timeout=_DEADLINE)
    except subprocess.TimeoutExpired:
        return "it did not end"
    if done.returncode == 0:
        return ""
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return told[0].split(" - ")[0].partition(" ")[2] if told else "the tests did not begin"


def copied(directory: Path) -> Path:
    """A copy of the files that git knows, as they are now."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, directory / name)
    return directory


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), metavar="NAME", help="folders of streamdeid/")
    parser.add_argument("--count", type=positive, default=30, metavar="N", help="mutations")
    parser.add_argument("--seed", type=int, default=0, help="which")
    parser.add_argument("--workers", type=positive, default=2, metavar="N", help="processes for the tests")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        root = copied(Path(directory))
        try:
            chosen = drawn(root, given.rooms, given.count, given.seed)
        except ValueError as error:
            parser.error(str(error))
        rows: list[dict[str, object]] = []
        for one in chosen:
            found = noticed(root, one, given.workers)
            rows.append(
                {"place": f"{one.path}:{one.line}", "was": one.old, "is": one.new, "noticed by": found or "nobody"}
            )
            print(len(rows), *rows[-1].values(), sep=" | ", file=sys.stderr, flush=True)
    caught = sum(row["noticed by"] != "nobody" for row in rows)
    if given.json:
        print(as_json({"mutations": rows, "noticed": caught, "of": len(rows)}))
    else:
        print(markdown(list(rows[0]), [[str(cell) for cell in row.values()] for row in rows]))
        print(f"\n{caught} of {len(rows)} were noticed")
    return 0
