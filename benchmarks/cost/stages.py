"""What one run of the parts costs by stage: everything in one thread, in this process."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.around_watch import AroundWatch
from streamdeid.report.counts import Counts
from streamdeid.runs.parts import assemble, default_detector, lookahead_frames
from streamdeid.runs.session import open_session
from streamdeid.runs.step import Step, filtered
from streamdeid.settings import Settings
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource

STAGES = ("decode", "detect", "track", "observe", "decide", "render", "encode")
MARK = 1000
_Result = TypeVar("_Result")


class Stopwatch:
    """CPU seconds of the process by stage; a stage that runs inside another is taken off the outer one."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = 0.0

    def timed(self, stage: str, call: Callable[..., _Result]) -> Callable[..., _Result]:
        """The call, timed."""

        def measured(*given: Any) -> _Result:
            outer, self._inner = self._inner, 0.0
            begun = time.process_time()
            try:
                return call(*given)
            finally:
                spent = time.process_time() - begun
                self.seconds[stage] += spent - self._inner
                self._inner = outer + spent

        return measured


def by_stage(path: Path) -> dict[str, Any]:
    """Run the parts over a clip in this process; milliseconds for a frame and mebibytes."""
    settings = Settings()
    source = FileSource(path)
    size = source.info.width, source.info.height
    stream = assemble(open_session(settings), default_detector(settings), size=size, rate=source.info.average_rate)
    watch, memory, counts = Stopwatch(), {}, Counts()
    frames = iter(source)
    decoded = iter(watch.timed("decode", lambda: next(frames, None)), None)
    tracker, deidentifier = stream.tracker, stream.deidentifier
    tracker.update = watch.timed("track", tracker.update)  # type: ignore[method-assign]
    deidentifier.observe = watch.timed("observe", deidentifier.observe)  # type: ignore[method-assign]
    deidentifier.decide = watch.timed("decide", deidentifier.decide)  # type: ignore[method-assign]
    deidentifier.render = watch.timed("render", deidentifier.render)  # type: ignore[method-assign]
    detect = AroundWatch(stream.detect, watch.timed("detect", stream.detect))
    detect.foresee = watch.timed("detect", detect.foresee)  # type: ignore[method-assign]
    with (
        tempfile.TemporaryDirectory() as directory,
        FileSink(Path(directory) / "o.mp4", source.info, threads=1) as sink,
    ):
        write = watch.timed("encode", sink.write)
        step: Step[None] = Step(detect, tracker, deidentifier)
        for done in filtered(decoded, step, lookahead_frames(settings, source.info)):
            write(done.frame)
            done.count(counts, settings.synthesises)
            if counts.frames == MARK:
                memory["at frame 1,000"] = _resident_mib()
    memory["at the end"] = _resident_mib()
    return {
        "frames": counts.frames,
        "stages": {stage: 1000 * watch.seconds[stage] / counts.frames for stage in STAGES},
        "memory": memory,
        "levels": counts.by_level,
        "people": counts.people,
    }


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / (1 << 20)
