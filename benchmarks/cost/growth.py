"""How the cost of a frame grows with faces and pixels: walls of 16 cells, of which some show heads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.clips import markdown
from benchmarks.cost.clips import RATE, wall
from benchmarks.cost.runs import Cost, measured
from streamdeid.lab.plots import line_plot

FACES = (0, 1, 2, 4, 8, 16)
SIZES = ((768, 432), (1280, 720), (1920, 1080), (2560, 1440), (3840, 2160))
_CELLS = 16
Grid = dict[tuple[int, int], list[Cost]]


def grown(videos: Path, frames: int, runs: int, tell: Callable[[str], None]) -> Grid:
    """The cost by size (width, height) and number of faces."""
    grid: Grid = {}
    for size in SIZES:
        grid[size] = []
        for faces in FACES:
            tell(f"{size[0]}x{size[1]}, {faces} faces")
            grid[size].append(measured(wall(videos, faces, _CELLS, size, frames), RATE, runs))
    return grid


def tables(grid: Grid) -> str:
    """Markdown: the cost of a frame, what a further face costs and how straight the lines are."""
    header = ["CPU ms a frame (redactions found)", *map(str, FACES), "a further face", "r²"]
    rows = []
    for (width, height), costs in grid.items():
        cells = [f"{cost.filter:.1f} ({cost.redactions:.1f})" for cost in costs]
        rows.append([f"{width}x{height}", *cells, *_line(FACES, [cost.filter for cost in costs])])
    transcodes = [
        [f"{width}x{height}", *(cost.transcode for cost in costs), *_line(FACES, [cost.transcode for cost in costs])]
        for (width, height), costs in grid.items()
    ]
    pixels = [width * height / 1e6 for width, height in grid]
    columns = [[faces, *_line(pixels, [grid[size][i].filter for size in grid])] for i, faces in enumerate(FACES)]
    plain = ["plain transcode", *map(str, FACES), "a further face", "r²"]
    parts = [
        markdown(header, rows),
        markdown(plain, transcodes),
        markdown(["faces", "ms for a further megapixel", "r²"], columns),
    ]
    return "\n\n".join(parts)


def write(directory: Path, grid: Grid) -> None:
    """`growth.json` and `growth.png` in a directory. Raises OutputError and OSError."""
    found = {f"{w}x{h}": [vars(cost) for cost in costs] for (w, h), costs in grid.items()}
    (directory / "growth.json").write_text(json.dumps({"faces": FACES, "costs": found}, indent=1), encoding="utf-8")
    series = {f"{w}x{h}": (FACES, [cost.filter for cost in costs]) for (w, h), costs in grid.items()}
    line_plot(directory / "growth.png", "What a frame costs", "faces", "CPU ms a frame", series)


def _line(at: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Slope of the straight line through some points (least squares), and the share of the variance it explains."""
    x, y = np.asarray(at, np.float64), np.asarray(values, np.float64)
    slope, level = np.polyfit(x, y, 1)
    rest = float(np.square(y - slope * x - level).sum())
    return float(slope), 1 - rest / max(float(np.square(y - y.mean()).sum()), 1e-12)
