"""What the process of one recording does (`workers`): it filters the recording and returns the result.

A process for each recording costs a start of one second. In return, a process that dies takes nothing else with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from streamdeid.report.redaction_report import FileReport, RunChoice
from streamdeid.runs.files import FileRun
from streamdeid.runs.workers import Told
from streamdeid.settings import Settings


@dataclass(frozen=True)
class FileTask:
    """One recording to be filtered: settings, input and output."""

    settings: Settings
    input: Path
    output: Path
    key: bytes | None = field(default=None, repr=False)
    """The key file's bytes, which the run has read: the file may be a pipe, which can be read once."""


@dataclass(frozen=True)
class Filtered:
    """The result of a recording that was filtered."""

    report: FileReport
    choice: RunChoice | None
    before: bool = False
    """Whether an earlier run filtered the recording, and its output has not changed since."""


def begin() -> Callable[[FileTask, Told], Filtered]:
    """The function that filters recordings in a process of its own."""
    return lambda task, told: filter_here(task.settings, task.input, task.output, task.key)


def filter_here(settings: Settings, input: Path, output: Path, key: bytes | None = None) -> Filtered:
    """Filter one recording in this process; key: the key file's bytes, None to read it.

    Raises InputError, SettingsError, ModelError, OutputError and FailedClosed.
    """
    with FileRun(settings, key) as run:
        report = run.filter(input, output)
        return Filtered(report, run.choice)
