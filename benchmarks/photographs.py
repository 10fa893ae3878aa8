"""What several benchmarks do with photographs of one face each: list them, read them, find the face, show some."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from benchmarks.command_line import parser_of
from streamdeid.core.arrays import Picture
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.protocols import Detector
from streamdeid.report.contact_sheet import contact_sheet, write_sheet

WIDTH = 640
"""Width in pixels to which wider photographs are reduced."""


def photographs_in(directory: Path) -> list[Path]:
    """The photographs (jpg, jpeg, png) in a directory and all below it, by name."""
    return sorted(path for path in directory.rglob("*") if path.suffix.lower() in {".jpg", ".jpeg", ".png"})


def asked(module: str, help_text: str | None, argv: list[str]) -> tuple[list[Path], Path | None]:
    """The photographs to look at, and where a sheet of some is to be written: a benchmark's command line, DIR [--most
    N] [--sheet FILE]; module and help_text as for `parser_of`."""
    parser = parser_of(module, help_text)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--most", type=int, default=None)
    parser.add_argument("--sheet", type=Path, default=None)
    given = parser.parse_args(argv)
    return photographs_in(given.directory)[: given.most], given.sheet


def read_photograph(path: Path) -> Picture | None:
    """A photograph RGB, of even sides, reduced to `WIDTH`; None where it cannot be read."""
    picture = cv2.imread(str(path))
    if picture is None:
        return None
    scale = min(1.0, WIDTH / picture.shape[1])
    height, width = (2 * round(scale * side / 2) for side in picture.shape[:2])
    small = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(small[:, :, ::-1], np.uint8)


def largest(detect: Detector, planes: Planes) -> Face | None:
    """The largest face with landmarks, if there is one."""
    found = [f for f in detect(Frame(planes, Fraction(0), 0)) if f.landmarks is not None and f.forehead is not None]
    return max(found, key=lambda face: face.box[2] - face.box[0], default=None)


def write_pictures(path: Path, pictures: Sequence[Picture], across: int) -> None:
    """Write equally large RGB pictures as a sheet, so many in a row. Raises OutputError."""
    rows = [pictures[start : start + across] for start in range(0, len(pictures), across)]
    write_sheet(path, contact_sheet(rows), overwrite=True)
