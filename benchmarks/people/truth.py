"""Who is where in a clip: an independent detector's boxes with a true person each (for `people`).

NAME.faces.csv beside the clip has the boxes (frame, x0, y0, x1, y1, score). Who they are is said by one of:
NAME.people.csv beside the clip with frame, person, x, y, width of each head (composed clips; the higher number is in
front) or with frame, person (one head: the largest box); labels/NAME.csv with frame, person, x0, y0, x1, y1
(checked by eye; a row without a box is a face that the detector missed); labels/one_person.csv with the clips
that show one person throughout. Person 0 is a face that nobody could name, -1 is no face. A clip without any of these
has faces that nobody named.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamdeid.core.arrays import Box as Corners
from streamdeid.lab.attacks.gaps import LEAST_SCORE, Box, read_all_boxes
from streamdeid.tracking.association import assign, iou

LABELS = Path(__file__).parent / "labels"
NOBODY, NO_FACE = 0, -1
_SAME = 0.3
"""Intersection over union from which two boxes, of two sampled frames or of two tables, are one face."""
_HALF_HEAD = 0.41, 0.57
"""Half width and half height of a face's box, share of a composed head's width (measured on the boxes of its clip)."""
_HIDDEN = 0.6
"""Distance, share of its width, from which a composed head's face shows beside the head in front of it: the front one
is an oval of 0.9 widths to each side, a face reaches 0.4 to each side."""


@dataclass(frozen=True)
class Seen:
    """A face at its place."""

    corners: Corners
    person: int
    """True person from 1; 0: nobody could name it."""

    @property
    def side(self) -> float:
        """The shorter side in pixels."""
        return min(self.corners[2] - self.corners[0], self.corners[3] - self.corners[1])


@dataclass(frozen=True)
class Truth:
    """What is known of a clip."""

    first: int
    step: int
    """The detector looked at the frames first, first + step, ..."""
    faces: Mapping[int, Sequence[Seen]]
    """The detector's faces of score 0.5 and up and those that it missed, by frame."""
    excuses: Mapping[int, Sequence[Corners]]
    """Its boxes of any score except those known to be no face: a redaction that touches one covers something."""
    places: Mapping[int, Sequence[Seen]]
    """Faces in every frame for which that is known, also between those that the detector looked at."""
    persons: int | None
    """True persons; None where nobody was named."""

    def looked_at(self, index: int) -> bool:
        """Whether the detector looked at a frame."""
        return index % self.step == self.first % self.step


def read_truth(video: Path, labels: Path = LABELS) -> Truth:
    """The truth of a clip. Raises OSError without a table of faces, ValueError and KeyError for a bad table."""
    boxes: dict[int, list[Box]] = defaultdict(list)
    for box in read_all_boxes(video.with_name(f"{video.stem}.faces.csv")):
        boxes[box.frame].append(box)
    first = min(boxes, default=0)
    step = math.gcd(*(frame - first for frame in boxes)) or 1
    sure = {index: [box for box in here if box.score >= LEAST_SCORE] for index, here in boxes.items()}
    people = video.with_name(f"{video.stem}.people.csv")
    rows = _rows(people) if people.is_file() else []
    between = None
    if rows and "width" in rows[0]:
        named, between = _composed(sure, rows)
    elif rows:
        named, between = _alone_in_turn(sure, {int(row["frame"]): int(row["person"]) for row in rows})
    elif (labels / f"{video.stem}.csv").is_file():
        named = _labelled(sure, _rows(labels / f"{video.stem}.csv"))
    elif video.stem in {row["clip"] for row in _rows(labels / "one_person.csv")}:
        named = {index: [Seen(box.corners, 1) for box in here] for index, here in sure.items()}
    else:
        named = {index: [Seen(box.corners, NOBODY) for box in here] for index, here in sure.items()}
    faces = {index: [one for one in here if one.person != NO_FACE] for index, here in named.items()}
    wrong = {(index, one.corners) for index, here in named.items() for one in here if one.person == NO_FACE}
    excuses = {index: [one.corners for one in here] for index, here in faces.items()}
    for index, here in boxes.items():
        more = [box.corners for box in here if box.score < LEAST_SCORE and (index, box.corners) not in wrong]
        excuses[index] = [*excuses.get(index, []), *more]
    unknown = [index for index in faces if index % step != first % step]
    if unknown:
        raise ValueError(f"{video.stem}: labels for frame {min(unknown)}, at which the detector did not look")
    persons = {one.person for here in faces.values() for one in here} - {NOBODY}
    places = _between(faces, step) if between is None else between
    return Truth(first, step, faces, excuses, places, len(persons) or None)


