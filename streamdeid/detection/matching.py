"""Matches the detector's candidates to known places, and finds places that show the same face."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Face
from streamdeid.core.heads import seconds
from streamdeid.detection.candidates import SAME_FACE, Candidate, middle_in, overlap
from streamdeid.detection.landmarks import face_of
from streamdeid.detection.places import Place
from streamdeid.detection.region import LandmarkRegion

SURE = 0.5
"""Evidence from which a place surely is a face, and candidates inside it are its parts (nose and mouth look like a face
in a fine tile)."""
_FORGOTTEN = 50
"""Frames without a sighting after which a place is forgotten."""
_SAME_PLACE = 0.25
"""IoU from which a candidate is the face that was in a place in the last frames."""


def remembered(places: Iterable[Place]) -> list[Place]:
    """The places that are kept for the next frame."""
    return [place for place in places if place.missed <= _FORGOTTEN]


def faces_of(places: Iterable[Place], size: tuple[int, int]) -> list[Face]:
    """The faces that are seen and reported in a picture of a size (width, height), pixels."""
    told = [_face_at(place) for place in places if place.missed == 0 and place.possible and not place.second]
    return [face for face in told if inside(face.box, size)]


def _face_at(place: Place) -> Face:
    mesh, presence = place.mesh or (None, 0.0)
    points = None if place.trusted else place.keypoints
    return replace(
        face_of(place.box, place.score, place.believed, mesh, presence), keypoints=points, surveyed=place.surveyed
    )


def inside(box: Box, size: tuple[int, int]) -> bool:
    """Whether a box touches a picture of a size, pixels; the landmarks of a person who walks out leave the picture."""
    return box[2] > 0 and box[3] > 0 and box[0] < size[0] and box[1] < size[1]


def place_at(places: Sequence[Place], box: Box) -> Place | None:
    """The known place where a box (pixels) lies; None where there is none."""
    shared = overlap(np.array([box]), np.array([place.box for place in places]).reshape(-1, 4))[0]
    return places[int(shared.argmax())] if shared.max(initial=0.0) >= SAME_FACE else None


def matched(places: Sequence[Place], candidates: Sequence[Candidate]) -> dict[int, int]:
    """Which candidate belongs to which place: rows of `places` by rows of `candidates`, the best overlap first.

    A candidate of a turned picture belongs only to a place where a head lies so. A candidate whose middle is in one
    place's mesh belongs to no other place with a mesh. Boxes are up to twice as large as faces: where two people stood
    close, each place got the other's box, and in the end one got a redaction over both heads."""
    if not places or not candidates:
        return {}
    boxes = np.array([one.box for one in candidates])
    shared = overlap(boxes, np.array([place.raw for place in places]))
    fits = np.array([[one.turn in (0, place.turn) for place in places] for one in candidates])
    shared[~fits | _in_others(boxes, fits, places)] = 0
    found: dict[int, int] = {}
    taken: set[int] = set()
    for row, column in zip(*np.unravel_index(np.argsort(-shared, axis=None), shared.shape), strict=True):
        if shared[row, column] < _SAME_PLACE:
            break
        if int(row) not in found and int(column) not in taken:
            found[int(row)] = int(column)
            taken.add(int(column))
    return found


def _in_others(boxes: Points, fits: NDArray[np.bool_], places: Sequence[Place]) -> NDArray[np.bool_]:
    """Where the middle of one of n boxes (n, 4) is in another place's mesh but not in this place's, as (n, m) for m
    places. fits (n, m): which box could belong to which place."""
    meshes = [np.full((2, 2), np.nan) if place.outline is None else place.outline for place in places]
    low, high = (np.array([mesh[end] for mesh in meshes]) for end in (0, 1))
    middle = (boxes[:, None, :2] + boxes[:, None, 2:]) / 2
    held = ((middle >= low) & (middle <= high)).all(axis=2) & fits
    return np.asarray(~held & np.any(held, axis=1, keepdims=True) & np.isfinite(low[:, 0]), np.bool_)


def without_twins(places: Sequence[Place]) -> list[Place]:
    """The places, with one place for each face onto which the landmarks of several places were followed.

    The place whose box lies on the face is kept, or else the place that is seen better. A place whose landmarks came to
    the face from elsewhere has a box that is not the face's."""
    kept: list[Place] = []
    for place in sorted(places, key=lambda one: (one.region is None, _astray(one), -one.evidence, -one.score)):
        if place.region is None or not any(
            other.region is not None and _one(place.region, other.region) for other in kept
        ):
            kept.append(place)
    return kept


def one_to_a_head(places: Sequence[Place]) -> None:
    """Mark places that are a second sighting of a head whose face is known.

    The detector also sees the back of a head in profile. A place whose mesh lies beside its box swaps boxes with a
    second sighting whose box has its middle in the mesh. Otherwise points were asked for behind the head, and none were
    found.
    """
    seen = [place for place in places if place.missed == 0]
    boxes = np.array([place.box for place in seen]).reshape(-1, 4)
    sure = [place.believed + place.trusted for place in seen]
    gone = seconds(boxes, [place.face for place in seen], sure, SURE, [place.turn for place in seen])
    for row, place in enumerate(seen):
        place.second = row in gone
    spare = [place for place in seen if place.second and place.outline is None]
    for place in seen if spare else ():
        outline = place.outline
        if outline is not None and not place.second and _astray(place):
            other = next((one for one in spare if middle_in(one.raw, outline)), None)
            if other is not None:
                own = place.raw
                place.based_on(other.raw)
                other.based_on(own)


def _astray(place: Place) -> bool:
    """Whether the middle of the detector's box lies beside the mesh: one of them is another person's, or a chest's."""
    return place.outline is not None and not middle_in(place.raw, place.outline)


def _one(a: LandmarkRegion, b: LandmarkRegion) -> bool:
    side = min(a.side, b.side)
    apart = math.hypot(a.centre[0] - b.centre[0], a.centre[1] - b.centre[1])
    return apart < 0.15 * side and abs(a.side - b.side) < 0.3 * side
