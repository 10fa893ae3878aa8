"""Follows faces over frames; fails closed.

Every detection is a track in its own frame, with no delay for confirmation, unless it is a part or a ghost of another
one (`tracking.parts`). A track that the detector lost is still returned until it was lost for `coast` seconds: at its
predicted place, grown by its uncertainty and joined with the place where it was last seen (people stop as often as they
walk on). While it is unclear which track is which person, these tracks are `ambiguous`: they must be protected, and no
person's own face is shown on them.

Place and motion cannot always tell which track is which person after people hid one another. In 480 simulated runs of
five people who cross (30 to 6 frames per second), 17 runs ended a doubt with two numbers exchanged, for good. So a
number stands for one person only between doubts, and `identity.identity_check` finds out anew who it is after each
doubt. A doubt begins where tracks or faces compete, overlap or lie far from each other; only tracks and faces that were
ever surely a face compete. Appearance then tells whether a doubt has a ground, and finds changes that geometry does not
show (`identity.looks`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Flags, Floats
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face, Track
from streamdeid.errors import SettingsError
from streamdeid.tracking import association, kalman
from streamdeid.tracking.association import Shapes
from streamdeid.tracking.parts import without_parts

_NO_LANDMARKS = np.full((68, 2), np.nan)
_FARTHEST = 1e6
"""Coordinates are clipped to this many pixels either side of 0: areas stay finite, and no frame is larger."""
LONGEST_STEP = Fraction(1)
"""A face seen in the last frame is looked for if that was at most so many seconds ago, however short the coast is."""
_SIZE_KEPT = Fraction(1, 2)
"""Seconds for which the size of a face is kept: a person who turns and walks away is smaller when seen again."""
_MOST_COASTING = 1000
"""More lost tracks than this come from a faulty detector or a stopped clock; those lost longest are ended first."""


@dataclass(frozen=True)
class _Seen:
    """One detection of this frame, with its duplicates joined to it."""

    face: Face
    box: Floats
    landmarks: Floats
    ambiguous: bool


@dataclass(frozen=True)
class _Followed:
    """The tracker's record of a track, apart from its motion."""

    number: int
    seen: Fraction
    """The tracker's clock when the face was last detected."""
    missed: int
    doubt: int
    """Frames for which the doubt still lasts, this one included."""
    box: Floats
    """Last detected box, (4,)."""
    landmarks: Floats
    """Last landmarks, (68, 2), nan when there were none."""
    size: tuple[float, Fraction]
    """Last known size of the face itself, pixels, nan if it was never known; and the tracker's clock then."""
    confirmed: bool
    """Whether it was ever surely a face: only then can other faces be taken for it."""
    anchor: Floats
    """Filtered box when `landmarks` were seen, (4,): the landmarks move along with the box from there."""


