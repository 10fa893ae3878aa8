"""Chains: what the detector found again and again at a place that no redaction covers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamdeid.review.columns import Columns, Flags, Floats, Ints
from streamdeid.review.stretches import sides

_LONGEST_BREAK = 1.5
"""Seconds between two sightings of a chain: tiles are searched once in 32 frames."""
_REACH, _REACH_PER_SECOND = 0.5, 2.0
"""How far the next sighting may lie, in sides of the face, and how much farther for each second."""
_AS_LARGE = 0.5
"""The smaller of two neighbours' sides over the larger, at least."""


@dataclass(frozen=True)
class Chain:
    """Sightings, in order of time, of what may be one face that nothing covers."""

    frames: Ints
    boxes: Floats
    """float64 (n, 4), pixels."""
    evidence: Floats
    presence: Floats

    @property
    def first(self) -> int:
        """First frame."""
        return int(self.frames[0])

    @property
    def last(self) -> int:
        """Last frame."""
        return int(self.frames[-1])

    @cached_property
    def side(self) -> float:
        """Usual length of the shorter side, pixels."""
        return float(np.median(sides(self.boxes)))


def chains(columns: Columns) -> list[Chain]:
    """All chains, by their first frame."""
    found = columns.found
    rows = np.flatnonzero(~found.taken & ~_covered(columns))
    longest = _LONGEST_BREAK * columns.rate
    open_ones: list[list[int]] = []
    done: list[list[int]] = []
    box, frame, scene = found.box, found.frame, columns.scene
    centre, side = (box[:, :2] + box[:, 2:]) / 2, sides(box)
    for row in rows.tolist():
        now = int(frame[row])
        over = [one for one in open_ones if now - frame[one[-1]] > longest or scene[frame[one[-1]]] != scene[now]]
        done += over
        open_ones = [one for one in open_ones if one not in over] if over else open_ones
        best, nearest = None, np.inf
        for one in open_ones:
            last = one[-1]
            if frame[last] == now or not _AS_LARGE <= side[row] / max(side[last], 1e-9) <= 1 / _AS_LARGE:
                continue
            away = float(np.hypot(*(centre[row] - centre[last]))) / max(side[last], 1e-9)
            reach = _REACH + _REACH_PER_SECOND * float(now - frame[last]) / columns.rate
            if away <= reach and away < nearest:
                best, nearest = one, away
        if best is None:
            open_ones.append([row])
        else:
            best.append(row)
    parts = sorted([*done, *open_ones], key=lambda one: one[0])
    return [Chain(frame[part], box[part], found.evidence[part], found.presence[part]) for part in map(np.array, parts)]


def _covered(columns: Columns) -> Flags:
    """Which sightings, (m,), have the middle half of their box within a redaction."""
    found, rows = columns.found, columns.covered
    starts = columns.starts
    quarter = (found.box[:, 2:] - found.box[:, :2]) / 4
    low, high = found.box[:, :2] + quarter, found.box[:, 2:] - quarter
    covered = np.zeros(len(found.frame), dtype=np.bool_)
    most = int(np.diff(starts).max(initial=0))
    for step in range(most):
        at = starts[found.frame] + step
        here = np.flatnonzero(at < starts[found.frame + 1])
        boxes = rows.box[at[here]]
        covered[here] |= ((boxes[:, :2] <= low[here]) & (boxes[:, 2:] >= high[here])).all(axis=1)
    return covered
