"""Questions: doubts before they are ranked, and those about redactions, chains and persons.

The weights were set by hand on 21 clips, of which four have true misses, and on clips with seeded errors. Other seeds
confirmed them, but no other clips did (docs/benchmarks.md, `review_doubts`). Two kinds of grounds count: how certain it
is that there is (or is not) a face, and whether anything explains what is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Box
from streamdeid.core.faces import SURE
from streamdeid.review.chains import Chain
from streamdeid.review.columns import Columns
from streamdeid.review.stretches import Stretch, around, centres, corners, sides

WHO = "who"
"""Subject of a question about a person's identity."""
WHERE = "where"
"""Subject of a question about where faces are."""
_LARGE = 40.0
"""Side of a face in pixels from which its size no longer makes a doubt less urgent."""
_SMALL = 24.0
"""Side in pixels below which landmarks are not informative (`protect.levels`)."""
_FALSE = 0.5
"""Severity of a redaction that is certainly not of a face: it hides the picture, but leaves no face unprotected."""
_STILL = 0.3
"""A place that moves less than this, in sides, counts as still: backgrounds do not move."""
_MUCH = 0.1
"""Share of the picture from which a larger redaction counts as no greater nuisance."""
_OFTEN = 12
"""Number of sightings from which more of them do not make a chain more severe."""
_WALKS, _SPREAD = 1.3, 0.6
"""Sides that a chain has to move along a line to count fully as walking, and the spread of its sizes (logarithm of the
ratio) at which that counts half. They were chosen on crowd_1080p and people_from_behind: there six chains of true faces
and of a painted face that the camera approaches move 1.4 to 4.4 sides with a spread of 0.1 to 0.3; backgrounds stay
below 1 side or spread over 0.6."""


@dataclass(frozen=True)
class Question:
    """A doubt before it is named and ranked; the fields are those of `review.doubts.Doubt`, and `subject`."""

    kind: str
    subject: str
    first: int
    last: int
    track: int
    person: int
    box: Box
    severity: float
    why: str


def urgency(side: float) -> float:
    """How urgent a doubt about a face is by the face's side in pixels: 0.4 to 1."""
    return 0.4 + 0.6 * float(np.clip(side / _LARGE, 0, 1))


def about_redactions(columns: Columns, found: Sequence[Stretch]) -> Iterator[Question]:
    """Questions about redactions that do not look like a face, short and small ones, and guessed places."""
    picture = float(columns.size[0] * columns.size[1])
    for one in found:
        moved = float(np.hypot(*np.ptp(centres(one.places), axis=0)))
        still = 1.1 if moved < _STILL * one.side else 1.0
        area = float(np.median(np.prod(one.boxes[:, 2:] - one.boxes[:, :2], axis=1))) / picture
        nuisance = 0.75 + 0.25 * float(np.clip(area / _MUCH, 0, 1))
        long = min(len(one.frames) / columns.rate / 0.5, 1.0) ** 0.5
        severity = _FALSE * (1 - one.likeness) * still * nuisance * long * urgency(one.side)
        kind, why = _weakness(one, columns.rate)
        box = around(one.boxes)
        yield Question(kind, WHERE, one.first, one.last, one.track, one.person, box, min(severity, 1.0), why)
        yield from _guesses(columns, one)


def _weakness(one: Stretch, rate: float) -> tuple[str, str]:
    """Kind of a question about a redaction, and its sentence for the reviewer."""
    if len(one.frames) < 0.5 * rate:
        return "short track", "Covered for a moment only: is it a face, and is it covered before and after?"
    if float(one.seen.mean()) < 0.4:
        return "guessed place", "Seen in few frames and covered where it may be: is it a face, and is it there?"
    if float((one.presence[one.seen] >= SURE).mean()) < 0.5:
        return "no landmarks", "No points of a face were found in what is covered here: is it one?"
    if one.side < _SMALL:
        return "small face", "A face too small to be sure of: is it one, and is it covered throughout?"
    return "weak evidence", "What is covered here is hardly like a face: is it one?"


def _guesses(columns: Columns, one: Stretch) -> Iterator[Question]:
    """Questions about long gaps between two sightings, in which the place is guessed."""
    seen = np.flatnonzero(one.seen)
    long = np.flatnonzero(np.diff(seen) > max(3.0, 0.2 * columns.rate))
    for a, b in zip(seen[long].tolist(), seen[long + 1].tolist(), strict=True):
        severity = 0.5 * one.likeness * min((b - a) / columns.rate / 1.5, 1.0) * urgency(one.side)
        why = f"The face is not seen for {b - a - 1} frames: does its cover follow it?"
        first, last = int(one.frames[a]) + 1, int(one.frames[b]) - 1
        box = around(one.boxes[a : b + 1])
        yield Question("guessed place", WHERE, first, last, one.track, one.person, box, severity, why)


