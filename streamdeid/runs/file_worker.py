"""What the process of one recording does (`workers`): it filters it and says what came of it.

A process for each recording costs a start, a second; in return one that dies takes nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from streamdeid.report.redaction_report import FileReport, RunChoice
from streamdeid.runs.files import FileRun
from streamdeid.runs.workers import Told
from streamdeid.settings import Settings


@dataclass(frozen=True)
class FileTask:
    """One recording."""

    settings: Settings
    input: Path
    output: Path


@dataclass(frozen=True)
class Filtered:
    """What came of one that was filtered."""

    report: FileReport
    choice: RunChoice | None
    before: bool = False
    """Whether it was done by an earlier run, and is as that one left it."""


def begin() -> Callable[[FileTask, Told], Filtered]:
    """What filters recordings in a process of its own."""
    return lambda task, told: filter_here(task.settings, task.input, task.output)


def filter_here(settings: Settings, input: Path, output: Path, key: bytes | None = None) -> Filtered:
    """Filter one recording in this process; key: the key file's bytes, where the file itself is elsewhere.

    Raises InputError, SettingsError, ModelError, OutputError and FailedClosed.
    """
    with FileRun(settings, key) as run:
        report = run.filter(input, output)
        return Filtered(report, run.choice)
