"""What every run over files checks before it begins, and does when it is over."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from streamdeid.cli.error_text import UsageError
from streamdeid.errors import ExitCode, OutputError
from streamdeid.report.redaction_report import Choice, FileFailure, FileReport, Report, write_report
from streamdeid.runs.files import chosen_by
from streamdeid.settings import Settings

_MOST_WORKERS = 256


def check_run(arguments: argparse.Namespace) -> None:
    """Raise UsageError for a number of workers that cannot be, OutputError for a report that cannot be written."""
    if not 1 <= arguments.workers <= _MOST_WORKERS:
        raise UsageError(f"--workers is from 1 to {_MOST_WORKERS}, not {arguments.workers}")
    if arguments.report is not None and not arguments.report.absolute().parent.is_dir():
        raise OutputError(f"{arguments.report} cannot be written: its directory does not exist")


def ended(
    results: Mapping[int, FileReport | FileFailure],
    choice: Choice | None,
    settings: Settings,
    arguments: argparse.Namespace,
) -> ExitCode:
    """Write the report if one is wanted; the exit code of the worst file. Raises OutputError.

    results: by number of the file. choice: None where no file was filtered in this run.
    """
    done = tuple(one for _, one in sorted(results.items()) if isinstance(one, FileReport))
    failed = tuple(one for _, one in sorted(results.items()) if isinstance(one, FileFailure))
    if arguments.report is not None:
        if choice is None and done:
            choice = chosen_by(settings)
        write_report(arguments.report, Report(choice, done, failed))
    return ExitCode(max((failure.exit_code for failure in failed), default=ExitCode.DONE))
