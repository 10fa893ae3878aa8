"""Tiles: squares of a picture that the detector sees at a scale at which small faces are large enough for it.

The network looks at 192 x 192 pixels. In a whole 1920 x 1080 picture a face of 60 pixels has 6 of these pixels, and the
network does not see it. So the picture is searched at several scales: whole, and in overlapping squares. The smallest
face that is to be found sets the finest scale (docs/architecture.md 8.3). All squares at once cost up to a tenth of a
second. Hence they take turns; a square is searched in each frame only if a face in it needs the detector.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from streamdeid.core.arrays import Box
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.detection.in_view import InView
from streamdeid.detection.quarter_turns import TURNS

INPUT = 192
"""Side of the network's input, pixels."""
SEEN = 12.0
"""Width in the network's pixels from which a face is found reliably: of the faces of 24 to 40 pixels in crowd_1080p,
10 % were missed at 8 of the network's pixels and none at 12, together with tracking."""
_OVERLAP = 0.3
"""Share of a tile's side that its neighbour repeats: faces up to that size lie whole in one of the two."""
_STEP = 5.0
"""Largest ratio between neighbouring scales. A face is whole in some tile up to 57 of the network's pixels, and found
from 12 on, so nothing falls between two scales."""
_LEAST_FOLLOWED = 12.0
"""Width in pixels of the smallest face that the detector follows; smaller faces are left out."""
_WHOLE_EVERY = 3
"""Frames within which the whole picture is looked at: this finds large faces, which matter most."""
_NEW = 1 / 40
"""When the camera moves, the share of the picture's longer side that has to be new before the tiles that show it are
searched: the width of two of the smallest faces."""
_TURNED_EVERY = 16
"""Factor of the interval of a turned tile while no known head lies that way: such heads are few, and are followed once
found. Most are there at the start or after a cut, or tilt in view; a person who is carried in is found later."""
_APART = 5
"""Frames between the rounds of one quarter turn and those of the next."""


@dataclass(frozen=True)
class Tile:
    """A rectangle of the picture, and the scale and turn in which the network sees it."""

    x0: int
    y0: int
    x1: int
    y1: int
    """Pixels; x0 and y0 are even."""
    scale: float
    """Network pixels per pixel, at most 1."""
    turn: int = 0
    """Quarter turns anticlockwise after which the detector sees it, 0 to 3 (`quarter_turns`)."""

    def cuts(self, box: tuple[float, float, float, float], size: tuple[int, int]) -> bool:
        """Whether a side of the tile that is not a side of the picture may cut a box; box in pixels."""
        edge = 2.0 / self.scale
        x0, y0, x1, y1 = box
        left, top = self.x0 > 0 and x0 < self.x0 + edge, self.y0 > 0 and y0 < self.y0 + edge
        right, bottom = self.x1 < size[0] and x1 > self.x1 - edge, self.y1 < size[1] and y1 > self.y1 - edge
        return left or top or right or bottom


def least_face(size: tuple[int, int]) -> float:
    """Width in pixels of the smallest face looked for by default: an 80th of the longer side, and 16 pixels or more."""
    return max(16.0, max(size) / 80)


def tiles_of(size: tuple[int, int], least: float) -> tuple[Tile, ...]:
    """The tiles for pictures of a size (width, height) in which faces of `least` pixels are to be found.

    The first tile is the whole picture. Then come the scales from coarse to fine, rows from the top.
    """
    whole = min(1.0, INPUT / max(size))
    fine = min(1.0, SEEN / least)
    tiles = [Tile(0, 0, *size, whole)]
    if fine > whole * 1.01:
        steps = max(1, math.ceil(math.log(fine / whole) / math.log(_STEP) - 1e-9))
        for step in range(1, steps + 1):
            tiles += _level(size, whole * (fine / whole) ** (step / steps))
    return tuple(tiles)


def close_tiles(size: tuple[int, int], least: float) -> tuple[Tile, ...]:
    """Tiles in which the detector follows faces smaller than `least`, the size for which the whole picture is searched:
    down to half of it, and to 12 pixels. No tiles where their scale is no finer. The survey finds such faces; to search
    the whole picture for them costs four times as much, and found more false faces than true ones."""
    scale = min(1.0, SEEN / max(least / 2, _LEAST_FOLLOWED))
    return tuple(_level(size, scale)) if scale > 1.01 * min(1.0, SEEN / least) else ()


def with_turned(tiles: Sequence[Tile]) -> tuple[Tile, ...]:
    """These tiles, and after them all of them in each of the `TURNS`."""
    return (*tiles, *(replace(tile, turn=turn) for turn in TURNS for tile in tiles))


def _level(size: tuple[int, int], scale: float) -> list[Tile]:
    side = INPUT / scale
    columns, rows = (_starts(length, side) for length in size)
    return [
        Tile(x, y, min(size[0], round(x + side)), min(size[1], round(y + side)), scale) for y in rows for x in columns
    ]


def _starts(length: int, side: float) -> list[int]:
    """Even pixel numbers at which tiles begin along one side of the picture, evenly spread."""
    if length <= side:
        return [0]
    count = math.ceil((length - side) / (side * (1 - _OVERLAP)) - 1e-9) + 1
    return [int(i * (length - side) / (count - 1)) & ~1 for i in range(count)]


