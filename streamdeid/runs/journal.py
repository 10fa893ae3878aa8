"""The journal of a run over a folder: a line in the output folder for each step, so that a stopped run can go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from glob import escape
from pathlib import Path
from typing import Any

from streamdeid.core.atomic_file import reason_of, remove
from streamdeid.core.file_lock import locked
from streamdeid.errors import InputError, OutputError
from streamdeid.report.audit import file_report_of
from streamdeid.report.redaction_report import FileReport, FileSide, versions
from streamdeid.runs.analysed import key_check
from streamdeid.runs.session import Session

NAME = ".streamdeid-journal.jsonl"
_MOST_BYTES = 1 << 28
"""Bytes of the largest journal that is read: a hundred thousand files take a tenth of this."""
_NO_MATTER = ("overwrite", "detector_deadline", "key_file", "models")
"""Settings on which no result depends, and settings whose files are identified by their content."""


def settings_digest(session: Session) -> str:
    """SHA-256 of all that a result depends on besides its recording; it reveals nothing of the key."""
    settings, models = session.settings, session.models
    told = {one.name: str(getattr(settings, one.name)) for one in fields(settings) if one.name not in _NO_MATTER}
    told |= {"model": models.fitting.model.sha256, "gallery": models.gallery.sha256, "key": key_check(session.key)}
    told |= {f"version of {name}": version for name, version in versions().items()}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


class Journal:
    """The journal of one folder. Hold `lock` around all use of it."""

    def __init__(self, folder: Path, digest: str) -> None:
        """digest: `settings_digest` of the run. Raises InputError for a file that is no journal."""
        self.path = folder / NAME
        self._digest = digest
        self._done: dict[str, FileReport] = {}
        """By name of the output: reports of runs with these settings."""
        self._begun: set[str] = set()
        """Names of outputs that a run with these settings was to make, and that did not exist before."""
        for told in self._read():
            if isinstance(told, FileReport):
                self._done[told.output.name] = told
                self._begun.discard(told.output.name)
            else:
                self._begun |= told

    @staticmethod
    def lock(folder: Path) -> AbstractContextManager[None]:
        """A lock that lets one run at a time use a folder. Raises SettingsError and OutputError."""
        return locked(folder / NAME, "in use: another run writes to this folder")

    def done(self, recording: Path, output: Path) -> FileReport | None:
        """The report of an existing output that was made of this very recording with these settings; None otherwise."""
        report = self._done.get(output.name)
        if report is None or not output.is_file() or output.is_symlink() or not recording.is_file():
            return None
        for path, side in ((output, report.output), (recording, report.input)):
            if path.name != side.name or path.stat().st_size != side.bytes or FileSide.of(path) != side:
                return None
        return report

    def known(self, name: str) -> FileReport | None:
        """The report in the journal for an output of this name; whether it still holds is not checked."""
        return self._done.get(name)

    def begin(self, outputs: Iterable[Path]) -> None:
        """Write down which outputs are to be made. An output that an earlier run began and that exists, but was not
        written down as whole (that run was stopped between the two), is removed and made again. Raises OutputError."""
        names = []
        for output in outputs:
            if output.name in self._begun:
                if output.is_file() and not output.is_symlink():
                    remove(output)
                for left in output.parent.glob(f".{escape(output.stem)}.partial-*"):  # of a killed process
                    remove(left)
            if not os.path.lexists(output):
                names.append(output.name)
        if names:
            self._write({"begun": names})

    def add(self, report: FileReport) -> None:
        """Write down that an output is whole. Raises OutputError."""
        self._write({"report": asdict(report)})

    def _write(self, told: dict[str, Any]) -> None:
        line = line_of(told, self._digest)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(self.path, flags, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(descriptor)
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written: {reason_of(error)}") from error

    def _read(self) -> Iterator[FileReport | set[str]]:
        """Reports, and names of outputs that were begun, of runs with these settings.

        A line that was cut off, as by a power cut, is passed over."""
        if not self.path.exists() and not self.path.is_symlink():
            return
        if self.path.is_symlink() or not self.path.is_file() or self.path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{self.path} is no journal of this program; remove it")
        try:
            lines = self.path.read_bytes().splitlines(keepends=True)
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {reason_of(error)}") from error
        if lines and not lines[-1].endswith(b"\n"):
            self._end_line()
        for line in lines:
            told = told_by(line, self._digest)
            if told is not None:
                yield told

    def _end_line(self) -> None:
        """End the last line, so that the next entry begins on a line of its own."""
        try:
            with self.path.open("ab") as file:
                file.write(b"\n")
        except OSError as error:
            raise OutputError(f"{self.path} cannot be written: {reason_of(error)}") from error


def line_of(told: dict[str, Any], digest: str) -> str:
    """A line of a journal, of a run with these settings."""
    return json.dumps({"settings": digest, **told}, allow_nan=False) + "\n"


def told_by(line: bytes, digest: str) -> FileReport | set[str] | None:
    """The report or the begun names in a line of a run with these settings; None for another line or an invalid one."""
    try:
        value: Any = json.loads(line)
        if not isinstance(value, dict) or value.get("settings") != digest:
            return None
        if isinstance(value.get("begun"), list):
            return {str(name) for name in value["begun"]}
        return file_report_of(value.get("report"))
    except (ValueError, RecursionError, OverflowError):
        return None
