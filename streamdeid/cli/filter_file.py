"""Filtering one file after another with the same models and detector."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from types import TracebackType

from streamdeid.assemble import (
    assemble,
    default_detector,
    in_time,
    lookahead_frames,
    open_sink,
    open_source,
    read_ahead,
    secret,
    whitelisted,
    write_behind,
)
from streamdeid.cli.complaints import signals_held
from streamdeid.cli.inputs import Job
from streamdeid.cli.progress import Bar
from streamdeid.deidentify.recognised_faces import Known
from streamdeid.evaluation.guarantee import guarantee
from streamdeid.evaluation.report import Choice, FileReport, FileSide, Picture, Timings, finite, peak_memory_mib
from streamdeid.pipeline import deidentified
from streamdeid.process_usage import let_go_of_code
from streamdeid.settings import Settings
from streamdeid.shipped_models import Models, load_models
from streamdeid.stream import Stream
from streamdeid.timed_detector import TimedDetector


@dataclass(frozen=True)
class _Tools:
    models: Models
    detect: TimedDetector
    known: Known | None


class Workshop:
    """What the files of a run share; started when the first of them needs it. Use as a context manager."""

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError when the key file cannot be used."""
        self.settings = settings
        self.key = secret(settings)
        self.choice: Choice | None = None
        """What was asked for; None until a stream was assembled."""
        self._tools: _Tools | None = None
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Workshop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def start(self) -> _Tools:
        """Models and detector. Raises SettingsError and ModelError."""
        if self._tools is not None and self._tools.detect.hung:
            self._tools = replace(self._tools, detect=self._detector())
        if self._tools is None:
            models = load_models(self.settings.models)
            let_go_of_code()
            self.settings.check_gallery(len(models.gallery.identities))
            known = whitelisted(self.settings, models)
            self._tools = _Tools(models, self._detector(), known)
        return self._tools

    def _detector(self) -> TimedDetector:
        detect = default_detector(self.settings)
        return self._cleanup.enter_context(contextlib.closing(in_time(detect, self.settings, detect.close)))


def filter_file(job: Job, workshop: Workshop, *, bar: bool) -> FileReport:
    """Filter one file. The output is there when this returns, and nothing is when it raises.

    bar: show progress. Raises InputError, SettingsError, OutputError and FailedClosed.
    """
    settings = workshop.settings
    source = open_source(job.input, settings)
    info = source.info
    with contextlib.ExitStack() as safe:
        with signals_held():
            file_sink = open_sink(job.output, info, settings)
            sink = safe.enter_context(write_behind(file_sink))
        begun = time.perf_counter()
        tools = workshop.start()
        size = info.width, info.height
        stream = assemble(
            settings,
            tools.models,
            tools.detect,
            key=workshop.key,
            size=size,
            rate=info.average_rate,
            known=tools.known,
        )
        safe.callback(stream.close)
        let_go_of_code()
        workshop.choice = workshop.choice or _choice(settings, tools.models, stream)
        started, cpu = time.perf_counter(), time.process_time()
        lookahead = lookahead_frames(settings, info)
        with Bar(job.input.name, info.frames, shown=bar) as progress, contextlib.closing(read_ahead(source)) as frames:
            for frame in deidentified(frames, stream.detect, stream.tracker, stream.deidentifier, lookahead):
                sink.write(frame)
                if frame.index == 0:  # what the first picture needed has been loaded
                    let_go_of_code()
                progress.advance(stream.covered)
    ended, cpu = time.perf_counter(), time.process_time() - cpu
    return FileReport(
        input=FileSide.of(job.input),
        output=FileSide.of(job.output),
        picture=Picture(info.codec, info.width, info.height, float(info.average_rate)),
        frames=file_sink.frames,
        faces=stream.covered,
        people=stream.people,
        rungs=stream.rungs,
        persons=stream.persons_by_rung,
        tracks=stream.tracks,
        surrogates=dict(stream.surrogates.counts) if stream.surrogates is not None else {},
        scene_cuts=stream.cuts(),
        shown=stream.shown,
        filled_regions=stream.filled_regions,
        damaged_places=source.damaged,
        dropped_streams=file_sink.dropped_streams,
        timings=Timings(
            start_up_seconds=round(started - begun, 3),
            filter_seconds=round(ended - started, 3),
            cpu_ms_per_frame=round(1000 * cpu / file_sink.frames, 2),
            frames_per_second=round(file_sink.frames / (ended - started), 2),
            peak_memory_mib=peak_memory_mib(),
        ),
    )


def _choice(settings: Settings, models: Models, stream: Stream) -> Choice:
    surrogates = stream.surrogates
    factor = surrogates.factor if surrogates is not None else float("inf")
    worst = surrogates.price.worst if surrogates is not None else 0.0
    return Choice(
        method=settings.method,
        k=settings.k if settings.synthesises else None,
        q=settings.q if settings.draws else None,
        factor=finite(factor),
        preserved=settings.preserve if settings.synthesises else (),
        price_bits=surrogates.price.mean if surrogates is not None else 0.0,
        worst_price_bits=worst,
        transfer=settings.transfer if settings.synthesises else None,
        eyes=settings.eyes if settings.synthesises else None,
        strict=settings.strict,
        keyed=settings.key_file is not None,
        threshold=settings.threshold,
        lookahead_seconds=settings.lookahead,
        min_face=settings.min_face,
        detector_interval=settings.detector_interval,
        coast_seconds=settings.coast,
        reentry=settings.reentry,
        tolerant=settings.tolerant,
        model_sha256=models.fitting.model.sha256,
        gallery_sha256=models.gallery.sha256,
        whitelisted_pictures=len(settings.whitelist),
        regions=tuple(str(region) for region in settings.regions),
        guarantee=guarantee(
            settings.method,
            q=settings.q,
            factor=factor,
            worst_bits=worst,
            classes=surrogates.classes if surrogates is not None else 1,
            whitelisted=len(settings.whitelist),
        ),
    )
