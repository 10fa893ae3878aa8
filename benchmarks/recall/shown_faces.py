"""What `faces` counts: in a labelled frame, how each face is shown; from frame to frame, how often that changes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.leaks.leaks import KEPT, kept_share, named
from benchmarks.recall.published_clip import Cover, Published
from benchmarks.recall.score import NO_FACE, Size, on_no_head, shown_on
from benchmarks.recall.truth import Head
from streamdeid.core.arrays import Picture
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.detection.centerface import CenterFace
from streamdeid.lab.attacks.gaps import SAME_PLACE, Box

SIZES: tuple[Size, ...] = ((14.0, 24.0), (24.0, 40.0), (40.0, 80.0), (80.0, float("inf")))
"""Shorter sides in pixels by which faces are counted apart; smaller ones are not counted."""
FOUND_FROM = 24.0
"""Shorter side from which it is asked whether the detector finds a face again."""
OWN, POSED = "own face", "posed face"
FACES, SHOWN = "faces", "shown"
KNOWN, AGAIN = "found in the original", "found again"
OPEN, ALIKE, NO_FACE_SHOWN, ASTRAY = "open or unchanged", "correlated", "no face", "on no head"
_SURE = 0.5
"""The detector's score from which it is believed."""
_LEVELS, _MOST = 3, 0.5
"""A face is unchanged where more than this share of its ellipse is within so many levels of the original."""
_CORRELATED = 0.8
_FINE = 8.0
"""Standard deviation of the blur beside which luma counts as high-passed: the face's width through this."""


