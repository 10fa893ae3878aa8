"""What `recall` counts in a labelled frame, and the rows of its tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.leaks.leaks import KEPT, kept_share, named
from benchmarks.leaks.run import Corners, Moment
from benchmarks.recall.truth import CLASSES, KINDS, Head
from streamdeid.core.arrays import Picture
from streamdeid.core.frames import Planes
from streamdeid.lab.attacks.gaps import Box

NO_FACE = {"soft redaction", "solid", "mask", "region"}
"""Levels that show no face."""
_HEAD, _FACE = 1.25, 1.1
"""How much larger than its box a head is taken for what lies on it, and a face for what lies on its hair."""
_NEAR = 1.8
"""Widths of a face from its middle in which its hair and its neck lie."""
OPEN, COVERED, SHOWN = "open", "covered", "shown as a face"

Size = tuple[float, float]


@dataclass
class Score:
    """What came out for a clip, or for several."""

    clip: str
    half: str = ""
    faces: Counter[tuple[Size, str, str]] = field(default_factory=Counter)
    """By size, kind and what became of them: open, covered or shown as a face."""
    looked_at: int = 0
    """Labelled frames."""
    false: int = 0
    """Redactions that touch no head."""
    hair: int = 0
    """Redactions on the hair or neck of a head that shows its face."""
    off_heads: float = 0.0
    """Percent of the picture that was changed beside all heads, summed over the labelled frames."""
    largest: float = 0.0
    """Percent of the picture that the largest redaction takes."""
    detection_ms: float = 0.0
    """CPU milliseconds per frame of the detection stage."""
    cpu_ms: float = 0.0
    """The same of the whole filter, with reading."""
    open_pictures: list[Picture] = field(default_factory=list)
    false_pictures: list[Picture] = field(default_factory=list)

    def row(self) -> dict[str, object]:
        """A line of the table of clips."""
        frames = max(self.looked_at, 1)
        sizes = {named(size): told(self.of(size=size)) for size in CLASSES}
        return {
            "clip": self.clip,
            "half": self.half,
            "frames": self.looked_at,
            **sizes,
            "open": told(self.of()),
            "shown as a face": share(self.of()),
            "on no head, per frame": round(self.false / frames, 3),
            "on hair or neck, per frame": round(self.hair / frames, 3),
            "changed beside heads, %": round(self.off_heads / frames, 3),
            "largest redaction, %": round(self.largest, 2),
            "detection, CPU ms per frame": round(self.detection_ms, 1),
            "all, CPU ms per frame": round(self.cpu_ms, 1),
        }

    def of(self, size: Size | None = None, kind: str | None = None) -> Counter[str]:
        """What became of the faces of a size or kind (None: of all)."""
        counts: Counter[str] = Counter()
        for (one, other, fate), count in self.faces.items():
            if size in (None, one) and kind in (None, other):
                counts[fate] += count
        return counts


def told(counts: Counter[str]) -> str:
    """`3 of 31` for three open faces of 31."""
    return f"{counts[OPEN]} of {counts.total()}"


def share(counts: Counter[str]) -> float:
    """Share of the faces that were shown as a face, 0 to 1; nan of none."""
    return round(counts[SHOWN] / counts.total(), 3) if counts else math.nan


def count(score: Score, heads: Sequence[Head], original: Planes, output: Planes, moment: Moment) -> list[list[Corners]]:
    """Count a labelled frame; where faces are open, and where redactions lie on no head or on hair."""
    covers = list(zip(moment.redactions, moment.levels, strict=True))
    fates = [(head, fate(head, covers, kept_share(original, output, head.box))) for head in heads if head.face]
    score.faces.update((head.size, head.kind, what) for head, what in fates)
    false = [cover for cover, _ in covers if on_no_head(cover, heads)]
    showing = [head for head, what in fates if what == SHOWN]
    hair = [cover for cover, _ in covers if on_hair(cover, heads, showing)]
    width, height = original.size
    score.looked_at += 1
    score.false += len(false)
    score.hair += len(hair)
    score.off_heads += 100 * beside_heads(original, output, heads)
    areas = [(min(x1, width) - max(x0, 0)) * (min(y1, height) - max(y0, 0)) for (x0, y0, x1, y1), _ in covers]
    score.largest = max([score.largest, *(100 * area / (width * height) for area in areas)])
    astray = [cover for cover, _ in covers if cover in false or cover in hair]
    return [[head.box.corners for head, what in fates if what == OPEN], astray]


def fate(head: Head, covers: Iterable[tuple[Corners, str]], kept: float) -> str:
    """What became of a face, of which the share `kept` of the pixels in the middle is the original's."""
    if kept > KEPT:
        return OPEN
    return SHOWN if shown_on(head.box, covers) else COVERED


