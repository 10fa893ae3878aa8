"""What is asked of stretches, chains and persons, and how much speaks for trouble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.analysis.records import Box
from streamdeid.review.chains import Chain
from streamdeid.review.columns import Columns, Floats
from streamdeid.review.stretches import Stretch, sides


@dataclass(frozen=True)
class Question:
    """A doubt before it is named and ranked."""

    kind: str
    group: str
    """"missed", "false" or "person": what may be wrong."""
    first: int
    last: int
    track: int
    person: int
    box: Box
    severity: float
    why: str


@dataclass(frozen=True)
class _Edge:
    """Where a stretch begins or ends, away from cuts."""

    stretch: Stretch
    frame: int
    """Its first or last frame."""
    begins: bool
    place: Floats
    likely: float
    """How likely the face was there before or after, 0 to 1."""


def about_edges(columns: Columns, found: Sequence[Stretch]) -> list[Question]:
    """Late starts, early ends and gaps."""
    starts, ends = _scene_bounds(columns)
    edges = [
        edge
        for one in found
        for edge in (
            _edge(columns, one, True, int(starts[one.first])),
            _edge(columns, one, False, int(ends[one.last])),
        )
        if edge is not None
    ]
    asked, bridged = _gaps(columns, edges)
    for edge in edges:
        if id(edge) in bridged:
            continue
        one = edge.stretch
        seconds = 1.0
        reach = round(seconds * columns.rate)
        if edge.begins:
            first, last = max(int(starts[edge.frame]), edge.frame - reach), edge.frame
            why = f"Track {one.track} begins in the middle of the picture: was the face there before?"
        else:
            first, last = edge.frame, min(int(ends[edge.frame]), edge.frame + reach)
            why = f"Track {one.track} ends in the middle of the picture: is the face still there?"
        kind = "late start" if edge.begins else "early end"
        asked.append(Question(kind, "missed", first, last, one.track, one.person, _box(edge.place), edge.likely, why))
    return asked


def _edge(columns: Columns, one: Stretch, begins: bool, bound: int) -> _Edge | None:
    at = 0 if begins else -1
    frame = int(one.frames[at])
    if frame == bound:
        return None
    place = one.places[at]
    side = max(one.side, 1e-9)
    inside = float(np.clip(_to_border(place + _going(one, begins, columns.rate), columns.size) / side / 0.25, 0.15, 1))
    alone = 0.7 if _beside(columns, one.track, frame, place) else 1.0
    guessed = int(np.argmax(one.seen if begins else one.seen[::-1])) if one.seen.any() else len(one.seen)
    covered = 0.5 if guessed >= 0.15 * columns.rate else 1.0
    soon = 1.25 if abs(frame - bound) < 1.5 * columns.rate else 1.0
    likely = 0.8 * one.likeness * inside * alone * covered * soon * _size(side)
    return _Edge(one, frame, begins, place, min(likely, 1.0))


def _going(one: Stretch, begins: bool, rate: float) -> Floats:
    """How far, in pixels, (4,), a face goes on in 0.3 s beyond an end, or came in 0.3 s before a start."""
    few = max(2, min(len(one.places), round(0.3 * rate)))
    row = _centres(one.places[:few] if begins else one.places[::-1][:few])
    shift = (row[0] - row[-1]) / max(len(row) - 1, 1) * 0.3 * rate
    return np.concatenate([shift, shift])


def _size(side: float) -> float:
    return 0.4 + 0.6 * float(np.clip(side / 40, 0, 1))


def _gaps(columns: Columns, edges: Sequence[_Edge]) -> tuple[list[Question], set[int]]:
    """Ends and starts that may be one face's, with nothing between; the ids of the edges that this explains."""
    asked: list[Question] = []
    explained: set[int] = set()
    begins = sorted((edge for edge in edges if edge.begins), key=lambda edge: edge.frame)
    for end in sorted((edge for edge in edges if not edge.begins), key=lambda edge: edge.frame):
        best, nearest = None, np.inf
        for start in begins:
            away = _apart(columns, end, start)
            if id(start) not in explained and away < nearest:
                best, nearest = start, away
        if best is None:
            continue
        explained |= {id(end), id(best)}
        if best.frame <= end.frame + 1:
            continue  # handed over
        same = best.stretch.track == end.stretch.track
        like = min(best.stretch.likeness, end.stretch.likeness)
        missing = best.frame - end.frame - 1
        one = end.stretch
        severity = (0.3 + 0.7 * like if same else 0.2 + 0.7 * like) * _size(one.side)
        why = f"Track {one.track} is not covered for {missing} frames, then a face is found near there again."
        place = _around(np.array([end.place, best.place]))
        asked.append(
            Question("gap", "missed", end.frame + 1, best.frame - 1, one.track, one.person, place, severity, why)
        )
    return asked, explained


