"""A long recording, its output and its analysis, made of a short one that is filtered once and then repeated.

Walls of two to six heads, each for eight seconds, with cuts between them; all over again as often as is asked for.
Coded pictures are copied, tracks are counted on, persons come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import av

from benchmarks.cost.clips import wall
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import Analysis, AnalysisEnd, FrameRecord, Side
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.frames import Frame
from streamdeid.report.redaction_report import FileSide
from streamdeid.runs.files import filter_file
from streamdeid.settings import Settings
from streamdeid.video.files.drawn_clip import write_drawn_clip

RATE, SECONDS = 25, 8
PEOPLE = (2, 3, 4, 5, 6)
SIZE = (1280, 720)
KEY = bytes(range(32))


@dataclass(frozen=True)
class LongRecording:
    """What `streamdeid filter --analysis` would have left of a long recording."""

    recording: Path
    output: Path
    analysis: Path
    settings: Settings

    @property
    def frames(self) -> int:
        """Of the recording."""
        return len(read_analysis(self.analysis).frames)


def long_recording(videos: Path, place: Path, minutes: float) -> LongRecording:
    """Make it of the heads in `videos`, in the folder `place`; what is there already is taken as it is."""
    key = place / "key"
    if not key.exists():
        key.write_bytes(KEY)
        key.chmod(0o600)
    settings = Settings(key_file=key, overwrite=True)
    short = LongRecording(place / "short.mp4", place / "short_out.mp4", place / "short.analysis", settings)
    long = LongRecording(place / "long.mp4", place / "long_deidentified.mp4", place / "long.analysis", settings)
    if not long.analysis.exists():
        if not short.analysis.exists():
            make_short(videos, short.recording)
            filter_file(short.recording, short.output, settings, analysis=short.analysis)
        known = read_analysis(short.analysis)
        times = max(1, round(60 * minutes * RATE / len(known.frames)))
        for one, other in ((short.recording, long.recording), (short.output, long.output)):
            repeat(one, other, times, Fraction(len(known.frames), RATE))
        _repeat_analysis(known, long, times)
    return long


def make_short(videos: Path, path: Path) -> Path:
    """Write what is repeated, 40 seconds, unless it is there; the path."""
    if not path.exists():
        write_drawn_clip(path, (one.planes for one in _walls(videos)), RATE)
    return path


def _walls(videos: Path) -> Iterator[Frame]:
    for faces in PEOPLE:
        yield from wall(videos, faces, faces, SIZE, SECONDS * RATE)


def repeat(source: Path, target: Path, times: int, duration: Fraction) -> None:
    """Write a file's coded pictures so many times, one after another; duration: of the file, seconds."""
    with av.open(str(target), "w") as output:
        stream = None
        for number in range(times):
            with av.open(str(source)) as given:
                video = given.streams.video[0]
                if stream is None:
                    stream = output.add_stream_from_template(video)
                assert video.time_base is not None
                shift = round(number * duration / video.time_base)
                for packet in given.demux(video):
                    if packet.size and packet.pts is not None and packet.dts is not None:
                        packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                        packet.stream = stream
                        output.mux(packet)


def _repeat_analysis(known: Analysis, long: LongRecording, times: int) -> None:
    """The analysis of the repeated recording."""
    frames, step = list(known.frames), Fraction(len(known.frames), RATE)
    tracks = max(one.track for record in frames for one in record.decisions)
    tracklets = max(one.tracklet for record in frames for one in record.decisions)
    scenes = frames[-1].scene + 1
    side = FileSide.of(long.recording)
    header = replace(known.header, input=Side(side.sha256, side.bytes))
    with AnalysisWriter(long.analysis, header, overwrite=True, key=KEY) as writer:
        for number in range(times):
            for record in frames:
                decisions = [
                    replace(
                        one,
                        track=one.track + number * tracks,
                        tracklet=one.tracklet and one.tracklet + number * tracklets,
                    )
                    for one in record.decisions
                ]
                time = record.time + number * step
                writer.add(FrameRecord(time, record.scene + number * scenes, record.found, decisions))
        out = FileSide.of(long.output)
        writer.close(AnalysisEnd(known.end.surrogates, Side(out.sha256, out.bytes), known.end.key_check))
