"""The analysis and edits of one file of a run: reads them before the file is filtered, and writes them after."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from streamdeid.analysis.applied import Applied
from streamdeid.analysis.edits import Edit, Edits, Rendered
from streamdeid.analysis.edits_check import check_edits
from streamdeid.analysis.edits_file import read_edits, seal_of, write_edits
from streamdeid.analysis.edits_lock import lock_edits
from streamdeid.analysis.places import Places
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import Analysis, AnalysisEnd, AnalysisHeader, Side
from streamdeid.analysis.stored_faces import stored
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.protocols import Detector
from streamdeid.errors import FailedClosed, InputError, SettingsError
from streamdeid.protect.choices import Choice
from streamdeid.protect.edited import Edited, FacesOfPersons
from streamdeid.protect.fading import LONGEST
from streamdeid.protect.mask_faces import MASKS
from streamdeid.protect.plan import Deidentifier
from streamdeid.report.redaction_report import EditCounts, FileSide, ReviewReport
from streamdeid.runs.again import EditedRecording, RecordedChoice, needs_all
from streamdeid.runs.analysed import (
    ChosenSurrogates,
    FoundBefore,
    Kept,
    key_check,
    places_of,
    record_of,
    why_not_believed,
    why_not_decided_so,
    why_not_found_so,
    why_too_old,
)
from streamdeid.runs.reviewed import Reviewed
from streamdeid.runs.scratch import written_by_us
from streamdeid.runs.step import Done
from streamdeid.runs.stream import Stream
from streamdeid.surrogates.choice import SAMPLED, Surrogates
from streamdeid.video.files.spliced import NotSplicedError

_COUNTED = (
    "covered_places", "covered_frames", "removed_tracks", "removed_frames", "regions", "region_frames", "joined",
    "parted", "other_surrogates",
)  # fmt: skip
"""Counts of a summary that a report has under the same names."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """What a user asks for beside a file: the path of its analysis, and of edits to be applied."""

    analysis: Path | None = None
    edits: Path | None = None
    doubts: Callable[[Analysis], Sequence[str]] | None = None
    """Gives the names of all doubts that a reviewer is to look at, for the report."""

    def __bool__(self) -> bool:
        return self.analysis is not None or self.edits is not None


class ReviewedFile:
    """An analysis that is read and written, and edits that are applied, for one file."""

    def __init__(self, asked: Asked, header: AnalysisHeader, key: bytes | None, overwrite: bool, rights: int) -> None:
        """Read the analysis and the edits that exist. rights: permissions of the recording; its analysis gets no more.

        Raises InputError for files that are damaged, SettingsError for files that do not fit.
        """
        self.header = header
        self._key, self._asked, self._rights = key, asked, rights
        self.analysis: Analysis | None = None
        self.edits: Edits | None = None
        self.told = ""
        """How the analysis was used, in words for the user."""
        self._search = False
        """Whether faces are searched again although there is an analysis."""
        path = asked.analysis
        if path is None:
            raise SettingsError("edits need the analysis that they were made on (--analysis)")
        if os.path.lexists(path) or asked.edits is not None:
            self._read(path, overwrite)
        if asked.edits is not None:
            self._read_edits(asked.edits)
        self._writer: AnalysisWriter | None = None
        self._ours = contextlib.ExitStack()
        if self.edits is None:  # an analysis records the filter alone, never edits
            with contextlib.ExitStack() as ours:
                ours.enter_context(written_by_us(path))
                self._writer = AnalysisWriter(path, header, overwrite=True, key=key, mode=rights)
                self._ours = ours.pop_all()
        self._chosen = ChosenSurrogates({})

    @property
    def applied(self) -> Applied | None:
        """What the edits do; None without edits."""
        return self._applied if self.edits is not None else None

    def held_by(self, output: Path) -> tuple[Edit, ...]:
        """The edits that an earlier output holds, if its untouched segments can be copied.

        Raises NotSplicedError, with the reason, where they cannot be copied.
        """
        if self.analysis is None or self.edits is None:
            raise NotSplicedError("there are no edits")
        end, method = self.analysis.end, str(self.header.settings["method"])
        if method not in (SAMPLED, *MASKS):
            raise NotSplicedError(f"surrogates of {method} cannot be made again without knowing who it is")
        if method == SAMPLED and (not end.key_check or end.key_check != key_check(self._key)):
            raise NotSplicedError("the key is not the one of the earlier output")
        if self._search:
            raise NotSplicedError("the analysis was not made with this key")
        if not output.is_file():
            raise NotSplicedError("there is no earlier output")
        sha256, rendered = FileSide.of(output).sha256, self.edits.rendered
        if end.output is not None and sha256 == end.output.sha256:
            held: tuple[Edit, ...] = ()
        elif rendered is not None and sha256 == rendered.output_sha256:
            if self._key is not None and rendered.seal != seal_of(rendered, self.edits, self._key):
                raise NotSplicedError("what the earlier output holds was not written with this key")
            held = rendered.edits
        else:
            raise NotSplicedError("the earlier output is not the one that was reviewed")
        if needs_all(held, self.edits.done):
            raise NotSplicedError("a new face takes who it is for")
        return held

    def recorded(self) -> EditedRecording:
        """The recording as the analysis describes it, with the edits applied."""
        assert self.analysis is not None
        return EditedRecording(self.analysis, self._applied, self._places)

    def touched_since(self, held: tuple[Edit, ...]) -> list[tuple[int, int]]:
        """Spans of frames whose picture may differ from the picture in an output that holds these edits."""
        assert self.analysis is not None
        spans = self._applied.touched_since(Applied(self._places, held))
        return [(first, last + LONGEST) for first, last in spans]  # what was shown fades

    def reviewed(self) -> Reviewed:
        """How the analysis and the edits change the parts of the stream."""
        if self.analysis is None:
            return Reviewed(lambda detect: Kept(detect, stored))
        analysis = self.analysis
        same_key = self._key is not None and key_check(self._key) == analysis.end.key_check

        def chosen(table: Surrogates) -> Choice:
            return RecordedChoice(analysis, table) if same_key else table

        def found(detect: Detector) -> Detector:
            return Kept(detect, stored) if self._search else FoundBefore(analysis)

        return Reviewed(found, self._edited, chosen)

    def note(self, done: Done[Any], stream: Stream) -> None:
        """Add a frame that was rendered to the analysis, if one is written. Raises OutputError."""
        if self._writer is not None:
            self._writer.add(record_of(done))
            if stream.faces is not None:
                self._chosen.note(done, stream.faces.chosen, stream.faces.provisional)

    def check_length(self, frames: int) -> None:
        """Raise FailedClosed when the analysis has another number of frames than the recording."""
        if self.analysis is not None and len(self.analysis.frames) != frames:
            raise FailedClosed(f"the analysis has {len(self.analysis.frames)} frames, the recording {frames}")

    def input(self, path: Path) -> FileSide:
        """Name, hash and size of the recording."""
        return FileSide(path.name, self.header.input.sha256, self.header.input.bytes)

    def finish(self, output: FileSide) -> None:
        """Write the analysis, or which edits the output holds; call it when the output is whole.

        With that the next run renders only what changes from now on. Raises OutputError."""
        if self._writer is not None:
            side = Side(output.sha256, output.bytes)
            chosen = self._chosen
            end = AnalysisEnd(chosen.by_person, side, key_check(self._key), provisional=chosen.by_tracklet)
            self._writer.close(end)
        path = self._asked.edits
        if path is not None and self.edits is not None:
            try:
                with lock_edits(path):
                    now = read_edits(path)  # a desk may have changed the edits during the rendering
                    rendered = Rendered(output.sha256, self.edits.done)
                    if self._key is not None:
                        rendered = replace(rendered, seal=seal_of(rendered, now, self._key))
                    write_edits(path, replace(now, rendered=rendered), mode=self._rights)
            except (InputError, SettingsError):  # the edits were removed, or a desk has them open
                _log.warning("%s is in use: the next run with it renders the whole recording", path)

    def abort(self) -> None:
        """Remove the analysis that is being written. Harmless after `finish`."""
        if self._writer is not None:
            self._writer.abort()
        self._ours.close()

    def report(self, frames_rendered: int | None = None) -> ReviewReport:
        """The part of the report on analysis and edits. frames_rendered: None when all frames were rendered."""
        applied, edits = self.applied, self.edits
        if applied is None or edits is None:
            return ReviewReport(self.told)
        asked = self._asked.doubts
        summary = applied.summary(() if asked is None else asked(self.recorded().analysis), edits.looked_at)
        looked = None if asked is None else summary.doubts_looked_at
        left = None if asked is None else summary.doubts_not_looked_at
        counts = EditCounts(
            visible_frames={str(person): visible for person, (visible, _) in summary.visible.items()},
            wanted_frames={str(person): wanted for person, (_, wanted) in summary.visible.items()},
            **{name: value for name, value in asdict(summary).items() if name in _COUNTED},
            doubts_looked_at=looked,
            doubts_not_looked_at=left,
        )
        return ReviewReport(self.told, counts, edits.reviewer, edits.reviewed, frames_rendered)

    def _read(self, path: Path, overwrite: bool) -> None:
        analysis = read_analysis(path)
        if analysis.header.input.sha256 != self.header.input.sha256:
            if self._asked.edits is not None or not overwrite:
                raise SettingsError(f"{path} is of another recording; use --overwrite to replace it")
            self.told = "analysed anew, since the analysis was of another recording"
            return
        reason = why_not_found_so(analysis.header, self.header) or why_too_old(analysis)
        if self._asked.edits is not None:
            reason = why_not_decided_so(analysis.header, self.header)
            if reason is not None:
                raise SettingsError(f"{path} does not fit: {reason}; filter with --analysis first, and look again")
        if reason is None and self._key is not None:
            reason = why_not_believed(analysis, self._key)
            if self._asked.edits is not None:
                self._search = reason is not None
        if self._asked.edits is not None:
            self.analysis = analysis
        elif reason is not None and not overwrite:  # there may be edits for this analysis
            raise SettingsError(f"{path} does not fit: {reason}; use --overwrite to replace it, or name another")
        if reason is None:
            self.analysis, self.told = analysis, "faces as in the analysis, nothing was searched again"
        else:
            self.told = f"faces were searched again, since {reason}"

    def _read_edits(self, path: Path) -> None:
        assert self.analysis is not None
        self.edits = read_edits(path)
        self._places = Places.of(self.analysis)
        check_edits(self.analysis, self.edits, self._places)
        self._applied = Applied(self._places, self.edits.done)

    def _edited(self, faces: FacesOfPersons | None, inner: Deidentifier) -> Deidentifier:
        if self.edits is None or self.analysis is None:
            return inner
        return Edited(inner, self._applied.at, places_of(self.analysis), faces, self._applied.surrogates)
