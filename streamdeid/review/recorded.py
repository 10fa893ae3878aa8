"""The data of a recording that the page shows, read once from its analysis as columns.

For 45,000 frames with six people they take 20 MB; the analysis itself may stay in its file.
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
"""Protection levels by their number here, the weakest first; any other level counts as a mask."""
_RENAMED = {"own face quiet": "posed face"}
"""A level of earlier versions and its number here: a person's surrogate that is not on the person's own landmarks."""
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
    """Numbers of the frames that begin a scene, without the first scene."""
    places: Places
    level: NDArray[np.uint8]
    """(n,): row of `LEVELS`."""
    cause: NDArray[np.uint8]
    """(n,): row of `causes`."""
    causes: tuple[str, ...]
    """Names of the causes why a place did not get a better level."""
    box: NDArray[np.float32]
    """(n, 4): x0, y0, x1, y1 in pixels: box of the changed pixels."""

    @staticmethod
    def of(analysis: Analysis, known: AnalysisColumns | None = None) -> Recorded:
        """Read an analysis. known: its columns, if they were read already. Raises InputError for a damaged file."""
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
        """First and last frame of the scene that a frame belongs to."""
        first = max((cut for cut in self.cuts if cut <= frame), default=0)
        return first, min((cut for cut in self.cuts if cut > frame), default=len(self.times)) - 1


def _number(level: str) -> int:
    """Row of `LEVELS` for a level's name, also for one of an earlier version."""
    name = _RENAMED.get(level, level)
    return LEVELS.index(name) if name in LEVELS else _OTHER


def runs(frame: Ints, state: NDArray[np.uint8]) -> list[int]:
    """Run lengths of the highest state of each frame: first frame, number of frames, state, then those of the next run.

    frame: int64 (n,), rising. state: uint8 (n,), the states in these frames. Frames without a state end a run.
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
    """Spans of frames as run lengths (`runs`) of one state."""
    return [value for first, last in spans for value in (first, last - first + 1, state)]
