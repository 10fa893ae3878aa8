"""The whitelist's rule on clips, for `benchmarks/people/whitelist.py`: who is shown with whose picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Vectors
from streamdeid.identity.recognised_faces import Recogniser, unfit, vector_of
from streamdeid.protect.whitelist import AROUND, Recognition
from streamdeid.runs.parts import default_detector
from streamdeid.runs.whitelist import LEAST_WIDTH
from streamdeid.settings import Settings
from streamdeid.tracking.tracker import FaceTracker
from streamdeid.video.files.source import FileSource

_LONGEST = 300
"""Frames of a clip that are looked at."""
_LONG = 50
"""Frames in which a person of a clip must be good enough to be put on the whitelist."""


@dataclass(frozen=True)
class Seen:
    """A face in one frame of a clip; vectors is empty where it cannot be recognised."""

    clip: str
    track: int
    index: int
    time: Fraction
    wide: bool
    vectors: dict[str, Vectors]


def distances(one: Sequence[Vectors], other: Sequence[Vectors]) -> Vectors:
    """Euclidean, (n, m)."""
    a, b = np.array(one), np.array(other)
    if not len(a) or not len(b):
        return np.zeros((len(a), 0))
    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.sqrt(np.maximum(squares, 0)), np.float64)


def watched(path: Path, model: AppearanceModel, known: dict[str, Recogniser]) -> list[Seen]:
    """Every face of every frame of a clip."""
    detect, tracker, found = default_detector(Settings()), FaceTracker(), []
    for frame in FileSource(path):
        if frame.index >= _LONGEST:
            break
        for track in tracker.update(detect(frame), frame.time):
            vectors = {}
            if track.face is not None and not track.ambiguous and unfit(track.face, model) is None:
                vectors = {n: vector_of(frame.planes, track.face, model, r.describe) for n, r in known.items()}
            wide = bool(vectors) and track.face is not None and unfit(track.face, model, LEAST_WIDTH) is None
            kept = {name: vector for name, vector in vectors.items() if vector is not None}
            found.append(Seen(path.name, track.number, frame.index, frame.time, wide, kept))
    detect.close()
    return found


def shown(faces: list[Seen], vectors: Sequence[Vectors], name: str, recogniser: Recogniser) -> list[int]:
    """In how many frames the rule leaves one track unfiltered, for each vector when nobody else is known."""
    seen = [row for row, face in enumerate(faces) if name in face.vectors]
    apart = np.full((len(faces), len(vectors)), np.nan)
    if seen:
        apart[seen] = distances([faces[row].vectors[name] for row in seen], vectors)
    found = []
    for column in apart.T:
        # Whoever was never near enough cannot be shown.
        row, certain = Recognition(recogniser), {}
        for face, distance in zip(faces, column, strict=True) if (column <= recogniser.accept).any() else ():
            row.add(None if np.isnan(distance) else np.array([distance]), face.time)
            certain[face.index] = row.certain(face.time)
        around = range(-AROUND, AROUND + 1)
        found.append(sum(all(certain.get(i + step, True) for step in around) for i, sure in certain.items() if sure))
    return found


def videos_table(
    clips: list[list[Seen]], strangers: dict[str, list[Vectors]], known: dict[str, Recogniser]
) -> list[list[object]]:
    """The rule on clips: own people shown, strangers shown. strangers: vectors of pictures, by recogniser."""
    tracks: dict[tuple[str, int], list[Seen]] = {}
    for each in (seen for clip in clips for seen in clip):
        tracks.setdefault((each.clip, each.track), []).append(each)
    rows: list[list[object]] = []
    for name, recogniser in known.items():
        chosen: dict[tuple[str, int], list[Vectors]] = {}
        for place, faces in tracks.items():
            good = [seen.vectors[name] for seen in faces if seen.wide and name in seen.vectors]
            # The first of a clip's people who is seen long enough: others in it may be the same one, back again.
            if len(good) >= _LONG and place[0] not in {clip for clip, _ in chosen}:
                chosen[place] = [good[len(good) // 4], good[3 * len(good) // 4]]
        wrong = frames = trials = 0
        for (name_of_clip, _), faces in tracks.items():
            vectors = [vector for (other, _), two in chosen.items() if other != name_of_clip for vector in two]
            vectors += strangers[name]
            wrong += sum(shown(faces, vectors, name, recogniser))
            frames, trials = frames + len(faces), trials + len(vectors)
        for place, two in chosen.items():
            shares = [count / len(tracks[place]) for count in shown(tracks[place], two, name, recogniser)]
            rows.append([name, place[0], len(tracks[place]), *shares, ""])
        rows.append([name, f"strangers: {trials} pairs of picture and track", frames, "", "", wrong])
    return rows
