"""Questions about redactions that begin or end for no visible reason: late starts, early ends, and gaps between them.

A face appears at the border, with a cut, or from behind another person. A face that appears suddenly in the middle of
the picture, beside nobody, was probably there before. Where the look-ahead redacts places before a start or after an
end, less is left unprotected.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.review.columns import Columns
from streamdeid.review.questions import WHERE, Question, urgency
from streamdeid.review.stretches import Stretch, around, centres, corners

_LIKELY = 0.8
"""Severity of a certain face whose redaction begins or ends in the middle of the picture for no reason."""
_AT_BORDER = 0.15
"""Share of this severity that is left at the border of the picture."""
_INSIDE = 0.1
"""Distance from the border, in sides, from which a face no longer counts as at the border."""
_STANDS, _STANDS_THERE = 0.02, 0.6
"""A face stands still if it moves less than the first, in sides, in `_AHEAD` seconds. Then the second is the share that
is left at the border: a person who stands there does not leave."""
_BESIDE, _COVERED, _SOON = 0.7, 0.5, 1.25
"""Factors of the severity: beside another redaction; where the look-ahead redacts the place for longer; and soon after
a cut or before the next, since people do not appear a second after a cut."""
_AHEAD = 0.12
"""Seconds for which a face is assumed to go on moving as before."""
_LONGEST_GAP, _OVERLAP = 3.0, 0.5
"""Most seconds between an end and a start that may be one face's, and most seconds for which the two may overlap."""
_REACH, _REACH_PER_SECOND = 0.5, 2.0
"""Largest distance between such an end and start, in sides, and how much it grows with each second between them."""


@dataclass(frozen=True, eq=False)
class _Edge:
    """The beginning or the end of a stretch, if it is not at a cut."""

    stretch: Stretch
    begins: bool
    bound: int
    """First frame of the scene for a beginning, last frame for an end."""
    likely: float
    """How likely it is that there is a face before the beginning or after the end, 0 to 1."""

    @property
    def frame(self) -> int:
        return self.stretch.first if self.begins else self.stretch.last

    @property
    def place(self) -> Floats:
        place: Floats = self.stretch.places[0 if self.begins else -1]
        return place


def about_edges(columns: Columns, found: Sequence[Stretch]) -> Iterator[Question]:
    """Questions about gaps, late starts and early ends."""
    edges = _edges(columns, found)
    starts = sorted((one for one in edges if one.begins), key=lambda one: one.frame)
    by_track: dict[int, list[_Edge]] = defaultdict(list)
    for one in starts:
        by_track[one.stretch.track].append(one)
    taken: set[_Edge] = set()
    for end in sorted((one for one in edges if not one.begins), key=lambda one: one.frame):
        own = (one for one in by_track[end.stretch.track] if end.frame < one.frame <= end.bound and one not in taken)
        start = next(own, None) or _next_start(columns, end, starts, taken)
        if start is None:
            continue
        taken |= {end, start}
        if start.frame > end.frame + 1:  # otherwise the next redaction follows at once
            yield _gap(end, start)
    reach = round(columns.rate)
    for one in edges:
        if one in taken:
            continue
        stretch, box = one.stretch, corners(one.place)
        if one.begins:
            kind, first, last = "late start", max(one.bound, one.frame - reach), one.frame
            why = "A cover begins in the middle of the picture: was the face there before?"
        else:
            kind, first, last = "early end", one.frame, min(one.bound, one.frame + reach)
            why = "A cover ends in the middle of the picture: is the face still there?"
        yield Question(kind, WHERE, first, last, stretch.track, stretch.person, box, one.likely, why)


def _edges(columns: Columns, found: Sequence[Stretch]) -> list[_Edge]:
    scene = columns.scene
    firsts = np.flatnonzero(np.append(True, np.diff(scene) != 0))
    lasts = np.append(firsts[1:] - 1, len(scene) - 1)
    edges = []
    for one in found:
        which = int(np.searchsorted(firsts, one.first, side="right")) - 1
        if one.first != firsts[which]:
            edges.append(_edge(columns, one, True, int(firsts[which])))
        if one.last != lasts[which]:
            edges.append(_edge(columns, one, False, int(lasts[which])))
    return edges


