"""The journal of a run whose results go to an address: nothing can be appended there, so each has a file.

It lies in a folder beside the results, written when the result is whole. Two runs at a time are not kept apart, since
no address has a lock; each result is whole all the same.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from streamdeid.report.redaction_report import FileReport
from streamdeid.runs.archive import join, listed, read_small, write_small
from streamdeid.runs.journal import line_of, report_of

FOLDER = ".streamdeid-journal"
_AT_ONCE = 200
_MOST_BYTES = 1 << 20
"""A larger file is no line of a journal."""


class KnownResults(Protocol):
    """What earlier runs did, as a journal of either kind tells it."""

    def known(self, name: str) -> FileReport | None:
        """What is written down of an output of this name; whether it is so still, nobody has looked."""

    def add(self, report: FileReport) -> None:
        """Write down that an output is whole. Raises OutputError."""


class ArchiveJournal:
    """The journal of one folder at an address."""

    def __init__(self, folder: str, digest: str) -> None:
        """digest: `journal.settings_digest` of the run. Raises InputError."""
        self._folder, self._digest = join(folder, FOLDER), digest
        self._done: dict[str, FileReport] = {}
        """By the output's name, of runs with these settings."""
        found = listed(self._folder, lambda name: name.endswith(".json")) or []
        places = [one.address for one in found if one.bytes <= _MOST_BYTES]
        for begin in range(0, len(places), _AT_ONCE):
            for line in read_small(places[begin : begin + _AT_ONCE]):
                report = report_of(line, digest)
                if report is not None:
                    self._done[report.output.name] = report

    def known(self, name: str) -> FileReport | None:
        """What is written down of an output of this name; whether it is so still, nobody has looked."""
        return self._done.get(name)

    def add(self, report: FileReport) -> None:
        """Write down that an output is whole. Raises OutputError."""
        name = hashlib.sha256(report.output.name.encode(errors="surrogatepass")).hexdigest()[:32]
        write_small(join(self._folder, f"{name}.json"), line_of(report, self._digest).encode())
