"""Makes the report of one recording, in whichever way it was filtered; no other module makes one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from streamdeid.core.process_usage import cpu_seconds
from streamdeid.report.counts import Counts
from streamdeid.report.redaction_report import (
    FileReport,
    FileSide,
    PictureFormat,
    ProvisionalCounts,
    ReviewReport,
    Timings,
    peak_memory_mib,
)
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import Surrogates
from streamdeid.video.files.copied_streams import Dropped
from streamdeid.video.files.source import FileSource


def file_report(
    settings: Settings,
    source: FileSource,
    sides: tuple[FileSide, FileSide],
    counts: Counts,
    timings: Timings,
    dropped: Dropped,
    *,
    cuts: int,
    tracks: Mapping[str, int] = MappingProxyType({}),
    surrogates: Surrogates | None = None,
    segments: int = 0,
    review: ReviewReport | None = None,
    provisional: ProvisionalCounts | None = None,
) -> FileReport:
    """The report of a file that was filtered, in whichever way. sides: the input file, and the output file."""
    info, people = source.info, settings.synthesises
    return FileReport(
        *sides,
        picture=PictureFormat(info.codec, *info.stored_size, float(info.average_rate)),
        frames=counts.frames,
        faces=counts.faces,
        people=counts.people if people else None,
        levels=counts.by_level,
        persons=counts.by_person if people else {},
        tracks=dict(tracks) if people else {},
        surrogates={} if surrogates is None else dict(surrogates.counts),
        scene_cuts=cuts,
        damaged_places=source.damaged,
        dropped_streams=dropped.streams,
        timings=timings,
        shown=counts.shown,
        filled_regions=counts.regions,
        review=review,
        segments=segments,
        dropped_parts=dropped.parts,
        cut=counts.cut,
        provisional=provisional,
    )


def timings_of(frames: int, begun: float, started: float, cpu: float) -> Timings:
    """The timings of a run that ends now. begun, started: `time.perf_counter` when it began to start up, and to filter;
    cpu: `cpu_seconds` when it began to filter."""
    ended = time.perf_counter()
    return Timings(
        start_up_seconds=round(started - begun, 3),
        filter_seconds=round(ended - started, 3),
        cpu_ms_per_frame=round(1000 * (cpu_seconds() - cpu) / frames, 2),
        frames_per_second=round(frames / (ended - started), 2),
        peak_memory_mib=peak_memory_mib(),
    )
