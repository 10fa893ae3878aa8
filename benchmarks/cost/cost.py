"""What the filter costs, beside a plain transcode of the same clip with the same encoder settings, and beside `deface`.

    python -m benchmarks cost --videos DIR [--runs 5] [--frames 250] [--deface PATH] [--live 1] [--json]
    python -m benchmarks cost --videos DIR --growth OUT [--runs 1] [--frames 100]
    python -m benchmarks cost VIDEO [--size 640x480] [--frames 1500] [--json]
    python -m benchmarks cost --cameras 4 [--minutes 5] [--json]

The first prints one table: for each kind of work CPU milliseconds for a frame (of a process and its children, without
their start), the number of transcodes that is, the peak of the memory, the processors that the filter keeps busy, and
`deface` at its default and at its best; what a further face costs; and the start to the first filtered picture after a
warm-up. With --live MINUTES a camera of 640x480 over RTSP as well (`live`). DIR holds the clips that `cost/clips.py`
and `WORK` name. Times are medians of --runs; filter and transcode take turns.

The second prints how that grows with faces (0 to 16) and pixels (432p to 2160p), and writes a plot into OUT.

The third is for a clip of one's own, made as long as asked for (played to and fro, so that there are no cuts) and with
--size cropped to that shape about its middle and rescaled. It also tells the CPU time by stage, of a run with all parts
one after another in one thread, the encoder held to one thread too, and the resident set at frame 1,000 and the end.

The fourth is one `streamdeid serve` with several cameras of 640x480 at 15 a second (`live/cameras.py`): processors that
it keeps busy, pictures dropped and missing, added latency.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.clips import as_json, encode, markdown
from benchmarks.command_line import parser_of
from benchmarks.cost.clips import RATE, to_and_fro, wall
from benchmarks.cost.cold_start import warm_starts
from benchmarks.cost.growth import grown, tables, write
from benchmarks.cost.runs import DEFACE, Cost, deface_program, measured
from benchmarks.cost.stages import by_stage
from benchmarks.processes import ran
from streamdeid.core.frames import Frame
from streamdeid.errors import StreamdeidError
from streamdeid.video.files.source import FileSource


@dataclass(frozen=True)
class Work:
    """One row of the table: a clip of one head, or a wall of several."""

    name: str
    clip: str | None
    """None: a wall of `faces` cells and, for an odd number above one, an empty one."""
    size: tuple[int, int] | None
    faces: int = 1

    def frames(self, videos: Path, count: int) -> tuple[Iterator[Frame], Fraction]:
        """`count` frames, and how many of them make a second."""
        if self.clip is None:
            assert self.size is not None
            return wall(videos, self.faces, self.faces + self.faces % 2, self.size, count), RATE
        path = videos / self.clip
        return to_and_fro(path, count, self.size), FileSource(path).info.average_rate


WORK = (
    Work("640x480, one face", "glasses.mp4", (640, 480)),
    Work("768x432, one face", "talking_head_200s.mp4", (768, 432)),
    Work("720p, one face", "presenter_hevc_portrait.mp4", (1280, 720)),
    Work("720p, five faces", None, (1280, 720), 5),
    Work("1080p, two faces", None, (1920, 1080), 2),
    Work("crowd_1080p", "crowd_1080p.mp4", None, 0),
)
_FEW, _MANY, _CELLS, _SIZE = 1, 8, 8, (1280, 720)
"""What a further face costs is read off two walls that differ in their heads only."""


def table(videos: Path, frames: int, runs: int, deface: str | None, tell: Callable[[str], None]) -> dict[str, Any]:
    """All rows, by name. Raises RuntimeError when a run fails."""
    rows: dict[str, Any] = {}
    for work in WORK:
        tell(work.name)
        pictures, rate = work.frames(videos, frames)
        rows[work.name] = measured(pictures, rate, runs, deface)
    walls = []
    for faces in (_FEW, _MANY):
        tell(f"a wall with {faces} of {_CELLS} heads")
        walls.append(measured(wall(videos, faces, _CELLS, _SIZE, frames), RATE, runs))
    tell("start")
    return {"rows": rows, "a further face": _per_face(*walls), "start": warm_starts(runs)}


def _per_face(few: Cost, many: Cost) -> dict[str, float]:
    """What a further face costs by filter and transcode, ms."""
    return {name: (getattr(many, name) - getattr(few, name)) / (_MANY - _FEW) for name in ("filter", "transcode")}


def _print(found: dict[str, Any], deface: str | None) -> None:
    header = ["work", "filter, CPU ms a frame", "transcode", "transcodes", *DEFACE, "peak MiB", "redactions a frame"]
    header.append("processors busy")
    rows = []
    for name, cost in found["rows"].items():
        others = [cost.deface.get(each, "not installed" if deface is None else None) for each in DEFACE]
        rows.append([name, cost.filter, cost.transcode, cost.ratio, *others, cost.peak, cost.redactions, cost.busy])
    each = found["a further face"]
    rows.append(["a further face, 720p", each["filter"], each["transcode"], *[None] * 6])
    print(markdown(header, rows))
    stages = [[stage, *times] for stage, times in found["start"].items()]
    print("\n" + markdown(["start after a warm-up", "seconds", "CPU seconds"], stages))
    if "live" in found:
        print("\n" + markdown(["live, 640x480 at 15 a second", "value"], list(found["live"].items())))


def _live(minutes: float) -> dict[str, float]:
    import live  # it needs GStreamer's server

    with tempfile.TemporaryDirectory() as directory:
        found = live.measure(Path(directory), minutes, warm_up=10.0, progress=False)
    middle, high, most = found.added
    return {
        "added latency, middle, ms": middle,
        "95 %": high,
        "most": most,
        "pictures lost": float(found.dropped + found.unsent + found.missing),
        "CPU ms a frame, filter": found.cpu_filter,
        "CPU ms a frame, encoder": found.cpu_encoder,
    }


def _cameras(count: int, minutes: float, tell: Callable[[str], None]) -> dict[str, Any]:
    from benchmarks.live.cameras import watch_cameras  # it needs GStreamer's server
    from benchmarks.live.servers import gst_missing

    if missing := gst_missing():
        raise RuntimeError(missing)
    with tempfile.TemporaryDirectory() as directory:
        return asdict(watch_cameras(Path(directory), count, minutes, tell))


def own_clip(video: Path, size: tuple[int, int] | None, frames: int) -> dict[str, Any]:
    """Cost and stages of one clip. Raises RuntimeError when a run fails."""
    rate = FileSource(video).info.average_rate
    cost = measured(to_and_fro(video, frames, size), rate, 1)
    with tempfile.TemporaryDirectory() as directory:
        clip = Path(directory) / "clip.mp4"
        encode(to_and_fro(video, frames, size), clip, rate, crf=16)
        parts = ran([sys.executable, "-m", "benchmarks", "cost", clip, "--only", "stages"])
    if parts.exit_code:
        raise RuntimeError(f"the run by stages ended with exit code {parts.exit_code}: {parts.complaint}")
    figures = {name: value for name, value in asdict(cost).items() if name != "deface"}
    return {**figures, "transcodes": cost.ratio, **json.loads(parts.output)}


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("video", type=Path, nargs="?", help="a clip of one's own")
    parser.add_argument("--videos", type=Path, help="directory of the clips, for the table")
    parser.add_argument("--growth", type=Path, metavar="OUT", help="faces by pixels instead of the table")
    parser.add_argument("--size", help="of a clip of one's own: crop and rescale it first, as in 640x480")
    parser.add_argument("--frames", type=int, help="of every clip (250; --growth 100; VIDEO 1500)")
    parser.add_argument("--runs", type=int, default=5, help="of which the medians are taken (%(default)s)")
    parser.add_argument("--deface", metavar="PATH", help="the program deface, where it is not on PATH")
    parser.add_argument("--live", type=float, metavar="MINUTES", help="a camera over RTSP as well")
    parser.add_argument("--cameras", type=int, metavar="N", help="one service with N cameras over RTSP")
    parser.add_argument("--minutes", type=float, default=5.0, help="for which they are watched (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--only", choices=["stages"], help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if [given.video, given.videos, given.cameras].count(None) != 2:
        parser.error("give a video, --videos or --cameras")
    try:
        return _run(given)
    except (ValueError, RuntimeError, OSError, StreamdeidError) as error:
        parser.error(str(error))


def _run(given: argparse.Namespace) -> int:
    def tell(what: str) -> None:
        print(f"{what} …", file=sys.stderr, flush=True)

    if given.only:
        print(as_json(by_stage(given.video)))
        return 0
    if given.cameras is not None:
        watched = _cameras(given.cameras, given.minutes, tell)
        middle, high, most = watched.pop("added")
        watched |= {"added latency, middle, ms": middle, "95 %": high, "most": most}
        print(
            as_json(watched)
            if given.json
            else markdown(["cameras, 640x480 at 15 a second", "value"], list(watched.items()))
        )
        return 0
    if given.growth is not None:
        grid = grown(given.videos, given.frames or 100, given.runs, tell)
        given.growth.mkdir(parents=True, exist_ok=True)
        write(given.growth, grid)
        print(tables(grid))
        return 0
    if given.videos is not None:
        deface = deface_program(given.deface)
        found = table(given.videos, given.frames or 250, given.runs, deface, tell)
        if given.live:
            found["live"] = _live(given.live)
        if given.json:
            print(as_json({**found, "rows": {name: asdict(cost) for name, cost in found["rows"].items()}}))
        else:
            _print(found, deface)
        return 0
    size = None if given.size is None else tuple(int(side) for side in given.size.split("x"))
    one = own_clip(given.video, size, given.frames or 1500)  # type: ignore[arg-type]
    if given.json:
        print(as_json(one))
        return 0
    stages, memory = one.pop("stages"), one.pop("memory")
    print(markdown(["", "value"], list(one.items())))
    print("\n" + markdown(["stage, one thread", "CPU ms a frame"], [*stages.items(), ("sum", sum(stages.values()))]))
    print("\n" + markdown(["memory by parts", "MiB"], list(memory.items())))
    return 0
