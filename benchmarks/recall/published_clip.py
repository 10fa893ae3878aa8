"""A clip through the filter of this version of the program or of another one, in a process of its own (for `faces`)."""

from __future__ import annotations

import pickle
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

from benchmarks.clips import KEY
from benchmarks.command_line import parser_of
from benchmarks.processes import of_version
from benchmarks.recall.late_survey import detector
from benchmarks.recall.score import NO_FACE, Corners
from streamdeid.core.frames import Planes
from streamdeid.protect.plan import Plan
from streamdeid.runs.parts import assemble, lookahead_frames, open_source
from streamdeid.runs.session import open_session
from streamdeid.runs.step import Done, filtered
from streamdeid.settings import Settings

PATIENCE = 300.0
"""Seconds that the detector has for a frame: a busy machine must not end a measurement of minutes."""
HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Cover:
    """What a head shows in a frame."""

    track: int
    box: Corners
    """In pixels of the picture as it is stored."""
    level: str
    """Label of the protection level."""
    surrogate: int
    """Tells surrogates apart; 0 where none is shown."""


@dataclass(frozen=True)
class Published:
    """A frame that may leave."""

    covers: Sequence[Cover]
    planes: Planes | None
    """Of a frame that was asked for."""


def published(tree: Path, video: Path, frames: Collection[int], *, live: bool) -> tuple[float, list[Published]]:
    """Frames per second, and every frame up to the last of `frames`, with the pictures of these.

    tree: the directory of the version, with its `streamdeid` in it. live: without look-ahead. Raises RuntimeError when
    the filter fails, ValueError for a clip that ends before.
    """
    with tempfile.TemporaryDirectory() as directory:
        asked, out = Path(directory) / "asked", Path(directory) / "published"
        asked.write_bytes(pickle.dumps((video.resolve(), frozenset(frames), live)))
        ran = subprocess.run(
            of_version(tree, __name__, asked, out), capture_output=True, text=True, check=False, cwd=directory
        )
        if ran.returncode:
            raise RuntimeError(f"{tree}: {video.name}: {(ran.stderr.strip().splitlines() or ['it failed'])[-1]}")
        rate, found = pickle.loads(out.read_bytes())
    if len(found) <= max(frames):
        raise ValueError(f"{video.name} has no frame {max(frames)}, but the labels have")
    return float(rate), found


def filtered_clip(video: Path, frames: Collection[int], settings: Settings) -> tuple[Fraction, list[Published]]:
    """The same in this process, with its version. Raises what the filter raises."""
    source = open_source(video, settings)
    info = source.info
    with detector(settings) as own:
        size = (info.width, info.height)
        stream = assemble(open_session(settings, KEY), own, size=size, rate=info.average_rate)
        running = filtered(islice(source, max(frames) + 1), stream.step(), lookahead_frames(settings, info))
        return info.average_rate, list(_published(running, frames))


def _published(running: Iterator[Done[None]], frames: Collection[int]) -> Iterator[Published]:
    for index, done in enumerate(running):
        planes = done.frame.planes
        across, down = (new / old for new, old in zip(done.pending.frame.planes.size, planes.size, strict=True))
        plans = {plan.track.number: plan for plan in done.plans}
        covers = []
        for one in done.frame.redactions:
            x0, y0, x1, y1 = one.box
            box = x0 / across, y0 / down, x1 / across, y1 / down
            covers.append(Cover(one.track, box, one.level, _surrogate(plans.get(one.track), one.level)))
        yield Published(covers, planes if index in frames else None)


def _surrogate(plan: Plan | None, level: str) -> int:
    if plan is None or plan.face is None or level in NO_FACE:
        return 0
    return hash(plan.face.vector.tobytes())


def main(words: list[str]) -> int:
    """Do what is asked for in a file, and leave the answer in another one; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("asked", type=Path, help="file with a clip, its frames and whether it is live (pickle)")
    parser.add_argument("out", type=Path, help="file that gets the answer (pickle)")
    given = parser.parse_args(words)
    video, frames, live = pickle.loads(given.asked.read_bytes())
    settings = Settings(detector_deadline=PATIENCE)
    if live:
        settings = replace(settings, lookahead=0.0)
    given.out.write_bytes(pickle.dumps(filtered_clip(video, frames, settings)))
    return 0