class FaceTracker:
    """Follows the faces of one stream; see the module. Track numbers start at 1 and are never reused.

    coast: seconds for which a lost track is still returned and may be found again; give at least three frame
    intervals. In the first frame without its face a track is returned however short the coast is, unless it has expired
    and a detection overlaps it. No track is carried over a gap between frames that is longer than both `coast` and a
    second: a face seen after the gap is a new track.
    hold: frames for which a track stays ambiguous after the doubt is gone.
    size: width and height of the frames in pixels, when known: boxes wholly outside are then rejected.
    Raises SettingsError for values out of range.
    """

    def __init__(self, *, coast: float = 1.0, hold: int = 5, size: tuple[int, int] | None = None) -> None:
        if not math.isfinite(coast) or coast < 0 or hold < 0:
            raise SettingsError(f"tracking needs coast >= 0 seconds and hold >= 0 frames, not {coast} and {hold}")
        self._coast = Fraction(coast)
        self._hold = hold
        self._size = size
        self._next = 1
        self._clock = Fraction(0)
        self._time: Fraction | None = None
        self._motion = kalman.nothing()
        self._followed: list[_Followed] = []
        self._rejected = 0

    @property
    def rejected(self) -> int:
        """Detections of the last frame whose box was unusable: not finite, without area, or outside the frame.

        They are not protected. A caller that cannot explain them should withhold the frame.
        """
        return self._rejected

    def update(self, faces: Sequence[Face], time: Fraction) -> list[Track]:
        """The tracks of the frame at `time` (seconds), by number; each box contains the box of its face.

        Times may repeat or step back: such a step counts as 0 seconds.
        """
        step = Fraction(0) if self._time is None else max(Fraction(0), time - self._time)
        self._time = time
        self._clock += step
        seen = self._accept(faces)
        # Beyond the coast a prediction means nothing, and its variance would only grow towards overflow.
        self._motion = kalman.predict(self._motion, float(min(step, max(self._coast, LONGEST_STEP))))
        found = self._follow(seen)
        self._forget(seen)
        shown = self._shown()
        self._mark_doubts(shown)
        near = self._near(shown)
        tracks = [
            Track(
                number=one.number,
                box=(float(box[0]), float(box[1]), float(box[2]), float(box[3])),
                face=seen[found[one.number]].face if one.number in found else None,
                missed=one.missed,
                ambiguous=one.doubt > 0,
                near=bool(close),
            )
            for one, box, close in zip(self._followed, shown, near, strict=True)
        ]
        return sorted(tracks, key=lambda track: track.number)

    def cut(self) -> None:
        """End every track, because the scene changed: the next frame starts anew."""
        self._keep([])

    def moved(self, motion: CameraMotion) -> None:
        """Move all tracks along, because the camera moved before the next frame."""
        self._motion = kalman.moved(self._motion, motion)
        self._followed = [
            replace(
                one,
                box=motion.boxes(one.box[None])[0],
                landmarks=motion(one.landmarks),
                anchor=motion.boxes(one.anchor[None])[0],
            )
            for one in self._followed
        ]

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _accept(self, faces: Sequence[Face]) -> list[_Seen]:
        """The usable detections, with duplicates joined into the best of them, whose box then contains them all."""
        kept: list[tuple[Face, Floats]] = []
        for face in faces:
            box = _usable(face.box, self._size)
            if box is not None:
                kept.append((face, box))
        self._rejected = len(faces) - len(kept)
        if len(kept) > 1:
            kept = [kept[row] for row in without_parts([face for face, _ in kept], _rows(box for _, box in kept))]
        shapes = Shapes(_rows((box for _, box in kept)), _points(_landmarks(face) for face, _ in kept))
        marked = ~np.isnan(shapes.landmarks[:, 0, 0])
        scores = np.array([[face.presence, face.score] for face, _ in kept]).reshape(-1, 2)
        quality = np.nan_to_num(scores, nan=0, posinf=0, neginf=0) @ [1.0, 0.1] + 10 * marked
        seen = []
        for group in association.duplicates(shapes, quality):
            boxes = shapes.boxes[group]
            if len(group) == 1:
                seen.append(_Seen(kept[group[0]][0], boxes[0], shapes.landmarks[group[0]], ambiguous=False))
                continue
            whole = np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
            # Joined by boxes alone, and not nearly equal: perhaps two people, so neither may show an own face.
            unsure = ~marked[group] | ~marked[group[0]]
            ambiguous = bool((unsure & (association.iou(boxes[0], boxes) < 0.7)).any())
            best = kept[group[0]][0]
            together = [kept[row][0] for row in group]
            sure = max((face.evidence for face in together if math.isfinite(face.evidence)), default=best.evidence)
            score = max((face.score for face in together if math.isfinite(face.score)), default=best.score)
            if (sure, score) != (best.evidence, best.score):
                best = replace(best, evidence=sure, score=score)
            seen.append(_Seen(best, whole, shapes.landmarks[group[0]], ambiguous))
        return seen

    def _follow(self, seen: list[_Seen]) -> dict[int, int]:
        """Match, correct and start tracks; return, by track number, the row in `seen` of each detected track."""
        sizes = np.array([_size(one.face) for one in seen])
        faces = Shapes(_rows(one.box for one in seen), _points(one.landmarks for one in seen), sizes)
        longest = [self._coast if one.missed else max(self._coast, LONGEST_STEP) for one in self._followed]
        fresh = [self._clock - one.seen <= limit for one, limit in zip(self._followed, longest, strict=True)]
        rows = np.flatnonzero(fresh)
        predicted = self._motion.take(rows)
        boxes = kalman.boxes_of(predicted)
        known = np.array([self._known_size(self._followed[row]) for row in rows.tolist()])
        expected = Shapes(boxes, self._moved_landmarks(rows, boxes), known)
        rivals = (
            np.array([self._followed[row].confirmed for row in rows.tolist()], dtype=np.bool_),
            np.array([one.face.confirmed for one in seen], dtype=np.bool_),
        )
        result = association.associate(expected, faces, kalman.spread_of(predicted), *rivals)
        tracks, matched = rows[result.pairs[:, 0]], result.pairs[:, 1]
        self._motion = kalman.correct(self._motion, tracks, faces.boxes[matched])
        unmatched = np.ones(len(seen), dtype=np.bool_)
        unmatched[matched] = False
        started = np.flatnonzero(unmatched)
        self._motion = kalman.join(self._motion, kalman.begin(faces.boxes[started]))
        filtered = kalman.boxes_of(self._motion)

        followed = [replace(one, missed=one.missed + 1, doubt=max(0, one.doubt - 1)) for one in self._followed]
        for row in rows[result.ambiguous_tracks].tolist():
            followed[row] = replace(followed[row], doubt=self._hold + 1)
        found: dict[int, int] = {}
        total = len(followed)
        for row, face in zip([*tracks.tolist(), *range(total, len(self._motion))], [*matched, *started], strict=True):
            one = seen[face]
            old = followed[row] if row < total else None
            doubt = self._hold + 1 if one.ambiguous or result.ambiguous_faces[face] else old.doubt if old else 0
            number = old.number if old else self._number()
            sure = one.face.confirmed or (old is not None and old.confirmed)
            size = old.size if old and math.isnan(sizes[face]) else (float(sizes[face]), self._clock)
            now = _Followed(number, self._clock, 0, doubt, one.box, one.landmarks, size, sure, filtered[row])
            followed[row : row + 1] = [now]  # a started track takes the row just past the end
            found[number] = int(face)
        self._followed = followed
        return found

    def _known_size(self, one: _Followed) -> float:
        """Size of a track's face, pixels; nan where it is not known, or was last known too long ago."""
        size, when = one.size
        return size if self._clock - when <= _SIZE_KEPT else math.nan

    def _forget(self, seen: list[_Seen]) -> None:
        """End the tracks that were lost too long. In the first frame without its face, such a track is ended only if a
        detection of this frame overlaps it."""
        taken = association.overlapping(self._boxes(), _rows(one.box for one in seen))
        kept = []
        for row, one in enumerate(self._followed):
            expired = self._clock - one.seen > self._coast
            if not expired or (one.missed == 1 and not taken[row]):
                kept.append(row)
        lost = sorted((row for row in kept if self._followed[row].missed), key=lambda row: self._followed[row].missed)
        self._keep(sorted(set(kept) - set(lost[_MOST_COASTING:])))

    def _shown(self) -> Floats:
        """The boxes to return, (n, 4): the last detected box, joined with the filtered or, while lost, grown box."""
        lost = np.array([one.missed > 0 for one in self._followed], dtype=np.bool_)
        boxes = np.where(lost[:, None], kalman.grown(self._motion), self._boxes())
        known = _rows(one.box for one in self._followed)
        return np.concatenate([np.minimum(boxes[:, :2], known[:, :2]), np.maximum(boxes[:, 2:], known[:, 2:])], axis=1)

    def _mark_doubts(self, shown: Floats) -> None:
        """Renew the doubt of overlapping sure tracks, and of touching ambiguous tracks of which a sure one is lost."""
        boxes, sure = self._boxes(), self._confirmed()
        renewed = np.zeros(len(boxes), dtype=np.bool_)
        renewed[sure] = association.overlapping(boxes[sure])
        ambiguous = np.flatnonzero([one.doubt > 0 for one in self._followed])
        lost = sure[ambiguous] & np.array([self._followed[row].missed > 0 for row in ambiguous], dtype=np.bool_)
        renewed[ambiguous] |= _meets_lost(shown[ambiguous], lost)
        for row in np.flatnonzero(renewed).tolist():
            self._followed[row] = replace(self._followed[row], doubt=self._hold + 1)

    def _near(self, shown: Floats) -> Flags:
        """Which tracks have another track that was ever surely a face within half a face, bool (n,)."""
        sides = _rows(one.box for one in self._followed)
        half = (sides[:, 2:] - sides[:, :2]) / 2
        reach = np.concatenate([shown[:, :2] - half, shown[:, 2:] + half], axis=1)
        return association.meeting(reach, shown[self._confirmed()], np.flatnonzero(self._confirmed()))

    def _confirmed(self) -> Flags:
        return np.array([one.confirmed for one in self._followed], dtype=np.bool_)

    def _keep(self, rows: list[int]) -> None:
        self._motion = self._motion.take(np.array(rows, dtype=np.intp))
        self._followed = [self._followed[row] for row in rows]

    def _boxes(self) -> Floats:
        return kalman.boxes_of(self._motion)

    def _moved_landmarks(self, rows: NDArray[np.intp], boxes: Floats) -> Floats:
        """The last landmarks of the tracks in `rows`, moved and scaled like their boxes, (n, 68, 2)."""
        followed = [self._followed[row] for row in rows]
        before = _rows(one.anchor for one in followed)
        scale = (boxes[:, 2:] - boxes[:, :2]) / (before[:, 2:] - before[:, :2])
        points = _points(one.landmarks for one in followed) - before[:, None, :2]
        return np.asarray(points * scale[:, None] + boxes[:, None, :2], dtype=np.float64)


