"""What to look at first in a recording: doubts, the worst first.

One entry stands for one thing: a second doubt about the same place and time is left to the worse one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamdeid.analysis.records import Analysis, Box
from streamdeid.review.chains import chains
from streamdeid.review.columns import Columns
from streamdeid.review.questions import Question, about_chains, about_edges, about_persons, about_stretches
from streamdeid.review.stretches import stretches


@dataclass(frozen=True)
class Doubt:
    """Something to look at."""

    name: str
    """Its own among those of a recording, the same in every run: kind, track and first frame."""
    kind: str
    first: int
    last: int
    """First and last frame, counted from 0, both included."""
    track: int
    """Number of the track; 0 for what is no track's."""
    person: int
    """Number of the person; 0 for nobody's."""
    box: Box
    """x0, y0, x1, y1 in pixels: around the places that it is about."""
    severity: float
    """0 to 1, 1 the worst."""
    why: str
    """One sentence for a user."""


def doubts(analysis: Analysis) -> list[Doubt]:
    """The doubts of a recording, the worst first; the same in every run."""
    return ranked(Columns.of(analysis))


def ranked(columns: Columns) -> list[Doubt]:
    """As `doubts`, of the columns of an analysis."""
    found = stretches(columns)
    asked = [
        *about_edges(columns, found),
        *about_stretches(columns, found),
        *about_chains(columns, chains(columns)),
        *about_persons(columns, found),
    ]
    asked = [one for one in asked if one.severity > LEAST]
    asked.sort(key=lambda one: (-one.severity, one.first, one.kind, one.track))
    return [_doubt(one) for one in _in_turn(_merged(asked, columns.rate))]


LEAST = 0.02
"""Severity up to which something is not worth a look."""
_TURNS = {"missed": 3, "false": 1, "person": 1}
"""How many doubts about somebody who may have been missed stand for one about a false redaction and about who it is."""


def _merged(asked: Sequence[Question], rate: float) -> list[Question]:
    """Without those that are about the same place and time as a worse one; worst first."""
    kept: list[Question] = []
    for one in asked:
        for at, worse in enumerate(kept):
            if (worse.group == "persons") == (one.group == "persons") and _same_thing(worse, one, rate):
                if one.severity > 0.5 * worse.severity:
                    kept[at] = _grown(worse, one)
                break
        else:
            kept.append(one)
    return kept


def _same_thing(a: Question, b: Question, rate: float) -> bool:
    if a.first > b.last + 0.2 * rate or b.first > a.last + 0.2 * rate:
        return False
    return a.track == b.track if a.track and b.track else _overlap(a.box, b.box) > 0.1


def _grown(worse: Question, by: Question) -> Question:
    """The worse of two, about the frames and places of both."""
    a, b = worse.box, by.box
    box = min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])
    return replace(worse, first=min(worse.first, by.first), last=max(worse.last, by.last), box=box)


def _overlap(a: Box, b: Box) -> float:
    shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return shared / max(both - shared, 1e-9)


def _in_turn(asked: Iterable[Question]) -> list[Question]:
    """Worst first, but every sixth place is for who somebody is."""
    asked = list(asked)
    persons = [one for one in asked if one.group == "persons"]
    others = [one for one in asked if one.group != "persons"]
    row: list[Question] = []
    while persons or others:
        turn = persons if persons and (not others or len(row) % 6 == 5) else others
        row.append(turn.pop(0))
    return row


def _doubt(one: Question) -> Doubt:
    where = f"track{one.track}" if one.track else f"at{round((one.box[0] + one.box[2]) / 2)}-{round((one.box[1] + one.box[3]) / 2)}"
    return Doubt(
        f"{one.kind.replace(' ', '-')}:{where}:{one.first}",
        one.kind,
        one.first,
        one.last,
        one.track,
        one.person,
        one.box,
        round(one.severity, 3),
        one.why,
    )