class Rounds:
    """Says which tiles are searched in the next frame: all tiles in the first one, then those of each scale in turn.

    The whole picture is searched every third frame, each of the finest tiles once within the interval, and each tile
    between once within half of it: the larger a face is, the sooner it must be found. Turned tiles wait 16 times as
    long, unless heads are known to lie that way.
    """

    def __init__(self, tiles: Sequence[Tile], interval: int) -> None:
        """tiles: the whole picture first, then by scale. interval: frames in which all tiles are searched, from 1."""
        scales = list(dict.fromkeys(tile.scale for tile in tiles))
        self._groups: list[tuple[list[int], int, int]] = []
        for turn, scale in ((turn, scale) for turn in (0, *TURNS) for scale in scales):
            numbers = [row for row, tile in enumerate(tiles) if (tile.turn, tile.scale) == (turn, scale)]
            often = _WHOLE_EVERY if scale == scales[0] else interval if scale == scales[-1] else -(-interval // 2)
            if numbers:
                self._groups.append((numbers, min(often, interval), turn))
        self._frame = 0
        self._tiles = tiles
        self._view = InView((tiles[0].x1, tiles[0].y1) if tiles else (1, 1), _NEW)
        self._turns = {0}
        """Quarter turns in which people are looked for as often as upright."""
        self._extra: set[int] = set()
        self._steps = 1
        """Steps by which the next frame moves the rounds on."""

    def look_for(self, turns: Collection[int]) -> None:
        """From now on search the tiles of these quarter turns (0 is one of them) as often as upright tiles, and in the
        next frame all tiles of those turns that are new."""
        new, self._turns = set(turns) - self._turns, set(turns)
        if new:
            self._extra = self._extra | self._of(new)

    def _of(self, turns: Collection[int]) -> set[int]:
        """Numbers of the tiles of these turns."""
        return {row for row, tile in enumerate(self._tiles) if tile.turn in turns}

    def due(self, wanted: Collection[int]) -> list[int]:
        """Numbers of the tiles to look at in the next frame, ascending. wanted: tiles that are needed in any case."""
        frame, self._frame = self._frame, self._frame + (1 if self._frame == 0 else self._steps)
        steps, self._steps = self._steps, 1
        due = set(wanted) | self._extra
        self._extra = set()
        for numbers, often, turn in self._groups:
            interval = often if turn in self._turns else often * _TURNED_EVERY
            # As many tiles as complete the round in time, with any remainder; tiles of all turns not in one frame.
            first = frame + _APART * turn
            done, now = ((step * len(numbers)) // interval for step in (first, first + steps))
            turns = range(len(numbers)) if frame == 0 else range(done, now)
            due.update(numbers[turn % len(numbers)] for turn in turns)
        return sorted(due)

    def restart(self) -> None:
        """Look at all tiles, in all turns, in the next frame."""
        self._frame = 0

    def last(self) -> None:
        """In the next frame look at all upright tiles, and at turned ones only in turns in which heads lie. In a
        television scene of 30 frames all turned tiles cost a tenth of everything, and what they found was redacted
        for a second."""
        self._extra = self._of(self._turns)

    def moved(self, motion: CameraMotion) -> None:
        """The camera moved before the next frame, and may show a person who was hidden: twice as many tiles are
        searched. Once enough for a face is new, so are all tiles that show something new, turned only as heads lie."""
        self._steps = 2
        old = self._view.moved(motion)
        if old is not None:
            self._extra = self._extra | {n for n in self._of(self._turns) if not within(_box(self._tiles[n]), old)}


def _box(tile: Tile) -> Box:
    return float(tile.x0), float(tile.y0), float(tile.x1), float(tile.y1)


def within(box: Box, other: Box) -> bool:
    """Whether a box lies wholly inside another one."""
    return box[0] >= other[0] and box[1] >= other[1] and box[2] <= other[2] and box[3] <= other[3]


def tile_for(tiles: Sequence[Tile], box: Box, turn: int = 0) -> int:
    """Number of the tile in which the detector sees the content of a box best: the coarsest tile of this turn that
    shows it large enough. turn: quarter turns anticlockwise after which a head in the box stands upright."""
    x, y, width = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0]
    upright = [n for n, tile in enumerate(tiles) if tile.turn == turn] or range(len(tiles))
    large = [n for n in upright if tiles[n].scale * width >= SEEN] or upright
    scale = min((tiles[n].scale for n in large), key=lambda s: abs(math.log(s * width / SEEN)))
    there = [n for n in large if tiles[n].scale == scale]
    return min(there, key=lambda n: _away(tiles[n], x, y))


def still_in(tiles: Sequence[Tile], number: int, box: Box, turn: int = 0) -> int:
    """The given tile's number as long as that tile shows the middle of a box, pixels; otherwise as `tile_for`."""
    tile, x, y = tiles[number], (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return number if tile.x0 <= x < tile.x1 and tile.y0 <= y < tile.y1 else tile_for(tiles, box, turn)


def _away(tile: Tile, x: float, y: float) -> float:
    """Square of the distance of a point (x, y) from a tile's middle, pixels."""
    return ((tile.x0 + tile.x1) / 2 - x) ** 2 + ((tile.y0 + tile.y1) / 2 - y) ** 2
