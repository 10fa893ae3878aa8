"""Does another version of the filter publish the same pictures? Clips through two versions, under one fixed key.

    python -m benchmarks same_pictures OTHER_TREE CLIP [CLIP ...] [--frames N] [--json]

OTHER_TREE: the directory of the other version, with its `streamdeid` in it; this one is the one of this file. Each
runs in a process of its own. Compared are Y, U and V: within the boxes of what is covered, where either version
changed the picture, by their peak signal to noise ratio (`all`: of all frames, `worst`: of the worst one, dB);
elsewhere by how many pixels differ (`outside`), of which there are to be none. `levels`: faces whose protection
level is another one. Exit code 1 when a clip is below 44 dB over all, anything differs outside, or a level does."""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.processes import of_version
from streamdeid.core.frames import Planes

_LEAST = 44.0
"""Decibels from which two pictures look the same."""
_BEYOND = 0.15
"""Share of a cover's box by which what is drawn may go beyond it: the box is that of the face's points, and the outline
is drawn to the silhouette and a feather beyond."""
_HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Published:
    """A frame of one version, and what was covered in it."""

    original: Planes
    published: Planes
    boxes: Sequence[tuple[float, float, float, float]]
    levels: Sequence[str]


def compared(pairs: Iterator[tuple[Published, Published]]) -> dict[str, Any]:
    """What the frames of two versions differ by."""
    squares, counts, outside, levels = [], [], 0, 0
    for one, other in pairs:
        square, count, strays = difference(one, other)
        squares.append(square)
        counts.append(count)
        outside += strays
        levels += sum(a != b for a, b in zip(one.levels, other.levels, strict=False))
        levels += abs(len(one.levels) - len(other.levels))
    worst = min((_decibels(s, n) for s, n in zip(squares, counts, strict=True)), default=np.inf)
    return {
        "frames": len(squares),
        "all": _decibels(sum(squares), sum(counts)),
        "worst": worst,
        "outside": outside,
        "levels": levels,
    }


def difference(one: Published, other: Published) -> tuple[float, int, int]:
    """Sum of squared differences and number of pixels within the faces, and how many pixels differ elsewhere."""
    square, count, strays = 0.0, 0, 0
    for name, scale in (("y", 1), ("u", 2), ("v", 2)):
        before, first, second = (
            getattr(planes, name).astype(np.int32) for planes in (one.original, one.published, other.published)
        )
        covered = np.zeros(before.shape, np.bool_)
        for box in (*one.boxes, *other.boxes):
            (x0, y0, x1, y1), reach = box, _BEYOND * max(box[2] - box[0], box[3] - box[1]) + 2
            left, top, right, bottom = (
                int(max(v, 0) / scale) for v in (x0 - reach, y0 - reach, x1 + reach, y1 + reach)
            )
            covered[top:bottom, left:right] = True
        changed: NDArray[np.bool_] = covered & ((first != before) | (second != before))
        square += float(np.square(first - second)[changed].sum())
        count += int(changed.sum())
        strays += int(((first != second) & ~covered).sum())
    return square, count, strays


def _decibels(square: float, count: int) -> float:
    return float(10 * np.log10(255**2 * count / square)) if square > 0 else np.inf


def _write(clip: Path, out: Path, frames: int | None) -> None:
    """Run the version that is imported over a clip, and write down what it publishes."""
    from benchmarks.people.run import Filtering
    from streamdeid.settings import Settings
    from streamdeid.surrogates.models import load_models

    with out.open("wb") as file:
        for original, published, _ in Filtering(clip, load_models(None), Settings(), frames).published():
            covers = published.redactions
            boxes, levels = [redaction.box for redaction in covers], [redaction.level for redaction in covers]
            pickle.dump((original.planes, published.planes, boxes, levels), file)


def _read(path: Path) -> Iterator[Published]:
    with path.open("rb") as file:
        while file.peek(1):
            yield Published(*pickle.load(file))


def _ran(tree: Path, clip: Path, out: Path, frames: int | None) -> Iterator[Published]:
    words = [] if frames is None else ["--frames", str(frames)]
    command = of_version(tree, __name__, "--write", out, tree, clip, *words)
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    subprocess.run(command, env=environment, check=True)
    return _read(out)


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("tree", type=Path, metavar="OTHER_TREE")
    parser.add_argument("clips", type=Path, nargs="+", metavar="CLIP")
    parser.add_argument("--frames", type=int, help="end each clip after so many frames")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.write is not None:
        _write(given.clips[0], given.write, given.frames)
        return 0
    found = {}
    for clip in given.clips:
        with tempfile.TemporaryDirectory() as directory:
            one, other = (Path(directory) / name for name in ("one", "other"))
            before = _ran(given.tree, clip, one, given.frames)
            now = _ran(_HERE, clip, other, given.frames)
            found[clip.stem] = compared(zip(before, now, strict=True))
    if given.json:
        print(as_json(found))
    else:
        print(markdown(["clip", *next(iter(found.values()))], [(name, *row.values()) for name, row in found.items()]))
    fine = all(row["all"] >= _LEAST and row["outside"] == row["levels"] == 0 for row in found.values())
    return 0 if fine else 1
