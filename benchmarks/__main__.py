"""Runs one benchmark, or says which there are.

    python -m benchmarks              # what there is, a line for each
    python -m benchmarks NAME --help  # what it takes, counts and prints
    python -m benchmarks NAME ...

A benchmark is a module in a folder here with a function `main(argv)` that returns the exit code; its name is the
module's, and the first line of its docstring says what it asks. Nothing is imported but the one that runs.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


def benchmarks() -> dict[str, tuple[str, str]]:
    """Folder and first line of the docstring of each benchmark, by its name. Raises ValueError for two of one name."""
    return _read(HERE)


@cache  # all files are parsed, .3 s, and the suite asks for each benchmark
def _read(place: Path) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(place.glob("*/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            continue
        if path.stem in found:
            raise ValueError(f"two benchmarks are called {path.stem}")
        found[path.stem] = path.parent.name, (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def listed() -> str:
    """The list of all benchmarks, by folder."""
    lines, folder = ["python -m benchmarks NAME ...  (NAME --help says more)"], ""
    for name, (where, question) in sorted(benchmarks().items(), key=lambda entry: entry[1][0]):
        lines += [] if where == folder else ["", where]
        lines.append(f"  {name:<23}{question}")
        folder = where
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Run the benchmark that the first word names with the other words; the exit code, 2 where there is none."""
    if not argv or argv[0] in ("-h", "--help"):
        print(listed())
        return 0
    name, *rest = argv
    known = benchmarks()
    if name not in known:
        print(f"there is no benchmark {name!r}\n\n{listed()}", file=sys.stderr)
        return 2
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program has it: read when NumPy is imported
    code: int = importlib.import_module(f"benchmarks.{known[name][0]}.{name}").main(rest)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
