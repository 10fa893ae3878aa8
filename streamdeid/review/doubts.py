"""Ranks the doubts about a recording, the worst first, so that a reviewer knows what to look at.

Doubts about the same place and time, or about the same track at that time, are merged into the worst of them. Every
sixth place in the list is for a doubt about a person's identity. Those doubts are seldom as bad as a missed face, and
would otherwise come late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from streamdeid.analysis.columns import AnalysisColumns, columns_of
from streamdeid.analysis.records import Analysis
from streamdeid.core.arrays import Box
from streamdeid.review.chains import chains
from streamdeid.review.columns import Columns
from streamdeid.review.edges import about_edges
from streamdeid.review.questions import WHO, Question, about_chains, about_persons, about_redactions
from streamdeid.review.stretches import stretches

LEAST = 0.02
"""Severity up to which a doubt is left out."""
_MOST = 5_000
"""Most doubts that are kept, the worst ones."""
_TURN = 6
"""One of so many places in the list is for a doubt about a person's identity."""
_BETWEEN = 0.2
"""Largest distance in seconds of two doubts that are about the same time."""
_SAME_PLACE = 0.1
"""Intersection over union above which two boxes are the same place."""
_PERIOD = 10
"""Length in seconds of the periods by which doubts are looked up."""


@dataclass(frozen=True)
class Doubt:
    """A part of a recording that a reviewer should look at."""

    name: str
    """Unique in a recording and the same in every run: kind, track or place, and first frame."""
    kind: str
    first: int
    last: int
    """First and last frame that the doubt is about, counted from 0, both included."""
    track: int
    """Number of the track; 0 if the doubt is about no track."""
    person: int
    """Number of the person; 0 if not known."""
    box: Box
    """x0, y0, x1, y1 in pixels: around the places that the doubt is about; may reach beyond the frame."""
    severity: float
    """0 to 1, 1 the worst."""
    why: str
    """One sentence for a user."""


def doubts(analysis: Analysis, known: AnalysisColumns | None = None) -> list[Doubt]:
    """The doubts of a recording, the worst first; the same in every run.

    known: columns of the analysis, if they were read already. Raises InputError for a damaged file.
    """
    header = analysis.header
    read = columns_of(analysis.frames) if known is None else known
    columns = Columns.of(read, (header.width, header.height), float(header.rate))
    found = stretches(columns)
    asked = [
        *about_edges(columns, found),
        *about_redactions(columns, found),
        *about_chains(columns, chains(columns)),
        *about_persons(columns, found),
    ]
    asked = [one for one in asked if one.severity > LEAST]
    asked.sort(key=lambda one: (-one.severity, one.first, one.kind, one.track, one.box))
    del asked[_MOST:]
    return _named(_in_turn(_merged(asked, columns.rate)))


def _merged(asked: Sequence[Question], rate: float) -> list[Question]:
    """Merge questions about the same thing into the worst of them. asked and result: the worst first.

    A worse question takes over the frames and the box of a merged one that is more than half as severe. Questions of
    the kind "person" are not merged.
    """
    kept: list[Question] = []
    near: dict[tuple[int, int], list[int]] = defaultdict(list)
    period = _PERIOD * rate
    for one in asked:
        periods = range(int(one.first // period), int((one.last + _BETWEEN * rate) // period) + 1)
        known = {} if one.kind == "person" else {at: None for n in periods for t in (one.track, 0) for at in near[t, n]}
        if not one.track:
            known |= {at: None for n in periods for at in near[-1, n]}
        same = next((at for at in sorted(known) if _same_thing(kept[at], one, _BETWEEN * rate)), None)
        if same is not None:
            worse = kept[same]
            kept[same] = _grown(worse, one) if one.severity > 0.5 * worse.severity else worse
            continue
        kept.append(one)
        if one.kind != "person":
            for period_number in range(periods.start - 1, periods.stop + 1):
                near[one.track, period_number].append(len(kept) - 1)
                if one.track:
                    near[-1, period_number].append(len(kept) - 1)
    return kept


def _same_thing(a: Question, b: Question, between: float) -> bool:
    if a.first > b.last + between or b.first > a.last + between:
        return False
    return a.track == b.track if a.track and b.track else _overlap(a.box, b.box) > _SAME_PLACE


def _grown(worse: Question, by: Question) -> Question:
    """The worse of two questions, extended to the frames and places of both."""
    a, b = worse.box, by.box
    box = min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])
    return replace(worse, first=min(worse.first, by.first), last=max(worse.last, by.last), box=box)


def _overlap(a: Box, b: Box) -> float:
    shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1])
    return shared / max(both - shared, 1e-9)


def _in_turn(asked: Sequence[Question]) -> list[Question]:
    """The questions with the worst first, but every `_TURN`-th place is for one about a person's identity.

    Such questions get no other place as long as there are others."""
    who = [one for one in asked if one.subject == WHO][::-1]
    where = [one for one in asked if one.subject != WHO][::-1]
    row: list[Question] = []
    while who or where:
        turn = who if who and (not where or len(row) % _TURN == _TURN - 1) else where
        row.append(turn.pop())
    return row


def _named(asked: Sequence[Question]) -> list[Doubt]:
    """The questions as doubts, in the same order; a second doubt with the same name gets a number."""
    found: list[Doubt] = []
    times: dict[str, int] = defaultdict(int)
    for one in asked:
        x, y = (round((low + high) / 2) for low, high in zip(one.box[:2], one.box[2:], strict=True))
        what = f"track{one.track}" if one.track else f"at{x},{y}"
        name = f"{one.kind.replace(' ', '-')}:{what}:{one.first}"
        if one.kind == "person":
            name = f"person:{one.person}"
        times[name] += 1
        if times[name] > 1:
            name = f"{name}:{times[name]}"
        severity = round(float(one.severity), 3)
        found.append(Doubt(name, one.kind, one.first, one.last, one.track, one.person, one.box, severity, one.why))
    return found
