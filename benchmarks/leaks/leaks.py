"""Does a face slip through? Every clip of a directory through the filter, against boxes of an independent detector.

    python -m benchmarks leaks DIRECTORY [--only NAME ...] [--live] [--misses SEED] [--every N]
        [--sheet OUT.png] [--false-sheet OUT.png] [--json]

Takes each video that has NAME.faces.csv beside it: frame, x0, y0, x1, y1, score, from any detector; boxes with score
0.5 and up count as faces, all others only excuse a cover. The filter runs in this process, without encoding. A face is
exposed where more than a quarter of the pixels in the middle half of its box are the original's. --live: no look-ahead.
--misses: the detector is silent for up to a second at a time, in a tenth of all frames, chosen by the seed and the
clip's name. --every: only every so many frames of each clip, as of a slower camera. --sheet: a picture of every exposed
face, to look at (keep it private); --false-sheet: of the false covers. Exit code 1 when a face of 40 pixels and up is
exposed; with --live, one that was covered before.

Causes: *never seen* (nothing was found there for a second before and after), *not believed* (something was found, and
taken for no face), *late or lost* (covered there within a second, not in this frame), *misplaced* (a cover touches it).
False covers are places covered that touch no box, per frame that was looked at.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from benchmarks.boxes import middle, touch
from benchmarks.clips import as_json, clips_with_faces, markdown
from benchmarks.command_line import parser_of, positive
from benchmarks.leaks.run import Corners, Moment, frames_of
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.errors import StreamdeidError
from streamdeid.lab.attacks import gaps
from streamdeid.lab.attacks.gaps import CLASSES, LEAST_SIDE, Box
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models, load_models

CAUSES = ("never seen", "not believed", "late or lost", "misplaced")
_AROUND = 1
"""Seconds before and after in which something found or covered at the place counts."""
KEPT = 0.25
"""Share of the pixels in the middle half of a box that are the original's, from which a face is exposed."""
_REMEMBERED = 2
"""Seconds for which a place that was covered is remembered, though no box was seen there."""
_TILE = 120


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
    frames: int = 0
    pictures: list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]] = field(default_factory=list)
    """The exposed faces, uint8 (120, 120, 3), BGR."""
    false: list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]] = field(default_factory=list)
    """The places that were covered and touch no box, as the exposed faces."""

    def row(self) -> dict[str, object]:
        """A line of the table."""
        sizes = {name: f"{self.exposed[name]} of {self.faces[name]}" for name in map(named, CLASSES)}
        return {
            "clip": self.clip,
            **sizes,
            "causes": ", ".join(f"{self.causes[cause]} {cause}" for cause in CAUSES if self.causes[cause]),
            "40 px and up, once covered": self.after_a_cover,
            "false covers per frame": round(self.false_covers, 2),
            "detection, CPU ms per frame": round(self.detection_ms, 1),
        }


