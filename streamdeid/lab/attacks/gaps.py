"""A14, gaps: faces that keep their pixels, faces covered late, and what of the original is left inside the hull.

Boxes of an independent detector say where faces are (docs/methods.md 3.3). No matcher is needed for these leaks:
whoever shows the original shows the person, so this is the headline failure measure.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.core.arrays import Pixels, Plane, Points
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import INNER_LIP, OUTLINE

LEAST_SCORE = 0.5
LEAST_SIDE = 40.0
CLASSES = ((16.0, 24.0), (24.0, 40.0), (40.0, 80.0), (80.0, float("inf")))
FLOOR = 0.25
"""Grey levels: where encoding again changes nothing at all, "under twice nothing" would let a copy pass."""
SAME_PLACE = 0.3
"""Intersection over union from which two boxes are at the same place."""
RIM = 0.08
"""The hull's rim, share of its width: the filter fades the new face in there, over 3.5 % of the width."""
_DETAIL = 3.0
"""Standard deviation, pixels of the model's frame, of the blur below which detail counts as fine: it is a sixtieth of
the face's width, a third of what the filter lets through as light."""
ZONES = ("inside", "rim", "mouth's opening")


@dataclass(frozen=True)
class Box:
    """A box of the independent detector."""

    frame: int
    x0: float
    y0: float
    x1: float
    y1: float
    score: float

    @property
    def side(self) -> float:
        """The shorter side in pixels."""
        return min(self.x1 - self.x0, self.y1 - self.y0)

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """x0, y0, x1, y1 in pixels."""
        return self.x0, self.y0, self.x1, self.y1


@dataclass(frozen=True)
class Finding:
    """What became of a box: mean absolute luma differences in its middle half."""

    box: Box
    changed: float
    """Original against output."""
    again: float
    """Original against the original encoded again; 0 where the output was not encoded either."""

    @property
    def kept(self) -> bool:
        """Whether the original's pixels are still there."""
        return self.changed < 2 * max(self.again, FLOOR)

    @property
    def ratio(self) -> float:
        """How many times what encoding alone changes; kept means under 2."""
        return self.changed / max(self.again, FLOOR)


def read_boxes(path: Path) -> list[Box]:
    """Boxes with score 0.5 and up and at least 16 pixels on the shorter side."""
    return [box for box in read_all_boxes(path) if box.score >= LEAST_SCORE and box.side >= CLASSES[0][0]]


def read_all_boxes(path: Path) -> list[Box]:
    """All boxes of a table with the columns frame, x0, y0, x1, y1 and score."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [Box(int(row["frame"]), *(float(row[key]) for key in ("x0", "y0", "x1", "y1", "score"))) for row in rows]


def middle(picture: Plane, box: Box) -> NDArray[np.int16]:
    """Luma of the middle half (in each direction) of a box, as far as it lies in the picture."""
    height, width = picture.shape
    dx, dy = (box.x1 - box.x0) / 4, (box.y1 - box.y0) / 4
    x0, x1 = np.clip(np.round([box.x0 + dx, box.x1 - dx]).astype(int), 0, width)
    y0, y1 = np.clip(np.round([box.y0 + dy, box.y1 - dy]).astype(int), 0, height)
    return picture[y0:y1, x0:x1].astype(np.int16)


def compared(original: Planes, output: Planes, again: Planes, boxes: Iterable[Box]) -> list[Finding]:
    """The boxes of one frame; those outside the picture are left out. ValueError for pictures of unlike size."""
    width, height = original.size
    if output.size[0] - width not in (0, 1) or output.size[1] - height not in (0, 1):
        raise ValueError("the output has another picture size than the original")
    findings = []
    for box in boxes:
        here = middle(original.y, box)
        if here.size:
            there, control = (middle(planes.y[:height, :width], box) for planes in (output, again))
            findings.append(Finding(box, float(np.abs(there - here).mean()), float(np.abs(control - here).mean())))
    return findings


def measure(frames: Iterable[tuple[Planes, Planes, Planes]], boxes: Iterable[Box]) -> list[Finding]:
    """All boxes of a clip. frames: original, output, and the original encoded again, frame by frame.

    ValueError for pictures of unlike size and for boxes in frames that are not there.
    """
    by_frame: dict[int, list[Box]] = defaultdict(list)
    for box in boxes:
        by_frame[box.frame].append(box)
    findings: list[Finding] = []
    count = 0
    for index, (original, output, again) in enumerate(frames):
        count = index + 1
        findings += compared(original, output, again, by_frame.pop(index, []))
    if by_frame:
        raise ValueError(f"boxes lie in frame {min(by_frame)} and later, but there are {count} frames")
    return findings


def overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """Intersection over union of two boxes x0, y0, x1, y1."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    return shared / max((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared, 1e-9)