def _apart(columns: Columns, end: _Edge, start: _Edge) -> float:
    """How far a start is from an end, in what a face can go, up to 1; infinite for another face's."""
    between = start.frame - end.frame
    if columns.scene[start.frame] != columns.scene[end.frame] or start.stretch is end.stretch:
        return np.inf
    same = start.stretch.track == end.stretch.track
    if same:
        return 0.0 if between > 0 else np.inf
    seconds = between / columns.rate
    if not -0.5 <= seconds <= 3:
        return np.inf
    a, b = end.stretch.side, start.stretch.side
    if not 0.5 <= a / max(b, 1e-9) <= 2:
        return np.inf
    away = float(np.hypot(*(_centre(end.place) - _centre(start.place)))) / max(a, 1e-9)
    away /= 0.5 + 2.0 * max(seconds, 0)
    return away if away <= 1 else np.inf


def about_stretches(columns: Columns, found: Sequence[Stretch]) -> list[Question]:
    """Redactions that look like no face, short ones, guessed places, faces without landmarks, small ones."""
    asked = []
    picture = float(columns.size[0] * columns.size[1])
    for one in found:
        like = one.likeness
        landmarks = float((one.presence[one.seen] >= 0.5).mean()) if one.seen.any() else 0.0
        box = _around(one.boxes)
        still = float(np.hypot(*np.ptp(_centres(one.places), axis=0))) / max(one.side, 1e-9) < 0.3
        large = float(np.clip(np.median(np.prod(one.boxes[:, 2:] - one.boxes[:, :2], axis=1)) / picture / 0.1, 0, 1))
        long = min(len(one.frames) / columns.rate / 0.5, 1.0) ** 0.5
        severity = 0.5 * (1 - like) * (1.1 if still else 1.0) * (0.75 + 0.25 * large) * long * _size(one.side)
        if len(one.frames) < 0.5 * columns.rate and one.seen.sum() < 5:
            kind, why = "short track", f"Track {one.track} is short: is it a face, and was it one before and after?"
        elif not one.seen.any() or one.seen.mean() < 0.4:
            kind, why = "guessed place", f"Track {one.track} was seen in few frames; its place is guessed in the others."
        elif landmarks < 0.5:
            kind, why = "no landmarks", f"Track {one.track} was seen without the points of a face: is it one?"
        elif one.side < 24:
            kind, why = "small face", f"Track {one.track} is small."
        else:
            kind, why = "weak evidence", f"Track {one.track} is hardly like a face: is it one?"
        asked.append(
            Question(kind, "false", one.first, one.last, one.track, one.person, box, min(severity, 1.0), why)
        )
        asked += _guesses(columns, one)
    return asked


def _guesses(columns: Columns, one: Stretch) -> Iterator[Question]:
    """Stretches between two sightings whose place is guessed."""
    seen = np.flatnonzero(one.seen)
    for a, b in zip(seen[:-1], seen[1:], strict=True):
        if b - a <= max(3.0, 0.2 * columns.rate):
            continue
        seconds = float(b - a) / columns.rate
        severity = 0.5 * one.likeness * min(seconds / 1.5, 1.0)
        place = _around(one.boxes[a : b + 1])
        why = f"Track {one.track} was not seen for {b - a - 1} frames: does the cover follow the face?"
        yield Question(
            "guessed place", "missed", int(one.frames[a]) + 1, int(one.frames[b]) - 1, one.track, one.person, place, severity, why
        )


