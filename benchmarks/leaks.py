"""Does a face slip through? Every clip of a directory through the filter, against boxes of an independent detector.

    python benchmarks/leaks.py DIRECTORY [--only NAME ...] [--live] [--misses SEED] [--sheet OUT.png] [--json]

Takes each video that has NAME.faces.csv beside it: frame, x0, y0, x1, y1, score, from any detector; boxes with score
0.5 and up count as faces, all others only excuse a cover. The filter runs in this process, without encoding. A face is
exposed where the middle half of its box keeps its pixels. --live: no look-ahead. --misses: the detector is silent for
up to a second at a time, in a tenth of all frames, chosen by the seed. --sheet: a picture of every exposed face, to
look at (keep it private). Exit code 1 when a face of 40 pixels and up is exposed; with --live, one that was covered
before.

Causes: *never seen* (nothing was found there for a second before and after), *not believed* (something was found, and
taken for no face), *late or lost* (covered there within a second, not in this frame), *misplaced* (a cover touches it).
False covers are places covered that touch no box, per frame that was looked at.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from clips import VIDEOS, as_json, markdown

from streamdeid.assemble import assemble, default_detector, lookahead_frames, open_source
from streamdeid.colour import rectangle_to_rgb
from streamdeid.errors import StreamdeidError
from streamdeid.evaluation.attacks import gaps
from streamdeid.evaluation.attacks.gaps import CLASSES, LEAST_SIDE, Box, compared
from streamdeid.faces import Face, Track
from streamdeid.frames import Frame, Planes
from streamdeid.pipeline import Detector, Tracker, deidentified
from streamdeid.settings import Settings
from streamdeid.shipped_models import Models, load_models

CAUSES = ("never seen", "not believed", "late or lost", "misplaced")
_AROUND = 1
"""Seconds before and after in which something found or covered at the place counts."""
_SILENT = 0.1
"""Share of all frames in which the detector is made to see nothing."""
_TILE = 120

Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class Moment:
    """A published frame: what was found in it, and what was covered."""

    time: Fraction
    found: Sequence[Corners]
    covers: Sequence[Corners]


@dataclass
class Leaks:
    """What came out for a clip."""

    clip: str
    faces: Counter[str] = field(default_factory=Counter)
    exposed: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    after_a_cover: int = 0
    """Faces of 40 pixels and up that were exposed after they had been covered."""
    false_covers: float = 0.0
    """Per frame looked at."""
    detection_ms: float = 0.0
    """CPU milliseconds per frame of the whole detection stage."""
    pictures: list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]] = field(default_factory=list)
    """The exposed faces, uint8 (120, 120, 3), BGR."""

    def row(self) -> dict[str, object]:
        """A line of the table."""
        sizes = {name: f"{self.exposed[name]} of {self.faces[name]}" for name in map(_named, CLASSES)}
        return {
            "clip": self.clip,
            **sizes,
            "causes": ", ".join(f"{self.causes[cause]} {cause}" for cause in CAUSES if self.causes[cause]),
            "40 px and up, once covered": self.after_a_cover,
            "false covers per frame": round(self.false_covers, 2),
            "detection, CPU ms per frame": round(self.detection_ms, 1),
        }


def measure(video: Path, models: Models, settings: Settings, misses: int | None) -> Leaks:
    """Filter a clip and compare it with its boxes. Raises what the filter raises, and ValueError for a bad table."""
    every = gaps.read_all_boxes(video.with_name(f"{video.stem}.faces.csv"))
    step = gaps.looked_at_every(every)
    leaks, moments, exposed = Leaks(video.name), [], []
    covered: dict[Box, bool] = {}  # boxes of the last frame looked at, and whether the face was ever covered
    false, looked_at, spent = 0, 0, [0.0]
    for index, (planes, output, moment) in enumerate(_filtered(video, models, settings, misses, spent)):
        moments.append(moment)
        if index % step:
            continue
        looked_at += 1
        here = [box for box in every if box.frame == index]
        false += sum(not any(_touch(cover, box.corners) for box in here) for cover in moment.covers)
        before, covered = covered, {}
        for found in compared(planes, output, planes, (box for box in here if box.score >= gaps.LEAST_SCORE)):
            box = found.box
            known = any(was and gaps.overlap(box.corners, old.corners) > gaps.SAME_PLACE for old, was in before.items())
            covered[box] = known or not found.kept
            size = next((_named(sizes) for sizes in CLASSES if sizes[0] <= box.side < sizes[1]), None)
            if size is None:
                continue
            leaks.faces[size] += 1
            if found.kept:
                leaks.exposed[size] += 1
                leaks.after_a_cover += known and box.side >= LEAST_SIDE
                leaks.pictures.append(_picture(planes, box))
                exposed.append((index, box))
    leaks.causes.update(cause(moments, index, box.corners) for index, box in exposed)
    leaks.false_covers, leaks.detection_ms = false / max(looked_at, 1), 1000 * spent[0] / max(len(moments), 1)
    return leaks


def cause(moments: Sequence[Moment], index: int, box: Corners) -> str:
    """Why a box, in pixels, of the frame `index` was exposed: one of `CAUSES`."""
    now = moments[index]
    middle = _middle(box)
    if any(_touch(cover, middle) for cover in now.covers):
        return "misplaced"
    near = [one for one in moments if abs(one.time - now.time) <= _AROUND]
    if any(_touch(cover, middle) for one in near for cover in one.covers):
        return "late or lost"
    if any(_touch(found, middle) for one in near for found in one.found):
        return "not believed"
    return "never seen"


def _filtered(
    video: Path, models: Models, settings: Settings, misses: int | None, spent: list[float]
) -> Iterator[tuple[Planes, Planes, Moment]]:
    """Every frame's picture before and after the filter, and what led to it; CPU seconds of detection are added up."""
    source = open_source(video, settings)
    info = source.info
    with contextlib.closing(default_detector(settings)) as own:
        stream = assemble(settings, models, own, size=(info.width, info.height), rate=info.average_rate)
        detect, tracker = _Timed(stream.detect, spent), _Listening(stream.tracker)
        silent = detect if misses is None else _Silent(detect, misses, float(info.average_rate))
        waiting: deque[Frame] = deque()
        frames = (waiting.append(frame) or frame for frame in source)  # type: ignore[func-returns-value]
        ahead = lookahead_frames(settings, info)
        for published in deidentified(frames, silent, tracker, stream.deidentifier, ahead):
            original, tracks = waiting.popleft(), tracker.said.popleft()
            moment = Moment(original.time, [one.box for one in tracks], [one.box for one in published.covers])
            yield original.planes, published.planes, moment


