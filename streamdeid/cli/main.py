"""The entry point of the command line, `streamdeid COMMAND`: it imports the module of the command and runs it."""

from __future__ import annotations

import argparse
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module, metadata
from types import FrameType, ModuleType
from typing import NoReturn

from streamdeid.cli.error_text import (
    Stopped,
    UsageError,
    ask_to_stop,
    asked_to_stop,
    begin_again,
    close_stdout,
    complain,
    hide_passwords,
    set_up_logging,
)
from streamdeid.core.core_files import no_core_files
from streamdeid.core.process_end import end_with

_COMMANDS = {
    "filter": "replace the faces in video files",
    "serve": "filter several cameras as a service, with health, metrics and a preview page",
    "register": "list, forget or expire the people of a register that runs share",
    "review": "look at what was redacted in a recording, and mend it",
    "demo": "synthesise a clip of talking people and filter it; needs no video",
    "compare": "draw a sheet of faces before and after",
    "train": "train the models from photographs",
    "evaluate": "reproduce the papers, attack the methods, measure what is kept",
    "audit": "say what a finished run guarantees and what it counted",
    "warmup": "compile everything once, for read-only images and a quick first frame",
}


def run() -> NoReturn:
    """Run the program, and end the process with the exit code."""
    no_core_files()  # the memory holds faces and keys
    hide_passwords()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a closed stream is None
            stream.reconfigure(errors="backslashreplace")  # a character that the terminal lacks must not be an error
    gc.disable()  # until all is imported (`main`): collecting while memory only grows takes a tenth of the start
    # Read when NumPy is imported. The products here are small: more BLAS threads only spin, with 40 % of the CPU time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if "--debug" not in sys.argv and not sys.warnoptions:
        warnings.simplefilter("ignore")  # stderr gets one line, and no warnings of libraries
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # a shell's background job goes on ignoring Ctrl-C
            signal.signal(number, _stop)
    if sys.argv[1:2] == ["serve"] and hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # SIGHUP would end a service that is still being imported
    end_with(main)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name) and return the exit code. Any error is one line on stderr."""
    words = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in words
    set_up_logging(debug)
    begin_again()
    try:
        arguments = _parsed(words)
        if not gc.isenabled():
            gc.freeze()  # modules stay in memory: they need not be searched again and again
            gc.enable()
        return int(_module(arguments.command).run(arguments))
    except SystemExit as ended:  # argparse, after --help and --version
        return int(ended.code or 0)
    except BrokenPipeError as error:
        close_stdout()
        return int(complain(error, debug=debug))
    except (Exception, KeyboardInterrupt, Stopped) as error:
        return int(complain(asked_to_stop() or error, debug=debug))


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of a command line. Raises UsageError."""
    arguments, rest = _parser(words).parse_known_args(words)
    if rest:
        # argparse takes files only up to the first option; `filter in.mp4 --quiet out.mp4` means the same.
        if any(word.startswith("-") for word in rest) or not hasattr(arguments, "arguments"):
            _usage_error(f"unrecognized arguments: {' '.join(rest)}")
        arguments.arguments += rest
    return arguments


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser. Only the named command is imported, so that usage errors and help come at once."""
    parser = argparse.ArgumentParser(
        "streamdeid", description="A privacy filter for video: every face is replaced by a synthetic one."
    )
    parser.add_argument("--version", action="version", version=f"streamdeid {metadata.version('streamdeid')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = next((word for word in words if word in _COMMANDS), None)
    parsers = [parser]
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        parsers.append(command)
        if name == named:
            module = _module(name)
            command.description = module.DESCRIPTION
            module.add_arguments(command)
            command.add_argument("--debug", action="store_true", help="show tracebacks and the libraries' own messages")
    for each in parsers:
        # argparse would print its usage and exit; here every error is one line and is handled in one place.
        each.error = _usage_error  # type: ignore[method-assign]
    return parser


def _module(command: str) -> ModuleType:
    """The module of a command: one of this package, or one that another package offers by an entry point."""
    for one in metadata.entry_points(group="streamdeid.commands", name=command):
        return import_module(one.value)
    return import_module(f"streamdeid.cli.{command}")


def _usage_error(message: str) -> NoReturn:
    raise UsageError(f"{message} (see --help)")


def _stop(number: int, frame: FrameType | None) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)  # a second signal must not interrupt the clean-up
    ask_to_stop(number)
    raise Stopped(number)
