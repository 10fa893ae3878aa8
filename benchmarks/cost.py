"""What the filter costs: CPU milliseconds for a frame, as a whole and by stage, and memory.

    python benchmarks/cost.py VIDEO [--size 640x480] [--frames 1500] [--json]

The clip is first made as long as asked for (played to and fro, so that there are no cuts) and, with --size, cropped to
that shape about its middle and rescaled. Then, each in a process of its own: `streamdeid filter` as a user runs it; the
same clip merely decoded and encoded with the same encoder; and the parts one after another in one thread, with the
encoder held to one thread too, so that its work is not counted against another stage. Times are CPU times of a
process with all its threads. Memory is the resident set of the run by parts, at frame 1,000 and at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import cv2
import numpy as np
from clips import as_json, encode, markdown
from processes import COMMAND, ran

from streamdeid.assemble import assemble, default_detector, lookahead_frames
from streamdeid.errors import StreamdeidError
from streamdeid.frames import Frame, Plane, Planes
from streamdeid.pipeline import deidentified
from streamdeid.settings import Settings
from streamdeid.shipped_models import load_models
from streamdeid.video.sink import FileSink
from streamdeid.video.source import FileSource

STAGES = ("decode", "detect", "track", "observe", "deidentify", "encode")
MARK = 1000
_Result = TypeVar("_Result")


def to_and_fro(path: Path, count: int, size: tuple[int, int] | None) -> Iterator[Frame]:
    """`count` frames of a clip, forwards and backwards in turn. At most 500 of its pictures are held in memory."""
    frames = list(islice(FileSource(path), min(count, 500)))
    if size is not None:
        frames = [replace(frame, planes=_reshaped(frame.planes, size)) for frame in frames]
    step = max(1, 2 * len(frames) - 2)
    for i in range(count):
        place = i % step
        yield frames[place if place < len(frames) else step - place]


def _reshaped(planes: Planes, size: tuple[int, int]) -> Planes:
    width, height = planes.size
    scale = max(size[0] / width, size[1] / height)
    across, down = (min(side, round(wanted / scale)) & ~1 for side, wanted in zip((width, height), size, strict=True))
    x0, y0 = (width - across) // 2 & ~1, (height - down) // 2 & ~1
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR

    def cut(plane: Plane, part: int) -> Plane:
        inside = plane[y0 // part : (y0 + down) // part, x0 // part : (x0 + across) // part]
        return np.asarray(cv2.resize(inside, (size[0] // part, size[1] // part), interpolation=how), np.uint8)

    return Planes(cut(planes.y, 1), cut(planes.u, 2), cut(planes.v, 2), planes.colour)


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
    stream = assemble(settings, load_models(None), default_detector(settings), size=size, rate=source.info.average_rate)
    watch, memory, count = Stopwatch(), {}, 0
    frames = iter(source)
    decoded = iter(watch.timed("decode", lambda: next(frames, None)), None)
    tracker, deidentifier = stream.tracker, stream.deidentifier
    tracker.update = watch.timed("track", tracker.update)  # type: ignore[method-assign]
    deidentifier.observe = watch.timed("observe", deidentifier.observe)  # type: ignore[method-assign]
    deidentifier.deidentify = watch.timed("deidentify", deidentifier.deidentify)  # type: ignore[method-assign]
    detect = watch.timed("detect", stream.detect)
    with (
        tempfile.TemporaryDirectory() as directory,
        FileSink(Path(directory) / "o.mp4", source.info, threads=1) as sink,
    ):
        write = watch.timed("encode", sink.write)
        for out in deidentified(decoded, detect, tracker, deidentifier, lookahead_frames(settings, source.info)):
            write(out)
            count += 1
            if count == MARK:
                memory["at frame 1,000"] = _resident_mib()
    memory["at the end"] = _resident_mib()
    return {
        "frames": count,
        "stages": {stage: 1000 * watch.seconds[stage] / count for stage in STAGES},
        "memory": memory,
        "rungs": stream.rungs,
        "people": stream.people,
    }


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / (1 << 20)


def measure(video: Path, size: tuple[int, int] | None, frames: int) -> dict[str, Any]:
    """All three runs. Raises RuntimeError when one of them fails."""
    with tempfile.TemporaryDirectory() as directory:
        clip, out, report_path = (Path(directory) / name for name in ("clip.mp4", "out.mp4", "report.json"))
        encode(to_and_fro(video, frames, size), clip, FileSource(video).info.average_rate, crf=16)
        whole = ran([*COMMAND, "filter", clip, out, "--quiet", "--report", report_path])
        again = ran([sys.executable, __file__, clip, "--only", "transcode"])
        parts = ran([sys.executable, __file__, clip, "--only", "stages"])
        for name, run in (("filter", whole), ("transcode", again), ("stages", parts)):
            if run.exit_code:
                raise RuntimeError(f"{name} ended with exit code {run.exit_code}: {run.complaint}")
        timings = json.loads(report_path.read_text(encoding="utf-8"))["files"][0]["timings"]
        staged = json.loads(parts.output)
    return {
        "filter, start-up included": 1000 * whole.cpu_seconds / frames,
        "filter": timings["cpu_ms_per_frame"],
        "plain transcode": float(again.output),
        "ratio": timings["cpu_ms_per_frame"] / float(again.output),
        "peak memory, MiB": whole.peak_mib,
        **staged,
    }


def _transcode(clip: Path) -> float:
    """CPU milliseconds for a frame of decoding and encoding alone."""
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as directory:
        source = FileSource(clip)
        count = encode(source, Path(directory) / "again.mp4", source.info.average_rate)
    return 1000 * (time.process_time() - begun) / count


def main() -> int:
    """Run; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("video", type=Path)
    parser.add_argument("--size", help="crop and rescale the clip first, as in 640x480")
    parser.add_argument("--frames", type=int, default=1500)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--only", choices=["stages", "transcode"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(as_json(by_stage(given.video) if given.only == "stages" else _transcode(given.video)))
        return 0
    try:
        size = None if given.size is None else tuple(int(side) for side in given.size.split("x"))
        found = measure(given.video, size, given.frames)  # type: ignore[arg-type]
    except (ValueError, RuntimeError, StreamdeidError) as error:
        parser.error(str(error))
    if given.json:
        print(as_json(found))
        return 0
    stages, memory = found.pop("stages"), found.pop("memory")
    print(markdown(["", "value"], list(found.items())))
    rows = [*stages.items(), ("sum", sum(stages.values()))]
    print("\n" + markdown(["stage, one thread", "CPU ms a frame"], rows))
    print("\n" + markdown(["memory by parts", "MiB"], list(memory.items())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
