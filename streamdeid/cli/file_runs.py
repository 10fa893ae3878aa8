"""The checks before every run over files, and the report and the exit code after it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from streamdeid.cli.error_text import UsageError
from streamdeid.core.named_files import JOURNAL, LOCK, REPORT, Named, check_named, lock_of
from streamdeid.core.shown_text import say
from streamdeid.errors import ExitCode
from streamdeid.report.redaction_report import (
    FileFailure,
    FileReport,
    Report,
    RunChoice,
    check_report_path,
    write_report,
)
from streamdeid.runs.asked_for import chosen_by
from streamdeid.runs.named_by_settings import files_of_run
from streamdeid.settings import Settings
from streamdeid.surrogates.key import warning_of

_MOST_WORKERS = 256


def check_run(
    arguments: argparse.Namespace,
    settings: Settings,
    jobs: Iterable[tuple[Path | None, Path | None]],
    journal: Path | None,
) -> None:
    """Check a run's workers, files and report before it begins.

    Raises UsageError for an impossible number of workers, SettingsError if one file would have two roles, and as
    `check_report_path` does for a report that cannot be written. jobs: inputs and outputs; None for one that is not a
    file of this machine. journal: its path, if one is kept.
    """
    if not 1 <= arguments.workers <= _MOST_WORKERS:
        raise UsageError(f"--workers is from 1 to {_MOST_WORKERS}, not {arguments.workers}")
    named = list(files_of_run(settings, jobs, arguments.analysis, arguments.edits))
    if journal is not None:
        named += [Named(JOURNAL, journal), Named(LOCK, lock_of(journal))]
    if arguments.report is not None:
        named.append(Named(REPORT, arguments.report))
    check_named("filter", named)
    if arguments.report is not None:
        check_report_path(arguments.report, overwrite=settings.overwrite)


def warn_of_key(settings: Settings) -> None:
    """Warn on standard error if everybody may read the key file. Call it after the file was read."""
    warning = None if settings.key_file is None else warning_of(settings.key_file)
    if warning is not None:
        say(f"streamdeid: {warning}", to=sys.stderr)


def ended(
    results: Mapping[int, FileReport | FileFailure],
    choice: RunChoice | None,
    settings: Settings,
    arguments: argparse.Namespace,
    key: bytes | None,
) -> ExitCode:
    """Write the report if one is wanted, and return the exit code of the worst file. Raises OutputError.

    results: by number of the file. choice: None if no file was filtered in this run. key: the key file's bytes.
    """
    done = tuple(one for _, one in sorted(results.items()) if isinstance(one, FileReport))
    failed = tuple(one for _, one in sorted(results.items()) if isinstance(one, FileFailure))
    if arguments.report is not None:
        if choice is None and done:
            choice = chosen_by(settings, key)
        write_report(arguments.report, Report(choice, done, failed), overwrite=settings.overwrite)
    return ExitCode(max((failure.exit_code for failure in failed), default=ExitCode.DONE))
