"""Where the CPU time of a frame goes: a flame picture of one clip, measured at the functions that matter.

    python -m benchmarks flame VIDEO [--frames 200] [--svg OUT.svg] [--least 0.2] [--json]

The parts run in this process, one after another, with the encoder held to one thread. Each function in `FUNCTIONS` is
timed by the CPU time of its own thread and put under the one that called it, so that a box of the picture is as wide
as what it takes of a frame, and what is empty below a box is its own work. Functions that are not listed count for
their caller; each timed call adds half a microsecond. What another thread does (the detector's) stands beside the
rest. The first frames, in which kernels and networks begin, are left out (--skip), and so are the last, which wait with
nothing left to look at. Printed is the same as a table, boxes of less than --least milliseconds left out.
"""

from __future__ import annotations

import contextlib
import functools
import html
import importlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.around_watch import AroundWatch
from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of, positive
from streamdeid.core.process_usage import be_frugal
from streamdeid.errors import StreamdeidError
from streamdeid.runs.parts import assemble, default_detector, lookahead_frames
from streamdeid.runs.session import open_session
from streamdeid.runs.step import Step, analysed
from streamdeid.settings import Settings
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource

FUNCTIONS = (
    "detection.mediapipe_faces:MediapipeFaces.__call__",
    "detection.mediapipe_faces:MediapipeFaces.look_again",
    "detection.mediapipe_faces:MediapipeFaces._search",
    "detection.detection_network:DetectionNetwork.__call__",
    "detection.landmarks:Landmarks.__call__",
    "detection.landmark_network:LandmarkNetwork.__call__",
    "detection.second_look:SecondLook.keypoints",
    "detection.second_look:SecondLook.turns",
    "detection.yunet:YuNet.__call__",
    "detection.close_look:CloseLook.__call__",
    "detection.survey:Survey.look",
    "detection.centerface:CenterFace.__call__",
    "core.luma_pyramid:luma_pyramid",
    "tracking.cuts:Cuts.__call__",
    "tracking.tracker:FaceTracker.update",
    "tracking.lookahead:LookAhead.note",
    "tracking.lookahead:LookAhead.shown",
    "tracking.patches:found_again",
    "protect.replace_faces:ReplaceFaces.observe",
    "protect.replace_faces:ReplaceFaces.decide",
    "protect.replace_faces:ReplaceFaces.render",
    "observe.observation:sampled_face",
    "observe.observation:Observer.__call__",
    "observe.posed_view:PosedReader.__call__",
    "observe.turned_view:TurnedReader.__call__",
    "observe.signals:SignalReader.__call__",
    "aam.fit:fit",
    "identity.looks:Looks.__call__",
    "protect.measured_faces:MeasuredFaces._learn",
    "protect.posed_faces:PosedFaces.render",
    "protect.soft_redaction:soft_redaction",
    "render.new_face:NewFace.of",
    "render.face:render_surrogate",
    "render.light:light_change",
    "render.lit_face:lit_texture",
    "aam.synthesise:render_patch",
    "aam.mesh_render:render_turned",
    "render.eyes:render_eye",
    "render.mouth:render_mouth",
    "render.blend:membrane",
    "render.blend:composed",
    "render.hairline:Hairline.continue_over",
    "render.scene_grain:SceneGrain.match",
    "render.scene_grain:SceneGrain.apply",
    "render.glasses:render_glasses",
    "render.turned_face:render_turned_face",
    "render.posed_face:render_posed_face",
    "render.posed_light:PosedLight.read",
    "render.posed_fill:filled",
    "protect.soft_head:head_of",
    "video.files.sink:FileSink.write",
)
"""What is timed: module of streamdeid, and function or method."""

_WIDTH, _ROW, _LETTER = 1200, 18, 6.2
"""Width of the picture, height of a row, and width of a letter, pixels."""
_COLOURS = {
    "detection": "#f4a582",
    "tracking": "#fddbc7",
    "observe": "#92c5de",
    "aam": "#92c5de",
    "identity": "#b8e186",
    "protect": "#c2a5cf",
    "render": "#c2a5cf",
    "video": "#ffe599",
}
"""Of boxes by the room of their function ..."""
_OTHER = "#e0e0e0"
"""... and of all others."""


@dataclass
class Box:
    """A function below those that called it."""

    name: str
    seconds: float = 0.0
    calls: int = 0
    inner: dict[str, Box] = field(default_factory=dict)

    def below(self, name: str) -> Box:
        """The box of a function that this one calls."""
        return self.inner.setdefault(name, Box(name))

    @property
    def width(self) -> float:
        """Seconds of its own and of what it calls; of one that is not timed itself, of what it calls."""
        return self.seconds or sum(box.width for box in self.inner.values())

    def rows(self, frames: int, depth: int = 0) -> Iterator[tuple[int, str, float, float]]:
        """Depth, name, and milliseconds and calls for a frame, of it and of all below, the widest first."""
        yield depth, self.name, 1000 * self.width / frames, self.calls / frames
        for box in sorted(self.inner.values(), key=lambda box: -box.width):
            yield from box.rows(frames, depth + 1)


