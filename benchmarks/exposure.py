"""Does any face keep its original pixels? Boxes of an independent detector against the filter's output.

    python benchmarks/exposure.py VIDEO OUT FACES.csv [--json]

FACES.csv: frame, x0, y0, x1, y1, score. In the middle half of each box the mean absolute luma difference between
VIDEO and OUT is taken; a box counts as kept when that is under twice the difference that merely encoding VIDEO again
(the filter's default codec, preset and crf, on the fly) makes in the same place. Exit code 1 when a box with score 0.5
and up and 40 pixels and up on its shorter side is kept; smaller ones are only counted.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from clips import as_json, default_crf, encoded_again, in_step, markdown
from numpy.typing import NDArray

from streamdeid.errors import StreamdeidError

LEAST_SCORE = 0.5
LEAST_SIDE = 40.0
CLASSES = ((16.0, 24.0), (24.0, 40.0), (40.0, 80.0), (80.0, float("inf")))
FLOOR = 0.25
"""Grey levels: where encoding again changes nothing at all, "under twice nothing" would let a copy pass."""


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


@dataclass(frozen=True)
class Finding:
    """What became of a box: mean absolute luma differences in its middle half."""

    box: Box
    changed: float
    """Original against output."""
    again: float
    """Original against the original encoded again."""

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
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    boxes = [Box(int(row["frame"]), *(float(row[key]) for key in ("x0", "y0", "x1", "y1", "score"))) for row in rows]
    return [box for box in boxes if box.score >= LEAST_SCORE and box.side >= CLASSES[0][0]]


def middle(picture: NDArray[np.uint8], box: Box) -> NDArray[np.int16]:
    """Luma of the middle half (in each direction) of a box, as far as it lies in the picture."""
    height, width = picture.shape
    dx, dy = (box.x1 - box.x0) / 4, (box.y1 - box.y0) / 4
    x0, x1 = np.clip(np.round([box.x0 + dx, box.x1 - dx]).astype(int), 0, width)
    y0, y1 = np.clip(np.round([box.y0 + dy, box.y1 - dy]).astype(int), 0, height)
    return picture[y0:y1, x0:x1].astype(np.int16)


def measure(video: Path, out: Path, boxes: list[Box]) -> list[Finding]:
    """Compare every box in the original, the output and the original encoded again. ValueError for unlike clips."""
    by_frame: dict[int, list[Box]] = defaultdict(list)
    for box in boxes:
        by_frame[box.frame].append(box)
    findings = []
    frames = 0
    with encoded_again(video) as again_path:
        for index, (original, output, again) in enumerate(in_step(video, out, again_path)):
            frames = index + 1
            width, height = original.planes.size
            if output.planes.size[0] - width not in (0, 1) or output.planes.size[1] - height not in (0, 1):
                raise ValueError(f"{out} has another picture size than {video}")
            for box in by_frame.pop(index, []):
                here = middle(original.planes.y, box)
                if here.size == 0:
                    continue
                there, control = (middle(f.planes.y[:height, :width], box) for f in (output, again))
                findings.append(Finding(box, float(np.abs(there - here).mean()), float(np.abs(control - here).mean())))
    if by_frame:
        raise ValueError(f"boxes lie in frame {min(by_frame)} and later, but {video} has {frames} frames")
    return findings


def summary(findings: list[Finding]) -> list[dict[str, object]]:
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


def main() -> int:
    """Run; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("video", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("faces", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args()
    try:
        findings = measure(given.video, given.out, read_boxes(given.faces))
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    rows = summary(findings)
    kept = [f for f in findings if f.kept and f.box.side >= LEAST_SIDE]
    if given.json:
        listed = [{**asdict(f.box), "changed": f.changed, "again": f.again, "ratio": f.ratio} for f in kept]
        print(as_json({"video": given.video, "out": given.out, "crf": default_crf(), "classes": rows, "kept": listed}))
    else:
        print(markdown(list(rows[0]), [list(row.values()) for row in rows]))
        if kept:
            print(f"\nKept, {LEAST_SIDE:.0f} px and up:\n")
            cells = []
            for found in sorted(kept, key=lambda f: f.box.frame):
                box = found.box
                corners = [round(v) for v in (box.x0, box.y0, box.x1, box.y1)]
                cells.append((box.frame, *corners, box.score, found.changed, found.again))
            print(markdown(["frame", "x0", "y0", "x1", "y1", "score", "difference", "encoding alone"], cells))
    return 1 if kept else 0


if __name__ == "__main__":
    raise SystemExit(main())