def measure(video: Path, models: Models, settings: Settings, misses: int | None, every: int = 1) -> Leaks:
    """Filter every so many frames of a clip and compare them with its boxes. Raises what the filter raises, and
    ValueError for a bad table."""
    boxes: dict[int, list[Box]] = defaultdict(list)
    for box in gaps.read_all_boxes(video.with_name(f"{video.stem}.faces.csv")):
        if box.frame % every == 0:
            boxes[box.frame // every].append(box)
    first = min(boxes, default=0)
    step = math.gcd(*(frame - first for frame in boxes)) or 1
    leaks, moments, exposed = Leaks(video.name), [], []
    covered: list[_Covered] = []
    looked_at, spent = 0, [0.0]
    for index, (planes, output, moment) in enumerate(frames_of(video, models, settings, misses, spent, every)):
        moments.append(moment)
        if index % step != first % step:
            continue
        looked_at += 1
        here = boxes.pop(index, [])
        for redaction in moment.redactions:
            if not any(touch(redaction, box.corners) for box in here):
                leaks.false.append(picture(planes, Box(index, *redaction, 0.0)))
        covered = [one for one in covered if moment.time - one.time <= _REMEMBERED]
        for box in (box for box in here if box.score >= gaps.LEAST_SCORE):
            kept = kept_share(planes, output, box) > KEPT
            known = any(one.is_at(box, moment.time) for one in covered)
            if known or not kept:
                covered.append(_Covered(moment.time, box))
            size = next((named(sizes) for sizes in CLASSES if sizes[0] <= box.side < sizes[1]), None)
            if size is None:
                continue
            leaks.faces[size] += 1
            if kept:
                leaks.exposed[size] += 1
                leaks.after_a_cover += known and box.side >= LEAST_SIDE
                leaks.pictures.append(picture(planes, box))
                exposed.append((index, box))
    if boxes:
        raise ValueError(f"{video.name} has no frame {max(boxes)}, but its table of faces has")
    leaks.causes.update(cause(moments, index, box.corners) for index, box in exposed)
    leaks.frames = len(moments)
    leaks.false_covers, leaks.detection_ms = (
        len(leaks.false) / max(looked_at, 1),
        1000 * spent[0] / max(len(moments), 1),
    )
    return leaks


def kept_share(original: Planes, output: Planes, box: Box) -> float:
    """Share of the pixels in the middle half of a box that are the original's, luma and colour; 0 outside."""
    width, height = original.size
    same = original.y == output.y
    colour = (original.u == output.u) & (original.v == output.v)
    same &= np.repeat(np.repeat(colour, 2, axis=0), 2, axis=1)[:height, :width]
    inner = gaps.middle(same.astype(np.uint8), box)
    return float(inner.mean()) if inner.size else 0.0


@dataclass(frozen=True)
class _Covered:
    """A face that was covered."""

    time: Fraction
    box: Box

    def is_at(self, box: Box, time: Fraction) -> bool:
        """Whether a box seen later is the same face: as large, and no farther than it can have gone."""
        centres = [((one.x0 + one.x1) / 2, (one.y0 + one.y1) / 2) for one in (self.box, box)]
        reach = self.box.side * (0.5 + 2.0 * float(time - self.time))
        return math.dist(*centres) <= reach and 0.5 <= box.side / max(self.box.side, 1e-9) <= 2


def cause(moments: Sequence[Moment], index: int, box: Corners) -> str:
    """Why a box, in pixels, of the frame `index` was exposed: one of `CAUSES`."""
    now = moments[index]
    inner = middle(box)
    if any(touch(redaction, inner) for redaction in now.redactions):
        return "misplaced"
    near = [one for one in moments if abs(one.time - now.time) <= _AROUND]
    if any(touch(redaction, inner) for one in near for redaction in one.redactions):
        return "late or lost"
    if any(touch(found, inner) for one in near for found in one.found):
        return "not believed"
    return "never seen"


def named(sizes: tuple[float, float]) -> str:
    """A class of sizes in words: `16-24 px`."""
    return f"{sizes[0]:.0f}-{sizes[1]:.0f} px" if math.isfinite(sizes[1]) else f"{sizes[0]:.0f} px and up"


def picture(planes: Planes, box: Box) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The surroundings of a box, three times as wide, with the box: uint8 (120, 120, 3), BGR."""
    reach = 1.5 * max(box.x1 - box.x0, box.y1 - box.y0)
    corners = []
    for low, high, limit in zip((box.x0, box.y0), (box.x1, box.y1), planes.size, strict=True):
        start = int(np.clip((low + high) / 2 - reach, 0, max(limit - 2 * reach, 0))) & ~1
        corners.append((start, min(limit, math.ceil(start + 2 * reach))))
    (x0, x1), (y0, y1) = corners
    rgb = rectangle_to_rgb(planes, x0, y0, x1, y1)
    fx, fy = _TILE / (x1 - x0), _TILE / (y1 - y0)
    tile = np.ascontiguousarray(cv2.resize(rgb, (_TILE, _TILE), interpolation=cv2.INTER_CUBIC)[:, :, ::-1], np.uint8)
    ends = [(round((x - x0) * fx), round((y - y0) * fy)) for x, y in ((box.x0, box.y0), (box.x1, box.y1))]
    cv2.rectangle(tile, *ends, (0, 0, 255))
    return tile


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--live", action="store_true", help="no look-ahead")
    parser.add_argument("--misses", type=int, metavar="SEED", help="let the detector be silent at times")
    parser.add_argument("--every", type=positive, default=1, metavar="N", help="take every so many frames")
    parser.add_argument("--sheet", type=Path, metavar="PNG", help="pictures of the exposed faces")
    parser.add_argument("--false-sheet", type=Path, metavar="PNG", help="pictures of the false covers")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    settings = replace(Settings(), lookahead=0.0) if given.live else Settings()
    models = load_models(None)
    try:
        videos = clips_with_faces(given.directory, given.only)
        results = [measure(video, models, settings, given.misses, given.every) for video in videos]
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    rows = [leaks.row() for leaks in [*results, total(results)]]
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    if given.sheet is not None:
        write_sheet(given.sheet, [one for leaks in results for one in leaks.pictures])
    if given.false_sheet is not None:
        write_sheet(given.false_sheet, [one for leaks in results for one in leaks.false])
    large = [named(sizes) for sizes in CLASSES if sizes[0] >= LEAST_SIDE]
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
        whole.frames += one.frames
    whole.false_covers = float(np.mean([one.false_covers for one in results]))
    whole.detection_ms = float(np.mean([one.detection_ms for one in results]))
    return whole


def write_sheet(path: Path, pictures: Sequence[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]) -> None:
    """Pictures uint8 (120, 120, 3), ten in a row, as one PNG; none: no file."""
    rows = [list(row) for row in itertools.zip_longest(*[iter(pictures)] * 10)]
    blank = np.zeros((_TILE, _TILE, 3), np.uint8)
    if rows:
        cv2.imwrite(str(path), np.vstack([np.hstack([blank if one is None else one for one in row]) for row in rows]))