def looked_at_every(boxes: Iterable[Box]) -> int:
    """Step between the frames that were looked at: long clips were sampled. 1 without boxes."""
    return math.gcd(*(box.frame for box in boxes)) or 1


def late_frames(findings: Iterable[Finding], step: int = 1) -> list[int]:
    """For each appearance of a covered face, in how many frames before it the same face still kept its pixels.

    An appearance is a covered box without a covered one at the same place `step` frames earlier; from there boxes are
    matched backwards through kept ones.
    """
    by_frame: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_frame[finding.box.frame].append(finding)

    def before(box: Box, kept: bool) -> Box | None:
        found = [each.box for each in by_frame.get(box.frame - step, []) if each.kept is kept]
        best = max(found, key=lambda other: overlap(box.corners, other.corners), default=None)
        return best if best is not None and overlap(box.corners, best.corners) >= SAME_PLACE else None

    late = []
    for finding in (each for group in by_frame.values() for each in group):
        if finding.kept or before(finding.box, False) is not None:
            continue
        place, count = before(finding.box, True), 0
        while place is not None:
            place, count = before(place, True), count + step
        late.append(count)
    return late


def differences(original: Planes, output: Planes, points: Points) -> NDArray[np.int64]:
    """How often luma differs by -1, 0, 1, and how many pixels there are: int64 (zone, 4) in `ZONES` of a face.

    points (81, 2): the original's, in pixels. The mouth's opening is where the filter declares to copy.
    """
    height, width = original.y.shape
    hull, mouth = np.zeros((2, height, width), np.uint8)
    cv2.fillPoly(hull, [np.round(points[OUTLINE]).astype(np.int32)], (1,))
    cv2.fillPoly(mouth, [np.round(points[INNER_LIP]).astype(np.int32)], (1,))
    x0, y0, w, h = cv2.boundingRect(hull)
    part = slice(y0, y0 + h), slice(x0, x0 + w)
    depth = cv2.distanceTransform(np.pad(hull[part], 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    opening = mouth[part] > 0
    deep = depth > RIM * float(np.ptp(points[:, 0]))
    change = output.y[:height, :width][part].astype(np.int16) - original.y[part]
    zones = (deep & ~opening, (depth > 0) & ~deep & ~opening, opening)
    return np.array([[*((change[zone] == d).sum() for d in (-1, 0, 1)), zone.sum()] for zone in zones], np.int64)


def beyond_chance(counts: NDArray[np.int64]) -> float:
    """Share of pixels equal to the original's beyond chance, of `differences` (4,) summed over frames.

    Where nothing is copied the differences spread smoothly, and "none" is as frequent as "one" either way.
    """
    lower, equal, higher, pixels = (int(count) for count in counts)
    return (equal - (lower + higher) / 2) / pixels if pixels else math.nan


def fine_detail(texture: Pixels, table: WarpTable) -> Pixels:
    """Grey texture (n,) less its blur inside the mesh; nan within the hull's rim. texture (n, 3) RGB."""
    grey = spread(texture.mean(axis=1, keepdims=True), table)[:, :, 0]
    inside = spread(np.ones((len(texture), 1), np.float32), table)[:, :, 0]
    smooth, weight = (cv2.GaussianBlur(plane, (0, 0), _DETAIL) for plane in (grey, inside))
    whole = cv2.morphologyEx(inside.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((25, 25), np.uint8))  # the mouth's hole
    depth = cv2.distanceTransform(np.pad(whole, 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    fine = np.where(depth > RIM * table.size[0], grey - smooth / np.maximum(weight, 1e-3), np.nan)
    detail: Pixels = fine[table.rows, table.columns].astype(np.float32)
    return detail


def correlation(a: Pixels, b: Pixels) -> float:
    """Correlation of two fine details (n,), where both are known; nan where one of them is flat."""
    known = np.isfinite(a) & np.isfinite(b)
    x, y = (side[known].astype(np.float64) for side in (a, b))
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def summary(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Counts by size class, and for all that must not be kept."""
    rows = []
    for low, high in (*CLASSES, (LEAST_SIDE, float("inf"))):
        inside = [f for f in findings if low <= f.box.side < high]
        ratios = [f.ratio for f in inside]
        name = f"{low:.0f}-{high:.0f} px" if np.isfinite(high) else f"{low:.0f} px and up"
        rows.append(
            {
                "boxes": name,
                "count": len(inside),
                "kept": sum(f.kept for f in inside),
                "smallest ratio": min(ratios, default=float("nan")),
                "median ratio": float(np.median(ratios)) if ratios else float("nan"),
                "median difference": float(np.median([f.changed for f in inside])) if inside else float("nan"),
                "encoding alone": float(np.median([f.again for f in inside])) if inside else float("nan"),
            }
        )
    return rows
