"""How the command line speaks of what went wrong: one line, one exit code."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator

from streamdeid.errors import ExitCode, SettingsError, StreamdeidError


class UsageError(SettingsError):
    """The command line itself was wrong."""


class Stopped(BaseException):
    """A signal asked the run to end; no `except Exception` on the way out may hold it up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Let signals that end the run wait until the end of this block, in which something is made and put in safe hands.

    Between the making of a file and the beginning of the `with` that would remove it, a signal would leave it behind.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def explain(error: BaseException) -> tuple[ExitCode, str]:
    """Exit code and one line for the user."""
    if isinstance(error, StreamdeidError):
        return error.exit_code, one_line(error) or type(error).__name__
    if isinstance(error, Stopped):
        return ExitCode(128 + error.signal), "stopped; nothing was written under the final name"
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED, "stopped; nothing was written under the final name"
    if isinstance(error, BrokenPipeError):
        return ExitCode.OUTPUT, "standard output was closed"
    what = f"{type(error).__name__}: {one_line(error)}" if one_line(error) else type(error).__name__
    return ExitCode.FAILED_CLOSED, f"failed closed on an unexpected error ({what}); --debug tells more"


def complain(error: BaseException, *, debug: bool, about: str = "") -> ExitCode:
    """Print the line for an error on stderr, after its traceback with `debug`; the exit code."""
    code, line = explain(error)
    if debug:
        traceback.print_exception(type(error), error, error.__traceback__)
    print(f"streamdeid: {about}{line}", file=sys.stderr, flush=True)
    return code


def one_line(error: BaseException) -> str:
    """An error's message without line breaks."""
    return " ".join(str(error).split())


def set_up_logging(debug: bool) -> None:
    """Log lines go to stderr with `debug` only; the report has the counts for everybody else."""
    logger = logging.getLogger("streamdeid")
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.addHandler(logging.StreamHandler() if debug else logging.NullHandler())


def close_stdout() -> None:
    """Point a closed stdout to nowhere, or Python complains about it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
