"""Filters recordings: `filter_file` filters one, `FileRun` one after another with the same models and detector."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from streamdeid.analysis.columns import exact_times
from streamdeid.core.atomic_file import check_paths, reason_of
from streamdeid.core.file_identity import FileIdentity
from streamdeid.core.held_signals import signals_held
from streamdeid.core.named_files import check_named
from streamdeid.core.process_usage import cpu_seconds, let_go_of_code
from streamdeid.detection.deadline import TimedDetector
from streamdeid.errors import InputError, SettingsError
from streamdeid.identity.recognised_faces import Known
from streamdeid.report.counts import Counts
from streamdeid.report.redaction_report import (
    FileReport,
    FileSide,
    ProvisionalCounts,
    RunChoice,
)
from streamdeid.runs.again import Again, count_copied, count_rendered
from streamdeid.runs.analysed import header_of
from streamdeid.runs.asked_for import choice_of
from streamdeid.runs.file_report import file_report, timings_of
from streamdeid.runs.named_by_settings import files_of_run
from streamdeid.runs.parts import (
    assemble,
    lookahead_frames,
    open_sink,
    open_source,
    read_ahead,
    rendered_again,
    timed_detector,
    whitelisted,
    write_behind,
)
from streamdeid.runs.proof import Proof
from streamdeid.runs.reviewed_file import Asked, ReviewedFile
from streamdeid.runs.segments.registered_faces import SharedRegister
from streamdeid.runs.segments.run import NotCutError, filter_segments
from streamdeid.runs.session import Session, open_session, secret
from streamdeid.runs.step import Done, Step, filtered
from streamdeid.runs.stream import Stream
from streamdeid.settings import WHOLE_FILE, Settings
from streamdeid.video.files.copied_streams import Dropped
from streamdeid.video.files.prefetch import BackgroundSink
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource, SourceInfo
from streamdeid.video.files.spliced import NotSplicedError, Segment, check_copyable, segments_of, touched_segments

Progress = Callable[[int, int | None, int], None]
"""Called after each frame with frames done, frames in all where this is known, and faces protected so far."""


@dataclass(frozen=True)
class _Tools:
    detect: TimedDetector
    known: Known | None


class FileRun:
    """Filters the files of a run. Use as a context manager.

    The files share models and detector, which are loaded for the first of them."""

    def __init__(self, settings: Settings, key: bytes | None = None) -> None:
        """key: the bytes of the key file that the settings name, if they were read before; None to read it.

        Raises SettingsError when the key file cannot be used.
        """
        self.settings = settings
        self.key = secret(settings) if key is None else key
        self._session: Session | None = None
        self.choice: RunChoice | None = None
        """The choice of settings, for reports; None until a stream was assembled."""
        self._tools: _Tools | None = None
        self._proof = Proof()
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> FileRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def session(self) -> Session:
        """The session that the run opens once. Raises SettingsError, ModelError, and for the register InputError and
        OutputError."""
        if self._session is None:
            self._session = open_session(self.settings, self.key)
        return self._session

    def start(self) -> _Tools:
        """The detector and the whitelisted people for a recording. Raises what `session` does."""
        if self._tools is not None:
            self._tools.detect.forget()  # after a file that failed, the detector may still be at work, or hang
            if self._tools.detect.hung:
                self._tools = replace(self._tools, detect=self._detector())
        if self._tools is None:
            models = self.session().models
            let_go_of_code()
            known = whitelisted(self.settings, models)
            self._tools = _Tools(self._detector(), known)
        return self._tools

    def _detector(self) -> TimedDetector:
        return self._cleanup.enter_context(contextlib.closing(timed_detector(self.settings)))

    def filter(
        self,
        input: Path,
        output: Path,
        progress: Progress = lambda done, total, faces: None,
        asked: Asked = Asked(),
        workers: int = 1,
    ) -> FileReport:
        """Filter one file. The output is there when this returns; there is no output when it raises.

        asked: which analysis and edits to use. workers: processes for the segments of a file that is filtered in two
        passes; the result is the same with any number. Raises InputError, SettingsError, ModelError,
        OutputError and FailedClosed.
        """
        check_named("filter", files_of_run(self.settings, [(input, output)], asked.analysis, asked.edits))
        if asked and self.settings.register is not None:
            raise SettingsError("a register and an analysis do not go together: an analysis is of one recording alone")
        source = open_source(input, self.settings)
        with contextlib.ExitStack() as kept:
            reviewed = None
            if self.settings.decisions == WHOLE_FILE:
                if asked:
                    raise SettingsError("an analysis or edits need decisions by look-ahead (--decisions look-ahead)")
                try:
                    return self._segments(source, output, progress, workers)
                except NotCutError as reason:
                    report = self._whole(source, output, reviewed, progress)
                    return replace(report, one_pass=f"since {reason}")
            if asked:
                header = header_of(self.settings, self.session().models, source.info, _hashed(source))
                with signals_held():
                    reviewed = ReviewedFile(asked, header, self.key, self.settings.overwrite, _rights(input))
                    kept.callback(reviewed.abort)
                if reviewed.edits is not None:
                    try:
                        return self._again(source, output, reviewed, progress)
                    except NotSplicedError as reason:
                        reviewed.told = f"all was rendered, since {reason}; {reviewed.told}"
            return self._whole(source, output, reviewed, progress)

    def _whole(self, source: FileSource, output: Path, reviewed: ReviewedFile | None, progress: Progress) -> FileReport:
        """Filter a file from its first frame to its last."""
        settings, info = self.settings, source.info
        with contextlib.ExitStack() as safe:
            safe.enter_context(self._proof.lost_on_errors())
            with signals_held():
                file_sink = open_sink(output, info, settings, reviewed=reviewed is not None)
                sink = safe.enter_context(write_behind(file_sink))
            begun = time.perf_counter()
            tools = self.start()
            stream = self._assembled(tools, info, reviewed)
            safe.callback(stream.close)
            let_go_of_code()
            self.choice = self.choice or choice_of(self.session(), stream.people.surrogates)
            started, cpu = time.perf_counter(), cpu_seconds()
            counts = self._frames(source, sink, stream, reviewed, progress)
            stream.end()  # before the output appears: there is none if the register cannot be written
            if reviewed is not None:
                reviewed.check_length(counts.frames)
            # Also before the output appears: there is none if the recording was exchanged meanwhile.
            side = _hashed(source) if reviewed is None else reviewed.input(source.path)
        report = file_report(
            settings,
            source,
            (side, FileSide.of(output)),
            counts,
            timings_of(counts.frames, begun, started, cpu),
            Dropped(file_sink.dropped_streams, file_sink.dropped_parts),
            tracks=stream.tracks,
            surrogates=stream.people.surrogates,
            cuts=stream.cuts,
            review=None if reviewed is None else reviewed.report(),
            provisional=stream.provisional if reviewed is None or reviewed.analysis is None else None,
        )
        if reviewed is not None:
            reviewed.finish(report.output)
        return report

    def _assembled(self, tools: _Tools, info: SourceInfo, reviewed: ReviewedFile | None) -> Stream:
        """The parts for a recording; a self-test has passed, now or a moment ago. Raises FailedClosed."""
        stands = self._proof.stands(tools.detect)
        stream = assemble(
            self.session(),
            tools.detect,
            size=(info.width, info.height),
            rate=info.average_rate,
            tested=not stands,
            known=tools.known,
            reviewed=None if reviewed is None else reviewed.reviewed(),
        )
        if not stands:
            self._proof.passed(tools.detect)
        return stream

    def _frames(
        self,
        source: FileSource,
        sink: BackgroundSink,
        stream: Stream,
        reviewed: ReviewedFile | None,
        progress: Progress,
    ) -> Counts:
        """Filter the frames of a source into a sink; returns the counts of what was done to them."""
        counts, people = Counts(), self.settings.synthesises
        lookahead = lookahead_frames(self.settings, source.info)
        with contextlib.closing(read_ahead(source)) as frames:
            step: Step[None] = stream.step()
            for done in filtered(frames, step, lookahead):
                sink.write(done.frame)
                if reviewed is not None:
                    reviewed.note(done, stream)
                done.count(counts, people)
                if counts.frames == 1:  # all code that a first picture needs has been loaded
                    let_go_of_code()
                progress(counts.frames, source.info.frames, counts.faces)
        return counts

    def _segments(self, source: FileSource, output: Path, progress: Progress, workers: int) -> FileReport:
        """Filter a file in two passes. Raises NotCutError where that is not possible, besides what `filter` raises."""
        settings, info = self.settings, source.info
        begun = time.perf_counter()
        session = self.session()
        side = _hashed(source)
        header = header_of(settings, session.models, info, side)
        surrogates = session.surrogates()
        self.choice = self.choice or choice_of(session, surrogates)
        started, cpu = time.perf_counter(), cpu_seconds()
        file = session.register
        register = None if file is None else SharedRegister(file, settings.days_registered)
        done = filter_segments(
            source, output, session, header, surrogates, workers=workers, progress=progress, register=register
        )
        return file_report(
            settings,
            source,
            (side, FileSide.of(output)),
            done.rendered,
            timings_of(done.rendered.frames, begun, started, cpu),
            done.dropped,
            tracks={outcome.value: count for outcome, count in done.whole.counts.items()},
            surrogates=surrogates,
            cuts=done.cuts,
            segments=done.segments,
            provisional=ProvisionalCounts.of(surrogates, 0),  # persons are known from the start
        )

    def _again(self, source: FileSource, output: Path, reviewed: ReviewedFile, progress: Progress) -> FileReport:
        """Render the segments that edits touch, and copy the others from the earlier output.

        Raises NotSplicedError where that is not possible, besides what `filter` raises.
        """
        settings, info = self.settings, source.info
        earlier = FileIdentity.of(output) if output.is_file() else None
        segments, recorded = self._touched(source, output, reviewed), reviewed.recorded()
        total, counts = sum(one.last - one.first + 1 for one in segments), Counts()
        begun = time.perf_counter()
        tools = self.start()
        method = rendered_again(self.session(), tools.detect, recorded)
        started, cpu = time.perf_counter(), cpu_seconds()

        def told(done: Done[None]) -> None:
            count_rendered(counts, done, recorded)
            progress(counts.frames, total, counts.faces)

        def write(path: Path) -> FileSink:
            return open_sink(path, info, settings, streams=False, reviewed=True)

        if segments:
            Again(recorded, source, method, write, exact_times(recorded.analysis.frames)).render(
                segments, output, output, told, overwrite=True, identity=earlier
            )
        elif earlier is not None:
            earlier.check(output)
        rendered, frames = counts.frames, recorded.analysis.frames
        solid = settings.strict or not settings.synthesises
        count_copied(counts, recorded, segments, "solid" if solid else "soft redaction", len(settings.regions))
        reviewed.told = f"{rendered} frames were rendered again, the others copied from the earlier output"
        self.choice = self.choice or choice_of(self.session(), self.session().surrogates())
        report = file_report(
            settings,
            source,
            (reviewed.input(source.path), FileSide.of(output)),
            counts,
            timings_of(counts.frames, begun, started, cpu),
            Dropped(),
            cuts=frames[-1].scene,
            review=reviewed.report(rendered),
        )
        reviewed.finish(report.output)
        return report

    def _touched(self, source: FileSource, output: Path, reviewed: ReviewedFile) -> list[Segment]:
        """The segments of the earlier output that edits touch. Raises as `_again`."""
        held, recorded = reviewed.held_by(output), reviewed.recorded()
        check_paths(output, source.path, self.settings.overwrite)
        check_copyable(output, audio=self.settings.audio, keep_metadata=self.settings.keep_metadata)
        known = segments_of(output)
        if known[-1].last + 1 != len(recorded.analysis.frames):
            raise NotSplicedError("the earlier output has another number of pictures")
        return touched_segments(known, reviewed.touched_since(held))


def _hashed(source: FileSource) -> FileSide:
    """Name, hash and size of the recording. Raises InputError, also when the file is not the one opened at first."""
    source.check()
    try:
        side = FileSide.of(source.path)
    except OSError as error:
        raise InputError(f"{source.path} cannot be read: {reason_of(error)}") from error
    source.check()
    return side


def _rights(path: Path) -> int:
    """The read and write permissions of a recording: its analysis gets no more than these."""
    return path.stat().st_mode & 0o666


def filter_file(
    input: Path | str,
    output: Path | str,
    settings: Settings = Settings(),
    *,
    progress: Progress = lambda done, total, faces: None,
    analysis: Path | str | None = None,
    edits: Path | str | None = None,
    workers: int = 1,
) -> FileReport:
    """Filter one recording: every face is replaced, and a report says what was done.

    input, output: video files; the output appears under its name when it is whole, and not at all when this raises.
    analysis: file in which to keep what was found, for a review; an existing one saves the search. edits: file with the
    edits of a reviewer. workers: processes, where decisions are over the whole file.
    Raises InputError, SettingsError, ModelError, OutputError and FailedClosed, one line each.
    """
    with FileRun(settings) as run:
        asked = Asked(None if analysis is None else Path(analysis), None if edits is None else Path(edits))
        return run.filter(Path(input), Path(output), progress, asked, workers)