def about_chains(columns: Columns, found: Sequence[Chain]) -> list[Question]:
    """What was found again and again and is covered by nothing."""
    asked = []
    for one in found:
        better = np.sort(one.evidence)[len(one.evidence) // 2 :].mean()
        sure = float(np.clip((better - 0.3) / 0.35, 0, 1))
        if (one.presence >= 0.5).mean() >= 0.5:
            sure = min(1.0, sure + 0.1)
        often = float(np.clip(len(one.frames) / 12, 0, 1)) ** 0.5
        moves = max(_walks(one), float(np.clip((better - 0.55) / 0.15, 0, 1)))
        part = 0.2 if _part_of_another(columns, one) else 1.0
        often = max(often, float(np.clip((one.evidence.max() - 0.5) / 0.25, 0, 1)))
        severity = (0.4 + 0.5 * sure) * often * (0.2 + 0.8 * moves) * part * _size(one.side)
        why = f"Something like a face was found {len(one.frames)} times here and is not covered."
        asked.append(
            Question("not covered", "missed", one.first, one.last, 0, 0, _around(one.boxes), float(min(severity, 1.0)), why)
        )
    return asked


def _walks(one: Chain) -> float:
    """How much a chain goes like a face: steadily in one direction, in one size; 0 to 1."""
    if len(one.frames) < 3:
        return 0.0
    time = one.frames - one.frames.mean()
    centre = _centres(one.boxes) - _centres(one.boxes).mean(axis=0)
    line = np.outer(time, (time[:, None] * centre).sum(axis=0) / max(float((time * time).sum()), 1e-9))
    steady = 1 - float(((centre - line) ** 2).sum()) / max(float((centre**2).sum()), 1e-9)
    far = float(np.hypot(*np.ptp(line, axis=0))) / max(one.side, 1e-9)
    spread = float(np.ptp(np.log(np.maximum(sides(one.boxes), 1e-9))))
    return float(np.clip(far * steady / 1.3, 0, 1) * np.clip(1.5 - spread / 0.6, 0, 1))


def about_persons(columns: Columns, found: Sequence[Stretch]) -> list[Question]:
    """Changes of person, persons never confirmed, and persons found again."""
    asked = []
    by_person: dict[int, list[Stretch]] = {}
    for one in found:
        known = one.persons[one.persons > 0]
        for person in np.unique(known).tolist():
            by_person.setdefault(person, []).append(one)
        changes = np.flatnonzero(np.diff(known) != 0)
        if len(changes):
            rows = np.flatnonzero(one.persons > 0)
            at = rows[changes[0] + 1]
            frame = int(one.frames[at])
            why = f"Track {one.track} changes from person {known[changes[0]]} to person {known[changes[0] + 1]}."
            asked.append(
                Question("change of person", "person", frame, frame, one.track, int(one.persons[at]), _box(one.places[at]), 0.3, why)
            )
        unknown = float((one.persons == 0).mean())
        if unknown > 0.2:
            seconds = float((one.persons == 0).sum()) / columns.rate
            severity = 0.3 * one.likeness * unknown * min(seconds / 2, 1.0) ** 0.5
            why = f"Track {one.track} is nobody's in {int((one.persons == 0).sum())} of {len(one.persons)} frames."
            asked.append(
                Question("never confirmed", "person", one.first, one.last, one.track, one.person, _around(one.places), severity, why)
            )
    frames = max(len(columns.scene), 1)
    for person, theirs in by_person.items():
        theirs.sort(key=lambda one: one.first)
        tracks = {one.track for one in theirs}
        rows = sum(int((one.persons == person).sum()) for one in theirs)
        most = max(theirs, key=lambda one: int((one.persons == person).sum()))
        severity = 0.1 + 0.1 * min(rows / frames, 1.0) + (0.15 if len(tracks) > 1 else 0.0)
        why = f"Person {person} is shown in {rows} frames, in {len(tracks)} tracks: is it one and the same?"
        at = int(np.argmax(most.persons == person))
        asked.append(
            Question("person", "persons", int(most.frames[at]), most.last, most.track, person, _box(most.places[at]), severity, why)
        )
    return asked


def _part_of_another(columns: Columns, one: Chain) -> bool:
    """Whether it lies mostly in the surroundings of a larger face that is covered: a part of it, or its shadow."""
    rows = columns.covered
    hits = 0
    for frame, box in zip(one.frames.tolist(), one.boxes, strict=True):
        low, high = np.searchsorted(rows.frame, [frame, frame + 1])
        places = rows.place[low:high]
        if not len(places):
            continue
        side = sides(places)
        centre = _centre(box)
        grown = 0.3 * side[:, None]
        within = ((places[:, :2] - grown <= centre) & (centre <= places[:, 2:] + grown)).all(axis=1)
        hits += bool((within & (sides(box[None])[0] < 0.6 * side)).any())
    return hits > len(one.frames) / 2


def _beside(columns: Columns, track: int, frame: int, place: Floats) -> bool:
    """Whether another redaction is within half a side in the frame."""
    rows = columns.covered
    low, high = np.searchsorted(rows.frame, [frame, frame + 1])
    others = rows.place[low:high][rows.track[low:high] != track]
    if not len(others):
        return False
    reach = 0.25 * min(place[2] - place[0], place[3] - place[1])
    return bool(((others[:, :2] <= place[2:] + reach) & (others[:, 2:] >= place[:2] - reach)).all(axis=1).any())


def _scene_bounds(columns: Columns) -> tuple[Floats, Floats]:
    """By frame: first and last frame of its scene."""
    scene = columns.scene
    firsts = np.flatnonzero(np.append(True, np.diff(scene) != 0)) if len(scene) else np.empty(0, np.int64)
    lasts = np.append(firsts[1:] - 1, len(scene) - 1)
    which = np.searchsorted(firsts, np.arange(len(scene)), side="right") - 1
    return firsts[which], lasts[which]


def _to_border(place: Floats, size: tuple[int, int]) -> float:
    return float(max(0.0, min(place[0], place[1], size[0] - place[2], size[1] - place[3])))


def _centre(box: Floats) -> Floats:
    return (box[:2] + box[2:]) / 2


def _centres(boxes: Floats) -> Floats:
    return (boxes[:, :2] + boxes[:, 2:]) / 2


def _around(boxes: Floats) -> Box:
    return _box(np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)]))


def _box(box: Floats) -> Box:
    x0, y0, x1, y1 = (float(value) for value in box)
    return x0, y0, x1, y1
