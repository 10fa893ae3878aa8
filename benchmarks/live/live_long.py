"""Days in an hour: 100,000 frames of a looped camera at full speed through the live path; does anything grow?

    python -m benchmarks live_long [--frames 100000] [--video CLIP] [--lost-every N] [--json]

`LiveFilter` with the parts of `streamdeid filter`, a source that hands out a drawn person (320x240) over and over as
fast as it is asked, and the real sink: the encoder's process, rotating files of which two are kept. --video: eight
seconds of a clip, to and fro, as an edge box takes them (480 lines, the profile's encoder). A line every 5,000 frames.

Bars: memory of both processes after the last frame within 5 MiB of that after frame 1,000; as many threads and
descriptors. Exit code 1 when one is missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.cost.clips import to_and_fro
from benchmarks.live.clip import RATE, live_pictures
from benchmarks.live.small_clips import small_size
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.process_usage import own_usage, usage_of
from streamdeid.core.status import Arrival, SourceState
from streamdeid.runs.live import LiveFilter
from streamdeid.runs.live_parts import StreamParts
from streamdeid.runs.profiles import EDGE, profile_settings
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from streamdeid.video.files.source import FileSource
from streamdeid.video.live.sink import LiveSink

SIZE = (320, 240)
MARK, EVERY = 1000, 5000
"""Frame after which things must not grow any more, and frames between lines."""
MEMORY_BAR = 5.0
"""MiB."""
_ASKED = 30
"""Frames between looks at the state, as the command line asks for it about once a second."""
_LOOP = 400
"""Frames of a clip, there and back."""
_ROTATE = 60.0
"""Seconds of a file."""


@dataclass(frozen=True)
class Reading:
    """What both processes use after so many frames."""

    frames: int
    filter_mib: float
    encoder_mib: float
    threads: int
    descriptors: int
    seconds: float

    @property
    def memory(self) -> float:
        """MiB of both."""
        return self.filter_mib + self.encoder_mib


class LoopedCamera:
    """A source of the live loop that never waits. seen: called before each frame with its number.

    lost_every: frames after which the connection is another one; None: it is never lost.
    """

    def __init__(
        self, pictures: Sequence[Planes], frames: int, seen: Callable[[int], None], lost_every: int | None = None
    ) -> None:
        self._pictures, self._frames, self._seen, self._lost_every = pictures, frames, seen, lost_every or frames
        self._next = 0

    @property
    def ended(self) -> bool:
        """Whether all was taken."""
        return self._next >= self._frames

    def start(self) -> None:
        """Nothing has to begin."""

    def take(self, timeout: float) -> Arrival | None:
        """The next frame."""
        self._seen(self._next)
        if self.ended:
            return None
        number, self._next = self._next, self._next + 1
        planes = self._pictures[number % len(self._pictures)].copy()
        return Arrival(
            Frame(planes, Fraction(number, RATE), number), time.monotonic(), 1 + number // self._lost_every, float(RATE)
        )

    def state(self) -> SourceState:
        """Always connected."""
        return SourceState(connected=True, connections=1, frames=self._next)

    def close(self) -> None:
        """Nothing to end."""


def measure(
    directory: Path, frames: int, lost_every: int | None, progress: Callable[[Reading], None], video: Path | None = None
) -> tuple[list[Reading], dict[str, Any]]:
    """Run it; readings, and the last state. Raises StreamdeidError."""
    models = load_models(None)
    settings = Settings(lookahead=0.0)
    if video is None:
        pictures, _, _ = live_pictures(models, SIZE, 1, None, seconds=6.0)
    else:
        settings = profile_settings(EDGE, lookahead=0.0)
        info = FileSource(video).info
        size = small_size(info.width, info.height)
        pictures = [frame.planes for frame in to_and_fro(video, _LOOP, size)]
    readings: list[Reading] = []
    begun = time.monotonic()

    def seen(number: int) -> None:
        if number % _ASKED == 0:
            live_filter.status()
        wanted = number in (MARK, frames) or (number > 0 and number % EVERY == 0)
        if wanted and not (readings and readings[-1].frames == number):
            readings.append(_reading(number, sink, begun))
            progress(readings[-1])

    sink = LiveSink(str(directory / "out-%Y%m%d-%H%M%S.mkv"), rotate=_ROTATE, keep_files=2, preset=settings.preset)
    parts = StreamParts(settings)
    camera = LoopedCamera(pictures, frames, seen, lost_every)
    live_filter = LiveFilter(camera, sink, parts, close_parts=parts.close, usage=sink.child_usage)
    with live_filter:
        live_filter.run(threading.Event())
        status = asdict(live_filter.status())
    return readings, status


def _reading(number: int, sink: LiveSink, begun: float) -> Reading:
    child = sink.child_pid
    pids = [os.getpid(), *([] if child is None else [child])]
    return Reading(
        number,
        own_usage()[1] / (1 << 20),
        0.0 if child is None else usage_of(child)[1] / (1 << 20),
        sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids),
        sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids),
        time.monotonic() - begun,
    )


def problems(readings: Sequence[Reading], status: dict[str, Any], frames: int) -> list[str]:
    """The bars that were missed."""
    first, last = readings[0], readings[-1]
    found = []
    if last.memory > first.memory + MEMORY_BAR:
        grown = last.memory - first.memory
        found.append(f"memory grew by {grown:.1f} MiB from frame {first.frames} to frame {last.frames}")
    then, now = asdict(first), asdict(last)
    for name in ("threads", "descriptors"):
        found += [f"{name}: {then[name]}, then {now[name]}"] * (then[name] != now[name])
    if status["filtered"] != frames:
        found.append(f"{status['filtered']} of {frames} frames were filtered: {status['reason']}")
    return found


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--frames", type=int, default=100000)
    parser.add_argument("--video", type=Path, help="a clip instead of a drawn person")
    parser.add_argument("--lost-every", type=int, metavar="N", help="the camera is lost and found every N frames")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    if given.frames <= MARK or (given.lost_every is not None and given.lost_every < 1):
        parser.error(f"more than {MARK} frames, please, and at least one to a connection")
    cv2.setNumThreads(1)

    def progress(one: Reading) -> None:
        print(
            f"{one.frames} frames, {one.frames / one.seconds:.0f} a second: {one.filter_mib:.1f} + "
            f"{one.encoder_mib:.1f} MiB, {one.threads} threads, {one.descriptors} descriptors",
            file=sys.stderr,
            flush=True,
        )

    with tempfile.TemporaryDirectory() as directory:
        readings, status = measure(Path(directory), given.frames, given.lost_every, progress, given.video)
    missed = problems(readings, status, given.frames)
    if given.json:
        print(as_json({"readings": [asdict(one) for one in readings], "status": status, "problems": missed}))
        return 1 if missed else 0
    first, last = asdict(readings[0]), asdict(readings[-1])
    print(markdown(["", "then", "at the end"], [(name, first[name], last[name]) for name in first]))
    sent = f"{status['sink']['written']} sent, {status['sink']['unsent']} left out by the encoder"
    print(f"\n{status['filtered']} filtered, {sent}; {status['faces']}")
    print("\n" + ("\n".join(missed) or "every bar is met"))
    return 1 if missed else 0
