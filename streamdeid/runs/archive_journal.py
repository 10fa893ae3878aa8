"""The journal of a run whose results go to an address: nothing can be appended there, so each result has a file.

The files lie in a folder beside the results; each is written when its result is whole. Two runs at the same time are
not kept apart, since no address has a lock, but each result is whole all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from streamdeid.report.redaction_report import FileReport
from streamdeid.runs.archive import join, listed, name_of, read_small, write_small
from streamdeid.runs.journal import line_of, told_by

FOLDER = ".streamdeid-journal"
_AT_ONCE = 200
_MOST_BYTES = 1 << 26
"""Largest size of a file with a line of a journal; larger files are ignored."""


class ArchiveJournal:
    """The journal of one folder at an address."""

    def __init__(self, folder: str, digest: str) -> None:
        """digest: `journal.settings_digest` of the run. Raises InputError."""
        self._results, self._folder, self._digest = folder, join(folder, FOLDER), digest
        self._done: dict[str, FileReport] = {}
        """By name of the output: reports of runs with these settings."""
        self._begun: set[str] = set()
        """Names of outputs that a run with these settings was to make, and that did not exist before."""
        found = listed(self._folder, lambda name: name.endswith(".json")) or []
        places = [one.address for one in found if one.bytes <= _MOST_BYTES]
        for begin in range(0, len(places), _AT_ONCE):
            for line in read_small(places[begin : begin + _AT_ONCE]):
                told = told_by(line, digest)
                if isinstance(told, FileReport):
                    self._done[told.output.name] = told
                elif told is not None:
                    self._begun |= told

    def known(self, name: str) -> FileReport | None:
        """The report in the journal for an output of this name; whether it still holds is not checked."""
        return self._done.get(name)

    def begin(self, names: Sequence[str]) -> set[str]:
        """Write down which outputs are to be made; returns the names of those that may be replaced.

        An output may be replaced if it is there and a run with these settings was to make it, but was stopped before it
        wrote that the output is whole. Raises InputError and OutputError.
        """
        there = {name_of(one.address) for one in listed(self._results, lambda name: True) or []}
        made = {name for name in names if name in there and name in self._begun and name not in self._done}
        begun = self._begun | {name for name in names if name not in there}
        self._write(f"begun-{self._digest[:16]}", {"begun": sorted(begun)})
        return made

    def add(self, report: FileReport) -> None:
        """Write down that an output is whole. Raises OutputError."""
        name = hashlib.sha256(report.output.name.encode(errors="surrogatepass")).hexdigest()[:32]
        self._write(name, {"report": asdict(report)})

    def _write(self, name: str, told: dict[str, Any]) -> None:
        write_small(join(self._folder, f"{name}.json"), line_of(told, self._digest).encode())