def _edge(columns: Columns, one: Stretch, begins: bool, bound: int) -> _Edge:
    frame, place, seen = (one.first, one.places[0], one.seen) if begins else (one.last, one.places[-1], one.seen[::-1])
    going, side = _going(one, begins, columns.rate), max(one.side, 1e-9)
    away = _to_border(place + going, columns.size) / side
    least = _STANDS_THERE if float(np.abs(going).max()) < _STANDS * side else _AT_BORDER
    inside = float(np.clip(away / _INSIDE, least, 1))
    beside = _BESIDE if _beside(columns, one.track, frame, place) else 1.0
    guessed = int(np.argmax(seen)) if seen.any() else len(seen)
    covered = _COVERED if guessed >= 0.15 * columns.rate else 1.0
    soon = _SOON if abs(frame - bound) < 1.5 * columns.rate else 1.0
    likely = _LIKELY * one.likeness * inside * beside * covered * soon * urgency(one.side)
    return _Edge(one, begins, bound, min(likely, 1.0))


def _going(one: Stretch, begins: bool, rate: float) -> Floats:
    """How far a face moves in `_AHEAD` seconds after its end, or back before its start, added to each corner of its
    box; pixels (4,)."""
    few = max(2, min(len(one.places), round(_AHEAD * rate)))
    row = centres(one.places[:few] if begins else one.places[::-1][:few])
    shift = (row[0] - row[-1]) / max(len(row) - 1, 1) * _AHEAD * rate
    return np.concatenate([shift, shift])


def _next_start(columns: Columns, end: _Edge, starts: Sequence[_Edge], taken: set[_Edge]) -> _Edge | None:
    """The start nearest to an end that may be the same face's, or None. starts: sorted by frame."""
    low, high = (
        bisect.bisect_left(starts, end.frame + seconds * columns.rate, key=lambda one: one.frame)
        for seconds in (-_OVERLAP, _LONGEST_GAP)
    )
    best, nearest = None, np.inf
    for start in starts[low:high]:
        if start not in taken and start.frame <= end.bound:
            away = _apart(end, start, columns.rate)
            if away < nearest:
                best, nearest = start, away
    return best


def _apart(end: _Edge, start: _Edge, rate: float) -> float:
    """Distance between a start and an end, divided by how far a face can move; infinite if they are two faces'."""
    a, b = max(end.stretch.side, 1e-9), max(start.stretch.side, 1e-9)
    if start.stretch is end.stretch or not 0.5 <= a / b <= 2:
        return np.inf
    seconds = max((start.frame - end.frame) / rate, 0.0)
    away = float(np.hypot(*(centres(end.place[None]) - centres(start.place[None]))[0])) / a
    away /= _REACH + _REACH_PER_SECOND * seconds
    return away if away <= 1 else np.inf


def _gap(end: _Edge, start: _Edge) -> Question:
    one = end.stretch
    same = 0.3 if start.stretch.track == one.track else 0.2
    like = min(one.likeness, start.stretch.likeness)
    severity = min((same + 0.7 * like) * urgency(one.side), 1.0)
    first, last = end.frame + 1, start.frame - 1
    why = f"Nothing is covered here for {last - first + 1} frames, between two covers of what may be one face."
    box = around(np.array([end.place, start.place]))
    return Question("gap", WHERE, first, last, one.track, one.person, box, severity, why)


def _beside(columns: Columns, track: int, frame: int, place: Floats) -> bool:
    """Whether the frame has another redaction within a quarter of the place's side."""
    here = columns.rows(frame)
    others = columns.covered.place[here][columns.covered.track[here] != track]
    reach = 0.25 * min(place[2] - place[0], place[3] - place[1])
    return bool(((others[:, :2] <= place[2:] + reach) & (others[:, 2:] >= place[:2] - reach)).all(axis=1).any())


def _to_border(place: Floats, size: tuple[int, int]) -> float:
    return float(max(0.0, min(place[0], place[1], size[0] - place[2], size[1] - place[3])))
