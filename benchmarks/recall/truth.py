"""The heads that people labelled by eye, in chosen frames of the clips (`labels/`, for `recall`)."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamdeid.lab.attacks.gaps import Box

LABELS = Path(__file__).parent / "labels"
HALVES = CHOOSING, CONFIRMING = "choosing", "confirming"
KINDS = ("frontal", "turned", "profile", "bowed", "occluded", "border")
"""Of faces."""
OTHERS = ("back", "small", "picture", "bowed", "unsure")
"""Of heads that do not count as faces."""
UNSURE = "unsure"
CLASSES = ((12.0, 16.0), (16.0, 24.0), (24.0, 40.0), (40.0, 80.0), (80.0, float("inf")))
"""Shorter sides in pixels by which faces are counted apart."""


@dataclass(frozen=True)
class Head:
    """A head, or (`unsure`) a place where nobody can say."""

    box: Box
    """Of a face: hairline to chin and cheek to cheek; of another head: the head. Its score is 1."""
    kind: str
    """One of `KINDS` for a face, one of `OTHERS` for what is none."""
    face: bool
    """Whether an eye's corner and a cheek are seen, 12 pixels wide and up."""

    @property
    def size(self) -> tuple[float, float]:
        """The class of its shorter side, one of `CLASSES`."""
        return next(size for size in CLASSES if self.box.side < size[1])


@dataclass(frozen=True)
class Clip:
    """The frames of a clip that were looked at, with the heads in each; a frame without heads has none."""

    name: str
    half: str
    heads: Mapping[int, Sequence[Head]]

    def until(self, most: int | None) -> Clip:
        """The same without the frames from `most` on; the first one stays. None: all stay."""
        first = min(self.heads)
        kept = {frame: heads for frame, heads in self.heads.items() if most is None or frame < most or frame == first}
        return Clip(self.name, self.half, kept)


def read_clips(labels: Path = LABELS) -> list[Clip]:
    """All clips, by name. Raises ValueError for a head in a frame that was not looked at, and for unknown words."""
    frames: dict[str, dict[int, list[Head]]] = defaultdict(dict)
    halves: dict[str, str] = {}
    for row in _rows(labels / "frames.csv"):
        if row["half"] not in HALVES or halves.setdefault(row["clip"], row["half"]) != row["half"]:
            raise ValueError(f"frames.csv: {row['clip']} is in no half, or in two")
        frames[row["clip"]][int(row["frame"])] = []
    for row in _rows(labels / "heads.csv"):
        head = _head(row)
        if head.box.frame not in frames[row["clip"]]:
            raise ValueError(f"heads.csv: frame {head.box.frame} of {row['clip']} was not looked at")
        frames[row["clip"]][head.box.frame].append(head)
    return [Clip(name, halves[name], dict(heads)) for name, heads in sorted(frames.items())]


def _head(row: dict[str, str]) -> Head:
    x0, y0, x1, y1 = (float(row[key]) for key in ("x0", "y0", "x1", "y1"))
    box = Box(int(row["frame"]), x0, y0, x1, y1, 1.0)
    face = row["face"] == "1"
    if row["kind"] not in (KINDS if face else OTHERS) or box.side < (CLASSES[0][0] if face else 1):
        raise ValueError(f"heads.csv: {row['clip']}, frame {box.frame}: {row['kind']} of {box.side:.0f} pixels")
    return Head(box, row["kind"], face)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