def shown_on(face: Box, covers: Iterable[tuple[Corners, str]]) -> list[str]:
    """Levels of the new faces that have their middle in the box of a face."""
    return [level for box, level in covers if level not in NO_FACE and _inside(_middle(box), face.corners)]


def on_no_head(cover: Corners, heads: Iterable[Head]) -> bool:
    """Whether a redaction touches no head, nor a place where nobody can say."""
    larger = [_larger(head.box.corners, _HEAD) for head in heads]
    return not any(cover[0] < x1 and x0 < cover[2] and cover[1] < y1 and y0 < cover[3] for x0, y0, x1, y1 in larger)


def on_hair(cover: Corners, heads: Sequence[Head], showing: Sequence[Head]) -> bool:
    """Whether a redaction lies beside all faces and on no other head, but near a face that is shown (`showing`)."""
    middle = _middle(cover)
    if any(_inside(middle, _larger(head.box.corners, _FACE)) for head in heads if head.face):
        return False
    near = [head for head in showing if _width_apart(middle, head.box.corners) <= _NEAR]
    others = [head for head in heads if head not in near]
    return bool(near) and not any(_inside(middle, _larger(head.box.corners, _HEAD)) for head in others)


def beside_heads(original: Planes, output: Planes, heads: Iterable[Head]) -> float:
    """Share of the picture that was changed and lies on no head, nor where nobody can say."""
    width, height = original.size
    changed = original.y != output.y
    colour = (original.u != output.u) | (original.v != output.v)
    changed |= np.repeat(np.repeat(colour, 2, axis=0), 2, axis=1)[:height, :width]
    for head in heads:
        x0, y0, x1, y1 = (max(0, round(value)) for value in _larger(head.box.corners, _HEAD))
        changed[y0:y1, x0:x1] = False
    return float(changed.mean())


def total(name: str, scores: Sequence[Score]) -> Score:
    """Several clips together: counts are sums, CPU times means over the clips."""
    whole = Score(name)
    for one in scores:
        whole.faces += one.faces
        whole.looked_at += one.looked_at
        whole.false += one.false
        whole.hair += one.hair
        whole.off_heads += one.off_heads
        whole.largest = max(whole.largest, one.largest)
    whole.detection_ms = float(np.mean([one.detection_ms for one in scores]))
    whole.cpu_ms = float(np.mean([one.cpu_ms for one in scores]))
    return whole


def by_size_and_kind(scores: Sequence[Score]) -> list[dict[str, object]]:
    """The second table: what became of the faces of each size and of each kind, in each score."""
    rows: list[dict[str, object]] = []
    lines: list[tuple[str, Size | None, str | None]] = [(named(size), size, None) for size in CLASSES]
    for name, size, kind in [*lines, *((kind, None, kind) for kind in KINDS), ("all", None, None)]:
        row: dict[str, object] = {"faces": name}
        for score in scores:
            counts = score.of(size, kind)
            row[score.clip] = counts.total()
            row |= {f"{score.clip}: {what}": counts[what] for what in (OPEN, COVERED, SHOWN)}
        rows.append(row)
    return rows


def _middle(box: Corners) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _inside(point: tuple[float, float], box: Corners) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _larger(box: Corners, times: float) -> Corners:
    dx, dy = (times - 1) * (box[2] - box[0]) / 2, (times - 1) * (box[3] - box[1]) / 2
    return box[0] - dx, box[1] - dy, box[2] + dx, box[3] + dy


def _width_apart(point: tuple[float, float], box: Corners) -> float:
    return math.dist(point, _middle(box)) / max(box[2] - box[0], 1e-9)
