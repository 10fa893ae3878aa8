"""How the command line reports errors: as one line and one exit code, and never with a password of an address."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import threading
import traceback
from types import TracebackType

from streamdeid.core.addresses import scrubbed
from streamdeid.core.shown_text import plain, say
from streamdeid.errors import ExitCode, SettingsError, StreamdeidError


class UsageError(SettingsError):
    """The command line itself is wrong."""


class Stopped(BaseException):
    """A signal asked the run to end; it is a BaseException, so that no `except Exception` catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


_asked: list[int] = []
"""The number of the signal that asked the run to end; empty if none did."""


def ask_to_stop(number: int) -> None:
    """Remember that a signal asked the run to end; `check_stopped` raises it again.

    The exception that the signal's handler raises may get lost. C code that asks an object for an attribute takes any
    exception for "there is no such attribute" (numpy and numba do), and other code turns it into an error of its own.
    """
    _asked[:] = [number]


def begin_again() -> None:
    """Forget earlier signals, because a new run begins."""
    _asked.clear()


def asked_to_stop() -> Stopped | None:
    """The exception for the signal that asked the run to end; None if none did."""
    return Stopped(_asked[0]) if _asked else None


def check_stopped() -> None:
    """Raise Stopped if a signal asked the run to end."""
    asked = asked_to_stop()
    if asked is not None:
        raise asked


def explain(error: BaseException) -> tuple[ExitCode, str]:
    """The exit code of an error, and one line about it for the user."""
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
    """Print the line for an error on stderr, with `debug` after its traceback; return the exit code."""
    code, line = explain(error)
    if debug:
        _print_traceback(type(error), error, error.__traceback__)
    say(f"streamdeid: {about}{line}", to=sys.stderr)
    return code


def one_line(error: BaseException) -> str:
    """An error's message without line breaks, passwords and characters that could control a terminal."""
    return plain(" ".join(scrubbed(str(error)).split()))


def set_up_logging(debug: bool) -> None:
    """Set up logging: log lines go to stderr with `debug` only; without it, the report has the counts."""
    logger = logging.getLogger("streamdeid")
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    handler = logging.StreamHandler() if debug else logging.NullHandler()
    handler.addFilter(_scrub_record)
    logger.addHandler(handler)
    if logging.lastResort is not None:  # it prints the warnings of libraries
        logging.lastResort.addFilter(_scrub_record)


def hide_passwords() -> None:
    """Hide passwords of addresses in the process's title and in tracebacks of uncaught exceptions.

    For some milliseconds before this, while Python starts, `ps` shows the command line as it was typed. The shell's
    history and /proc/PID/environ must be protected by the user; with a file for `streamdeid serve` neither holds a
    password.
    """
    words = list(map(scrubbed, sys.orig_argv))
    if words != sys.orig_argv:
        from setproctitle import setproctitle

        setproctitle(plain(shlex.join(words)))
    sys.excepthook = _print_traceback
    threading.excepthook = lambda gone: _print_traceback(gone.exc_type, gone.exc_value, gone.exc_traceback)


def _print_traceback(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None = None
) -> None:
    if not issubclass(kind, SystemExit):
        say(scrubbed("".join(traceback.format_exception(kind, error, trace))), to=sys.stderr, end="", keep="\n\t")


def _scrub_record(record: logging.LogRecord) -> bool:
    """Remove passwords and characters that could control a terminal from a log record, in place, for all handlers."""
    try:
        message = record.getMessage()
    except Exception:  # the record's arguments do not fit, and logging would print them
        message = str(record.msg)
    record.msg, record.args = plain(scrubbed(message)), None
    if record.exc_info:
        trace = "".join(traceback.format_exception(*record.exc_info))
        record.exc_text = plain(scrubbed(trace), keep="\n\t").rstrip()
        record.exc_info = None
    if record.stack_info:
        record.stack_info = scrubbed(record.stack_info)
    return True


def close_stdout() -> None:
    """Redirect a closed stdout to the null device; otherwise Python reports it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