def matched(places: Sequence[Corners], others: Sequence[Corners], least: float = 0.1) -> dict[int, int]:
    """Which of the others lies on which place: one-to-one, the largest sum of overlaps (intersection over union).

    A pair overlaps by `least` at least, and the middle of the place lies in the other one, which may be much larger.
    """
    if not places or not others:
        return {}
    a, b = np.asarray(places, np.float64)[:, None], np.asarray(others, np.float64)[None]
    overlap = iou(a, b)
    x, y = (a[..., 0] + a[..., 2]) / 2, (a[..., 1] + a[..., 3]) / 2
    inside = (b[..., 0] <= x) & (x <= b[..., 2]) & (b[..., 1] <= y) & (y <= b[..., 3])
    pairs = assign(np.where((overlap >= least) & inside, 1 - overlap, np.inf))
    return {int(place): int(other) for place, other in pairs}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _labelled(boxes: Mapping[int, Sequence[Box]], rows: Sequence[Mapping[str, str]]) -> dict[int, list[Seen]]:
    """Boxes with the persons of a table of labels. A box that it does not have is nobody's; a label without a box is a
    face that the detector missed."""
    labels: dict[int, list[Seen]] = defaultdict(list)
    for row in rows:
        x0, y0, x1, y1 = (float(row[key]) for key in ("x0", "y0", "x1", "y1"))
        labels[int(row["frame"])].append(Seen((x0, y0, x1, y1), int(row["person"])))
    named = {}
    for index in sorted(boxes.keys() | labels.keys()):
        found, told = [box.corners for box in boxes.get(index, [])], labels.get(index, [])
        pairs = matched(found, [one.corners for one in told], least=_SAME)
        persons = {row: told[label].person for row, label in pairs.items()}
        named[index] = [Seen(box, persons.get(row, NOBODY)) for row, box in enumerate(found)]
        named[index] += [one for label, one in enumerate(told) if label not in pairs.values()]
    return named


def _composed(
    boxes: Mapping[int, Sequence[Box]], rows: Sequence[Mapping[str, str]]
) -> tuple[dict[int, list[Seen]], dict[int, list[Seen]]]:
    """Boxes with the composed heads' persons, and the visible heads of every frame."""
    heads: dict[int, list[tuple[int, float, float, float]]] = defaultdict(list)
    for row in rows:
        heads[int(row["frame"])].append((int(row["person"]), float(row["x"]), float(row["y"]), float(row["width"])))
    places: dict[int, list[Seen]] = {}
    for index, here in heads.items():
        places[index] = [
            Seen((x - _HALF_HEAD[0] * w, y - _HALF_HEAD[1] * w, x + _HALF_HEAD[0] * w, y + _HALF_HEAD[1] * w), person)
            for person, x, y, w in here
            if all(front <= person or math.hypot(x - u, y - v) >= _HIDDEN * w for front, u, v, _ in here)
        ]
    named = {}
    for index, found in boxes.items():
        pairs = matched([box.corners for box in found], [one.corners for one in places.get(index, [])], least=_SAME)
        persons = {row: places[index][head].person for row, head in pairs.items()}
        named[index] = [Seen(box.corners, persons.get(row, NOBODY)) for row, box in enumerate(found)]
    return named, places


def _alone_in_turn(
    boxes: Mapping[int, Sequence[Box]], person: Mapping[int, int]
) -> tuple[dict[int, list[Seen]], dict[int, list[Seen]]]:
    """The largest box of a frame with its one person; in between the nearest box of the same shot stands for it."""
    named: dict[int, list[Seen]] = {}
    largest: dict[int, Corners] = {}
    for index, here in boxes.items():
        order = sorted(here, key=lambda box: -box.side)
        named[index] = [Seen(box.corners, NOBODY if row else person[index]) for row, box in enumerate(order)]
        if order:
            largest[index] = order[0].corners
    shot, shots = 0, {}
    for index in sorted(person):
        shot += index - 1 not in person or person[index - 1] != person[index]
        shots[index] = shot
    places = {}
    for index in person:
        near = [(abs(other - index), other) for other in largest if shots.get(other) == shots[index]]
        places[index] = [Seen(largest[min(near)[1]], person[index])] if near else []
    return named, places


def _between(faces: Mapping[int, Sequence[Seen]], step: int) -> dict[int, list[Seen]]:
    """The faces, and in the frames between two that were looked at those of one person that lie at one place there."""
    places = {index: list(here) for index, here in faces.items()}
    for index, here in faces.items():
        following = faces.get(index + step, [])
        pairs = matched([one.corners for one in here], [one.corners for one in following], least=_SAME)
        for row, other in pairs.items():
            if here[row].person != following[other].person:
                continue
            ends = np.array([here[row].corners, following[other].corners])
            for more in range(1, step):
                x0, y0, x1, y1 = (float(value) for value in ends[0] + (ends[1] - ends[0]) * more / step)
                places.setdefault(index + more, []).append(Seen((x0, y0, x1, y1), here[row].person))
    return places
