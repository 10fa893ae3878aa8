"""Do mediapipe's networks say the same by LiteRT as in mediapipe's graphs, and what does each cost?

    python -m benchmarks networks VIDEO ... [--frames 150] [--every 1] [--json]

Two detectors of the filter see the same frames of each clip in turn, one with LiteRT and one with the graphs, each with
its own memory of places. Faces are matched by IoU. Differences are in per cent of the face's width (boxes, landmarks
and mesh: the largest of a face), or of evidence and presence; means and the worst face. `other`: faces that only one of
the two told. CPU ms: medians over frames of the time of the process in a detector's call, and, below, of one call of
each network on the same picture. Resident MiB: what a process has more after it made its detector and used it once.
Import and start: CPU seconds of a new process until its detector has seen its first picture.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.detection.candidates import overlap
from streamdeid.detection.landmarks import region_of_box
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.networks import CHOICE, Networks
from streamdeid.video.files.source import FileSource

WAYS = ("litert", "graphs")
_SAME = 0.5

_START = """
import os, time
import numpy as np
from fractions import Fraction
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Frame
import cv2
from streamdeid.detection.detection_network import decoded
decoded(np.zeros((1, 16), np.float32), np.zeros(1, np.float32), 1.0)  # numba starts: every filter needs it anyway
frame = Frame(planes_from_rgb(np.full((480, 640, 3), 128, np.uint8)), Fraction(0), 0)
before, began = resident(), time.process_time()
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.networks import Networks
from streamdeid.detection.region import LandmarkRegion
faces = MediapipeFaces()
faces(frame)
faces._landmarks(frame.planes, LandmarkRegion((320.0, 240.0), 200.0, 0.0))
print(time.process_time() - began, resident() - before)
"""


@dataclass
class Agreement:
    """What two detectors told about the same frames."""

    faces: int = 0
    other: int = 0
    differences: list[tuple[float, float, float, float]] = field(default_factory=list)
    """Of box, landmarks with mesh, evidence, presence, in per cent."""
    times: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})

    def note(self, one: Sequence[Face], other: Sequence[Face]) -> None:
        """The faces of one frame."""
        left = list(range(len(other)))
        for face in one:
            shared = overlap(np.array([face.box]), np.array([other[i].box for i in left]).reshape(-1, 4))
            if shared.max(initial=0.0) < _SAME:
                self.other += 1
                continue
            self.faces += 1
            self.differences.append(_difference(face, other[left.pop(int(shared.argmax()))]))
        self.other += len(left)

    def row(self) -> list[object]:
        """The table's, after the clip's name."""
        values = np.array(self.differences or [(np.nan,) * 4])
        pairs = [f"{values[:, i].mean():.2g} / {values[:, i].max():.2g}" for i in range(4)]
        return [self.faces, self.other, *pairs, *(1e3 * float(np.median(self.times[way])) for way in WAYS)]


def _difference(a: Face, b: Face) -> tuple[float, float, float, float]:
    box = float(np.abs(np.subtract(a.box, b.box)).max()) / a.width
    points = 0.0
    if a.landmarks is not None and b.landmarks is not None and a.mesh is not None and b.mesh is not None:
        both = np.concatenate([a.landmarks - b.landmarks, (a.mesh - b.mesh)[:, :2]])
        points = float(np.linalg.norm(both, axis=1).max()) / a.width
    elif (a.landmarks is None) != (b.landmarks is None):
        points = 1.0
    return 100 * box, 100 * points, 100 * abs(a.evidence - b.evidence), 100 * abs(a.presence - b.presence)


def made(way: str) -> MediapipeFaces:
    """The filter's detector with its networks run one way."""
    before = os.environ.get(CHOICE)
    os.environ[CHOICE] = way
    try:
        return MediapipeFaces()
    finally:
        os.environ.pop(CHOICE)
        if before is not None:
            os.environ[CHOICE] = before


def agreement(clip: Path, frames: int, every: int) -> Agreement:
    """Both detectors on a clip."""
    detectors = {way: made(way) for way in WAYS}
    result = Agreement()
    for number, frame in enumerate(islice(FileSource(clip), 0, frames * every, every)):
        told = {}
        for way in WAYS if number % 2 else WAYS[::-1]:
            begun = time.process_time()
            told[way] = detectors[way](frame)
            result.times[way].append(time.process_time() - begun)
        result.note(told["litert"], told["graphs"])
    for detector in detectors.values():
        detector.close()
    return result


def calls(frame: Frame, count: int = 100) -> dict[str, dict[str, float]]:
    """CPU ms, medians, of one call of each network each way, on a frame with a face in the middle or without one."""
    width, height = frame.planes.size
    scale = 384 / max(width, height)
    whole = rectangle_to_rgb(frame.planes, 0, 0, width, height, scale, quick=True)
    tile = np.ascontiguousarray(np.resize(whole, (192, 192, 3)))
    region = region_of_box((width * 0.35, height * 0.25, width * 0.35 + height * 0.4, height * 0.65))
    patch = rectangle_to_rgb(frame.planes, 0, 0, width, height, 256 / region.side, quick=True)
    spent: dict[str, dict[str, float]] = {}
    for way in WAYS:
        os.environ[CHOICE] = way
        networks = Networks()
        detect, mesh = networks.detector(0.3), networks.mesh(0.0)
        inside = type(region)((patch.shape[1] / 2, patch.shape[0] / 2), 256.0, 0.1)
        jobs = {"whole": lambda: detect(whole), "tile": lambda: detect(tile), "mesh": lambda: mesh(patch, inside)}  # noqa: B023
        for name, job in jobs.items():
            spent.setdefault(name, {})[way] = _median(job, count)
        os.environ.pop(CHOICE)
    return spent


def _median(job: Any, count: int) -> float:
    times = []
    for _ in range(count):
        begun = time.process_time()
        job()
        times.append(time.process_time() - begun)
    return 1e3 * float(np.median(times))


def start(way: str, runs: int = 3) -> tuple[float, float]:
    """CPU seconds and resident MiB of a new process that makes its detector and uses it."""
    told = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", _START], env={**os.environ, CHOICE: way}, capture_output=True, text=True, check=True
        )
        told.append([float(value) for value in done.stdout.split()])
    seconds, resident = np.median(told, axis=0)
    return float(seconds), float(resident)


def main(argv: list[str]) -> int:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", nargs="+", type=Path, metavar="VIDEO")
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--every", type=int, default=1, help="take one frame of so many")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    rows = [[clip.stem, *agreement(clip, given.frames, given.every).row()] for clip in given.videos]
    first = next(iter(FileSource(given.videos[0])))
    each = calls(Frame(first.planes, Fraction(0), 0))
    starts = {way: start(way) for way in WAYS}
    if given.json:
        print(as_json({"agreement": rows, "calls": each, "start": starts}))
        return 0
    header = ["clip", "faces", "other", "box %", "points %", "evidence", "presence", *(f"ms {way}" for way in WAYS)]
    print(markdown(header, rows))
    print(markdown(["CPU ms a call", *WAYS], [[name, *(values[way] for way in WAYS)] for name, values in each.items()]))
    names = "start: CPU s", "start: resident MiB"
    print(markdown(["", *WAYS], [[name, *(starts[way][i] for way in WAYS)] for i, name in enumerate(names)]))
    return 0
