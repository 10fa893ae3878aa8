"""Chains: repeated sightings of what may be one face, at a place that no redaction covers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamdeid.core.arrays import Floats, Ints
from streamdeid.review.columns import Columns
from streamdeid.review.stretches import sides

_LONGEST_BREAK = 1.5
"""Most seconds between two sightings of a chain: tiles are searched once in 32 frames."""
_REACH, _REACH_PER_SECOND = 0.5, 2.0
"""Largest distance to the next sighting, in sides of the face, and how much it grows with each second."""
_MOST = 32
"""Most sightings of a frame that are followed: a detector may find a thousand."""
_OPEN = 128
"""Most chains that may still be continued; if there are more, those that began first are ended."""
_AS_LARGE = 0.5
"""Smallest ratio of the smaller to the larger side of two consecutive sightings of a chain."""


@dataclass(frozen=True)
class Chain:
    """Sightings, in order of time, of what may be one face that no redaction covers."""

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
        """Median length of the boxes' shorter side, pixels."""
        return float(np.median(sides(self.boxes)))


def chains(columns: Columns) -> list[Chain]:
    """All chains, sorted by their first frame."""
    found = columns.found
    longest = _LONGEST_BREAK * columns.rate
    open_ones: list[list[int]] = []
    done: list[list[int]] = []
    before = -1
    box, frame, scene = found.box, found.frame, columns.scene
    centre, side = (box[:, :2] + box[:, 2:]) / 2, sides(box)
    for row in _open(columns).tolist():
        now = int(frame[row])
        if now != before:
            before = now
            still: list[list[int]] = []
            for one in open_ones:
                over = now - frame[one[-1]] > longest or scene[frame[one[-1]]] != scene[now]
                (done if over else still).append(one)
            done += still[:-_OPEN]
            open_ones = still[-_OPEN:]
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


def _open(columns: Columns) -> Ints:
    """Rows of `Found` that no decision refers to and the middle half of whose box lies within no redaction.

    Of each frame only the `_MOST` with the highest evidence."""
    found, rows = columns.found, columns.covered
    left = np.flatnonzero(~found.taken)
    quarter = (found.box[left, 2:] - found.box[left, :2]) / 4
    low, high = found.box[left, :2] + quarter, found.box[left, 2:] - quarter
    first, after = columns.starts[found.frame[left]], columns.starts[found.frame[left] + 1]
    covered = np.zeros(len(left), dtype=np.bool_)
    for step in range(int((after - first).max(initial=0))):
        here = np.flatnonzero(first + step < after)
        boxes = rows.box[first[here] + step]
        covered[here] |= ((boxes[:, :2] <= low[here]) & (boxes[:, 2:] >= high[here])).all(axis=1)
    left = left[~covered]
    by_evidence = left[np.lexsort((-found.evidence[left], found.frame[left]))]
    place = np.arange(len(left)) - np.searchsorted(found.frame[by_evidence], found.frame[by_evidence])
    return np.sort(by_evidence[place < _MOST])