def about_chains(columns: Columns, found: Sequence[Chain]) -> Iterator[Question]:
    """Questions about chains: sightings, one or several, that no redaction covers."""
    for one in found:
        better = float(np.sort(one.evidence)[len(one.evidence) // 2 :].mean())
        sure = float(np.clip((better - 0.3) / 0.35, 0, 1))
        if float((one.presence >= SURE).mean()) >= 0.5:
            sure = min(1.0, sure + 0.1)
        often = float(np.clip(len(one.frames) / _OFTEN, 0, 1)) ** 0.5
        often = max(often, float(np.clip((one.evidence.max() - 0.5) / 0.25, 0, 1)))
        alive = max(_walks(one), float(np.clip((better - 0.55) / 0.15, 0, 1)))
        part = 0.2 if _part_of_another(columns, one) else 1.0
        severity = (0.4 + 0.5 * sure) * often * (0.2 + 0.8 * alive) * part * urgency(one.side)
        times = "once" if len(one.frames) == 1 else f"{len(one.frames)} times"
        why = f"Something like a face was found here {times} and is not covered."
        yield Question("not covered", WHERE, one.first, one.last, 0, 0, around(one.boxes), min(severity, 1.0), why)


def _walks(one: Chain) -> float:
    """How much a chain moves like a face, 0 to 1: steadily in one direction and with a constant size."""
    if len(one.frames) < 3:
        return 0.0
    time = one.frames - one.frames.mean()
    centre = centres(one.boxes) - centres(one.boxes).mean(axis=0)
    line = np.outer(time, (time[:, None] * centre).sum(axis=0) / float((time * time).sum()))
    steady = 1 - float(((centre - line) ** 2).sum()) / max(float((centre**2).sum()), 1e-9)
    far = float(np.hypot(*np.ptp(line, axis=0))) / max(one.side, 1e-9)
    spread = float(np.ptp(np.log(np.maximum(sides(one.boxes), 1e-9))))
    return float(np.clip(far * steady / _WALKS, 0, 1) * np.clip(1.5 - spread / _SPREAD, 0, 1))


def _part_of_another(columns: Columns, one: Chain) -> bool:
    """Whether a chain lies mostly at a larger redacted face, and so is a part of it, such as an eye or an ear."""
    rows, hits = columns.covered, 0
    for frame, box in zip(one.frames.tolist(), one.boxes, strict=True):
        places = rows.place[columns.rows(frame)]
        side = sides(places)
        reach = 0.3 * side[:, None]
        centre = (box[:2] + box[2:]) / 2
        within = ((places[:, :2] - reach <= centre) & (centre <= places[:, 2:] + reach)).all(axis=1)
        hits += bool((within & (sides(box[None]) < 0.6 * side)).any())
    return hits > len(one.frames) / 2


def about_persons(columns: Columns, found: Sequence[Stretch]) -> Iterator[Question]:
    """Questions about changes of person and unconfirmed persons, and one question for each person."""
    by_person: dict[int, list[Stretch]] = {}
    for one in found:
        for person in np.unique(one.persons[one.persons > 0]).tolist():
            by_person.setdefault(person, []).append(one)
        yield from _changes(one)
        nobody = int((one.persons == 0).sum())
        unknown = nobody / len(one.persons)
        if unknown > 0.2 and float((one.presence >= SURE).mean()) >= 0.3:
            severity = 0.3 * one.likeness * unknown * min(nobody / columns.rate / 2, 1.0) ** 0.5
            why = f"Who this is was not confirmed in {nobody} of {len(one.persons)} frames."
            box = around(one.places)
            yield Question("never confirmed", WHO, one.first, one.last, one.track, one.person, box, severity, why)
    for person, theirs in by_person.items():
        yield _person(person, theirs, len(columns.scene))


def _changes(one: Stretch) -> Iterator[Question]:
    rows = np.flatnonzero(one.persons > 0)
    for at in np.flatnonzero(np.diff(one.persons[rows]) != 0).tolist():
        row = int(rows[at + 1])
        before, after, frame = int(one.persons[rows[at]]), int(one.persons[row]), int(one.frames[row])
        why = f"One track is person {before} first and person {after} from here on: are they one, or two?"
        yield Question("change of person", WHO, frame, frame, one.track, after, corners(one.places[row]), 0.3, why)


def _person(person: int, theirs: Sequence[Stretch], frames: int) -> Question:
    shown = [int((one.persons == person).sum()) for one in theirs]
    longest = theirs[int(np.argmax(shown))]
    tracks = len({one.track for one in theirs})
    severity = 0.1 + 0.1 * min(sum(shown) / frames, 1.0) + (0.15 if tracks > 1 else 0.0)
    at = int(np.argmax(longest.persons == person))
    several = f"{tracks} tracks" if tracks > 1 else "one track"
    why = f"Person {person} is in {sum(shown)} frames, in {several}: is it always the same one?"
    first, box = int(longest.frames[at]), corners(longest.places[at])
    return Question("person", WHO, first, longest.last, longest.track, person, box, severity, why)