class Flames:
    """Times functions while they are patched. What runs in another thread stands beside the rest."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self.root = Box("a frame")
        self.on = False
        """Whether it counts."""
        self._clock = clock
        self._local = threading.local()
        self._lock = threading.Lock()

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, timed when it begins while this counts."""

        @functools.wraps(call)
        def measured(*given: Any, **named: Any) -> Any:
            if not self.on:
                return call(*given, **named)
            above = getattr(self._local, "box", self.root)
            with self._lock:
                box = self._local.box = above.below(name)
            begun = self._clock()
            try:
                return call(*given, **named)
            finally:
                spent, self._local.box = self._clock() - begun, above
                with self._lock:
                    box.seconds += spent
                    box.calls += 1

        return measured

    def patches(self, functions: Iterable[str]) -> Iterator[Any]:
        """Patches that time functions wherever they are called. AttributeError for one that is not there."""
        modules = {one: importlib.import_module(f"streamdeid.{one.partition(':')[0]}") for one in functions}
        for one, module in modules.items():  # all are there before one is patched: what comes later has it by name
            owner: Any = module
            path = one.partition(":")[2]
            *outer, last = path.split(".")
            for part in outer:
                owner = getattr(owner, part)
            call = getattr(owner, last)
            if isinstance(vars(owner).get(last), classmethod):
                yield patch.object(owner, last, staticmethod(self.timed(one, call)))
            elif outer:
                yield patch.object(owner, last, self.timed(one, call))
            else:  # others hold it by name
                timed = self.timed(one, call)
                holders = [
                    m for n, m in sys.modules.items() if n.startswith("streamdeid.") and vars(m).get(last) is call
                ]
                yield from (patch.object(holder, last, timed) for holder in holders)


def measured(path: Path, frames: int, skip: int) -> tuple[Box, int]:
    """The tree of a clip, and the frames it is of. Raises StreamdeidError, and ValueError for a clip that is too
    short."""
    settings, source, flames = Settings(), FileSource(path), Flames()
    size, ahead = (source.info.width, source.info.height), lookahead_frames(settings, source.info)
    pictures, rendered = iter(source), 0
    with (
        contextlib.ExitStack() as patched,
        tempfile.TemporaryDirectory() as directory,
        FileSink(Path(directory) / "o.mp4", source.info, threads=1) as sink,
    ):
        for one in list(flames.patches(FUNCTIONS)):
            patched.enter_context(one)
        detect = default_detector(settings)
        stream = assemble(open_session(settings), detect, size=size, rate=source.info.average_rate)
        step: Step[None] = Step(AroundWatch(stream.detect), stream.tracker, stream.deidentifier)
        decode = flames.timed("decode", lambda: next(pictures, None))
        for following in analysed(iter(decode, None), step):
            if following is None:
                break  # the others only wait
            if len(step.waiting) > ahead:
                sink.write(step.render().frame)
                rendered += 1
                if rendered == skip + frames:
                    break
            flames.on = rendered >= skip
        flames.on = False
    if rendered <= skip:
        raise ValueError(f"{path.name} has too few frames to leave the first {skip} and the last {ahead} out")
    return flames.root, rendered - skip


def svg(root: Box, frames: int) -> str:
    """The picture: a row for each depth, from the top; hold the mouse over a box for its figures."""
    total = root.width
    deepest = max(depth for depth, *_ in root.rows(frames))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {(deepest + 1) * _ROW}" '
        'font-family="monospace" font-size="11">'
    ]

    def draw(box: Box, x: float, depth: int) -> None:
        wide = _WIDTH * box.width / total
        if wide < 1:
            return
        colour = _COLOURS.get(box.name.partition(".")[0], _OTHER)
        words = f"{_short(box.name)} {1000 * box.width / frames:.1f} ms"
        title = f"{box.name}: {1000 * box.width / frames:.2f} ms and {box.calls / frames:.2f} calls for a frame"
        text = next((one for one in (words, _short(box.name)) if len(one) * _LETTER < wide - 6), "")
        out.append(
            f'<g><title>{html.escape(title)}</title><rect x="{x:.1f}" y="{depth * _ROW}" '
            f'width="{max(wide - 0.5, 0.5):.1f}" height="{_ROW - 1}" fill="{colour}"/>'
            f'<text x="{x + 3:.1f}" y="{depth * _ROW + 12}">{html.escape(text)}</text></g>'
        )
        for one in sorted(box.inner.values(), key=lambda one: -one.width):
            draw(one, x, depth + 1)
            x += _WIDTH * one.width / total

    draw(root, 0.0, 0)
    return "\n".join([*out, "</svg>", ""])


def _short(name: str) -> str:
    """Class and method, or function; a call is its class."""
    return name.rpartition(":")[2].removesuffix(".__call__")


def main(argv: list[str]) -> int:
    """Measure, draw and print."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("--frames", type=positive, default=200)
    parser.add_argument("--skip", type=int, default=60)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--least", type=float, default=0.2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    if given.skip < 0:
        parser.error("--skip counts frames")
    be_frugal()
    try:
        root, frames = measured(given.video, given.frames, given.skip)
        if given.svg is not None:
            given.svg.write_text(svg(root, frames), encoding="utf-8")
    except (StreamdeidError, ValueError, OSError) as error:
        parser.error(str(error))
    rows = list(root.rows(frames))
    if given.json:
        keys = ("depth", "function", "ms", "calls")
        print(as_json({"frames": frames, "boxes": [dict(zip(keys, row, strict=True)) for row in rows]}))
        return 0
    told = [["&nbsp;" * 4 * depth + _short(name), ms, calls] for depth, name, ms, calls in rows if ms >= given.least]
    print(f"{given.video.name}, {frames} frames\n\n" + markdown(["function", "CPU ms a frame", "calls a frame"], told))
    return 0
