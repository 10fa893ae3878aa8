"""Opens a recording for review: reads its analysis, its output and its edits, and checks that they fit together."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from streamdeid.analysis.columns import columns_of
from streamdeid.analysis.edits import Edits
from streamdeid.analysis.edits_check import check_edits
from streamdeid.analysis.edits_file import read_edits, write_edits
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import Analysis
from streamdeid.core.file_identity import FileIdentity
from streamdeid.core.frames import MOST_PIXELS
from streamdeid.core.shown_text import plain
from streamdeid.errors import InputError
from streamdeid.report.redaction_report import sha256_of
from streamdeid.review.app import Open
from streamdeid.review.desk import Desk, Names
from streamdeid.review.doubts import doubts
from streamdeid.review.pictures import Pictures
from streamdeid.review.recorded import Recorded


@dataclass(frozen=True)
class Files:
    """The files of a review."""

    recording: Path
    output: Path
    """The video that was published of the recording."""
    analysis: Path
    edits: Path
    """The edits file, which need not exist yet."""


def open_review(files: Files, reviewer: str = "", most_pixels: float = MOST_PIXELS) -> Open:
    """Read all files of a review. The caller must hold the lock of the edits file.

    reviewer: name to keep with the edits, empty for none. most_pixels: millions of pixels that a picture may have.
    Raises InputError for files that cannot be read or that are not of one recording, SettingsError for edits that do
    not fit it.
    """
    seen = {path: FileIdentity.of(path) for path in (files.recording, files.output)}
    with ThreadPoolExecutor(2, "hash") as threads:  # hashing waits for the disk; the columns need not wait
        hashes = [threads.submit(sha256_of, path) for path in (files.recording, files.output)]
        analysis = read_analysis(files.analysis)
        columns = columns_of(analysis.frames)
        recorded = Recorded.of(analysis, columns)
        size = recorded.width, recorded.height
        pictures = Pictures(files.recording, files.output, recorded.times, size, most_pixels=most_pixels)
        pictures.prepare()
    sha256, output = (one.result() for one in hashes)
    for path, identity in seen.items():
        identity.check(path)  # the hash must be that of the file that is looked at
    if analysis.header.input.sha256 != sha256:
        raise InputError(f"{files.analysis} is of another recording than {files.recording}")
    edits = read_edits(files.edits) if os.path.lexists(files.edits) else Edits(sha256, len(analysis.frames))
    check_edits(analysis, edits, recorded.places)
    edits = replace(edits, places_sha256=recorded.places.fingerprint)
    _check_output(files, output, analysis, edits)

    rights = os.stat(files.recording).st_mode & 0o666

    def save(changed: Edits) -> None:
        if reviewer:
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            changed = replace(changed, reviewer=reviewer, reviewed=now)
        write_edits(files.edits, changed, mode=rights)

    names = Names(plain(files.recording.name), plain(files.output.name), plain(files.edits.name))
    desk = Desk(names, recorded, doubts(analysis, columns), edits, save)
    return Open(pictures, desk)


def _check_output(files: Files, sha256: str, analysis: Analysis, edits: Edits) -> None:
    """Raise InputError unless the output is the one of the analysis, or the one that holds edits of it."""
    known = {side.sha256 for side in (analysis.end.output,) if side is not None}
    if edits.rendered is not None:
        known.add(edits.rendered.output_sha256)
    if sha256 not in known:
        raise InputError(f"{files.output} is not what was published with {files.analysis}: filter the recording again")