def _usable(box: Iterable[float], size: tuple[int, int] | None) -> Floats | None:
    """The box as float64 (4,), with sides of a pixel or more, or None when it is not usable."""
    corners = np.array([float(value) for value in box])
    if corners.shape != (4,) or not np.isfinite(corners).all():
        return None
    corners = np.clip(corners, -_FARTHEST, _FARTHEST)
    if (corners[2:] <= corners[:2]).any():
        return None
    if size is not None and ((corners[2:] <= 0).any() or corners[0] >= size[0] or corners[1] >= size[1]):
        return None
    short = np.maximum(0, 1 - (corners[2:] - corners[:2])) / 2
    return np.concatenate([corners[:2] - short, corners[2:] + short], dtype=np.float64)


def _landmarks(face: Face) -> Floats:
    points = face.landmarks
    if points is None or points.shape != (68, 2) or not (np.abs(points) <= _FARTHEST).all():
        return _NO_LANDMARKS
    return points


def _size(face: Face) -> float:
    """Size of a sure face by its mesh or points: the square root of its area, in pixels. nan where neither shows the
    face, or where it is not sure."""
    if face.outline is None or not face.confirmed:
        return math.nan
    x0, y0, x1, y1 = face.outline
    return math.sqrt(max((x1 - x0) * (y1 - y0), 1.0))


def _meets_lost(boxes: Floats, lost: Flags) -> Flags:
    """Which boxes (n, 4) touch another box, where one of the two is lost; bool (n,)."""
    met = np.zeros(len(boxes), dtype=np.bool_)
    for row in np.flatnonzero(lost):
        x0, y0, x1, y1 = boxes[row]
        touching = (boxes[:, 0] < x1) & (boxes[:, 2] > x0) & (boxes[:, 1] < y1) & (boxes[:, 3] > y0)
        touching[row] = False
        met |= touching
        met[row] |= bool(touching.any())
    return met


def _rows(boxes: Iterable[Floats]) -> Floats:
    return np.array(list(boxes), dtype=np.float64).reshape(-1, 4)


def _points(landmarks: Iterable[Floats]) -> Floats:
    return np.array(list(landmarks), dtype=np.float64).reshape(-1, 68, 2)