class _Timed:
    """A detector whose CPU time is added up."""

    def __init__(self, detect: Detector, spent: list[float]) -> None:
        self._detect, self._spent = detect, spent

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        start = time.process_time()
        faces = self._detect(frame)
        self._spent[0] += time.process_time() - start
        return faces


class _Silent:
    """A detector that says nothing for up to a second at a time, in a tenth of all frames."""

    def __init__(self, detect: Detector, seed: int, rate: float) -> None:
        self._detect, self._rng, self._longest = detect, np.random.default_rng(seed), max(1, round(rate))
        self._left = 0

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        faces = self._detect(frame)
        if not self._left and self._rng.random() < _SILENT / (1 - _SILENT) / ((1 + self._longest) / 2):
            self._left = int(self._rng.integers(1, self._longest + 1))
        if self._left:
            self._left -= 1
            return []
        return faces


class _Listening:
    """A tracker that keeps what it said."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self.said: deque[Sequence[Track]] = deque()

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]:
        tracks = self._tracker.update(faces, time)
        self.said.append(tracks)
        return tracks


def _named(sizes: tuple[float, float]) -> str:
    return f"{sizes[0]:.0f}-{sizes[1]:.0f} px" if math.isfinite(sizes[1]) else f"{sizes[0]:.0f} px and up"


def _touch(a: Corners, b: Corners) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _middle(box: Corners) -> Corners:
    dx, dy = (box[2] - box[0]) / 4, (box[3] - box[1]) / 4
    return box[0] + dx, box[1] + dy, box[2] - dx, box[3] - dy


def _picture(planes: Planes, box: Box) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The surroundings of an exposed face, three times as wide, with its box."""
    reach = 1.5 * max(box.x1 - box.x0, box.y1 - box.y0)
    corners = []
    for low, high, limit in zip((box.x0, box.y0), (box.x1, box.y1), planes.size, strict=True):
        start = int(np.clip((low + high) / 2 - reach, 0, max(limit - 2 * reach, 0))) & ~1
        corners.append((start, min(limit, math.ceil(start + 2 * reach))))
    (x0, x1), (y0, y1) = corners
    rgb = rectangle_to_rgb(planes, x0, y0, x1, y1)
    fx, fy = _TILE / (x1 - x0), _TILE / (y1 - y0)
    picture = np.ascontiguousarray(cv2.resize(rgb, (_TILE, _TILE), interpolation=cv2.INTER_CUBIC)[:, :, ::-1], np.uint8)
    ends = [(round((x - x0) * fx), round((y - y0) * fy)) for x, y in ((box.x0, box.y0), (box.x1, box.y1))]
    cv2.rectangle(picture, *ends, (0, 0, 255))
    return picture


