"""Do posed faces of heads that are turned too far for an own face speak and blink? Landmarks are detected again.

    python -m benchmarks turned_mouths VIDEO ... [--frames N] [--json]

For the posed faces of which a turn is the worst that speaks against an own face: correlation and
spread (standard deviation over the original's) of how far the mouth is open, its width, the height of its corners over
its middle and how far the eyes are open, each over the distance from the bridge of the nose to the chin; between the
original's landmarks and those that the landmarker sees on what is published, where it sees a face there. Such landmarks
are noisy themselves. Runs the filter as on a file, without encoding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.looks.head_geometry import counterpart
from benchmarks.looks.published import published
from streamdeid.core.arrays import Points
from streamdeid.core.frames import Frame
from streamdeid.core.protocols import Detector
from streamdeid.errors import StreamdeidError
from streamdeid.protect.levels import Cause, Level
from streamdeid.runs.parts import default_detector
from streamdeid.runs.step import Done
from streamdeid.settings import Settings

SIGNS = ("mouth open", "mouth wide", "corners", "eyes")
_SURE, _FEWEST = 0.8, 10
"""Presence of a face that is one; number of faces from which correlations are given."""
_EYES = (37, 41), (38, 40), (43, 47), (44, 46)


def signs(landmarks: Points) -> list[float]:
    """The four measures of landmarks (68, 2)."""

    def apart(a: int, b: int) -> float:
        return float(np.linalg.norm(landmarks[a] - landmarks[b]))

    high = max(apart(27, 8), 1e-6)
    down = (landmarks[8] - landmarks[27]) / high
    corners = float(((landmarks[62] + landmarks[66]) / 2 - (landmarks[48] + landmarks[54]) / 2) @ down)
    eyes = float(np.mean([apart(*pair) for pair in _EYES]))
    return [apart(62, 66) / high, apart(48, 54) / high, corners / high, eyes / high]


def seen_again(frames: Iterable[Done[None]], detect: Detector) -> list[tuple[list[float], list[float]]]:
    """The measures of each such face, before and after."""
    pairs = []
    for done in frames:
        frame = done.frame
        there = detect(Frame(frame.planes, frame.time, frame.index))
        for plan in done.plans:
            face = plan.track.face
            if plan.level is not Level.POSED or plan.cause is not Cause.TURNED or face is None:
                continue
            after = counterpart(face, there)
            if after is None or after.landmarks is None or face.landmarks is None or after.presence < _SURE:
                continue
            pairs.append((signs(face.landmarks), signs(after.landmarks)))
    return pairs


def one(path: Path, frames: int | None) -> dict[str, Any]:
    """The row of one clip, its first `frames` frames. Raises StreamdeidError."""
    with contextlib.closing(default_detector(Settings())) as again:
        pairs = seen_again(published(path, frames), again)
    row: dict[str, Any] = {"clip": path.stem, "faces": len(pairs)}
    if len(pairs) >= _FEWEST:
        before, after = (np.array(side) for side in zip(*pairs, strict=True))
        for place, sign in enumerate(SIGNS):
            old, new = before[:, place], after[:, place]
            row[sign] = float(np.corrcoef(old, new)[0, 1])
            row[f"{sign}, spread"] = float(new.std() / max(float(old.std()), 1e-9))
    return row


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", nargs="+", type=Path, metavar="VIDEO")
    parser.add_argument("--frames", type=int, help="look at so many frames of each clip only")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(argv)
    try:
        rows = [one(path, arguments.frames) for path in arguments.videos]
    except StreamdeidError as error:
        parser.error(str(error))
    header = ["clip", "faces", *(f"{sign}{more}" for sign in SIGNS for more in ("", ", spread"))]
    table = [[row.get(name) for name in header] for row in rows]
    print(as_json(rows) if arguments.json else markdown(header, table))
    return 0
