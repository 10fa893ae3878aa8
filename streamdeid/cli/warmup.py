"""`streamdeid warmup`: compile all kernels once and keep them on disk."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from streamdeid.core.shown_text import say
from streamdeid.errors import ExitCode, OutputError
from streamdeid.runs.warm_up import warm_up

DESCRIPTION = """\
Run the whole filter once on drawn faces, so that its kernels are compiled and kept on disk. For images that are
read-only when they run, and for a quick first frame. Run it on the processor that will filter: another kind finds
kernels that are not its own and compiles again, in memory where it cannot write. An image for many kinds of machines
sets NUMBA_CPU_NAME=generic, both when it is built and when it runs.

Kernels are kept in NUMBA_CACHE_DIR where that is set, beside the installed package, or in the user's cache directory,
whichever can be written first. All of these are read, read-only or not. Missing bytecode of Python is written too.

Exit code 3: nothing could be kept, and every start will compile again."""

_ALSO_IMPORTED = ("filter", "progress")
"""Modules of this package that commands import besides the library; importing them writes their bytecode."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="fill this directory too, for programs with NUMBA_CACHE_DIR=DIR",
    )
    parser.add_argument("--quiet", action="store_true", help="no summary")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command. Raises OutputError, ModelError and FailedClosed."""
    for name in _ALSO_IMPORTED:
        importlib.import_module(f"streamdeid.cli.{name}")
    done = warm_up(arguments.cache)
    if done.kept < done.kernels:
        raise OutputError("no place for compiled kernels can be written: every start will compile again (see --help)")
    if not arguments.quiet:
        say(f"{done.kernels} kernels in {done.seconds:.1f} s, {done.compiled} compiled; they lie in")
        for place in done.places:
            say(f"  {place}")
        if done.bytecode:
            say(f"bytecode of {done.bytecode} modules was missing and was written")
    return ExitCode.DONE
