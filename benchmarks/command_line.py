"""How each benchmark reads its command line: its name is the module's, its help the module's docstring."""

from __future__ import annotations

import argparse


def parser_of(module: str, help_text: str | None) -> argparse.ArgumentParser:
    """A parser for a benchmark, given its `__name__` and `__doc__`."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks {module.rpartition('.')[2]}",
        description=help_text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def positive(word: str) -> int:
    """A number of the command line that is one at least; ValueError, which `argparse` tells, for another."""
    if (number := int(word)) < 1:
        raise ValueError("at least one")
    return number