def main() -> int:
    """Run; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--live", action="store_true", help="no look-ahead")
    parser.add_argument("--misses", type=int, metavar="SEED", help="let the detector be silent at times")
    parser.add_argument("--sheet", type=Path, metavar="PNG", help="pictures of the exposed faces")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    videos = sorted(path for path in given.directory.iterdir() if path.suffix.lower() in VIDEOS)
    videos = [path for path in videos if path.with_name(f"{path.stem}.faces.csv").is_file()]
    videos = [path for path in videos if not given.only or path.stem in given.only]
    if not videos:
        parser.error(f"{given.directory} holds no such video with its table of faces")
    settings = replace(Settings(), lookahead=0.0) if given.live else Settings()
    models = load_models(None)
    try:
        results = [measure(video, models, settings, given.misses) for video in videos]
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    rows = [leaks.row() for leaks in [*results, total(results)]]
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    if given.sheet is not None:
        write_sheet(given.sheet, [picture for leaks in results for picture in leaks.pictures])
    large = [_named(sizes) for sizes in CLASSES if sizes[0] >= LEAST_SIDE]
    bad = sum(one.after_a_cover if given.live else sum(one.exposed[size] for size in large) for one in results)
    return 1 if bad else 0


def total(results: Sequence[Leaks]) -> Leaks:
    """All clips together; false covers and cost are means over the clips."""
    whole = Leaks("all")
    for one in results:
        whole.faces += one.faces
        whole.exposed += one.exposed
        whole.causes += one.causes
        whole.after_a_cover += one.after_a_cover
    whole.false_covers = float(np.mean([one.false_covers for one in results]))
    whole.detection_ms = float(np.mean([one.detection_ms for one in results]))
    return whole


def write_sheet(path: Path, pictures: Sequence[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]) -> None:
    """Pictures uint8 (120, 120, 3), ten in a row, as one PNG; none: no file."""
    rows = [list(row) for row in itertools.zip_longest(*[iter(pictures)] * 10)]
    blank = np.zeros((_TILE, _TILE, 3), np.uint8)
    if rows:
        cv2.imwrite(str(path), np.vstack([np.hstack([blank if one is None else one for one in row]) for row in rows]))


if __name__ == "__main__":
    raise SystemExit(main())
