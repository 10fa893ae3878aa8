"""Clips as a board's camera would send them: 480 lines, 15 pictures a second, with their tables of faces.

Pictures are left out or repeated to keep the pace; the boxes of `NAME.faces.csv` go with them.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.clips import encode
from benchmarks.cost.clips import cropped
from streamdeid.core.frames import Frame
from streamdeid.video.files.source import FileSource

LINES, RATE = 480, Fraction(15)
_FIELDS = ("frame", "x0", "y0", "x1", "y1", "score")
_QUALITY = 20


@dataclass(frozen=True)
class SmallClip:
    """Where it lies, its size (width, height) and its number of frames."""

    path: Path
    size: tuple[int, int]
    frames: int


def small_size(width: int, height: int) -> tuple[int, int]:
    """Width and height of a picture of so many pixels at `LINES` lines, in proportion."""
    return 2 * round(width * LINES / height / 2), LINES


def small_clip(video: Path, directory: Path) -> SmallClip:
    """Write a clip's small one, and its table of faces where it has one, into a directory. Raises InputError."""
    source = FileSource(video)
    width, height = source.info.width, source.info.height
    size = small_size(width, height)
    chosen: list[int] = []
    path = directory / f"{video.stem}.mp4"
    count = encode(_paced(source, size, chosen), path, RATE, _QUALITY)
    table = video.with_name(f"{video.stem}.faces.csv")
    if table.is_file():
        _write_boxes(table, directory / table.name, chosen, size[0] / width, size[1] / height)
    return SmallClip(path, size, count)


def _paced(source: FileSource, size: tuple[int, int], chosen: list[int]) -> Iterator[Frame]:
    """The picture that is shown at each tick, scaled; the numbers of the pictures are added to `chosen`."""
    box = 0.0, 0.0, float(source.info.width), float(source.info.height)
    last: Frame | None = None
    rate = source.info.average_rate
    for number, frame in enumerate(source):
        # Up to this picture the one before it is on the screen.
        while last is not None and len(chosen) < math.ceil(Fraction(number) / rate * RATE):
            yield _scaled(last, box, size, len(chosen))
            chosen.append(number - 1)
        last = frame
    if last is not None:
        yield _scaled(last, box, size, len(chosen))
        chosen.append(number)


def _scaled(frame: Frame, box: tuple[float, float, float, float], size: tuple[int, int], number: int) -> Frame:
    return Frame(cropped(frame.planes, box, size), number / RATE, number)


def _write_boxes(table: Path, out: Path, chosen: list[int], across: float, down: float) -> None:
    rows: dict[int, list[dict[str, str]]] = defaultdict(list)
    with table.open(encoding="ascii", newline="") as file:
        for row in csv.DictReader(file):
            rows[int(row["frame"])].append(row)
    with out.open("w", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, _FIELDS)
        writer.writeheader()
        for number, original in enumerate(chosen):
            for row in rows[original]:
                x0, x1 = (f"{float(row[name]) * across:.1f}" for name in ("x0", "x1"))
                y0, y1 = (f"{float(row[name]) * down:.1f}" for name in ("y0", "y1"))
                writer.writerow(dict(zip(_FIELDS, (number, x0, y0, x1, y1, row["score"]), strict=True)))