@dataclass
class Counts:
    """What came out for a clip, or for several."""

    clip: str
    faces: dict[Size, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By size: FACES, SHOWN (as one of the next two), OWN, POSED, KNOWN, AGAIN, OPEN, ALIKE."""
    bare: Counter[Size] = field(default_factory=Counter)
    """By size: sum of the shares of the faces that are the original's pixels."""
    frames: int = 0
    """Labelled ones."""
    doubled: int = 0
    """Faces with two new ones or more on them."""
    astray: int = 0
    """New faces that touch no head."""
    surrogates: Counter[int] = field(default_factory=Counter)
    """Heads, as they were tracked, by how many surrogates they were shown with; those without any are left out."""
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a head shows another level than in the frame before, by both."""
    minutes: float = 0.0
    """For which heads were tracked, added up."""
    places: list[dict[str, object]] = field(default_factory=list)
    """What `count` says, with clip and frame."""
    pictures: list[Picture] = field(default_factory=list)
    """The same places, original and published."""

    def of(self, size: Size | None = None) -> dict[str, float]:
        """What became of the faces of a size, or of all: shares 0 to 1, nan of none, and counts."""
        chosen = SIZES if size is None else (size,)
        counts: Counter[str] = Counter()
        for one in chosen:
            counts += self.faces[one]
        every = counts[FACES]
        return {
            "faces": every,
            "show a face": _share(counts[SHOWN], every),
            "own": _share(counts[OWN], every),
            "posed": _share(counts[POSED], every),
            "found in the original, 24 px": counts[KNOWN],
            "found again": _share(counts[AGAIN], counts[KNOWN]),
            "open or unchanged": counts[OPEN],
            "correlated above .8": counts[ALIKE],
            "bare, %": 100 * _share(sum(self.bare[one] for one in chosen), every),
        }

    def row(self) -> dict[str, object]:
        """A line of the table of clips."""
        heads = self.surrogates.total()
        balls = sum(times for levels, times in self.changes.items() if len(NO_FACE.intersection(levels)) == 1)
        return {
            "clip": self.clip,
            **self.of(),
            "two on a head": self.doubled,
            "on no head": self.astray,
            "surrogates per head": _share(sum(n * count for n, count in self.surrogates.items()), heads),
            "changes per minute and head": _share(self.changes.total(), self.minutes),
            "of them face or none": _share(balls, self.minutes),
        }


def by_size(counts: Counts) -> list[dict[str, object]]:
    """A line for each size of faces."""
    return [{"faces of": named(size), **counts.of(size)} for size in SIZES]


def total(name: str, counts: Sequence[Counts]) -> Counts:
    """Several clips together."""
    whole = Counts(name)
    for one in counts:
        for size, faces in one.faces.items():
            whole.faces[size] += faces
        whole.bare.update(one.bare)
        whole.surrogates += one.surrogates
        whole.changes += one.changes
        for name in ("frames", "doubled", "astray", "minutes"):
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
    return whole


class Looks:
    """An independent look at pictures of one size."""

    def __init__(self, weights: bytes, size: tuple[int, int]) -> None:
        """weights: CenterFace's; size: width and height in pixels."""
        self._network = CenterFace(weights, size)

    def __call__(self, planes: Planes) -> NDArray[np.float64]:
        """Boxes (n, 4) of the faces in a picture, pixels."""
        width, height = planes.size
        return self._network(rectangle_to_rgb(planes, 0, 0, width, height), _SURE).faces.boxes


def count(
    counts: Counts,
    heads: Sequence[Head],
    pictures: tuple[Planes, Planes],
    covers: Sequence[Cover],
    seen: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> list[tuple[str, Box]]:
    """Count a labelled frame; new faces on no head, and faces that show none, are open or correlate, each with why.

    pictures: the original and what was published; seen: the boxes (n, 4) that the detector finds in either.
    """
    original, output = pictures
    pairs = [(one.box, one.level) for one in covers if one.level in (OWN, POSED)]
    counts.frames += 1
    poor = [(ASTRAY, Box(0, *box, 0.0)) for box, _ in pairs if on_no_head(box, heads)]
    counts.astray += len(poor)
    for box in (head.box for head in heads if head.face and head.box.side >= SIZES[0][0]):
        size = next(size for size in SIZES if box.side < size[1])
        faces = counts.faces[size]
        levels = sorted(shown_on(box, pairs))
        known = box.side >= FOUND_FROM and finds(seen[0], box)
        within, bare = kept_in_ellipse(original, output, box)
        left = within > _MOST or kept_share(original, output, box) > KEPT
        alike = correlation(original, output, box) > _CORRELATED
        what = {FACES: True, SHOWN: bool(levels), KNOWN: known, AGAIN: known and finds(seen[1], box)}
        faces.update(name for name, holds in {**what, OPEN: left, ALIKE: alike}.items() if holds)
        faces.update(levels[:1])
        counts.bare[size] += bare
        counts.doubled += len(levels) > 1
        why = [name for name, holds in ((OPEN, left), (ALIKE, alike), (NO_FACE_SHOWN, not levels)) if holds]
        if why:
            poor.append((", ".join(why), box))
    return poor


def finds(boxes: NDArray[np.float64], face: Box) -> bool:
    """Whether one of the boxes (n, 4) is at the place of a face."""
    low = np.maximum(boxes[:, :2], (face.x0, face.y0))
    high = np.minimum(boxes[:, 2:], (face.x1, face.y1))
    both = np.prod(np.maximum(high - low, 0), axis=1)
    either = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) + (face.x1 - face.x0) * (face.y1 - face.y0) - both
    return bool((both >= SAME_PLACE * either).any())


def kept_in_ellipse(original: Planes, output: Planes, face: Box) -> tuple[float, float]:
    """Share of a face's ellipse whose luma is within three levels of the original's, and whose luma and colour are the
    original's; of an ellipse beyond the picture's edge the part in the picture."""
    rows, columns, inside = _ellipse(original.size, face)
    if not inside.any():
        return 0.0, 0.0
    before, after = (planes.y[rows, columns].astype(np.int16) for planes in (original, output))
    same = original.y[rows, columns] == output.y[rows, columns]
    colour = (original.u == output.u) & (original.v == output.v)
    wide = np.repeat(np.repeat(colour, 2, axis=0), 2, axis=1)
    same &= wide[rows, columns]
    near = np.abs(before - after) <= _LEVELS
    return float(near[inside].mean()), float(same[inside].mean())


def correlation(original: Planes, output: Planes, face: Box) -> float:
    """Correlation of the high-passed luma of both in a face's ellipse, -1 to 1; 0 where either is flat."""
    rows, columns, inside = _ellipse(original.size, face)
    if not inside.any():
        return 0.0
    values = []
    for planes in (original, output):
        luma = planes.y[rows, columns].astype(np.float32)
        fine = luma - cv2.GaussianBlur(luma, (0, 0), (face.x1 - face.x0) / _FINE, borderType=cv2.BORDER_REPLICATE)
        values.append(fine[inside] - fine[inside].mean())
    one, other = values
    norm = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / norm if norm > 1e-3 else 0.0


def _ellipse(size: tuple[int, int], face: Box) -> tuple[slice, slice, NDArray[np.bool_]]:
    """Rows and columns of a face's box, and which of their pixels lie in the ellipse that it holds."""
    (width, height), corners = size, (face.x0, face.y0, face.x1, face.y1)
    x0, y0 = (max(0, math.floor(v)) for v in corners[:2])
    x1, y1 = (min(limit, math.ceil(v)) for v, limit in zip(corners[2:], (width, height), strict=True))
    y, x = np.mgrid[y0 : max(y0, y1), x0 : max(x0, x1)] + 0.5
    across = (x - (face.x0 + face.x1) / 2) / max((face.x1 - face.x0) / 2, 1e-9)
    down = (y - (face.y0 + face.y1) / 2) / max((face.y1 - face.y0) / 2, 1e-9)
    return slice(y0, max(y0, y1)), slice(x0, max(x0, x1)), across**2 + down**2 <= 1


def follow(counts: Counts, frames: Iterable[Published], rate: float) -> None:
    """Count what the heads of a clip show from frame to frame, at so many frames a second.

    A head is a track; it changes where its level is another one than when it was covered last. A surrogate that is
    shown in one frame only is one on the way to another, and does not count.
    """
    last: dict[int, str] = {}
    shown: Mapping[int, Counter[int]] = defaultdict(Counter)
    for frame in frames:
        for one in (cover for cover in frame.covers if cover.track):
            counts.minutes += 1 / rate / 60
            before = last.get(one.track, one.level)
            if before != one.level:
                counts.changes[before, one.level] += 1
            last[one.track] = one.level
            if one.surrogate:
                shown[one.track][one.surrogate] += 1
    for times in shown.values():
        counts.surrogates[max(1, sum(often > 1 for often in times.values()))] += 1


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
