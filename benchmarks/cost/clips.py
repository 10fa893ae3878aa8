"""The clips that `cost` measures on: one clip made as long as asked for, or several heads composed into a picture.

A composed picture is a wall of equal cells, as in a conference. A cell shows a head of one of `HEADS`, cropped about
where an independent detector saw it and scaled so that the face is half as high as the cell. A cell without a head
shows the same crop blurred until nobody is left in it. So pictures of one wall differ in their number of faces only.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from streamdeid.core.arrays import Box, Plane
from streamdeid.core.frames import Colour, Frame, Planes
from streamdeid.video.files.source import FileSource

HEADS = (
    "speaker_soft.mp4",
    "talking_head_200s.mp4",
    "expressions_gaze.mp4",
    "grimaces.mp4",
    "glasses.mp4",
    "presenter_hevc_portrait.mp4",
)
"""Clips of one head each, with `NAME.faces.csv` beside them."""
RATE = Fraction(25)
_LONGEST = 200
"""Pictures of a clip that are held in memory at most."""
_FACE_SHARE = 0.5
"""Height of a face over that of its cell."""
_SURE = 0.5
"""Score of the independent detector from which a box counts."""
_BLUR = 0.6
"""Width of the blur over that of the cell."""


def to_and_fro(path: Path, count: int, size: tuple[int, int] | None) -> Iterator[Frame]:
    """`count` frames of a clip, forwards and backwards in turn: no cuts. size: crop about the middle, and rescale."""
    frames = list(islice(FileSource(path), min(count, _LONGEST)))
    if size is not None:
        width, height = frames[0].planes.size
        scale = max(size[0] / width, size[1] / height)
        across, down = size[0] / scale, size[1] / scale
        x0, y0 = (width - across) / 2, (height - down) / 2
        frames = [replace(one, planes=cropped(one.planes, (x0, y0, x0 + across, y0 + down), size)) for one in frames]
    for i in range(count):
        yield frames[_turned(i, len(frames))]


def wall(
    directory: Path, faces: int, cells: int, size: tuple[int, int], count: int, colour: Colour = Colour("bt709")
) -> Iterator[Frame]:
    """`count` frames of `size` (width, height), a wall of `cells` cells of which the first `faces` show a head.

    Raises ValueError for more faces than cells, or when there is no box of a head.
    """
    if faces > cells:
        raise ValueError(f"{faces} faces do not fit into {cells} cells")
    columns, rows = _grid(cells, size)
    x_sides, y_sides = _sides(size[0], columns), _sides(size[1], rows)
    shows = [_shown(directory, number, (x_sides[1], y_sides[1]), count) for number in range(min(cells, len(HEADS)))]
    for i in range(count):
        planes = _plain(size, colour)
        for number in range(cells):
            pictures = shows[number % len(shows)]
            lap = number // len(shows)  # who is there twice is elsewhere in the clip, and the other way round
            picture = pictures[_turned(i + lap * len(pictures) // 3, len(pictures))]
            row, column = divmod(number, columns)
            _put(planes, picture, (x_sides[column], y_sides[row]), mirrored=lap % 2 == 1, blurred=number >= faces)
        yield Frame(planes, i / RATE, i)


def cropped(planes: Planes, box: Box, size: tuple[int, int]) -> Planes:
    """The part of a picture in a box (x0, y0, x1, y1 in pixels, inside the picture), scaled to `size`, both even."""

    def cut(plane: Plane, part: int) -> Plane:
        x0, y0 = (max(0, round(side / part)) for side in box[:2])
        x1, y1 = (round(side / part) for side in box[2:])
        inside, wanted = plane[y0:y1, x0:x1], (size[0] // part, size[1] // part)
        how = cv2.INTER_AREA if inside.shape[1] > wanted[0] else cv2.INTER_LINEAR
        return np.asarray(cv2.resize(inside, wanted, interpolation=how), np.uint8)

    return Planes(cut(planes.y, 1), cut(planes.u, 2), cut(planes.v, 2), planes.colour)


def _turned(i: int, length: int) -> int:
    """Place number i of a walk to and fro over `length` places."""
    place = i % max(1, 2 * length - 2)
    return place if place < length else 2 * length - 2 - place


def _grid(cells: int, size: tuple[int, int]) -> tuple[int, int]:
    """Columns and rows whose cells are nearly squares, and few of them left over."""

    def misfit(shape: tuple[int, int]) -> float:
        columns, rows = shape
        return abs(math.log(size[0] / columns * rows / size[1])) + (columns * rows - cells) / cells

    return min(((columns, math.ceil(cells / columns)) for columns in range(1, cells + 1)), key=misfit)


def _sides(length: int, parts: int) -> list[int]:
    """Even places at which equal parts of a side begin, and where the last one ends."""
    step = length // parts & ~1
    return [step * i for i in range(parts + 1)]


def _shown(directory: Path, number: int, size: tuple[int, int], count: int) -> Sequence[Planes]:
    """The pictures of one head as large as a cell."""
    path = directory / HEADS[number]
    x, y, height = _head(path.with_suffix(".faces.csv"))
    source = FileSource(path)
    down = height / _FACE_SHARE
    across = down * size[0] / size[1]
    shrink = min(1.0, source.info.width / across, source.info.height / down)
    across, down = across * shrink, down * shrink
    x0 = min(max(0.0, x - across / 2), source.info.width - across)
    y0 = min(max(0.0, y - down / 2), source.info.height - down)
    box = x0, y0, x0 + across, y0 + down
    return [cropped(frame.planes, box, size) for frame in islice(source, min(count, _LONGEST))]


def _head(boxes: Path) -> tuple[float, float, float]:
    """Middle of a clip's face, x and y, and its height: medians, pixels. Raises ValueError."""
    with boxes.open(encoding="ascii", newline="") as file:
        rows = [row for row in csv.DictReader(file) if float(row["score"]) >= _SURE]
    if not rows:
        raise ValueError(f"{boxes} knows no face")
    x0, y0, x1, y1 = (float(np.median([float(row[name]) for row in rows])) for name in ("x0", "y0", "x1", "y1"))
    return (x0 + x1) / 2, (y0 + y1) / 2, y1 - y0


def _plain(size: tuple[int, int], colour: Colour) -> Planes:
    width, height = size
    half = (height // 2, width // 2)
    return Planes(np.full((height, width), 60, np.uint8), *(np.full(half, 128, np.uint8) for _ in "uv"), colour)


def _put(planes: Planes, picture: Planes, corner: tuple[int, int], *, mirrored: bool, blurred: bool) -> None:
    """Write a picture into a larger one."""
    pairs = (planes.y, picture.y, 1), (planes.u, picture.u, 2), (planes.v, picture.v, 2)
    for into, one, part in pairs:
        shown = one[:, ::-1] if mirrored else one
        if blurred:
            side = max(1, round(_BLUR * shown.shape[1]))
            shown = np.asarray(cv2.blur(shown, (side, side), borderType=cv2.BORDER_REFLECT), np.uint8)
        x, y = (place // part for place in corner)
        into[y : y + shown.shape[0], x : x + shown.shape[1]] = shown
