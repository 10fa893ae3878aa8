"""Which protection level do faces get on clips, how often do they change it, and why?

    python -m benchmarks levels VIDEO ... [--frames N] [--json]

For each clip: face-frames; the share of each level; how often a track changes its level from one of its frames to the
next, for 100 face-frames; how much a head changes where its level does, over what the original changes there (means of
the differences in luma inside the tracker's box, taken along with it, 48 x 48 pixels): above 1, a change of level shows
more in its own frame than people's motion does (what fades goes on in later frames, which are not counted); how much a
soft redaction changes where the level stays, by its area (percent, up or down) and by the luma in its box, from one
frame to the next; and what kept faces from the first level. Runs the filter as on a file, look-ahead included, without
encoding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.looks.published import published
from streamdeid.core.arrays import Box, Pixels, Plane
from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.errors import StreamdeidError
from streamdeid.protect.levels import Cause, Level
from streamdeid.runs.step import Done

_SIDE = 48
"""Side, pixels, of the picture of a head."""
LEVELS = tuple(level.label for level in Level if level is not Level.MASK)


def one(path: Path, frames: int | None) -> dict[str, Any]:
    """The row of one clip, its first `frames` frames. Raises StreamdeidError."""
    causes: Counter[Cause] = Counter()
    jumps, soft = Jumps(), Unsteady()
    row = counted(_counting(causes, jumps, soft, published(path, frames)))
    return {"clip": path.stem, **row, "jump over the original's": jumps.ratio, **soft.row, "causes": told(causes)}


def _counting(
    causes: Counter[Cause], jumps: Jumps, soft: Unsteady, frames: Iterable[Done[None]]
) -> Iterator[DeidentifiedFrame]:
    """What was published, while the causes are counted and the heads compared."""
    for done in frames:
        causes.update(plan.cause for plan in done.plans if plan.cause is not None)
        boxes = {plan.track.number: plan.track.box for plan in done.plans}
        levels = {one.track: one.level for one in done.frame.redactions}
        jumps.see(done.pending.frame.planes.y, done.frame.planes.y, boxes, levels)
        soft.see(done.frame)
        yield done.frame


class Jumps:
    """Adds up how much heads change from one frame to the next where their level does, and the original there."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[str, Pixels]] = {}
        self._sums = np.zeros(2)

    def see(self, original: Plane, published: Plane, boxes: Mapping[int, Box], levels: Mapping[int, str]) -> None:
        """The next frame, as luma (h, w); the boxes, pixels, and levels of its tracks."""
        now = {
            track: (level, np.stack([_head(plane, boxes[track]) for plane in (original, published)]))
            for track, level in levels.items()
            if track in boxes
        }
        for track, (level, heads) in now.items():
            before = self._last.get(track)
            if before is not None and before[0] != level:
                self._sums += np.abs(heads - before[1]).mean(axis=(1, 2))
        self._last = now

    @property
    def ratio(self) -> float | None:
        """The published changes over the original's; None where no level changed."""
        return float(self._sums[1] / self._sums[0]) if self._sums[0] > 0 else None


class Unsteady:
    """Adds up how much soft redactions change from one frame to the next."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, Pixels]] = {}
        self._changes: list[tuple[float, float]] = []

    def see(self, frame: DeidentifiedFrame) -> None:
        """The next frame."""
        now = {
            one.track: (_area(one.box), _head(frame.planes.y, one.box))
            for one in frame.redactions
            if one.level == Level.SOFT.label
        }
        for track, (area, head) in now.items():
            if track in self._last:
                before, was = self._last[track]
                change = 100 * (max(area, before) / min(area, before) - 1)
                self._changes.append((change, float(np.abs(head - was).mean())))
        self._last = now

    @property
    def row(self) -> dict[str, float | None]:
        """Means over all pairs of frames; None where there is none."""
        area, luma = np.mean(self._changes, axis=0).tolist() if self._changes else (None, None)
        return {"soft: area, %": area, "soft: luma": luma}


def _area(box: Box) -> float:
    return max((box[2] - box[0]) * (box[3] - box[1]), 1.0)


def _head(luma: Plane, box: Box) -> Pixels:
    """What lies in the square about a box, float32 (48, 48)."""
    x0, y0, x1, y1 = box
    scale, middle = _SIDE / max(x1 - x0, y1 - y0, 1.0), np.array([x0 + x1, y0 + y1]) / 2
    into = np.column_stack([scale * np.eye(2), _SIDE / 2 - scale * middle])
    return np.asarray(cv2.warpAffine(luma, into, (_SIDE, _SIDE), flags=cv2.INTER_LINEAR), np.float32)


def told(causes: Mapping[Cause, int]) -> str:
    """The causes and how often each was one, the most frequent first."""
    rows = sorted(causes.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {cause.value}" for cause, count in rows) or "none"


def counted(published: Iterable[DeidentifiedFrame]) -> dict[str, Any]:
    """Face-frames, shares of the levels (percent), and changes of level for 100 face-frames."""
    levels: Counter[str] = Counter()
    last: dict[int, str] = {}
    changes = 0
    for frame in published:
        for redaction in frame.redactions:
            levels[redaction.level] += 1
            changes += last.get(redaction.track, redaction.level) != redaction.level
            last[redaction.track] = redaction.level
    total = max(sum(levels.values()), 1)
    shares = {f"{level} %": 100 * levels[level] / total for level in LEVELS}
    return {"face-frames": sum(levels.values()), **shares, "changes / 100": 100 * changes / total}


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", nargs="+", type=Path, metavar="VIDEO")
    parser.add_argument("--frames", type=int, help="look at so many frames of each clip only")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    try:
        rows = [one(path, given.frames) for path in given.videos]
    except StreamdeidError as error:
        parser.error(str(error))
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 0
