"""What the page shows of a recording, read from its analysis once, as columns.

Of 45,000 frames with six people this is 20 MB; the analysis itself may stay in its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.columns import AnalysisColumns, columns_of
from streamdeid.analysis.places import Places
from streamdeid.analysis.records import Analysis
from streamdeid.core.arrays import Ints

LEVELS = ("shown", "own face", "posed face", "soft redaction", "solid", "mask", "region")
"""Protection levels by their number here, the weakest first; any other counts as a mask."""
_RENAMED = {"own face quiet": "posed face"}
"""What earlier versions called one of them: a person's surrogate, not on the person's own landmarks."""
_OTHER = LEVELS.index("mask")


@dataclass(frozen=True)
class Recorded:
    """A recording's frames, and its places in the order of `Places`."""

    width: int
    height: int
    rate: Fraction
    """Average frames per second."""
    times: NDArray[np.float64]
    """Presentation time of each frame, seconds, float64 (frames,)."""
    cuts: tuple[int, ...]
    """Numbers of the frames that a scene begins with, but for the first."""
    places: Places
    level: NDArray[np.uint8]
    """(n,): row of `LEVELS`."""
    cause: NDArray[np.uint8]
    """(n,): row of `causes`."""
    causes: tuple[str, ...]
    """Why no better level."""
    box: NDArray[np.float32]
    """(n, 4): x0, y0, x1, y1 in pixels: what was changed."""

    @staticmethod
    def of(analysis: Analysis, known: AnalysisColumns | None = None) -> Recorded:
        """Read an analysis. known: its columns, where they were read already. Raises InputError for a damaged file."""
        columns = columns_of(analysis.frames) if known is None else known
        header, rows = analysis.header, columns.decisions
        ours = np.array([_number(one) for one in columns.levels] or [0], np.uint8)
        return Recorded(
            width=header.width,
            height=header.height,
            rate=header.rate,
            times=columns.time,
            cuts=tuple(int(at) for at in np.flatnonzero(np.diff(columns.scene)) + 1),
            places=Places.of_columns(columns),
            level=ours[rows.level],
            cause=rows.cause,
            causes=columns.causes,
            box=rows.box,
        )

    def scene_of(self, frame: int) -> tuple[int, int]:
        """First and last frame of the scene of a frame."""
        first = max((cut for cut in self.cuts if cut <= frame), default=0)
        return first, min((cut for cut in self.cuts if cut > frame), default=len(self.times)) - 1


def _number(level: str) -> int:
    """Row of `LEVELS` of a level by its name, an earlier version's too."""
    name = _RENAMED.get(level, level)
    return LEVELS.index(name) if name in LEVELS else _OTHER


def runs(frame: Ints, state: NDArray[np.uint8]) -> list[int]:
    """Run lengths of what is highest in each frame, as first frame, number of frames, state, and so on.

    frame: int64 (n,), rising, where there is something. state: uint8 (n,).
    """
    if not len(frame):
        return []
    starts = np.flatnonzero(np.diff(frame, prepend=-1))
    frames, states = frame[starts], np.maximum.reduceat(state, starts)
    breaks = np.flatnonzero((np.diff(frames) > 1) | (np.diff(states.astype(np.int16)) != 0))
    firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(frames) - 1)
    found = np.stack([frames[firsts], frames[lasts] - frames[firsts] + 1, states[firsts].astype(np.int64)], axis=1)
    return [int(value) for value in found.reshape(-1)]


def of_spans(spans: Sequence[tuple[int, int]], state: int) -> list[int]:
    """Spans of frames as run lengths of one state."""
    return [value for first, last in spans for value in (first, last - first + 1, state)]
